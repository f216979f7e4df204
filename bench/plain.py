"""The tightest plain Numba loops: what the package has to beat.

Each plays the same algorithm with the same law, one reward per round, and draws
``rng.random() < p[a]`` in the same order as the package's round engine, so both
play the same arms from the same generator (test_plain.py). A loop keeps what a
careful author would keep (means, 1/sqrt(N), the extreme bounds), and nothing
else: no record, no last plays, no events. It returns the pulls of each arm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

plain: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    nogil=True, error_model="numpy"
)


@plain
def successive_elimination(p, T, delta, rng):
    """SE-MAB by sweeps over the survivors, which are kept packed.

    In a sweep all survivors share a count, hence a width. The best lower and the
    lowest upper bound are rescanned only when an arm that holds one of them moves.
    The first sweep cannot eliminate, because wd(1) > 1/2.
    """
    K = p.shape[0]
    n = np.zeros(K, np.int64)
    arm = np.arange(K)
    q = p.copy()
    total = np.zeros(K, np.int64)
    lower = np.full(K, -np.inf)
    upper = np.full(K, np.inf)
    best, lowest = -np.inf, np.inf
    log_term = np.log(4.0 * K / delta)
    m, N, i, t = K, 0, 0, 0
    while t < T:
        N += 1
        wd = np.sqrt((log_term + 2.0 * np.log(float(N))) / (2.0 * N))
        each = 1.0 / N
        i = 0
        while i < m and t < T:
            total[i] += rng.random() < q[i]
            low = total[i] * each - wd
            high = total[i] * each + wd
            stale = lower[i] == best or upper[i] == lowest
            lower[i] = low
            upper[i] = high
            if stale:
                best = lower[0]
                lowest = upper[0]
                for j in range(1, m):
                    best = max(best, lower[j])
                    lowest = min(lowest, upper[j])
            else:
                best = max(best, low)
                lowest = min(lowest, high)
            t += 1
            i += 1
            if best > lowest:
                kept = 0
                position = i
                lowest = np.inf
                for j in range(m):
                    if best > upper[j]:
                        n[arm[j]] = N if j < i else N - 1
                        position -= j < i
                    else:
                        arm[kept], q[kept], total[kept] = arm[j], q[j], total[j]
                        lower[kept], upper[kept] = lower[j], upper[j]
                        lowest = min(lowest, upper[j])
                        kept += 1
                m = kept
                i = position
    for j in range(m):
        n[arm[j]] = N if j < i else N - 1
    return n


@plain
def phased_elimination(p, T, delta, rng):
    """PE-MAB: nothing but draws within a quota."""
    K = p.shape[0]
    n = np.zeros(K, np.int64)
    mean = np.zeros(K)
    active = np.ones(K, np.bool_)
    t, phase = 0, 1
    while t < T:
        log_term = np.log(4.0 * K / delta) + 2.0 * np.log(float(phase))
        m = int(np.ceil(2.0 ** (2 * phase + 1) * log_term))
        best = -np.inf
        for a in range(K):
            if active[a]:
                k = min(m, T - t)
                q = p[a]
                total = 0
                for _ in range(k):
                    total += rng.random() < q
                n[a] += k
                t += k
                mean[a] = total / m
                best = max(best, mean[a])
        if t < T:
            for a in range(K):
                if active[a] and best - mean[a] > 2.0**-phase:
                    active[a] = False
        phase += 1
    return n


@plain
def ucb(p, T, delta, rng):
    """UCB: one log and one root per round; the largest index first, then its arm."""
    K = p.shape[0]
    n = np.ones(K)
    total = np.zeros(K)
    mean = np.zeros(K)
    inverse_root = np.ones(K)  # 1 / sqrt(N)
    index = np.zeros(K)
    for a in range(K):
        total[a] = rng.random() < p[a]
        mean[a] = total[a]
    log_term = np.log(2.0 / delta)
    for t in range(K + 1, T + 1):
        root = np.sqrt(log_term + 2.0 * np.log(float(t)))
        best = -np.inf
        for a in range(K):
            value = mean[a] + root * inverse_root[a]
            index[a] = value
            best = max(best, value)
        arm = 0
        while index[arm] != best:
            arm += 1
        total[arm] += rng.random() < p[arm]
        n[arm] += 1.0
        mean[arm] = total[arm] / n[arm]
        inverse_root[arm] = 1.0 / np.sqrt(n[arm])
    return n


@plain
def lil_ucb(p, T, delta, rng):
    """lil'UCB as a plain scan: every index anew in every round."""
    K = p.shape[0]
    n = np.ones(K)
    total = np.zeros(K)
    mean = np.zeros(K)
    for a in range(K):
        total[a] = rng.random() < p[a]
        mean[a] = total[a]
    log_term = np.log(6.0 / delta)
    for _ in range(K, T):
        arm = 0
        best = -np.inf
        for a in range(K):
            value = mean[a] + np.sqrt((np.log(np.log(max(n[a], np.e))) + log_term) / n[a])
            if value > best:
                best = value
                arm = a
        total[arm] += rng.random() < p[arm]
        n[arm] += 1.0
        mean[arm] = total[arm] / n[arm]
    return n


@plain
def lil_ucb_kept(p, T, delta, rng):
    """lil'UCB with kept indices: only the played arm's is computed anew."""
    K = p.shape[0]
    n = np.ones(K)
    total = np.zeros(K)
    index = np.zeros(K)
    log_term = np.log(6.0 / delta)
    for a in range(K):
        total[a] = rng.random() < p[a]
        index[a] = total[a] + np.sqrt(log_term)
    for _ in range(K, T):
        best = -np.inf
        for a in range(K):
            best = max(best, index[a])
        arm = 0
        while index[arm] != best:
            arm += 1
        total[arm] += rng.random() < p[arm]
        n[arm] += 1.0
        bonus = np.sqrt((np.log(np.log(max(n[arm], np.e))) + log_term) / n[arm])
        index[arm] = total[arm] / n[arm] + bonus
    return n
