"""SCRiBLe: the polytope, a round, and what is true of its estimates."""

import itertools

import numba
import numpy as np
import pytest

from tests.naive import scrible as naive
from uli_fast.errors import ArgumentError
from uli_fast.geometry.hull import hull_of
from uli_fast.kernels import scrible as kernel
from uli_fast.kernels.scrible import CLIPS, ROUND
from uli_fast.learners.scrible import new_scrible

DELTA = 0.1
RNG = np.random.default_rng(20)


def box(d):
    return np.array(list(itertools.product([-1.0, 1.0], repeat=d)))


def cross(d):
    return np.vstack([np.eye(d), -np.eye(d)])


SQUARE, CUBE = box(2), box(3)
PLANE = RNG.normal(size=(2, 5))
INSTANCES = {
    "interval": np.array([[0.2], [-1.0], [0.7], [3.0], [1.1]]),
    "square": SQUARE,
    "triangle": np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 0.8]]),
    "cube": CUBE,
    "12 points": RNG.normal(size=(12, 3)),
    "4-d simplex": np.vstack([np.zeros(4), np.eye(4)]),
    "4-d cross": cross(4),
    "pyramid": np.vstack([np.column_stack([SQUARE, np.zeros(4)]), [[0.0, 0.0, 1.0]]]),
    "duplicates, edge and inner points": np.vstack(
        [SQUARE[:2], SQUARE[:2], SQUARE, SQUARE[:2] / 2, [[0.0, 1.0], [0.0, 0.0]]]
    ),
    "a plane in five dimensions": 3.0 + RNG.normal(size=(7, 2)) @ PLANE,
    "thin": RNG.normal(size=(9, 3)) * np.array([1.0, 1e-4, 1e-8]),
}
FACETS = {"interval": 2, "square": 4, "triangle": 3, "cube": 6, "4-d simplex": 5, "4-d cross": 16}
FACETS |= {"pyramid": 5, "duplicates, edge and inner points": 4}
EACH = pytest.mark.parametrize("arms", INSTANCES.values(), ids=INSTANCES)


def linear_losses(arms, seed=0, size=0.5):
    """Return losses in [-size, size] that are affine in the arm."""
    x = hull_of(arms).x
    raw = x @ np.random.default_rng(seed).normal(size=x.shape[1]) + 0.3
    return size * raw / np.abs(raw).max()


def copied(state):
    return state._replace(
        **{k: v.copy() for k, v in state._asdict().items() if isinstance(v, np.ndarray)}
    )


def run(arms, T, rounds, seed=0):
    """Return the hull, the mean losses and a state after some rounds without noise."""
    hull, losses = hull_of(arms), linear_losses(arms, seed)
    state = new_scrible(hull, len(arms), T, DELTA, 0.5)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        a = kernel.choose(hull, state, rng.random(), rng.random())
        kernel.update(hull, state, a, losses[a])
    return hull, losses, state


def middle(k, d):
    """Return a uniform that chooses axis k."""
    return (k + 0.5) / (2 * d)


# The polytope


@EACH
def test_hull_equals_naive(arms):
    hull, P = hull_of(arms), naive.Polytope(arms)
    np.testing.assert_allclose(hull.x, P.X, atol=1e-7 if np.ptp(arms[:, -1]) < 1e-6 else 1e-12)
    assert np.flatnonzero(hull.is_vertex).tolist() == P.vertices
    assert len(hull.offsets) == P.F
    np.testing.assert_allclose(hull.centre, P.w1, atol=1e-7)
    slack = hull.slack[hull.is_vertex]
    assert (slack >= 0).all() and (hull.centre_slack > 0).all()
    np.testing.assert_array_equal(hull.incidence.T[hull.is_vertex], slack == 0)


@pytest.mark.parametrize("name", FACETS)
def test_facets_in_pieces_are_merged(name):
    assert len(hull_of(INSTANCES[name]).offsets) == FACETS[name]


def test_equal_arms_are_refused():
    with pytest.raises(ArgumentError, match="equal"):
        hull_of(np.full((3, 2), 0.1))


def test_the_centre_of_a_cube_is_its_middle():
    np.testing.assert_allclose(hull_of(CUBE + 5.0).centre, 0.0, atol=1e-12)


# Against the reference


