"""Designs: the certificate, the optimum, and sets of arms that are hard on numerics."""

import math

import numpy as np
import pytest

from uli_fast.errors import ArgumentError, DesignError
from uli_fast.geometry import designs


def leverages(arms, weights):
    """Compute a_i^T G^+ a_i from the definition."""
    G = (arms.T * weights) @ arms
    return np.einsum("ij,jk,ik->i", arms, np.linalg.pinv(G, rcond=1e-12, hermitian=True), arms)


def cube(K, d, rng):
    return rng.choice([-1.0, 1.0], (K, d))


def sphere(K, d, rng):
    arms = rng.standard_normal((K, d))
    return arms / np.linalg.norm(arms, axis=1, keepdims=True)


def curve(K, d, rng):
    return np.polynomial.chebyshev.chebvander(np.linspace(-1.0, 1.0, K), d - 1)


def flat(K, d, rng):
    """Arms in a subspace of dimension d - 2."""
    return rng.standard_normal((K, d - 2)) @ rng.standard_normal((d - 2, d))


FAMILIES = [cube, sphere, curve, flat]


def assert_certified(arms, design, tolerance):
    assert (design.weights >= 0.0).all()
    assert design.weights.sum() == pytest.approx(1.0, abs=1e-12)
    v = leverages(arms, design.weights)
    assert design.weights @ v == pytest.approx(design.rank, rel=1e-8)
    assert design.max_leverage == pytest.approx(v.max(), rel=1e-6)
    assert design.max_leverage <= tolerance * design.rank
    assert v.max() <= tolerance * design.rank * (1.0 + 1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("K, d", [(5, 3), (40, 4), (300, 8), (500, 30)])
@pytest.mark.parametrize("tolerance", [1.01, 1.1, 2.0])
def test_the_certificate_is_true(family, K, d, tolerance):
    arms = family(K, d, np.random.default_rng(K + d))
    design = designs.d_optimal(arms, tolerance)
    assert design.rank == np.linalg.matrix_rank(arms)
    assert_certified(arms, design, tolerance)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_optimum_of_an_independent_solver(seed):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    arms = rng.standard_normal((int(rng.integers(6, 20)), int(rng.integers(2, 5))))
    nu = cp.Variable(len(arms), nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.log_det(arms.T @ cp.diag(nu) @ arms)), [cp.sum(nu) == 1])
    problem.solve(solver="CLARABEL")
    design = designs.d_optimal(arms, 1.0 + 1e-8)
    reached = np.linalg.slogdet((arms.T * design.weights) @ arms)[1]
    assert reached == pytest.approx(problem.value, abs=1e-6)


def test_known_designs():
    # On [-1, 1] a parabola is best measured at the ends and in the middle.
    t = np.linspace(-1.0, 1.0, 21)
    design = designs.d_optimal(np.stack([np.ones(21), t, t * t], axis=1), 1.0 + 1e-9)
    assert design.weights[[0, 10, 20]] == pytest.approx([1 / 3] * 3, abs=1e-7)
    # On the line only the longest arm counts.
    assert designs.d_optimal([[1.0], [-3.0], [2.0]]).weights.tolist() == [0.0, 1.0, 0.0]
    # A basis is weighted evenly, whatever the lengths.
    assert designs.d_optimal(np.diag([1.0, 20.0, 300.0])).weights == pytest.approx([1 / 3] * 3)


def test_the_two_criteria_share_one_design():
    arms = sphere(50, 4, np.random.default_rng(2))
    assert (designs.g_optimal(arms).weights == designs.d_optimal(arms, 2.0).weights).all()


@pytest.mark.parametrize("d", [1, 2, 5, 20, 40])
def test_a_near_g_optimal_design_has_a_small_support(d):
    limit = 4 * d * math.log(math.log(max(d, math.e))) + 16
    for K in (d, 3 * d, 50 * d, 6000):
        rng = np.random.default_rng(K)
        for stretch in (0.0, 3.0):
            arms = rng.standard_normal((K, d)) * rng.uniform(0, 1, (K, 1)) ** stretch
            design = designs.g_optimal(arms)
            assert (design.weights > 0).sum() <= limit
            assert design.max_leverage <= 2 * design.rank * (1 + 1e-9)


