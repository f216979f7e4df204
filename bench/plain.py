"""The tightest plain Numba loops: what the package has to beat.

Each plays the same algorithm with the same law, one reward per round, and draws
``rng.random() < p[a]`` in the same order as the package's round engine, so both
play the same arms from the same generator (test_plain.py). A loop keeps what a
careful author would keep (means, 1/sqrt(N), the extreme bounds), and nothing
else: no record, no last plays, no events, no loss estimates. It returns the pulls
of each arm. GeometricHedge.P, all linear algebra, is in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

plain: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    nogil=True, error_model="numpy"
)
# For what allocates nothing: counting references to arrays would be a part of its time.
lean: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    nogil=True, error_model="numpy", _nrt=False
)


@plain
def draws(p, T, delta, rng):
    """Nothing but rewards of the first arm: what a round takes at least."""
    total = 0
    for _ in range(T):
        total += rng.random() < p[0]
    return total


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
                m, i, lowest = packed(n, arm, q, total, lower, upper, best, m, N, i)
    for j in range(m):
        n[arm[j]] = N if j < i else N - 1
    return n


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
        wd = np.sqrt((log_term + 2.0 * np.log(float(N))) / (2.0 * N))
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
    n = np.ones(K)
    total = np.zeros(K)
    for a in range(K):
        total[a] = rng.random() < p[a]
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


# Weights are rescaled by a power of two every so many rounds.
RESCALED = 256


@plain
def exp3p(p, T, delta, rng):
    """Exp3.P: probabilities by SIMD, a search without branches, then one exp per arm."""
    K = p.shape[0]
    gamma = min(0.5, math.sqrt(K * math.log(10.0 * K / delta) / T))
    eta = gamma / K
    n = np.zeros(K, np.int64)
    w = np.ones(K)
    probability = np.zeros(K)
    bonus = np.zeros(K)
    W = float(K)
    for t in range(1, T + 1):
        inverse = (1.0 - gamma) / W
        for a in range(K):
            probability[a] = w[a] * inverse + gamma / K
            bonus[a] = 2.0 * eta * eta / probability[a]
        u, cum, arm = rng.random(), 0.0, -1
        for a in range(K):
            arm += u >= cum
            cum += probability[a]
        n[arm] += 1
        loss = rng.random() >= p[arm]
        W = 0.0
        for a in range(K):
            new = w[a] * math.exp(bonus[a])
            w[a] = new
            W += new
        if loss:
            old = w[arm]
            w[arm] = old * math.exp(-eta / probability[arm])
            W += w[arm] - old
        if t % RESCALED == 0:
            factor = 2.0 ** -math.floor(math.log2(W))
            for a in range(K):
                w[a] *= factor
            W *= factor
    return n


@plain
def exp3p_polynomial(p, T, delta, rng):
    """Exp3.P whose bonuses, at most 2 eta, grow weights by a polynomial: SIMD over arms."""
    K = p.shape[0]
    gamma = min(0.5, math.sqrt(K * math.log(10.0 * K / delta) / T))
    eta = gamma / K
    n = np.zeros(K, np.int64)
    w = np.ones(K)
    probability = np.zeros(K)
    W = float(K)
    for t in range(1, T + 1):
        inverse = (1.0 - gamma) / W
        for a in range(K):
            old = w[a]
            probability[a] = old * inverse + gamma / K
            y = 2.0 * eta * eta / probability[a]
            e = 1 / 2.0 + y * (1 / 6.0 + y * (1 / 24.0 + y * (1 / 120.0)))
            w[a] = old + old * (y * (1.0 + y * e))
        W = 0.0
        for a in range(K):
            W += w[a]
        u, arm, cum = rng.random(), 0, probability[0]
        while u >= cum and arm < K - 1:
            arm += 1
            cum += probability[arm]
        n[arm] += 1
        if rng.random() >= p[arm]:
            old = w[arm]
            w[arm] = old * math.exp(-eta / probability[arm])
            W += w[arm] - old
        if t % RESCALED == 0:
            factor = 2.0 ** -math.floor(math.log2(W))
            for a in range(K):
                w[a] *= factor
            W *= factor
    return n


@lean
def best_policy(policies, P, c, s1, V, W):
    """Return the first of the policies whose value at s1 is largest, and that value.

    policies: (n, H, S) of uint8, since an index that cannot be negative need not be checked;
    V, W: (S,) room. Nothing follows the last stage, so that its values are read off c; the
    first stage is evaluated in s1 alone.
    """
    n, H, S = policies.shape
    limit = float(H)
    best, first = -1.0, 0
    for i in range(n):
        for s in range(S):
            V[s] = min(c[H - 1, s, policies[i, H - 1, s]], limit)
        for h in range(H - 2, 0, -1):
            for s in range(S):
                a = policies[i, h, s]
                x = 0.0
                for k in range(S):
                    x += P[h, s, a, k] * V[k]
                W[s] = min(x + c[h, s, a], limit)
            V, W = W, V
        a = policies[i, 0, s1]
        x = 0.0
        for k in range(S):
            x += P[0, s1, a, k] * V[k]
        value = min(x + c[0, s1, a], limit)
        if value > best:
            best, first = value, i
    return first, best


def geometric_hedge(x, nu, p, T, delta, rng):
    """GeometricHedge.P in NumPy, vectorised over arms; losses are 1/2 - X for Bernoulli X.

    x: (K, d) arms, whitened by the design nu. Inverting the d x d matrix is faster
    than solving for all arms, and arms side by side are faster than arms in rows.
    """
    K, d = x.shape
    columns = np.ascontiguousarray(x.T)
    rho = np.square(x).sum(axis=1).max() / d
    s = math.sqrt(math.log(10.0 * K / delta) / (d * T))
    eta, beta, gamma = s / 2.0, 1.1 * s, min(0.5, 1.5 * rho * d * s)
    explore = gamma * nu
    n = np.zeros(K, np.int64)
    lw = np.zeros(K)
    for _ in range(T):
        q = np.exp(lw - lw.max())
        probability = q * ((1.0 - gamma) / q.sum()) + explore
        arm = min(int(probability.cumsum().searchsorted(rng.random(), "right")), K - 1)
        loss = 0.5 - (rng.random() < p[arm])
        n[arm] += 1
        y = np.linalg.inv((columns * probability) @ x) @ columns
        v = (columns * y).sum(axis=0)
        lw += eta * (2.0 * beta * v - loss * (x[arm] @ y))
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


def exp3p_side_by_side(p, T, delta, rng, M):
    """Exp3.P in NumPy, M replications at once."""
    K, each = p.size, np.arange(M)
    gamma = min(0.5, math.sqrt(K * math.log(10.0 * K / delta) / T))
    eta = gamma / K
    n = np.zeros((M, K))
    w = np.ones((M, K))
    for _ in range(T):
        probability = w * ((1.0 - gamma) / w.sum(axis=1, keepdims=True)) + gamma / K
        below = probability.cumsum(axis=1) <= rng.random((M, 1))
        arm = np.minimum(below.sum(axis=1), K - 1)
        n[each, arm] += 1.0
        loss = rng.random(M) >= p[arm]
        gain = 2.0 * eta * eta / probability
        gain[each, arm] -= eta * loss / probability[each, arm]
        w *= np.exp(gain)
        w /= w.max(axis=1, keepdims=True)
    return n
