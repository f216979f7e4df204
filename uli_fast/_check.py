"""Every argument check of the package.

Each function names the argument it refuses and returns the value in the form
that the rest of the package relies on.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, EngineError, HorizonTooLargeError, RewardRangeError

LARGEST_HORIZON = 10**18
LARGEST_NUMBER = 1e100  # its square is still a float
SMALLEST_SHARED = 1e-300
Labels: TypeAlias = tuple[int | str, ...]


def number(name: str, value: Any) -> float:
    """Return a finite float of reasonable size; text is not a number."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(name, f"must be a number, got {value!r}") from None
    except OverflowError:
        raise ArgumentError(name, f"is too large for a float, got {value!r}") from None
    if not math.isfinite(result):
        raise ArgumentError(name, f"must be finite, got {value!r}")
    if abs(result) > LARGEST_NUMBER:
        raise ArgumentError(name, f"is too large, got {value!r}")
    return result


def in_open_unit(name: str, value: Any) -> float:
    """Return a float strictly between 0 and 1."""
    result = number(name, value)
    if not 0.0 < result < 1.0:
        raise ArgumentError(name, f"must lie strictly between 0 and 1, got {value!r}")
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


def subgaussian(name: str, value: Any) -> float:
    """Return an R whose square keeps phase lengths within 64-bit counters."""
    result = positive(name, value)
    if not 1e-6 <= result <= 1e6:
        raise ArgumentError(name, f"must lie in [1e-06, 1e+06], got {value!r}; rescale the rewards")
    return result


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return a Python int of at least ``least``; 1e6 counts as whole, 1.5 does not."""
    try:
        result = operator.index(value)
    except TypeError:
        result = _whole_float(name, value)
    if isinstance(value, bool | np.bool_):
        raise ArgumentError(name, f"must be a whole number, got {value!r}")
    if result < least:
        raise ArgumentError(name, f"must be at least {least}, got {value!r}")
    return result


def _whole_float(name: str, value: Any) -> int:
    if not isinstance(value, float | np.floating):
        raise ArgumentError(name, f"must be a whole number, got {value!r}")
    if not math.isfinite(value) or value != math.floor(value):
        raise ArgumentError(name, f"must be a whole number, got {value!r}")
    return int(value)


def horizon(name: str, value: Any) -> int:
    """Return a number of rounds between 1 and 10**18."""
    result = whole(name, value)
    if result > LARGEST_HORIZON:
        raise HorizonTooLargeError(
            name, f"must be at most 10**18 (64-bit counters), got about 10**{len(str(result)) - 1}"
        )
    return result


def tuned_horizon(value: int | None, least: float, learner: str) -> None:
    """Refuse a missing horizon, or one too short for a learner that is tuned to it."""
    if value is None:
        raise ArgumentError("horizon", f"must be given: {learner} is tuned to it")
    if value <= least:
        raise ArgumentError("horizon", f"must exceed {least:.1f} for {learner} here, got {value}")


def has_features(name: str, features: F64, learner: str) -> None:
    """Refuse arms that are not vectors."""
    if features.shape[1] == 0:
        raise ArgumentError(
            name, f"{learner} needs arms that are vectors: a LinearBandit or a (K, d) array"
        )


def recorded_rounds(name: str, value: Iterable[Any] | None, last: int) -> I64:
    """Return sorted distinct rounds within 1..last; by default 100 log-spaced ones."""
    if value is None:
        spaced = {round(math.exp(x)) for x in np.linspace(0.0, math.log(last), 100)}
        rounds = {min(max(r, 1), last) for r in spaced} | {1, last}
    else:
        try:
            rounds = {whole(name, r) for r in value}
        except TypeError:
            raise ArgumentError(
                name, f"must be a sequence of whole numbers, got {value!r}"
            ) from None
        if not rounds:
            raise ArgumentError(name, "must hold at least one round")
        if max(rounds) > last:
            raise ArgumentError(name, f"must not lie beyond the horizon, got {max(rounds)}")
    return np.array(sorted(rounds), dtype=np.int64)


def one_of(name: str, value: Any, options: Sequence[str]) -> str:
    """Return a word out of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise ArgumentError(name, f"must be one of {', '.join(options)}; got {value!r}")
    return value


def engine(value: Any, available: Sequence[str], why_not: str) -> str:
    """Return an engine that exists and is available here."""
    known = ("auto", "skip", "rounds")
    if value not in known:
        raise EngineError("engine", f"must be one of {', '.join(known)}; got {value!r}")
    if value == "auto":
        return available[0]
    if value not in available:
        raise EngineError("engine", f"{value!r} is not available: {why_not}")
    return str(value)


