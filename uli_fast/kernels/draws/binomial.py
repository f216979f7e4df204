"""Binomial draws: transformed rejection (BTRD), by Hörmann, J. Stat. Comput. Simul. 46 (1993).

One uniform and a few products give most draws. The others are compared with the
probabilities: by bounds first, then by the saddle-point form, which loses no digits even
at 10^13 trials (Loader, 2000). It takes half as long as Generator.binomial, whose set-up
is repeated for every number of trials. Where few successes (or failures) are expected, they are
counted up until their probabilities exceed a uniform.
"""

from __future__ import annotations

import math

from uli_fast.kernels._jit import kernel, lean_kernel, lean_step, step
from uli_fast.kernels.draws.stream import Source, uniform

# Transformed rejection needs this many expected successes (and failures).
FEWEST = 10.0
# Fewer expected ones exceed this with probability 10^-67.
MOST_COUNTED = 110
# Of trials that are drawn at once.
LARGEST_DRAW = 10**13
LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@step
def stirling_error(n: float) -> float:
    """Return log n! - log(sqrt(2 pi n) (n / e)^n), to 1e-12 for n >= 1."""
    if n < 16.0:
        return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - LOG_ROOT_TWO_PI
    inverse = 1.0 / n
    square = inverse * inverse
    return inverse * (
        1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    )


@step
def deviance(x: float, mean: float) -> float:
    """Return x log(x / mean) + mean - x without cancellation, for x, mean > 0."""
    gap = x - mean
    v = gap / (x + mean)
    if abs(v) >= 0.1:
        return x * math.log(x / mean) - gap
    total, term, square, j = gap * v, 2.0 * x * v, v * v, 1.0
    while True:  # gap v + 2 x (v^3 / 3 + v^5 / 5 + ...), at most 17 terms
        term *= square
        j += 2.0
        longer = total + term / j
        if longer == total:
            return total
        total = longer


@kernel
def log_likelihood(n: float, p: float, k: float) -> float:
    """Return log P(Binomial(n, p) = k) + log(2 pi) / 2."""
    rest = n - k
    if k == 0.0 or rest == 0.0:
        return n * (math.log(p) if k > 0.0 else math.log1p(-p)) + LOG_ROOT_TWO_PI
    errors = stirling_error(n) - stirling_error(k) - stirling_error(rest)
    fit = deviance(k, n * p) + deviance(rest, n * (1.0 - p))
    return errors - fit + 0.5 * math.log(n / (k * rest))


@lean_kernel
def _transformed(source: Source, n: int, p: float) -> int:
    """Draw from Binomial(n, p) with p <= 1/2 and n p >= FEWEST."""
    trials, q = float(n), 1.0 - p
    variance = trials * p * q
    spread = math.sqrt(variance)
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = trials * p + 0.5
    sure = 0.92 - 4.2 / b
    while True:
        v = uniform(source)
        if v <= 0.86 * sure:  # four of five draws end here
            u = v / sure - 0.43
            return math.floor((2.0 * a / (0.5 - abs(u)) + b) * u + centre)
        if v >= sure:
            u = uniform(source) - 0.5
        else:
            u = v / sure - 0.93
            u = (0.5 if u > 0.0 else -0.5) - u
            v = uniform(source) * sure
        edge = 0.5 - abs(u)
        k = float(math.floor((2.0 * a / edge + b) * u + centre))  # whose square int64 cannot hold
        if 0.0 <= k <= trials:
            v *= (2.83 + 5.1 / b) * spread / (a / (edge * edge) + b)
            if _accepted(trials, p, variance, k, v):
                return int(k)


@kernel
def _accepted(n: float, p: float, variance: float, k: float, v: float) -> bool:
    """Say whether v <= f(k) / f(mode), by cheap bounds of the ratio where they decide."""
    mode = float(math.floor((n + 1.0) * p))
    far = abs(k - mode)
    if far <= 15.0:
        ratio, odds = 1.0, p / (1.0 - p)
        for i in range(int(min(k, mode)) + 1, int(max(k, mode)) + 1):
            ratio *= odds * ((n + 1.0) / i - 1.0)  # f(i) / f(i - 1)
        return v * ratio <= 1.0 if k < mode else v <= ratio
    log_v = math.log(v)
    bell = -far * far / (2.0 * variance)
    error = far / variance * (((far / 3.0 + 0.625) * far + 1.0 / 6.0) / variance + 0.5)
    if log_v < bell - error:
        return True
    if log_v > bell + error:
        return False
    return log_v <= log_likelihood(n, p, k) - log_likelihood(n, p, mode)


@lean_kernel
def _counted(source: Source, n: int, p: float) -> int:
    """Draw from Binomial(n, p) with p <= 1/2 and n p < FEWEST."""
    trials, odds = float(n), p / (1.0 - p)
    none = math.exp(trials * math.log1p(-p))  # n log q >= -14: no digit is lost, however large n
    while True:
        left, probability = uniform(source), none
        for k in range(min(n, MOST_COUNTED) + 1):
            if left < probability:
                return k
            left -= probability
            probability *= (trials - k) * odds / (k + 1)
        # All probabilities were rounded to a sum below the uniform, a matter of 10^-15: again.


@lean_step
def binomial(source: Source, n: int, p: float) -> int:
    """Draw the successes in n trials, n up to 2^53."""
    rare = min(p, 1.0 - p)
    few = n * rare < FEWEST
    drawn = _counted(source, n, rare) if few else _transformed(source, n, rare)
    return drawn if p <= 0.5 else n - drawn


@lean_kernel
def successes(source: Source, n: int, p: float) -> int:
    """Draw the successes in n trials, n up to 2^63: more than LARGEST_DRAW are split."""
    wins = 0
    while n > 0:
        k = min(n, LARGEST_DRAW)
        wins += binomial(source, k, p)
        n -= k
    return wins
