"""F of SE-MAB: the paper's closed form, and what its widths say themselves."""

from __future__ import annotations

import numpy as np

from uli_fast._typing import F64
from uli_fast.formulas.successive_elimination import level_of, width
from uli_fast.guarantees.bounds import Bound, Constant, Parameters


def _closed(t: F64, delta: float, p: Parameters) -> F64:
    log_term = level_of(p["K"], delta) + 2.0 * np.log(t)
    if p["R"] == 0.5 and p["largest_gap"] <= 1.0:
        return np.sqrt(14.0 * p["K"] * log_term / t)
    return np.sqrt(p["K"] * (50.0 * p["R"] ** 2 * log_term + 2.0 * p["largest_gap"] ** 2) / t)


def _schedule(t: F64, delta: float, p: Parameters) -> F64:
    """Return 4 wd(floor((t - 1) / K)); before the first test a gap may have any size.

    That test comes after round K + 1: the first sweep only initialises.
    """
    plays = np.maximum(1.0, np.floor_divide(t - 1.0, p["K"]))
    bound: F64 = 4.0 * width(plays, p["K"], delta, p["R"])
    return np.where(t > p["K"] + 1.0, bound, np.maximum(bound, p["largest_gap"]))


def _above(t: F64, delta: float, p: Parameters) -> F64:
    """Return a smooth bound above, for integrals: floor((t - 1) / K) >= (t - K) / K."""
    plays = np.maximum(1.0, (t - p["K"]) / p["K"])
    bound: F64 = 4.0 * width(plays, p["K"], delta, p["R"])
    return bound


def _start(p: Parameters) -> tuple[int, int]:
    """Return K + 1, and 2 K: F is constant from there on while sweeps have a single play."""
    return int(p["K"]) + 1, 2 * int(p["K"])


BOUNDS = {
    "SE-MAB": Bound(
        _closed,
        (
            Constant("14 K", 14.0, "R = 1/2: Lemma upperbound_pull of the paper"),
            Constant(
                "50 R^2", 50.0, "R-subgaussian: gap < 5 wd(N - 1), so N - 1 < 50 R^2 log / gap^2"
            ),
            Constant("2 gap^2", 2.0, "t <= K (N + 1): the two extra sweeps"),
        ),
        formula="in closed form, for R = 1/2, sqrt(14 K log(4 K t^2 / delta) / t)",
    ),
    "SE-MAB-schedule": Bound(
        _schedule,
        (
            Constant("4 wd(n)", 4.0, "all arms in play have n = floor((t - 1) / K) plays or more"),
            Constant(
                "2 R^2", 2.0, "wd(n) = R sqrt(2 log(4 K n^2 / delta) / n), Lemma SE_concentration"
            ),
        ),
        smooth=_above,
        start=_start,
        formula="4 wd(n) after n sweeps",
    ),
}
