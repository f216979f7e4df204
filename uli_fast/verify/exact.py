"""Probabilities that are known exactly, and how far a count is from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

# Counts further than this from an exact rate, and failures less probable than this where
# only a bound is known, make a row fail.
SIGMAS = 3.0
LEAST_P = 0.001


def sigmas(count: int, runs: int, rate: float) -> float:
    """Return how many standard deviations a count is above its mean."""
    return (count - runs * rate) / math.sqrt(runs * rate * (1.0 - rate))


def surprise(failures: int, runs: int, delta: float) -> float:
    """Return the probability of this many failures or more, if each has probability delta."""
    from scipy.stats import binom

    return float(binom.sf(failures - 1, runs, delta))


def two_sided(z: float) -> float:
    """Return P(|Z| > z) of a standard normal Z."""
    return math.erfc(z / math.sqrt(2.0))


def any_of(probabilities: Iterable[float]) -> float:
    """Return the probability that one of independent events happens."""
    return -math.expm1(math.fsum(math.log1p(-p) for p in probabilities))


# Formulas of the paper as it prints them. The package writes each of its own once
# (uli_fast/formulas); these are the second opinion, and use none of it.


def width(n: Any, K: int, delta: float, R: float = 0.5) -> Any:
    """Return wd(n) = sqrt(log(4 K n^2 / delta) / (2 n)) of SE-MAB, for any R."""
    return 2.0 * R * np.sqrt(np.log(4.0 * K * n**2.0 / delta) / (2.0 * n))


def lil_bonus(n: int, delta: float) -> float:
    """Return U(n) of lil'UCB (Eq. lil_bonus)."""
    return math.sqrt((math.log(math.log(max(n, math.e))) + math.log(6.0 / delta)) / n)


def quota(phase: int, K: int, delta: float) -> int:
    """Return m_l = ceil(2^(2 l + 1) log(4 K l^2 / delta)) of PE-MAB."""
    return math.ceil(2.0 ** (2 * phase + 1) * math.log(4.0 * K * phase**2 / delta))


def interval_missed(K: int, mean: float, delta: float, pulls: int, R: float) -> float:
    """Return P(an interval of SE-MAB misses within this many pulls) of K equal Bernoulli arms.

    With equal means nobody is eliminated while all intervals hold, so that arms are
    independent until then: one arm's successes are followed up to its first miss.
    """
    alive = np.array([1.0])
    for n in range(1, pulls + 1):
        alive = np.append((1.0 - mean) * alive, 0.0) + np.append(0.0, mean * alive)
        alive[np.abs(np.arange(n + 1) / n - mean) > width(n, K, delta, R)] = 0.0
    return float(1.0 - alive.sum() ** K)


def phase_missed(K: int, mean: float, delta: float, phases: int) -> float:
    """Return P(a phase mean of PE-MAB misses within this many phases) of K equal Bernoulli arms."""
    from scipy.stats import binom

    missed: list[float] = []
    for phase in range(1, phases + 1):
        m = quota(phase, K, delta)
        s = np.arange(m + 1)
        out = np.abs(s / m - mean) > 2.0 ** (-phase - 1)
        missed += [float(binom.pmf(s[out], m, mean).sum())] * K
    return any_of(missed)


def phase_ends(phase: int, means: Sequence[float], delta: float) -> tuple[float, float]:
    """Return P(the first of two Bernoulli arms falls) and P(the second) in a phase of PE-MAB.

    Successes further than 40 standard deviations from their mean are left out.
    """
    from scipy.stats import binom

    m = quota(phase, 2, delta)
    ahead = math.floor(m / 2.0**phase)  # a lead that is not enough
    fallen = []
    for down, up in ((0, 1), (1, 0)):
        middle, reach = m * means[down], 20.0 * math.sqrt(m) + 40.0
        s = np.arange(max(0, math.floor(middle - reach)), min(m, math.ceil(middle + reach)) + 1)
        tail = binom.sf(s + ahead, m, means[up])
        fallen.append(float(binom.pmf(s, m, means[down]) @ tail))
    return fallen[0], fallen[1]


def walk_crosses(steps: int, limit: Callable[[int], float], both: bool) -> float:
    """Return P(a walk of +-1 steps exceeds limit(n) after some n <= steps), above or on both sides.

    Positions are followed up to the first crossing.
    """
    alive, crossed = np.zeros(2 * steps + 1), 0.0
    alive[steps] = 1.0
    position = np.arange(-steps, steps + 1)
    for n in range(1, steps + 1):
        near = slice(steps - n, steps + n + 1)
        moved = np.zeros_like(alive)
        moved[1:] += 0.5 * alive[:-1]
        moved[:-1] += 0.5 * alive[1:]
        there = position[near]
        out = (np.abs(there) if both else there) > limit(n)
        crossed += float(moved[near][out].sum())
        moved[near][out] = 0.0
        alive = moved
    return crossed
