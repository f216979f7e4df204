"""Gamma and beta draws have their law, from shapes of a thousandth to 10^15."""

import math

import numba
import numpy as np
import pytest
from scipy.special import digamma, polygamma
from scipy.stats import beta as beta_law
from scipy.stats import chisquare, kstest, norm
from scipy.stats import gamma as gamma_law

from uli_fast._support.streams import stream_words
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.draws.gamma import beta, gamma, log_gamma


@numba.njit(error_model="numpy")
def gammas(source, shape, out):
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    for i in range(out.size):
        out[i] = gamma(source, d, c)


@lean_kernel
def log_gammas(source, shape, out):
    for i in range(out.size):
        out[i] = log_gamma(source, shape)


@lean_kernel
def betas(source, a, b, out):
    for i in range(out.size):
        out[i] = beta(source, a, b)


def filled(fill, *parameters, count=300_000, seed=41, source=None):
    out = np.zeros(count)
    fill(stream_words(seed, 0, 1)[0] if source is None else source, *parameters, out)
    return out


def fits(levels):
    """Say whether values of a distribution function are uniform, in the tails too."""
    cuts = np.concatenate([[1e-4, 1e-3], np.arange(1, 100) / 100.0, [0.999, 0.9999]])
    expected = np.diff(np.concatenate([[0.0], cuts, [1.0]])) * levels.size
    seen = np.bincount(np.searchsorted(cuts, levels), minlength=expected.size)
    return kstest(levels, "uniform").pvalue > 1e-3 and chisquare(seen, expected).pvalue > 1e-3


@pytest.mark.parametrize("shape", [1.0, 1.2, 2.0, 7.5, 300.0, 1e6])
def test_gammas_have_their_law(shape):
    assert fits(gamma_law(shape).cdf(filled(gammas, shape)))


@pytest.mark.parametrize("shape", [1e9, 1e12, 1e14, 1e15])
def test_gammas_of_large_shapes_are_the_cubes_of_normal_draws(shape):
    """Wilson and Hilferty's cube is as good as exact here, and SciPy is not."""
    x = filled(gammas, shape, count=1_000_000)
    z = (np.cbrt(x / shape) - 1.0 + 1.0 / (9.0 * shape)) * 3.0 * math.sqrt(shape)
    assert fits(norm.cdf(z))


def test_rounding_refuses_no_outer_draw_of_a_large_shape():
    """d - d v has an error of 0.06 here, which would make the variance smaller by a part in 200."""
    x = filled(gammas, 1e15, count=4_000_000) / 1e15 - 1.0
    assert abs(x.var() * 1e15 - 1.0) < 4.0 * math.sqrt(2.0 / x.size)


@pytest.mark.parametrize("shape", [1e-3, 0.02, 0.3, 0.9, 1.0, 4.0])
def test_logarithms_of_gammas_have_their_law(shape):
    logs = filled(log_gammas, shape)
    assert np.isfinite(logs).all()
    if shape < 0.01:  # most are below 10^-300; P(G < x) = x^s / Gamma(1 + s) as x -> 0
        small = logs < -20.0
        assert abs(small.mean() - math.exp(-20.0 * shape - math.lgamma(1.0 + shape))) < 1e-3
        assert kstest(np.exp(shape * (logs[small] + 20.0)), "uniform").pvalue > 1e-3
    else:
        assert fits(gamma_law(shape).cdf(np.exp(logs)))
    error = math.sqrt(polygamma(1, shape) / logs.size)
    assert abs(logs.mean() - digamma(shape)) < 4.0 * error


