"""BettingElimination of two Bernoulli arms, exactly: every path with its probability.

Looks come after every sweep here (there are fewer than 20), so theta may change with each and a
state is a whole path. Paths are rows; sums of a leader's r plays are grouped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np

from uli_fast._typing import B1, F64, I64

ALL_WEIGHTS = (np.arange(67) + 8.0) ** -1.5
ALL_WEIGHTS /= ALL_WEIGHTS.sum()
G, LONGEST = 12, 20  # later bets come in after LONGEST sweeps; until then they keep their money
SIZES = math.sqrt(2.0) * 2.0 ** (-np.arange(G) / 2.0)
WEIGHTS, WAITING = ALL_WEIGHTS[:G], float(ALL_WEIGHTS[G:].sum())
ENTRIES = np.array([2**k // 200 for k in range(G)])
SHARE = 0.9  # of delta, for eliminations
RHO = 25.0


def mixture(D: F64, v: F64) -> F64:
    """Return E exp(u D - u^2 v / 2) over u = |N(0, 1 / rho)|."""
    from scipy.special import ndtr

    s = v + RHO
    mixed: F64 = 2.0 * np.sqrt(RHO / s) * np.exp(D**2 / (2.0 * s)) * ndtr(D / np.sqrt(s))
    return mixed


@dataclass
class Paths:
    """Paths on which both arms are left: probability, and the sums of both."""

    p: F64  # (paths,)
    P: F64  # (paths, 2, G)
    Q: F64
    M: F64  # (paths, 2)
    V: F64
    S: F64
    N: F64
    theta: F64  # (paths,)
    leader: I64  # -1 before the first look

    def rows(self, chosen: Any) -> Paths:
        """Return a copy of some paths."""
        return Paths(*(getattr(self, f.name)[chosen].copy() for f in fields(self)))

    def sweep(self, n: int, r: int, means: Sequence[float]) -> Paths:
        """Return the paths after one more sweep, n of them having been before."""
        told = []
        for leader in (-1, 0, 1):
            here = self.rows(self.leader == leader)
            plays = [r if a == leader else 1 for a in range(2)]
            for sums in product(*(range(k + 1) for k in plays)):
                told.append(here.after(n, plays, sums, means))
        names = [f.name for f in fields(self)]
        return Paths(*(np.concatenate([getattr(t, name) for t in told]) for name in names))

    def after(
        self, n: int, plays: Sequence[int], sums: Sequence[int], means: Sequence[float]
    ) -> Paths:
        """Return the paths after a sweep in which these sums come out."""
        new, theta = self.rows(slice(None)), self.theta[:, None]
        u = np.where(n >= ENTRIES, np.minimum(SIZES, 0.99 / np.maximum(theta, 1.0 - theta)), 0.0)
        for a, (k, s) in enumerate(zip(plays, sums, strict=True)):
            up, down = (1.0 - theta) * u / k, -theta * u / k
            new.P[:, a] += s * np.log1p(up) + (k - s) * np.log1p(down)
            new.Q[:, a] += s * np.log1p(-up) + (k - s) * np.log1p(-down)
            for of, more in ((new.M, s / k), (new.V, 1.0 / k), (new.S, s), (new.N, k)):
                of[:, a] += more
            new.p *= math.comb(k, s) * means[a] ** s * (1.0 - means[a]) ** (k - s)
        return new

    def wealth(self, j: int, a: int) -> F64:
        """Return W of "j beats a" on every path."""
        first = WAITING + np.exp(self.P[:, j] + self.Q[:, a]) @ WEIGHTS
        v = 0.25 * (self.V[:, j] + self.V[:, a])
        wealth: F64 = 0.5 * (first + mixture(self.M[:, j] - self.M[:, a], v))
        return wealth

    def look(self, level: float) -> tuple[B1, B1]:
        """Set leader and theta; return which paths drop arm 0, and which arm 1."""
        self.leader = (self.M[:, 1] > self.M[:, 0]).astype(np.int64)
        at = np.arange(self.p.size), self.leader
        self.theta = (self.S[at] + 0.5) / (self.N[at] + 1.0)
        first, second = self.wealth(1, 0) >= level, self.wealth(0, 1) >= level
        return (self.leader == 1) & first, (self.leader == 0) & second


def start() -> Paths:
    """Return the one path before the first round."""
    bets, sums = np.zeros((1, 2, G)), np.zeros((1, 2))
    half, nobody = np.full(1, 0.5), np.full(1, -1, np.int64)
    begun = Paths(np.ones(1), bets, bets, sums, sums, sums, sums, half, nobody)
    return begun.rows(slice(None))  # each array its own


def dropped_by(sweeps: int, delta: float, r: int, means: Sequence[float]) -> F64:
    """Return P(arm 0 is dropped by look n) and P(arm 1 is), (sweeps, 2), n from 1 on."""
    if sweeps >= LONGEST:
        raise ValueError("too long: more bets would come in")
    paths, table = start(), np.zeros((sweeps, 2))
    for n in range(sweeps):
        paths = paths.sweep(n, r, means)
        falls = paths.look(1.0 / (SHARE * delta))
        table[n] = [paths.p[fall].sum() for fall in falls]
        paths = paths.rows(~(falls[0] | falls[1]))
    total: F64 = table.cumsum(axis=0)
    return total


def rounds_of(n: int, r: int) -> int:
    """Return the round at which look n comes while both arms are left."""
    return 2 + (n - 1) * (1 + r)
