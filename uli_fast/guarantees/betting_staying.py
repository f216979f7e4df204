"""How long an arm can stay under betting elimination, if the best mean is p.

docs/proofs.md, "Planning": rewards in [0, 1], the best mean is p, an arm is g worse. B bounds the
probability that it survives a look, as a sum of three: (i) it leads there itself; (ii) another
arm leads and has not won enough; (iii) a bet that should have won was let go before. B holds for
any group of bets and any s, lam >= 0: how well they are chosen matters for the figure, and never
for its validity. For fixed ones B is known at all looks at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64
from uli_fast.formulas.betting_elimination import ELIMINATION, log_threshold
from uli_fast.guarantees.betting_grid import grid
from uli_fast.guarantees.betting_looks import looks_until

BAND = 0.05  # of delta, for theta
TAIL = 0.05  # of delta, for arms that stay too long
DEAD = -60.0  # the log of what a bet is worth when it may be let go: WORTHLESS of the kernel
FARTHEST = 10**18  # rounds
BISECTIONS = 60
FIRST, LAST, GROUP = 2, 60, 3  # bets that theta never caps; how many make a group
AROUND = 3  # groups on either side of the size that fits g
MOST_LOG = 4.0  # s and lam stay below e^4


class Setting(NamedTuple):
    """What is known about the looks before anything is played."""

    p: float
    K: int
    delta: float
    r: int
    looks: list[int]  # n_0 = 0, n_1, ..., n_L
    theta: F64  # (2, L) its least and largest value in the sweeps after n_0, ..., n_(L-1)

    @property
    def wanted(self) -> float:
        """The log of what B may be for each arm."""
        return math.log(TAIL) - log_threshold(self.K, self.delta)


def divergence(p: F64, d: F64) -> F64:
    """Return kl(p + d, p), to many digits also where d is small."""
    from scipy.special import xlog1py

    return np.asarray(xlog1py(p + d, d / p) + xlog1py((1.0 - p) - d, -d / (1.0 - p)))


def overlap(p: float, d: F64) -> F64:
    """Return -2 log of the overlap of coins p and p - d: exp(-n overlap) that n tosses match."""
    q = np.maximum(p - d, 0.0)
    heads = d / (math.sqrt(p) + np.sqrt(q))
    tails = d / (math.sqrt(1.0 - p) + np.sqrt(1.0 - q))
    return np.asarray(-2.0 * np.log1p(-0.5 * (heads * heads + tails * tails)))


def reach(excess: Callable[[F64], F64], end: F64) -> F64:
    """Return the d in [0, end] beyond which a rising excess(d) > 0, rounded outwards."""
    inside, outside = np.zeros_like(end), end.copy()
    for _ in range(BISECTIONS):
        middle = 0.5 * (inside + outside)
        below = excess(middle) <= 0.0
        inside, outside = np.where(below, middle, inside), np.where(below, outside, middle)
    return np.where(excess(end) > 0.0, outside, end)


def theta_band(at: list[int], p: float, K: int, delta: float, r: int) -> F64:
    """Return theta's least and largest value at every look but the last: BAND delta for all."""
    i = np.array(at[1:-1], np.float64)
    m = np.arange(1.0, i.size + 1.0)
    level = (math.log(3.0 * K / BAND) - math.log(delta) + np.log(m) + np.log(m + 1.0)) / i
    ones = np.ones_like(i)
    top = p + reach(lambda d: divergence(p * ones, d) - level, (1.0 - p) * ones)
    # With r = 1 the leader has the largest sum; else arms of a mean below q do not lead.
    q = p * ones if r == 1 else p - reach(lambda d: overlap(p, d) - level, p * ones)
    base = np.maximum(q, 1e-300)
    least = q - reach(lambda d: divergence(base, -d) - level, q)
    least += np.minimum(0.0, 0.5 - least) / (i + 1.0)  # (S + 1/2) / (N + 1)
    top += np.maximum(0.0, 0.5 - top) / (i + 1.0)
    ends = np.clip([least, top], 0.0, 1.0)
    return np.concatenate([np.full((2, 1), 0.5), ends], axis=1)


