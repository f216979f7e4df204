"""Checks of rewards: their range, what is known about their noise, and single rewards."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from uli_fast._check.numbers import as_float, interval, positive
from uli_fast._check.words import shown
from uli_fast.errors import ArgumentError, RewardRangeError

Bounds: TypeAlias = tuple[float | None, float | None]  # of rewards; None or infinite: unbounded


def reward_range(low: Any, high: Any) -> tuple[float, float]:
    """Return a reward range: finite with low < high, or infinite on both sides."""
    if low == -math.inf and high == math.inf:
        return -math.inf, math.inf
    if low == -math.inf or high == math.inf:
        raise ArgumentError(
            "high" if high == math.inf else "low",
            "must be finite, or low=-inf and high=inf for rewards without a range",
        )
    return interval(low, high)


def width(bounds: Bounds) -> float | None:
    """Return how wide a declared range is, None where there is none."""
    low, high = bounds
    return None if low is None or high is None or math.isinf(high - low) else high - low


def reward(value: Any, low: float, high: float, name: str = "reward") -> float:
    """Return a reward inside the declared range."""
    try:
        result = as_float(value)
    except Exception:  # whatever an object raises when asked for its value
        raise RewardRangeError(name, f"must be a number, got {shown(value)}") from None
    if not math.isfinite(result) or not low <= result <= high:
        raise RewardRangeError(name, f"must lie in [{low:g}, {high:g}], got {value!r}")
    return result


def subgaussian(name: str, value: Any) -> float:
    """Return an R whose square keeps phase lengths within 64-bit counters."""
    result = positive(name, value)
    if not 1e-6 <= result <= 1e6:
        raise ArgumentError(name, f"must lie in [1e-06, 1e+06], got {value!r}; rescale the rewards")
    return result


def optional_noise(name: str, value: Any) -> float | None:
    """Return a positive R, or None where the range of the rewards decides it."""
    return None if value is None else positive(name, value)


def noise(R: float | None, bounds: Bounds, own: float | None = None) -> float:
    """Return R in reward units: as given, or half the declared range.

    Without a range it must be given; ``own`` is the R that a problem's rewards are known to have.
    """
    range_ = width(bounds)
    if R is not None:
        return R
    if range_ is not None:
        return range_ / 2.0
    hint = "" if own is None else f"; this problem's own is R={own:g}"
    raise ArgumentError(
        "R",
        "must be given to the learner where rewards have no declared range: "
        f"they are R-subgaussian, in reward units{hint}",
    )


def unit_noise(R: float | None, bounds: Bounds, own: float | None = None) -> float:
    """Return R on the scale of learners on K arms: rewards in a range are mapped to [0, 1]."""
    range_ = width(bounds)
    if R is None and range_ is not None:
        return 0.5  # half the range
    scale = range_ or 1.0
    unit = noise(R, bounds, own) / scale
    if not 1e-6 <= unit <= 1e6:
        raise ArgumentError(
            "R", f"must lie in [{1e-6 * scale:g}, {1e6 * scale:g}], in reward units, got {R!r}"
        )
    return unit
