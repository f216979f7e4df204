"""KL-UCB, straight from the page: slow, independent, round by round."""

import math


def divergence(p, q):
    """Return the Kullback-Leibler divergence of two coins."""
    if p == q:
        return 0.0
    left = p * math.log(p / q) if p > 0 else 0.0
    if p == 1:
        return left
    return left + (1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else math.inf


def index(mean, n, level):
    """Return the largest q with n kl(mean, q) <= level, by bisection."""
    if mean >= 1:
        return 1.0
    low, high = mean, 1.0
    while True:
        q = (low + high) / 2
        if q in (low, high):
            return low
        if n * divergence(mean, q) <= level:
            low = q
        else:
            high = q


def play(total, K, T, delta=None, R=None):
    """Play T rounds; total(a, n) is the sum of the first n rewards of arm a.

    Without R the divergence is that of coins, else that of Gaussians; delta decides nothing.
    """
    n = [0] * K
    last = [0] * K
    sums = [0.0] * K
    arms = []
    for t in range(1, T + 1):
        level = math.log(t)
        if t <= K:
            a = t - 1
        elif R is None:
            values = [index(sums[b] / n[b], n[b], level) for b in range(K)]
            a = values.index(max(values))
        else:
            values = [sums[b] / n[b] + R * math.sqrt(2 * level / n[b]) for b in range(K)]
            a = values.index(max(values))
        n[a] += 1
        sums[a] = total(a, n[a])
        last[a] = t
        arms.append(a)
    return {"arms": arms, "n": n, "last": last, "eliminated": [0] * K}