@lru_cache(maxsize=16)
def setting(p: float, K: int, delta: float, r: int) -> Setting:
    """Return the looks of 10^18 rounds and where theta is."""
    at = looks_until(FARTHEST // (K - 1 + r))
    return Setting(p, K, delta, r, at, theta_band(at, p, K, delta, r))


def coin(mean: float, zero: F64 | float, one: F64 | float) -> F64:
    """Return log E e^x where x is ``one`` with probability ``mean``, and else ``zero``."""
    return np.asarray(zero + np.log1p(mean * np.expm1(np.subtract(one, zero))))


class Odds:
    """Logs of what a group of bets makes of outcomes 0 and 1, and bounds that follow for g."""

    def __init__(self, known: Setting, group: range, g: float) -> None:
        u, log_w, _, enter = grid()
        w = np.exp(log_w[list(group)])
        at = np.array(known.looks, np.float64)
        self.known, self.g, self.size = known, g, u[group[0]]
        self.counts = np.diff(at)
        # what the leader must make with these bets alone
        needed = log_threshold(known.K, ELIMINATION * known.delta)
        self.level = math.log(2.0) + needed - math.log(w.sum())
        self.bets = np.zeros((GROUP, 4, *known.theta.shape))  # (bet, win or lose by 0 or 1, end, L)
        for bet, k in zip(self.bets, group, strict=True):
            up = np.where(at[:-1] >= enter[k], u[k], 0.0) * known.theta
            down = np.where(at[:-1] >= enter[k], u[k], 0.0) - up
            bet[:] = np.log1p([-up, down, up, -down])
        self.logs = np.tensordot(w / w.sum(), self.bets, 1)
        self.rest = self._rest(at[1:])

    def staying(self, s: float, lam: float, m: int) -> F64:
        """Return logs of the bound (ii) at looks 1..m."""
        p, K = self.known.p, self.known.K
        up0, up1, down0, down1 = -s * self.logs[..., :m]
        # linear in the leader's mean, which is between 0 and p
        lead = np.maximum(up0, coin(p, up0, lam + up1)) + coin(p, 0.0, -lam)
        worst = (lead + coin(p - self.g, down0, down1)).max(axis=0)  # convex in theta
        return math.log(K - 1) + s * self.level + np.cumsum(self.counts[:m] * worst)

    def failing(self, s: float, lam: float, m: int) -> F64:
        """Return the logs of B at looks 1..m."""
        return np.logaddexp(self.staying(s, lam, m), self.rest[:m])

    def _rest(self, at: F64) -> F64:
        """Return logs of (i) and (iii) at all looks: it leads, or a bet has left."""
        total = -at * overlap(self.known.p, np.full(at.size, self.g))
        for bet in self.bets:
            left = [np.logaddexp.accumulate(self._leaving(s, bet)) for s in (0.5, 1.0)]
            total = np.logaddexp(total, np.minimum(*left))
        return np.asarray(total)

    def _leaving(self, s: float, bet: F64) -> F64:
        """Return logs of P(the best arm's bet against this one is dead) at each look."""
        up0, up1, down0, down1 = -s * bet
        p = self.known.p
        worst = (coin(p, up0, up1) + coin(p - self.g, down0, down1)).max(axis=0)
        return s * DEAD + np.cumsum(self.counts * worst)


def tuned(odds: Odds, begin: tuple[float, float], m: int) -> tuple[float, float]:
    """Return s and lam for which (ii) is about the least at look m; it is convex in them."""
    from scipy.optimize import minimize

    def value(x: F64) -> float:
        s, lam = np.exp(np.minimum(x, MOST_LOG))
        return float(odds.staying(s, lam, m)[-1])

    x = np.log(begin)
    options = {"initial_simplex": x + np.array([[0, 0], [0.5, 0], [0, 0.5]])}
    options |= {"maxiter": 60, "xatol": 0.01, "fatol": 1e-3}
    found = minimize(value, x, method="Nelder-Mead", options=options)
    s, lam = np.exp(np.minimum(found.x, MOST_LOG))
    return float(s), float(lam)


def least_look(odds: Odds, most: int) -> int:
    """Return the number of a look at which B is small enough, ``most`` if none before is found."""
    x, final = (0.5, 0.5 * odds.size), False
    while most > 1:
        enough = np.flatnonzero(odds.failing(*x, most - 1) <= odds.known.wanted)
        if enough.size:
            most = int(enough[0]) + 1
        elif final:
            break
        x, final = tuned(odds, x, max(1, most - 1)), True
    return most


def sweeps_until(known: Setting, g: float) -> int | None:
    """Return the sweeps after which arms that are more than g < p worse are gone.

    None where that takes more than 10^18 rounds.
    """
    u = grid()[0]
    p, q = known.p, known.p - g
    variance = 0.5 * (p * (1.0 - p) + q * (1.0 - q))
    middle = FIRST + int(np.abs(np.log(u[FIRST:LAST] * 3.0 * variance / g)).argmin())
    firsts = range(max(FIRST, middle - AROUND), middle + AROUND)
    most = len(known.looks)
    for first in sorted(firsts, key=lambda k: abs(k + 1 - middle)):
        most = least_look(Odds(known, range(first, first + GROUP), g), most)
    return known.looks[most] if most < len(known.looks) else None
