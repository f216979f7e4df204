"""The random stream of each replication: four words of xoshiro256++, filled for all at once.

A path depends on (seed, replication) alone, so a stream must be found without those before it.
xoshiro256++ (Blackman and Vigna, ACM Trans. Math. Softw. 47, 2021) has a state of four 64-bit
words, passes the known tests of randomness and costs about a nanosecond; its period of
2^256 - 1 leaves 10^9 streams of 10^18 draws no chance to meet. Its authors advise to fill the
state from a generator of another kind, SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a counter
that grows by an odd constant, and a bijective mix of its bits. Any output is found at once.

- The seed, an integer of any size, becomes four words by NumPy's SeedSequence, which spreads
  every bit of it.
- Each of the four starts a SplitMix64 counter, and replication r = 0, 1, ... takes output r + 1
  of each. Two replications of a seed differ in every word, for the mix is a bijection.
- The one forbidden state, all zero, would need four equal counters. Equal ones are parted, so
  that it never occurs.

Streams below those of the replications come about in the same way: the words of a stream start
four counters.
"""

from __future__ import annotations

import numpy as np

from uli_fast._typing import U64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, odd: the counters' step
# The mix of SplitMix64.
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def stream_words(seed: int, first: int, count: int) -> U64:
    """Return the words (count, 4) of replications first, ..., first + count - 1."""
    starts = np.asarray(np.random.SeedSequence(seed).generate_state(4, np.uint64), np.uint64)
    return _outputs(starts, first, count)


def entropy_of(seed: int | None) -> int:
    """Return a seed, fresh entropy where none was given."""
    return int(np.random.SeedSequence().entropy) if seed is None else seed  # type: ignore[arg-type]


def stream(seed: int, replication: int) -> U64:
    """Return the words (4,) of one replication."""
    words: U64 = stream_words(seed, replication, 1)[0]
    return words


def spawned(words: U64, count: int) -> U64:
    """Return ``count`` further streams (..., count, 4) of each stream in words (..., 4).

    Stream i does not depend on their number. Words change as they are drawn from: spawn first.
    """
    return _outputs(words, 0, count)


def generator_of(words: U64) -> np.random.Generator:
    """Return a NumPy generator for one stream (4,), for Python code that wants one."""
    entropy = int.from_bytes(words.astype("<u8").tobytes(), "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def _outputs(starts: U64, first: int, count: int) -> U64:
    """Return outputs first + 1, ..., first + count of SplitMix64 from each start (..., 4)."""
    equal = (starts[..., :1] == starts).all(axis=-1)
    if equal.any():  # parted: outputs of distinct counters are not all zero
        starts = starts.copy()
        starts[..., 3] ^= equal.astype(np.uint64)
    # Arrays of one dimension at least, whose products wrap around without a warning.
    number = np.arange(count, dtype=np.uint64)[:, None] + np.uint64((first + 1) % 2**64)
    number *= GOLDEN
    z: U64 = starts[..., None, :] + number
    z ^= z >> SHIFTS[0]
    z *= FACTORS[0]
    z ^= z >> SHIFTS[1]
    z *= FACTORS[1]
    z ^= z >> SHIFTS[2]
    return z
