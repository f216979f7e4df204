"""Exp3.P, straight from the page: slow, independent, round by round."""

import math

MASK = 2**64 - 1


def rotl(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


def xoshiro(words):
    """Yield the doubles of xoshiro256++ from four 64-bit words."""
    s = [int(w) for w in words]
    while True:
        result = (rotl((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 45)
        yield (result >> 11) * 2.0**-53


def pick(p, u):
    """Return the arm that u falls on and the probability below it."""
    arm, below, cumulative = 0, 0.0, 0.0
    for a, pa in enumerate(p):
        if u >= cumulative:
            arm, below = a, cumulative
        cumulative += pa
    return arm, below


def bernoulli_draw(words, loss_probability):
    """Return draw(p, arms): one uniform decides the arm and, by what is left, its loss."""
    uniforms = xoshiro(words)

    def draw(p, arms):
        u = next(uniforms)
        i, below = pick(p, u)
        return i, 1.0 if u - below < p[i] * loss_probability[arms[i]] else 0.0

    return draw


def g(K, delta, constant=361.0):
    return constant * K * math.log(10 * K / delta)


def phase(arms, T, delta, draw, rounds=None):
    """Play Exp3.P tuned to T on these arms; draw(p, arms) gives a position and its loss."""
    K = len(arms)
    gamma = min(0.5, math.sqrt(K * math.log(10 * K / delta) / T))
    beta = eta = gamma / K
    log_w = [0.0] * K
    estimates = [0.0] * K
    played = []
    for _ in range(T if rounds is None else rounds):
        top = max(log_w)
        w = [math.exp(x - top) for x in log_w]
        W = sum(w)
        p = [(1 - gamma) * x / W + gamma / K for x in w]
        i, loss = draw(p, arms)
        played.append(arms[i])
        for a in range(K):
            l_hat = loss / p[a] if a == i else 0.0
            estimates[a] += l_hat
            log_w[a] -= eta * (l_hat - 2 * beta / p[a])
    return played, estimates, log_w
