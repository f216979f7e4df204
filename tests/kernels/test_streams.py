"""The streams of replications: their words, their bits, and that they have nothing in common."""

import numba
import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm

from uli_fast._support.streams import generator_of, spawned, stream_words
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.draws.stream import bits, uniform

ALL = 2**64 - 1
# Of the reference implementation in C, from the state 1, 2, 3, 4.
REFERENCE = (
    41943041,
    58720359,
    3588806011781223,
    3591011842654386,
    9228616714210784205,
    9973669472204895162,
    14011001112246962877,
    12406186145184390807,
    15849039046786891736,
    10450023813501588000,
)
SEEDS = (0, 1, 2**32, 2**63 + 11, 3**81, 7**90)  # up to 253 bits


def rotated(x, k):
    return ((x << k) | (x >> (64 - k))) & ALL


def xoshiro(state):
    """Return the next output of a list of four integers (Blackman and Vigna, xoshiro256++)."""
    result = (rotated((state[0] + state[3]) & ALL, 23) + state[0]) & ALL
    t = (state[1] << 17) & ALL
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = rotated(state[3], 45)
    return result


def mixed(z):
    """Return the output of SplitMix64 at counter z (Steele, Lea and Flood)."""
    z &= ALL
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & ALL
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & ALL
    return z ^ (z >> 31)


def words_of(starts, r):
    return [mixed(int(k) + (r + 1) * 0x9E3779B97F4A7C15) for k in starts]


@numba.njit
def all_bits(words, out):
    for i in range(out.size):
        out[i] = bits(words)


@numba.njit
def uniforms(source, out):
    for i in range(out.size):
        out[i] = uniform(source)


@lean_kernel
def first_bits(words, out):
    """Fill ``out`` with the first outputs of each stream (count, 4)."""
    for r in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[r, i] = bits(words[r])


@lean_kernel
def lean_sum(words, n):
    total = 0.0
    for _ in range(n):
        total += uniform(words)
    return total


def first_outputs(words, n):
    out = np.zeros((words.shape[0], n), np.uint64)
    first_bits(words.copy(), out)
    return out


def test_bits_are_those_of_the_reference():
    words, out = np.array([1, 2, 3, 4], np.uint64), np.zeros(10, np.uint64)
    all_bits(words, out)
    assert tuple(out.tolist()) == REFERENCE


def test_bits_and_states_follow_the_definition():
    for start in np.random.default_rng(3).integers(0, ALL, (40, 4), np.uint64, endpoint=True):
        words, state, out = start.copy(), [int(x) for x in start], np.zeros(50, np.uint64)
        all_bits(words, out)
        assert out.tolist() == [xoshiro(state) for _ in range(50)]
        assert words.tolist() == state


def test_uniforms_are_the_upper_53_bits():
    words, out = stream_words(5, 0, 1)[0], np.zeros(1000)
    state = [int(x) for x in words]
    uniforms(words, out)
    assert out.tolist() == [(xoshiro(state) >> 11) / 2**53 for _ in range(1000)]
    largest, out = np.array([ALL, 0, 0, 0], np.uint64), np.zeros(1)  # 2^64 - 2 comes out
    uniforms(largest, out)
    assert out[0] == 1.0 - 2.0**-53


def test_uniforms_of_a_generator_are_its_own():
    ours, out = np.random.default_rng(8), np.zeros(1000)
    uniforms(ours, out)
    theirs = np.random.default_rng(8)
    assert out.tolist() == theirs.random(1000).tolist()
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_lean_kernels_draw_uniforms():
    out = np.zeros(100)
    uniforms(stream_words(1, 0, 1)[0], out)
    assert lean_sum(stream_words(1, 0, 1)[0], 100) == sum(out.tolist())


def test_uniforms_have_their_law():
    out = np.zeros(1_000_000)
    uniforms(stream_words(2, 9, 1)[0], out)
    assert kstest(out, "uniform").pvalue > 1e-3
    pairs = (out[0::2] * 30).astype(int) * 30 + (out[1::2] * 30).astype(int)
    assert chisquare(np.bincount(pairs, minlength=900)).pvalue > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("first", [0, 1, 12345, 2**63 - 2, 2**63])
def test_words_are_outputs_of_splitmix(seed, first):
    starts = np.random.SeedSequence(seed).generate_state(4, np.uint64)
    words = stream_words(seed, first, 5)
    assert words.dtype == np.uint64 and words.flags.c_contiguous
    assert words.tolist() == [words_of(starts, r) for r in range(first, first + 5)]


