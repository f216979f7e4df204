"""Phased elimination with an adaptive barycentric spanner (PE on infinitely many arms).

Deviation: the box |B^-1 a| <= C is kept in every phase (without it the optimal arm can be
lost), and mode "soft" decides no ranks: its placeholders stay in the box and are not
played (docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, U64, Form, SpannerMode, SpannerSchedule
from uli_fast.errors import ArgumentError
from uli_fast.formulas.spanner_elimination import phase_size
from uli_fast.geometry.least_squares import ridge
from uli_fast.geometry.spanners import MODES, NULL, Spanner, check_factor
from uli_fast.guarantees import Guarantee, formula
from uli_fast.learners._linear import refuse_beyond
from uli_fast.learners._parameters import checked, noise, positive, shared_probability, word
from uli_fast.learners._sets import PhaseRun, SetLearner, SetSetting
from uli_fast.learners._sharp_spanner import SharpPhases
from uli_fast.learners._spanner_sets import SpannedPhases
from uli_fast.problems import kinds
from uli_fast.problems.linear import LinearBandit

if TYPE_CHECKING:
    from uli_fast.arm_sets import ArmSet
    from uli_fast.players.spanner_elimination import SpannerPlayer

# The box is this much wider, so that rounding cannot exclude an optimal arm.
BOX_MARGIN = 1.0 + 1e-8
LARGEST_PHASE = 4e18
SPARED = 1e-3  # of what a phase knows: for rounded sums, and for bounds that an oracle leaves open
SCHEDULES = ("sharp", "paper")


@dataclass(frozen=True)
class SpannerElimination(SetLearner):
    """Play a barycentric spanner of the arms that are still good enough, in growing phases.

    With probability 1 - delta every round's gap is at most 2 .6^(m-1) for arms and theta of norm
    at most 1, m being its phase when every phase is as long as it may be (docs/proofs_sets.md).
    With schedule "paper" it is 4 2^-m, below the closed form
    sqrt(32768 C^4 d^3 log(4 d^3 (t+1)^2 / delta) / (3 t)), times max(1, R). Others are
    rescaled: arms by their largest norm, rewards by that and ``theta_norm``; the bound comes
    back in reward units.

    For compact sets that have neither few vertices nor the shape of a ball: anything with an
    oracle. On balls and ellipsoids of ten dimensions or more CapElimination is sharper.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    C
        Approximation factor of the spanner, above 1: smaller means shorter phases and more
        calls of the oracle.
    schedule
        "sharp" has phases as long as our proof asks for, thousands of times shorter than those
        of "paper", the paper's algorithm as corrected.
    mode
        "soft" decides no ranks and is the default; "paper" follows the paper's tests, in
        schedule "paper" only.
    R
        The noise is R-subgaussian, in reward units; None is half the declared range of the
        rewards, which always holds. Where they have no range it must be given.
    theta_norm
        A bound on the norm of theta, where rewards are intercept + <theta, a> + noise.

    Examples
    --------
    >>> import uli_fast as uli
    >>> disc = uli.arm_sets.Ball(2)
    >>> learner = uli.SpannerElimination(delta=0.05, R=1.0)
    >>> learner.guarantee(disc).rounds_until(0.1)
    240430
    >>> problem = uli.LinearBandit([0.6, 0.3], arm_set=disc)
    >>> runs = uli.simulate(learner, problem, horizon=10**6, seed=1)
    >>> print(runs.holds[0], runs.phases[0][-1].gaps.max() < 0.1)
    True True
    """

    delta: float = shared_probability(0.05)
    C: float = checked(1.2, lambda name, value: check_factor(value))
    schedule: SpannerSchedule = word("sharp", SCHEDULES)
    mode: SpannerMode = word("soft", MODES)
    R: float | None = noise()
    theta_norm: float = positive(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule == "sharp" and self.mode != "soft":
            raise ArgumentError(
                "mode",
                f"{self.mode!r} is for schedule 'paper': 'sharp' is proved without rank tests",
            )

    def guarantee(self, about: Any, form: Form = "schedule") -> Guarantee:
        """Return the promise F, before anything is played.

        Parameters
        ----------
        about
            A problem, an arm set, a (K, d) array of arms, or a pair (K, d).
        form
            "paper": the closed form of the paper's schedule; "sharp" has none.

        Returns
        -------
        Guarantee
            With ``bound(t)``, ``rounds_until(eps)`` and ``regret(T)``, in reward units.

        Raises
        ------
        NoGuaranteeError
            Nothing is proved for this case.
        """
        from uli_fast.arm_sets import as_arm_set

        on, largest = self.on(about), 1.0
        about, R = on.about, on.R
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
        name = formula("PE-spanner", form)
        if self.schedule == "sharp":
            if form == "paper":
                raise ArgumentError("form", "schedule 'sharp' has no closed form")
            name = "PE-spanner-sharp"
        return Guarantee(name, self.delta, parameters, scale)

    def begin(self, on: SetSetting, words: U64, engine: str, horizon: int) -> SpannerRun:
        """Allocate one replication."""
        return SpannerRun(on, words, engine, horizon)

    def start(
        self,
        arms: Any,
        seed: int | None = None,
        horizon: int | None = None,
        low: float = -math.inf,
        high: float = math.inf,
        intercept: float = 0.0,
    ) -> SpannerPlayer:
        """Begin live decisions on a set; decisions are vectors.

        Parameters
        ----------
        arms
            An arm set, or a (K, d) array.
        seed, horizon
            Nothing is drawn at random and nothing is tuned to a horizon: they change nothing here.
        low, high
            The range of the rewards. They are unbounded by default, and need R then.
        intercept
            The expected reward where <theta, a> = 0.

        Returns
        -------
        Player
            With ``ask``, ``tell``, ``recommend`` and ``certificate``.
        """
        from uli_fast.arm_sets import as_arm_set
        from uli_fast.players import spanner_elimination as live

        _check.unused(seed, horizon)
        at = _check.number("intercept", intercept)
        kind = live.SharpSpannerPlayer if self.schedule == "sharp" else live.SpannerPlayer
        return kind(self, as_arm_set(arms), *_check.reward_range(low, high), at)

    def phases(self, region: ArmSet) -> SpannedPhases:
        """Begin the phases of a run; R is a number by then."""
        kind = SharpPhases if self.schedule == "sharp" else SpannerPhases
        return kind(self, region)

    def phase_size(self, m: int, d: int, scale: float) -> float:
        """Return T_m = 256 C^4 d^3 4^m log(d^3 4^m / delta), times max(1, R^2), of the paper."""
        assert self.R is not None
        return min(phase_size(m, d, self.C, self.delta, self.R / scale), LARGEST_PHASE)


def region_of(problem: LinearBandit) -> Any:
    """Return the arm set of a problem, or its finitely many arms."""
    return getattr(problem, "arm_set", None) or problem.arms  # type: ignore[attr-defined]


class SpannerPhases(SpannedPhases):
    """Phases of the paper's schedule."""

    wider = 1.0  # than the proofs have it, the box of this phase

    @property
    def in_time(self) -> bool:
        """Whether F holds for the arms of this phase: an oracle's bounds may leave a wider box."""
        return self.gap <= 4.0 * 2.0**-self.phase * (1.0 + SPARED)

    def close(self, arms: F64, n: int, means: F64, off: F64 | None = None) -> None:
        """Estimate theta by ridge regression."""
        self.theta = ridge(arms / self.size, n, means / self.scale)

    @property
    def spare(self) -> float:
        """By how much rounding may change the sum of a phase's means."""
        return SPARED * 2.0**-self.phase * self.scale

    def _length(self) -> float:
        return self.size / math.sqrt(self._rounds())

    def _plays(self) -> int:
        return math.ceil(self._rounds() / self.region.dimension)

    def _rounds(self) -> float:
        return self.learner.phase_size(self.phase, self.region.dimension, self.scale)

    def _box(self) -> tuple[F64, F64]:
        assert self.spanner is not None
        rows, limits = box_of(self.spanner, self.learner, self.size)
        # A best arm may have any coefficient that the oracle could not exclude.
        plain, limits = limits, np.maximum(limits, self.spanner.reach)
        self.wider = float((limits / plain).max())
        return np.vstack([rows, -rows]), np.concatenate([limits, limits]) * BOX_MARGIN

    def _behind(self, m: int) -> float:
        return float(2.0 ** (1 - m))

    def _largest_gap(self, oracle: Any, arms: F64) -> float:
        """Bound the gaps of this phase's arms: on the event a best arm is among the active ones.

        G(m) = 4 2^-m bounds them all. By theta_hat, whose errors on active arms are at most
        2^-m, those that are played may lie closer to the best; and one alone is the best. Later
        phases may have arms that this one has not: nothing of this is kept for them.
        """
        general = 4.0 * 2.0**-self.phase * self.wider
        if math.isinf(self.top):
            return general
        return min(general, self._known_gap(oracle, arms, 2.0 * 2.0**-self.phase * self.wider))


class SpannerRun(PhaseRun):
    """One replication in progress."""

    def __init__(self, on: SetSetting, words: U64, engine: str, horizon: int) -> None:
        from uli_fast.arm_sets import as_arm_set

        phases = on.known.phases(as_arm_set(region_of(on.about)))
        super().__init__(phases, on.about, words, engine, horizon)


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
