"""The grid of bets of betting learners: their sizes, their weights, when they enter."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from uli_fast._typing import F64, I64

# Bets sqrt(2) 2^(-k/2): the last of them enters before 10^18 rounds are over.
GRID = 67
# A bet enters where n u^2 reaches 1/100: before, it would neither win nor lose.
ENTRY = 200


@lru_cache(maxsize=1)
def grid() -> tuple[F64, F64, F64, I64]:
    """Return sizes, log weights, the logs of what is left of them, and the looks of entry."""
    k = np.arange(float(GRID))
    w = (k + 8.0) ** -1.5
    w /= w.sum()
    with np.errstate(divide="ignore"):
        rest = np.log(np.append(np.cumsum(w[::-1])[::-1], 0.0))
    rest[0] = 0.0
    enter = np.array([2**i // ENTRY for i in range(GRID)], np.int64)
    return math.sqrt(2.0) * 2.0 ** (-k / 2.0), np.log(w), rest, enter