def test_words_do_not_depend_on_how_many_are_asked_for():
    every = stream_words(4, 0, 100)
    assert (stream_words(4, 37, 20) == every[37:57]).all()
    assert stream_words(4, 37, 0).shape == (0, 4)


def test_no_two_replications_share_a_word():
    words, other = stream_words(11, 0, 100_000), stream_words(12, 0, 100_000)
    every = np.sort(np.concatenate([words, other]).ravel())
    assert (every[1:] != every[:-1]).all()  # nor two counters, nor two seeds: 2^-26 by luck


def test_the_forbidden_state_never_occurs():
    """Four equal counters would all be zero at once: after -k / step outputs."""
    start = (-7 * 0x9E3779B97F4A7C15) & ALL
    assert words_of([start] * 4, 6) == [0, 0, 0, 0]
    inner = spawned(np.full((2, 4), start, np.uint64), 10)
    assert (inner != 0).any(axis=-1).all()
    assert (inner[..., :3] == 0).all(axis=-1).any()  # the others are as they are


def test_bits_of_neighbouring_streams_are_uncorrelated():
    count = 100_000
    out = first_outputs(stream_words(21, 0, count), 4)
    x = (out >> np.uint64(11)) * 2.0**-53 - 0.5
    for lag in (1, 2, 4, 1024):
        for i in range(4):
            for j in range(4):
                z = 12.0 * (x[:-lag, i] * x[lag:, j]).sum() / np.sqrt(count - lag)
                assert abs(z) < 4.5, (lag, i, j)


@pytest.mark.parametrize("lag", [1, 2, 4])
def test_neighbouring_streams_differ_in_half_their_bits(lag):
    out = first_outputs(stream_words(22, 0, 50_000), 2)
    differ = out[:-lag] ^ out[lag:]
    for i in range(2):
        shares = np.array(
            [((differ[:, i] >> np.uint64(b)) & np.uint64(1)).mean() for b in range(64)]
        )
        z = (shares - 0.5) * 2.0 * np.sqrt(differ.shape[0])
        assert np.abs(z).max() < 4.8
        assert np.square(z).sum() < 128.0  # chi-square of 64 degrees: below 1e-5


def test_first_outputs_of_all_streams_have_their_law():
    out = first_outputs(stream_words(23, 0, 100_000), 3)
    for i in range(3):
        for shift in (56, 30, 0):  # high, middle and low bits
            cells = ((out[:, i] >> np.uint64(shift)) & np.uint64(255)).astype(np.int64)
            assert chisquare(np.bincount(cells, minlength=256)).pvalue > 1e-3
        shares = np.array([((out[:, i] >> np.uint64(b)) & np.uint64(1)).mean() for b in range(64)])
        assert np.abs(shares - 0.5).max() < 4.8 * 0.5 / np.sqrt(out.shape[0])


def test_first_outputs_meet_as_often_as_birthdays():
    """Of n outputs cut to b bits n^2 / 2^(b+1) pairs are expected to meet, a Poisson number."""
    count, b = 200_000, 32
    out = first_outputs(stream_words(24, 0, count), 1)[:, 0]
    for part in (out >> np.uint64(64 - b), out & np.uint64(2**b - 1)):
        met = count - np.unique(part).size
        expected = count**2 / 2 ** (b + 1)
        assert abs(met - expected) < 4.5 * np.sqrt(expected)


def test_spawned_streams_are_outputs_from_the_words():
    words = stream_words(6, 3, 2)
    inner = spawned(words, 7)
    assert inner.shape == (2, 7, 4)
    for r in range(2):
        assert inner[r].tolist() == [words_of(words[r], i) for i in range(7)]
    assert (spawned(words[1], 3) == inner[1, :3]).all()
    assert (words == stream_words(6, 3, 2)).all()  # left as they were


def test_spawned_streams_are_uncorrelated_with_their_stream_and_each_other():
    words = stream_words(25, 0, 50_000)
    inner = spawned(words, 2)
    x = [first_outputs(w, 1)[:, 0] * 2.0**-64 - 0.5 for w in (words, inner[:, 0], inner[:, 1])]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert abs(12.0 * (x[a] * x[b]).sum() / np.sqrt(50_000)) < 4.0


def test_generators_of_streams_differ_and_repeat():
    words = stream_words(7, 0, 400)
    values = np.array([generator_of(w).standard_normal(50) for w in words])
    assert (generator_of(words[5].copy()).standard_normal(50) == values[5]).all()
    assert np.unique(values).size == values.size
    assert kstest(values.ravel(), norm.cdf).pvalue > 1e-3
