"""What phases share: how they divide delta among them."""

from __future__ import annotations


def share(delta: float, m: float) -> float:
    """Return delta_m = delta / (2 m^2), the share of phase m: they add up to less than delta."""
    return delta / (2.0 * m**2)
