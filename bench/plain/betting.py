"""BettingElimination: the leader plays twice."""

from __future__ import annotations

import math

import numpy as np

from bench.plain.jit import plain

GRID = 67
SIZES = np.sqrt(2.0) * 2.0 ** (-np.arange(GRID) / 2.0)
WEIGHTS = (np.arange(GRID) + 8.0) ** -1.5
LOG_WEIGHTS = np.log(WEIGHTS / WEIGHTS.sum())
ENTRIES = np.array([2**k // 200 for k in range(GRID)], np.int64)
LEADER, RHO = 2, 25.0


@plain
def log_mix(D, v):
    """Log of the half-normal mixture; D is not far below 0 where it matters."""
    s = v + RHO
    tail = math.log(max(0.5 * math.erfc(-D / math.sqrt(2.0 * s)), 1e-300))
    return math.log(2.0) - 0.5 * math.log1p(v / RHO) + D * D / (2.0 * s) + tail


@plain
def betting_elimination(p, T, delta, rng):
    """Sweeps of coins between looks; at a look the logs of every bet, for every arm."""
    K = p.shape[0]
    n, active = np.zeros(K, np.int64), np.ones(K, np.bool_)
    S, M, V = np.zeros(K), np.zeros(K), np.zeros(K)
    P, Q = np.zeros((K, GRID)), np.zeros((K, GRID))
    order, wins = np.empty(K + LEADER, np.int64), np.empty(K + LEADER, np.int64)
    limit, left, lead, theta = math.log((K - 1) / (0.9 * delta)), K, -1, 0.5
    t, sweeps, look = 0, 0, 1
    while t < T and left > 1:
        L = 0
        for a in range(K):
            if active[a]:
                for _ in range(LEADER if a == lead else 1):
                    order[L] = a
                    L += 1
        wins[:] = 0
        k = min(look - sweeps, (T - t) // L)
        for _ in range(k):
            for i in range(L):
                wins[i] += rng.random() < p[order[i]]
        for i in range(L):
            n[order[i]] += k
        t += k * L
        if k < look - sweeps:  # the horizon cuts a sweep
            for i in range(T - t):
                n[order[i]] += 1
            return n
        cap, i, g1 = 0.99 / max(theta, 1.0 - theta), 0, 0
        while g1 < GRID and ENTRIES[g1] <= sweeps:
            g1 += 1
        for a in range(K):
            if active[a]:
                r = LEADER if a == lead else 1
                won = 0.0
                for _ in range(r):
                    won += wins[i]
                    i += 1
                lost = k * r - won
                for g in range(g1):
                    u = min(SIZES[g], cap) / r
                    up, down = (1.0 - theta) * u, theta * u
                    P[a, g] += won * math.log1p(up) + lost * math.log1p(-down)
                    Q[a, g] += won * math.log1p(-up) + lost * math.log1p(down)
                S[a] += won
                M[a] += won / r
                V[a] += k / r
        sweeps, look = look, look + max(1, look // 50)
        lead = -1
        for a in range(K):
            if active[a] and (lead < 0 or M[a] > M[lead]):
                lead = a
        for a in range(K):
            if active[a] and a != lead:
                second = log_mix(M[lead] - M[a], 0.25 * (V[lead] + V[a]))
                top = second
                for g in range(GRID):
                    top = max(top, LOG_WEIGHTS[g] + P[lead, g] + Q[a, g])
                wealth = math.exp(second - top)
                for g in range(GRID):
                    wealth += math.exp(LOG_WEIGHTS[g] + P[lead, g] + Q[a, g] - top)
                if top + math.log(0.5 * wealth) >= limit:
                    active[a] = False
                    left -= 1
        theta = (S[lead] + 0.5) / (n[lead] + 1.0)
    if t < T:
        n[lead] += T - t
    return n
