"""Checks of arms: how many, their names, their vectors, and logs of what they gave."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from uli_fast._check.arrays import floats, same_length
from uli_fast._check.numbers import whole
from uli_fast._check.rewards import reward
from uli_fast._check.words import LONGEST_REASON, key
from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, RewardRangeError

MOST_ARMS = 10**8
FEW_ROWS = 32  # checked one by one: arrays are slower
Labels: TypeAlias = tuple[int | str, ...]


def labels(name: str, value: Any) -> Labels:
    """Return the labels of arms: 0, 1, ... for a number, else the distinct names given."""
    if isinstance(value, str):
        raise ArgumentError(name, f"must be a number of arms or a list of names, got {value!r}")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence):
        if not value:
            raise ArgumentError(name, "must hold at least one arm")
        return arm_names(name, value, len(value))
    return tuple(range(whole(name, value, most=MOST_ARMS)))


def arm_names(name: str, value: Sequence[Any], size: int) -> tuple[str, ...]:
    """Return distinct arm names."""
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if not listed or not all(isinstance(x, str) for x in value):
        raise ArgumentError(name, f"must be a sequence of strings, got {value!r}")
    same_length(name, value, size)
    if len(set(value)) != size:
        raise ArgumentError(name, "must be distinct")
    return tuple(value)


def new_arms(name: str, value: Any) -> None:
    """Refuse names of arms that nobody could read in a table."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        for label in value:
            if isinstance(label, str) and not key(name, label, LONGEST_REASON).strip():
                raise ArgumentError(name, f"must not have a blank name, got {label!r}")


def has_features(name: str, features: F64, learner: str) -> None:
    """Refuse arms that are not vectors."""
    if features.shape[1] == 0:
        raise ArgumentError(
            name, f"{learner} needs arms that are vectors: a LinearBandit or a (K, d) array"
        )


def hashable_labels(name: str, value: Any) -> tuple[Hashable, ...]:
    """Return distinct hashable labels of arms; None, NaN and infinity are refused."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not value:
        raise ArgumentError(name, f"must be a list of arms, at least one, got {value!r}")
    for label in value:
        if not isinstance(label, Hashable):
            raise ArgumentError(name, f"must be hashable, got {label!r}")
        if label is None or (isinstance(label, float) and not math.isfinite(label)):
            raise ArgumentError(name, f"must not be None, NaN or infinite, got {label!r}")
    if len(set(value)) != len(value):
        raise ArgumentError(name, "must be distinct")
    return tuple(value)


def context_rows(name: str, value: Any) -> int:
    """Return how many rows of contexts are given, 1 for None."""
    if value is None:
        return 1
    if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
        raise ArgumentError(name, f"must be two-dimensional, got {value!r}")
    shape = np.shape(value)
    if len(shape) not in (1, 2) or shape[0] == 0:
        raise ArgumentError(name, f"must have at least one row, got shape {shape}")
    return int(shape[0])


def log_rows(
    decisions: Any, rewards: Any, numbers: Mapping[Hashable, int], low: float, high: float
) -> tuple[I64, F64]:
    """Return the arms' numbers and the rewards of logged decisions, all of them checked."""
    columns = []
    for name, value in (("decisions", decisions), ("rewards", rewards)):
        if hasattr(value, "tolist"):  # an array, a pandas Series
            value = value.tolist()
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray):
            raise ArgumentError(name, f"must be a list or a one-dimensional array, got {value!r}")
        columns.append(value)
    same_length("rewards", columns[1], len(columns[0]))
    try:
        arms = [numbers[label] for label in columns[0]]
    except (KeyError, TypeError) as unknown:  # not an arm, or not even hashable
        raise ArgumentError("decisions", f"must be arms: {unknown}") from None
    if len(arms) <= FEW_ROWS:
        few = [reward(value, low, high, "rewards") for value in columns[1]]
        return np.array(arms, np.int64), np.array(few, np.float64)
    values = floats("rewards", columns[1])
    same_length("rewards", values.shape, 1)
    outside = (values < low) | (values > high)
    if outside.any():
        raise RewardRangeError(
            "rewards", f"must lie in [{low:g}, {high:g}], got {float(values[outside][0])!r}"
        )
    return np.array(arms, np.int64), values
