"""Races by the book: exact fractions for the bets, no logarithms, one pair at a time."""

import math
from fractions import Fraction

N_BETS = 40


def phi(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def mixture(D, v, rho=100.0):
    """E exp(u D - u^2 v / 2) for u = |N(0, 1/rho)|."""
    s = v + rho
    return 2.0 * math.sqrt(rho / s) * math.exp(D * D / (2.0 * s)) * phi(D / math.sqrt(s))


def weights():
    raw = [(k + 8.0) ** -1.5 for k in range(N_BETS)]
    return [x / sum(raw) for x in raw]


def bet_sizes():
    return [2.0 ** (-k / 2) for k in range(N_BETS)]


def factor(u, x_j, x_a, past, N):
    """By what a bet of size u on "j beats a" is multiplied; past: earlier differences."""
    c = 0
    if N:
        c = -sum(past) / (N - len(past))
        c = min(1, max(-1, c))
    u = min(u, Fraction(99, 100) / (1 + max(c, 0)))
    return 1 + u * (x_j - x_a - c)


def wealth(lo_j, hi_a, N):
    """The wealth of "j beats a" after some instances, from scratch."""
    past, grown = [], [1.0] * N_BETS
    for i, (x, y) in enumerate(zip(lo_j, hi_a, strict=True)):
        for k, u in enumerate(bet_sizes()):
            if i >= 2**k // 100:
                grown[k] *= float(factor(u, x, y, past, N))
        past.append(x - y)
    first = sum(w * g for w, g in zip(weights(), grown, strict=True))
    n, S = len(past), sum(past)
    if N and n == N:
        return 0.5 * first
    if N:
        return 0.5 * first + 0.5 * mixture(
            N * S / (N - n), sum((N / (N - i)) ** 2 for i in range(1, n + 1))
        )
    return 0.5 * first + 0.5 * mixture(S, n)


def race(lo, hi, delta, N=0, batch=1):
    """Run a race on a table (rows: instances); return when each was dropped, and who is left."""
    total, K = len(lo), len(lo[0])
    active, dropped, n = list(range(K)), {}, 0
    while n < total and len(active) > 1:
        n = min(total, max(n + batch, n + max(1, n // 50)))
        sums = {a: sum(row[a] for row in lo[:n]) for a in active}
        leader = max(active, key=lambda a: (sums[a], -a))
        for a in [x for x in active if x != leader]:
            above = sums[leader] - sum(row[a] for row in hi[:n])
            settled = N and above > N - n + 1e-9 * n
            column = [row[leader] for row in lo[:n]], [row[a] for row in hi[:n]]
            if settled or wealth(*column, N) >= (K - 1) / (0.9 * delta):
                active.remove(a)
                dropped[a] = n
    return dropped, active


def gap_bound(lo, hi, active, delta, K, N=0):
    """What is certain at a look of everybody left: gap_a <= max_j (M_j - M_a + c) / n."""
    n = len(lo)
    if len(active) == 1:
        return 0.0
    worst = max(
        sum(row[j] for row in hi) - sum(row[a] for row in lo)
        for j in active
        for a in active
        if j != a
    )
    worst = max(0.0, worst)
    if N and n == N:
        return worst / N
    v = sum((N / (N - i)) ** 2 for i in range(1, n + 1)) if N else n
    scale = N / (N - n) if N else 1.0
    low, high = 0.0, 1e6
    while high - low > 1e-10 * high:
        middle = 0.5 * (low + high)
        big = middle * middle > 1000.0 * (v + 100.0)
        if big or mixture(middle, v) >= 2 * (K - 1) / (0.9 * delta):
            high = middle
        else:
            low = middle
    return min((worst + high / scale) / n, (worst + N - n) / N if N else 1.0)
