"""F of spanner elimination: the paper's closed form and phases, and the sharp schedule's."""

from __future__ import annotations

import math

import numpy as np

from uli_fast._typing import F64
from uli_fast.formulas.phases import rounded_up
from uli_fast.formulas.spanner_elimination import phase_size
from uli_fast.guarantees.bounds import Bound, Constant, Parameters, phased
from uli_fast.guarantees.spanner_blocks import SpannerSize, accuracy


def _closed(t: F64, delta: float, p: Parameters) -> F64:
    log_term = math.log(4.0) + 3.0 * math.log(p["d"]) + 2.0 * np.log(t + 1.0) - math.log(delta)
    factor = 32768.0 * p["C"] ** 4 * p["d"] ** 3 / 3.0
    return max(1.0, p["R"]) * np.sqrt(factor * log_term / t)


def _rounds(m: int, delta: float, p: Parameters) -> int:
    """Return d ceil(T_m / d): a spanner has at most d arms."""
    d = int(p["d"])
    return d * rounded_up(phase_size(m, d, p["C"], delta, p["R"]) / d)


def _sharp_rounds(m: int, delta: float, p: Parameters) -> int:
    """Return d times the most plays of a column."""
    d = int(p["d"])
    return d * SpannerSize(m, d, p["C"], delta, p["R"]).most


BOUNDS = {
    "PE-spanner": Bound(
        _closed,
        (
            Constant(
                "32768 C^4 d^3 / 3", 32768.0 / 3.0, "Theorem ULI_PE_infinite (docs/errata.md)"
            ),
            Constant("max(1, R)", 1.0, "phases are max(1, R^2) times as long"),
        ),
        formula="in closed form sqrt(32768 C^4 d^3 log(4 d^3 (t + 1)^2 / delta) / (3 t))",
    ),
    "PE-spanner-schedule": phased(
        _rounds,
        lambda phase, _, p: 4.0 * 2.0**-phase,
        (
            Constant("4 2^-m", 4.0, "arms of phase m: 2^(1-m) and two errors of 2^-m"),
            Constant("256 C^4", 256.0, "phases of d ceil(T_m / d) rounds, Theorem ULI_PE_infinite"),
        ),
        'with schedule="paper" 4 2^-m in phase m',
    ),
    "PE-spanner-sharp": phased(
        _sharp_rounds,
        lambda phase, _, p: 2.0 * accuracy(phase - 1),
        (
            Constant("2 .6^(m-1)", 2.0, "arms of phase m: .6^(m-1), and errors of at most that"),
            Constant(
                "Q(2 C, L_m)^2", 1.0, "d ceil((R Q / (.95 .6^m))^2) rounds (docs/proofs_sets.md)"
            ),
            Constant("L_m", 1.0, "log(m (m + 1) / delta): shares of delta add up to it"),
        ),
        "2 .6^(m-1) in phase m",
    ),
}
