"""BettingElimination, and side by side in NumPy: the leader plays twice."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfc

from bench.plain.jit import plain
from bench.plain.stream import opened, uniform

GRID = 67
SIZES = np.sqrt(2.0) * 2.0 ** (-np.arange(GRID) / 2.0)
WEIGHTS = (np.arange(GRID) + 8.0) ** -1.5
LOG_WEIGHTS = np.log(WEIGHTS / WEIGHTS.sum())
# The log of what the first g bets leave to the others, which have kept their money so far.
TAILS = np.append(np.cumsum((WEIGHTS / WEIGHTS.sum())[::-1])[::-1], 0.0)
LOG_REST = np.log(np.maximum(TAILS, 1e-300))
ENTRIES = np.array([2**k // 200 for k in range(GRID)], np.int64)
LEADER, RHO = 2, 25.0


@plain
def log_mix(D, v):
    """Log of the half-normal mixture; D is not far below 0 where it matters."""
    s = v + RHO
    tail = math.log(max(0.5 * math.erfc(-D / math.sqrt(2.0 * s)), 1e-300))
    return math.log(2.0) - 0.5 * math.log1p(v / RHO) + D * D / (2.0 * s) + tail


@plain
def logs(theta, r, g1, out):
    """Write what a reward and none are to the first g1 bets on an arm with r plays a sweep.

    out: (4, GRID) for who bets on the arm (reward, none) and against it.
    """
    cap = 0.99 / max(theta, 1.0 - theta)
    for g in range(g1):
        u = min(SIZES[g], cap) / r
        up, down = (1.0 - theta) * u, theta * u
        out[0, g], out[1, g] = math.log1p(up), math.log1p(-down)
        out[2, g], out[3, g] = math.log1p(-up), math.log1p(down)


@plain
def beaten(P, Q, g1, second, limit):
    """Return whether the money on one arm against another has reached the limit."""
    top = max(second, LOG_REST[g1])
    for g in range(g1):
        top = max(top, LOG_WEIGHTS[g] + P[g] + Q[g])
    if top + math.log(0.5 * (g1 + 2.0)) < limit:  # most are far from it
        return False
    wealth = math.exp(second - top) + math.exp(LOG_REST[g1] - top)
    for g in range(g1):
        wealth += math.exp(LOG_WEIGHTS[g] + P[g] + Q[g] - top)
    return top + math.log(0.5 * wealth) >= limit


@plain
def betting_elimination(p, T, delta, words):
    """Sweeps of coins between looks; at a look the logs of every bet, shared by the arms."""
    K, s = p.shape[0], opened(words)
    n, active = np.zeros(K, np.int64), np.ones(K, np.bool_)
    S, M, V = np.zeros(K), np.zeros(K), np.zeros(K)
    P, Q = np.zeros((K, GRID)), np.zeros((K, GRID))
    once, twice = np.empty((4, GRID)), np.empty((4, GRID))
    order, wins = np.empty(K + LEADER, np.int64), np.empty(K + LEADER, np.int64)
    limit, left, lead, theta = math.log((K - 1) / (0.9 * delta)), K, -1, 0.5
    t, sweeps, look, g1 = 0, 0, 1, 0
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
                u, s = uniform(s)
                wins[i] += u < p[order[i]]
        for i in range(L):
            n[order[i]] += k
        t += k * L
        if k < look - sweeps:  # the horizon cuts a sweep
            for i in range(T - t):
                n[order[i]] += 1
            return n
        while g1 < GRID and ENTRIES[g1] <= sweeps:
            g1 += 1
        logs(theta, 1, g1, once)
        logs(theta, LEADER, g1, twice)
        i = 0
        for a in range(K):
            if active[a]:
                r, log = (LEADER, twice) if a == lead else (1, once)
                won = 0.0
                for _ in range(r):
                    won += wins[i]
                    i += 1
                lost = k * r - won
                for g in range(g1):
                    P[a, g] += won * log[0, g] + lost * log[1, g]
                    Q[a, g] += won * log[2, g] + lost * log[3, g]
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
                if beaten(P[lead], Q[a], g1, second, limit):
                    active[a] = False
                    left -= 1
        theta = (S[lead] + 0.5) / (n[lead] + 1.0)
    if t < T:
        n[lead] += T - t
    return n


class SideBySide:
    """What replications in NumPy keep while they play; those that are done have left."""

    def __init__(self, K, T, M):
        G = int((ENTRIES <= T).sum())  # the others never enter
        self.number = np.arange(M)
        self.n, self.active = np.zeros((M, K), np.int64), np.ones((M, K), np.bool_)
        self.plays = np.ones((M, K), np.int64)  # in a sweep
        self.S, self.M, self.V = np.zeros((M, K)), np.zeros((M, K)), np.zeros((M, K))
        self.P, self.Q = np.zeros((M, K, G)), np.zeros((M, K, G))
        self.lead, self.theta = np.zeros(M, np.int64), np.full(M, 0.5)

    def leave(self, done, n, counts):
        """Write the pulls of those that are done into counts."""
        counts[self.number[done]] = n[done]
        if done.any():
            for name, x in vars(self).items():
                setattr(self, name, x[~done])

    def bet(self, won, k, G):
        """Settle the first G bets on k sweeps."""
        each, theta = np.arange(len(won)), self.theta[:, None]
        r = np.maximum(self.plays, 1)
        lost = k * r - won
        u = np.minimum(SIZES[:G], 0.99 / np.maximum(theta, 1.0 - theta))
        led = np.flatnonzero(self.plays[each, self.lead] == LEADER)
        theirs = (led, self.lead[led])
        for kept, sign in ((self.P, 1.0), (self.Q, -1.0)):
            up, down = (np.log1p(x * sign * u) for x in (1.0 - theta, -theta))
            change = won[:, :, None] * up[:, None]
            change += lost[:, :, None] * down[:, None]
            up, down = (np.log1p(x[led] * sign / LEADER * u[led]) for x in (1.0 - theta, -theta))
            change[theirs] = won[theirs][:, None] * up + lost[theirs][:, None] * down
            kept[:, :, :G] += change
        self.S += won
        self.M += won / r
        self.V += k / r

    def drop(self, G, limit):
        """Choose the leaders, and drop whom they beat."""
        each = np.arange(len(self.n))
        self.lead = lead = np.where(self.active, self.M, -np.inf).argmax(axis=1)
        D, v = self.M[each, lead, None] - self.M, 0.25 * (self.V[each, lead, None] + self.V)
        tail = np.log(np.maximum(0.5 * erfc(-D / np.sqrt(2.0 * (v + RHO))), 1e-300))
        second = math.log(2.0) - 0.5 * np.log1p(v / RHO) + D * D / (2.0 * (v + RHO)) + tail
        money = self.Q[:, :, :G] + (self.P[each, lead, :G] + LOG_WEIGHTS[:G])[:, None]
        top = np.maximum(money.max(axis=2, initial=LOG_REST[G]), second)
        near = self.active & (top + math.log(0.5 * (G + 2.0)) >= limit)
        near[each, lead] = False
        top = top[near]
        wealth = np.exp(second[near] - top) + np.exp(LOG_REST[G] - top)
        wealth += np.exp(money[near] - top[:, None]).sum(axis=1)
        self.active[near] = top + np.log(0.5 * wealth) < limit
        self.theta = (self.S[each, lead] + 0.5) / (self.n[each, lead] + 1.0)
        self.plays = self.active.astype(np.int64)
        self.plays[each, lead] = LEADER


def betting_elimination_side_by_side(p, T, delta, rng, M):
    """BettingElimination in NumPy, M replications at once, sweep by sweep: they look together."""
    K, limit = p.size, math.log((p.size - 1) / (0.9 * delta))
    counts, kept = np.zeros((M, K), np.int64), SideBySide(K, T, M)
    sweeps, look = 0, 1
    while kept.number.size:
        k, L = look - sweeps, kept.plays.sum(axis=1, keepdims=True)
        left = T - kept.n.sum(axis=1, keepdims=True)
        before = kept.plays.cumsum(axis=1) - kept.plays
        cut = left // L * kept.plays + np.clip(left % L - before, 0, kept.plays)
        kept.leave((left < k * L)[:, 0], kept.n + cut, counts)
        at = np.repeat(np.arange(kept.plays.size), kept.plays.ravel())
        q, wins = p[at % K], np.zeros(at.size)
        for _ in range(k):
            wins += rng.random(at.size) < q
        kept.n += k * kept.plays
        G = int((ENTRIES <= sweeps).sum())
        kept.bet(np.bincount(at, wins, kept.plays.size).reshape(-1, K), k, G)
        kept.drop(G, limit)
        rest = (T - kept.n.sum(axis=1, keepdims=True)) * kept.active
        kept.leave(kept.active.sum(axis=1) == 1, kept.n + rest, counts)
        sweeps, look = look, look + max(1, look // 50)
    return counts
