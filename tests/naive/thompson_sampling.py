"""Thompson sampling, straight from the page: slow, independent, round by round."""

import math


def chance(a, n, wins):
    """Return the exact chance that arm a of two is drawn: a sum over Beta densities.

    P(X > Y) for X ~ Beta(1 + s, 1 + f), Y ~ Beta(1 + u, 1 + v), all whole numbers.
    """
    b = 1 - a
    s, f, u, v = wins[a], n[a] - wins[a], wins[b], n[b] - wins[b]

    def log_beta(x, y):
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    # P(Y > X), from the series of Y's distribution function
    total = 0.0
    for i in range(u + 1):
        total += math.exp(
            log_beta(s + 1 + i, f + v + 2)
            - math.log(v + 1 + i)
            - log_beta(1 + i, v + 1)
            - log_beta(s + 1, f + 1)
        )
    return 1.0 - total


def expected_plays(means, T):
    """Return the expected number of plays of two coins' arms, by going through all histories."""
    law = {(0, 0, 0, 0): 1.0}  # plays and successes of each
    plays = [0.0, 0.0]
    for _ in range(T):
        following = {}
        for (n0, s0, n1, s1), p in law.items():
            first = chance(0, (n0, n1), (s0, s1))
            for a, q in ((0, first), (1, 1.0 - first)):
                plays[a] += p * q
                for won, r in ((1, means[a]), (0, 1.0 - means[a])):
                    key = (n0 + 1, s0 + won, n1, s1) if a == 0 else (n0, s0, n1 + 1, s1 + won)
                    following[key] = following.get(key, 0.0) + p * q * r
        law = following
    return plays
