"""UBEV with known rewards, straight from the page: every value anew in every episode.

Sums run over the next states in their order.
"""

import math

import numpy as np


def log_term(S, A, H, delta):
    """Return log(18 S A H / delta)."""
    return math.log(18 * S * A * H / delta)


def phi(n, log_term):
    """Return the confidence width of n visits."""
    return math.sqrt((2 * math.log(math.log(max(math.e, n))) + log_term) / n)


def draw(p, rng):
    """Return the first state at which the running sum exceeds a uniform number."""
    u, last = rng.random(), max(k for k, x in enumerate(p) if x > 0)
    below = 0.0
    for k in range(last):
        below += p[k]
        if u < below:
            return k
    return last


def optimistic_values(N, N3, r, log_term, points):
    """Return Q and its greedy policy."""
    H, S, A = r.shape
    Q, policy, V = np.empty((H, S, A)), np.zeros((H, S), int), [0.0] * S
    for h in range(H, 0, -1):  # as on the page, the first stage is 1
        ahead, V = V, []
        for s in range(S):
            for a in range(A):
                n = int(N[h - 1, s, a])
                if n == 0:
                    Q[h - 1, s, a] = r[h - 1, s, a] + max(ahead)
                    continue
                x = 0.0
                for k in range(S):
                    x += N3[h - 1, s, a, k] / n * ahead[k]
                rest = min(max(ahead), x + (H - h) * phi(n, log_term))
                Q[h - 1, s, a] = r[h - 1, s, a] + rest
            choices = range(A) if points is None or points[h - 1, s] else (0,)
            best = max(choices, key=lambda a: (Q[h - 1, s, a], -a))
            policy[h - 1, s] = best
            V.append(Q[h - 1, s, best])
    return Q, policy


def play(mdp, episodes, log_term, rng, points=None):
    """Play; mdp is (transitions, rewards, initial distribution).

    Return the policy of each episode, the visits, and Q as it was in the last episode.
    """
    P, r, mu = mdp
    H, S, A = r.shape
    N, N3 = np.zeros((H, S, A), int), np.zeros((H, S, A, S), int)
    trace = []
    for _ in range(episodes):
        Q, policy = optimistic_values(N, N3, r, log_term, points)
        trace.append(policy)
        s = draw(mu, rng)
        for h in range(H):
            a = policy[h, s]
            N[h, s, a] += 1
            if h < H - 1:
                k = draw(P[h, s, a], rng)
                N3[h, s, a, k] += 1
                s = k
    return {"trace": np.array(trace), "visits": N, "Q": Q}
