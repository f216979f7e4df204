"""Elimination on balls and ellipsoids by caps: closed forms in place of an oracle.

Ours, not the paper's. Theorem B' and its proof are in docs/proofs_caps.md.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, U64, Form
from uli_fast.errors import ArgumentError, NoGuaranteeError
from uli_fast.formulas.cap_elimination import (
    CAP_CUTS,
    CAP_ROOM,
    CAP_SHRINKS,
    cap_eta,
    cap_kappa,
    cap_plays,
    cap_quantiles,
)
from uli_fast.guarantees import Guarantee
from uli_fast.learners._linear import refuse_beyond
from uli_fast.learners._parameters import noise, optional, shared_probability
from uli_fast.learners._sets import PhaseRun, SetLearner, SetSetting, Work
from uli_fast.problems import kinds

if TYPE_CHECKING:
    from uli_fast._check import Bounds
    from uli_fast.arm_sets import ArmSet
    from uli_fast.arm_sets.round import BallMap
    from uli_fast.players.cap_elimination import CapPlayer

LARGEST_PHASE = 4 * 10**18
# Of caps that are flatter, rounding leaves too little to say more than the proof does.
FLATTEST = 1e-7
# Of the largest gap: what half-axes that count as rounding may hide.
FLAT = 1e-9
# What rounding may add to an error that is computed from points of a cap.
ROUNDED = 1.0 + 1e-6


@dataclass(frozen=True)
class CapElimination(SetLearner):
    """Play the pole of a cap and points of its rim; keep the cap that holds what may be best.

    For ``uli.arm_sets.Ball`` and ``Ellipsoid``, whose caps have a best design in closed form: no
    oracle is called. With probability 1 - delta every round's gap is at most 2.9 .36^(m-1) eta_0,
    m > 1 being its phase; the first phase plays anywhere. Nothing is asked of theta or of a
    constant in all rewards: only differences count, so that neither the intercept nor the
    set's center matters.

    The learner for balls and ellipsoids: 10^12 rounds take milliseconds, and nothing has to be
    known of theta. Its proof is in docs/proofs_caps.md.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    R
        The noise is R-subgaussian, in reward units; None is half the declared range of the
        rewards, which always holds. Where they have no range it must be given.
    theta_norm
        A bound on the norm of theta, where one is known. It bounds the gaps of the first phase,
        which are otherwise bounded by the range of the rewards, or not at all; and eta_0 is
        theta_norm times the longest half-axis then, else R. Later phases do not rest on it.

    Examples
    --------
    >>> import uli_fast as uli
    >>> ball = uli.LinearBandit([0.6, 0.3, 0.1], arm_set=uli.arm_sets.Ball(3))
    >>> learner = uli.CapElimination(delta=0.05, R=1.0)
    >>> runs = uli.simulate(learner, ball, horizon=10**12, seed=1)
    >>> print(runs.holds[0], runs.phases[0][-1].gaps.max() < 1e-3)
    True True
    """

    delta: float = shared_probability(0.05)
    R: float | None = noise()
    theta_norm: float | None = optional(_check.positive)

    # Whether means may have any constant in common.
    any_intercept: ClassVar[bool] = True

    def guarantee(self, about: Any, form: Form = "schedule") -> Guarantee:
        """Return the promise F, before anything is played.

        Parameters
        ----------
        about
            A ball, an ellipsoid, or a problem on one.
        form
            Only "schedule": there is no closed form.

        Returns
        -------
        Guarantee
            With ``bound(t)``, ``rounds_until(eps)`` and ``regret(T)``, in reward units.

        Raises
        ------
        NoGuaranteeError
            Nothing is proved for this case.
        """
        _check.one_of("form", form, ("schedule",))
        on = self.on(about)
        about, R = on.about, on.R
        if not kinds.is_linear(about):
            return self.promise(ball_of("about", about), R, (None, None))
        problem: Any = about
        ball = ball_of("about", getattr(problem, "arm_set", None))
        known = math.inf if self.theta_norm is None else self.theta_norm
        refuse_beyond(problem.noise_subgaussian, R, problem.slope_norm, known)
        if problem.arm_set.reach(problem.slope) > ball.reach(problem.slope) * (1.0 + FLAT):
            raise NoGuaranteeError(
                "means differ along a half-axis so short that it counts as rounding: rescale it"
            )
        return self.promise(ball, R, (problem.low, problem.high))

    def promise(self, ball: BallMap, R: float, bounds: Bounds) -> Guarantee:
        """Return F_ULI on a ball, for rewards in a range if they have one."""
        unit, sizes = self.unit(ball, R), list[float]()
        if self.theta_norm is not None:
            sizes.append(2.0 * ball.longest * self.theta_norm)
        wide = _check.width(bounds)
        if wide is not None:
            sizes.append(wide)
        parameters = {"d": ball.dimension, "R": R / unit}
        if sizes:
            parameters["largest_gap"] = min(sizes) / unit
        return Guarantee("CAP-schedule", self.delta, parameters, unit)

    def unit(self, ball: BallMap, R: float) -> float:
        """Return eta_0 in reward units: where phases begin. It is tuning, F holds for any."""
        return R if self.theta_norm is None else ball.longest * self.theta_norm

    def begin(self, on: SetSetting, words: U64, engine: str, horizon: int) -> PhaseRun:
        """Allocate one replication."""
        phases = CapPhases(on.known, on.about.arm_set)
        return PhaseRun(phases, on.about, words, engine, horizon)

    def start(
        self,
        arms: Any,
        seed: int | None = None,
        horizon: int | None = None,
        low: float = -math.inf,
        high: float = math.inf,
        intercept: float = 0.0,
    ) -> CapPlayer:
        """Begin live decisions on a ball or an ellipsoid; decisions are vectors.

        Parameters
        ----------
        arms
            The ball or ellipsoid.
        seed, horizon
            Nothing is drawn at random and nothing is tuned to a horizon: they change nothing here.
        low, high
            The range of the rewards. They are unbounded by default, and need R then.
        intercept
            Taken off the rewards before they are added up, which changes nothing but rounding.

        Returns
        -------
        Player
            With ``ask``, ``tell``, ``recommend`` and ``certificate``.
        """
        from uli_fast.arm_sets import as_arm_set
        from uli_fast.players.cap_elimination import CapPlayer

        _check.unused(seed, horizon)
        at = _check.number("intercept", intercept)
        region = as_arm_set(arms)
        ball_of("arms", region)
        return CapPlayer(self, region, *_check.reward_range(low, high), at)

    def check(self, on: SetSetting, horizon: int) -> None:
        """Refuse other sets of arms, and unbounded rewards for which R is not given."""
        ball_of("problem", getattr(on.about, "arm_set", None))
        super().check(on, horizon)

    def plays_on(self, region: Any) -> bool:
        """Return whether an arm set is a ball or an ellipsoid."""
        from uli_fast.arm_sets.round import RoundSet

        return isinstance(region, RoundSet)

    def phase_plays(self, m: int, d: int, unit: float) -> int:
        """Return n_m, as F counts it."""
        assert self.R is not None
        try:
            return min(cap_plays(m, d, self.delta, self.R / unit), LARGEST_PHASE)
        except OverflowError:
            return LARGEST_PHASE


def ball_of(name: str, region: Any) -> BallMap:
    """Return the unit ball of which a set is the image, refusing sets that are no such image."""
    from uli_fast.arm_sets.round import RoundSet

    if not isinstance(region, RoundSet):
        raise ArgumentError(
            name,
            "must have the arms of an arm_sets.Ball or arm_sets.Ellipsoid; "
            "LinearElimination plays on the vertices of others, SpannerElimination on any set",
        )
    ball = region.ball_map()
    if ball.dimension == 0:
        raise ArgumentError(name, "has a single point: there is nothing to choose")
    return ball


class CapPhases:
    """The phases of one run: a cap each, and the slope that decides on the next one."""

    def __init__(self, learner: CapElimination, region: ArmSet) -> None:
        assert learner.R is not None
        self.learner, self.region, self.R = learner, region, learner.R
        self.ball = ball_of("arms", region)
        d = self.ball.dimension
        self.unit = learner.unit(self.ball, self.R)
        self.pole: F64 = np.eye(d)[0]
        self.depth = math.inf  # of the cap, a multiple of the ball's radius
        self.theta: F64 = np.zeros(d)  # theta_hat on the unit ball, of the last cut
        self.eta = math.inf  # no <theta_hat - theta, a - a*> that matters is larger
        self.gap = math.inf  # no arm of this phase has a larger one, in reward units
        self.phase = 0
        self.numbers = [-1] * (d + 1)
        # Arms that are played are rounded by no more than this, as points of the unit ball.
        self.rounded = self.ball.rounded()
        self.points: F64 = np.empty((d + 1, d))  # of the unit ball: those to play
        self.place()

    @property
    def in_time(self) -> bool:
        """Whether F holds for the arms of this phase: every one so far was cut as planned."""
        return self.eta <= self.unit * cap_eta(self.phase - 1) or self.phase == 1

    @property
    def best(self) -> F64:
        """The arm that theta_hat likes best: the pole."""
        return np.asarray(self.ball.arms(self.pole[None])[0])

    def place(self) -> None:
        """Find the design of the cap."""
        from uli_fast.kernels.cap_elimination import design

        design(self.pole, self.depth, self.points)

    def open(self) -> tuple[F64, int, Work]:
        """Begin the next phase; return its arms, the plays of each, and what that took."""
        begun = time.perf_counter()
        self.phase += 1
        arms, n = self.arms_and_plays()
        return arms, n, Work(0, 0, time.perf_counter() - begun)

    def arms_and_plays(self) -> tuple[F64, int]:
        """Return the arms of this phase and the plays of each."""
        n = self.learner.phase_plays(self.phase, self.ball.dimension, self.unit)
        return self.arms, n

    @property
    def arms(self) -> F64:
        """The arms of this phase, one per row."""
        return np.asarray(self.ball.arms(self.points))

    def close(self, arms: F64, n: int, means: F64, off: float = 0.0) -> None:
        """Estimate theta from this phase's mean rewards and cut the ball anew.

        ``off`` is the length of what means may be off, besides noise and rounding. Where that
        leaves the estimate worse than the next cap needs, the cap stays as it is. So does rounding
        of arms, beyond what is left for it, where theta is long.
        """
        from uli_fast.kernels.cap_elimination import slope

        d, theta = self.ball.dimension, np.empty_like(self.theta)
        before = self.pole, self.depth
        length = slope(*before, means, theta)
        planned = self.unit * cap_eta(self.phase)
        apart = math.sqrt(d / (d + 1.0)) * (math.sqrt(cap_kappa(d)) + 1.0)
        moved = 2.0 * math.sqrt(d + 1.0) * self.rounded * length  # theta may be longer
        if apart * moved > CAP_ROOM / 2.0 * planned:
            off += moved
        eta = planned + apart * off
        if not eta <= CAP_SHRINKS * self.eta * (1.0 + 1e-12):
            return
        self.theta = theta
        self.eta, self.depth = eta, math.inf  # without a slope it is the whole ball
        if length > 0.0:
            self.pole, self.depth = self.theta / length, CAP_CUTS * eta / length
        self.place()
        self.gap = self._largest_gap(before, n, length, off)

    def _largest_gap(self, before: tuple[F64, float], n: int, length: float, off: float) -> float:
        """Bound the gaps of the new cap's design by theta_hat, on the event.

        (1 + sig) eta bounds those of the whole cap. An arm a is behind the pole by what
        theta_hat says, and by an error that depends on how far it is from the design before.
        """
        from uli_fast.kernels.cap_elimination import largest_spread, played_depth, spread

        general = (1.0 + CAP_CUTS) * self.eta
        d = self.ball.dimension
        if before[1] < FLATTEST or length == 0.0:
            return general
        norm, fixed = cap_quantiles(self.phase, d, self.learner.delta)
        noise = self.R / math.sqrt(n)

        def error(mah: float) -> float:
            moved, fix = math.sqrt(mah / (d + 1.0)), math.sqrt(d / (d + 1.0))
            return noise * (moved * norm + fix * fixed) + (moved + fix) * off

        pole = error(spread(*before, self.points, 0))
        rim = error(largest_spread(*before, self.points)) + length * played_depth(self.depth, d)
        return min(general, ROUNDED * max(pole, rim) + CAP_ROOM * self.eta) + 2.0 * off
