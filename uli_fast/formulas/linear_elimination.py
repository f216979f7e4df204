"""How long the phases of PE-linear are, and how many arms its designs have."""

from __future__ import annotations

import math


def log_log(d: float) -> float:
    """Return log log max(d, e)."""
    return math.log(math.log(max(float(d), math.e)))


def largest_support(d: int) -> int:
    """Return 4 d loglog d + 16, which no design of phased elimination on vectors exceeds."""
    return math.floor(4.0 * d * log_log(d) + 16.0)


def phase_size(phase: int, K: int, d: int, delta: float, R: float) -> float:
    """Return m_l = 4 d 4^l max(R^2 log(4 K l^2 / delta), loglog d + 4)."""
    log_term = math.log(4.0 * K) - math.log(delta) + 2.0 * math.log(phase)
    return 4.0 * d * 4.0 ** min(phase, 400) * max(R * R * log_term, log_log(d) + 4.0)
