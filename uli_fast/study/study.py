"""Live decisions that survive a crash: a player and the journal of all that it was told.

A decision is on the disk before it is returned, and an outcome before ``tell`` returns. Opening a
study plays its journal again, checks the chain of hashes and makes every decision again: what
does not come out the same is an error, never a guess. See docs/live.md.

The player moves first, and the journal records it: whatever refuses or interrupts the two (a full
disk, Ctrl-C) leaves a player that may be ahead. It is marked as stale before it is touched and
until it is recorded, and a stale one is made again by the next call: from what was saved of it a
while ago and the events since.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from uli_fast import _check
from uli_fast._support.versions import versions
from uli_fast.errors import ArgumentError, StudyError, StudyWriteError, UnsupportedError
from uli_fast.players._arms import Decision
from uli_fast.players._certificate import Certificate
from uli_fast.players.policy_elimination import PolicyDecision
from uli_fast.players.spanner_elimination import VectorDecision
from uli_fast.study.events import Event
from uli_fast.study.history import BlockRecord, History
from uli_fast.study.journal import Journal, fault_point, read_events
from uli_fast.study.leftovers import check_remains, refused
from uli_fast.study.replay import Saved, StudyReplay, as_study_error, shown
from uli_fast.study.setup import Setup, first_content, started

if TYPE_CHECKING:
    from uli_fast.study.audit import Audit

# A stale player has at most this many events to catch up with, or this share of all of them.
BEHIND, SHARE = 1000, 50


class Study:
    """A live study in a file; use ``Study.open``.

    Threads may share it: calls wait for each other. Processes may not: the file is locked for
    as long as it is open. Open it after forking: a child cannot use its parent's.
    """

    def __init__(
        self, path: Path, journal: Journal | None, setup: Setup, trace: StudyReplay
    ) -> None:
        self.path, self._journal, self._setup, self._replay = path, journal, setup, trace
        self._lock, self._pid = threading.RLock(), os.getpid()
        self._writable = journal is not None
        self._stale = False  # the player may be ahead of the journal: make it again
        self._saved: Saved | None = None
        self._first, self._versions = trace.last, dict[str, str]()

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
            What to play, as for ``learner.start``. Not needed for a file that exists, except for
            what cannot be written down (your own rule, base or arm set); if given, they must be
            those of the file.
        seed
            Decides the draws of learners that draw; recorded when the study begins.
        options
            What else ``learner.start`` takes: ``horizon``, ``low``, ``high``, ``intercept``,
            and for policies ``rewards``, ``initial_support``, ``decision_points``,
            ``successors``.
        """
        file, given = _check.file("path", path), {"arms": arms, "seed": seed, **options}
        setup = player = None
        fault_point()
        check_remains(file, file)
        with refused(file):
            new = not file.exists()
        if new:
            if learner is None:
                raise ArgumentError("learner", f"must be given: there is no {file} yet")
            if not file.absolute().parent.is_dir():
                raise StudyWriteError(f"{file}: there is no folder {file.absolute().parent}")
            _check.new_arms("arms", arms)
            setup = Setup.of(learner, given)
            player = setup.start()  # refuses what is wrong before anything is on the disk
        journal = Journal(file)
        try:
            if journal.empty:
                if learner is None:
                    raise ArgumentError("learner", f"must be given: {file} holds no study yet")
                _check.new_arms("arms", arms)
                setup = setup or Setup.of(learner, given)
                player = player or setup.start()
                journal.create(setup.record(player) | {"versions": versions()})
            else:
                player = None  # another process has begun it in the meantime
            return cls._played(file, journal, journal.events(), learner, given, player)
        except BaseException:
            journal.give_up()
            raise

    @classmethod
    def read(cls, path: str | Path, learner: Any = None, arms: Any = None) -> Study:
        """Look at a study without touching its file, even while another process drives it."""
        file = _check.file("path", path)
        with refused(file):
            if not file.exists():
                raise StudyError(f"there is no {file}")
        events = read_events(file)
        if not events:
            raise StudyError(f"{file} holds no study yet")
        return cls._played(file, None, events, learner, {"arms": arms})

    @staticmethod
    def audit(path: str | Path, learner: Any = None, arms: Any = None) -> Audit:
        """Check a study's file event by event, without touching it, and say what happened."""
        from uli_fast.study.audit import audit

        return audit(_check.file("path", path), learner, arms)

    @classmethod
    def _played(
        cls,
        path: Path,
        journal: Journal | None,
        events: Iterable[Event],
        learner: Any,
        given: Mapping[str, Any],
        player: Any = None,
    ) -> Study:
        """Play events again; a study that has just been begun comes with its player."""
        rest = iter(events)
        first = next(rest, None)
        if first is None:
            raise StudyError(f"{path} is damaged: its events are gone")
        with as_study_error(path, first):
            record = first_content(path, first)
            about = {k: v for k, v in record.items() if k != "versions"}
            setup = Setup.recorded(about, learner, given.get("arms"))
            if player is None:
                player = started(about, given, setup)
            study = cls(path, journal, setup, StudyReplay(path, first, player))
            study._versions = {str(k): str(v) for k, v in record.get("versions", {}).items()}
        study._replay.replay(rest)
        return study

    # Deciding.

    @overload
    def ask(
        self,
        request_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        state: int,
        **more: Any,
    ) -> PolicyDecision: ...
    @overload
    def ask(
        self, request_id: str | None = None, metadata: Mapping[str, Any] | None = None, **more: Any
    ) -> Decision | VectorDecision: ...
    def ask(
        self, request_id: str | None = None, metadata: Mapping[str, Any] | None = None, **more: Any
    ) -> Any:
        """Return the next decision, once it is on the disk.

        Asking again with the same ``request_id`` (a patient, an order) gives the same decision,
        whatever has happened since. ``metadata``, or further keywords, are kept with it; for
        PolicyElimination ``state=`` is the state in which the episode begins.
        """
        with self._turn():
            self._get_ready(to_write=True)
            about = {**_check.json_table("metadata", {} if metadata is None else metadata), **more}
            request = self._replay.player.read_request(about)
            about = _check.json_table("metadata", about)
            if request_id is not None:
                known = self._replay.requests.get(_check.key("request_id", request_id))
                if known is not None:
                    return self._replay.asked_before(known, request)
            self._replay.player.check_ask(1)
            self._stale = True
            decision = self._replay.player.ask(**request)
            content = shown(decision) | request | {"metadata": about}
            event = self._add("ask", decision.id, request_id, content)
            self._replay.note_ask(event, content, decision)
            self._stale = False
            return decision

    def tell(self, decision_id: int, *outcome: Any) -> None:
        """Give the reward of a decision, or for policies the states and actions of its episode.

        It is on the disk when this returns. Telling the same again changes nothing; something
        else is a ConflictingRewardError.
        """
        with self._turn():
            self._get_ready(to_write=True)
            position = self._replay.position(decision_id)
            names = self._replay.player.outcome_names
            if len(outcome) != len(names):
                wanted = " and ".join(names) if len(names) > 1 else f"one {names[0]}"
                raise ArgumentError("outcome", f"must be {wanted}, got {len(outcome)} values")
            self._touch(position, self._replay.player.tell, *outcome)
            if self._replay.records[position].status == "pending":
                content = {"reward": self._replay.player.queue.told(position)}
                self._replay.note_tell(self._add("tell", position + 1, None, content), content)
            self._stale = False

    def tell_missing(self, decision_id: int, reason: str) -> None:
        """Say that an outcome will never come, and why; saying it again changes nothing."""
        with self._turn():
            self._get_ready(to_write=True)
            position = self._replay.position(decision_id)
            _check.key("reason", reason, _check.LONGEST_REASON)
            self._touch(position, self._replay.player.tell_missing, reason)
            if self._replay.records[position].status == "pending":
                content = {"reason": reason}
                self._replay.note_tell(self._add("missing", position + 1, None, content), content)
            self._stale = False

    def tell_block(self, sums: Mapping[Any, tuple[Any, ...]], block_id: str) -> None:
        """Give counts and sums of plays that were handed out by ``allocation``.

        For each arm in play ``(plays, total)``, or ``(plays, total, missing)``. It is on the disk
        when this returns. Telling the same block under its id again changes nothing; other sums
        are a ConflictingRewardError.
        """
        with self._turn():
            self._get_ready(to_write=True)
            player = self._with_blocks()
            _check.key("block_id", block_id)
            before, self._stale = len(player.blocks), True
            try:
                player.tell_block(sums, block_id)
            except ArgumentError:
                self._stale = len(player.blocks) != before
                raise
            if len(player.blocks) > before:
                content = self._replay.block_content()
                self._replay.note_block(self._add("block", None, None, content), content)
            self._stale = False

    def allocation(self) -> dict[int | str, int]:
        """Return how often to play each arm until the next look, by anybody and in any order."""
        with self._turn():
            self._get_ready()
            found: dict[int | str, int] = self._with_blocks().allocation()
            return found

    def _with_blocks(self) -> Any:
        if not hasattr(self._replay.player, "tell_block"):
            name = type(self.learner).__name__
            raise UnsupportedError(f"{name} needs its outcomes one by one, not blocks of sums")
        return self._replay.player

    # Looking.

    @property
    def learner(self) -> Any:
        """What plays."""
        return self._setup.learner

    @property
    def arms(self) -> tuple[int | str, ...]:
        """The arms; none where decisions are vectors of a set or policies."""
        return tuple(self._replay.player.labels)

    @property
    def active(self) -> Any:
        """The arms still in play; for policies how many they are, or a mask of the actions left."""
        with self._turn():
            self._get_ready()
            return self._replay.player.active

    @property
    def room(self) -> int | None:
        """How many more decisions F allows for before outcomes are told; None: any number."""
        with self._turn():
            self._get_ready()
            room: int | None = self._replay.player.room
            return room

    def recommend(self) -> Any:
        """Return what looks best so far among what is still in play."""
        with self._turn():
            self._get_ready()
            return self._replay.player.recommend()

    def intervals(self) -> dict[int | str, tuple[float, float]]:
        """Return each arm's confidence interval, missing outcomes taken at their worst."""
        with self._turn():
            self._get_ready()
            found: dict[int | str, tuple[float, float]] = self._replay.player.intervals()
            return found

    def certificate(self) -> Certificate:
        """Return what is certain about every arm in play, from settled outcomes alone."""
        with self._turn():
            self._get_ready()
            certificate: Certificate = self._replay.player.certificate()
            return certificate

    def pending(self, older_than: float | timedelta | None = None) -> History:
        """Return the decisions whose outcome is awaited, or only those asked for that long ago."""
        with self._turn():
            self._get_ready()
            waiting = self._replay.history(self._replay.player.pending)
        if older_than is None:
            return waiting
        since = datetime.now(UTC) - timedelta(seconds=_check.seconds("older_than", older_than))
        return waiting.only(lambda record: datetime.fromisoformat(record.asked) <= since)

    def history(self) -> History:
        """Return every decision and what became of it."""
        with self._turn():
            self._get_ready()
            return self._replay.history()

    def blocks(self) -> tuple[BlockRecord, ...]:
        """Return every block of sums."""
        with self._turn():
            self._get_ready()
            return tuple(self._replay.blocks)

    def export(self, path: str | Path) -> None:
        """Write the history as CSV, JSON lines (.jsonl) or Parquet, by the suffix of the path."""
        self.history().export(path)

    def counts(self) -> dict[Any, dict[str, int]]:
        """Return for every arm how many plays are settled, missing and awaited, blocks included."""
        found: dict[Any, dict[str, int]] = {a: _none() for a in self.arms}
        for record in self.history():
            arm = record.arm if isinstance(record.arm, int | str) else str(record.arm)
            found.setdefault(arm, _none())[record.status] += 1
        for block in self.blocks():
            for label, (plays, _, missing) in block.sums.items():
                found[label]["reward"] += plays - missing
                found[label]["missing"] += missing
        return found

    @property
    def begun(self) -> str:
        """When the study was begun, UTC."""
        return self._first.time

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what computes, when the study was begun."""
        return dict(self._versions)

    def close(self) -> None:
        """Let go of the file."""
        if os.getpid() != self._pid:  # a lock that a fork has copied may never be free
            return
        with self._lock:
            if self._journal is not None:
                try:
                    self._journal.close()
                finally:
                    if self._journal.closed:  # else it was interrupted: close it again
                        self._journal = None

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}, {self.learner!r}, {len(self._replay.records)} decisions)"

    # Inside.

    # The lock is taken by ``with`` itself, and by no context manager of ours: whatever comes
    # between the two would leave it locked.

    def _turn(self) -> Any:
        """Return the lock to wait for."""
        if os.getpid() != self._pid:  # a lock that a fork has copied may never be free
            raise StudyError(f"{self.path} was opened in another process: open it after forking")
        return self._lock

    def _get_ready(self, to_write: bool = False) -> None:
        """Have the player where the journal is."""
        if self._writable and (self._journal is None or self._journal.closing):
            raise StudyError(f"{self.path}: this study is closed")
        if to_write and self._journal is None:
            raise StudyWriteError(f"{self.path} was opened for reading")
        if self._stale:
            self._play_again()
        if to_write:
            self._save()

    def _touch(self, position: int, tell: Callable[..., None], *outcome: Any) -> None:
        """Let the player take in an outcome; what it refuses untouched leaves it as it is.

        A check of arguments refuses before anything is changed. What comes out of the player
        later may be an ArgumentError, too: of a base or rule of the user's.
        """
        standing = self._replay.player.queue.standing
        before = standing(position)
        self._stale = True
        try:
            tell(position + 1, *outcome)
        except ArgumentError:
            self._stale = standing(position) != before
            raise

    def _add(
        self, kind: str, decision: int | None, request: str | None, content: Mapping[str, Any]
    ) -> Event:
        assert self._journal is not None
        return self._journal.add(self._replay.last, kind, decision, request, content)

    def _save(self) -> None:
        """Keep a copy to go on from, once there is much to catch up with."""
        last, saved = self._replay.last.sequence, self._saved.last.sequence if self._saved else 0
        if last - saved >= max(BEHIND, last // SHARE) and self._setup.plain:
            self._saved = self._replay.saved()

    def _play_again(self) -> None:
        """Make the player again: as it was saved, or from the beginning, and the events since."""
        assert self._journal is not None
        if self._saved is not None:
            replay = StudyReplay.restored(self.path, self._setup, self._saved)
        else:
            replay = StudyReplay(self.path, self._first, self._setup.start())
        replay.replay(self._journal.events(replay.last))
        self._replay = replay
        self._stale = False


def _none() -> dict[str, int]:
    return {"reward": 0, "missing": 0, "pending": 0}
