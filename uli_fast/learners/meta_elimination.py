"""The meta-algorithm: phases of an adversarial base, and elimination on its estimates.

Deviation: g uses the number of all arms K (and their rank), which keeps phases
growing; the base itself is tuned to the arms that are left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, MetaMode
from uli_fast.errors import ArgumentError, NoGuaranteeError
from uli_fast.guarantees import ArmsInfo, Guarantee, read_arms
from uli_fast.learners._adversarial import (
    Base,
    log_term,
    loss_kind,
    losses_of,
    saturated,
)
from uli_fast.learners._phases import AdversarialLearner, Phase
from uli_fast.learners.exp3p import Exp3P
from uli_fast.learners.geometric_hedge import GeometricHedge, refuse_nearly_flat
from uli_fast.problems.arms import ArmBandit

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.learners._phases import Live
    from uli_fast.players.adversarial import AdversarialPlayer


class _Mode(NamedTuple):
    multiplier: float  # T_m = ceil(multiplier g_m 2^m)
    threshold: float  # remove beyond threshold sqrt(g_m T_m)
    factor: float  # F = sqrt(factor g / t)


MODES = {"paper": _Mode(576.0, 7.0, 4608.0), "sharp": _Mode(236.0, 3.84, 945.0)}
# On the event the estimates of an arm and a best one differ by at least T gap / 2 less this
# times sqrt(g T): 1 + 2 sqrt(2), rounded up (Lemma UB_complexity, docs/errata.md).
DEVIATION = 3.83


@dataclass(frozen=True)
class MetaElimination(AdversarialLearner):
    """Run an adversarial base in growing phases; drop what its estimates show to be worse.

    With probability 1 - delta every round's gap is at most
    sqrt(4608 g(delta / (2 log2(t+1)^2)) / t), where g(delta) is the base's:
    361 K log(10 K / delta) for Exp3P(), 256 d log(10 K / delta) for GeometricHedge().

    Parameters
    ----------
    base
        Exp3P(), GeometricHedge(), Scrible() or any object with ``g`` and
        ``start_phase`` (docs/bases.md). Its own delta is not used.
    delta
        Probability with which the guarantee may fail.
    mode
        "paper": T_m = ceil(576 g_m 2^m), threshold 7. "sharp": 236 and 3.84, proved
        as well, with 945 in place of 4608: phases less than half as long.
    sigma
        For unbounded rewards on linear arms with |<a, theta>| <= 1: the noise is
        symmetric and sigma-subgaussian. Losses are divided by a growing bound that
        the noise exceeds with probability delta / 2 in all, and so is the guarantee.
    """

    base: Any = field(default_factory=Exp3P)
    delta: float = 0.05
    mode: MetaMode = "paper"
    sigma: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _check.shared_probability("delta", self.delta))
        _check.one_of("mode", self.mode, tuple(MODES))
        if self.sigma is not None:
            object.__setattr__(self, "sigma", _check.subgaussian("sigma", self.sigma))
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

    def check(self, problem: ArmBandit, horizon: int) -> None:
        """Refuse what the base cannot play."""
        super().check(problem, horizon)
        if self.sigma is not None and problem.low is not None:
            raise ArgumentError("sigma", "is for unbounded rewards; this problem's are bounded")

    def _live(self, labels: Labels, low: float, high: float, live: Live) -> AdversarialPlayer:
        if self.sigma is not None and math.isfinite(low):
            raise ArgumentError("sigma", "is for unbounded rewards: pass low=-inf, high=inf")
        return super()._live(labels, low, high, live)

    def schedule(self, features: F64, horizon: int | None) -> Callable[[int], Phase]:
        """Return the length, confidence and threshold of phase m."""
        mode = MODES[self.mode]
        delta = self.delta if self.sigma is None else self.delta / 2.0

        def phase(m: int) -> Phase:
            g = checked_g(self.base, features, delta / (2.0 * m**2))
            rounds = saturated(mode.multiplier * g * 2.0 ** min(m, 1000))  # 2^1024 is no float
            threshold = mode.threshold * math.sqrt(g * rounds)
            scale = 1.0 if self.sigma is None else noise_bound(self.sigma, m, rounds, delta)
            return Phase(rounds, delta / (2.0 * m**2), threshold, scale)

        return phase

    def phase_lengths(self, features: F64, horizon: int) -> list[int]:
        """Return T_1, T_2, ... of every phase that can begin by the horizon."""
        phase, lengths = self.schedule(features, horizon), list[int]()
        while sum(lengths) < horizon:
            lengths.append(phase(len(lengths) + 1).rounds)
        return lengths

    def survivors_gap(self, phase: Phase, estimates: F64) -> float:
        """Bound the gaps of what a phase leaves by its estimates, in units of its losses."""
        kept = estimates[estimates - estimates.min() <= phase.threshold]
        if kept.size == 1:
            return 0.0
        deviation = DEVIATION * phase.threshold / MODES[self.mode].threshold
        return 2.0 * (float(kept.max() - kept.min()) + deviation) / phase.rounds

    def guarantee(self, about: Any) -> Guarantee:
        """Return F_ULI for a problem, a number of arms, (K, d) or an array of arms.

        Only a problem tells the range of its rewards; otherwise they are taken to lie in
        [0, 1]. Rewards in [-1, 1] on linear arms have twice that bound.
        """
        info = read_arms(about)
        if type(self.base) not in (Exp3P, GeometricHedge):  # a subclass is another algorithm
            return self._claim(info)
        proved = self.base.proved_constant
        name = type(self.base).__name__
        if self.base.constant < proved:
            raise NoGuaranteeError(
                f"{name} is proved with a constant of {proved:g} or more, "
                f"not with {self.base.constant:g}"
            )
        if isinstance(self.base, GeometricHedge) and info.features is not None:
            refuse_nearly_flat(info.features)
        parameters = {
            "K": info.K,
            "dimension": info.K if isinstance(self.base, Exp3P) else self._rank(info),
            "constant": self.base.constant,
            "factor": MODES[self.mode].factor,
            "largest_gap": 1.0,
        }
        if self.sigma is not None:
            told = isinstance(about, ArmsInfo | ArmBandit)  # of the rewards, not only of the arms
            return self._unbounded(info if told else info._replace(low=None), parameters)
        scale = self._scale(info)
        return Guarantee(f"META-{name}", self.delta, parameters, scale)

    def _rank(self, info: ArmsInfo) -> int:
        if info.d is None:
            raise ArgumentError("about", "must tell the arms' rank: a problem, (K, d), or arms")
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

    def _unbounded(self, info: ArmsInfo, parameters: dict[str, float]) -> Guarantee:
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
        parameters |= {
            "largest_gap": 2.0,
            "sigma": self.sigma,
            "multiplier": MODES[self.mode].multiplier,
        }
        return Guarantee("META-GeometricHedge-unbounded", self.delta, parameters)

    def _claim(self, info: ArmsInfo) -> Guarantee:
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
        factor = MODES[self.mode].factor

        def g(t: float) -> float:
            return checked_g(self.base, known, self.delta / (2.0 * math.log2(t + 1.0) ** 2))

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

        def bound(t: float) -> float:
            return math.sqrt(factor * g(t) / t)

        return Guarantee("user", self.delta, parameters, self._scale(info), bound)


def noise_bound(sigma: float, m: int, rounds: int, delta: float) -> float:
    """Return B_m = 2 (1 + h_m), h_m = sigma sqrt(2 log(4 m^2 T_m / delta))."""
    log = math.log(4.0) + 2.0 * math.log(m) + math.log(rounds) - math.log(delta)
    return 2.0 * (1.0 + sigma * math.sqrt(2.0 * log))


def checked_g(base: Base, features: F64, delta: float) -> float:
    """Return a base's g, refusing what is not a positive number."""
    return _check.positive("base.g", base.g(features, delta))
