"""Normal draws have their law: in the layers of the ziggurat, at its edges and in the tail."""

import numba
import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm

from uli_fast._support.streams import stream_words
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.draws.normal import LAYERS, LIMIT, SIGN, TAIL, UNIT, F, X, normal


@numba.njit
def normals(source, out):
    for i in range(out.size):
        out[i] = normal(source)


@lean_kernel
def lean_normals(words, out):
    for i in range(out.size):
        out[i] = normal(words)


@pytest.fixture(scope="module")
def draws():
    out = np.zeros(10_000_000)
    normals(stream_words(31, 0, 1)[0], out)
    return out


def test_layers_have_the_same_area():
    rectangles = X[1:-1] * (F[2:] - F[1:-1])
    base = TAIL * F[1] + np.sqrt(2.0 * np.pi) * norm.sf(TAIL)
    assert rectangles == pytest.approx(base, rel=1e-12)
    assert X[0] * F[1] == pytest.approx(base, rel=1e-12)
    assert X[1] == TAIL and X[LAYERS] == 0.0 and F[LAYERS] == 1.0
    assert (np.diff(X) < 0.0).all()
    assert LAYERS * base == pytest.approx(np.sqrt(np.pi / 2), rel=1e-2)  # hardly more than f


def test_tables_of_positions_are_those_of_the_layers():
    assert UNIT * 2.0**53 == pytest.approx(X[:-1], rel=1e-15)
    assert LIMIT.astype(float) * UNIT == pytest.approx(X[1:], rel=1e-15)
    assert SIGN.tolist() == [1.0, -1.0]


def test_draws_are_normal(draws):
    cuts = norm.ppf(np.arange(1, 1000) / 1000.0)
    seen = np.bincount(np.searchsorted(cuts, draws), minlength=1000)
    assert chisquare(seen).pvalue > 1e-3
    assert kstest(draws[:500_000], norm.cdf).pvalue > 1e-3


def test_every_layer_edge_has_its_probability(draws):
    """Between two layers' ends lie a rectangle and a wedge, of which both signs are drawn."""
    edges = np.concatenate([-X[1:], X[1:-1][::-1]])
    seen = np.bincount(np.searchsorted(edges, draws), minlength=edges.size + 1)
    expected = np.diff(np.concatenate([[0.0], norm.cdf(edges), [1.0]]))
    assert chisquare(seen, expected * draws.size).pvalue > 1e-3


def test_moments_are_those_of_the_law(draws):
    square = draws * draws
    for power, x, moment, variance in (
        (1, draws, 0, 1),
        (2, square, 1, 2),
        (3, square * draws, 0, 15),
        (4, square * square, 3, 96),
        (6, square * square * square, 15, 10170),
    ):
        assert abs(x.mean() - moment) < 4.0 * np.sqrt(variance / draws.size), power


def test_tail_is_exact(draws):
    far = np.abs(draws[np.abs(draws) > TAIL])
    expected = 2.0 * norm.sf(TAIL) * draws.size  # 2580
    assert abs(far.size - expected) < 4.0 * np.sqrt(expected)
    assert kstest(far, lambda x: 1.0 - norm.sf(x) / norm.sf(TAIL)).pvalue > 1e-3
    assert (draws > TAIL).sum() == pytest.approx(far.size / 2, abs=4.0 * np.sqrt(far.size) / 2)


def test_neighbouring_draws_are_independent(draws):
    for lag in (1, 2, 3):
        x, y = draws[:-lag], draws[lag:]
        for u, v in ((x, y), (np.abs(x) - np.sqrt(2 / np.pi), np.abs(y) - np.sqrt(2 / np.pi))):
            z = (u * v).sum() / np.sqrt(x.size) / (u.std() * v.std())
            assert abs(z) < 4.0


def test_first_draws_of_all_streams_are_normal():
    words, out = stream_words(32, 0, 100_000), np.zeros((100_000, 1))
    for w, x in zip(words, out, strict=True):
        lean_normals(w, x)
    assert kstest(out[:, 0], norm.cdf).pvalue > 1e-3


def test_draws_of_a_generator_are_its_own():
    ours, theirs, out = np.random.default_rng(8), np.random.default_rng(8), np.zeros(20_000)
    normals(ours, out)
    assert out.tolist() == theirs.standard_normal(out.size).tolist()
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_lean_kernels_draw_the_same():
    lean, other = np.zeros(1000), np.zeros(1000)
    lean_normals(stream_words(33, 0, 1)[0], lean)
    normals(stream_words(33, 0, 1)[0], other)
    assert lean.tolist() == other.tolist()
