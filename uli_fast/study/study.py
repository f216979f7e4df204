"""Live decisions that survive a crash: a player and the journal of all that it was told.

A decision is on the disk before it is returned, and an outcome before ``tell`` returns. Opening a
study plays its journal again, checks the chain of hashes and makes every decision again: what
does not come out the same is an error, never a guess. A long journal is played from a snapshot on
(snapshots.py); ``Study.audit`` plays all of it. See docs/live.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from uli_fast import _check
from uli_fast._support.text import without_addresses
from uli_fast._support.versions import versions
from uli_fast.errors import ArgumentError, StudyError
from uli_fast.players._arms import Decision
from uli_fast.players._sets import VectorDecision
from uli_fast.players.policy_elimination import PolicyDecision
from uli_fast.study.address import Address, located
from uli_fast.study.events import Event, check_link
from uli_fast.study.faults import fault_point
from uli_fast.study.interface import AnyJournal, no_file_yet, open_journal, read_journal
from uli_fast.study.leftovers import refused
from uli_fast.study.past import Listed, Source
from uli_fast.study.replay import StudyReplay, as_study_error
from uli_fast.study.setup import Setup, first_content, load_kernels, started
from uli_fast.study.steps import CALLS, StudySteps
from uli_fast.study.window import Window

if TYPE_CHECKING:
    from uli_fast.study.audit import Audit


class Study(StudySteps):
    """Live decisions that survive a crash, in a file or a database; use ``Study.open``.

    Each decision and each outcome is on the disk before the call returns. A ``request_id`` gets
    one decision for ever, a killed process resumes where it was, and ``Study.audit`` makes every
    decision again.

    Threads may share it: calls wait for each other. Processes may share a study in a database,
    each with a Study of its own, but not a file: that is locked for as long as it is open. Open
    it after forking: a child cannot use its parent's.

    Examples
    --------
    >>> import tempfile
    >>> import uli_fast as uli
    >>> path = tempfile.mkdtemp() + "/trial.db"
    >>> arms = ["placebo", "drug"]
    >>> with uli.Study.open(path, learner=uli.BettingElimination(0.05), arms=arms) as study:
    ...     decision = study.ask(request_id="patient-17")
    ...     study.tell(decision.id, 1.0)
    >>> with uli.Study.open(path) as study:  # later: the file knows its learner and arms
    ...     study.ask(request_id="patient-17").arm
    'placebo'
    >>> uli.Study.audit(path).events
    3
    """

    @classmethod
    def open(
        cls,
        path: str | Path,
        learner: Any = None,
        arms: Any = None,
        seed: int | None = None,
        *,
        name: str | None = None,
        window: float | timedelta | None = None,
        then: float | None = None,
        **options: Any,
    ) -> Study:
        """Begin a study, or go on with the one in the file or database.

        Parameters
        ----------
        path
            One SQLite file; beside it, while it is open, a log with the suffix ``-wal``. Or the
            address of a PostgreSQL database, ``postgresql://user@host/database``, in which any
            number of workers may have it open.
        learner, arms
            What to play, as for ``learner.start``. Not needed for a file that exists, except for
            what cannot be written down (your own rule, base or arm set); if given, they must be
            those of the file.
        seed
            Decides the draws of learners that draw; recorded when the study begins.
        name
            Of the study, in a database.
        window, then
            An outcome that is not told within ``window`` (seconds, or a timedelta) of its
            decision is settled by the study itself: as the reward ``then``, or as missing. What
            comes later is recorded and not used. They are kept with the study.
        options
            What else ``learner.start`` takes: ``horizon``, ``low``, ``high``, ``intercept``,
            and for policies ``rewards``, ``initial_support``, ``decision_points``,
            ``successors``.
        """
        place = located(path, name)
        given = {"arms": arms, "seed": seed, "window": window, "then": then, **options}
        setup = player = None
        fault_point()
        if no_file_yet(place):
            if learner is None:
                raise ArgumentError("learner", f"must be given: there is no {place} yet")
            _check.new_arms("arms", arms)
            setup = Setup.of(learner, given)
            player = setup.start()  # refuses what is wrong before anything is on the disk
        journal = open_journal(place)
        try:
            if journal.empty:
                if learner is None:
                    raise ArgumentError("learner", f"must be given: {place} holds no study yet")
                _check.new_arms("arms", arms)
                setup = setup or Setup.of(learner, given)
                player = player or setup.start()
                if not journal.create(setup.record(player) | {"versions": versions()}):
                    player = None
            else:
                player = None  # another process has begun it in the meantime
            study = cls._played(place, journal, journal, learner, given, player)
            load_kernels(study.learner)
            return study
        except BaseException:
            journal.give_up()
            raise

    @classmethod
    def read(
        cls, path: str | Path, learner: Any = None, arms: Any = None, *, name: str | None = None
    ) -> Study:
        """Look at a study as it is now, without touching it, even while others drive it."""
        place = located(path, name)
        if isinstance(place, Path):
            with refused(place):
                if not place.exists():
                    raise StudyError(f"there is no {place}")
        events, _ = read_journal(place)
        if not events:
            raise StudyError(f"{place} holds no study yet")
        return cls._played(place, None, Listed(events), learner, {"arms": arms})

    @staticmethod
    def audit(
        path: str | Path, learner: Any = None, arms: Any = None, *, name: str | None = None
    ) -> Audit:
        """Check a study event by event, without touching it, and say what happened."""
        from uli_fast.study.audit import audit

        return audit(located(path, name), learner, arms)

    @classmethod
    def _played(
        cls,
        path: Path | Address,
        journal: AnyJournal | None,
        source: Source,
        learner: Any,
        given: Mapping[str, Any],
        player: Any = None,
    ) -> Study:
        """Play events again; a study that has just been begun comes with its player."""
        first = next(iter(source.events()), None)
        if first is None:
            raise StudyError(f"{path} is damaged: its events are gone")
        with as_study_error(path, first):
            record = first_content(path, first)
            about = {k: v for k, v in record.items() if k != "versions"}
            setup = Setup.recorded(about, learner, given.get("arms"))
            if player is None:
                player = started(about, given, setup)
            replay = StudyReplay(path, source, first, player, setup.window)
            study = cls(path, journal, setup, replay)
            study._versions = {str(k): str(v) for k, v in record.get("versions", {}).items()}
        cls._play(study, source)
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
            return self._alone(self._asking(request_id, metadata, more), "ask")

    def ask_many(
        self,
        requests: int | Iterable[str | None],
        metadata: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
        **more: Any,
    ) -> list[Any]:
        """Return several decisions, once all of them are on the disk, in one write.

        ``requests`` is how many, or a list of ``request_id`` (None: without one). ``metadata``
        is that of all of them, or a list with that of each; so is ``state``, in it. If anything
        is refused, nothing has been asked for.
        """
        with self._turn():
            self._get_ready(to_write=True)
            made: list[Any] = self._alone(self._asking_many(requests, metadata, more), "many")
            return made

    # Telling.

    def tell(self, decision_id: int, *outcome: Any, request_id: str | None = None) -> None:
        """Give the reward of a decision, or for policies the states and actions of its episode.

        It is on the disk when this returns. Telling the same again changes nothing; something
        else is a ConflictingRewardError, and what comes after its window is recorded, not used.
        With ``request_id``, a decision that was asked for with another one is an
        UnknownDecisionError: so an id that was given before an older state was put in place of
        the study is never taken for one that was given after.
        """
        with self._turn():
            self._get_ready(to_write=True)
            self._alone(self._telling(decision_id, outcome, request_id), "tell")

    def tell_missing(self, decision_id: int, reason: str, request_id: str | None = None) -> None:
        """Say that an outcome will never come, and why; saying it again changes nothing.

        ``request_id`` is as for ``tell``.
        """
        with self._turn():
            self._get_ready(to_write=True)
            self._alone(self._telling_missing(decision_id, reason, request_id), "missing")

    def tell_many(
        self,
        outcomes: Iterable[tuple[Any, ...]],
        request_ids: Iterable[str | None] | None = None,
        only_pending: bool = False,
    ) -> None:
        """Give the outcomes of several decisions in one write: ``(decision_id, reward)`` each.

        For policies ``(decision_id, states, actions)``; ``(decision_id, None, reason)`` is an
        outcome that will never come. ``request_ids`` are those of the decisions, as for ``tell``.
        All are on the disk when this returns. If anything is refused, nothing has been told.

        With ``only_pending`` those are left out whose outcome is known already, whatever it is:
        so what is still open can be settled while others tell what has come.
        """
        with self._turn():
            self._get_ready(to_write=True)
            step = self._telling_many(outcomes, request_ids, only_pending)
            self._alone(step, "many")

    def tell_block(self, sums: Mapping[Any, tuple[Any, ...]], block_id: str) -> None:
        """Give counts and sums of plays that were handed out by ``allocation``.

        For each arm in play ``(plays, total)``, or ``(plays, total, missing)``. It is on the disk
        when this returns. Telling the same block under its id again changes nothing; other sums
        are a ConflictingRewardError.
        """
        with self._turn():
            self._get_ready(to_write=True)
            self._alone(self._telling_block(sums, block_id), "block")

    def together(self, calls: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Do calls of several people in one write, each as if it were alone.

        A call is the name of a method that writes and its arguments, in their order:
        ``("ask", "patient-17")``, ``("tell", 4, 1.0)``; ``("tell_one", 4, (1.0,), "patient-17")``
        tells with a request id. Returns for each what it returns, or the error that it raises:
        who is refused refuses nobody else. All of it is on the disk then; if it cannot be
        written, that is raised, and nobody's call has been done.
        """
        given = _check.calls("calls", calls, CALLS)
        with self._turn():
            self._get_ready(to_write=True)
            return self._done_together(given)

    def allocation(self) -> dict[int | str, int]:
        """Return how often to play each arm until the next look, by anybody and in any order."""
        with self._turn():
            self._get_ready()
            found: dict[int | str, int] = self._with_blocks().allocation()
            return found

    def audited(self, events: Sequence[Event]) -> Audit:
        """Check what ``events`` has returned, from the first one on, and say what happened.

        It waits for nobody, and nobody waits for it. The chain is checked again, snapshots are
        not looked at.
        """
        from uli_fast.study.audit import audited

        last = None
        for event in events:
            check_link(self.path, last, event)
            last = event
        arms = self._setup.arguments.get("arms")
        own = (None, None) if self._setup.plain else (self.learner, arms)
        return audited(self.path, events, (), *own)

    # Looking; the rest is in view.py.

    @property
    def begun(self) -> str:
        """When the study was begun, UTC."""
        return self._first.time

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what computes, when the study was begun."""
        return dict(self._versions)

    @property
    def window(self) -> Window | None:
        """How long outcomes may take, in ``seconds``, and what stands for one that took longer."""
        return self._setup.window

    def close(self) -> None:
        """Let go of the file, or of the database."""
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
        decisions = len(self._replay.player.queue)
        learner = without_addresses(repr(self.learner))
        return f"Study({str(self.path)!r}, {learner}, {decisions} decisions)"
