"""How far boxes reach: they hold the p with n kl(p_hat, p) <= log(2 sqrt(n) M / (0.9 delta))."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# Shares of delta: for boxes, and for visits that stay behind their expectation.
BOXES, VISITS = 0.9, 0.1


def level_of(entries: float, delta: float) -> float:
    """Return log(2 M / (0.9 delta)) for M unknown entries."""
    return math.log(2.0 * max(1.0, entries) / BOXES) - math.log(delta)


def level_at(n: Any, level: float) -> Any:
    """Return Lambda(n) = log(2 sqrt(n) M / (0.9 delta)) after n visits."""
    return level + 0.5 * np.log(n)
