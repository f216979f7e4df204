"""Policy elimination on tabular MDPs, straight from the page and slow.

Policies are enumerated, stage 1 and state 0 first, all other digits after them; what the
algorithm box calls Value is computed for every one of them in every episode. Sums run over
the next states in their order.
"""

import itertools
import math

import numpy as np


def all_policies(S, A, H, points=None):
    """Return all deterministic policies in the order of their index, (n, H, S)."""
    points = np.ones((H, S), bool) if points is None else points
    choices = [range(A) if free else (0,) for free in points.ravel()]
    return np.array(list(itertools.product(*choices))).reshape(-1, H, S)


def values(policies, r, P, b):
    """Return V_1 of every policy at every state: Value(Pi, r, P, b), (n, S)."""
    n, H, S = policies.shape
    V = np.zeros((n, S))
    for h in reversed(range(H)):
        Q = np.zeros((n, S))
        for s in range(S):
            a = policies[:, h, s]
            expected = np.zeros(n)
            for k in range(S):
                expected = expected + P[h, s, a, k] * V[:, k]
            Q[:, s] = np.minimum(expected + (r[h, s, a] + b[h, s, a]), H)
        V = Q
    return V


def paper_bonus(H, S, log_iota):
    """Return b(n) of Eq. def4bonus, clipped at H."""

    def b(n):
        root = H * math.sqrt(2.0 * S * log_iota / n)
        return min(root + 2.0 * H * S * log_iota / (3.0 * n), H)

    return b


def sharp_bonus(H, log_term):
    """Return (H / 2) sqrt(2 log / n), clipped at H."""
    return lambda n: min(H / 2.0 * math.sqrt(2.0 * log_term / n), H)


def draw(p, rng):
    """Return the first state at which the running sum exceeds a uniform number."""
    u = rng.random()
    return int(np.searchsorted(np.cumsum(p)[:-1], u, side="right"))


class Estimation:
    """Uniform-Estimation(delta, Pi, T): what it played, counted and estimated."""

    def __init__(self, policies, mdp, bonus, T, rng):
        P_true, r, mu = mdp
        H, S, A = r.shape
        self.N = np.zeros((H, S, A), np.int64)
        self.N3 = np.zeros((H, S, A, S), np.int64)
        self.starts = np.zeros(S, np.int64)
        self.trace = []  # position of the policy of each episode
        for _ in range(T):
            s = draw(mu, rng)
            self.starts[s] += 1
            n = np.maximum(self.N, 1)
            b = np.vectorize(bonus, otypes=[float])(n)
            V = values(policies, b / H, self.N3 / n[..., None], b)
            self.top = V[:, s].max()
            i = int(V[:, s].argmax())
            self.trace.append(i)
            for h in range(H):
                a = policies[i, h, s]
                self.N[h, s, a] += 1
                if h < H - 1:
                    k = draw(P_true[h, s, a], rng)
                    self.N3[h, s, a, k] += 1
                    s = k
        P = self.N3 / np.maximum(self.N, 1)[..., None]
        V = values(policies, r, P, np.zeros_like(r))
        total = np.zeros(len(policies))
        for s in range(S):
            total = total + self.starts[s] * V[:, s]
        self.estimates = total / T


def play(mdp, horizon, lengths, bonuses, rng, points=None):
    """Play phases of the given lengths and bonuses up to the horizon.

    Return the policy of each episode and, phase by phase, the active policies and what
    Uniform-Estimation found; a phase that the horizon cuts short has no estimates to use.
    """
    r = mdp[1]
    H, S, A = r.shape
    active = all_policies(S, A, H, points)
    trace, phases = [], []
    for m, (T, bonus) in enumerate(zip(lengths, bonuses, strict=True), start=1):
        left = horizon - len(trace)
        phase = Estimation(active, mdp, bonus, min(T, left), rng)
        trace.extend(active[phase.trace])
        phases.append((active, phase))
        if left <= T:
            break
        found = phase.estimates
        active = active[found.max() - found <= 2.0**-m]
    return np.array(trace), phases
