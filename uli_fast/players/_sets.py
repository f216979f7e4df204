"""What live players on arm sets share: decisions are vectors, a phase asks for each of its arms.

A phase closes when every decision of its quotas is settled; what is asked beyond them in the
meantime plays its arms on in turn and is not learned from. A missing outcome of rewards in a range
counts as the middle of it where a learner allows for the worst (``widens``). Else it is asked for
again, and nothing is proved any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64
from uli_fast.errors import NoGuaranteeError, StateError, UnsupportedError
from uli_fast.guarantees import ROUNDING
from uli_fast.players._certificate import left_out, too_large
from uli_fast.players._player import RewardPlayer
from uli_fast.players._queue import DecisionQueue
from uli_fast.players._saved_states import Attributes, Records, contradicts, load

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet


class VectorDecision(NamedTuple):
    """What to play next: tell its reward under ``id``."""

    id: int
    arm: tuple[float, ...]
    probability: float


class SetMemory(NamedTuple):
    """What is known of the open phase, and counted over all of them."""

    n: I64  # (1,) plays of each of its arms
    asked: I64  # (1,) decisions of this phase
    again: Records  # arms whose outcome was missing
    sums: F64  # (k,) of each arm
    counts: I64  # (k,) plays
    lost: I64  # (k,) of these, missing and counted at their worst
    omitted: I64  # (1,) missing outcomes that would have been learned from
    all_lost: I64  # (1,) missing outcomes that count at their worst
    closed: I64  # (1,) rounds of the closed phases' quotas
    largest: F64  # (1,) no reward that was learned from is farther from 0


class SetPlayer(RewardPlayer[VectorDecision]):
    """Asks for each arm of a phase in turn; the ``arm`` of a decision is a tuple.

    ``learner.start(arm_set)`` makes it. What to call first: ``ask()``, ``tell(id, reward)``,
    ``recommend()``, ``certificate()``.

    Examples
    --------
    >>> import uli_fast as uli
    >>> player = uli.SpannerElimination(0.05, R=1.0).start(uli.arm_sets.Ball(2))
    >>> decision = player.ask()
    >>> player.tell(decision.id, 0.3)
    >>> len(decision.arm)
    2
    """

    forgets: ClassVar[bool] = True
    _phases: Any
    # What changes in the phases beside their number.
    _changing: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, learner: Any, region: ArmSet, low: float, high: float, intercept: float
    ) -> None:
        # A decision is its phase, 0 if none learns from it, and the number of the arm.
        read = partial(_check.reward, low=low, high=high)
        super().__init__(learner, low, high, DecisionQueue("reward", read))
        self.region: ArmSet = region
        self.intercept = self._zero = intercept  # what rewards are learned from less
        self._arms: F64
        sizes = (np.zeros(0), *np.zeros((2, 0), np.int64))  # of no phase yet
        counts = np.zeros((5, 1), np.int64)
        self.memory = SetMemory._make((*counts[:2], Records(int), *sizes, *counts[2:], np.zeros(1)))

    @property
    def phase(self) -> int:
        """The phase in which settled rewards now count."""
        return int(self._phases.phase)

    @property
    def arms(self) -> F64:
        """The arms of this phase, one per row."""
        return self._arms

    @property
    def quota(self) -> int:
        """Plays of each of them."""
        return int(self.memory.n[0])

    @property
    def lost(self) -> int:
        """How many missing outcomes count at their worst."""
        return int(self.memory.all_lost[0])

    @property
    def withdrawn(self) -> bool:
        """Whether this phase knows less than F counts on, though no outcome is missing."""
        return not (self._phases.in_time or self.lost)

    @property
    def active(self) -> NoReturn:
        """Raise UnsupportedError: what is in play is a set that nobody could list."""
        raise self._unlisted("active")

    def intervals(self) -> NoReturn:
        """Raise UnsupportedError: what is in play is a set that nobody could list."""
        raise self._unlisted("intervals")

    def recommend(self) -> tuple[float, ...]:
        """Return the active arm that the last closed phase's estimate likes best."""
        return tuple(self._phases.best.tolist())

    def started_with(self) -> dict[str, Any]:
        """Return the mean of the arm 0."""
        return {"intercept": self.intercept}

    def decision(self, id: int, content: Mapping[str, Any]) -> VectorDecision:
        """Return a decision with the very numbers that a file has of it."""
        return VectorDecision(id, tuple(content["arm"]), content["probability"])

    # Inside.

    def _unlisted(self, what: str) -> UnsupportedError:
        name = type(self.learner).__name__
        return UnsupportedError(f"{what}: {name} has none: its arms cannot be listed")

    def _open(self) -> None:
        self._arms, self.memory.n[0], _ = self._phases.open()
        self.memory.asked[0] = 0
        self.memory.again.clear()
        self._begin()

    def _begin(self) -> None:
        """Forget all outcomes of the arms of a phase."""
        k = len(self._arms)
        counts: I64 = np.zeros((2, k), np.int64)
        self.memory = self.memory._replace(sums=np.zeros(k), counts=counts[0], lost=counts[1])

    def _ask(self) -> VectorDecision:
        a = self._next()
        return VectorDecision(len(self.queue), tuple(self._arms[a].tolist()), 1.0)

    def _next(self) -> int:
        """Note the next decision; return its arm."""
        memory, arms = self.memory, len(self._arms)
        n, asked = memory.n.item(), memory.asked.item()
        within = asked < n * arms
        a: int = asked // n if within else (asked - n * arms) % arms
        if memory.again:
            within, a = True, memory.again.pop(0)
        else:
            memory.asked[0] = asked + 1
        self.queue.add((self._phases.phase if within else 0, a))
        return a

    def _repeat(self, decision: tuple[int, int], outcome: float | None) -> None:
        self._next()

    def _take_in(self, decision: tuple[int, int], reward: float | None) -> None:
        phase, a = decision
        if phase != self._phases.phase:
            return
        if reward is None:
            self._omit(a)
            return
        if abs(reward) > self.memory.largest[0]:
            self.memory.largest[0] = abs(reward)
        self._count(a, reward - self._zero)

    def _omit(self, a: int) -> None:
        """Count a missing outcome as the middle of the range, or ask for it again."""
        memory = self.memory
        if self.widens and math.isfinite(self.low):
            memory.lost[a] += 1
            memory.all_lost[0] += 1
            self._count(a, self.low / 2.0 + self.high / 2.0 - self._zero)
        else:
            memory.omitted[0] += 1
            memory.again.append(a)

    def _count(self, a: int, reward: float) -> None:
        """Learn from what is left of a reward; a phase ends with the last of its quotas."""
        memory = self.memory
        memory.sums[a] += reward
        memory.counts[a] += 1
        if memory.counts[a] == memory.n[0] and (memory.counts == memory.n[0]).all():
            memory.closed[0] += self.quota * len(self._arms)
            self._close()
            self._open()

    def _close(self) -> None:
        """Learn from a phase."""
        self._phases.close(self._arms, self.quota, self.memory.sums / self.quota)

    def _off(self) -> F64:
        """Bound what missing outcomes may have changed in the mean of each arm."""
        lost = self.memory.lost
        if not lost.any():  # the range may be infinite
            return np.zeros(len(lost))
        return np.asarray(lost / self.quota * (self.high / 2.0 - self.low / 2.0))

    def _learned(self, allowed: float) -> int:
        """Return the first round that settled rewards decide on, refusing what is not proved.

        ``allowed`` is what rounding may do to a mean.
        """
        noise, R = (self.high - self.low) / 2.0, self._phases.learner.R
        if math.isfinite(noise) and noise > R * ROUNDING:
            raise NoGuaranteeError(
                f"rewards in [{self.low:g}, {self.high:g}] may be {noise:g}-subgaussian, "
                f"the learner assumes R = {R:g}"
            )
        memory = self.memory
        if memory.omitted[0]:
            raise left_out(int(memory.omitted[0]))
        t = int(memory.closed[0] + memory.counts.sum()) + 1  # what has been learned from
        largest = max(float(memory.largest[0]), abs(self._zero)) if t > 1 else 0.0
        if math.isinf(self.low) and 2.0 * t * largest * 2.0**-53 > allowed:
            raise too_large(largest)
        return t

    def _what(self) -> str:
        return repr(self.region)

    # Saved states.

    def forget(self) -> None:
        """Drop the settled decisions."""
        self.queue.forget()

    def also_started_with(self) -> dict[str, Any]:
        """Return how far the set of arms reaches: it is not in a state."""
        return {"extent": extent(self._phases.region)}

    def parts(self) -> dict[str, Any]:
        """Return all that changes, by name."""
        phases = Attributes(self._phases, "phase", *self._changing)
        return super().parts() | {"phases": phases, "memory": self.memory}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what ``state`` returned, if it is of the same set."""
        there, here = np.array(saved["start"]["extent"]), np.array(extent(self._phases.region))
        if there.shape != here.shape or not np.allclose(there, here, rtol=1e-7, atol=1e-12):
            raise StateError("arms", "are not those of the state: their extent differs")
        load(self.parts()["phases"], saved["phases"])
        self._arms = self._phases.arms
        self._begin()
        super().load(saved)

    def check_state(self) -> None:
        """Refuse what no player can hold, whatever led to it."""
        memory, told = self.memory, self.queue.told_missing
        holds = (
            0 <= len(memory.again) <= memory.omitted[0] <= told,
            all(0 <= a < len(self._arms) for a in memory.again),
            self.phase >= max((m for m, _ in self.queue.decisions), default=1) >= 0,
            memory.n[0] >= 1 and memory.asked[0] >= 0,
            (memory.counts >= 0).all() and (memory.counts <= memory.n[0]).all(),
            (memory.lost >= 0).all() and (memory.lost <= memory.counts).all(),
            memory.lost.sum() <= memory.all_lost[0] <= told,
        )
        if not all(holds):
            raise contradicts("decisions, counts and rewards differ")


def extent(region: ArmSet) -> list[float]:
    """Return how far a set reaches in some directions: enough to tell it from another."""
    d = region.dimension
    some = np.random.default_rng(0).standard_normal((n_directions(d) - 2 * d, d))
    whole = region.restrict()
    directions = np.vstack([np.eye(d), -np.eye(d), some])
    return [float(u @ whole.maximize(u)[0]) for u in directions]


def n_directions(d: int) -> int:
    """Return in how many directions ``extent`` looks."""
    return 2 * d + 8
