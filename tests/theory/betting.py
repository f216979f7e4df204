"""BettingElimination of two Bernoulli arms, exactly: every path with its probability.

All looks are after single sweeps here (fewer than 100 of them), so theta may change with every
sweep and a state is a whole path. Paths are rows; sums of a leader's r plays are grouped.
"""

import math
from itertools import product

import numpy as np
from scipy.special import log_ndtr

G, LONGEST = 12, 20  # later bets come in after LONGEST sweeps; until then they keep their money
SIZES = math.sqrt(2.0) * 2.0 ** (-np.arange(G) / 2.0)
WEIGHTS = (np.arange(67) + 8.0) ** -1.5
WEIGHTS /= WEIGHTS.sum()
WAITING, WEIGHTS = WEIGHTS[G:].sum(), WEIGHTS[:G]
ENTRIES = np.array([2**k // 200 for k in range(G)])
assert 2**G // 200 == LONGEST
SHARE = 0.9


def mixture(D, v, rho=25.0):
    s = v + rho
    return np.exp(
        math.log(2.0) - 0.5 * np.log1p(v / rho) + D**2 / (2 * s) + log_ndtr(D / np.sqrt(s))
    )


class Paths:
    """All paths that are left: probability and the sums of both arms."""

    def __init__(self):
        self.p = np.ones(1)
        self.P, self.Q = (np.zeros((1, 2, G)) for _ in range(2))
        self.M, self.V, self.S, self.N = (np.zeros((1, 2)) for _ in range(4))
        self.theta, self.leader = np.full(1, 0.5), np.full(1, -1)

    def rows(self, chosen):
        other = Paths()
        for name, value in vars(self).items():
            setattr(other, name, value[chosen])
        return other

    def sweep(self, n, r, means):
        """Return the paths after one more sweep, the n-th from 0 on."""
        told = []
        for leader in (-1, 0, 1):
            here = self.rows(self.leader == leader)
            if here.p.size == 0:
                continue
            plays = [r if a == leader else 1 for a in range(2)]
            for sums in product(*(range(k + 1) for k in plays)):
                told.append(here.after(n, plays, sums, means))
        both = Paths()
        for name in vars(both):
            setattr(both, name, np.concatenate([getattr(t, name) for t in told]))
        return both

    def after(self, n, plays, sums, means):
        new = self.rows(np.arange(self.p.size))  # a copy
        u = np.minimum(SIZES, 0.99 / np.maximum(self.theta, 1 - self.theta)[:, None])
        u = np.where(n >= ENTRIES, u, 0.0)
        for a, (k, s) in enumerate(zip(plays, sums, strict=True)):
            up, down = (1 - self.theta)[:, None] * u / k, -self.theta[:, None] * u / k
            new.P[:, a] = self.P[:, a] + s * np.log1p(up) + (k - s) * np.log1p(down)
            new.Q[:, a] = self.Q[:, a] + s * np.log1p(-up) + (k - s) * np.log1p(-down)
            new.M[:, a] = self.M[:, a] + s / k
            new.V[:, a] = self.V[:, a] + 1 / k
            new.S[:, a], new.N[:, a] = self.S[:, a] + s, self.N[:, a] + k
            new.p = new.p * math.comb(k, s) * means[a] ** s * (1 - means[a]) ** (k - s)
        return new

    def wealth(self, j, a):
        first = WAITING + np.exp(self.P[:, j] + self.Q[:, a]) @ WEIGHTS
        D, v = self.M[:, j] - self.M[:, a], 0.25 * (self.V[:, j] + self.V[:, a])
        return 0.5 * (first + mixture(D, v))

    def look(self, level):
        """Set leader and theta; return which paths drop arm 0 and which arm 1."""
        self.leader = (self.M[:, 1] > self.M[:, 0]).astype(int)
        at = np.arange(self.p.size), self.leader
        self.theta = (self.S[at] + 0.5) / (self.N[at] + 1.0)
        return [(self.leader == 1 - a) & (self.wealth(1 - a, a) >= level) for a in range(2)]


def dropped_by(sweeps, delta, r, means):
    """Return P(arm 0 is dropped by look n) and P(arm 1 is), for n = 1 ... ``sweeps``."""
    assert sweeps < LONGEST
    paths, gone, table = Paths(), np.zeros(2), []
    for n in range(sweeps):
        paths = paths.sweep(n, r, means)
        falls = paths.look(1.0 / (SHARE * delta))
        gone += [paths.p[fall].sum() for fall in falls]
        paths = paths.rows(~(falls[0] | falls[1]))
        table.append(gone.copy())
    return np.array(table)


def rounds_of(n, r):
    """Return the round at which look n of two arms comes, while both are left."""
    return 2 + (n - 1) * (1 + r)
