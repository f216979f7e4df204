"""UCB-VI with known rewards, straight from the page: every value anew in every episode.

Sums run over the next states in their order.
"""

import math

import numpy as np


def bonus(S, A, H, episodes, delta):
    """Return 7 H L, the bonus of a single visit, with T = H x episodes."""
    return 7 * H * math.log(5 * S * A * (H * episodes) / delta)


def draw(p, rng):
    """Return the first state at which the running sum exceeds a uniform number."""
    u, last = rng.random(), max(k for k, x in enumerate(p) if x > 0)
    below = 0.0
    for k in range(last):
        below += p[k]
        if u < below:
            return k
    return last


def ucb_q_values(Q, N, N3, r, b, points):
    """Return Q of this episode from that of the one before, and its greedy policy."""
    H, S, A = r.shape
    new, policy, V = np.empty((H, S, A)), np.zeros((H, S), int), [0.0] * S
    for h in reversed(range(H)):
        ahead, V = V, []
        for s in range(S):
            for a in range(A):
                n = int(N[h, s, a])
                if n == 0:
                    new[h, s, a] = H
                    continue
                x = 0.0
                for k in range(S):
                    x += N3[h, s, a, k] / n * ahead[k]
                reward_and_bonus = r[h, s, a] + b / math.sqrt(n)
                new[h, s, a] = min(Q[h, s, a], H, x + reward_and_bonus)
            choices = range(A) if points is None or points[h, s] else (0,)
            policy[h, s] = max(choices, key=lambda a: (new[h, s, a], -a))
            V.append(new[h, s, policy[h, s]])
    return new, policy


def play(mdp, episodes, b, rng, points=None):
    """Play with the bonus b / sqrt(N); mdp is (transitions, rewards, initial distribution).

    Return the policy of each episode, the visits, and Q as it was in the last episode.
    """
    P, r, mu = mdp
    H, S, A = r.shape
    N, N3 = np.zeros((H, S, A), int), np.zeros((H, S, A, S), int)
    Q, trace = np.full((H, S, A), float(H)), []
    for _ in range(episodes):
        Q, policy = ucb_q_values(Q, N, N3, r, b, points)
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
