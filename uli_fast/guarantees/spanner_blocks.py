"""Sizes of the phases of the sharp spanner schedule: learner and F take them from here.

Units: arms and theta have norm at most 1, R is in these units. Phase m plays each column of its
spanner so often that differences of active arms are known up to eta_m = 0.6^m, whatever the signs
of the columns' errors are (docs/proofs_sets.md, Theorem B).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

# A bound is this much above what was computed, and a number of plays not below it.
ROUNDED_UP = 1.0 + 1e-12
GAMMA = 0.6  # eta_m = GAMMA^m: t eps^2 is nearly the same for .5 to .7
SHARE = 0.05  # of eta_m: what placeholders may hide
SPARE = 1e-3  # of eta_m: for rounded sums, and points that miss their set within tolerance
LEAST = 0.05  # of the most plays: fewer would cost more calls of the oracle than rounds
WIDEST = 1.05  # times 2 C: no phase is late while coefficients range no further on any column
# Noise below this counts as this: phases of single plays would soon be finer than rounding.
LEAST_NOISE = 1e-3
LARGEST_PHASE = 4 * 10**18  # plays of a column; no run is that long
_STEPS = 4  # towards the minimum of Q: lambda is right to 4 digits then, and Q to 8


def accuracy(m: int) -> float:
    """Return eta_m."""
    return float(GAMMA**m)


def phi(x: float) -> float:
    """Return log(exp(x^2 / 2) + 1 - exp(-x / 2)).

    It bounds log E exp(x (p e^+ + (1 - p) e^-)), p in [0, 1], for e of mean 0, 1-subgaussian.
    """
    return _phi(x)[0]


def _phi(x: float) -> tuple[float, float]:
    """Return phi(x) and x phi'(x)."""
    y, less = 0.5 * x * x, math.expm1(-0.5 * x)
    shrunk = math.exp(-y)
    q = -less * shrunk
    return y + math.log1p(q), x * (x + (0.5 * (1.0 + less) * shrunk - x * q) / (1.0 + q))


def quantile(widths: Sequence[float], log: float) -> float:
    """Return Q(D, L), the least (sum phi(lambda D_i) + L) / lambda, or slightly more.

    Every lambda gives a bound: one that misses the minimum makes it larger, and never wrong.
    """
    top = max(widths, default=0.0)
    if top <= 0.0:
        return 0.0
    relative = [x / top for x in widths]

    def total(x: float) -> tuple[float, float]:
        found = [_phi(x * u) for u in relative]
        return sum([value for value, _ in found]), sum([growth for _, growth in found])

    return top * _least(total, sum([u * u for u in relative]), log)


def even_quantile(width: float, n: int, log: float) -> float:
    """Return Q of n equal widths."""

    def total(x: float) -> tuple[float, float]:
        value, growth = _phi(x)
        return n * value, n * growth

    return width * _least(total, float(n), log)


def _least(total: Callable[[float], tuple[float, float]], square: float, log: float) -> float:
    """Return the least (sum phi(x u_i) + L) / x; ``square`` is the sum of u_i^2.

    At the minimum sum y phi'(y) - phi(y) = L, where y = x u_i. That grows nearly as x^2, with a
    factor between .198 and .5, so that the secant method finds it on logarithms.
    """
    best, s = math.inf, 0.5 * math.log(log / (0.3 * square))
    before = off_before = math.nan
    for _ in range(_STEPS):
        x = math.exp(s)
        value, growth = total(x)
        best = min(best, (value + log) / x)
        off = math.log((growth - value) / log)
        rate = (off - off_before) / (s - before) if s != before else 2.0
        before, off_before = s, off
        s -= off / (rate if 1.0 < rate < 4.0 else 2.0)
    return best * ROUNDED_UP


class SpannerSize(NamedTuple):
    """What decides the plays of phase m."""

    m: int
    d: int
    C: float
    delta: float
    R: float

    @property
    def eta(self) -> float:
        """What differences of arms are known up to, at its end."""
        return accuracy(self.m)

    @property
    def length(self) -> float:
        """The length of placeholders, l_m = SHARE eta_m / (2 C sqrt(d))."""
        return SHARE * self.eta / (2.0 * self.C * math.sqrt(self.d))

    @property
    def most(self) -> int:
        """What no column is played more often: d real ones, with widths of 2 C."""
        Q = even_quantile(2.0 * self.C, self.d, self._log)
        return max(1, self._plays(Q, (1.0 - SHARE) * self.eta))

    def plays(self, widths: Sequence[float], hidden: float) -> int:
        """Return n of real columns with these widths, placeholders hiding so much of a gap."""
        most, error = self.most, (1.0 - SPARE) * self.eta - hidden
        if not widths or error <= 0.0:
            return min(most, LARGEST_PHASE)
        needed = self._plays(quantile(widths, self._log), error)
        return min(max(1, math.ceil(LEAST * most), needed), most, LARGEST_PHASE)

    def error(self, widths: Sequence[float], hidden: float, n: int) -> float:
        """Return what differences of arms are known up to after n plays of each column."""
        noise = self._noise * quantile(widths, self._log) / math.sqrt(n)
        return noise + hidden + SPARE * self.eta

    def _plays(self, Q: float, error: float) -> int:
        return math.ceil((self._noise * Q / error) ** 2 * ROUNDED_UP)

    @property
    def _noise(self) -> float:
        return max(self.R, LEAST_NOISE)

    @property
    def _log(self) -> float:
        """L_m = log(m (m + 1) / delta): the shares of delta add up to it."""
        return math.log(self.m) + math.log(self.m + 1) - math.log(self.delta)
