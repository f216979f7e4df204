"""The half-normal mixture of exp(u A - u^2 v / 2), u ~ |N(0, 1 / rho)|, and its boundary.

log W(A, v) = log 2 - log(1 + v / rho) / 2 + A^2 / (2 (v + rho)) + log Phi(A / sqrt(v + rho)).
"""

from __future__ import annotations

import math

from uli_fast.kernels._jit import lean_kernel

# Terms of the continued fraction of Mills' ratio, and where it takes over.
TERMS, FAR = 60, -5.0
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
ROOT_2 = math.sqrt(2.0)


@lean_kernel
def log_phi(x: float) -> float:
    """Return log Phi(x) for any x, to relative precision."""
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x / ROOT_2))
    if x > FAR:
        return math.log(0.5 * math.erfc(-x / ROOT_2))
    f = -x
    for i in range(TERMS):
        f = (TERMS - i) / f - x
    return -0.5 * x * x - HALF_LOG_2PI - math.log(f)


@lean_kernel
def log_mixture(A: float, v: float, rho: float) -> float:
    """Return log W(A, v)."""
    spread = v + rho
    return (
        math.log(2.0)
        - 0.5 * math.log1p(v / rho)
        + A / spread * A / 2.0
        + log_phi(A / math.sqrt(spread))
    )


@lean_kernel
def boundary(v: float, level: float, rho: float) -> float:
    """Return c(v), the A at which log W(A, v) reaches ``level`` > 0.

    In x = A / sqrt(v + rho) it is x^2 / 2 + log(2 Phi(x)) = level + log(1 + v / rho) / 2, whose
    left side is convex: Newton from above stays above.
    """
    height = level + 0.5 * math.log1p(v / rho)
    x = math.sqrt(2.0 * height)
    for _ in range(60):
        log_of = log_phi(x)
        mills = math.exp(-0.5 * x * x - HALF_LOG_2PI - log_of)
        step = (0.5 * x * x + math.log(2.0) + log_of - height) / (x + mills)
        x = max(x - step, 0.0)
        if abs(step) <= 1e-15 * x:
            break
    return math.sqrt(v + rho) * x