@pytest.mark.parametrize("size, T", [(0.5, 150), (400.0, 15)], ids=["in range", "loud losses"])
@EACH
def test_kernel_follows_naive_on_the_same_uniforms(arms, size, T):
    """Losses far beyond ymax make long steps and pulls towards the centre."""
    rng = np.random.default_rng(3)
    u, v, noise = rng.random(T), rng.random(T), 0.1 * size * rng.uniform(-1, 1, T)
    losses = linear_losses(arms, size=0.9 * size)
    expected = naive.play(arms, lambda t, a: losses[a] + noise[t], u, v, DELTA, ymax=0.5)
    hull = hull_of(arms)
    state = new_scrible(hull, len(arms), T, DELTA, 0.5)
    exact = {"rtol": 1e-9, "atol": 1e-9}
    if np.ptp(arms[:, -1]) < 1e-6:  # the reference itself loses digits on thin sets
        exact = {"rtol": 1e-5, "atol": 1e-5}
    for t in range(T):
        np.testing.assert_allclose(state.w, expected["w"][t], **exact)
        np.testing.assert_allclose(state.eta[0], expected["eta"][t], rtol=1e-12)
        kernel.probabilities(hull, state, state.p)
        np.testing.assert_allclose(state.p, expected["p"][t], **exact)
        arm = kernel.choose(hull, state, u[t], v[t])
        assert arm == expected["arm"][t]
        np.testing.assert_allclose(state.lam, expected["lam"][t], **exact)
        kernel.update(hull, state, arm, losses[arm] + noise[t])
        top = np.abs(state.estimate).max()
        np.testing.assert_allclose(state.estimate / top, expected["est"][t] / top, **exact)
    assert state.clock[CLIPS] == expected["clips"]
    assert (state.clock[CLIPS] > 0) == (size > 1)
    assert state.clock[ROUND] == T


# A round


@EACH
def test_the_point_is_inside_and_the_mean_of_few_vertices(arms):
    hull, _, state = run(arms, T=200, rounds=150)
    d = hull.x.shape[1]
    for k in range(2 * d):
        kernel.choose(hull, state, middle(k, d), 0.5)
        point, lam = state.work.point, state.lam
        s = hull.offsets - hull.normals @ point
        assert (s >= (1 - 1 / np.sqrt(state.c)) * state.s - 1e-12).all()
        np.testing.assert_allclose(lam @ hull.x, point, rtol=0, atol=1e-12)
        assert (lam >= 0).all() and lam.sum() == pytest.approx(1, abs=1e-14)
        assert (lam > 0).sum() <= d + 1
        assert not lam[~hull.is_vertex].any()


def assert_decomposes(hull, rng, atol, points=50):
    """Try means of few vertices: points of faces and of the interior."""
    vertices, d = np.flatnonzero(hull.is_vertex), hull.x.shape[1]
    state = new_scrible(hull, len(hull.x), 100, DELTA, 0.5)
    for _ in range(points):
        few = rng.permutation(vertices)[: rng.integers(1, d + 3)]
        x = rng.dirichlet(np.full(len(few), 0.5)) @ hull.x[few]
        kernel.decompose(hull, x, state.lam, state.work)
        np.testing.assert_allclose(state.lam @ hull.x, x, rtol=0, atol=atol)
        assert (state.lam >= 0).all() and (state.lam > 0).sum() <= d + 1


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_any_point_of_the_hull_decomposes(d):
    rng = np.random.default_rng(d)
    for K in (d + 1, 2 * d + 2, 40):
        corner = np.eye(K, d)  # so that no two dimensions are equal
        assert_decomposes(hull_of(rng.integers(-2, 3, (K, d)) + 0.1 * corner), rng, 1e-12)


@pytest.mark.parametrize("noise", 10.0 ** np.arange(-16, -3))
def test_nearly_coplanar_and_nearly_equal_arms_are_told_apart_or_refused(noise):
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(20):
        d = rng.integers(2, 5)
        arms = rng.integers(0, 2, (4 * d, d)) + noise * rng.normal(size=(4 * d, d))
        try:
            hull = hull_of(arms)
        except ArgumentError:
            refused += 1
        else:
            assert_decomposes(hull, rng, 1e-4, points=10)
    assert refused <= 1


def test_single_precision_does_not_split_the_facets_of_a_grid():
    grid = np.array(list(itertools.product(range(4), repeat=3))) / 3
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    hull = hull_of((grid @ turn).astype(np.float32).astype(float))
    assert len(hull.offsets) == 6
    assert hull.is_vertex.sum() == 8


