"""The formulas of F by name, on the learner's scale, and where their constants come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, Form
from uli_fast.formulas.betting_elimination import ELIMINATION
from uli_fast.formulas.model_elimination import BOXES
from uli_fast.formulas.successive_elimination import width
from uli_fast.guarantees import betting_looks, model_boxes, phase_bounds
from uli_fast.guarantees.policy_schedule import Size, phase_ends


class Constant(NamedTuple):
    """A number of the bound and where it comes from."""

    name: str
    value: float
    source: str


def _se_mab(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    log_term = math.log(4.0 * p["K"]) - math.log(delta) + 2.0 * np.log(t)
    if p["R"] == 0.5 and p["largest_gap"] <= 1.0:
        return np.sqrt(14.0 * p["K"] * log_term / t)
    return np.sqrt(p["K"] * (50.0 * p["R"] ** 2 * log_term + 2.0 * p["largest_gap"] ** 2) / t)


def _se_mab_schedule(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    """Return 4 wd(floor((t - 1) / K)); before the first test a gap may have any size.

    That test comes after round K + 1: the first sweep only initialises.
    """
    plays = np.maximum(1.0, np.floor_divide(t - 1.0, p["K"]))
    bound: F64 = 4.0 * width(plays, p["K"], delta, p["R"])
    return np.where(t > p["K"] + 1.0, bound, np.maximum(bound, p["largest_gap"]))


def se_mab_above(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    """Return a smooth bound above, for integrals: floor((t - 1) / K) >= (t - K) / K."""
    plays = np.maximum(1.0, (t - p["K"]) / p["K"])
    bound: F64 = 4.0 * width(plays, p["K"], delta, p["R"])
    return bound


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


def policy_ends(schedule: str, delta: float, p: Mapping[str, float], last: int) -> list[int]:
    """Return the last episode of each phase of policy elimination, until one reaches ``last``."""
    size = Size(int(p["S"]), int(p["A"]), int(p["H"]), p["log_policies"])
    return list(phase_ends(schedule, size, delta, last))


def _policy(schedule: str, t: F64, delta: float, p: Mapping[str, float]) -> F64:
    """Return H in the first phase, 4 2^-m in phase m."""
    if p["log_policies"] == 0.0:
        return np.zeros_like(t)  # a single policy has no gap
    ends = policy_ends(schedule, delta, p, int(t.max(initial=1.0)))
    m = np.searchsorted(np.array(ends, np.float64), t) + 1.0
    return np.where(m == 1.0, p["H"], np.minimum(p["H"], 4.0 * 2.0**-m))


def _scheduled(formula: str, t: F64, delta: float, p: Mapping[str, float]) -> F64:
    return phase_bounds.steps(formula, delta, p).at_all(t)


# F of a schedule has its own name: saved runs keep the bound that they were made with.
FORMULAS: dict[str, Callable[[F64, float, Mapping[str, float]], F64]] = {
    "BET": betting_looks.bound,
    "SE-MAB": _se_mab,
    "PE-MAB": _pe_mab,
    "PE-linear": _pe_linear,
    "PE-spanner": _pe_spanner,
    "META-Exp3P": _meta,
    "META-GeometricHedge": _meta,
    "META-GeometricHedge-unbounded": _meta_unbounded,
    "MODEL-deterministic": partial(model_boxes.bound, "deterministic"),
    "MODEL-stochastic": partial(model_boxes.bound, "stochastic"),
    "POLICY-proved": partial(_policy, "proved"),
    "POLICY-sharp": partial(_policy, "sharp"),
    "SE-MAB-schedule": _se_mab_schedule,
    **{name: partial(_scheduled, name) for name in phase_bounds.PLANS},
}
FORMS = ("schedule", "paper")


def formula(name: str, form: Form) -> str:
    """Return the name of a bound in one of its two forms."""
    _check.one_of("form", form, FORMS)
    return name if form == "paper" else f"{name}-schedule"


_MODEL_SOURCES = (
    Constant("0.9 delta", BOXES, "boxes; a tenth is for visits (docs/proofs_models.md)"),
    Constant("w(S)", math.sqrt(0.5), "min(1.932 sqrt(S), S / sqrt(2)): half a row's widths"),
    Constant("1.02", model_boxes.REFRESHED, "boxes are renewed when visits have grown by this"),
)
_SOURCES: dict[str, tuple[Constant, ...]] = {
    "BET": (
        Constant(
            "2 c(n) / n", 2.0, "sums of a survivor and the best arm are off by less than c(n)"
        ),
        Constant(
            "0.9 delta",
            ELIMINATION,
            "the other tenth is for intervals of single arms",
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
    "PE-spanner-sharp": (
        Constant("2 .6^(m-1)", 2.0, "arms of phase m: .6^(m-1), and errors of at most that"),
        Constant("Q(2 C, L_m)^2", 1.0, "d ceil((R Q / (.95 .6^m))^2) rounds (docs/proofs_sets.md)"),
        Constant("L_m", 1.0, "log(m (m + 1) / delta): shares of delta add up to it"),
    ),
    "PE-linear-schedule": (
        Constant("8 2^-l", 8.0, "survivors of phase l - 1: 2^(2-l) and two errors of 2^(1-l)"),
        Constant("4 d", 4.0, "phases of ceil(m_l) + s - 1 rounds, s arms of a design at most"),
    ),
    "PE-linear-sharp": (
        Constant("2 c(J) / J", 2.0, "a survivor and the best arm are off by less than c(J) each"),
        Constant("4 (1.02 (k + 1) - 1)", 4.0, "J >= M / that: leverages of pairs, affine designs"),
        Constant("1/10", 0.1, "blocks have a tenth of the plays before (docs/proofs_linear.md)"),
    ),
    "CAP-schedule": (
        Constant(
            "(1 + 1.9) .36^(m-1)",
            1.0 + phase_bounds.CAP_CUTS,
            "arms of phase m: the cut of the phase before and its error (docs/proofs_caps.md)",
        ),
        Constant("d + 1", 1.0, "arms of a phase: the pole of a cap and d points of its rim"),
        Constant(
            "0.999", 1.0 - phase_bounds.CAP_ROOM, "of eta_m is for noise, the rest for rounding"
        ),
    ),
    "MODEL-deterministic": (
        Constant("H W", 1.0, "each stage but the last loses at most a width, and all one more"),
        *_MODEL_SOURCES,
    ),
    "MODEL-stochastic": (
        Constant("2 W", 2.0, "a policy's value, and the best one, are known up to W each"),
        *_MODEL_SOURCES,
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
    paper = factor == 4608.0
    return "mode paper: 576 and 7" if paper else "four times the multiplier of the phases"


def sources(formula: str, p: Mapping[str, float]) -> tuple[Constant, ...]:
    """Return the constants of a proved bound."""
    return _meta_sources(formula, p) if formula.startswith("META-") else _SOURCES[formula]
