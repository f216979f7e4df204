"""Elimination on K arms: SE-MAB in two forms, PE-MAB, and the framework around a rule."""

from __future__ import annotations

import numpy as np

from bench.plain.jit import plain


@plain
def width(N, log_term):
    """Return wd(N), log_term being log(4K/delta)."""
    return np.sqrt((log_term + 2.0 * np.log(float(N))) / (2.0 * N))


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
        wd = width(N, log_term)
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
                m, i, lowest = packed(n, arm, q, total, lower, upper, best, m, N, i)
    settle(n, arm, m, N, i)
    return n


@plain
def settle(n, arm, m, N, i):
    """Count the plays of the m survivors, of which i have had their turn in sweep N."""
    for j in range(m):
        n[arm[j]] = N if j < i else N - 1


@plain
def packed(n, arm, q, total, lower, upper, best, m, N, i):
    """Drop the arms whose upper bound is below the best lower one, after i arms of sweep N.

    Return how many are left, how many of them have had their turn, and the lowest upper bound.
    """
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
    return kept, position, lowest


@plain
def successive_elimination_by_sweeps(p, T, delta, rng):
    """SE-MAB that asks before a sweep whether anything can be eliminated in it.

    Within sweep N a mean is total / (N - 1) or total / N with one reward more or none: if the
    largest and the smallest that are possible lie within two widths, the sweep is nothing but
    draws. Elsewhere every round is tested, by a scan. A margin covers what rounding does.
    """
    K = p.shape[0]
    n = np.zeros(K, np.int64)
    arm = np.arange(K)
    q = p.copy()
    total = np.zeros(K, np.int64)
    lower = np.full(K, -np.inf)
    upper = np.full(K, np.inf)
    log_term = np.log(4.0 * K / delta)
    m, N, i, t = K, 0, 0, 0
    least, most = 0, 0  # of the totals
    old_wd = np.inf
    while t < T:
        N += 1
        wd = width(N, log_term)
        each, old_each = 1.0 / N, 1.0 / max(N - 1, 1)
        spread = max((most + 1) * each, most * old_each) - least * each
        if spread < 2.0 * wd - 1e-12 and T - t >= m:
            least, most = N, 0
            for j in range(m):
                x = total[j] + (rng.random() < q[j])
                total[j] = x
                least, most = min(least, x), max(most, x)
            t += m
            i = m
        else:
            if N > 1:
                for j in range(m):
                    lower[j] = total[j] * old_each - old_wd
                    upper[j] = total[j] * old_each + old_wd
            i = 0
            while i < m and t < T:
                total[i] += rng.random() < q[i]
                lower[i] = total[i] * each - wd
                upper[i] = total[i] * each + wd
                best, lowest = lower[0], upper[0]
                for j in range(1, m):
                    best, lowest = max(best, lower[j]), min(lowest, upper[j])
                t += 1
                i += 1
                if best > lowest:
                    m, i, _ = packed(n, arm, q, total, lower, upper, best, m, N, i)
            least, most = N, 0
            for j in range(m):
                least, most = min(least, total[j]), max(most, total[j])
        old_wd = wd
    settle(n, arm, m, N, i)
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
def still_in(n, total, active, delta):
    """Return the arms that no other is surely better than: the test of SE-MAB as a rule."""
    K = n.shape[0]
    log_term = np.log(4.0 * K / delta)
    keep = np.zeros(K, np.bool_)
    upper = np.zeros(K)
    best = -np.inf
    for a in range(K):
        if active[a]:
            mean, wd = total[a] / n[a], width(n[a], log_term)
            upper[a] = mean + wd
            best = max(best, mean - wd)
    for a in range(K):
        keep[a] = active[a] and upper[a] >= best
    return keep


@plain
def elimination_framework(p, T, delta, rng):
    """Algorithm 1 with that rule: a mask before every round, then the least played arm."""
    K = p.shape[0]
    n = np.zeros(K, np.int64)
    total = np.zeros(K)
    active = np.ones(K, np.bool_)
    for t in range(1, T + 1):
        if t > K:
            active = still_in(n, total, active, delta)
        arm, fewest = 0, T
        for a in range(K):
            if active[a] and n[a] < fewest:
                arm, fewest = a, n[a]
        total[arm] += rng.random() < p[arm]
        n[arm] += 1
    return n
