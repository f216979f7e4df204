"""Rivals that go by an index or a sample: UCB, lil'UCB, KL-UCB, Thompson sampling."""

from __future__ import annotations

import math

import numpy as np

from bench.plain.jit import plain


@plain
def each_once(p, rng):
    """Play every arm once; return the pulls and the sums."""
    K = p.shape[0]
    total = np.zeros(K)
    for a in range(K):
        total[a] = rng.random() < p[a]
    return np.ones(K), total


@plain
def ucb(p, T, delta, rng):
    """UCB: one log and one root per round; the largest index first, then its arm."""
    K = p.shape[0]
    n, total = each_once(p, rng)
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
        total[arm] += rng.random() < p[arm]
        n[arm] += 1.0
        mean[arm] = total[arm] / n[arm]
        inverse_root[arm] = 1.0 / np.sqrt(n[arm])
    return n


def ucb_side_by_side(p, T, delta, rng, M):
    """UCB in NumPy, M replications at once: what a vectorising author would write."""
    K, each = p.size, np.arange(M)
    n = np.ones((M, K))
    total = (rng.random((M, K)) < p).astype(np.float64)
    log_term = math.log(2.0 / delta)
    for t in range(K + 1, T + 1):
        index = total / n + np.sqrt((log_term + 2.0 * math.log(t)) / n)
        arm = index.argmax(axis=1)
        total[each, arm] += rng.random(M) < p[arm]
        n[each, arm] += 1.0
    return n


@plain
def lil_bonus(n, log_term):
    """Return the width of lil'UCB after n pulls, log_term being log(6/delta)."""
    return np.sqrt((np.log(np.log(max(n, np.e))) + log_term) / n)


@plain
def lil_ucb(p, T, delta, rng):
    """lil'UCB as a plain scan: every index again in every round."""
    K = p.shape[0]
    n, total = each_once(p, rng)
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
        total[arm] += rng.random() < p[arm]
        n[arm] += 1.0
        mean[arm] = total[arm] / n[arm]
    return n


@plain
def lil_ucb_kept(p, T, delta, rng):
    """lil'UCB with kept indices: only the played arm's is computed again."""
    K = p.shape[0]
    n, total = each_once(p, rng)
    log_term = np.log(6.0 / delta)
    index = total + np.sqrt(log_term)
    for _ in range(K, T):
        best = -np.inf
        for a in range(K):
            best = max(best, index[a])
        arm = 0
        while index[arm] != best:
            arm += 1
        total[arm] += rng.random() < p[arm]
        n[arm] += 1.0
        index[arm] = total[arm] / n[arm] + lil_bonus(n[arm], log_term)
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
def kl_ucb(p, T, delta, rng):
    """KL-UCB: one index a round, and for every other arm whether its index is larger."""
    K = p.shape[0]
    n, total = each_once(p, rng)
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
        total[arm] += rng.random() < p[arm]
        n[arm] += 1.0
        last = arm
    return n


@plain
def thompson_sampling(p, T, delta, rng):
    """Thompson sampling on coins, with NumPy's own Beta draws."""
    K = p.shape[0]
    n = np.zeros(K)
    wins = np.zeros(K)
    for _ in range(T):
        arm = 0
        best = -1.0
        for a in range(K):
            theta = rng.beta(1.0 + wins[a], 1.0 + n[a] - wins[a])
            if theta > best:
                best = theta
                arm = a
        wins[arm] += rng.random() < p[arm]
        n[arm] += 1.0
    return n
