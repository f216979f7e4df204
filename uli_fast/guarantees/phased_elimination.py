"""F of PE-MAB: the paper's closed form, and its phases."""

from __future__ import annotations

import math

import numpy as np

from uli_fast._typing import F64
from uli_fast.formulas.phased_elimination import phase_size
from uli_fast.formulas.phases import rounded_up
from uli_fast.guarantees.bounds import Bound, Constant, Parameters, phased


def _closed(t: F64, delta: float, p: Parameters) -> F64:
    log_term = math.log(4.0 * p["K"]) - math.log(delta) + 2.0 * np.log(np.log2(t + 1.0))
    return np.sqrt(1024.0 * p["R"] ** 2 * p["K"] * log_term / (3.0 * t))


def _rounds(phase: int, delta: float, p: Parameters) -> int:
    """Return K m_l."""
    K = int(p["K"])
    return K * max(1, rounded_up(phase_size(phase, K, delta, p["R"])))


BOUNDS = {
    "PE-MAB": Bound(
        _closed,
        (
            Constant("1024 R^2 / 3", 1024.0 / 3.0, "Lemma PE_MAB_FULI (256/3 at R = 1/2)"),
            Constant("log2(t + 1)", 1.0, "Lemma PE_MAB_bound4ellt: phase l(t) <= log2(t + 1)"),
        ),
        formula="in closed form, for R = 1/2, sqrt(256 K log(4 K log2(t + 1)^2 / delta) / (3 t))",
    ),
    "PE-MAB-schedule": phased(
        _rounds,
        lambda phase, _, p: 4.0 * 2.0**-phase,
        (
            Constant("4 2^-l", 4.0, "survivors of phase l - 1: 2^-(l-1) and two errors of 2^-l"),
            Constant("8 R^2", 8.0, "phases of K ceil(8 R^2 4^l log(4 K l^2 / delta)) rounds"),
        ),
        "4 2^-l in phase l",
    ),
}
