"""The draws of a replication for slow twins, which ask a generator for them."""

import numpy as np

from uli_fast._support.streams import stream
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.draws.binomial import successes
from uli_fast.kernels.draws.gamma import beta
from uli_fast.kernels.draws.normal import normal

ALL = 2**64 - 1


def rotated(x, k):
    """Return the 64 bits of x, moved round to the left."""
    return ((x << k) | (x >> (64 - k))) & ALL


@lean_kernel
def one_normal(words):
    """Return what a kernel draws next as a standard normal number."""
    return normal(words)


@lean_kernel
def one_beta(words, a, b):
    """Return what a kernel draws next from Beta(a, b)."""
    return beta(words, a, b)


@lean_kernel
def one_binomial(words, n, p):
    """Return what a kernel draws next as the successes in n trials."""
    return successes(words, n, p)


class StreamDraws:
    """Answers like a np.random.Generator, with what kernels draw from the same words (4,)."""

    def __init__(self, words):
        self.words = np.array(words)

    def random(self, size=None):
        """Return uniform numbers: xoshiro256++ once more, in Python's integers."""
        return drawn(self._uniform, size)

    def standard_normal(self, size=None):
        """Return normal numbers, as a kernel draws them."""
        return drawn(lambda: one_normal(self.words), size)

    def beta(self, a, b, size=None):
        """Return numbers from Beta(a, b), as a kernel draws them."""
        return drawn(lambda: one_beta(self.words, float(a), float(b)), size)

    def binomial(self, n, p, size=None):
        """Return numbers of successes, as a kernel draws them."""
        return drawn(lambda: one_binomial(self.words, int(n), float(p)), size)

    def _uniform(self):
        s0, s1, s2, s3 = self.words.tolist()
        out = (rotated((s0 + s3) & ALL, 23) + s0) & ALL
        s2, s3 = s2 ^ s0, s3 ^ s1
        self.words[:] = s0 ^ s3, s1 ^ s2, s2 ^ ((s1 << 17) & ALL), rotated(s3, 45)
        return (out >> 11) * 2.0**-53


def drawn(one, size):
    """Return one number, or this many of them, drawn in their order."""
    if size is None:
        return one()
    numbers = np.array([one() for _ in range(np.prod(size, dtype=int))])
    return numbers.reshape(size)


def draws(seed, replication=0):
    """Return the draws of a replication, as kernels take them."""
    return StreamDraws(stream(seed, replication))