def vector(name: str, value: Any) -> F64:
    """Return a non-empty, finite, one-dimensional float array (a copy)."""
    result = _floats(name, value)
    if result.ndim != 1:
        raise ArgumentError(name, f"must be one-dimensional, got shape {result.shape}")
    if result.size == 0:
        raise ArgumentError(name, "must not be empty")
    return result


def matrix(name: str, value: Any) -> F64:
    """Return a non-empty, finite, two-dimensional float array (a copy)."""
    result = _floats(name, value)
    if result.ndim != 2:
        raise ArgumentError(name, f"must be two-dimensional, got shape {result.shape}")
    if result.size == 0:
        raise ArgumentError(name, f"must not be empty, got shape {result.shape}")
    return result


def vectors(name: str, value: Any) -> F64:
    """Return arms that are vectors, (K, d); an empty (0, 0) array if the value is none."""
    try:
        flat = np.ndim(value) != 2
    except ValueError:  # ragged
        raise ArgumentError(name, "must have rows of equal length") from None
    return np.zeros((0, 0)) if flat else matrix(name, value)


def _floats(name: str, value: Any) -> F64:
    try:
        if np.iscomplexobj(value) or np.asarray(value).dtype.kind in "US":
            raise TypeError
        result = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(
            name, f"must be an array of numbers, got {type(value).__name__}"
        ) from None
    if not np.isfinite(result).all():
        raise ArgumentError(name, "must be finite (no NaN, no infinity)")
    if np.abs(result).max(initial=0.0) > LARGEST_NUMBER:
        raise ArgumentError(name, "holds a number that is too large")
    return result


def inner_products(name: str, theta: F64, arms: F64, largest: float = LARGEST_NUMBER) -> F64:
    """Return <theta, a> for every arm, at most ``largest`` in size; rounding is forgiven."""
    same_length(name, theta, arms.shape[1])
    result: F64 = (arms * theta).sum(axis=1)  # equal arms get equal values, as BLAS does not
    worst = float(result[np.abs(result).argmax()])
    if abs(worst) > largest * (1.0 + 1e-12):
        raise ArgumentError(
            name, f"<theta, a> must lie in [-{largest:g}, {largest:g}] for every arm, got {worst!r}"
        )
    return np.clip(result, -largest, largest)


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


def interval(low: Any, high: Any) -> tuple[float, float]:
    """Return a finite range with low < high."""
    lo, hi = number("low", low), number("high", high)
    if not lo < hi:
        raise ArgumentError("high", f"must be above low = {lo:g}, got {hi:g}")
    return lo, hi


def reward_range(low: Any, high: Any) -> tuple[float, float]:
    """Return a reward range: finite with low < high, or infinite on both sides."""
    if low == -math.inf and high == math.inf:
        return -math.inf, math.inf
    return interval(low, high)


def reward(value: Any, low: float, high: float) -> float:
    """Return a reward inside the declared range."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError):
        raise RewardRangeError("reward", f"must be a number, got {value!r}") from None
    if not math.isfinite(result) or not low <= result <= high:
        raise RewardRangeError("reward", f"must lie in [{low:g}, {high:g}], got {value!r}")
    return result


def arm_names(name: str, value: Sequence[Any] | None, size: int) -> tuple[str, ...]:
    """Return distinct arm names; by default "0", "1", ..."""
    if value is None:
        return tuple(str(a) for a in range(size))
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if not listed or not all(isinstance(x, str) for x in value):
        raise ArgumentError(name, f"must be a sequence of strings, got {value!r}")
    same_length(name, value, size)
    if len(set(value)) != size:
        raise ArgumentError(name, "must be distinct")
    return tuple(value)


def arms(name: str, value: Any) -> Labels:
    """Return the labels of arms: 0, 1, ... for a number, else the distinct names given."""
    if isinstance(value, str):
        raise ArgumentError(name, f"must be a number of arms or a list of names, got {value!r}")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence):
        if not value:
            raise ArgumentError(name, "must hold at least one arm")
        return arm_names(name, value, len(value))
    return tuple(range(whole(name, value)))


def seed(name: str, value: Any) -> int:
    """Return the entropy of a seed: a whole number, or fresh entropy for None."""
    if value is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    return whole(name, value, least=0)


def unused(given_seed: Any, given_horizon: Any) -> None:
    """Check a seed and a horizon that a learner takes and does not need."""
    if given_horizon is not None:
        horizon("horizon", given_horizon)
    if given_seed is not None:
        seed("seed", given_seed)


def jobs(name: str, value: Any) -> int:
    """Return a number of threads; -1 means one per core."""
    if value == -1:
        import os

        return os.cpu_count() or 1
    return whole(name, value)
