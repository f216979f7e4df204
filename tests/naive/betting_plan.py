"""When BettingElimination has dropped an arm, if the best mean is known: docs/proofs.md, Planning.

Rewards in [0, 1], the best mean is p. Every number returned is an upper bound on a probability
for any s, lam and group of bets, so that how well they are chosen is no matter of validity.
"""

import math

import numpy as np

from tests.naive.betting_elimination import ENTRIES, SHARE, SIZES, WEIGHTS, look_after

BAND = 0.05  # of delta, for theta
TAIL = 0.05  # of delta, for arms that stay too long
DEAD = -60.0  # a bet may leave below e^DEAD


def kl(x, p):
    """Return the divergence of coins."""
    one = x * math.log(x / p) if x > 0 else 0.0
    return one + ((1 - x) * math.log((1 - x) / (1 - p)) if x < 1 else 0.0)


def bisect(f, inside, outside):
    """Return a point beyond which f > 0, on the side of ``outside``; f rises towards it."""
    if f(outside) <= 0:
        return outside
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if f(middle) <= 0 else (inside, middle)
    return outside


def overlap(x, p):
    """Return -2 log of the overlap of coins: P(n tosses of x match n of p) <= exp(-n overlap)."""
    return -2.0 * math.log(math.sqrt(p * x) + math.sqrt((1 - p) * (1 - x)))


def theta_within(i, level, p, r):
    """Return theta's least and largest value at look i, but for 3 K exp(-i level)."""
    top = bisect(lambda x: kl(x, p) - level, p, 1.0)
    # With r = 1 the leader has the largest sum; else arms of a mean below ``mean`` do not lead.
    mean = p if r == 1 else bisect(lambda x: overlap(x, p) - level, p, 0.0)
    least = bisect(lambda x: kl(x, mean) - level, mean, 0.0) if mean > 0 else 0.0
    shrunk = least + min(0.0, 0.5 - least) / (i + 1), top + max(0.0, 0.5 - top) / (i + 1)
    return max(0.0, shrunk[0]), min(1.0, shrunk[1])


def band(looks, p, K, delta, r):
    """Return theta's least and largest value at every look, but for BAND delta in all."""
    edges = [(0.5, 0.5)]  # before the first look
    for m, i in enumerate(looks[1:], 1):
        level = math.log(3 * K * m * (m + 1) / (BAND * delta)) / i
        edges.append(theta_within(i, level, p, r))
    return np.array(edges).T


def exponents(theta, bets, s, lam, p, g, leader=True):
    """Return logs of the mean of e^(lam (X_j - X_*)) e^(-s L) in a sweep, at its worst.

    theta: (sweeps,). bets: pairs of sizes, (sweeps,), and shares c; L = sum of c times
    log(1 + (X_j - theta) u) + log(1 - (X_a - theta) u). Without ``leader`` j is the best arm.
    """

    def power(x, sign):
        return sum(-s * c * np.log1p(sign * (x - theta) * u) for u, c in bets)

    def coin(mean, zero, one):
        return zero + np.log1p(mean * np.expm1(one - zero))

    other = coin(p - g, power(0.0, -1.0), power(1.0, -1.0))
    if not leader:
        return other + coin(p, power(0.0, 1.0), power(1.0, 1.0))
    # Linear in the leader's mean, which is between 0 and p.
    zero = power(0.0, 1.0)
    lead = np.maximum(zero, coin(p, zero, lam + power(1.0, 1.0)))
    return lead + coin(p, 0.0, -lam) + other


def log_sums(looks, edges, group, s, lam, p, g, leader=True):
    """Return the logs of the product of all sweeps' worst means, at every look but 0."""
    begins, total = np.array(looks[:-1]), sum(WEIGHTS[k] for k in group)
    bets = [(np.where(begins >= ENTRIES[k], SIZES[k], 0.0), WEIGHTS[k] / total) for k in group]
    # Convex in theta: the worst is at an end.
    worst = np.maximum(*(exponents(edge[:-1], bets, s, lam, p, g, leader) for edge in edges))
    return np.cumsum(np.diff(looks) * worst)


def log_staying(looks, edges, group, s, lam, p, g, K, delta):
    """Return the log of a bound on P(a is left after the last look, the leader another arm)."""
    level = math.log(2 * (K - 1) / (SHARE * delta * sum(WEIGHTS[k] for k in group)))
    return math.log(K - 1) + s * level + log_sums(looks, edges, group, s, lam, p, g)[-1]


def log_rest(looks, edges, group, p, g):
    """Return the log of a bound on P(a leads at the last look, or a bet of the group has left)."""
    logs = [-looks[-1] * overlap(p - g, p)]
    for k in group:
        logs.append(
            min(
                np.logaddexp.reduce(s * DEAD + log_sums(looks, edges, [k], s, 0.0, p, g, False))
                for s in (0.5, 1.0)
            )
        )
    return np.logaddexp.reduce(logs)


def log_failure(looks, edges, p, g, K, delta):
    """Return the log of the least bound found on P(a is left after the last look)."""
    from scipy.optimize import minimize

    best, variance = math.inf, 0.5 * (p * (1 - p) + (p - g) * (1 - p + g))
    middle = min(range(2, 60), key=lambda k: abs(math.log(SIZES[k] * 3 * variance / g)))
    for first in range(max(2, middle - 3), middle + 3):  # from 2 on theta does not cap a bet
        group = range(first, first + 3)

        def value(x, group=group):
            s, lam = (math.exp(min(y, 4.0)) for y in x)
            return log_staying(looks, edges, group, s, lam, p, g, K, delta)

        begin = [math.log(0.5), math.log(0.5 * SIZES[first])]
        found = minimize(value, begin, method="Nelder-Mead", options={"maxiter": 50})
        best = min(best, np.logaddexp(found.fun, log_rest(looks, edges, group, p, g)))
    return best


def rounds_until(eps, p, K, delta, r=2, largest=10**7):
    """Return a round after which no arm of gap above eps is played, but for delta in all."""
    looks = [0]
    while looks[-1] < largest:
        looks.append(look_after(looks[-1]))
    edges, wanted = band(looks, p, K, delta, r), math.log(TAIL * delta / (K - 1))

    def early(m):
        return log_failure(looks[: m + 1], edges[:, : m + 1], p, eps, K, delta) > wanted

    low, high = 1, len(looks) - 1
    if early(high):
        return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if early(middle) else (low, middle)
    return looks[high] * (K - 1 + r)
