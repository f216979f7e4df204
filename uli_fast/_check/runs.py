"""Checks of what is simulated: how often, by which engine, recorded when, in which parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from uli_fast._check.numbers import positive, whole
from uli_fast._check.words import text
from uli_fast._typing import I64
from uli_fast.errors import ArgumentError, EngineError, MissingExtraError

MOST_REPLICATIONS = 10**9


def replications(name: str, value: Any) -> int:
    """Return a number of replications that arrays can count."""
    return whole(name, value, most=MOST_REPLICATIONS)


def engine(value: Any) -> None:
    """Refuse what is neither an engine nor "auto"."""
    known = ("auto", "skip", "rounds")
    if value not in known:
        raise EngineError("engine", f"must be one of {', '.join(known)}; got {value!r}")


def schedule(name: str, value: Any) -> str | tuple[float, float]:
    """Return "proved", "sharp", or a pair of positive constants (c1, c2)."""
    if isinstance(value, tuple | list) and len(value) == 2:
        c1, c2 = positive(name, value[0]), positive(name, value[1])
        if min(c1, c2) < 1e-12 or max(c1, c2) > 1e12:  # phases would be useless
            raise ArgumentError(name, f"constants must lie in [1e-12, 1e+12], got {value!r}")
        return c1, c2
    if not isinstance(value, str) or value not in ("proved", "sharp"):
        raise ArgumentError(name, f"must be 'proved', 'sharp' or a pair (c1, c2), got {value!r}")
    return value


def recorded_rounds(name: str, value: Iterable[Any], last: int) -> I64:
    """Return sorted distinct rounds within 1..last."""
    try:
        rounds = list(value)
        if not {int, np.int64}.issuperset(map(type, rounds)) or min(rounds, default=1) < 1:
            rounds = [whole(name, r) for r in rounds]
    except TypeError:
        raise ArgumentError(name, f"must be a sequence of whole numbers, got {value!r}") from None
    if not rounds:
        raise ArgumentError(name, "must hold at least one round")
    if max(rounds) > last:
        raise ArgumentError(name, f"must not lie beyond the horizon, got {max(rounds)}")
    return np.unique(np.array(rounds, dtype=np.int64))


def jobs(name: str, value: Any) -> int:
    """Return a number of threads; -1 stands for one per core."""
    return -1 if value == -1 else whole(name, value)


def shard(name: str, value: Any) -> tuple[int, int]:
    """Return the number of a shard and how many there are, from "2/8" or (2, 8)."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}/[0-9]{1,9}", value):
        value = [int(x) for x in value.split("/")]
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ArgumentError(name, f"must be like 2/8, the second of eight, got {value!r}")
    i, n = whole(name, value[0], 0), whole(name, value[1], most=MOST_REPLICATIONS)
    if not 1 <= i <= n:
        raise ArgumentError(name, f"must be from 1/{n} to {n}/{n}, got {i}/{n}")
    return i, n


def backend(name: str, value: Any) -> str | None:
    """Return a backend that joblib can start now, "ray", or None for joblib's own choice."""
    from joblib import parallel_config

    if value is None:
        return None
    if value == "ray":
        if find_spec("ray") is None:
            raise MissingExtraError("the backend ray needs Ray: pip install ray")
        return "ray"
    if value == "multiprocessing":
        raise ArgumentError(name, "multiprocessing forks, which may hang; use loky for processes")
    try:
        with parallel_config(text(name, value)):
            return str(value)
    except (ValueError, ImportError, RuntimeError) as problem:
        if isinstance(problem, ArgumentError):
            raise
        said = " ".join(str(problem).split())
        raise ArgumentError(name, f"{value!r} cannot be used: {said}") from None


def sections(name: str, value: Any) -> None:
    """Refuse anything but a mapping from names to comparisons, each with some Runs."""
    if not isinstance(value, Mapping) or not value:
        raise ArgumentError(name, "must map the names of problems to comparisons")
    for key, section in value.items():
        if not isinstance(key, str) or not isinstance(getattr(section, "runs", None), Mapping):
            raise ArgumentError(name, f"must map names to comparisons, got {key!r}: {section!r}")
        if not section.runs:
            raise ArgumentError(name, f"{key}: must hold some Runs")
