"""UCB, straight from the page: slow, independent, round by round."""

import math


def play(total, K, T, delta, R=0.5):
    """Play T rounds; total(a, n) is the sum of the first n rewards of arm a."""
    n = [0] * K
    last = [0] * K
    sums = [0.0] * K
    arms = []
    for t in range(1, T + 1):
        if t <= K:
            a = t - 1
        else:
            log_term = math.log(2 * t * t / delta)
            index = [sums[b] / n[b] + 2 * R * math.sqrt(log_term / n[b]) for b in range(K)]
            a = index.index(max(index))
        n[a] += 1
        sums[a] = total(a, n[a])
        last[a] = t
        arms.append(a)
    return {"arms": arms, "n": n, "last": last, "eliminated": [0] * K}
