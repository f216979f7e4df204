"""Random bits and uniform numbers: xoshiro256++ on four words, or a NumPy generator.

xoshiro256++ is by Blackman and Vigna (ACM Trans. Math. Softw. 47, 2021); _support/streams.py says
how its words are filled. They stand in an array, so that a kernel changes them in place, counts
no references and keeps them in registers where it can.

``source`` is such an array or a np.random.Generator, which live players have: of a generator
``uniform`` is ``random()``, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numba import types

from uli_fast._typing import U64
from uli_fast.kernels._jit import lean_by_type, lean_step

Source: TypeAlias = U64 | np.random.Generator


@lean_step
def bits(words: U64) -> Any:
    """Return 64 random bits."""
    a, b, c, d = words[0], words[1], words[2], words[3]
    total, shifted = a + d, b << np.uint64(17)
    c ^= a
    d ^= b
    words[0] = a ^ d
    words[1] = b ^ c
    words[2] = c ^ shifted
    words[3] = (d << np.uint64(45)) | (d >> np.uint64(19))
    return ((total << np.uint64(23)) | (total >> np.uint64(41))) + a


def uniform(source: Source) -> float:
    """Return a number in [0, 1), a multiple of 2^-53 (compiled code only)."""
    raise TypeError("uniform is called from compiled kernels only")


@lean_by_type(uniform)
def _uniform(source: Any) -> Callable[..., float]:
    if has_words(source):
        return lambda source: float(bits(source) >> np.uint64(11)) * 2.0**-53
    return lambda source: source.random()


def has_words(source: Any) -> bool:
    """Say whether a source of this type in Numba is an array of words."""
    return isinstance(source, types.Array)
