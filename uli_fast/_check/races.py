"""Checks of races: who takes part, on what, and how much of it fits into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from uli_fast._check.arms import new_arms
from uli_fast._check.numbers import positive
from uli_fast._check.words import LONGEST_REASON, key, shown
from uli_fast.errors import ArgumentError

MOST_CANDIDATES, MOST_INSTANCES = 1000, 10**8  # of a race: every pair has its wealth
MOST_SCORES = 2 * 10**8  # of a race: tables of them, 3.8 GB


def candidates(name: str, value: Any) -> dict[str, Any]:
    """Return what takes part in a race, by name: two or more."""
    listed = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif listed and all(isinstance(x, str) for x in value):
        pairs = [(str(x), str(x)) for x in value]
    elif listed and all(isinstance(x, tuple) and len(x) == 2 for x in value):
        pairs = [tuple(x) for x in value]
    else:
        raise ArgumentError(
            name,
            "must be a mapping from names to candidates, a list of (name, candidate), or a list "
            f"of texts that are their own names; got {shown(value)}",
        )
    named = {key(name, label, LONGEST_REASON): candidate for label, candidate in pairs}
    if len(named) < len(pairs):
        labels = [label for label, _ in pairs]
        twice = next(x for i, x in enumerate(labels) if x in labels[:i])
        raise ArgumentError(name, f"must have distinct names, got {twice!r} twice")
    new_arms(name, list(named))
    if not 2 <= len(named) <= MOST_CANDIDATES:
        raise ArgumentError(name, f"must be 2 to {MOST_CANDIDATES}, got {len(named)}")
    return named


def instances(name: str, value: Any) -> Sequence[Any]:
    """Return the instances of a race: anything with a length whose items can be taken by number."""
    if isinstance(value, str | bytes | Mapping | set | frozenset):
        raise ArgumentError(name, f"must be a list of instances, got {shown(value)}")
    if hasattr(value, "iloc"):  # iterating would give the names of the columns
        raise ArgumentError(name, "must be a list of rows: frame.to_dict('records')")
    if isinstance(value, np.ndarray) and value.ndim == 0:
        raise ArgumentError(name, f"must be a list of instances, got {shown(value)}")
    if not isinstance(value, Sequence | np.ndarray):
        try:
            value = list(value)
        except TypeError:
            said = f"must be a list of instances, got {shown(value)}"
            raise ArgumentError(name, said) from None
    if not 1 <= len(value) <= MOST_INSTANCES:
        raise ArgumentError(name, f"must be 1 to {MOST_INSTANCES}, got {len(value)}")
    return cast("Sequence[Any]", value)


def race_size(name: str, instances: int, candidates: int) -> None:
    """Refuse a race whose tables of scores would not fit into memory."""
    most = MOST_SCORES // candidates
    if instances > most:
        raise ArgumentError(
            name, f"must be at most {most} for {candidates} candidates, got {instances}"
        )


def part_of_range(name: str, value: Any, low: float, high: float) -> float:
    """Return a positive difference of scores that some scores exceed."""
    result = positive(name, value)
    if result >= high - low:
        raise ArgumentError(
            name,
            f"must be below {high - low:g}, the most by which scores can differ; got {value!r}",
        )
    return result
