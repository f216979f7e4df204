"""lil'UCB, straight from the page: slow, independent, round by round."""

import math


def play(total, K, T, delta, R=0.5):
    """Play T rounds; total(a, n) is the sum of the first n rewards of arm a."""
    n = [0] * K
    last = [0] * K
    sums = [0.0] * K
    arms = []

    def bonus(x):
        log_term = math.log(math.log(max(x, math.e))) + math.log(6 / delta)
        return 2 * R * math.sqrt(log_term / x)

    for t in range(1, T + 1):
        if t <= K:
            a = t - 1
        else:
            index = [sums[b] / n[b] + bonus(n[b]) for b in range(K)]
            a = index.index(max(index))
        n[a] += 1
        sums[a] = total(a, n[a])
        last[a] = t
        arms.append(a)
    return {"arms": arms, "n": n, "last": last, "eliminated": [0] * K}


def last_bad_round(gap, delta):
    """Exact t0 of the deterministic two-armed instance, in arbitrary precision."""
    import mpmath as mp

    with mp.workdps(60):
        gap, log_term = mp.mpf(gap), mp.log(6 / mp.mpf(delta))

        def bonus(x):
            x = mp.mpf(x)
            return mp.sqrt((mp.log(mp.log(max(x, mp.e))) + log_term) / x)

        def first(condition):
            high = 2
            while not condition(high):
                high *= 2
            low = 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if condition(middle) else (middle, high)
            return high

        plays = first(lambda x: bonus(x) <= gap) - 1  # n*, the largest count with U > gap
        leader = first(lambda x: bonus(x) <= bonus(plays) - gap)  # x*
        return plays + leader + 1
