"""The half-normal mixture of exp(u D - u^2 v / 2), u ~ |N(0, 1 / rho)|, and its boundary.

A sum D of mean 0 and variance proxy v multiplies the money of a bet on D > 0 by it. A bettor who
wins nothing on average makes 1 / alpha of it with probability at most alpha, at all times
together (Ville); so D stays below the boundary of level log(1 / alpha) with probability 1 - alpha.
"""

from __future__ import annotations

import math

LOG_2 = math.log(2.0)
# Below it the tail of the normal law is a series, correct to 1e-12; above it erfc does not vanish.
FAR = -30.0
# Outward: more than rounding can take from a bound.
ROUNDING = 1e-12
STEPS = 60  # of Newton's method from above; six are enough wherever v < 1e120


def log_mills(x: float) -> float:
    """Return x^2 / 2 + log Phi(x), which neither overflows nor vanishes."""
    if x > FAR:
        return 0.5 * x * x + math.log(0.5 * math.erfc(-x / math.sqrt(2.0)))
    y = 1.0 / (x * x)
    series = y * (-1.0 + y * (3.0 + y * (-15.0 + y * 105.0)))
    return -math.log(-x) - 0.5 * math.log(2.0 * math.pi) + math.log1p(series)


def log_mix(D: float, v: float, rho: float) -> float:
    """Return log Mix(D, v), the log of E exp(u D - u^2 v / 2): 0 at D = v = 0.

    It is log 2 - log(1 + v / rho) / 2 + D^2 / (2 (v + rho)) + log Phi(D / sqrt(v + rho)), which
    rises with D and falls with v.
    """
    return LOG_2 - 0.5 * math.log1p(v / rho) + log_mills(D / math.sqrt(v + rho))


def boundary(v: float, level: float, rho: float) -> float:
    """Return the D >= 0 with log Mix(D, v) = level >= 0, by Newton's method.

    In x = D / sqrt(v + rho) the left side is convex, so that steps from above stay above.
    """
    fixed = LOG_2 - 0.5 * math.log1p(v / rho) - level
    x = math.sqrt(2.0 * LOG_2 - 2.0 * min(fixed, 0.0))  # Phi(x) >= 1/2 there
    for _ in range(STEPS):
        mills = log_mills(x)
        slope = x + math.exp(-mills) / math.sqrt(2.0 * math.pi)
        fall = max((fixed + mills) / slope, 0.0)
        x -= fall
        if fall <= 1e-14 * x:
            break
    return math.sqrt(v + rho) * x


def outer_boundary(v: float, level: float, rho: float) -> float:
    """Return the boundary, or a little more: what no rounding can make too small."""
    return boundary(v, level, rho) * (1.0 + ROUNDING)


def log_add(x: float, y: float) -> float:
    """Return log(e^x + e^y): what two shares of the money are together."""
    if x < y:
        x, y = y, x
    return x + math.log1p(math.exp(y - x)) if y > -math.inf else x
