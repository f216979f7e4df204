"""Live phased elimination on an arm set: decisions are vectors.

A phase closes when every decision of its quotas is settled; what is asked beyond them in the
meantime plays its arms on in turn and is not learned from. A decision whose outcome is missing is
asked for again, and nothing is proved any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64
from uli_fast.errors import NoGuaranteeError, StateError, UnsupportedError
from uli_fast.geometry.spanners import Spanner
from uli_fast.guarantees import ROUNDING
from uli_fast.learners.spanner_elimination import SpannerPhases
from uli_fast.players import _assumptions
from uli_fast.players._certificate import Certificate, left_out, too_large
from uli_fast.players._player import RewardPlayer
from uli_fast.players._queue import DecisionQueue

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet
    from uli_fast.learners.spanner_elimination import SpannerElimination


class VectorDecision(NamedTuple):
    """What to play next: tell its reward under ``id``."""

    id: int
    arm: tuple[float, ...]
    probability: float


class SpannerPlayer(RewardPlayer[VectorDecision]):
    """Asks for each arm of the phase's spanner in turn; the ``arm`` of a decision is a tuple."""

    learner: SpannerElimination
    ahead: ClassVar[tuple[str, ...]] = ("asked", "again")

    def __init__(
        self, learner: SpannerElimination, region: ArmSet, low: float, high: float, intercept: float
    ) -> None:
        # A decision is its phase, 0 if none learns from it, and the number of the arm.
        super().__init__(learner, low, high, DecisionQueue("decisions", "rewards", "reward"))
        self.region, self.intercept = region, intercept
        self._phases = SpannerPhases(learner.resolved((low, high)), region)
        self._omitted = 0  # missing outcomes that would have been learned from
        self._closed = 0  # rounds of the closed phases' quotas
        self._largest = 0.0  # no reward that was learned from is farther from 0
        self._arms: F64
        self._open()

    @property
    def phase(self) -> int:
        """The phase in which settled rewards now count."""
        return self._phases.phase

    @property
    def arms(self) -> F64:
        """The arms of this phase, one per row."""
        return self._arms

    @property
    def quota(self) -> int:
        """Plays of each of them."""
        return self._n

    @property
    def active(self) -> NoReturn:
        """Raise UnsupportedError: what is in play is a set that nobody could list."""
        raise UnsupportedError("active: SpannerElimination has none: its arms cannot be listed")

    def recommend(self) -> tuple[float, ...]:
        """Return the active arm that the last closed phase's estimate likes best."""
        return tuple(self._phases.best.tolist())

    def intervals(self) -> NoReturn:
        """Raise UnsupportedError: what is in play is a set that nobody could list."""
        raise UnsupportedError("intervals: SpannerElimination has none: its arms cannot be listed")

    def certificate(self) -> Certificate:
        """Return what is certain about every arm of this phase, from settled rewards alone.

        Later phases may have arms that this one has not: then the bound may rise, up to F.
        """
        learner, noise = self._phases.learner, (self.high - self.low) / 2.0
        guarantee = learner.guarantee(self._phases.region)
        assert learner.R is not None
        if math.isfinite(noise) and noise > learner.R * ROUNDING:
            raise NoGuaranteeError(
                f"rewards in [{self.low:g}, {self.high:g}] may be {noise:g}-subgaussian, "
                f"the learner assumes R = {learner.R:g}"
            )
        if self._omitted:
            raise left_out(self._omitted)
        t = self._closed + int(self._counts.sum()) + 1  # what has been learned from
        allowed = 1e-3 * 2.0**-self.phase * self._phases.scale  # of what the proofs allow for
        if math.isinf(self.low) and 2.0 * t * self._largest * 2.0**-53 > allowed:
            raise too_large(self._largest)
        envelope = guarantee.bound(t)
        bound = min(envelope, min(self._phases.gap, 2.0) * self._phases.scale)
        assumes = _assumptions.of_set(self, self._phases.region)
        return Certificate(t, bound, envelope, guarantee.delta, (), guarantee.proved, assumes)

    def started_with(self) -> dict[str, Any]:
        """Return the mean of the arm 0."""
        return {"intercept": self.intercept}

    # Inside.

    def _open(self) -> None:
        self._arms, self._n, _ = self._phases.open()
        self._asked = 0
        self._again: list[int] = []  # arms whose outcome was missing
        self._sums: F64 = np.zeros(len(self._arms))
        self._counts: I64 = np.zeros(len(self._arms), np.int64)

    @property
    def _spanner(self) -> Spanner:
        assert self._phases.spanner is not None
        return self._phases.spanner

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
            self._omitted += 1
            self._again.append(a)
            return
        self._largest = max(self._largest, abs(reward))
        self._sums[a] += reward - self.intercept
        self._counts[a] += 1
        if (self._counts == self._n).all():
            self._closed += self._n * len(self._arms)
            self._phases.close(self._arms, self._n, self._sums / self._n)
            self._open()

    def _what(self) -> str:
        return repr(self.region)

    # Saved states.

    def _saved(self) -> dict[str, Any]:
        return {
            "set": extent(self._phases.region),
            "intercept": self.intercept,
            "phase": self.phase,
            "theta": self._phases.theta.tolist(),
            "columns": self._spanner.columns.tolist(),
            "real": self._spanner.real.tolist(),
            "inverse": self._spanner.inverse.tolist(),
            "reach": self._spanner.reach.tolist(),
            "best": self._phases.best.tolist(),
            "gap": self._phases.gap,
            "arms": self._arms.tolist(),
            "n": self._n,
            "asked": self._asked,
            "sums": self._sums.tolist(),
            "counts": self._counts.tolist(),
            "omitted": self._omitted,
            "again": list(self._again),
            "closed": self._closed,
        }

    def _absent(self) -> dict[str, Any]:
        return {"omitted": 0, "again": []}

    def _load(self, saved: Mapping[str, Any]) -> None:
        there, here = np.array(saved["set"]), np.array(extent(self._phases.region))
        if there.shape != here.shape or not np.allclose(there, here, rtol=1e-7, atol=1e-12):
            raise StateError("arms", "are not those of the state: their extent differs")
        phases = self._phases
        phases.phase = int(saved["phase"])
        phases.theta = np.array(saved["theta"], np.float64)
        # Before it was kept, C was the limit of every coefficient.
        reach = np.array(saved.get("reach", [0.0] * self._phases.region.dimension), np.float64)
        phases.spanner = _spanner(saved["columns"], saved["real"], saved["inverse"], reach)
        phases.best = np.array(saved["best"], np.float64)
        general = 4.0 * 2.0**-phases.phase  # what states from before know
        phases.gap = _check.number("gap", saved.get("gap", general))
        self._arms, self._n = np.array(saved["arms"], np.float64), int(saved["n"])
        self._asked = int(saved["asked"])
        self._sums, self._counts = np.array(saved["sums"]), np.array(saved["counts"], np.int64)
        self.queue.load(saved, _decision, self._read)
        self._largest = max((abs(r) for r in self.queue.outcomes if r is not None), default=0.0)
        self._omitted = int(saved["omitted"])
        self._again = [int(a) for a in saved["again"]]
        self._closed = int(saved["closed"])
        consistent = (
            0 <= len(self._again) <= self._omitted <= len(self.queue.missing)
            and all(0 <= a < len(self._arms) for a in self._again)
            and len(self._sums) == len(self._counts) == len(self._arms)
            and self._arms.shape[1:] == phases.theta.shape == phases.best.shape
            and phases.spanner.columns.shape == phases.spanner.inverse.shape
            and all(np.isfinite(x).all() for x in (phases.theta, phases.best, self._arms))
            and phases.phase >= max((m for m, _ in self.queue.decisions), default=1) >= 0
            and self._n >= 1
            and 0.0 <= phases.gap < math.inf
            and reach.shape == phases.theta.shape
            and self._asked >= 0
            and bool((self._counts >= 0).all() and (self._counts <= self._n).all())
        )
        if not consistent:
            raise StateError("state", "contradicts itself: decisions, counts and rewards differ")

    def retrace(self, other: SpannerPlayer) -> None:
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

    def adopt(self, fresh: SpannerPlayer, saved: Mapping[str, Any]) -> None:
        """Take over what states of 0.6.0 do not hold."""
        if "gap" not in saved:
            self._phases.gap = fresh._phases.gap
        if "reach" not in saved:
            reach = fresh._spanner.reach
            self._phases.spanner = replace(self._spanner, reach=reach)


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


def _spanner(columns: Any, real: Any, inverse: Any, reach: F64) -> Spanner:
    matrix = np.array(columns, np.float64)
    log_det = float(np.linalg.slogdet(matrix).logabsdet)
    about = (np.array(real, np.bool_), np.array(inverse, np.float64), log_det)
    numbers = np.full(len(matrix), -1)  # a player goes by the arms themselves
    return Spanner(matrix, *about, oracle_calls=0, swaps=0, reach=reach, numbers=numbers)
