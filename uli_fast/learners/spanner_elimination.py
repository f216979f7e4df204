"""Phased elimination with an adaptive barycentric spanner (PE on infinitely many arms).

Deviation: the box |B^-1 a| <= C is kept in every phase (without it the optimal arm can be
lost), and mode "soft" decides no ranks: its placeholders stay in the box and are not
played (docs/errata.md).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64, U64, Form, SpannerMode
from uli_fast.errors import OracleError
from uli_fast.geometry.least_squares import ridge
from uli_fast.geometry.spanners import MODES, NULL, Oracle, Spanner, check_factor, find_spanner
from uli_fast.guarantees import Guarantee, formula
from uli_fast.guarantees.phase_bounds import spanner_size
from uli_fast.learners._linear import noise_of, refuse_beyond
from uli_fast.learners._sets import BlockLog, PlayBlock, SetLearner, Work
from uli_fast.problems import kinds
from uli_fast.problems.linear import LinearBandit, draw_mean

if TYPE_CHECKING:
    from uli_fast._check import Bounds
    from uli_fast.arm_sets import ArmSet
    from uli_fast.players.spanner_elimination import SpannerPlayer

# The box is this much wider, so that rounding cannot exclude an optimal arm.
BOX_MARGIN = 1.0 + 1e-8
LARGEST_PHASE = 4e18


@dataclass(frozen=True)
class SpannerElimination(SetLearner):
    """Play a barycentric spanner of the arms that are still good enough, in growing phases.

    With probability 1 - delta every round's gap is at most 4 2^-m for arms and theta of norm
    at most 1, m being its phase when every phase plays d arms; that is below the closed form
    sqrt(32768 C^4 d^3 log(4 d^3 (t+1)^2 / delta) / (3 t)), times max(1, R). Others are
    rescaled: arms by their largest norm, rewards by that and ``theta_norm``; the bound comes
    back in reward units.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    C
        Approximation factor of the spanner, above 1: smaller means shorter phases and more
        calls of the oracle.
    mode
        "soft" decides no ranks and is the default; "paper" follows the paper's tests.
    R
        The noise is R-subgaussian, in reward units; None is half the declared range of the
        rewards, which always holds. Where they have no range it must be given.
    theta_norm
        A bound on the norm of theta, where rewards are intercept + <theta, a> + noise.
    """

    delta: float = 0.05
    C: float = 1.2
    mode: SpannerMode = "soft"
    R: float | None = None
    theta_norm: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _check.shared_probability("delta", self.delta))
        object.__setattr__(self, "C", check_factor(self.C))
        _check.one_of("mode", self.mode, MODES)
        object.__setattr__(self, "R", _check.optional_noise("R", self.R))
        object.__setattr__(self, "theta_norm", _check.positive("theta_norm", self.theta_norm))

    def guarantee(self, about: Any, form: Form = "schedule") -> Guarantee:
        """Return F_ULI for a problem, an arm set, a (K, d) array or a pair (K, d).

        Form "paper" is the closed form.
        """
        from uli_fast.arm_sets import as_arm_set

        largest, R = 1.0, noise_of(about, self.R)
        if isinstance(about, tuple) and len(about) == 2 and np.ndim(about[0]) == 0:
            _check.whole("about", about[0])
            d = _check.whole("about", about[1])
        else:
            region = as_arm_set(region_of(about) if kinds.is_linear(about) else about)
            d, largest = region.dimension, region.largest_norm() or 1.0
        if kinds.is_linear(about):
            refuse_beyond(about.noise_subgaussian, R, about.slope_norm, self.theta_norm)
        scale = largest * self.theta_norm
        parameters = {"d": d, "C": self.C, "R": R / scale, "largest_gap": 2.0}
        return Guarantee(formula("PE-spanner", form), self.delta, parameters, scale)

    def begin(self, problem: Any, words: U64, engine: str, horizon: int) -> SpannerRun:
        """Allocate one replication."""
        return SpannerRun(self, problem, words, engine, horizon)

    def start(
        self,
        arms: Any,
        seed: int | None = None,
        horizon: int | None = None,
        low: float = -math.inf,
        high: float = math.inf,
        intercept: float = 0.0,
    ) -> SpannerPlayer:
        """Begin live decisions on an arm set or a (K, d) array; decisions are vectors.

        Rewards are unbounded by default and need R then: the noise around
        intercept + <theta, a> is R-subgaussian. Nothing is drawn at random and nothing is
        tuned to a horizon, so ``seed`` and ``horizon`` change nothing.
        """
        from uli_fast.arm_sets import as_arm_set
        from uli_fast.players.spanner_elimination import SpannerPlayer

        _check.unused(seed, horizon)
        at = _check.number("intercept", intercept)
        return SpannerPlayer(self, as_arm_set(arms), *_check.reward_range(low, high), at)

    def check(self, problem: Any, horizon: int) -> None:
        """Refuse unbounded rewards for which R is not given."""
        noise_of(problem, self.R)

    def resolved(self, bounds: Bounds) -> SpannerElimination:
        """Return this learner with R as a number, from the declared range if it was not given."""
        return replace(self, R=_check.noise(self.R, bounds))

    def phase_size(self, m: int, d: int, scale: float) -> float:
        """Return T_m = 256 C^4 d^3 4^m log(d^3 4^m / delta), times max(1, R^2)."""
        assert self.R is not None
        return min(spanner_size(m, d, self.C, self.delta, self.R / scale), LARGEST_PHASE)


def region_of(problem: LinearBandit) -> Any:
    """Return the arm set of a problem, or its finitely many arms."""
    return getattr(problem, "arm_set", None) or problem.arms  # type: ignore[attr-defined]


class SpannerPhases:
    """The phases of one run: a spanner of the active arms each, and the estimate at its end."""

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
        self.wider = 1.0  # than the proofs have it, the box of this phase
        self.gap = math.inf  # no arm of this phase has a larger one, in units of the proofs
        self.phase = 0

    def open(self) -> tuple[F64, int, Work]:
        """Begin the next phase; return its arms, the plays of each, and what that took."""
        begun = time.perf_counter()
        learner, d = self.learner, self.region.dimension
        self.phase += 1
        size = learner.phase_size(self.phase, d, self.scale)
        oracle, self.best, calls = self.active(self.phase)
        length = self.size / math.sqrt(size)
        self.spanner = find_spanner(oracle, d, length, learner.C, learner.mode, self.size)
        # Without a real column there is nothing but the origin, up to the placeholders' length.
        arms, self.numbers = self.best[None], [self.best_number]
        if self.spanner.real.any():
            arms = self.spanner.arms
            self.numbers = self.spanner.numbers[self.spanner.real].tolist()
        if np.linalg.norm(arms, axis=1).max() > self.size * (1.0 + 1e-6):
            raise OracleError(f"{self.region!r} gave an arm longer than its largest_norm()")
        self.gap = self._largest_gap(oracle, arms)
        calls += self.spanner.oracle_calls
        work = Work(calls, self.spanner.swaps, time.perf_counter() - begun)
        return arms, math.ceil(size / d), work

    def close(self, arms: F64, n: int, means: F64) -> None:
        """Estimate theta from this phase's mean rewards, less the intercept."""
        self.theta = ridge(arms / self.size, n, means / self.scale)

    def _largest_gap(self, oracle: Any, arms: F64) -> float:
        """Bound the gaps of this phase's arms: on the event a best arm is among the active ones.

        G(m) = 4 2^-m bounds them all. By theta_hat, whose errors on active arms are at most
        2^-m, those that are played may lie closer to the best; and one alone is the best. Later
        phases may have arms that this one has not: nothing of this is kept for them.
        """
        general = 4.0 * 2.0**-self.phase * self.wider
        if math.isinf(self.top):
            return general
        if getattr(oracle, "alone", False):
            return 0.0
        behind = self.top - float((arms @ self.theta).min()) / self.size
        return min(general, max(behind, 0.0) + 2.0 * 2.0**-self.phase * self.wider)

    def active(self, m: int) -> tuple[Oracle, F64, int]:
        """Return the active set S_m, its empirically best arm, and the calls that took."""
        if self.spanner is None:
            whole = self.region.restrict()
            return whole, self._best(whole, np.eye(self.region.dimension)[0])[0], 1
        rows, limits = box_of(self.spanner, self.learner, self.size)
        # A best arm may have any coefficient that the oracle could not exclude.
        plain, limits = limits, np.maximum(limits, self.spanner.reach)
        self.wider = float((limits / plain).max())
        box = (np.vstack([rows, -rows]), np.concatenate([limits, limits]) * BOX_MARGIN)
        direction = self.theta / self.size
        length = float(np.linalg.norm(direction))
        within = Boxed(self.region, box, None)
        self.top = 0.0
        if length == 0.0:
            return within, self._best(within, np.eye(self.region.dimension)[0])[0], 1
        best, most = self._best(within, direction / length)
        self.top = most * length
        # Arms within 2^(1-m) of the best: -<theta_hat, a> <= 2^(1-m) - <theta_hat, a*>.
        room = 2.0 ** (1 - m) - float(direction @ best)
        cut = (-direction[None], np.array([room]))
        return Boxed(self.region, box, cut), best, 1

    def _best(self, oracle: Any, u: F64) -> tuple[F64, float]:
        best, most = oracle.maximize(u)
        self.best_number = getattr(oracle, "number", -1)  # an oracle of a user's may have none
        return best, most


