"""Rivals that go by an index or a sample: UCB, lil'UCB, KL-UCB, Thompson sampling."""

from __future__ import annotations

import math

import numpy as np

from bench.plain.jit import plain
from bench.plain.stream import opened, uniform
from uli_fast.kernels.draws.gamma import gamma
from uli_fast.kernels.draws.stream import uniform as toss


@plain
def each_once(p, words):
    """Play every arm once; return the pulls, the sums and the words after them."""
    K, s = p.shape[0], opened(words)
    total = np.zeros(K)
    for a in range(K):
        u, s = uniform(s)
        total[a] = u < p[a]
    return np.ones(K), total, s


@plain
def ucb(p, T, delta, words):
    """UCB: one log and one root per round; the largest index first, then its arm."""
    K = p.shape[0]
    n, total, s = each_once(p, words)
    mean = total.copy()
    inverse_root = np.ones(K)  # 1 / sqrt(N)
    index = np.zeros(K)
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
        u, s = uniform(s)
        total[arm] += u < p[arm]
        n[arm] += 1.0
        mean[arm] = total[arm] / n[arm]
        inverse_root[arm] = 1.0 / np.sqrt(n[arm])
    return n


def ucb_side_by_side(p, T, delta, rng, M):
    """UCB in NumPy, M replications at once; means and 1 / sqrt(N) are kept."""
    K, row = p.size, np.arange(M) * p.size
    n = np.ones((M, K))
    total = (rng.random((M, K)) < p).astype(np.float64)
    mean, inverse_root, index = total.copy(), np.ones((M, K)), np.empty((M, K))
    n_at, total_at, mean_at, inverse_at = (x.ravel() for x in (n, total, mean, inverse_root))
    log_term = math.log(2.0 / delta)
    for t in range(K + 1, T + 1):
        np.multiply(inverse_root, math.sqrt(log_term + 2.0 * math.log(t)), out=index)
        index += mean
        arm = index.argmax(axis=1)
        at = row + arm
        x, k = total_at[at] + (rng.random(M) < p[arm]), n_at[at] + 1.0
        total_at[at], n_at[at], mean_at[at], inverse_at[at] = x, k, x / k, 1.0 / np.sqrt(k)
    return n


@plain
def lil_bonus(n, log_term):
    """Return the width of lil'UCB after n pulls, log_term being log(6/delta)."""
    return np.sqrt((np.log(np.log(max(n, np.e))) + log_term) / n)


@plain
def lil_ucb(p, T, delta, words):
    """lil'UCB as a plain scan: every index again in every round."""
    K = p.shape[0]
    n, total, s = each_once(p, words)
    mean = total.copy()
    log_term = np.log(6.0 / delta)
    for _ in range(K, T):
        arm = 0
        best = -np.inf
        for a in range(K):
            value = mean[a] + lil_bonus(n[a], log_term)
            if value > best:
                best = value
                arm = a
        u, s = uniform(s)
        total[arm] += u < p[arm]
        n[arm] += 1.0
        mean[arm] = total[arm] / n[arm]
    return n


@plain
def lil_ucb_kept(p, T, delta, words):
    """lil'UCB with kept indices: only the played arm's is computed again."""
    K = p.shape[0]
    n, total, s = each_once(p, words)
    log_term = np.log(6.0 / delta)
    index = total + np.sqrt(log_term)
    for _ in range(K, T):
        best = -np.inf
        for a in range(K):
            best = max(best, index[a])
        arm = 0
        while index[arm] != best:
            arm += 1
        u, s = uniform(s)
        total[arm] += u < p[arm]
        n[arm] += 1.0
        index[arm] = total[arm] / n[arm] + lil_bonus(n[arm], log_term)
    return n


def lil_ucb_side_by_side(p, T, delta, rng, M):
    """lil'UCB in NumPy, M replications at once; indices are kept, and widths in a table."""
    K, row = p.size, np.arange(M) * p.size
    n = np.ones((M, K), np.int64)
    total = (rng.random((M, K)) < p).astype(np.float64)
    counts = np.arange(1.0, max(T, 1) + 1.0)
    loglog = np.log(np.log(np.maximum(counts, math.e)))
    bonus = np.append(0.0, np.sqrt((loglog + math.log(6.0 / delta)) / counts))
    index = total + bonus[1]
    n_at, total_at, index_at = (x.ravel() for x in (n, total, index))
    for _ in range(K, T):
        arm = index.argmax(axis=1)
        at = row + arm
        x, k = total_at[at] + (rng.random(M) < p[arm]), n_at[at] + 1
        total_at[at], n_at[at], index_at[at] = x, k, x / k + bonus[k]
    return n


@plain
def kl_index(mean, n, level):
    """Return the largest q with n kl(mean, q) <= level, by Newton's method from above."""
    if mean >= 1.0:
        return 1.0
    y = level / n
    if mean <= 0.0:
        return -math.expm1(-y)
    w = 1.0 - mean
    d = min(math.sqrt(0.5 * y), w * (1.0 - 1e-15))  # Pinsker's inequality
    while True:
        k = -mean * math.log1p(d / mean) - w * math.log1p(-d / w)
        step = (k - y) * (mean + d) * (w - d) / d
        if step <= 1e-16:
            return mean + d
        d -= step


@plain
def kl_ucb(p, T, delta, words):
    """KL-UCB: one index a round, and for every other arm whether its index is larger."""
    K = p.shape[0]
    n, total, s = each_once(p, words)
    last = 0
    for t in range(K + 1, T + 1):
        level = math.log(float(t))
        arm = last
        best = kl_index(total[arm] / n[arm], n[arm], level)
        for a in range(K):
            mean = total[a] / n[a]
            if a == arm:
                continue
            if mean < best < 1.0:
                d = best - mean
                k = -(1.0 - mean) * math.log1p(-d / (1.0 - mean))
                if mean > 0.0:
                    k -= mean * math.log1p(d / mean)
                if n[a] * k > level + 1e-9:
                    continue
            value = kl_index(mean, n[a], level)
            if value > best or (value == best and a < arm):
                best = value
                arm = a
        u, s = uniform(s)
        total[arm] += u < p[arm]
        n[arm] += 1.0
        last = arm
    return n


@plain
def thompson_sampling(p, T, delta, words):
    """Thompson sampling on coins: odds by two gamma draws, whose shapes are kept."""
    K = p.shape[0]
    n = np.zeros(K)
    # Of wins and losses: the shape less 1/3, and 1 / sqrt(9 d).
    d, c = np.full((2, K), 2.0 / 3.0), np.full((2, K), 1.0 / np.sqrt(6.0))
    for _ in range(T):
        arm = 0
        best = -1.0
        for a in range(K):
            odds = gamma(words, d[0, a], c[0, a]) / gamma(words, d[1, a], c[1, a])
            if odds > best:
                best = odds
                arm = a
        side = 0 if toss(words) < p[arm] else 1
        n[arm] += 1.0
        d[side, arm] += 1.0
        c[side, arm] = 1.0 / np.sqrt(9.0 * d[side, arm])
    return n
