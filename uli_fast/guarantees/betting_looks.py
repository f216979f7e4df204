"""Looks of betting learners and how far sums may drift by then: their F as a table.

``boundary(v, level)`` is the root D of log Mix(D, v) = level, where Mix is the mixture of
exp(u D - u^2 v / 2) over u = |N(0, 1 / rho)| (kernels/betting/wealth.py). Sums of variance proxy
v stay below it at all times together, with probability 1 - e^-level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64

# The share of delta that elimination takes; the rest is for the intervals of single arms.
ELIMINATION = 0.9
# What F is made of.
NEEDED = frozenset({"K", "R", "leader", "bounded", "largest_gap"})
# Newton's steps from above until the last digit; six are enough wherever v < 1e120.
STEPS = 40


def next_look(n: int) -> int:
    """Return the sweep of the look after that of sweep n: floor(1.02 n), at least n + 1."""
    return n + max(1, n // 50)


def looks_until(last: int) -> list[int]:
    """Return the looks at 0, 1, 2, ... up to sweep ``last`` or the first one beyond."""
    found = [0]
    while found[-1] < last:
        found.append(next_look(found[-1]))
    return found


def log_threshold(K: int, delta: float) -> float:
    """Return log((K - 1) / delta), what a bettor must make of her money; -inf for one arm."""
    return math.log(K - 1) - math.log(delta) if K > 1 else -math.inf


def sharpest_variance(R: float) -> float:
    """Return rho, the v at which Mix is sharpest: that of gaps of a tenth of 2 R."""
    return 100.0 * R * R


def boundary(v: F64, level: float, rho: float) -> F64:
    """Return the D with log Mix(D, v) = level, from above: Mix is convex in D, and rises."""
    from scipy.special import log_ndtr

    spread = np.sqrt(v + rho)
    fixed = math.log(2.0) - 0.5 * np.log1p(v / rho) - level
    x = np.sqrt(-2.0 * np.minimum(fixed, 0.0) + 2.0 * math.log(2.0))  # Phi(x) >= 1/2 there
    for _ in range(STEPS):
        over = fixed + 0.5 * x * x + log_ndtr(x)
        slope = x + np.exp(-0.5 * x * x - log_ndtr(x)) / math.sqrt(2.0 * math.pi)
        step = np.maximum(over / slope, 0.0)
        x = x - step
        if (step <= 1e-15 * x).all():
            break
    return np.asarray(spread * x)


def pair_variance(n: F64, K: int, r: int) -> F64:
    """Return the most that V_j + V_a can be after n sweeps: 2 n, and known for two arms."""
    if K == 2:
        return n * (1.0 + 1.0 / r) + 1.0 - 1.0 / r
    return 2.0 * n


def drift(n: F64, delta: float, p: Mapping[str, float]) -> F64:
    """Return c(n): on the event no difference of sums is off by as much after n sweeps."""
    K, R = int(p["K"]), p["R"]
    level = log_threshold(K, ELIMINATION * delta) + (math.log(2.0) if p["bounded"] else 0.0)
    v = R * R * pair_variance(n, K, int(p["leader"]))
    return boundary(v, level, sharpest_variance(R))


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
    heights = np.minimum(p["largest_gap"], 2.0 * drift(n, delta, p) / n)
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
