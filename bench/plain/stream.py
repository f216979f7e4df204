"""xoshiro256++ as a plain loop wants it: four words that stay in registers.

The draws are those of the package on the same words (4,), which stand in an array there: written
back after every draw, they cost a loop of nothing but draws a tenth more.
"""

from __future__ import annotations

import numpy as np

from bench.plain.jit import plain


@plain
def opened(words):
    """Return the words of a stream as a tuple."""
    return words[0], words[1], words[2], words[3]


@plain
def uniform(s):
    """Return a number in [0, 1), and the words after it."""
    a, b, c, d = s
    total = a + d
    c ^= a
    d ^= b
    bits = ((total << np.uint64(23)) | (total >> np.uint64(41))) + a
    turned = (d << np.uint64(45)) | (d >> np.uint64(19))
    return float(bits >> np.uint64(11)) * 2.0**-53, (a ^ d, b ^ c, c ^ (b << np.uint64(17)), turned)


@plain
def keep(words, s):
    """Write the words back, for whoever draws next."""
    words[0], words[1], words[2], words[3] = s
