"""Checks of single numbers: finite floats, whole numbers, seeds, spans of time."""

from __future__ import annotations

import math
import operator
from datetime import timedelta
from typing import Any

import numpy as np

from uli_fast._check.words import shown
from uli_fast.errors import ArgumentError, HorizonTooLargeError

LARGEST_NUMBER = 1e100  # its square is still a float
SMALLEST_SHARED = 1e-300
LARGEST_HORIZON = 10**18
MOST_DIMENSIONS = 10**5
LONGEST_WAIT = 1e10  # seconds, about 300 years


def as_float(value: Any) -> float:
    """Return a number as a float; text and bytes, which Python would parse, are a TypeError."""
    kind = type(value)
    if not (hasattr(kind, "__float__") or hasattr(kind, "__index__")):
        raise TypeError  # text, bytes, bytearray and everything else that float() would parse
    if getattr(getattr(value, "dtype", None), "kind", "f") in "SU":
        raise TypeError  # an array of text
    return float(value)


def number(name: str, value: Any) -> float:
    """Return a finite float of reasonable size; text is not a number."""
    try:
        result: float = value if type(value) is float else as_float(value)
    except OverflowError:
        raise ArgumentError(name, f"is too large for a float, got {shown(value)}") from None
    except Exception:  # whatever an object raises when asked for its value
        raise ArgumentError(name, f"must be a number, got {shown(value)}") from None
    if not math.isfinite(result):
        raise ArgumentError(name, f"must be finite, got {value!r}")
    if abs(result) > LARGEST_NUMBER:
        raise ArgumentError(name, f"is too large, got {value!r}")
    return result


def inside(name: str, value: Any, low: float, high: float) -> float:
    """Return a float strictly between low and high; True is not a number."""
    if isinstance(value, bool | np.bool_):
        raise ArgumentError(name, f"must be a number, got {value!r}")
    result = number(name, value)
    if not low < result < high:
        raise ArgumentError(
            name, f"must lie strictly between {low:g} and {high:g}, got {shown(value)}"
        )
    return result


def in_open_unit(name: str, value: Any) -> float:
    """Return a float strictly between 0 and 1."""
    return inside(name, value, 0.0, 1.0)


def probability(name: str, value: Any) -> float:
    """Return a float above 0 and at most 1."""
    result = number(name, value)
    if not 0.0 < result <= 1.0:
        raise ArgumentError(name, f"must be above 0 and at most 1, got {shown(value)}")
    return result


def shared_probability(name: str, value: Any) -> float:
    """Return a float strictly between 0 and 1 whose shares among phases are still floats."""
    result = in_open_unit(name, value)
    if result < SMALLEST_SHARED:
        raise ArgumentError(name, f"must be at least {SMALLEST_SHARED:g}, got {value!r}")
    return result


def positive(name: str, value: Any) -> float:
    """Return a float above 0."""
    result = number(name, value)
    if result <= 0.0:
        raise ArgumentError(name, f"must be positive, got {value!r}")
    return result


def interval(low: Any, high: Any) -> tuple[float, float]:
    """Return a finite range with low < high."""
    lo, hi = number("low", low), number("high", high)
    if not lo < hi:
        raise ArgumentError("high", f"must be above low = {lo:g}, got {hi:g}")
    return lo, hi


def seconds(name: str, value: Any) -> float:
    """Return a time span in seconds, from a number of them or a timedelta."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    try:
        result = inside(name, value, -math.inf, math.inf)
    except ArgumentError:
        raise ArgumentError(name, f"must be seconds or a timedelta, got {shown(value)}") from None
    if result < 0.0:
        raise ArgumentError(name, f"must not be negative, got {value!r}")
    if result > LONGEST_WAIT:
        raise ArgumentError(name, f"must be at most {LONGEST_WAIT:g} seconds, got {value!r}")
    return result


def whole(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Return a Python int within bounds; 1e6 counts as whole, 1.5 does not."""
    try:
        result = operator.index(value)
    except TypeError:
        result = _whole_float(name, value)
    if isinstance(value, bool | np.bool_):
        raise ArgumentError(name, f"must be a whole number, got {value!r}")
    if result < least:
        raise ArgumentError(name, f"must be at least {least}, got {shown(value)}")
    if most is not None and result > most:
        raise ArgumentError(name, f"must be at most {most}, got {shown(value)}")
    return result


def _whole_float(name: str, value: Any) -> int:
    if not isinstance(value, float | np.floating):
        raise ArgumentError(name, f"must be a whole number, got {value!r}")
    if not math.isfinite(value) or value != math.floor(value):
        raise ArgumentError(name, f"must be a whole number, got {value!r}")
    return int(value)


def index(name: str, value: Any, size: int) -> int:
    """Return the number of an arm, a state or a stage, 0..size-1."""
    result = whole(name, value, least=0)
    if result >= size:
        raise ArgumentError(name, f"must lie in 0..{size - 1}, got {shown(value)}")
    return result


def dimension(name: str, value: Any) -> int:
    """Return a dimension whose matrices have a conceivable size."""
    return whole(name, value, most=MOST_DIMENSIONS)


def horizon(name: str, value: Any) -> int:
    """Return a number of rounds between 1 and 10**18."""
    result = whole(name, value)
    if result > LARGEST_HORIZON:
        size = round((result.bit_length() - 1) * math.log10(2.0))
        raise HorizonTooLargeError(
            name, f"must be at most 10**18 (64-bit counters), got about 10**{size}"
        )
    return result


def tuned_horizon(value: int | None, least: float, learner: str) -> None:
    """Refuse a missing horizon, or one too short for a learner that is tuned to it."""
    if value is None:
        raise ArgumentError("horizon", f"must be given: {learner} is tuned to it")
    if value <= least:
        raise ArgumentError("horizon", f"must exceed {least:.1f} for {learner} here, got {value}")


def seed(name: str, value: Any) -> int | None:
    """Return a seed, a whole number; None stands for fresh entropy."""
    return None if value is None else whole(name, value, least=0)


def unused(given_seed: Any, given_horizon: Any) -> None:
    """Check a seed and a horizon that a learner accepts but does not need."""
    if given_horizon is not None:
        horizon("horizon", given_horizon)
    seed("seed", given_seed)
