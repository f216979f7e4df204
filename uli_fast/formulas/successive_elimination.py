"""The width of the intervals of SE-MAB (Eq. width)."""

from __future__ import annotations

from typing import Any

import numpy as np


def level_of(K: float, delta: float) -> float:
    """Return log(4 K / delta), split because the fraction overflows."""
    return float(np.log(4.0 * K) - np.log(delta))


def width_at(n: Any, level: float, R: float) -> Any:
    """Return wd(n), the level being log(4 K / delta); n^2 would overflow in its logarithm."""
    return R * np.sqrt(2.0 * (level + 2.0 * np.log(n)) / n)


def width(n: Any, K: float, delta: float, R: float) -> Any:
    """Return wd(n) = R sqrt(2 log(4 K n^2 / delta) / n)."""
    return width_at(n, level_of(K, delta), R)
