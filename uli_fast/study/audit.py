"""What a study's journal proves and tells: every event checked, every decision made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uli_fast.errors import StudyDivergedError, StudyError
from uli_fast.study import events as clock
from uli_fast.study.address import Address
from uli_fast.study.course import StudyCourse, StudyDrop
from uli_fast.study.events import Event
from uli_fast.study.history import BlockRecord, History
from uli_fast.study.interface import read_journal
from uli_fast.study.overview import ArmLine, Begun, Overview, overview_of
from uli_fast.study.past import Listed, Past
from uli_fast.study.replay import StudyReplay, as_study_error
from uli_fast.study.sentences import held_up
from uli_fast.study.setup import Setup, first_content
from uli_fast.study.snapshots import Snapshot, check


@dataclass(frozen=True)
class Audit:
    """A journal whose chain holds and whose decisions came out the same."""

    path: Path | Address
    learner: Any
    begun: str
    last: str  # time of the last event
    versions: dict[str, str]  # when the study was begun
    events: int
    head: str  # the last hash: keep it elsewhere to prove that nothing was cut off later
    history: History
    blocks: tuple[BlockRecord, ...]  # of sums
    arms: tuple[ArmLine, ...]  # none where decisions are vectors of a set or policies
    drops: tuple[StudyDrop, ...]
    certificate: str
    recommended: str
    bounded: bool  # whether outcomes have a declared range
    widens: bool  # whether missing outcomes are taken at their worst, else they are left out
    assumes: tuple[str, ...]  # everything that the certificate believes; () if there is none
    overview: Overview  # the same for a page, and how it got there

    @property
    def statuses(self) -> Counter[str]:
        """How many decisions have a reward, are missing, are pending."""
        return Counter(record.status for record in self.history)

    @property
    def reasons(self) -> Counter[str]:
        """Why outcomes are missing, and how often."""
        return Counter(r.reason for r in self.history if r.status == "missing")

    @property
    def block_words(self) -> str:
        """What came in blocks of sums, in words; empty if nothing did."""
        if not self.blocks:
            return ""
        plays, missing = (sum(getattr(b, x) for b in self.blocks) for x in ("plays", "missing"))
        many = "1 block" if len(self.blocks) == 1 else f"{len(self.blocks)} blocks"
        return f"{many} of sums: {plays - missing} rewards, {missing} missing"

    @property
    def held(self) -> str:
        """What outcomes that are known wait for, and how to settle it; "" if for nothing."""
        return held_up(self.overview.held, self.overview.window, clock.now())

    @property
    def pending(self) -> History:
        """The decisions whose outcome is awaited."""
        return self.history.only(lambda record: record.status == "pending")


def audit(path: Path | Address, learner: Any = None, arms: Any = None) -> Audit:
    """Check a journal event by event; anything wrong is a StudyError."""
    events, kept = read_journal(path)
    return audited(path, events, kept, learner, arms)


def audited(
    path: Path | Address,
    events: Sequence[Event],
    kept: Iterable[Snapshot] = (),
    learner: Any = None,
    arms: Any = None,
) -> Audit:
    """Check events that were read from a journal, and what was kept of how things were."""
    if not events:
        raise StudyError(f"{path} holds no study yet")
    first = events[0]
    with as_study_error(path, first):
        record = first_content(path, first)
        about = {key: value for key, value in record.items() if key != "versions"}
        setup = Setup.recorded(about, learner, arms)
        source = Listed(events)
        replay = StudyReplay(path, source, first, setup.start(), setup.window)
        made_with = {str(k): str(v) for k, v in record.get("versions", {}).items()}
    replay.course = course = StudyCourse(replay)
    snapshots = {snapshot.sequence: snapshot for snapshot in kept}
    for event in events[1:]:
        replay.replay([event])
        if event.sequence in snapshots:
            _check_snapshot(replay, snapshots.pop(event.sequence), first)
    for sequence in snapshots:
        raise StudyDivergedError(f"{path}: there is a snapshot of event {sequence}, which is gone")
    history, blocks = Past(path, first).read(source, replay.player, replay.last)
    overview = overview_of(replay, course, Begun(setup.learner, first.time, made_with))
    return Audit(
        path=path,
        learner=setup.learner,
        begun=first.time,
        last=events[-1].time,
        versions=made_with,
        events=len(events),
        head=events[-1].hash,
        history=history,
        blocks=blocks,
        arms=overview.arms,
        drops=overview.drops,
        certificate=overview.certificate,
        recommended=overview.recommended,
        bounded=overview.bounded,
        widens=overview.widens,
        assumes=overview.assumes,
        overview=overview,
    )


def _check_snapshot(replay: StudyReplay, snapshot: Snapshot, first: Event) -> None:
    """Refuse a snapshot that is not what all events before it lead to."""
    replay.player.forget()
    with as_study_error(replay.path, replay.last):
        if not check(snapshot, first, replay.last, replay.saved().content()):
            raise StudyDivergedError(
                f"{replay.path}: the snapshot of event {snapshot.sequence} is not what the events "
                "lead to; they are in order so far"
            )
