"""F of PE-linear: the paper's closed form, its phases, and the blocks of the sharp schedule."""

from __future__ import annotations

import math

import numpy as np

from uli_fast._typing import F64
from uli_fast.formulas.linear_elimination import log_log, phase_size
from uli_fast.formulas.phases import rounded_up
from uli_fast.guarantees import linear_blocks
from uli_fast.guarantees.bounds import Bound, Constant, Parameters, Steps, phased, stepped


def _closed(t: F64, delta: float, p: Parameters) -> F64:
    log_term = math.log(4.0 * p["K"]) - math.log(delta) + 2.0 * np.log(np.log2(t + 1.0))
    floor = log_log(p["d"]) + 4.0
    return np.sqrt(2048.0 * p["d"] * np.maximum(p["R"] ** 2 * log_term, floor) / (3.0 * t))


def _rounds(phase: int, delta: float, p: Parameters) -> int:
    """Return ceil(m_l) + s - 1: what s quotas that add up to m_l are, each rounded up."""
    size = phase_size(phase, int(p["K"]), int(p["d"]), delta, p["R"])
    return rounded_up(size) + int(p["support"]) - 1


BOUNDS = {
    "PE-linear": Bound(
        _closed,
        (
            Constant(
                "2048 / 3", 2048.0 / 3.0, "Lemma PE_linear_FULI with 2048 for 512 (docs/errata.md)"
            ),
            Constant("loglog d + 4", 4.0, "quotas are rounded up: at most 4 d loglog d + 16 arms"),
        ),
        formula=(
            "in closed form "
            "sqrt(2048 d max(R^2 log(4 K log2(t + 1)^2 / delta), loglog d + 4) / (3 t))"
        ),
    ),
    "PE-linear-schedule": phased(
        _rounds,
        lambda phase, _, p: 8.0 * 2.0**-phase,
        (
            Constant("8 2^-l", 8.0, "survivors of phase l - 1: 2^(2-l) and two errors of 2^(1-l)"),
            Constant("4 d", 4.0, "phases of ceil(m_l) + s - 1 rounds, s arms of a design at most"),
        ),
        'with schedule="paper" 8 2^-l in phase l',
    ),
    "PE-linear-sharp": stepped(
        lambda delta, p: Steps(*linear_blocks.table(delta, p)),
        (
            Constant(
                "2 c(J) / J", 2.0, "a survivor and the best arm are off by less than c(J) each"
            ),
            Constant(
                "4 (1.02 (k + 1) - 1)", 4.0, "J >= M / that: leverages of pairs, affine designs"
            ),
            Constant(
                "1/10", 0.1, "blocks have a tenth of the plays before (docs/proofs_linear.md)"
            ),
        ),
        "2 c(J) / J after blocks worth J, of order R sqrt(k log(K / delta) / t)",
    ),
}
