"""What live players on arm sets share: decisions are vectors, a phase asks for each of its arms.

A phase closes when every decision of its quotas is settled; what is asked beyond them in the
meantime plays its arms on in turn and is not learned from. A missing outcome of rewards in a range
counts as the middle of it where a learner allows for the worst (``widens``). Else it is asked for
again, and nothing is proved any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64
from uli_fast.errors import NoGuaranteeError, StateError, UnsupportedError
from uli_fast.guarantees import ROUNDING
from uli_fast.players._certificate import left_out, too_large
from uli_fast.players._player import RewardPlayer
from uli_fast.players._queue import DecisionQueue

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet


class VectorDecision(NamedTuple):
    """What to play next: tell its reward under ``id``."""

    id: int
    arm: tuple[float, ...]
    probability: float


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

    ahead: ClassVar[tuple[str, ...]] = ("asked", "again")
    forgets: ClassVar[bool] = True
    _phases: Any

    def __init__(
        self, learner: Any, region: ArmSet, low: float, high: float, intercept: float
    ) -> None:
        # A decision is its phase, 0 if none learns from it, and the number of the arm.
        super().__init__(learner, low, high, DecisionQueue("decisions", "rewards", "reward"))
        self.region: ArmSet = region
        self.intercept = self._zero = intercept  # what rewards are learned from less
        self._omitted = 0  # missing outcomes that would have been learned from
        self._all_lost = 0  # missing outcomes that count at their worst
        self._closed = 0  # rounds of the closed phases' quotas
        self._largest = 0.0  # no reward that was learned from is farther from 0
        self._arms: F64

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
        return int(self._n)

    @property
    def lost(self) -> int:
        """How many missing outcomes count at their worst."""
        return self._all_lost

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
        self._arms, self._n, _ = self._phases.open()
        self._asked = 0
        self._again: list[int] = []  # arms whose outcome was missing
        self._sums: F64 = np.zeros(len(self._arms))
        self._counts: I64 = np.zeros(len(self._arms), np.int64)
        self._lost: I64 = np.zeros(len(self._arms), np.int64)  # of this phase's arms

    def _ask(self) -> VectorDecision:
        quota = self._n * len(self._arms)
        within = self._asked < quota
        a = self._asked // self._n if within else (self._asked - quota) % len(self._arms)
        if self._again:
            within, a = True, self._again.pop(0)
        else:
            self._asked += 1
        id = self.queue.add((self.phase if within else 0, a))
        return VectorDecision(id, tuple(self._arms[a].tolist()), 1.0)

    def _take_in(self, decision: tuple[int, int], reward: float | None) -> None:
        phase, a = decision
        if phase != self.phase:
            return
        if reward is None:
            self._omit(a)
            return
        self._largest = max(self._largest, abs(reward))
        self._count(a, reward - self._zero)

    def _omit(self, a: int) -> None:
        """Count a missing outcome as the middle of the range, or ask for it again."""
        if self.widens and math.isfinite(self.low):
            self._lost[a] += 1
            self._all_lost += 1
            self._count(a, self.low / 2.0 + self.high / 2.0 - self._zero)
        else:
            self._omitted += 1
            self._again.append(a)

    def _count(self, a: int, reward: float) -> None:
        """Learn from what is left of a reward; a phase ends with the last of its quotas."""
        self._sums[a] += reward
        self._counts[a] += 1
        if (self._counts == self._n).all():
            self._closed += self._n * len(self._arms)
            self._close()
            self._open()

    def _close(self) -> None:
        """Learn from a phase."""
        self._phases.close(self._arms, self._n, self._sums / self._n)

    def _off(self) -> F64:
        """Bound what missing outcomes may have changed in the mean of each arm."""
        if not self._lost.any():  # the range may be infinite
            return np.zeros(len(self._lost))
        return np.asarray(self._lost / self._n * (self.high / 2.0 - self.low / 2.0))

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
        if self._omitted:
            raise left_out(self._omitted)
        t = self._closed + int(self._counts.sum()) + 1  # what has been learned from
        largest = max(self._largest, abs(self._zero)) if t > 1 else 0.0
        if math.isinf(self.low) and 2.0 * t * largest * 2.0**-53 > allowed:
            raise too_large(largest)
        return t

    def _what(self) -> str:
        return repr(self.region)

    # Saved states.

    def forget(self) -> None:
        """Drop the settled decisions."""
        self.queue.forget()

    def _saved(self) -> dict[str, Any]:
        lost = {"lost": self._lost.tolist(), "all_lost": self._all_lost} if self.widens else {}
        largest = {"largest": self._largest} if self.queue.forgotten else {}
        return (
            lost
            | largest
            | {
                "set": extent(self._phases.region),
                "intercept": self.intercept,
                "phase": self.phase,
                "asked": self._asked,
                "sums": self._sums.tolist(),
                "counts": self._counts.tolist(),
                "omitted": self._omitted,
                "again": list(self._again),
                "closed": self._closed,
            }
        )

    def _load_set(self, saved: Mapping[str, Any]) -> None:
        """Refuse a state of another set of arms."""
        there, here = np.array(saved["set"]), np.array(extent(self._phases.region))
        if there.shape != here.shape or not np.allclose(there, here, rtol=1e-7, atol=1e-12):
            raise StateError("arms", "are not those of the state: their extent differs")

    def _load_counts(self, saved: Mapping[str, Any]) -> bool:
        """Take over decisions and what is known of the open phase; say whether it fits together."""
        self._asked = int(saved["asked"])
        self._sums, self._counts = np.array(saved["sums"]), np.array(saved["counts"], np.int64)
        self.queue.load(saved, _decision, self._read)
        self._largest = max((abs(r) for r in self.queue.outcomes if r is not None), default=0.0)
        if self.queue.forgotten:
            self._largest = _check.number("largest", saved["largest"])
        self._omitted = int(saved["omitted"])
        self._again = [int(a) for a in saved["again"]]
        self._closed = int(saved["closed"])
        self._lost = np.zeros_like(self._counts)
        if self.widens:
            self._lost = np.array(saved["lost"], np.int64)
            self._all_lost = _check.whole("all_lost", saved["all_lost"], 0)
        return (
            0 <= len(self._again) <= self._omitted <= self.queue.told_missing
            and all(0 <= a < len(self._arms) for a in self._again)
            and len(self._sums) == len(self._counts) == len(self._arms)
            and self.phase >= max((m for m, _ in self.queue.decisions), default=1) >= 0
            and self._n >= 1
            and self._asked >= 0
            and bool((self._counts >= 0).all() and (self._counts <= self._n).all())
            and self._lost.shape == self._counts.shape
            and bool((self._lost >= 0).all() and (self._lost <= self._counts).all())
            and int(self._lost.sum()) <= self._all_lost <= self.queue.told_missing
        )

    def retrace(self, other: SetPlayer) -> None:
        """Be told what another player was told."""
        super().retrace(other)
        # Arms to be asked for again are taken from the front.
        again = len(self._again) - len(other._again)
        within = sum(phase == other.phase for phase, _ in other.queue.decisions)
        quota = other.quota * len(other.arms)
        if (
            again < 0
            or self._again[again:] != other._again
            or within != min(other._asked, quota) + again
        ):
            raise StateError("state", "contradicts itself: what is asked for again is not missing")


def contradiction() -> StateError:
    """Say that a state does not fit together."""
    return StateError("state", "contradicts itself: decisions, counts and rewards differ")


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


def _decision(saved: Any) -> tuple[int, int]:
    phase, a = saved
    return int(phase), int(a)
