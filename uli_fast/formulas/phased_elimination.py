"""How long the phases of PE-MAB are."""

from __future__ import annotations

import math

import numpy as np

# Beyond every horizon, and still within int64 when added to a round.
LARGEST_QUOTA = 4e18


def phase_size(phase: int, K: int, delta: float, R: float) -> float:
    """Return 8 R^2 4^l log(4 K l^2 / delta): m_l before it is rounded up."""
    log_term = math.log(4.0 * K) - math.log(delta) + 2.0 * math.log(phase)
    return R * R * 2.0 ** (2 * phase + 3) * log_term


def quota(phase: int, K: int, delta: float, R: float) -> int:
    """Return the plays m_l of each survivor in phase l."""
    return int(min(max(np.ceil(phase_size(phase, K, delta, R)), 1.0), LARGEST_QUOTA))
