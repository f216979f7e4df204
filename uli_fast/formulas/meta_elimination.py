"""Phases of elimination over an adversarial base, and the logarithm that its g has."""

from __future__ import annotations

import math


def log_term(K: int, delta: float) -> float:
    """Return log(10 K / delta), without overflow for a tiny delta."""
    return math.log(10.0 * K) - math.log(delta)


def phase_size(m: int, multiplier: float, g: float) -> float:
    """Return T_m = multiplier g_m 2^m before it is rounded up."""
    return multiplier * g * 2.0 ** min(m, 1000)  # 2^1024 is not a float


def phase_gap(m: int) -> float:
    """Return G(m) = 2^(-(m-1)/2), what no gap in phase m exceeds, in units of its losses."""
    return float(2.0 ** (-(m - 1) / 2.0))


def noise_bound(sigma: float, m: int, rounds: int, delta: float) -> float:
    """Return B_m = 2 (1 + h_m), h_m = sigma sqrt(2 log(4 m^2 T_m / delta))."""
    log = math.log(4.0) + 2.0 * math.log(m) + math.log(rounds) - math.log(delta)
    return 2.0 * (1.0 + sigma * math.sqrt(2.0 * log))