@EACH
def test_estimates_are_unbiased_over_axes_and_arms(arms):
    hull, losses, state = run(arms, T=200, rounds=100)
    K, d = hull.x.shape
    mean_loss, mean_estimate = np.zeros(d), np.zeros(K)
    for k in range(2 * d):
        kernel.choose(hull, state, middle(k, d), 0.5)
        for a in np.flatnonzero(state.lam):
            after = copied(state)
            kernel.update(hull, after, a, losses[a])
            mean_loss += state.lam[a] * after.work.loss / (2 * d)
            mean_estimate += state.lam[a] * (after.estimate - state.estimate) / (2 * d)
    theta = np.linalg.lstsq(hull.x, losses - losses.mean(), rcond=None)[0]
    np.testing.assert_allclose(mean_loss, theta, atol=1e-9)
    np.testing.assert_allclose(mean_estimate, losses, atol=1e-9)


@EACH
def test_probabilities_are_those_of_the_draws(arms):
    hull, _, state = run(arms, T=200, rounds=100)
    K, d = hull.x.shape
    p, q, grid = np.zeros(K), np.zeros(K), 200
    kernel.probabilities(hull, state, p)
    for k, i in itertools.product(range(2 * d), range(grid)):
        q[kernel.choose(hull, state, middle(k, d), (i + 0.5) / grid)] += 1 / (2 * d * grid)
    assert p.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(p, q, atol=1 / grid)
    assert not p[~hull.is_vertex].any()


def test_choosing_again_changes_nothing_but_the_axis():
    hull, losses, state = run(CUBE, T=200, rounds=50)
    other = copied(state)
    kernel.choose(hull, other, 0.9, 0.1)
    kernel.probabilities(hull, other, other.p)
    for s in (state, other):
        a = kernel.choose(hull, s, 0.3, 0.6)
        kernel.update(hull, s, a, losses[a])
    for name in ("w", "s", "C", "eta", "Hsum", "estimate"):
        np.testing.assert_array_equal(getattr(state, name), getattr(other, name))


def test_a_zero_loss_moves_nothing():
    hull = hull_of(CUBE)
    state = new_scrible(hull, 8, 100, DELTA, 0.5)
    eta, Hsum = state.eta[0], state.Hsum.copy()
    kernel.update(hull, state, kernel.choose(hull, state, 0.5, 0.5), 0.0)
    np.testing.assert_array_equal(state.w, hull.centre)
    np.testing.assert_array_equal(state.Hsum, Hsum)  # equal Hessians do not exceed
    assert state.eta[0] == eta


def test_exceeds_is_a_positive_eigenvalue():
    rng = np.random.default_rng(5)
    seen = []
    for _ in range(200):
        m = rng.integers(2, 6)
        roots = rng.normal(size=(2, m, m))
        H, Hsum = roots[0] @ roots[0].T, rng.uniform(1, 30) * roots[1] @ roots[1].T
        seen.append(np.linalg.eigvalsh(H - Hsum)[-1] > 0)
        assert kernel.exceeds(H, Hsum, np.zeros((m, m))) == seen[-1]
    assert 20 < sum(seen) < 180
    singular = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert kernel.exceeds(np.zeros((2, 2)), singular, np.zeros((2, 2)))
    assert not kernel.exceeds(singular, singular, np.zeros((2, 2)))


# A run


@numba.njit
def play(hull, state, means, rng, rounds, plays):
    """Play Bernoulli losses +-1/2; count plays by decile, and decreases of eta."""
    decreases = 0
    for t in range(rounds):
        arm = kernel.choose(hull, state, rng.random(), rng.random())
        before = state.eta[0]
        kernel.update(hull, state, arm, 0.5 if rng.random() < 0.5 + means[arm] else -0.5)
        decreases += state.eta[0] < before
        plays[10 * t // rounds, arm] += 1
    return decreases


@pytest.mark.parametrize("arms, T", [(SQUARE, 100_000), (CUBE, 400_000)], ids=["square", "cube"])
def test_the_best_arm_s_share_grows_while_eta_hardly_does(arms, T):
    hull = hull_of(arms)
    state = new_scrible(hull, len(arms), T, DELTA, 0.5)
    eta = state.eta[0]
    theta = np.linspace(0.25, 0.3, arms.shape[1]) / arms.shape[1]
    plays = np.zeros((10, len(arms)))
    assert play(hull, state, arms @ theta, np.random.default_rng(0), T, plays) == 0
    share = 10 * plays[:, 0] / T
    assert share[0] < 0.6 and share[-1] > 0.9
    assert (np.diff(share) > -0.02).all()
    assert eta < state.eta[0] <= 1.1 * eta
    assert state.clock[CLIPS] == 0
    assert state.estimate.argmin() == 0
