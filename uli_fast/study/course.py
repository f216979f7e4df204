"""How a study went: what was known after some of its events, few enough to draw.

A course is made in one pass over the events, by whoever replays or drives the study. It keeps a
moment from every ``step`` events. When they are too many, the step doubles and every second one
goes; so the whole pass looks at the player a few hundred times per doubling, whatever the number
of events. Besides, a few moments of every octave stay for good: on a logarithmic scale the
beginning is as long as the rest.

Moments are of a player at rest: one that was told several outcomes at once is looked at after the
last of them. Which event dropped an arm is known to the event: see ``StudyCourse.told``.

An interrupt while something is noted would have it noted by half. The course is marked before,
and one that stays marked is made again (following.py).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64
from uli_fast.study.events import has_reward

if TYPE_CHECKING:
    from uli_fast.study.events import Event
    from uli_fast.study.replay import StudyReplay

MOST, LEAST = 256, 32  # moments before the step doubles; with very many arms fewer, to a least
CELLS = 2**18  # moments times arms
PER_OCTAVE = 4  # moments that stay for good
MOST_REASONS = 1000  # that are told apart
REWARDS, MISSING, AWAITED = range(3)  # columns of counts


class Moment(NamedTuple):
    """What was known after an event; arrays have a row per arm, none where there are no arms."""

    sequence: int
    time: str  # UTC
    rewards: int  # of all decisions, and of plays in blocks
    missing: int
    awaited: int
    in_blocks: tuple[int, int]  # plays, and missing ones, that came in blocks of sums
    oldest: str | None  # when the oldest that is awaited was asked for
    bound: float | None  # of the certificate; None where nothing is certified
    counts: I64  # (K, 3) rewards, missing, awaited
    means: F64  # (K,) of the outcomes that were learned from; NaN where there is none
    intervals: F64  # (K, 2)
    active: B1  # (K,) in play

    @property
    def settled(self) -> int:
        """Plays of which it is known what became of them, or that nothing will."""
        return self.rewards + self.missing

    @property
    def plays(self) -> I64:
        """All plays of each arm, (K,)."""
        plays: I64 = self.counts.sum(axis=1)
        return plays


class StudyDrop(NamedTuple):
    """The event after which arms were out of play."""

    time: str
    sequence: int
    decision: int
    arms: tuple[int | str, ...]
    left: int


class StudyCourse:
    """What has been seen of a study from an event on."""

    def __init__(self, replay: StudyReplay) -> None:
        """Begin where a replay is."""
        player = replay.player
        self.labels = tuple(player.labels)
        self.begins = self.last = replay.last.sequence
        self.sound = True  # False while something is being noted
        self.moments: list[Moment] = []
        self.drops: list[StudyDrop] = []
        # By arm and reason; None is the arm where there are none, and the reason of those that
        # are too many to be told apart.
        self.reasons: Counter[tuple[Any, str | None]] = Counter()
        self._index = {arm: i for i, arm in enumerate(self.labels)}
        self.counts: I64 = np.zeros((max(len(self.labels), 1), 3), np.int64)
        self.blocks, self.in_blocks = 0, (0, 0)  # how many, plays in them, missing ones
        self._count(replay)
        self.active: B1 = active_of(player)
        self.step, self._next = 1, 0
        self._most = max(LEAST, min(MOST, CELLS // len(self.counts)))
        self.look(replay)

    def _count(self, replay: StudyReplay) -> None:
        """Count what came before."""
        for arm, of in replay.counts.items():
            row = of["reward"], of["missing"], of["pending"]
            self.counts[self._index[arm]] = row
        if not self.labels:
            decisions, awaited = len(replay.player.queue), len(replay.waiting)
            missing = replay.player.queue.told_missing
            self.counts[0] = decisions - missing - awaited, missing, awaited
        for block in replay.blocks_told:
            self._add_block(block.sums.items())

    # What happens; what was seen before, as by a player that is made again, is left alone.

    def asked(self, event: Event, arm: Any) -> None:
        """Note a decision."""
        if self._is_news(event):
            self.counts[self._index[arm] if self.labels else 0, AWAITED] += 1
            self._noted(event)

    def told(self, event: Event, arm: Any, content: Mapping[str, Any], active: B1) -> None:
        """Note what became of a decision, and which arms were in play after that."""
        if not self._is_news(event):
            return
        a = self._index[arm] if self.labels else 0
        self.counts[a, AWAITED] -= 1
        if has_reward(event.kind, content):
            self.counts[a, REWARDS] += 1
        else:
            self.counts[a, MISSING] += 1
            key = arm if self.labels else None, content["reason"]
            many = len(self.reasons) >= MOST_REASONS and key not in self.reasons
            self.reasons[key[0], None if many else key[1]] += 1
        self._compare(event, active)

    def told_block(self, event: Event, content: Mapping[str, Any], active: B1) -> None:
        """Note a block of sums."""
        if self._is_news(event):
            rows = [(self._index[arm], row) for arm, *row in content["sums"]]
            self._add_block(rows)
            self._compare(event, active)

    def passed(self, event: Event) -> None:
        """Note an event from which nothing follows."""
        if self._is_news(event):
            self._noted(event)

    def _add_block(self, rows: Iterable[tuple[int, Sequence[Any]]]) -> None:
        self.blocks += 1
        for a, (plays, _, missing) in rows:
            self.counts[a, REWARDS] += plays - missing
            self.counts[a, MISSING] += missing
            self.in_blocks = self.in_blocks[0] + plays, self.in_blocks[1] + missing

    def _is_news(self, event: Event) -> bool:
        """Return whether to note an event, and mark that it is being noted."""
        news = self.sound and event.sequence > self.last
        if news:
            self.sound = False
        return news

    def _noted(self, event: Event) -> None:
        self.last, self.sound = event.sequence, True

    def _compare(self, event: Event, active: B1) -> None:
        if not np.array_equal(active, self.active):
            gone = tuple(self.labels[a] for a in np.flatnonzero(self.active & ~active))
            left, decision = int(active.sum()), event.decision or 0
            self.drops.append(StudyDrop(event.time, event.sequence, decision, gone, left))
            self.active = active
        self._noted(event)

    def look(self, replay: StudyReplay) -> None:
        """Look at a player at rest, if it is time to."""
        sequence = replay.last.sequence
        if sequence < self._next or sequence != self.last:
            return
        self.moments.append(self.moment(replay))
        while len(self.moments) > self._most + PER_OCTAVE * sequence.bit_length():
            self.step *= 2
            self.moments = thinned(self.moments, self.step)
        octave = math.ceil(2.0 ** ((_octave(sequence) + 1) / PER_OCTAVE))
        self._next = min((sequence // self.step + 1) * self.step, max(octave, sequence + 1))

    def moment(self, replay: StudyReplay) -> Moment:
        """Return what is known now."""
        player, waiting = replay.player, next(iter(replay.waiting.values()), None)
        rewards, missing, awaited = self.counts.sum(axis=0).tolist()
        K = len(self.labels)
        return Moment(
            replay.last.sequence,
            replay.last.time,
            rewards,
            missing,
            awaited,
            self.in_blocks,
            None if waiting is None else waiting.record.asked,
            _bound(player),
            self.counts[:K].copy(),
            player.means() if K else np.zeros(0),
            np.array(list(player.intervals().values()) if K else []).reshape(K, 2),
            self.active.copy(),
        )

    def prepend(self, earlier: StudyCourse) -> None:
        """Take over what came before, from another course that ends where this one began."""
        self.reasons = earlier.reasons + self.reasons
        self.drops = earlier.drops + self.drops
        moments = [m for m in earlier.moments if m.sequence < self.begins] + self.moments
        self.step = max(self.step, earlier.step)
        self.moments = thinned(moments, self.step)
        self.begins = earlier.begins


def thinned(moments: Sequence[Moment], step: int) -> list[Moment]:
    """Keep the first moment of every ``step`` events, and of every quarter of an octave."""
    found: list[Moment] = []
    for moment in moments:
        at = moment.sequence
        before = found[-1].sequence if found else 0
        if not found or at // step > before // step or _octave(at) > _octave(before):
            found.append(moment)
    return found


def _octave(sequence: int) -> int:
    return int(PER_OCTAVE * math.log2(sequence))


def active_of(player: Any) -> B1:
    """Return which arms are in play."""
    if not player.labels:
        return np.zeros(0, bool)
    active: B1 = player.arm_state.active.copy()
    return active


def _bound(player: Any) -> float | None:
    try:
        return float(player.certificate().bound)
    except Exception:  # nothing is certified; or a user's own f was asked, and raised anything
        return None
