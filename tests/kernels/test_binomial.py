"""Binomial draws have their law, from no expected success to 10^13 trials and more."""

import math

import numba
import numpy as np
import pytest
from scipy.stats import binom, chisquare, norm, poisson

from uli_fast._support.streams import stream_words
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.draws.binomial import LOG_ROOT_TWO_PI, _accepted, binomial, log_likelihood
from uli_fast.kernels.draws.stream import uniform


@numba.njit
def fill(source, n, p, out):
    for i in range(out.size):
        out[i] = binomial(source, n, p)


@numba.njit
def uniforms(words, out):
    for i in range(out.size):
        out[i] = uniform(words)


@lean_kernel
def lean_fill(words, n, p, out):
    for i in range(out.size):
        out[i] = binomial(words, n, p)


def drawn(n, p, count, seed=1):
    out = np.zeros(count, np.int64)
    lean_fill(stream_words(seed, 0, 1)[0], n, p, out)
    assert out.min() >= 0 and out.max() <= n
    return out


def fits(out, law):
    """Say whether draws have their probabilities, cells of the far tails included."""
    ends = [2e-5, 2e-4]
    levels = np.concatenate([ends, np.linspace(0.002, 0.998, 90), 1.0 - np.array(ends)[::-1]])
    cuts = np.unique(law.ppf(levels))
    cuts = cuts[law.sf(cuts) * out.size > 5.0]
    expected = np.diff(np.concatenate([[0.0], law.cdf(cuts), [1.0]]))
    cells = np.searchsorted(cuts, out)
    return chisquare(np.bincount(cells, minlength=expected.size), expected * out.size).pvalue > 1e-4


@pytest.mark.parametrize(
    ("n", "p"),
    [(8, 0.5), (20, 0.5), (25, 0.42), (64, 0.5), (100, 0.85), (1000, 0.02), (10**5, 0.3)],
)
def test_draws_have_their_probabilities(n, p):
    assert fits(drawn(n, p, 500_000), binom(n, p))


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (1, 0.3),
        (1, 0.5),
        (2, 0.9),
        (19, 0.5),  # as many as are counted up
        (21, 0.53),
        (11, 0.89),
        (40, 0.2),
        (300, 0.999),
        (1000, 0.0099),
        (10**9, 3e-9),
        (10**9, 1.0 - 2.0**-27),
    ],
)
def test_few_expected_ones_have_their_probabilities(n, p):
    assert n * min(p, 1.0 - p) < 10.0
    assert fits(drawn(n, p, 500_000), binom(n, p))


@pytest.mark.parametrize("n", [10**13, 10**15, 2**53 - 1, 2**53])
@pytest.mark.parametrize("mean", [0.02, 1.5, 9.99])
def test_rare_ones_among_many_trials_are_poisson(n, mean):
    """By less than mean^2 / n, in total variation (Le Cam)."""
    assert fits(drawn(n, mean / n, 300_000), poisson(mean))


def test_draws_of_a_generator_have_their_probabilities():
    for n, p in ((12, 0.6), (10**4, 0.35)):
        out = np.zeros(200_000, np.int64)
        fill(np.random.default_rng(n), n, p, out)
        assert fits(out, binom(n, p))


def test_certain_and_impossible_successes():
    for n in (0, 1, 25, 10**13, 2**53):
        assert set(drawn(n, 0.0, 100).tolist()) == {0}
        assert set(drawn(n, 1.0, 100).tolist()) == {n}
        assert set(drawn(n, 5e-324, 100).tolist()) == {0}
    assert set(drawn(0, 0.5, 100).tolist()) == {0}
    assert set(drawn(3, 1.0 - 2.0**-53, 100).tolist()) == {3}


def test_counted_draws_invert_the_distribution():
    """A uniform gives the first k at which the distribution exceeds it."""
    for n, p in ((6, 0.5), (50, 0.1), (10**13, 4e-13)):
        out, u = drawn(n, p, 5000), np.zeros(5000)
        law = binom(n, p) if n < 10**6 else poisson(n * p)
        words = stream_words(1, 0, 1)[0]
        uniforms(words, u)
        near = (np.abs(law.cdf(out) - u) < 1e-9) | (np.abs(law.cdf(out - 1) - u) < 1e-9)
        assert ((out == law.ppf(u)) | near).all()


def test_moments_are_those_of_the_law():
    for n, p in ((30, 0.2), (400, 0.1), (10**6, 0.7), (10**13, 0.4), (10**13, 5e-13)):
        count, variance = 400_000, n * p * (1.0 - p)
        z = (drawn(n, p, count, seed=2) - n * p) / math.sqrt(variance)
        excess = (1.0 - 6.0 * p * (1.0 - p)) / variance
        assert abs(z.mean()) < 4.0 / math.sqrt(count)
        assert abs(z.var() - 1.0) < 4.0 * math.sqrt((2.0 + excess) / count)


@pytest.mark.parametrize("p", [0.5, 0.1, 0.8])
@pytest.mark.parametrize("n", [10**13, 2**51 + 1])
def test_many_trials_are_nearly_normal(n, p):
    out = drawn(n, p, 200_000, seed=7)
    z = (out - n * p) / np.sqrt(n * p * (1 - p))
    cuts = norm.ppf(np.linspace(0, 1, 101)[1:-1])
    assert chisquare(np.bincount(np.searchsorted(cuts, z), minlength=100)).pvalue > 1e-4
    # every residue is as likely: nothing is lost to rounding at this size
    assert chisquare(np.bincount(out % 7, minlength=7)).pvalue > 1e-4
    assert chisquare(np.bincount(out % 2, minlength=2)).pvalue > 1e-4


@pytest.mark.parametrize("n", [10**11, 10**13, 10**15, 8 * 10**15])
def test_no_draw_is_impossibly_far_from_its_mean(n):
    """Squares of distances beyond 3e9 do not fit in int64; they once let such draws pass."""
    for p in (0.5, 0.3):
        out = drawn(n, p, 2_000_000, seed=9)
        assert np.abs(out - n * p).max() < 7.0 * np.sqrt(n * p * (1 - p))


def test_kernels_of_all_kinds_draw_the_same():
    for n, p in ((40, 0.1), (1000, 0.8)):
        out = np.zeros(1000, np.int64)
        fill(stream_words(1, 0, 1)[0], n, p, out)
        assert out.tolist() == drawn(n, p, 1000).tolist()


def test_far_draws_are_refused():
    for n in (10**11, 10**13, 10**15):
        variance = n * 0.25
        for far in (10.0**9, 3.5e9, 4.5e9, 6e9, 1e10, 2.5e10):
            for v in (0.9, 1e-3, 1e-12):
                limit = -far * far / (2.0 * variance)
                if limit < -50.0:
                    assert not _accepted(float(n), 0.5, variance, n // 2 + far, v)


def test_probabilities_are_exact():
    for n, p in ((12, 0.5), (40, 0.3), (1000, 0.1), (10**6, 0.45)):
        for k in {0, 1, n // 7, int(n * p), int(n * p) + 3, n - 1, n}:
            expected = binom.logpmf(k, n, p) + LOG_ROOT_TWO_PI
            assert log_likelihood(float(n), p, float(k)) == pytest.approx(expected, rel=1e-9)
