"""What the schedules of spanner elimination share: active sets, and phases that play spanners."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._typing import F64
from uli_fast.errors import OracleError
from uli_fast.geometry.spanners import Oracle, Spanner, find_spanner
from uli_fast.learners._sets import Work

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet
    from uli_fast.learners.spanner_elimination import SpannerElimination


class SpannedPhases:
    """The phases of one run: a spanner of the active arms each, and the estimate at its end.

    A schedule says how long placeholders are, how often the arms are played, what is learned, and
    which arms stay.
    """

    def __init__(self, learner: SpannerElimination, region: ArmSet) -> None:
        self.learner, self.region = learner, region
        self.size = region.largest_norm() or 1.0
        self.scale = self.size * learner.theta_norm
        self.theta: F64 = np.zeros(region.dimension)  # theta_hat, for arms divided by ``size``
        self.spanner: Spanner | None = None
        self.best: F64 = np.zeros(region.dimension)  # the arm that theta_hat likes best
        # Of the best arm and of this phase's arms, where they are finitely many; else -1.
        self.best_number, self.numbers = -1, list[int]()
        self.top = math.inf  # no active arm is above it by theta_hat; infinite in phase 1
        self.gap = math.inf  # no arm of this phase has a larger one, in units of the proofs
        self.phase = 0

    # What a schedule supplies.

    def close(self, arms: F64, n: int, means: F64, off: F64 | None = None) -> None:
        """Estimate theta from this phase's mean rewards, less the intercept.

        ``off`` bounds what missing outcomes may have changed in each mean.
        """
        raise NotImplementedError

    @property
    def in_time(self) -> bool:
        """Whether F holds for the arms of this phase: what was learned is as good as planned."""
        raise NotImplementedError

    @property
    def spare(self) -> float:
        """By how much rounding may change the sum of a phase's means."""
        raise NotImplementedError

    def _length(self) -> float:
        """Return the length of this phase's placeholders."""
        raise NotImplementedError

    def _plays(self) -> int:
        """Return how often each arm of the spanner is played."""
        raise NotImplementedError

    def _box(self) -> tuple[F64, F64]:
        """Return the rows and limits of the last spanner's box."""
        raise NotImplementedError

    def _behind(self, m: int) -> float:
        """Return how far behind the best arm, by theta_hat, those of phase m may be."""
        raise NotImplementedError

    def _largest_gap(self, oracle: Any, arms: F64) -> float:
        """Bound the gaps of this phase's arms: on the event a best arm is among the active ones."""
        raise NotImplementedError

    # What they share.

    def open(self) -> tuple[F64, int, Work]:
        """Begin the next phase; return its arms, the plays of each, and what that took."""
        begun = time.perf_counter()
        learner, d = self.learner, self.region.dimension
        self.phase += 1
        oracle, self.best, calls = self.active(self.phase)
        length = self._length()
        self.spanner = find_spanner(oracle, d, length, learner.C, learner.mode, self.size)
        arms, self.numbers = self.arms, [self.best_number]
        if self.spanner.real.any():
            self.numbers = self.spanner.numbers[self.spanner.real].tolist()
        if np.linalg.norm(arms, axis=1).max() > self.size * (1.0 + 1e-6):
            raise OracleError(f"{self.region!r} gave an arm longer than its largest_norm()")
        self.gap = self._largest_gap(oracle, arms)
        n = self._plays()
        calls += self.spanner.oracle_calls
        work = Work(calls, self.spanner.swaps, time.perf_counter() - begun)
        return arms, n, work

    @property
    def arms(self) -> F64:
        """The arms of this phase, one per row.

        Without a real column there is nothing but the origin, up to the placeholders' length.
        """
        assert self.spanner is not None
        return self.spanner.arms if self.spanner.real.any() else self.best[None]

    def active(self, m: int) -> tuple[Oracle, F64, int]:
        """Return the active set S_m, its empirically best arm, and the calls that took."""
        if self.spanner is None:
            whole = self.region.restrict()
            return whole, self._best(whole, np.eye(self.region.dimension)[0])[0], 1
        box = self._box()
        direction = self.theta / self.size
        length = float(np.linalg.norm(direction))
        within = Boxed(self.region, box, None)
        self.top = 0.0
        if length == 0.0:
            return within, self._best(within, np.eye(self.region.dimension)[0])[0], 1
        best, most = self._best(within, direction / length)
        self.top = most * length
        # -<theta_hat, a> <= room: no further behind the best than the schedule allows.
        room = self._behind(m) - float(direction @ best)
        cut = (-direction[None], np.array([room]))
        return Boxed(self.region, box, cut), best, 1

    def _best(self, oracle: Any, u: F64) -> tuple[F64, float]:
        best, most = oracle.maximize(u)
        self.best_number = getattr(oracle, "number", -1)  # an oracle of a user's may have none
        return best, most

    def _known_gap(self, oracle: Any, arms: F64, errors: float) -> float:
        """Bound gaps by theta_hat: what arms are behind, and its errors; one alone is the best."""
        if getattr(oracle, "alone", False):
            return 0.0
        behind = self.top - float((arms @ self.theta).min()) / self.size
        return max(behind, 0.0) + errors


class Boxed:
    """An arm set cut by a half-space and a box; the box is looked at only where it binds.

    On convex sets it almost never does. Finitely many arms are masked by it at once.
    """

    def __init__(self, region: Any, box: tuple[F64, F64], cut: tuple[F64, F64] | None) -> None:
        from uli_fast.kernels.spanner_elimination import is_within

        self.region, self.box, self.is_within = region, box, is_within
        self.cut = cut if cut is not None else (np.zeros((0, region.dimension)), np.zeros(0))
        self.exact = region.finite
        self.oracle = self._built(self.exact)

    def _built(self, with_box: bool) -> Any:
        V, b = self.cut
        if with_box:
            V, b = np.vstack([V, self.box[0]]), np.concatenate([b, self.box[1]])
        return self.region.restrict(le=(V, b) if len(V) else None)

    @property
    def alone(self) -> bool:
        """Whether it is known that a single arm is left."""
        indices = getattr(self.oracle, "indices", None)
        return indices is not None and len(indices) == 1

    @property
    def number(self) -> int:
        """The number of the arm that was answered last, where they are finitely many."""
        return int(getattr(self.oracle, "number", -1))

    @property
    def furthest(self) -> Any:
        """The scan for both directions at once, where the oracle has one."""
        return getattr(self.oracle, "furthest", None)

    def maximize(self, u: F64) -> tuple[F64, float]:
        """Return a point of the cut set and an upper bound on the value."""
        point, bound = self.oracle.maximize(u)
        if self.exact or self.is_within(*self.box, point):
            return point, float(bound)
        self.exact, self.oracle = True, self._built(True)
        point, bound = self.oracle.maximize(u)
        return point, float(bound)