def test_draws_of_a_generator_come_in_their_old_order():
    """A normal, then a uniform if the normal is not too low: states of live players hold it."""
    for shape in (1.0, 1.5, 40.0, 3e5):
        ours, rng = np.random.default_rng(5), np.random.default_rng(5)
        out = filled(gammas, shape, count=3000, source=ours)
        d = shape - 1.0 / 3.0
        c = 1.0 / math.sqrt(9.0 * d)
        for i in range(out.size):
            while True:
                x = rng.standard_normal()
                v = 1.0 + c * x
                if v > 0.0:
                    v, u = v * v * v, rng.random()
                    if u < 1.0 - 0.0331 * (x * x) * (x * x):
                        break
                    if math.log(u) < 0.5 * (x * x) + d * (1.0 - v + math.log(v)):
                        break
            assert out[i] == d * v
        assert ours.bit_generator.state == rng.bit_generator.state


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, 1), (2, 3), (1, 30), (400, 250), (0.5, 0.5), (0.2, 4), (6, 0.7), (0.9, 1), (1e5, 3e4)],
)
def test_betas_have_their_law(a, b):
    levels = beta_law(a, b).cdf(filled(betas, float(a), float(b)))
    assert fits(levels)


@pytest.mark.parametrize(("a", "b"), [(1e-3, 1e-3), (1e-3, 3e-3), (0.01, 0.002), (0.05, 0.05)])
def test_betas_of_small_parameters_have_their_law(a, b):
    """Most of them are 0 or 1 to all digits: the others are compared where they lie."""
    out = filled(betas, a, b, count=600_000)
    cuts = np.array([1e-250, 1e-90, 1e-30, 1e-12, 1e-6, 1e-3, 0.05, 0.5, 0.95, 0.999, 1 - 1e-9])
    expected = np.diff(np.concatenate([[0.0], beta_law(a, b).cdf(cuts), [1.0]])) * out.size
    assert chisquare(np.bincount(np.searchsorted(cuts, out), minlength=12), expected).pvalue > 1e-3


@pytest.mark.parametrize("a", [1e9, 1e12, 1e15])
def test_betas_of_large_parameters_are_nearly_normal(a):
    out = filled(betas, a, a, count=1_000_000)
    z = (out - 0.5) * 2.0 * math.sqrt(2.0 * a + 1.0)
    assert fits(norm.cdf(z))


@pytest.mark.parametrize("a", [1e-3, 0.4, 1.0, 5.0])
def test_betas_beside_a_huge_parameter_are_gammas(a):
    """Beta(a, b) b has the law of G(a) as b grows, by O(1 / b)."""
    out = filled(betas, a, 1e15) * 1e15
    if a < 0.1:
        assert abs((out == 0.0).mean() - (1e15 / 1.7e308) ** a) < 4e-3
        assert abs((out > 1e-3).mean() - gamma_law(a).sf(1e-3)) < 4e-4
    else:
        assert fits(gamma_law(a).cdf(out))


def test_moments_of_betas():
    moderate = ((0.3, 0.3), (20.0, 3.0), (1e8, 1e7))
    for a, b in (*moderate, (1e-3, 0.5), (2.0, 1e-3), (1e-20, 2e-20), (1e-310, 3e-310)):
        out = filled(betas, a, b)
        mean = a / (a + b)
        variance = mean * (1.0 - mean) / (a + b + 1.0)
        assert abs(out.mean() - mean) < 4.0 * math.sqrt(variance / out.size)


def test_betas_are_numbers_between_0_and_1():
    every = (5e-324, 1e-300, 1e-101, 1e-20, 1e-3, 0.5, 1.0, 3.0, 1e6, 1e15, 1e300)
    for a in every:
        for b in every:
            out = filled(betas, a, b, count=2000)
            assert (out >= 0.0).all() and (out <= 1.0).all(), (a, b)  # NaN is neither
            if a / (a + b) < 1e-9:
                assert out.max() < 0.02
            if b / (a + b) < 1e-9:
                assert out.min() > 0.98


def test_betas_of_a_generator_have_their_law():
    out = filled(betas, 0.4, 2.5, source=np.random.default_rng(3))
    assert fits(beta_law(0.4, 2.5).cdf(out))