def test_many_arms_of_which_a_sample_misses_a_direction():
    """One arm in 20,000 leaves the plane of the others, by little: it must have weight."""
    rng = np.random.default_rng(4)
    arms = np.column_stack([rng.standard_normal((20_000, 2)), np.zeros(20_000)])
    arms[12_345] = [0.1, 0.1, 1e-6]
    design = designs.d_optimal(arms)
    assert design.rank == 3
    assert design.weights[12_345] > 0.3
    whitened = np.linalg.pinv((design.weights[:, None] * arms).T @ arms, rcond=1e-25)
    leverages = np.einsum("ij,jk,ik->i", arms, whitened, arms)
    assert leverages.max() <= 1.01 * 3 * (1 + 1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_linear_maps_change_nothing(family):
    rng = np.random.default_rng(1)
    arms = family(60, 5, rng)
    design = designs.d_optimal(arms, 1.0 + 1e-6)
    skew = np.diag([1e-3, 1e-1, 1.0, 10.0, 1e3]) @ rng.standard_normal((5, 5))
    for image in (arms @ skew, arms @ rng.standard_normal((5, 9)), -arms):
        other = designs.d_optimal(image, 1.0 + 1e-6)
        assert other.rank == design.rank
        v = leverages(designs.span_coordinates(arms), other.weights)  # the image's design, here
        assert v.max() <= (1.0 + 1e-5) * design.rank


@pytest.mark.parametrize("size", [1e-100, 1e-8, 1e8, 1e100])
def test_size_changes_nothing(size):
    arms = sphere(80, 4, np.random.default_rng(3))
    design, other = designs.d_optimal(arms), designs.d_optimal(size * arms)
    assert other.weights == pytest.approx(design.weights, abs=1e-9)
    assert designs.rank(size * arms) == 4


def test_arms_of_very_different_lengths():
    arms = sphere(200, 4, np.random.default_rng(4))
    arms *= np.geomspace(1e-6, 1.0, 200)[:, None]
    assert_certified(arms, designs.d_optimal(arms), 1.01)
    steep = np.array([[1.0, 0.0], [0.0, 1e-8], [1.0, 1e-8]])
    design = designs.d_optimal(steep, 1.0 + 1e-6)
    assert design.rank == 2
    assert design.weights == pytest.approx([1 / 3] * 3, abs=1e-4)


def test_below_the_tolerance_a_direction_does_not_count():
    design = designs.d_optimal([[1.0, 0.0], [0.0, 1e-12]])
    assert design.rank == designs.rank([[1.0, 0.0], [0.0, 1e-12]]) == 1
    assert design.weights.tolist() == [1.0, 0.0]


def test_a_single_arm():
    design = designs.d_optimal([[0.3, -0.4, 0.0]])
    assert design.weights.tolist() == [1.0]
    assert (design.rank, design.iterations) == (1, 0)
    assert design.max_leverage == pytest.approx(1.0)


def test_repeated_arms_and_zero_arms():
    rng = np.random.default_rng(5)
    arms = sphere(10, 3, rng)
    crowd = np.concatenate([np.zeros((4, 3)), np.repeat(arms, 50, axis=0), -arms])
    design = designs.d_optimal(crowd)
    assert_certified(crowd, design, 1.01)
    assert (design.weights[:4] == 0.0).all()
    assert designs.d_optimal(np.ones((7, 3))).rank == 1


def test_more_dimensions_than_arms():
    design = designs.d_optimal(np.random.default_rng(6).standard_normal((4, 50)))
    assert design.rank == 4
    assert design.weights == pytest.approx([0.25] * 4)


def test_many_arms():
    arms = np.random.default_rng(7).standard_normal((10_000, 20))
    design = designs.d_optimal(arms)
    assert_certified(arms, design, 1.01)
    assert np.count_nonzero(design.weights) < 500
    assert design.iterations < 2000


@pytest.mark.parametrize("tolerance", [2.0, 1.3])
@pytest.mark.parametrize("narrow", [1.0, 1e-3])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_largest_leverage_is_that_of_all_arms(family, narrow, tolerance):
    """Also where many are short, and where the largest is a short arm in a narrow direction."""
    rng = np.random.default_rng(9)
    arms = family(6000, 8, rng) * rng.uniform(0, 1, (6000, 1)) ** 2
    arms[:, 0] *= narrow
    arms[rng.integers(6000)] = 0.5 * narrow * np.eye(8)[0] if family is not flat else 0.0
    design = designs.d_optimal(arms, tolerance)
    assert_certified(arms, design, tolerance)
    assert design.max_leverage == pytest.approx(leverages(arms, design.weights).max(), rel=1e-8)


@pytest.mark.parametrize(("K", "d"), [(1, 1), (3, 5), (700, 12), (5000, 40), (9000, 100)])
def test_pieces_are_as_good_as_the_whole(K, d):
    """Products, and factors R of columns that differ by ten orders of magnitude."""
    rng = np.random.default_rng(K)
    X, B = rng.normal(size=(K, d)), rng.normal(size=(d, d))
    assert np.allclose(designs.times(X, B), X @ B, rtol=1e-9, atol=1e-12)
    assert np.allclose(designs.times(X, B[0]), X @ B[0], rtol=1e-9, atol=1e-12)
    scales = np.geomspace(1.0, 1e-10, d)
    triangle = designs._triangle(X * scales) / scales
    assert triangle.shape == (min(K, d), d)
    assert np.allclose(triangle.T @ triangle, X.T @ X, rtol=1e-10, atol=1e-9 * K)


def test_span_coordinates_keep_lengths_and_angles():
    rng = np.random.default_rng(8)
    for arms in (flat(30, 6, rng), 1e8 * cube(20, 3, rng), 1e-8 * sphere(1, 4, rng)):
        inside = designs.span_coordinates(arms)
        assert (
            inside.shape
            == (len(arms), np.linalg.matrix_rank(arms))
            == (
                len(arms),
                designs.rank(arms),
            )
        )
        products = arms @ arms.T
        assert np.allclose(inside @ inside.T, products, rtol=0, atol=1e-12 * abs(products).max())


def test_never_an_uncertified_design(monkeypatch):
    monkeypatch.setattr(designs, "LARGEST_ITERATIONS", 3)
    with pytest.raises(DesignError, match="3 iterations"):
        designs.d_optimal(sphere(100, 6, np.random.default_rng(9)))


def test_results_are_frozen_and_arguments_untouched():
    arms = sphere(20, 3, np.random.default_rng(10))
    before = arms.copy()
    design = designs.d_optimal(arms)
    assert (arms == before).all()
    with pytest.raises(ValueError, match="read-only"):
        design.weights[0] = 1.0
    with pytest.raises(AttributeError):
        design.rank = 2


BAD = {
    "all zero": (lambda: designs.d_optimal(np.zeros((3, 2))), "arms"),
    "all zero span": (lambda: designs.span_coordinates([[0.0, 0.0]]), "arms"),
    "no arms": (lambda: designs.d_optimal(np.zeros((0, 2))), "arms"),
    "vector": (lambda: designs.d_optimal([1.0, 2.0]), "arms"),
    "NaN": (lambda: designs.d_optimal([[1.0, np.nan]]), "arms"),
    "text": (lambda: designs.rank("arms"), "arms"),
    "tolerance 1": (lambda: designs.d_optimal([[1.0]], tolerance=1.0), "tolerance"),
    "tolerance 3": (lambda: designs.d_optimal([[1.0]], tolerance=3), "tolerance"),
    "tolerance NaN": (lambda: designs.d_optimal([[1.0]], tolerance=np.nan), "tolerance"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_argument(case):
    call, argument = BAD[case]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument


def test_the_rank_of_zero_arms_is_zero():
    assert designs.rank(np.zeros((3, 2))) == 0
