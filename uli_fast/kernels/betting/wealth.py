"""Wealth of tests by betting: mixtures over bets, and the looks at which they are read.

A bettor who wins nothing on average multiplies her money by 1/alpha with probability at most
alpha, at all times together (Ville). Mixtures of bets are bets; their logarithms are kept.
"""

from __future__ import annotations

import math

from uli_fast.kernels._jit import lean_kernel

LOG_2 = math.log(2.0)
# Below it the tail of the normal law is a series, correct to 1e-12; above it erfc does not vanish.
FAR = -30.0
# Outward: more than rounding can take from a bound.
ROUNDING = 1e-12
STEPS = 60  # of Newton's method from above


@lean_kernel
def next_look(n: int) -> int:
    """Return the sweep of the look after that of sweep n: floor(1.02 n), at least n + 1."""
    return n + max(1, n // 50)


@lean_kernel
def log_mills(x: float) -> float:
    """Return x^2 / 2 + log Phi(x), which neither overflows nor vanishes."""
    if x > FAR:
        return 0.5 * x * x + math.log(0.5 * math.erfc(-x / math.sqrt(2.0)))
    y = 1.0 / (x * x)
    series = y * (-1.0 + y * (3.0 + y * (-15.0 + y * 105.0)))
    return -math.log(-x) - 0.5 * math.log(2.0 * math.pi) + math.log1p(series)


@lean_kernel
def log_mix(D: float, v: float, rho: float) -> float:
    """Return the log of E exp(u D - u^2 v / 2) over u = |N(0, 1 / rho)|.

    It is the wealth of a bet on D > 0 where D is a sum of variance proxy v, 1 at D = v = 0. It
    rises with D and falls with v.
    """
    return LOG_2 - 0.5 * math.log1p(v / rho) + log_mills(D / math.sqrt(v + rho))


@lean_kernel
def log_add(x: float, y: float) -> float:
    """Return log(e^x + e^y)."""
    if x < y:
        x, y = y, x
    return x + math.log1p(math.exp(y - x)) if y > -math.inf else x


@lean_kernel
def boundary(v: float, level: float, rho: float) -> float:
    """Return the D with log Mix(D, v) = level, or a little more: Mix is convex in D."""
    fixed = LOG_2 - 0.5 * math.log1p(v / rho) - level
    x = math.sqrt(2.0 * LOG_2 - 2.0 * min(fixed, 0.0))  # Phi(x) >= 1/2 there
    for _ in range(STEPS):
        mills = log_mills(x)
        slope = x + math.exp(-mills) / math.sqrt(2.0 * math.pi)
        fall = max((fixed + mills) / slope, 0.0)
        x -= fall
        if fall <= 1e-14 * x:
            break
    return math.sqrt(v + rho) * x * (1.0 + ROUNDING)
