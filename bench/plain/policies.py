"""Tabular MDPs: the best of listed policies, and UCB-VI a stage at a time."""

from __future__ import annotations

import numpy as np

import uli_fast as uli
from bench.plain.jit import lean
from uli_fast._support.streams import stream


@lean
def best_policy(policies, P, c, s1, V, W):
    """Return the first of the policies whose value at s1 is largest, and that value.

    policies: (n, H, S) of uint8, since an index that cannot be negative need not be checked;
    V, W: (S,) room. Nothing follows the last stage, so its values are read off c; the
    first stage is evaluated in s1 alone.
    """
    n, H, S = policies.shape
    limit = float(H)
    best, first = -1.0, 0
    for i in range(n):
        for s in range(S):
            V[s] = min(c[H - 1, s, policies[i, H - 1, s]], limit)
        for h in range(H - 2, 0, -1):
            for s in range(S):
                a = policies[i, h, s]
                x = 0.0
                for k in range(S):
                    x += P[h, s, a, k] * V[k]
                W[s] = min(x + c[h, s, a], limit)
            V, W = W, V
        a = policies[i, 0, s1]
        x = 0.0
        for k in range(S):
            x += P[0, s1, a, k] * V[k]
        value = min(x + c[0, s1, a], limit)
        if value > best:
            best, first = value, i
    return first, best


def ucbvi_in_numpy(
    mdp: uli.TabularMDP, n: int, bonus: float, rng: np.random.Generator
) -> np.ndarray:
    """Play n episodes of UCB-VI with NumPy, a stage at a time; return the visits."""
    H, S, A = mdp.rewards.shape
    start, cdf = mdp.law(stream(0, 0))[:2]
    N, N3 = np.zeros((H, S, A)), np.zeros((H, S, A, S))
    Q = np.full((H, S, A), float(H))
    for _ in range(n):
        V = np.zeros(S)
        for h in range(H - 1, -1, -1):
            visits = np.maximum(N[h], 1.0)
            new = mdp.unit_rewards[h] + N3[h] @ V / visits + bonus / np.sqrt(visits)
            Q[h] = np.minimum(Q[h], np.where(N[h] > 0, np.minimum(new, H), H))
            V = Q[h].max(axis=1)
        s = int(np.searchsorted(start, rng.random(), side="right"))
        for h in range(H):
            a = int(Q[h, s].argmax())
            N[h, s, a] += 1
            if h < H - 1:
                k = int(np.searchsorted(cdf[h, s, a], rng.random(), side="right"))
                N3[h, s, a, k] += 1
                s = k
    return N
