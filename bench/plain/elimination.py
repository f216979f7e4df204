"""Elimination on K arms: SE-MAB, PE-MAB, both in NumPy as well, and the framework around a rule."""

from __future__ import annotations

import numpy as np

from bench.plain.jit import plain
from bench.plain.stream import opened, uniform


@plain
def width(N, log_term):
    """Return wd(N), log_term being log(4K/delta)."""
    return np.sqrt((log_term + 2.0 * np.log(float(N))) / (2.0 * N))


@plain
def successive_elimination(p, T, delta, words):
    """SE-MAB by sweeps over the survivors, which are kept packed.

    In a sweep all survivors share a count, hence a width. The best lower and the
    lowest upper bound are rescanned only when an arm that holds one of them moves.
    The first sweep cannot eliminate, because wd(1) > 1/2.
    """
    K, s = p.shape[0], opened(words)
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
            u, s = uniform(s)
            total[i] += u < q[i]
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
def successive_elimination_by_sweeps(p, T, delta, words):
    """SE-MAB that asks before a sweep whether anything can be eliminated in it.

    Within sweep N a mean is total / (N - 1) or total / N with one reward more or none: if the
    largest and the smallest that are possible lie within two widths, the sweep is nothing but
    draws. Elsewhere every round is tested, by a scan. A margin covers what rounding does.
    """
    K, s = p.shape[0], opened(words)
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
                u, s = uniform(s)
                x = total[j] + (u < q[j])
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
                u, s = uniform(s)
                total[i] += u < q[i]
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


def successive_elimination_side_by_side(p, T, delta, rng, M):
    """SE-MAB in NumPy, M replications at once, arm after arm; widths are in a table."""
    K, each = p.size, np.arange(M)
    counts = np.arange(1.0, T + 1.0)
    wd = np.append(0.0, np.sqrt((np.log(4.0 * K / delta) + 2.0 * np.log(counts)) / (2.0 * counts)))
    n, total = np.zeros((K, M), np.int64), np.zeros((K, M))
    lower, upper = np.full((K, M), -np.inf), np.full((K, M), np.inf)
    active = np.ones((K, M), np.bool_)
    following = np.repeat((np.arange(K) + 1) % K, M).reshape(K, M)
    views = (x.ravel() for x in (n, total, lower, upper, following))
    n_at, total_at, lower_at, upper_at, following_at = views
    arm = np.zeros(M, np.int64)
    for _ in range(T):
        at = arm * M + each
        x, k = total_at[at] + (rng.random(M) < p[arm]), n_at[at] + 1
        total_at[at], n_at[at] = x, k
        mean, width = x / k, wd[k]
        lower_at[at], upper_at[at] = mean - width, mean + width
        best = lower.max(axis=0)
        if (upper.min(axis=0) < best).any():
            drop_below(best, lower, upper, active, following)
        arm = following_at[at]
    return n.T


def drop_below(best, lower, upper, active, following):
    """Drop the arms whose upper bound is below the best lower one; say who follows whom."""
    gone = upper < best
    active[gone], lower[gone], upper[gone] = False, -np.inf, np.inf
    changed = np.flatnonzero(gone.any(axis=0))
    left = active[:, changed]
    after = left.argmax(axis=0)
    for a in range(len(left) - 1, -1, -1):
        following[a, changed] = after
        after = np.where(left[a], a, after)


@plain
def phased_elimination(p, T, delta, words):
    """PE-MAB: nothing but draws within a quota."""
    K, s = p.shape[0], opened(words)
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
                    u, s = uniform(s)
                    total += u < q
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


def phased_elimination_side_by_side(p, T, delta, rng, M):
    """PE-MAB in NumPy, M replications at once, a reward a round."""
    K, row = p.size, np.arange(M) * p.size
    n, total = np.zeros((M, K), np.int64), np.zeros((M, K))  # total: of this phase
    n_at, total_at = n.ravel(), total.ravel()
    active, each = np.ones((M, K), np.bool_), np.arange(K)
    phases = np.arange(1.0, 30.0)
    log_term = np.log(4.0 * K / delta) + 2.0 * np.log(phases)
    quota = np.append(0, np.ceil(2.0 ** (2.0 * phases + 1.0) * log_term).astype(np.int64))
    arm, phase = np.zeros(M, np.int64), np.ones(M, np.int64)
    ends = np.full(M, quota[1])  # the round in which the arm's quota is spent
    until = quota[1]
    for t in range(1, T + 1):
        at = row + arm
        total_at[at] += rng.random(M) < p[arm]
        n_at[at] += 1
        if t < until:
            continue
        done = np.flatnonzero(ends == t)
        later = active[done] & (each > arm[done, None])
        over = done[~later.any(axis=1)]
        arm[done] = later.argmax(axis=1)
        if over.size:  # so is the phase
            mean = np.where(active[over], total[over] / quota[phase[over], None], -np.inf)
            slack = 2.0 ** -phase[over, None]
            active[over] = mean >= mean.max(axis=1, keepdims=True) - slack
            arm[over] = active[over].argmax(axis=1)
            total[over] = 0.0
            phase[over] += 1
        ends[done] = t + quota[phase[done]]
        until = ends.min()
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
def elimination_framework(p, T, delta, words):
    """Algorithm 1 with that rule: a mask before every round, then the least played arm."""
    K, s = p.shape[0], opened(words)
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
        u, s = uniform(s)
        total[arm] += u < p[arm]
        n[arm] += 1
    return n
