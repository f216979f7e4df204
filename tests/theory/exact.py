"""Failure probabilities of the nice events, computed exactly."""

import math
from functools import cache

import numpy as np
from scipy.stats import binom


def se_failure(K, mean, delta, pulls, R=0.5):
    """P(some interval misses the mean within ``pulls`` pulls of each of K equal arms).

    Dynamic programming over the successes of one arm, absorbing at the first
    miss. Arms are independent until then: with equal means nobody is eliminated
    while all intervals hold.
    """
    alive = np.array([1.0])
    for n in range(1, pulls + 1):
        step = np.zeros(n + 1)
        step[:-1] += (1.0 - mean) * alive
        step[1:] += mean * alive
        wd = 2 * R * math.sqrt(math.log(4 * K * n**2 / delta) / (2 * n))
        step[np.abs(np.arange(n + 1) / n - mean) > wd] = 0.0
        alive = step
    return 1.0 - alive.sum() ** K


def held(K, n, mean, delta, R):
    """Return for which sums the interval after n rewards holds the mean, and its width."""
    wd = 2 * R * math.sqrt(math.log(4 * K * n**2 / delta) / (2 * n))
    return np.abs(np.arange(n + 1) / n - mean) <= wd, wd


def one_more(law, mean):
    """Return the law of a sum after one more reward; the last axis is the sum."""
    longer = np.zeros((*law.shape[:-1], law.shape[-1] + 1))
    longer[..., :-1] += (1.0 - mean) * law
    longer[..., 1:] += mean * law
    return longer


@cache
def duel_failure(means, delta, T, R):
    """P(some interval misses its mean by round T) of two arms, one of which may be dropped.

    Dynamic programming over the successes of both, and of the other one after a drop: by then
    only its own plays count. alone[a, m] is the law of arm a's sum where the other one was
    dropped after m plays.
    """
    both, n, alone = np.ones((1, 1)), [0, 0], {}
    for t in range(1, T + 1):
        for (a, m), law in alone.items():
            alone[a, m] = one_more(law, means[a]) * held(2, t - m, means[a], delta, R)[0]
        if not both.any():
            continue
        a = 0 if n[0] <= n[1] else 1
        n[a] += 1
        both = one_more(both.swapaxes(a, 1), means[a]) * held(2, n[a], means[a], delta, R)[0]
        both = both.swapaxes(a, 1)
        if t <= 2:
            continue
        (mean, wd), (other, other_wd) = (
            (np.arange(n[b] + 1) / n[b], held(2, n[b], means[b], delta, R)[1]) for b in (0, 1)
        )
        worse = mean[:, None] + wd < other[None, :] - other_wd
        better = mean[:, None] - wd > other[None, :] + other_wd
        alone[0, n[1]] = alone.get((0, n[1]), 0.0) + (both * better).sum(axis=1)
        alone[1, n[0]] = alone.get((1, n[0]), 0.0) + (both * worse).sum(axis=0)
        both = both * ~(worse | better)
    return 1.0 - both.sum() - sum(law.sum() for law in alone.values())


def pe_failure(K, mean, delta, phases):
    """P(some phase mean misses by more than 2^(-l-1) in the first phases, K equal arms)."""
    keeps = 1.0
    for phase in range(1, phases + 1):
        m = math.ceil(2 ** (2 * phase + 1) * math.log(4 * K * phase**2 / delta))
        s = np.arange(m + 1)
        inside = np.abs(s / m - mean) <= 2.0 ** (-phase - 1)
        keeps *= binom.pmf(s[inside], m, mean).sum() ** K
    return 1.0 - keeps


def pe_rounds(K, delta, phases):
    """Rounds that the first phases take while no arm is eliminated."""
    return K * sum(
        math.ceil(2 ** (2 * p + 1) * math.log(4 * K * p**2 / delta)) for p in range(1, phases + 1)
    )
