"""Looks of betting learners and how far sums may drift by then: their F as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64
from uli_fast.formulas.betting_elimination import (
    ELIMINATION,
    log_threshold,
    mixture_level,
    next_look,
    sharpest_variance,
)
from uli_fast.formulas.mixture import boundary

# What F is made of.
NEEDED = frozenset({"K", "R", "leader", "bounded", "largest_gap"})


def looks_until(last: int) -> list[int]:
    """Return the looks at 0, 1, 2, ... up to sweep ``last`` or the first one beyond."""
    found = [0]
    while found[-1] < last:
        found.append(next_look(found[-1]))
    return found


@lru_cache(maxsize=512)
def _looks(bits: int) -> tuple[int, ...]:
    """Return the looks with that many binary digits."""
    found = [next_look(_looks(bits - 1)[-1]) if bits > 1 else 1]
    while next_look(found[-1]).bit_length() == bits:
        found.append(next_look(found[-1]))
    return tuple(found)


def pair_variance(n: float, K: int, r: int) -> float:
    """Return the most that V_j + V_a can be after n sweeps: 2 n, and known for two arms."""
    if K == 2:
        return n * (1.0 + 1.0 / r) + 1.0 - 1.0 / r
    return 2.0 * n


@lru_cache(maxsize=4096)
def _drifts(delta: float, items: tuple[tuple[str, float], ...], bits: int) -> list[float]:
    """Return c(n) of the looks with that many binary digits.

    On the event no difference of sums is off by as much after n sweeps.
    """
    p = dict(items)
    K, R, r = int(p["K"]), p["R"], int(p["leader"])
    level = mixture_level(log_threshold(K, ELIMINATION * delta), bool(p["bounded"]))
    rho = sharpest_variance(R)
    return [boundary(R * R * pair_variance(float(n), K, r), level, rho) for n in _looks(bits)]


class LookTable(NamedTuple):
    """F as a falling step function."""

    starts: list[int]  # the first round of every step
    edges: F64  # the same; beyond 2^53 rounded up: F falls late rather than early
    heights: F64


def table(delta: float, p: Mapping[str, float], last: int) -> LookTable:
    """Return F on the learner's scale up to round ``last`` at least, a step for every look.

    A sweep has at most K - 1 + r rounds: round t comes after (t - 1) // (K - 1 + r) of them.
    """
    return _table(delta, tuple(sorted(p.items())), last.bit_length())


@lru_cache(maxsize=64)
def _table(delta: float, items: tuple[tuple[str, float], ...], bits: int) -> LookTable:
    p = dict(items)
    longest = int(p["K"]) - 1 + int(p["leader"])
    at = looks_until(2**bits // longest + 1)
    n = np.array(at[1:], np.float64)
    c = [x for b in range(1, at[-1].bit_length() + 1) for x in _drifts(delta, items, b)]
    heights = np.minimum(p["largest_gap"], 2.0 * np.array(c[: n.size]) / n)
    starts = [1 + longest * k for k in at]
    edges = np.array([float(s) if s < 2**53 else np.nextafter(float(s), np.inf) for s in starts])
    return LookTable(starts, edges, np.append(p["largest_gap"], heights))


def bound(t: F64, delta: float, p: Mapping[str, float]) -> F64:
    """Return F at rounds t, on the learner's scale."""
    known = table(delta, p, int(t.max(initial=1.0)))
    return np.asarray(known.heights[np.searchsorted(known.edges, t, side="right") - 1])


def steps(delta: float, p: Mapping[str, float], T: int) -> Iterator[tuple[int, float]]:
    """Return the last round and the height of each step of F up to round T."""
    starts, _, heights = table(delta, p, T)
    for start, after, height in zip(starts, starts[1:], heights, strict=False):
        if start <= T:
            yield min(after - 1, T), float(height)
