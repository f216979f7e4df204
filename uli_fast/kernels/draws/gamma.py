"""Gamma draws by Marsaglia and Tsang (ACM Trans. Math. Softw. 26, 2000), and beta draws of them.

Shapes below 1 have G(s) = G(s + 1) U^(1 / s), which float64 cannot hold when s is small. Its
logarithm can be held, and a beta draw needs no more than the ratio of two.

A np.random.Generator is asked for a normal and then a uniform number, as it always was by live
Thompson sampling, whose draws are drawn again when a state is restored.
"""

from __future__ import annotations

import math

from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.draws.normal import normal
from uli_fast.kernels.draws.stream import Source, uniform

# Beta draws whose parameters sum to less are 0 or 1 as far as float64 can tell: all others
# together have probability below 10^-90.
COIN = 1e-100


@lean_step
def gamma(source: Source, d: float, c: float) -> float:
    """Draw a gamma variable of shape d + 1/3 >= 1, with c = 1 / sqrt(9 d)."""
    while True:
        x = normal(source)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u, square = uniform(source), x * x
            if u < 1.0 - 0.0331 * square * square:
                return float(d * v)
            # At large shapes 1 - v is exact and log v has all its digits: nothing is lost.
            if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
                return float(d * v)


@lean_step
def _raised(source: Source, shape: float) -> tuple[float, float]:
    """Return G and L, where G exp(L) is a gamma variable of any shape > 0."""
    if shape >= 1.0:
        d, L = shape - 1.0 / 3.0, 0.0
    else:
        d, L = shape + 2.0 / 3.0, math.log1p(-uniform(source)) / shape
    return gamma(source, d, 1.0 / math.sqrt(9.0 * d)), L


@lean_kernel
def log_gamma(source: Source, shape: float) -> float:
    """Draw the logarithm of a gamma variable of any shape > 0."""
    G, L = _raised(source, shape)
    return math.log(G) + L


@lean_kernel
def beta(source: Source, a: float, b: float) -> float:
    """Draw a number in [0, 1] from Beta(a, b), a, b > 0."""
    if a + b < COIN:
        return 1.0 if uniform(source) * (a + b) < a else 0.0
    (x, log_x), (y, log_y) = _raised(source, a), _raised(source, b)
    if log_x == log_y:  # shapes of 1 and more have no factor
        return x / (x + y)
    return 1.0 / (1.0 + y / x * math.exp(log_y - log_x))
