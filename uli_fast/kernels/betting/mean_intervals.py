"""Confidence sequences for a mean of numbers in [0, 1], of a population or of a list.

Beta-binomial (KT) betting: before x_i comes, its mean is guessed as q = (S + 1/2) / i. If p is the
mean, r = p (population) or r = (N p - S) / (N - i + 1) (what is left of a list of N) is that of x_i
given the past, and (q / r)^x ((1 - q) / (1 - r))^(1 - x), convex in x, has mean at most 1.
"""

from __future__ import annotations

import math

from uli_fast._typing import F64
from uli_fast.kernels._jit import kernel

STEPS = 60
LAST_DIGIT = 2.0**-52
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@kernel
def log_evidence(x: F64, p: float, N: int) -> float:
    """Return the log of the wealth of a bet against the mean p; N = 0 for a population.

    It is convex in p, as r is linear in it: what it does not exclude is an interval.
    """
    S, total = 0.0, 0.0
    for i in range(x.size):
        q = (S + 0.5) / (i + 1.0)
        r = p if N == 0 else min(1.0, max(0.0, (N * p - S) / (N - i)))
        if x[i] > 0.0:
            total += x[i] * (math.log(q) - math.log(r)) if r > 0.0 else math.inf
        if x[i] < 1.0:
            total += (1.0 - x[i]) * (math.log1p(-q) - math.log1p(-r)) if r < 1.0 else math.inf
        S += x[i]
    return total


@kernel
def least_evidence(x: F64, low: float, high: float, N: int) -> float:
    """Return the mean against which there is least, by golden sections."""
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = log_evidence(x, a, N), log_evidence(x, b, N)
    for _ in range(STEPS):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = log_evidence(x, a, N)
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = log_evidence(x, b, N)
    return 0.5 * (low + high)


@kernel
def end(x: F64, inside: float, outside: float, level: float, N: int) -> float:
    """Return where the interval ends, on the safe side."""
    if log_evidence(x, outside, N) < level:
        return outside
    for _ in range(STEPS):
        middle = 0.5 * (inside + outside)
        if log_evidence(x, middle, N) < level:
            inside = middle
        else:
            outside = middle
    return outside


@kernel
def mean_interval(x: F64, level: float, N: int) -> tuple[float, float]:
    """Return all means against which there is less evidence than ``level``."""
    low, high = 0.0, 1.0
    if N > 0:  # what is left of the list is all 0, or all 1
        low, high = x.sum() / N, min(1.0, (x.sum() + (N - x.size)) / N)
    if x.size == N:  # the mean itself, but for rounding: of N sums, N 2^-53 at most
        return max(0.0, low - N * LAST_DIGIT), min(1.0, high + N * LAST_DIGIT)
    if x.size == 0:
        return low, high
    best = least_evidence(x, low, high, N)
    if log_evidence(x, best, N) >= level:
        return best, best
    return end(x, best, low, level, N), end(x, best, high, level, N)
