"""Failure probabilities of the nice events, computed exactly."""

import math

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
