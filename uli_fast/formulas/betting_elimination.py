"""Looks of elimination by betting, its thresholds, and how far sums may drift by then."""

from __future__ import annotations

import math

from uli_fast.formulas.mixture import LOG_2

# The shares of delta: of elimination, and of the intervals of single arms.
ELIMINATION = 0.9
INTERVALS = 1.0 - ELIMINATION


def next_look(n: int) -> int:
    """Return the sweep of the look after that of sweep n: floor(1.02 n), at least n + 1."""
    return n + max(1, n // 50)


def log_threshold(K: int, delta: float) -> float:
    """Return log((K - 1) / delta), what a bettor must make of her money; -inf for one arm."""
    return math.log(K - 1) - math.log(delta) if K > 1 else -math.inf


def log_interval(intervals: int, delta: float) -> float:
    """Return the log of the wealth that refutes a mean, where so many intervals share delta."""
    return math.log(intervals) - math.log(INTERVALS) - math.log(delta)


def sharpest_variance(R: float) -> float:
    """Return rho, the v at which the mixture is sharpest: that of gaps of a tenth of 2 R."""
    return 100.0 * R * R


def mixture_level(threshold: float, shared: bool) -> float:
    """Return what the mixture must reach: twice as much where bets have the other half."""
    return threshold + (LOG_2 if shared else 0.0)
