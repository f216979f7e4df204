"""Binomial draws have their law, from ten expected successes to 10^13 trials."""

import numba
import numpy as np
import pytest
from scipy.stats import binom, chisquare, norm

from uli_fast.kernels.rewards.binomial import LOG_ROOT_TWO_PI, _accepted, binomial, log_likelihood


@numba.njit
def draw(rng, n, p, out):
    for i in range(out.size):
        out[i] = binomial(rng, n, p)


@pytest.mark.parametrize(
    ("n", "p"),
    [(8, 0.5), (20, 0.5), (25, 0.42), (64, 0.5), (100, 0.85), (1000, 0.02), (10**5, 0.3)],
)
def test_draws_have_their_probabilities(n, p):
    out = np.zeros(500_000, np.int64)
    draw(np.random.default_rng(n), n, p, out)
    assert out.min() >= 0
    assert out.max() <= n
    cuts = np.unique(binom.ppf(np.concatenate([[2e-5, 2e-4], np.linspace(0.002, 0.998, 90)]), n, p))
    cuts = np.append(cuts, binom.ppf([1 - 2e-4, 1 - 2e-5], n, p))
    cuts = np.unique(cuts[cuts < n])
    expected = np.diff(np.concatenate([[0.0], binom.cdf(cuts, n, p), [1.0]]))
    seen = np.histogram(out, np.concatenate([[-1.0], cuts + 0.5, [n + 1.0]]))[0]
    assert chisquare(seen, expected * out.size).pvalue > 1e-4


@pytest.mark.parametrize("p", [0.5, 0.1, 0.8])
def test_many_trials_are_nearly_normal(p):
    n, out = 10**13, np.zeros(200_000, np.int64)
    draw(np.random.default_rng(7), n, p, out)
    z = (out - n * p) / np.sqrt(n * p * (1 - p))
    cuts = norm.ppf(np.linspace(0, 1, 101)[1:-1])
    seen = np.histogram(z, np.concatenate([[-np.inf], cuts, [np.inf]]))[0]
    assert chisquare(seen).pvalue > 1e-4
    # every residue is as likely: nothing is lost to rounding at this size
    assert chisquare(np.bincount(out % 7, minlength=7)).pvalue > 1e-4


@pytest.mark.parametrize("n", [10**11, 10**13, 10**15, 8 * 10**15])
def test_no_draw_is_impossibly_far_from_its_mean(n):
    """Squares of distances beyond 3e9 do not fit in int64; they once let such draws pass."""
    out = np.zeros(2_000_000, np.int64)
    for p in (0.5, 0.3):
        draw(np.random.default_rng(9), n, p, out)
        assert np.abs(out - n * p).max() < 7.0 * np.sqrt(n * p * (1 - p))


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
