"""The meta-algorithm: phases of an adversarial base, and elimination on its estimates.

Deviation: g uses the number of all arms K (and their rank), which keeps phases
growing; the base itself is tuned to the arms that are left. Mode "sharp" has constants of
its own (docs/proofs_phases.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, Form, MetaMode
from uli_fast.errors import ArgumentError, NoGuaranteeError
from uli_fast.formulas.meta_elimination import log_term, noise_bound, phase_gap, phase_size
from uli_fast.formulas.phases import rounded_up, share
from uli_fast.guarantees import ArmsInfo, Guarantee, formula, read_arms
from uli_fast.guarantees.bounds import add_up
from uli_fast.learners._adversarial.bases import Base, loss_kind, losses_of, saturated
from uli_fast.learners._adversarial.phases import AdversarialLearner, PlannedPhase
from uli_fast.learners._parameters import optional, shared_probability, word
from uli_fast.learners._setting import ArmSetting
from uli_fast.learners.exp3p import Exp3P
from uli_fast.learners.geometric_hedge import GeometricHedge, rank_of
from uli_fast.problems import kinds

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.learners._adversarial.phases import Live
    from uli_fast.players.meta_elimination import MetaPlayer


class _Mode(NamedTuple):
    multiplier: float  # T_m = ceil(multiplier g_m 2^m)
    threshold: float  # remove beyond threshold sqrt(g_m T_m)
    factor: float  # the closed form of F is sqrt(factor g / t)
    # On the event the estimates of an arm and a best one differ by at least T gap / 2 less
    # this times sqrt(g T) (Lemma UB_complexity).
    deviation: float


# 1 + 2 sqrt(2) is 3.83, rounded up (docs/errata.md).
FIXED = {"paper": _Mode(576.0, 7.0, 4608.0, 3.83)}
MODES = ("paper", "sharp")
# kappa is rounded up by this much, to cover all other rounding.
KAPPA_MARGIN = 1.0 + 1e-6


def sharp_mode(g: float, log: float, least: float = 0.0) -> _Mode:
    """Return the constants of mode "sharp" for a base with this g, L = log(10 K / delta).

    Losses deviate by sqrt(L T / 2) = kappa sqrt(g T) at most: a threshold of 1 + 4 kappa and a
    multiplier of 4 (2 + 8 kappa)^2 suffice. A base that is proved for ``least`` rounds or more
    has a first phase, of multiplier 2 g rounds, as long as that.
    """
    # The Condition asks for g >= L.
    kappa = KAPPA_MARGIN * math.sqrt(0.5 * min(1.0, log / g))
    threshold = 1.0 + 4.0 * kappa
    multiplier = max(16.0 * threshold**2, least / (2.0 * g))
    return _Mode(multiplier, threshold, 4.0 * multiplier, threshold)


@dataclass(frozen=True)
class MetaElimination(AdversarialLearner):
    """Run an adversarial base in growing phases; drop what its estimates show to be worse.

    With probability 1 - delta every round's gap is at most 2^(-(m-1)/2), m being its phase.
    Phases have ceil(c g_m 2^m) rounds, where g is the base's: in mode "paper" c = 576,
    g = 361 K log(20 K m^2 / delta) for Exp3P() and 256 d log(.) for GeometricHedge(), and the
    closed form of the bound is sqrt(4608 g(delta / (2 log2(t+1)^2)) / t).

    For bases that are proved against adversaries. The guarantee is about arms whose means do not
    change, and comes late: on K arms BettingElimination needs a thousandth of the rounds.

    Parameters
    ----------
    base
        Exp3P(), GeometricHedge(), Scrible() or any object with ``g`` and
        ``start_phase`` (docs/bases.md). Its own delta is not used.
    delta
        Probability with which the guarantee may fail.
    mode
        "paper": T_m = ceil(576 g_m 2^m), threshold 7. "sharp", proved as well:
        4 (2 + 8 kappa)^2 and 1 + 4 kappa, kappa = sqrt(log(10 K / delta) / (2 g)), which is
        16 to 26 and 1 to 1.26, and g = 62 K log(.) for Exp3P(), (9 sqrt(d) + 3.6)^2 log(.) for
        GeometricHedge(): phases fifty to over a hundred times shorter.
    sigma
        For unbounded rewards on linear arms with ``|<a, theta>| <= 1``: the noise is
        symmetric and sigma-subgaussian. Losses are divided by a growing bound that
        the noise exceeds with probability delta / 2 in all, and so is the guarantee.

    Examples
    --------
    >>> import uli_fast as uli
    >>> paper = uli.MetaElimination(uli.Exp3P(), delta=0.05)
    >>> sharp = uli.MetaElimination(uli.Exp3P(), delta=0.05, mode="sharp")
    >>> f"{paper.guarantee(4).rounds_until(0.5):.1e}", f"{sharp.guarantee(4).rounds_until(0.5):.1e}"
    ('4.1e+07', '2.8e+05')
    >>> player = sharp.start(["a", "b"], seed=7)
    >>> player.ask().probability
    0.5
    """

    base: Any = field(default_factory=Exp3P)
    delta: float = shared_probability(0.05)
    mode: MetaMode = word("paper", MODES)
    sigma: float | None = optional(_check.subgaussian)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.base, Base) or isinstance(self.base, type):
            raise ArgumentError(
                "base", f"must be an object with methods g and start_phase, got {self.base!r}"
            )
        if self.sigma is not None and loss_kind(self.base) != "linear":
            raise ArgumentError("sigma", "needs a base for linear arms, such as GeometricHedge()")

    @property
    def phase_base(self) -> Base:
        """The base that every phase starts afresh."""
        base: Base = self.base
        return base

    def base_on(self, features: F64) -> Base:
        """Return the base with its constant as the mode has it, on these arms."""
        base: Base = self.base
        rank = rank_of(features) if features.shape[1] else 1
        return base.in_mode(self.mode, rank) if _is_own(base) else base

    def constants(self, features: F64, delta: float) -> _Mode:
        """Return multiplier and threshold of a phase that fails with probability delta."""
        if self.mode != "sharp":
            return FIXED[self.mode]
        base = self.base_on(features)
        least = getattr(base, "proved_rounds", None)
        rounds = 0.0 if least is None else least(features, delta)
        return sharp_mode(checked_g(base, features, delta), log_term(len(features), delta), rounds)

    def on(self, about: Any) -> ArmSetting:
        """Return this learner on a bandit or on arms; with sigma, rewards are unbounded."""
        if self.sigma is None or isinstance(about, ArmSetting | ArmsInfo) or kinds.is_bandit(about):
            return super().on(about)
        return super().on(read_arms(about)._replace(low=None))

    def check(self, on: ArmSetting, horizon: int) -> None:
        """Refuse what the base cannot play."""
        super().check(on, horizon)
        if self.sigma is not None and on.arms.low is not None:
            raise ArgumentError("sigma", "is for unbounded rewards; this problem's are bounded")

    def _live(self, labels: Labels, low: float, high: float, live: Live) -> MetaPlayer:
        from uli_fast.players.meta_elimination import MetaPlayer

        if self.sigma is not None and math.isfinite(low):
            raise ArgumentError("sigma", "is for unbounded rewards: pass low=-inf, high=inf")
        return MetaPlayer(self, labels, low, high, live)

    def schedule(self, features: F64, horizon: int | None) -> Callable[[int], PlannedPhase]:
        """Return the length, confidence and threshold of phase m."""
        delta = self.delta if self.sigma is None else self.delta / 2.0
        base = self.base_on(features)

        def phase(m: int) -> PlannedPhase:
            part = share(delta, m)
            g, mode = checked_g(base, features, part), self.constants(features, part)
            rounds = saturated(phase_size(m, mode.multiplier, g))
            threshold = mode.threshold * math.sqrt(g * rounds)
            scale = 1.0 if self.sigma is None else noise_bound(self.sigma, m, rounds, delta)
            return PlannedPhase(rounds, part, threshold, scale)

        return phase

    def phase_lengths(self, about: Any, horizon: int) -> list[int]:
        """Return T_1, T_2, ... of every phase that can begin by the horizon."""
        phase, lengths = self.schedule(self.on(about).features, horizon), list[int]()
        while sum(lengths) < horizon:
            lengths.append(phase(len(lengths) + 1).rounds)
        return lengths

    def survivors_gap(self, phase: PlannedPhase, estimates: F64) -> float:
        """Bound the gaps of what a phase leaves by its estimates, in units of its losses."""
        kept = estimates[estimates - estimates.min() <= phase.threshold]
        if kept.size == 1:
            return 0.0
        mode = FIXED.get(self.mode)  # in mode "sharp" the threshold is the deviation
        deviation = phase.threshold * (1.0 if mode is None else mode.deviation / mode.threshold)
        return 2.0 * (float(kept.max() - kept.min()) + deviation) / phase.rounds

    def guarantee(self, about: Any, form: Form = "schedule") -> Guarantee:
        """Return the promise F, before anything is played.

        Only a problem tells the range of its rewards; otherwise they are taken to lie in [0, 1].
        Rewards in [-1, 1] on linear arms have twice that bound.

        Parameters
        ----------
        about
            A problem, a number of arms, a (K, d) array of arms, or a pair (K, d).
        form
            "schedule" is read off the schedule itself; "paper" is the paper's closed form.

        Returns
        -------
        Guarantee
            With ``bound(t)``, ``rounds_until(eps)`` and ``regret(T)``, in reward units.

        Raises
        ------
        NoGuaranteeError
            Nothing is proved for this case.
        """
        info = self.on(about).proved_arms
        if not _is_own(self.base):  # a subclass is another algorithm
            return self._claim(info, formula("user", form) == "user")
        dimension = info.K if self.base.losses == "unit" else self._rank(info)
        base = self.base.in_mode(self.mode, dimension)
        proved, constant = base.least_constant(dimension), base.constant
        assert constant is not None
        name = type(base).__name__
        if constant < proved:
            raise NoGuaranteeError(
                f"{name} is proved with a constant of {proved:g} or more, not with {constant:g}"
            )
        if info.features is not None:
            base.check_proof(info.features)
        mode = FIXED.get(self.mode)
        if mode is None:
            mode = sharp_mode(constant * dimension, 1.0, base.rounds_each() * dimension)
        parameters = {
            "K": info.K,
            "dimension": dimension,
            "constant": constant,
            "largest_gap": 1.0,
        }
        parameters |= (
            {"factor": mode.factor} if form == "paper" else {"multiplier": mode.multiplier}
        )
        if self.sigma is not None:
            parameters |= {"multiplier": mode.multiplier}
            return self._unbounded(info, parameters, form)
        scale = self._scale(info)
        return Guarantee(formula(f"META-{name}", form), self.delta, parameters, scale)

    def _rank(self, info: ArmsInfo) -> int:
        if info.d is None:
            raise ArgumentError("about", "must give the arms' rank: a problem, (K, d), or arms")
        return info.d

    def _scale(self, info: ArmsInfo) -> float:
        """Return reward units per unit of loss, refusing what the proofs do not cover."""
        self._refuse_curved(info)
        if not info.bounded:
            raise NoGuaranteeError(
                "adversarial learners need bounded rewards"
                + ("" if loss_kind(self.base) != "linear" else ", or sigma= for symmetric noise")
            )
        return losses_of(loss_kind(self.base), info.low, info.high, info.intercept).scale

    def _refuse_curved(self, info: ArmsInfo) -> None:
        if loss_kind(self.base) != "unit" and not info.linear:
            raise NoGuaranteeError("the means are not linear in the arms")

    def _unbounded(self, info: ArmsInfo, parameters: dict[str, float], form: Form) -> Guarantee:
        assert self.sigma is not None
        self._refuse_curved(info)
        if info.bounded:
            raise NoGuaranteeError("sigma= is for unbounded rewards; these are bounded")
        if info.subgaussian > self.sigma:
            raise NoGuaranteeError(
                f"the noise is {info.subgaussian:g}-subgaussian, sigma is {self.sigma:g}"
            )
        if info.largest_mean > 1.0:
            raise NoGuaranteeError(f"|<a, theta>| reaches {info.largest_mean:g}, more than 1")
        parameters |= {"largest_gap": 2.0, "sigma": self.sigma}
        return Guarantee(formula("META-GeometricHedge-unbounded", form), self.delta, parameters)

    def _claim(self, info: ArmsInfo, closed: bool) -> Guarantee:
        """Return the F_ULI that follows from a user's g, if the user's claim holds."""
        if getattr(self.base, "proved_constant", 0.0) == math.inf:
            raise NoGuaranteeError(f"{type(self.base).__name__} is experimental: nothing is proved")
        if self.sigma is not None:
            raise NoGuaranteeError("sigma= is proved for GeometricHedge only")
        features = info.features
        if features is None:
            if info.d is not None:
                raise ArgumentError("about", "must be a problem or the arms: g is asked about them")
            features = np.zeros((info.K, 0))
        known: F64 = features

        def g(t: float) -> float:
            return checked_g(self.base, known, share(self.delta, math.log2(t + 1.0)))

        rounds = np.geomspace(1.0, 1e18, 200)
        values = np.array([g(t) for t in rounds])
        least = log_term(info.K, self.delta) + np.log(2.0 * np.log2(rounds + 1.0) ** 2)
        if (values < least).any():
            raise NoGuaranteeError("the Condition asks for g(delta) >= log(10 K / delta)")
        if (np.diff(values) < 0.0).any():
            raise NoGuaranteeError("the Condition asks for a g that falls in delta")
        if (np.diff(values / rounds) > 0.0).any():
            raise NoGuaranteeError("the base's g grows so fast that the bound does not decrease")
        parameters = {"K": info.K, "largest_gap": 1.0}

        def length(m: int) -> int:
            part = share(self.delta, m)
            multiplier = self.constants(known, part).multiplier
            return rounded_up(phase_size(m, multiplier, checked_g(self.base, known, part)))

        def closed_form(t: float) -> float:
            mode = FIXED.get(self.mode, sharp_mode(1.0, 1.0))  # the largest kappa
            return math.sqrt(mode.factor * g(t) / t)

        bound = closed_form if closed else add_up(length, phase_gap).at
        return Guarantee("user", self.delta, parameters, self._scale(info), bound)


def _is_own(base: Any) -> TypeGuard[Exp3P | GeometricHedge]:
    """Return whether a base is one that is proved, as it is."""
    return type(base) in (Exp3P, GeometricHedge)


def checked_g(base: Base, features: F64, delta: float) -> float:
    """Return a base's g, refusing what is not a positive number."""
    return _check.positive("base.g", base.g(features, delta))
