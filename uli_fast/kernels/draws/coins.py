"""Coins that are tossed in turn, many times over."""

from __future__ import annotations

import numpy as np

from uli_fast._typing import F64, I64, U64
from uli_fast.kernels._jit import lean_kernel


@lean_kernel
def toss_one(words: U64, p: float, k: int) -> int:
    """Toss a coin k times; return how often it is won.

    It is won if ``uniform`` is below p: if 53 random bits are below p 2^53, the next whole number.
    """
    chance = np.int64(np.ceil(p * 2.0**53))
    a, b, c, d, wins = words[0], words[1], words[2], words[3], 0
    for _ in range(k):
        total, shifted = a + d, b << np.uint64(17)
        drawn = ((total << np.uint64(23)) | (total >> np.uint64(41))) + a
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = (d << np.uint64(45)) | (d >> np.uint64(19))
        if np.int64(drawn >> np.uint64(11)) < chance:
            wins += 1
    words[0], words[1], words[2], words[3] = a, b, c, d
    return wins


@lean_kernel
def toss(words: U64, p: F64, wins: I64, m: int, k: int) -> None:
    """Toss m coins with probabilities p in turn, k times each, and add to ``wins``.

    The words of xoshiro256++ stay in registers meanwhile: stores to ``wins`` might change an array.
    A coin is won if ``uniform`` is below p.
    """
    a, b, c, d = words[0], words[1], words[2], words[3]
    for _ in range(k):
        for j in range(m):
            total, shifted = a + d, b << np.uint64(17)
            drawn = ((total << np.uint64(23)) | (total >> np.uint64(41))) + a
            c ^= a
            d ^= b
            b ^= c
            a ^= d
            c ^= shifted
            d = (d << np.uint64(45)) | (d >> np.uint64(19))
            wins[j] += float(drawn >> np.uint64(11)) * 2.0**-53 < p[j]
    words[0], words[1], words[2], words[3] = a, b, c, d
