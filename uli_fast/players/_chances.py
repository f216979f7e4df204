"""The chance that one arm's draw is the largest: an integral over its posterior.

P(a) = int f_a(x) prod_{b != a} F_b(x) dx by Gauss-Legendre on panels that are no longer than the
standard deviation of any posterior that still rises there. Densities are known up to a factor,
which the same panels give. Tails of 1e-14 are left out; tests compare it with exact sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from uli_fast._typing import F64

TAIL = 1e-14
NODES = 20


def beta_chance(a: int, alpha: F64, beta: F64) -> float:
    """Return the chance that the draw of arm a from Beta(alpha, beta) is the largest."""
    from scipy.special import betainc, betaincinv

    total = alpha + beta
    deviation = np.sqrt(alpha * beta / (total + 1.0)) / total
    low, high = betaincinv(alpha, beta, TAIL), 1.0 - betaincinv(beta, alpha, TAIL)
    centre = float(alpha[a] / total[a])

    def density(x: F64) -> F64:
        about = np.log1p((x - centre) / centre), np.log1p((centre - x) / (1.0 - centre))
        log: F64 = (alpha[a] - 1.0) * about[0] + (beta[a] - 1.0) * about[1]
        found: F64 = np.exp(log - log.max())
        return found

    return _chance(a, low, high, deviation, density, lambda b, x: betainc(alpha[b], beta[b], x))


def normal_chance(a: int, mean: F64, deviation: F64) -> float:
    """Return the chance that the draw of arm a from a normal law is the largest."""
    from scipy.special import ndtr, ndtri

    # Seen from arm a, as its deviation may be less than the last digit of a mean.
    centre, spread = (mean - mean[a]) / deviation[a], deviation / deviation[a]
    reach = -ndtri(TAIL) * spread

    def density(x: F64) -> F64:
        found: F64 = np.exp(-0.5 * x * x)
        return found

    def below(b: int, x: F64) -> F64:
        found: F64 = ndtr((x - centre[b]) / spread[b])
        return found

    return _chance(a, centre - reach, centre + reach, spread, density, below)


def _chance(
    a: int,
    low: F64,
    high: F64,
    deviation: F64,
    density: Callable[[F64], F64],
    below: Callable[[int, F64], F64],
) -> float:
    if low.size == 1:
        return 1.0
    x, mass = low[a : a + 1], np.ones(1)  # a posterior with nothing between two floats
    if low[a] < high[a]:
        edges = _panels(a, low, high, deviation)
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        half = 0.5 * np.diff(edges)[:, None]
        x = (edges[:-1, None] + half * (1.0 + nodes)).ravel()
        mass = (half * weights).ravel() * density(x)
    whole = mass.sum()
    reached = x > low.max()  # below that somebody's draw is surely larger
    x, mass = x[reached], mass[reached]
    for b in range(low.size):
        rising = x < high[b]
        if b != a and rising.any():
            mass[rising] *= below(b, x[rising])
    # The arm was drawn, so its chance is positive even where the panels do not see it.
    return float(min(max(mass.sum() / whole, np.finfo(float).tiny), 1.0))


def _panels(a: int, low: F64, high: F64, deviation: F64) -> F64:
    """Return the edges of panels over the posterior of arm a."""
    x, end = float(low[a]), float(high[a])
    edges = [x]
    while x < end:
        rising = (low <= x) & (x < high)
        following = float(low[low > x].min(initial=end))
        step = max(x + float(deviation[rising].min()), math.nextafter(x, math.inf))
        x = min(step, following, end)
        edges.append(x)
    return np.array(edges)
