"""Checks of arrays of numbers: their shape, their range, rows that differ in length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uli_fast._check.numbers import LARGEST_NUMBER
from uli_fast._typing import F64
from uli_fast.errors import ArgumentError

MOST_AXES, MOST_ROWS = 32, 10**7  # of nested lists that are searched
NOT_STOCHASTIC = 1e-9  # how far from 1 a sum of probabilities may be


def vector(name: str, value: Any) -> F64:
    """Return a non-empty, finite, one-dimensional float array (a copy)."""
    result = floats(name, value)
    if result.ndim != 1:
        raise ArgumentError(name, f"must be one-dimensional, got shape {result.shape}")
    if result.size == 0:
        raise ArgumentError(name, "must not be empty")
    return result


def matrix(name: str, value: Any, copy: bool = True, if_ragged: str = "") -> F64:
    """Return a non-empty, finite, two-dimensional float array, a copy unless told otherwise.

    ``if_ragged`` says what to do about rows of different lengths.
    """
    result = floats(name, value, copy, if_ragged)
    if result.ndim != 2:
        raise ArgumentError(name, f"must be two-dimensional, got shape {result.shape}")
    if result.size == 0:
        raise ArgumentError(name, f"must not be empty, got shape {result.shape}")
    return result


def vectors(name: str, value: Any) -> F64:
    """Return arms that are vectors, (K, d); an empty (0, 0) array if they are not vectors."""
    try:
        flat = np.ndim(value) != 2
    except ValueError:
        raise ArgumentError(name, ragged(value) or "must have rows of equal length") from None
    except Exception:  # whatever an object raises when asked for its values
        raise ArgumentError(name, f"must be arms, got {type(value).__name__}") from None
    return np.zeros((0, 0)) if flat else matrix(name, value)


def ragged(value: Any, advice: str = "") -> str:
    """Say which rows of nested lists differ in length; an empty text if none do."""
    rows = [value.tolist() if type(value) is np.ndarray and value.dtype == object else value]
    for _ in range(MOST_AXES):  # a list may hold itself
        nested = [_is_row(row) for row in rows]
        if not all(nested) or not rows:
            return "must be numbers or rows of numbers, not some of each" if any(nested) else ""
        sizes = [len(row) for row in rows]
        if len(set(sizes)) > 1:
            odd = next(i for i, size in enumerate(sizes) if size != sizes[0])
            return (
                "must have rows of equal length: "
                f"row 0 has length {sizes[0]}, row {odd} has length {sizes[odd]}{advice}"
            )
        if sum(sizes) > MOST_ROWS:
            return ""
        rows = [inner for row in rows for inner in row]
    return ""


def _is_row(value: Any) -> bool:
    return type(value) in (list, tuple) or (type(value) is np.ndarray and value.ndim > 0)


def floats(name: str, value: Any, copy: bool = True, if_ragged: str = "") -> F64:
    try:
        if isinstance(value, bytes | bytearray) or np.iscomplexobj(value):
            raise TypeError
        if np.asarray(value).dtype.kind in "US":
            raise TypeError
        result = np.array(value, dtype=np.float64, copy=copy or None)
    except Exception:  # whatever an object raises when asked for its values
        uneven = ragged(value, f"; {if_ragged}" if if_ragged else "")
        raise ArgumentError(
            name, uneven or f"must be an array of numbers, got {type(value).__name__}"
        ) from None
    # extremes of NaN are NaN; temporary arrays would take longer than the rest of a design
    low, high = result.min(initial=0.0), result.max(initial=0.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ArgumentError(name, "must be finite (no NaN, no infinity)")
    if max(-low, high) > LARGEST_NUMBER:
        raise ArgumentError(name, "holds a number that is too large")
    return result


def same_length(name: str, value: Sequence[Any] | F64, size: int) -> None:
    """Refuse a sequence whose length is not ``size``."""
    if len(value) != size:
        raise ArgumentError(name, f"must have length {size}, got {len(value)}")


def within(name: str, value: F64, low: float, high: float) -> None:
    """Refuse an array that leaves [low, high]."""
    outside = (value < low) | (value > high)
    if outside.any():
        raise ArgumentError(
            name, f"must lie in [{low:g}, {high:g}], got {float(value[outside][0])!r}"
        )


def inner_products(name: str, theta: F64, arms: F64, largest: float = LARGEST_NUMBER) -> F64:
    """Return <theta, a> for every arm, at most ``largest`` in size, up to rounding."""
    same_length(name, theta, arms.shape[1])
    result: F64 = (arms * theta).sum(axis=1)  # equal arms, equal values; not so with BLAS
    worst = float(result[np.abs(result).argmax()])
    if abs(worst) > largest * (1.0 + 1e-12):
        raise ArgumentError(
            name, f"<theta, a> must lie in [-{largest:g}, {largest:g}] for every arm, got {worst!r}"
        )
    return np.clip(result, -largest, largest)


def stochastic(name: str, value: F64) -> F64:
    """Return probabilities whose rows (the last axis) sum to 1; errors up to 1e-9 are corrected."""
    least, sums = value.min(axis=-1), value.sum(axis=-1)
    for wrong, problem, got in (
        (least < 0.0, "must not be negative", least),
        (np.abs(sums - 1.0) > NOT_STOCHASTIC, "must sum to 1 within 1e-9", sums),
    ):
        if wrong.any():
            row = tuple(int(i) for i in np.argwhere(wrong)[0])
            where = f"row {list(row)} " if row else ""
            raise ArgumentError(name, f"{where}{problem}, got {float(got[row])!r}")
    return np.asarray(value / sums[..., None])
