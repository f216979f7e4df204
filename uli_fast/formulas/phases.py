"""What phases share: how they divide delta among them, and how they are rounded."""

from __future__ import annotations

import math

# Rounding lengthens no phase by more than this factor, whichever way it went.
ROUNDED_UP = 1.0 + 1e-12


def share(delta: float, m: float) -> float:
    """Return delta_m = delta / (2 m^2), the share of phase m: they add up to less than delta."""
    return delta / (2.0 * m**2)


def rounded_up(x: float) -> int:
    """Return a whole number that is not below x, however x was rounded."""
    return math.ceil(x * ROUNDED_UP)
