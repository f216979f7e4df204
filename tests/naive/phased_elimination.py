"""PE-MAB, straight from the page: slow, independent, round by round."""

import math


def play(total, K, T, delta, R=0.5):
    """Play T rounds; total(a, n) is the sum of the first n rewards of arm a."""
    n = [0] * K
    last = [0] * K
    eliminated = [0] * K
    active = list(range(K))
    arms = []
    t = 0
    phase = 0
    while t < T:
        phase += 1
        m = math.ceil(4 * R * R * 2 ** (2 * phase + 1) * math.log(4 * K * phase**2 / delta))
        mean = {}
        for a in active:
            before = total(a, n[a])
            for _ in range(m):
                if t == T:
                    break
                t += 1
                n[a] += 1
                total(a, n[a])
                last[a] = t
                arms.append(a)
            else:
                mean[a] = (total(a, n[a]) - before) / m
        if len(mean) == len(active):
            best = max(mean.values())
            for a in active:
                if best - mean[a] > 2.0**-phase:
                    eliminated[a] = t
            active = [a for a in active if not eliminated[a]]
    return {"arms": arms, "n": n, "last": last, "eliminated": eliminated}
