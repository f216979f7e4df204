"""Where a study stands and how it got there: all that a page shows, bounded in size."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from uli_fast import __version__
from uli_fast.study.course import AWAITED, MISSING, REWARDS, Moment, StudyCourse, StudyDrop
from uli_fast.study.replay import Held, StudyReplay
from uli_fast.study.sentences import assumed, certificate_words, recommended
from uli_fast.study.window import Window

MOST_AWAITED = 200  # decisions that are listed, the oldest


class ArmLine(NamedTuple):
    """What is known about an arm."""

    arm: int | str
    active: bool
    rewards: int
    missing: int
    pending: int
    mean: float | None  # of the outcomes that were learned from, if it is in the interval
    low: float
    high: float

    @property
    def plays(self) -> int:
        """All plays, whatever became of them."""
        return self.rewards + self.missing + self.pending


class Begun(NamedTuple):
    """What was recorded when a study began."""

    learner: Any
    time: str
    versions: dict[str, str]


class Awaited(NamedTuple):
    """A decision whose outcome is awaited."""

    id: int
    arm: Any
    request_id: str | None
    asked: str  # UTC


@dataclass(frozen=True)
class Overview:
    """A study after its last event.

    ``reading`` is how far the past has been read, by the numbers of events, where a study was
    opened from a snapshot and followed from there; None: all of it has. Until then reasons and
    drops are of what has been read.
    """

    name: str  # of the file, or of the study in its database
    begun: Begun
    version: str  # of the package that says all this
    last: str  # time of the last event
    events: int
    head: str  # the last hash
    decisions: int
    statuses: dict[str, int]  # decisions that have a reward, are missing, are pending
    blocks: int  # of sums
    in_blocks: tuple[int, int]  # plays, and missing ones, that came in them
    arms: tuple[ArmLine, ...]  # none where decisions are vectors of a set or policies
    drops: tuple[StudyDrop, ...]
    reasons: tuple[tuple[Any, str | None, int], ...]  # arm, why an outcome is missing, how often
    awaited: tuple[Awaited, ...]  # the oldest
    held: Held | None  # what holds up outcomes that are known
    window: Window | None
    windows: dict[str, int]  # closed by the study, and outcomes that came after that
    certificate: str
    recommended: str
    bounded: bool  # whether outcomes have a declared range
    widens: bool  # whether missing outcomes are taken at their worst, else they are left out
    assumes: tuple[str, ...]  # everything that the certificate believes; () if there is none
    moments: tuple[Moment, ...]
    reading: tuple[int, int] | None = None
    problem: str | None = None  # why the past cannot be read

    @property
    def oldest(self) -> str | None:
        """When the oldest decision that is awaited was asked for."""
        return self.awaited[0].asked if self.awaited else None

    def why_missing(self) -> Counter[str | None]:
        """Return how often outcomes are missing for each reason, whatever the arm."""
        found: Counter[str | None] = Counter()
        for _, reason, times in self.reasons:
            found[reason] += times
        return found


def overview_of(replay: StudyReplay, course: StudyCourse, begun: Begun) -> Overview:
    """Return where a study stands, by a player at rest that its course has followed."""
    player, last = replay.player, replay.last
    now = course.moment(replay)
    earlier = [m for m in course.moments if m.sequence < now.sequence]
    waiting = [one.record for one in islice(replay.waiting.values(), MOST_AWAITED)]
    plays, lost = course.in_blocks
    statuses = {
        "reward": now.rewards - plays + lost,
        "missing": now.missing - lost,
        "pending": now.awaited,
    }
    reasons = [(arm, why, times) for (arm, why), times in course.reasons.items()]
    return Overview(
        name=replay.path.name,
        begun=begun,
        version=__version__,
        last=last.time,
        events=last.sequence,
        head=last.hash,
        decisions=sum(statuses.values()),
        statuses=statuses,
        blocks=course.blocks,
        in_blocks=course.in_blocks,
        arms=_arm_lines(course, now),
        drops=tuple(course.drops),
        reasons=tuple(sorted(reasons, key=lambda x: (-x[2], str(x[0]), x[1] or ""))),
        awaited=tuple(Awaited(x.id, x.arm, x.request_id, x.asked) for x in waiting),
        held=replay.held,
        window=replay.window,
        windows=dict(replay.windows),
        certificate=certificate_words(player),
        recommended=recommended(player),
        bounded=math.isfinite(player.low),
        widens=player.widens and math.isfinite(player.low),
        assumes=assumed(replay),
        moments=(*earlier, now),
    )


def _arm_lines(course: StudyCourse, now: Moment) -> tuple[ArmLine, ...]:
    rows = zip(
        course.labels,
        now.active.tolist(),
        *(now.counts[:, column].tolist() for column in (REWARDS, MISSING, AWAITED)),
        [None if math.isnan(mean) else mean for mean in now.means.tolist()],
        *now.intervals.T.tolist(),
        strict=True,
    )
    return tuple(ArmLine(*row) for row in rows) if course.labels else ()
