"""How long the paper's phases of spanner elimination are."""

from __future__ import annotations

import math


def phase_size(m: int, d: int, C: float, delta: float, R: float) -> float:
    """Return T_m = 256 C^4 d^3 4^m log(d^3 4^m / delta) max(1, R^2)."""
    log_term = 3.0 * math.log(d) + m * math.log(4.0) - math.log(delta)
    size = 256.0 * C**4 * float(d) ** 3 * 4.0 ** min(m, 400) * log_term
    return size * max(1.0, R * R)
