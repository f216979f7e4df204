"""F of elimination over an adversarial base: the closed form, and its phases."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from uli_fast._typing import F64
from uli_fast.formulas.meta_elimination import log_term, noise_bound, phase_gap, phase_size
from uli_fast.formulas.phases import rounded_up, share
from uli_fast.guarantees.bounds import Bound, Constant, Parameters, phased


def _g(t: F64, delta: float, p: Parameters) -> F64:
    """Return g(delta / (2 log2(t + 1)^2)) = c d log(10 K / .), d = K for Exp3.P."""
    log_term = math.log(20.0 * p["K"]) - math.log(delta) + 2.0 * np.log(np.log2(t + 1.0))
    return np.asarray(p["constant"] * p["dimension"] * log_term)


def _closed(t: F64, delta: float, p: Parameters) -> F64:
    return np.sqrt(p["factor"] * _g(t, delta, p) / t)


def _unbounded(t: F64, delta: float, p: Parameters) -> F64:
    """Multiply by B_m = 2 (1 + h_m), using m <= log2(t + 1) and so T_m <= mult g (t + 1) + 1.

    Half of delta is for the noise, half for the learner.
    """
    half = delta / 2.0
    longest = p["multiplier"] * _g(t, half, p) * (t + 1.0) + 1.0
    log = np.log(4.0 * longest) + 2.0 * np.log(np.log2(t + 1.0)) - math.log(half)
    h = p["sigma"] * np.sqrt(2.0 * log)
    return 2.0 * (1.0 + h) * _closed(t, half, p)


def _rounds(m: int, delta: float, p: Parameters) -> int:
    """Return T_m = ceil(multiplier g_m 2^m), g_m = c D log(20 K m^2 / delta)."""
    log = log_term(int(p["K"]), share(delta if "sigma" not in p else delta / 2.0, m))
    return rounded_up(phase_size(m, p["multiplier"], p["constant"] * p["dimension"] * log))


def _gap(m: int, delta: float, p: Parameters) -> float:
    """Return G(m), in reward units times the B of the phase before."""
    gap = phase_gap(m)
    if "sigma" not in p:
        return gap
    before = max(m - 1, 1)
    rounds = max(1, _rounds(before, delta, p))
    return gap * noise_bound(p["sigma"], before, rounds, delta / 2.0)


def _sources(closed: bool, base: str, least: str, p: Parameters) -> tuple[Constant, ...]:
    """Return the constants that a bound was made with."""
    found = [
        Constant("g", p["constant"], f"g = constant {base} log(10 K / delta), proved from {least}")
    ]
    if closed:
        paper = p["factor"] == 4608.0
        mode = "mode paper: 576 and 7" if paper else "four times the multiplier of the phases"
        found += [
            Constant("factor", p["factor"], f"F = sqrt(factor g / t), {mode}"),
            Constant("log2(t + 1)", 1.0, "phase m(t) <= log2(t + 1), delta_m = delta / (2 m^2)"),
        ]
    else:
        found += [
            Constant("multiplier", p["multiplier"], "phases of ceil(multiplier g_m 2^m) rounds"),
            Constant("2^(-(m-1)/2)", 1.0, "survivors of phase m - 1, delta_m = delta / (2 m^2)"),
        ]
    if "sigma" in p:
        found.append(Constant("2 (1 + h)", p["sigma"], "noise stays within h with 1 - delta / 2"))
    return tuple(found)


BOUNDS = {
    "META-Exp3P": Bound(
        _closed,
        partial(_sources, True, "K", "62"),
        formula=(
            "in closed form, in mode paper, "
            "sqrt(4608 g(delta / (2 log2(t + 1)^2)) / t), g of the base"
        ),
    ),
    "META-GeometricHedge": Bound(_closed, partial(_sources, True, "d", "256")),
    "META-GeometricHedge-unbounded": Bound(_unbounded, partial(_sources, True, "d", "256")),
    "META-Exp3P-schedule": phased(
        _rounds, _gap, partial(_sources, False, "K", "62"), "2^(-(m-1)/2) in phase m"
    ),
    "META-GeometricHedge-schedule": phased(_rounds, _gap, partial(_sources, False, "d", "256")),
    "META-GeometricHedge-unbounded-schedule": phased(
        _rounds, _gap, partial(_sources, False, "d", "256")
    ),
}
