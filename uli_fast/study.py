"""Live decisions that survive a crash: a player and the journal of all that it was told.

A decision is on the disk before it is returned, and an outcome before ``tell`` returns. Opening a
study plays its journal again, checks the chain of hashes and makes every decision anew: what
does not come out the same is an error, never a guess. See docs/live.md.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._history import History, Record
from uli_fast._journal import Event, Journal, read_events
from uli_fast._study_setup import Setup, check_same, first_content
from uli_fast.errors import (
    ArgumentError,
    StudyDivergedError,
    StudyError,
    StudyWriteError,
    UliError,
)
from uli_fast.players._base import Certificate, Decision
from uli_fast.players.policy_elimination import PolicyDecision, PolicyPlayer
from uli_fast.runs import versions


class Study:
    """A live study in a file; use ``Study.open``.

    Threads may share it: calls wait for each other. Processes may not: the file is locked for
    as long as it is open, and a forked child must open it itself after its parent has closed it.
    """

    def __init__(self, path: Path, journal: Journal | None, setup: Setup) -> None:
        self.path, self._journal, self._setup = path, journal, setup
        self._lock, self._pid = threading.RLock(), os.getpid()
        self._writable = journal is not None
        self._stale = False  # the player may be ahead of the journal: play it again
        self._reset()

    @classmethod
    def open(
        cls,
        path: str | Path,
        learner: Any = None,
        arms: Any = None,
        seed: int | None = None,
        **options: Any,
    ) -> Study:
        """Begin a study, or go on with the one in the file.

        Parameters
        ----------
        path
            One SQLite file; beside it, while it is open, a log with the suffix ``-wal``.
        learner, arms
            What to play, as for ``learner.start``. Not needed for a file that exists, but for
            what cannot be written down (a rule or base of your own, an arm set of your own); if
            given, they must be those of the file.
        seed
            Decides the draws of learners that draw; recorded when the study begins.
        options
            What else ``learner.start`` takes: ``horizon``, ``low``, ``high``, ``intercept``,
            and for policies ``rewards``, ``initial_support``, ``decision_points``.
        """
        file, given = _file(path), {"arms": arms, "seed": seed, **options}
        setup = player = None
        if not file.exists():
            if learner is None:
                raise ArgumentError("learner", f"must be given: there is no {file} yet")
            setup = Setup.of(learner, given)
            player = setup.start()  # refuses what is wrong before anything is on the disk
        journal = Journal(file)
        try:
            if journal.empty:
                setup = setup or Setup.of(learner, given)
                player = player or setup.start()
                journal.create(setup.record(player) | {"versions": versions()})
            return cls._played(file, journal, journal.events(), learner, given)
        except BaseException:
            journal.close()
            raise

    @classmethod
    def read(cls, path: str | Path, learner: Any = None, arms: Any = None) -> Study:
        """Look at a study without touching its file, even while another process drives it."""
        file = _file(path)
        if not file.exists():
            raise StudyError(f"there is no {file}")
        events = read_events(file)
        if not events:
            raise StudyError(f"{file} holds no study yet")
        return cls._played(file, None, events, learner, {"arms": arms})

    @classmethod
    def _played(
        cls,
        path: Path,
        journal: Journal | None,
        events: Iterable[Event],
        learner: Any,
        given: Mapping[str, Any],
    ) -> Study:
        rest = iter(events)
        first = next(rest, None)
        if first is None:
            raise StudyError(f"{path} is damaged: its events are gone")
        with _hostile(path, first):
            record = first_content(path, first)
            about = {k: v for k, v in record.items() if k != "versions"}
            setup = Setup.recorded(about, learner, given.get("arms"))
            study = cls(path, journal, setup)
        check_same(about, given, setup)
        study._begun, study._versions = first.time, dict(record.get("versions", {}))
        study._play(rest)
        return study

    # Deciding.

    def ask(
        self, request_id: str | None = None, metadata: Mapping[str, Any] | None = None, **more: Any
    ) -> Any:
        """Return the next decision, once it is on the disk.

        Asking again with the same ``request_id`` (a patient, an order) gives the same decision,
        whatever has happened since. ``metadata``, or further keywords, are kept with it; for
        policies ``state=`` is the state in which the episode begins.
        """
        with self._writing():
            about = {**(metadata or {}), **more}
            state: dict[str, Any] = {}
            if isinstance(self._player, PolicyPlayer):
                if "state" not in about:
                    raise ArgumentError("state", "must be given: where does the episode begin?")
                support = self._player._support
                state["state"] = _check.initial_state("state", about.pop("state"), support)
            about = _check.json_table("metadata", about)
            if request_id is not None:
                known = self._requests.get(_check.key("request_id", request_id))
                if known is not None:
                    return self._asked_before(known, state)
            decision = self._player.ask(**state)
            content = _shown(decision) | state | {"metadata": about}
            event = self._add("ask", decision.id, request_id, content)
            self._note_ask(event, content, decision)
            return decision

    def tell(self, decision_id: int, *outcome: Any) -> None:
        """Give the reward of a decision, or for policies the states and actions of its episode.

        It is on the disk when this returns. Telling the same again changes nothing; something
        else is a ConflictingRewardError.
        """
        with self._writing():
            position = self._position(decision_id)
            if len(outcome) != 1 + isinstance(self._player, PolicyPlayer):
                wanted = "states and actions" if len(outcome) == 1 else "one reward"
                raise ArgumentError("outcome", f"must be {wanted}, got {len(outcome)} values")
            self._player.tell(position + 1, *outcome)
            if self._records[position].status == "pending":
                content = {"reward": self._told(position)}
                self._note_tell(self._add("tell", position + 1, None, content), content)

    def tell_missing(self, decision_id: int, reason: str) -> None:
        """Say that an outcome will never come, and why; saying it again changes nothing."""
        with self._writing():
            position = self._position(decision_id)
            self._player.tell_missing(position + 1, reason)
            if self._records[position].status == "pending":
                content = {"reason": reason}
                self._note_tell(self._add("missing", position + 1, None, content), content)

    # Looking.

    @property
    def learner(self) -> Any:
        """What plays."""
        return self._setup.learner

    @property
    def arms(self) -> tuple[int | str, ...]:
        """The arms; none where decisions are vectors of a set or policies."""
        return tuple(getattr(self._player, "labels", ()))

    @property
    def active(self) -> Any:
        """The arms still in play; for policies, how many they are."""
        with self._reading():
            return self._of_player("active")

    def recommend(self) -> Any:
        """Return what looks best so far among what is still in play."""
        with self._reading():
            return self._player.recommend()

    def intervals(self) -> dict[int | str, tuple[float, float]]:
        """Return each arm's confidence interval, missing outcomes taken at their worst."""
        with self._reading():
            found: dict[int | str, tuple[float, float]] = self._of_player("intervals")()
            return found

    def certificate(self) -> Certificate:
        """Return what is certain of every arm in play, from settled outcomes alone."""
        with self._reading():
            certificate: Certificate = self._player.certificate()
            return certificate

    def pending(self, older_than: float | timedelta | None = None) -> History:
        """Return the decisions whose outcome is awaited; only those asked for so long ago."""
        with self._reading():
            waiting = History(self._records[id - 1] for id in self._player.pending)
        if older_than is None:
            return waiting
        since = datetime.now(UTC) - timedelta(seconds=_check.seconds("older_than", older_than))
        return History(r for r in waiting if datetime.fromisoformat(r.asked) <= since)

    def history(self) -> History:
        """Return every decision and what became of it."""
        with self._reading():
            return History(self._records)

    def export(self, path: str | Path) -> None:
        """Write the history as CSV, JSON lines (.jsonl) or Parquet, by the suffix of the path."""
        self.history().export(path)

    def counts(self) -> dict[Any, dict[str, int]]:
        """Return for every arm how many decisions are settled, missing and awaited."""
        found: dict[Any, dict[str, int]] = {a: _none() for a in self.arms}
        for record in self.history():
            arm = record.arm if isinstance(record.arm, int | str) else str(record.arm)
            found.setdefault(arm, _none())[record.status] += 1
        return found

    @property
    def begun(self) -> str:
        """When the study was begun, UTC."""
        return self._begun

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what computes, when the study was begun."""
        return dict(self._versions)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            journal, self._journal = self._journal, None
            if journal is not None and os.getpid() == self._pid:
                journal.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}, {self.learner!r}, {len(self._records)} decisions)"

    # Inside.

    def _reset(self) -> None:
        self._player: Any = self._setup.start()
        self._records: list[Record] = []
        self._decisions: list[Decision | PolicyDecision] = []
        self._requests: dict[str, int] = {}
        self._begun, self._versions = "", dict[str, str]()

    def _of_player(self, name: str) -> Any:
        if not hasattr(self._player, name):
            raise UliError(f"{name}: {type(self.learner).__name__} has none")
        return getattr(self._player, name)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            if self._writable and self._journal is None:
                raise StudyError(f"{self.path}: this study is closed")
            if os.getpid() != self._pid:
                raise StudyError(f"{self.path} was opened in another process: open it here")
            if self._stale:
                self._play_again()
            yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Leave the player as the journal has it, whatever goes wrong."""
        with self._reading():
            if self._journal is None:
                raise StudyWriteError(f"{self.path} was opened for reading")
            try:
                yield
            except ArgumentError as problem:  # refused before anything was changed,
                self._stale = problem.argument == "base"  # but by a base of the user's
                raise
            except BaseException:
                self._stale = True
                raise

    def _add(
        self, kind: str, decision: int, request: str | None, content: Mapping[str, Any]
    ) -> Event:
        assert self._journal is not None
        return self._journal.add(kind, decision, request, content)

    def _play_again(self) -> None:
        assert self._journal is not None
        begun, about = self._begun, self._versions
        self._reset()
        self._begun, self._versions = begun, about
        rest = self._journal.events()
        next(rest)
        self._play(rest)
        self._stale = False

    def _play(self, events: Iterable[Event]) -> None:
        """Make every decision anew and compare."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when it happened
            for event in events:
                with _hostile(self.path, event):
                    self._replay(event, event.content)

    def _replay(self, event: Event, content: dict[str, Any]) -> None:
        if event.kind == "ask":
            state = {"state": content["state"]} if "state" in content else {}
            decision = self._player.ask(**state)
            shown = _shown(decision)
            if decision.id != event.decision or any(content[k] != v for k, v in shown.items()):
                raise StudyDivergedError(
                    f"{self.path}: decision {event.decision} was {content.get('arm')!r}, "
                    f"and comes out as {shown['arm']!r}; it was made with {self._versions}"
                )
            self._note_ask(event, content, decision)
            return
        position = self._position(event.decision)
        if self._records[position].status != "pending":
            raise StudyDivergedError(f"{self.path}: decision {event.decision} is settled twice")
        if event.kind == "tell":
            outcome = [content["reward"]]
            if isinstance(self._player, PolicyPlayer):
                policy, states = self._decisions[position][1], content["reward"]
                outcome = [states, [int(policy[h, s]) for h, s in enumerate(states)]]  # type: ignore[index]
            self._player.tell(position + 1, *outcome)
        elif event.kind == "missing":
            self._player.tell_missing(position + 1, content["reason"])
        else:
            raise StudyDivergedError(f"{self.path}: event {event.sequence} is of no known kind")
        self._note_tell(event, content)

    def _note_ask(self, event: Event, content: Mapping[str, Any], decision: Any) -> None:
        if event.request is not None:
            self._requests[event.request] = decision.id
        self._decisions.append(decision)
        about = (event.request, content["metadata"], event.time, "pending")
        self._records.append(Record(decision.id, content["arm"], decision.probability, *about))

    def _note_tell(self, event: Event, content: Mapping[str, Any]) -> None:
        assert event.decision is not None
        status = "missing" if event.kind == "missing" else "reward"
        position = event.decision - 1
        self._records[position] = self._records[position]._replace(
            status=status, **content, told=event.time
        )

    def _asked_before(self, known: int, state: Mapping[str, Any]) -> Any:
        if state and self._player._decisions[known - 1][1] != state["state"]:
            raise ArgumentError("state", f"decision {known} was asked for in another state")
        return self._decisions[known - 1]

    def _position(self, decision_id: Any) -> int:
        return _check.decision("decision_id", decision_id, len(self._records))

    def _told(self, position: int) -> Any:
        if isinstance(self._player, PolicyPlayer):
            return list(self._player._episodes[position] or ())
        return self._player._rewards[position]


@contextlib.contextmanager
def _hostile(path: Path, event: Event) -> Iterator[None]:
    """Take an event that makes no sense for what it is, whoever wrote it."""
    try:
        yield
    except (StudyError, MemoryError):
        raise
    except ArgumentError as problem:
        if event.kind == "create":
            raise
        raise StudyDivergedError(f"{path}: event {event.sequence}: {problem}") from problem
    except (LookupError, TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise StudyDivergedError(f"{path}: event {event.sequence}: {problem!r}") from problem


def _shown(decision: Any) -> dict[str, Any]:
    """Return a decision as JSON has it."""
    arm = decision[1]
    if isinstance(arm, np.ndarray | tuple):
        arm = np.asarray(arm).tolist()
    return {"arm": arm, "probability": decision.probability}


def _none() -> dict[str, int]:
    return {"reward": 0, "missing": 0, "pending": 0}


def _file(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError("path", f"must be the path of a file, got {path!r}")
    file = Path(path)
    if "\0" in str(file):
        raise ArgumentError("path", "must not hold a NUL character")
    if file.is_dir():
        raise ArgumentError("path", f"must be a file, {file} is a folder")
    return file
