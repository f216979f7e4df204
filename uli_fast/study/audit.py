"""What a study's journal proves and tells: every event checked, every decision made again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uli_fast.errors import StudyDivergedError, StudyError, UliError
from uli_fast.guarantees import confidence
from uli_fast.study.address import Address
from uli_fast.study.events import Event
from uli_fast.study.history import BlockRecord, History
from uli_fast.study.interface import read_journal
from uli_fast.study.past import Listed, Past
from uli_fast.study.replay import StudyReplay, as_study_error
from uli_fast.study.setup import Setup, first_content
from uli_fast.study.snapshots import Snapshot, check


class StudyDrop(NamedTuple):
    """The event after which arms were out of play."""

    time: str
    sequence: int
    decision: int
    arms: tuple[int | str, ...]
    left: int


class ArmLine(NamedTuple):
    """What is known about an arm."""

    arm: int | str
    active: bool
    rewards: int
    missing: int
    pending: int
    mean: float | None  # of the rewards that came
    low: float
    high: float


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

    @property
    def statuses(self) -> Counter[str]:
        """How many decisions have a reward, are missing, are pending."""
        return Counter(record.status for record in self.history)

    @property
    def reasons(self) -> Counter[str]:
        """Why outcomes are missing, and how often."""
        return Counter(r.reason for r in self.history if r.reason is not None)

    @property
    def block_words(self) -> str:
        """What came in blocks of sums, in words; empty if nothing did."""
        if not self.blocks:
            return ""
        plays, missing = (sum(getattr(b, x) for b in self.blocks) for x in ("plays", "missing"))
        many = "1 block" if len(self.blocks) == 1 else f"{len(self.blocks)} blocks"
        return f"{many} of sums: {plays - missing} rewards, {missing} missing"

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
        replay = StudyReplay(path, source, first, setup.start())
        made_with = {str(k): str(v) for k, v in record.get("versions", {}).items()}
    drops, before = [], _active(replay)
    snapshots = {snapshot.sequence: snapshot for snapshot in kept}
    for event in events[1:]:
        replay.replay([event])
        if event.sequence in snapshots:
            _check_snapshot(replay, snapshots.pop(event.sequence), first)
        now = _active(replay)
        if now != before:
            gone = tuple(arm for arm in before if arm not in now)
            drops.append(StudyDrop(event.time, event.sequence, event.decision or 0, gone, len(now)))
            before = now
    for sequence in snapshots:
        raise StudyDivergedError(f"{path}: there is a snapshot of event {sequence}, which is gone")
    history, blocks = Past(path, first).read(source, replay.player, replay.last)
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
        arms=_arm_lines(replay.player, history, blocks),
        drops=tuple(drops),
        certificate=_certificate(replay.player),
        recommended=_recommended(replay.player),
        bounded=math.isfinite(replay.player.low),
        widens=replay.player.widens and math.isfinite(replay.player.low),
        assumes=_assumes(replay.player),
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


def _active(replay: StudyReplay) -> tuple[int | str, ...]:
    return tuple(replay.player.active) if replay.player.labels else ()


def _arm_lines(player: Any, history: History, blocks: Iterable[BlockRecord]) -> tuple[ArmLine, ...]:
    if not player.labels:
        return ()
    active, intervals = player.active, player.intervals()
    counts = {arm: Counter[str]() for arm in player.labels}
    sums = dict.fromkeys(player.labels, 0.0)
    for record in history:
        counts[record.arm][record.status] += 1
        sums[record.arm] += record.reward or 0.0
    for block in blocks:
        for arm, (plays, total, missing) in block.sums.items():
            counts[arm].update(reward=plays - missing, missing=missing)
            sums[arm] += total
    return tuple(
        ArmLine(
            arm,
            arm in active,
            n["reward"],
            n["missing"],
            n["pending"],
            sums[arm] / n["reward"] if n["reward"] else None,
            *intervals[arm],
        )
        for arm, n in counts.items()
    )


def _certificate(player: Any) -> str:
    """Say in a sentence what is certain, and nothing more."""
    try:
        c = player.certificate()
    except UliError as problem:
        return f"nothing is certified: {problem}"
    what = "arm in play" if player.labels else c.what
    claim = "" if c.proved else " (the learner's own claim, not a theorem)"
    belief = ", if all that is assumed holds" if c.assumes else ""
    unit = "episode" if isinstance(c.active, int) else "play"
    plays = f"1 {unit}" if c.round == 2 else f"{c.round - 1} {unit}s"
    missing = f", missing outcomes ({player.lost}) taken at their worst" if player.lost else ""
    return (
        f"with probability {confidence(c.delta)}, over all rounds at once, no {what} is worse "
        f"than the best by more than {c.bound:.6g} (reward units){claim}{belief}; "
        f"learned from {plays}{missing}"
    )


def _assumes(player: Any) -> tuple[str, ...]:
    try:
        found: tuple[str, ...] = player.certificate().assumes
    except UliError:
        return ()
    return found


def _recommended(player: Any) -> str:
    try:
        best = player.recommend()
    except UliError:
        return "nothing yet"
    return str(best if isinstance(best, int | str) else np.asarray(best).tolist())