class SpannerRun:
    """One replication in progress."""

    def __init__(
        self,
        learner: SpannerElimination,
        problem: Any,
        words: U64,
        engine: str,
        horizon: int,
    ) -> None:
        from uli_fast.arm_sets import as_arm_set

        self.problem, self.engine, self.horizon = problem, engine, horizon
        self.law = problem.law(words, engine)
        known = learner.resolved((problem.low, problem.high))
        self.phases = SpannerPhases(known, as_arm_set(region_of(problem)))
        self.t = 0
        self.log = BlockLog()

    @property
    def played(self) -> I64:
        """Rounds played, (1,)."""
        return np.array([self.t])

    def advance(self, budget: int = 1) -> bool:
        """Play a phase and say whether the horizon is reached."""
        arms, n, work = self.phases.open()
        self.log.work.append(work)
        means = []
        for arm, number in zip(arms, self.phases.numbers, strict=True):
            last = min(self.t + n, self.horizon)
            self.log.blocks.append(PlayBlock(self.phases.phase, self.t + 1, last, arm, number))
            self.t += n
            if self.t >= self.horizon:  # nothing is learned from a phase that is cut short
                return True
            means.append(draw_mean(self.problem, self.law, arm, number, n, self.engine))
        self.phases.close(arms, n, np.array(means))
        return False


def box_of(spanner: Spanner, learner: SpannerElimination, size: float) -> tuple[F64, F64]:
    """Return the rows whose products with an arm are its coefficients, and their limits.

    Limits are C. In mode "paper" arms must lie in the span of the real columns, up to what
    its rank test lets pass: a tighter limit could exclude an arm that the test let in.
    """
    limits = np.full(len(spanner.real), learner.C)
    if learner.mode == "paper":
        lengths = np.linalg.norm(spanner.inverse, axis=1)
        limits = np.where(spanner.real, limits, NULL * size * lengths)
    return spanner.inverse, limits


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
