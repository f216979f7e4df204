"""KL-UCB, straight from the page: slow, independent, round by round."""

import math


def index(total, n, level):
    """Return -log(1 - q) for the largest q with n kl(total / n, q) <= level, by bisection.

    It orders arms as q does, and q near 1 has no digits left to compare.
    """
    lost = n - total
    if lost <= 0:
        return math.inf
    m, w = total / n, lost / n
    if m <= 0:
        return level / n

    def divergence(z):
        return m * math.log(m / -math.expm1(-z)) + w * (math.log(w) + z)

    low = -math.log(w)
    high = 2 * low + 1
    while n * divergence(high) <= level:
        high *= 2
    while True:
        z = (low + high) / 2
        if z in (low, high):
            return low
        if n * divergence(z) <= level:
            low = z
        else:
            high = z


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
            values = [index(sums[b], n[b], level) for b in range(K)]
            a = values.index(max(values))
        else:
            values = [sums[b] / n[b] + R * math.sqrt(2 * level / n[b]) for b in range(K)]
            a = values.index(max(values))
        n[a] += 1
        sums[a] = total(a, n[a])
        last[a] = t
        arms.append(a)
    return {"arms": arms, "n": n, "last": last, "eliminated": [0] * K}
