"""F_ULI(delta, t): how bad a played arm can still be, and what follows from it.

With probability 1 - delta the gap of what is played at every round t is at most
``bound(t)``. A bound that holds at every round counts the rounds that may be
worse than eps (uniform PAC) and bounds the regret (Theorem ULI_implications).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check, _looks, _phase_bounds
from uli_fast._schedule import Size, phase_ends
from uli_fast._typing import F64, Form
from uli_fast.errors import ArgumentError, NoGuaranteeError

# An R that is half a range but for rounding is half the range.
ROUNDING = 1.0 + 1e-12
# Rounds summed one by one before an integral takes over.
_SUMMED = 10**5


def confidence(delta: float) -> str:
    """Return 1 - delta as text, never rounded to certainty."""
    said = f"{1.0 - delta:g}"
    return said if float(said) < 1.0 else f"1 - {delta:g}"


class Constant(NamedTuple):
    """A number of the bound and where it comes from."""

    name: str
    value: float
    source: str


class ArmsInfo(NamedTuple):
    """What a guarantee needs to know of a K-armed problem."""

    K: int
    largest_gap: float = 1.0  # on the learner's scale
    scale: float = 1.0  # reward units per unit of the learner's scale
    subgaussian: float = 0.0  # what the rewards are known to be
    d: int | None = None  # rank of the arms, if they are vectors
    low: float | None = 0.0  # range of the rewards, None if unbounded
    high: float | None = 1.0
    intercept: float = 0.0  # of linear rewards
    largest_mean: float = 1.0  # of linear rewards, from the intercept
    arm_norm: float = 1.0  # largest norm of an arm
    noise: float = 0.0  # R of the noise of linear rewards, in reward units
    theta_norm: float = 0.0  # of linear rewards, in reward units
    features: F64 | None = None  # the arms themselves, where they are known
    linear: bool = True  # False: the means are known not to be linear in the arms

    @property
    def bounded(self) -> bool:
        """Whether rewards stay in a known range."""
        return self.low is not None


def read_arms(about: Any) -> ArmsInfo:
    """Read a problem, a number of arms, (K, d), or an array of arms.

    Numbers say nothing of the rewards: they are taken to lie in [0, 1].
    """
    from uli_fast.designs import rank
    from uli_fast.problems.arms import ArmBandit

    if isinstance(about, ArmsInfo):
        return about
    if isinstance(about, tuple) and len(about) == 2 and not isinstance(about[0], Sequence):
        return ArmsInfo(_check.whole("about", about[0]), d=_check.whole("about", about[1]))
    arms = _check.vectors("about", about)
    if arms.shape[1]:
        info = ArmsInfo(len(arms), d=max(1, rank(arms)), features=arms)
        return info._replace(arm_norm=_largest_norm(arms))
    if not isinstance(about, ArmBandit):
        return ArmsInfo(_check.whole("about", about))
    if not about.iid:
        raise NoGuaranteeError(
            "a table's rows need not be independent draws from one law; pass means= to claim it"
        )
    info = ArmsInfo(about.n_arms, about.largest_gap, about.scale, about.subgaussian)
    info = info._replace(low=about.low, high=about.high, features=about.features)
    if not about.features.shape[1]:
        return info
    largest = float(np.abs(about.means - about.intercept).max())
    return info._replace(
        d=max(1, rank(about.features)),
        intercept=about.intercept,
        largest_mean=largest,
        arm_norm=_largest_norm(about.features),
        noise=about.noise_subgaussian,
        theta_norm=about.slope_norm,
    )


def _largest_norm(arms: F64) -> float:
    return float(np.linalg.norm(arms, axis=1).max()) or 1.0


def describe_arms(about: Any, R: float | None) -> tuple[ArmsInfo, float]:
    """Read arms and R on their scale, refusing laws that are not R-subgaussian.

    A number of arms says nothing of the rewards: R is then taken at its word.
    """
    info = read_arms(about)
    own = info.subgaussian * info.scale
    unit = _check.unit_noise(R, (info.low, info.high), own or None)
    if info.subgaussian > unit * ROUNDING:
        raise NoGuaranteeError(
            f"rewards {'may be' if info.bounded else 'are'} {own:g}-subgaussian but the learner "
            f"assumes R = {R:g}; use R = {own:g} or more"
            + (", or no range (low=-inf, high=inf) if R is known" if info.bounded else "")
        )
    return info, unit


def _se_mab(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    log_term = math.log(4.0 * p["K"]) - math.log(delta) + 2.0 * np.log(t)
    if p["R"] == 0.5 and p["largest_gap"] <= 1.0:
        return np.sqrt(14.0 * p["K"] * log_term / t)
    return np.sqrt(p["K"] * (50.0 * p["R"] ** 2 * log_term + 2.0 * p["largest_gap"] ** 2) / t)


def _pe_mab(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    log_term = math.log(4.0 * p["K"]) - math.log(delta) + 2.0 * np.log(np.log2(t + 1.0))
    return np.sqrt(1024.0 * p["R"] ** 2 * p["K"] * log_term / (3.0 * t))


def _pe_linear(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    log_term = math.log(4.0 * p["K"]) - math.log(delta) + 2.0 * np.log(np.log2(t + 1.0))
    floor = math.log(math.log(max(p["d"], math.e))) + 4.0
    return np.sqrt(2048.0 * p["d"] * np.maximum(p["R"] ** 2 * log_term, floor) / (3.0 * t))


def _pe_spanner(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    log_term = math.log(4.0) + 3.0 * math.log(p["d"]) + 2.0 * np.log(t + 1.0) - math.log(delta)
    factor = 32768.0 * p["C"] ** 4 * p["d"] ** 3 / 3.0
    return max(1.0, p["R"]) * np.sqrt(factor * log_term / t)


def _meta_g(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    """Return g(delta / (2 log2(t + 1)^2)) = c d log(10 K / .), d = K for Exp3.P."""
    log_term = math.log(20.0 * p["K"]) - math.log(delta) + 2.0 * np.log(np.log2(t + 1.0))
    return np.asarray(p["constant"] * p["dimension"] * log_term)


def _meta(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    return np.sqrt(p["factor"] * _meta_g(t, delta, p) / t)


def _meta_unbounded(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    """Multiply by B_m = 2 (1 + h_m), using m <= log2(t + 1) and so T_m <= mult g (t + 1) + 1.

    Half of delta is for the noise, half for the learner.
    """
    half = delta / 2.0
    longest = p["multiplier"] * _meta_g(t, half, p) * (t + 1.0) + 1.0
    log_term = np.log(4.0 * longest) + 2.0 * np.log(np.log2(t + 1.0)) - math.log(half)
    h = p["sigma"] * np.sqrt(2.0 * log_term)
    return 2.0 * (1.0 + h) * _meta(t, half, p)


def _policy_ends(schedule: str, delta: float, p: Mapping[str, float], last: int) -> list[int]:
    """Return the last episode of each phase of policy elimination, until one is not before."""
    size = Size(int(p["S"]), int(p["A"]), int(p["H"]), p["log_policies"])
    return list(phase_ends(schedule, size, delta, last))


def _policy(schedule: str, t: F64, delta: float, p: Mapping[str, float]) -> F64:
    """Return H in the first phase, 4 2^-m in phase m."""
    if p["log_policies"] == 0.0:
        return np.zeros_like(t)  # a single policy has no gap
    ends = _policy_ends(schedule, delta, p, int(t.max(initial=1.0)))
    m = np.searchsorted(np.array(ends, np.float64), t) + 1.0
    return np.where(m == 1.0, p["H"], np.minimum(p["H"], 4.0 * 2.0**-m))


def _scheduled(formula: str, t: F64, delta: float, p: Mapping[str, float]) -> F64:
    return _phase_bounds.steps(formula, delta, p).at_all(t)


# F of a schedule has a name of its own: saved runs keep the bound that they were made with.
_FORMULAS: dict[str, Callable[[F64, float, Mapping[str, float]], F64]] = {
    "BET": _looks.bound,
    "SE-MAB": _se_mab,
    "PE-MAB": _pe_mab,
    "PE-linear": _pe_linear,
    "PE-spanner": _pe_spanner,
    "META-Exp3P": _meta,
    "META-GeometricHedge": _meta,
    "META-GeometricHedge-unbounded": _meta_unbounded,
    "POLICY-proved": partial(_policy, "proved"),
    "POLICY-sharp": partial(_policy, "sharp"),
    "SE-MAB-schedule": _phase_bounds.successive,
    **{name: partial(_scheduled, name) for name in _phase_bounds.PLANS},
}
FORMS = ("schedule", "paper")


def formula(name: str, form: Form) -> str:
    """Return the name of a bound in one of its two forms."""
    _check.one_of("form", form, FORMS)
    return name if form == "paper" else f"{name}-schedule"


_SOURCES: dict[str, tuple[Constant, ...]] = {
    "BET": (
        Constant(
            "2 c(n) / n", 2.0, "sums of a survivor and the best arm are off by less than c(n)"
        ),
        Constant(
            "0.9 delta", _looks.ELIMINATION, "the other tenth is for intervals of single arms"
        ),
        Constant("K - 1 + r", 1.0, "rounds of a sweep: the leader is played r times"),
    ),
    "SE-MAB": (
        Constant("14 K", 14.0, "R = 1/2: Lemma upperbound_pull of the paper"),
        Constant("50 R^2", 50.0, "R-subgaussian: gap < 5 wd(N - 1), so N - 1 < 50 R^2 log / gap^2"),
        Constant("2 gap^2", 2.0, "t <= K (N + 1): the two extra sweeps"),
    ),
    "PE-MAB": (
        Constant("1024 R^2 / 3", 1024.0 / 3.0, "Lemma PE_MAB_FULI (256/3 at R = 1/2)"),
        Constant("log2(t + 1)", 1.0, "Lemma PE_MAB_bound4ellt: phase l(t) <= log2(t + 1)"),
    ),
    "PE-spanner": (
        Constant("32768 C^4 d^3 / 3", 32768.0 / 3.0, "Theorem ULI_PE_infinite (docs/errata.md)"),
        Constant("max(1, R)", 1.0, "phases are max(1, R^2) times as long"),
    ),
    "PE-linear": (
        Constant(
            "2048 / 3", 2048.0 / 3.0, "Lemma PE_linear_FULI with 2048 for 512 (docs/errata.md)"
        ),
        Constant("loglog d + 4", 4.0, "quotas are rounded up: at most 4 d loglog d + 16 arms"),
    ),
    "SE-MAB-schedule": (
        Constant("4 wd(n)", 4.0, "all arms in play have n = floor((t - 1) / K) plays or more"),
        Constant(
            "2 R^2", 2.0, "wd(n) = R sqrt(2 log(4 K n^2 / delta) / n), Lemma SE_concentration"
        ),
    ),
    "PE-MAB-schedule": (
        Constant("4 2^-l", 4.0, "survivors of phase l - 1: 2^-(l-1) and two errors of 2^-l"),
        Constant("8 R^2", 8.0, "phases of K ceil(8 R^2 4^l log(4 K l^2 / delta)) rounds"),
    ),
    "PE-spanner-schedule": (
        Constant("4 2^-m", 4.0, "arms of phase m: 2^(1-m) and two errors of 2^-m"),
        Constant("256 C^4", 256.0, "phases of d ceil(T_m / d) rounds, Theorem ULI_PE_infinite"),
    ),
    "PE-linear-schedule": (
        Constant("8 2^-l", 8.0, "survivors of phase l - 1: 2^(2-l) and two errors of 2^(1-l)"),
        Constant("4 d", 4.0, "phases of ceil(m_l) + s - 1 rounds, s arms of a design at most"),
    ),
    "POLICY-proved": (
        Constant("4 2^-m", 4.0, "phase m keeps gaps of at most 2^-m + 2 2^(-m-1) = 4 2^-(m+1)"),
        Constant("2^(-m-1)", 0.5, "phases last until epsilon(T) is below it (docs/errata.md)"),
    ),
    "POLICY-sharp": (
        Constant("4 2^-m", 4.0, "phase m keeps gaps of at most 2^-m + 2 2^(-m-1) = 4 2^-(m+1)"),
        Constant("2^(-m-1)", 0.5, "epsilon(T) with the L1 bound of Weissman (docs/errata.md)"),
    ),
}


def _meta_sources(formula: str, p: Mapping[str, float]) -> tuple[Constant, ...]:
    """Return the constants that a bound of the meta-algorithm was made with."""
    base, least = ("K", "62") if formula.startswith("META-Exp3P") else ("d", "256")
    g = Constant("g", p["constant"], f"g = constant {base} log(10 K / delta), proved from {least}")
    found: tuple[Constant, ...]
    if formula.endswith("-schedule"):
        found = (
            g,
            Constant("multiplier", p["multiplier"], "phases of ceil(multiplier g_m 2^m) rounds"),
            Constant("2^(-(m-1)/2)", 1.0, "survivors of phase m - 1, delta_m = delta / (2 m^2)"),
        )
    else:
        found = (
            g,
            Constant("factor", p["factor"], f"F = sqrt(factor g / t), {_mode_of(p['factor'])}"),
            Constant("log2(t + 1)", 1.0, "phase m(t) <= log2(t + 1), delta_m = delta / (2 m^2)"),
        )
    if "sigma" not in p:
        return found
    return (*found, Constant("2 (1 + h)", p["sigma"], "noise stays within h with 1 - delta / 2"))


def _mode_of(factor: float) -> str:
    modes = {4608.0: "mode paper: 576 and 7", 945.0: "mode sharp of 0.7: 236 and 3.84"}
    return modes.get(factor, "four times the multiplier of the phases")


@dataclass(frozen=True)
class Guarantee:
    """With probability 1 - delta, every round's gap is at most ``bound(t)``.

    ``formula`` names a proved bound, or "user" for the ``function`` of an
    elimination framework, which is the user's claim and not checked here.
    """

    formula: str
    delta: float
    parameters: Mapping[str, float] = field(default_factory=dict)
    scale: float = 1.0
    function: Callable[[float], float] | None = field(default=None, repr=False)

    def bound(self, t: Any) -> Any:
        """Return F(delta, t) in reward units, for a round or an array of rounds."""
        try:
            rounds = np.asarray(t, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("t", f"must be rounds (numbers), got {t!r}") from None
        if not ((rounds >= 1.0) & (rounds < np.inf)).all():
            raise ArgumentError("t", f"must be at least 1, got {t!r}")
        if type(t) is int and self.formula in _phase_bounds.PLANS and self.parameters.get("K") != 1:
            return self.scale * _phase_bounds.steps(self.formula, self.delta, self.parameters).at(t)
        values = self.scale * self._unit(rounds)
        return float(values) if rounds.ndim == 0 else values

    def _unit(self, t: F64) -> F64:
        if self.function is not None:
            return np.asarray(np.vectorize(self.function, otypes=[float])(t))
        if self.parameters.get("K") == 1:
            return np.zeros_like(t)  # a single arm has no gap
        return _FORMULAS[self.formula](t, self.delta, self.parameters)

    @property
    def proved(self) -> bool:
        """Whether the bound is a theorem (rather than a user's claim)."""
        return self.function is None

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The numbers of the bound and where they come from."""
        if self.function is not None:
            claim = "the user's claim (Theorem SC, or the Condition); not verified"
            return (Constant("user", math.nan, claim),)
        if self.formula.startswith("META-"):
            return _meta_sources(self.formula, self.parameters)
        return _SOURCES[self.formula]

    @property
    def largest_gap(self) -> float:
        """No gap is larger, in reward units, whatever the bound; infinite where none is known."""
        return self.scale * self.parameters.get("largest_gap", math.inf)

    def rounds_until(self, eps: float, gaps: Any = None) -> int:
        """Return the largest t with bound(t) > eps, 0 if there is none.

        Every later decision is within eps of the best; this is F_UPAC(delta, eps). Where
        the ``gaps`` are known, it is the largest t at which the bound still allows one
        above eps.
        """
        eps = _check.positive("eps", eps)
        if gaps is not None:
            above = [gap for gap in self._sizes(gaps) if gap > eps]
            # bound(t) = gap allows the gap
            return self.rounds_until(math.nextafter(min(above), 0.0)) if above else 0
        if self.function is not None:
            return self._last_above(eps)
        return self._last(lambda t: self.bound(t) > eps)

    @staticmethod
    def _last(holds: Callable[[int], bool]) -> int:
        """Return the largest t for which a monotone condition holds, 0 if none."""
        if not holds(1):
            return 0
        low, high = 1, 2
        while holds(high):
            low, high = high, 2 * high
            if high > 2**400:
                raise ArgumentError("eps", "is so small that it takes more than 2**400 rounds")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    def _last_above(self, eps: float) -> int:
        """Search a user's f: every round to 10**4, then a grid to 10**18, then bisection."""
        near = np.arange(1.0, 10.0**4)
        grid = np.unique(np.geomspace(10.0**4, 10.0**18, 2000).round())
        values = self.bound(np.concatenate([near, grid]))
        if np.isnan(values).any():
            raise NoGuaranteeError("the given f is NaN at some rounds")
        above = np.concatenate([near, grid])[values > eps]
        if above.size == 0:
            return 0
        low = int(above[-1])
        if low >= 10**18:
            raise NoGuaranteeError(f"the given f does not fall to {eps:g} within 10**18 rounds")
        beyond = grid[grid > low]
        high = low + 1 if low + 1 < 10**4 else int(beyond[0])
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.bound(middle) > eps else (low, middle)
        return low

    def regret(self, T: int, gaps: Any = None) -> float:
        """Bound the pseudo-regret over T rounds, for any T, on the same event.

        Without ``gaps`` each round costs at most min(largest gap, bound(t)); with
        them a gap is charged only to rounds where the bound still allows it.
        """
        T = _check.whole("T", T)
        if self.function is not None:
            raise NoGuaranteeError("regret needs a bound known to decrease; a user's f is not")
        if gaps is None:
            return self._regret_gap_free(T)
        total, before = 0.0, 0
        for gap in self._sizes(gaps):
            last = min(T, self._last(lambda t, gap=gap: self.bound(t) >= gap))  # type: ignore[misc]
            total += gap * (last - before)
            before = last
        return total

    @staticmethod
    def _sizes(gaps: Any) -> list[float]:
        """Return the distinct positive gaps, the largest first."""
        sizes = _check.vector("gaps", gaps)
        if (sizes < 0.0).any():
            raise ArgumentError("gaps", f"must not be negative, got {sizes.min():g}")
        return sorted({float(g) for g in sizes if g > 0.0}, reverse=True)

    def _regret_gap_free(self, T: int) -> float:
        worst = self.largest_gap
        if worst == 0.0 or self.parameters.get("K") == 1:
            return 0.0
        if self.formula == "BET" or self.formula.startswith("POLICY-"):
            return self._regret_of_steps(T, worst)
        if self.formula in _phase_bounds.PLANS:
            table = _phase_bounds.steps(self.formula, self.delta, self.parameters)
            return self.scale * table.total(T, worst / self.scale)
        even = 0  # F is constant from K + 2 to 2 K, where sweeps have a single play
        first = self.rounds_until(worst)
        if self.formula == "SE-MAB-schedule":
            first, even = max(first, int(self.parameters["K"]) + 1), 2 * int(self.parameters["K"])
        first = min(T, first)
        total = worst * first
        stop = min(T, first + _SUMMED)
        total += float(np.sum(self.bound(np.arange(first + 1.0, stop + 1.0))))
        if stop < min(T, even):
            total += (min(T, even) - stop) * self.bound(even)
            stop = min(T, even)
        return total + (self._integral(stop, T) if stop < T else 0.0)

    def _regret_of_steps(self, T: int, worst: float) -> float:
        """Sum a bound that is constant within phases."""
        total, before = 0.0, 0
        if self.formula == "BET":
            for last, height in _looks.steps(self.delta, self.parameters, T):
                total += (last - before) * min(worst, self.scale * height)
                before = last
            return total
        schedule = self.formula.removeprefix("POLICY-")
        for end in _policy_ends(schedule, self.delta, self.parameters, T):
            last = min(end, T)
            total += (last - before) * min(worst, self.bound(last))
            before = last
        return total

    def _integral(self, a: int, b: int) -> float:
        """Integrate the bound over [a, b]: not less than its sum over a+1..b, as it falls."""
        panels = max(1, math.ceil(math.log(b / a)))
        edges = np.linspace(math.log(a), math.log(b), panels + 1)
        nodes, weights = np.polynomial.legendre.leggauss(16)
        half = np.diff(edges)[:, None] / 2.0
        u = (edges[:-1, None] + edges[1:, None]) / 2.0 + half * nodes
        t = np.exp(u)
        return float(np.sum(half * weights * self._smooth(t) * t))

    def _smooth(self, t: F64) -> F64:
        """Return a bound without steps, not below this one."""
        if self.formula == "SE-MAB-schedule":
            return self.scale * _phase_bounds.successive_above(t, self.delta, self.parameters)
        return np.asarray(self.bound(t))

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; a user's function cannot be kept."""
        return {
            "formula": self.formula,
            "delta": self.delta,
            "parameters": dict(self.parameters),
            "scale": self.scale,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """Rebuild a proved bound; what is none is an ArgumentError."""
        formula = _check.one_of("formula", data["formula"], tuple(_FORMULAS))
        parameters = dict(data["parameters"])
        if formula == "BET" and not (parameters.keys() >= _looks.NEEDED and parameters["R"] > 0):
            raise ArgumentError("parameters", f"must be {', '.join(sorted(_looks.NEEDED))}")
        for name, value in parameters.items():
            if type(value) not in (int, float) or not least_of(name) <= value:
                raise ArgumentError(name, f"is no parameter of a bound: {str(value)[:50]}")
        delta = _check.in_open_unit("delta", data["delta"])
        made = cls(formula, delta, parameters, _check.number("scale", data["scale"]))
        if not made.bound(1) >= 0.0 or not made.constants:
            raise ArgumentError("parameters", "are not those of a bound")
        return made


def least_of(name: str) -> float:
    """Return the least that a parameter of a proved bound can be: numbers of things are 1."""
    return 1.0 if name in ("K", "d", "dimension", "support", "leader", "S", "A", "H") else 0.0
