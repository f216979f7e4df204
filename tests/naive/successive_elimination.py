"""SE-MAB, straight from the page: slow, independent, round by round."""

import math


def play(total, K, T, delta, R=0.5):
    """Play T rounds; total(a, n) is the sum of the first n rewards of arm a."""
    n = [0] * K
    last = [0] * K
    eliminated = [0] * K
    active = set(range(K))
    arms = []
    sums = [0.0] * K

    def wd(s):
        return math.sqrt(4 * R * R * math.log(4 * K * s * s / delta) / (2 * s))

    for t in range(1, T + 1):
        a = t - 1 if t <= K else min(active, key=lambda b: (n[b], b))
        n[a] += 1
        sums[a] = total(a, n[a])
        last[a] = t
        arms.append(a)
        if t > K:
            bad = {
                a
                for a in active
                if any(sums[j] / n[j] - wd(n[j]) > sums[a] / n[a] + wd(n[a]) for j in active)
            }
            for b in bad:
                eliminated[b] = t
            active -= bad
    return {"arms": arms, "n": n, "last": last, "eliminated": eliminated}
