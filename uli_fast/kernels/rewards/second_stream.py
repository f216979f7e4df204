"""Random numbers of a second stream, for what must not move a path.

Whether the intervals held inside a block decides nothing, so what is drawn to know it must
not come from the stream of the rewards: paths would depend on being watched. The stream is
SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a counter and a mix of its bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from uli_fast._typing import U64
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.draws.binomial import log_likelihood

# The part of a probability exp(-E) that one uniform can decide.
PART = 30.0
EXP_PART = math.exp(-PART)

# The hat of Stadlober's ratio of uniforms for hypergeometric draws: 2 sqrt(2 / e) and
# 3 - 2 sqrt(3 / e).
HAT, HAT_MORE = 2.0 * math.sqrt(2.0 / math.e), 3.0 - 2.0 * math.sqrt(3.0 / math.e)


@lean_step
def bits(words: U64) -> Any:
    """Return 64 random bits, which may also begin a stream of their own."""
    words[0] += np.uint64(0x9E3779B97F4A7C15)
    z = words[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@lean_step
def uniform(words: U64) -> float:
    """Return a number in [0, 1), a multiple of 2^-53."""
    return float(bits(words) >> np.uint64(11)) * 2.0**-53


@lean_kernel
def normal(words: U64) -> float:
    """Return a standard normal draw (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(words)))
    return radius * math.cos(2.0 * math.pi * uniform(words))


@lean_step
def happens(words: U64, E: float) -> bool:
    """Draw what has probability exp(-E), however small: factor by factor."""
    while E > PART:
        if uniform(words) >= EXP_PART:
            return False
        E -= PART
    return bool(uniform(words) < math.exp(-E))


@lean_kernel
def _log_weight(rare: float, others: float, draws: float, k: float) -> float:
    """Return the log-probability of k rare ones, up to a constant."""
    p = draws / (rare + others)
    return log_likelihood(rare, p, k) + log_likelihood(others, p, draws - k)


@lean_kernel
def hypergeometric(words: U64, good: int, bad: int, draws: int) -> int:
    """Draw how many of ``draws`` out of good + bad are good; draws is half of all at most.

    The ratio of uniforms of Stadlober (J. Comput. Appl. Math. 31, 1990), as NumPy has it, with
    probabilities that lose no digits (draws/binomial.py). At least 10 are drawn of at most 2^53.
    """
    rare, others, size = float(min(good, bad)), float(max(good, bad)), float(draws)
    every = rare + others
    mean, share = size * (rare / every), (rare / every) * (others / every)
    spread = math.sqrt((every - size) / (every - 1.0) * size * share + 0.5)
    mode = float(math.floor((size + 1.0) / (every + 2.0) * (rare + 1.0)))
    highest = _log_weight(rare, others, size, mode)
    end = min(min(size, rare) + 1.0, math.floor(mean + 0.5 + 16.0 * spread))
    while True:
        u, v = 1.0 - uniform(words), uniform(words)
        x = mean + 0.5 + (HAT * spread + HAT_MORE) * (v - 0.5) / u
        if 0.0 <= x < end:
            k = float(math.floor(x))
            fit = _log_weight(rare, others, size, k) - highest
            if u * (4.0 - u) - 3.0 <= fit or (u * (u - fit) < 1.0 and 2.0 * math.log(u) <= fit):
                return int(k if good <= bad else size - k)
