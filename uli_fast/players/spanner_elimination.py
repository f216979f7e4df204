"""Live phased elimination on an arm set: decisions are vectors.

Rewards are applied in the order of the decisions, each once all earlier ones are
settled. A phase closes when every decision of its quotas is settled; what is asked
beyond them in the meantime plays its arms on in turn and is not learned from. A decision
whose outcome is missing is asked for again, and nothing is proved any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, overload

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64
from uli_fast.errors import (
    ConflictingRewardError,
    NoGuaranteeError,
    StateError,
    UnsupportedError,
)
from uli_fast.guarantees import ROUNDING
from uli_fast.learners.spanner_elimination import SpannerPhases
from uli_fast.players import _assumptions
from uli_fast.players._base import describe, standing
from uli_fast.players._certificate import Certificate
from uli_fast.players._missing import SCHEMA, Missing, check_schema, left_out, too_large
from uli_fast.spanners import Spanner

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet
    from uli_fast.learners.spanner_elimination import SpannerElimination


class VectorDecision(NamedTuple):
    """What to play next: tell its reward under ``id``."""

    id: int
    arm: tuple[float, ...]
    probability: float


class SpannerPlayer:
    """Asks for each arm of the phase's spanner in turn."""

    def __init__(
        self, learner: SpannerElimination, region: ArmSet, low: float, high: float, intercept: float
    ) -> None:
        self.learner, self.low, self.high, self.intercept = learner, low, high, intercept
        self._phases = SpannerPhases(learner.resolved((low, high)), region)
        self._decisions: list[tuple[int, int]] = []  # phase and number of the arm
        self._rewards: list[float | None] = []
        self._missing = Missing()
        self._omitted = 0  # missing outcomes that would have been learned from
        self._settled = 0
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

    @property
    def pending(self) -> tuple[int, ...]:
        """Ids of the decisions whose reward is still awaited."""
        waiting = range(self._settled, len(self._rewards))
        return tuple(i + 1 for i in waiting if self._rewards[i] is None and i not in self._missing)

    @overload
    def ask(self, n: None = None) -> VectorDecision: ...
    @overload
    def ask(self, n: int) -> list[VectorDecision]: ...
    def ask(self, n: int | None = None) -> VectorDecision | list[VectorDecision]:
        """Return the next decision, or a list of the next n; ``arm`` is a tuple of numbers."""
        if n is not None:
            return [self._ask() for _ in range(_check.decisions("n", n))]
        return self._ask()

    def tell(self, id: int, reward: float) -> None:
        """Give the reward of a decision; telling the same again changes nothing."""
        position = _check.decision("id", id, len(self._rewards))
        value = _check.reward(reward, self.low, self.high)
        self._missing.refuse("reward", id, position)
        before = self._rewards[position]
        if before is not None and before != value:
            raise ConflictingRewardError(
                "reward", f"decision {id} already has reward {before!r}, got {value!r}"
            )
        self._rewards[position] = value
        self._settle()

    def tell_missing(self, id: int, reason: str) -> None:
        """Say that the reward of a decision will never come; saying it again changes nothing."""
        position = _check.decision("id", id, len(self._rewards))
        if self._missing.add(id, position, reason, self._rewards[position]):
            self._settle()

    def recommend(self) -> tuple[float, ...]:
        """Return the active arm that the last closed phase's estimate likes best."""
        return tuple(self._phases.best.tolist())

    def intervals(self) -> NoReturn:
        """Raise UnsupportedError: what is in play is a set that nobody could list."""
        raise UnsupportedError("intervals: SpannerElimination has none: its arms cannot be listed")

    def certificate(self) -> Certificate:
        """Return what is certain of every arm of this phase, from settled rewards alone.

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

    def state(self) -> dict[str, Any]:
        """Return everything as plain numbers, for JSON and ``uli.restore(state, arms=...)``."""
        finite = math.isfinite(self.low)
        return {
            "schema": SCHEMA,
            "learner": describe(self.learner),
            "set": extent(self._phases.region),
            "range": [self.low, self.high] if finite else [None, None],
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
            "decisions": [list(d) for d in self._decisions],
            "rewards": list(self._rewards),
            "missing": self._missing.saved(),
            "omitted": self._omitted,
            "again": list(self._again),
            "settled": self._settled,
            "closed": self._closed,
        }

    def __repr__(self) -> str:
        return standing(self, repr(self._phases.region), len(self._decisions))

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
        self._decisions.append((self.phase if within else 0, a))
        self._rewards.append(None)
        return VectorDecision(len(self._decisions), tuple(self._arms[a].tolist()), 1.0)

    def _settle(self) -> None:
        while self._settled < len(self._decisions):
            reward = self._rewards[self._settled]
            if reward is None and self._settled not in self._missing:
                return
            phase, a = self._decisions[self._settled]
            self._settled += 1
            if phase != self.phase:
                continue
            if reward is None:
                self._omitted += 1
                self._again.append(a)
                continue
            self._largest = max(self._largest, abs(reward))
            self._sums[a] += reward - self.intercept
            self._counts[a] += 1
            if (self._counts == self._n).all():
                self._closed += self._n * len(self._arms)
                self._phases.close(self._arms, self._n, self._sums / self._n)
                self._open()

    def _load(self, saved: Mapping[str, Any]) -> None:
        saved = check_schema(saved, omitted=0, again=[])
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
        self._decisions = [(int(m), int(a)) for m, a in saved["decisions"]]
        self._rewards = [
            None if r is None else _check.reward(r, self.low, self.high) for r in saved["rewards"]
        ]
        self._missing.load(saved["missing"], self._rewards)
        self._largest = max((abs(r) for r in self._rewards if r is not None), default=0.0)
        self._omitted = int(saved["omitted"])
        self._again = [int(a) for a in saved["again"]]
        self._settled, self._closed = int(saved["settled"]), int(saved["closed"])
        consistent = (
            len(self._decisions) == len(self._rewards)
            and 0 <= self._settled <= len(self._decisions)
            and all(
                r is not None or i in self._missing
                for i, r in enumerate(self._rewards[: self._settled])
            )
            and 0 <= len(self._again) <= self._omitted <= len(self._missing)
            and all(0 <= a < len(self._arms) for a in self._again)
            and len(self._sums) == len(self._counts) == len(self._arms)
            and self._arms.shape[1:] == phases.theta.shape == phases.best.shape
            and phases.spanner.columns.shape == phases.spanner.inverse.shape
            and all(np.isfinite(x).all() for x in (phases.theta, phases.best, self._arms))
            and phases.phase >= max((m for m, _ in self._decisions), default=1) >= 0
            and self._n >= 1
            and 0.0 <= phases.gap < math.inf
            and reach.shape == phases.theta.shape
            and self._asked >= 0
            and bool((self._counts >= 0).all() and (self._counts <= self._n).all())
        )
        if not consistent:
            raise StateError("state", "contradicts itself: decisions, counts and rewards differ")


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


def _spanner(columns: Any, real: Any, inverse: Any, reach: F64) -> Spanner:
    matrix = np.array(columns, np.float64)
    log_det = float(np.linalg.slogdet(matrix).logabsdet)
    about = (np.array(real, np.bool_), np.array(inverse, np.float64), log_det)
    return Spanner(matrix, *about, oracle_calls=0, swaps=0, reach=reach)
