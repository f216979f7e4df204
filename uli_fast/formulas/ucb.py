"""The level of UCB's bonus (Eq. select_arm_opt_alg)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def level_of(delta: float) -> float:
    """Return log(2 / delta)."""
    return math.log(2.0) - math.log(delta)


def level_at(t: Any, level: float) -> Any:
    """Return log(2 t^2 / delta), the level being log(2 / delta): t^2 would overflow."""
    return level + 2.0 * np.log(t)
