"""The steps of the proof of sharp PE-linear (docs/proofs_linear.md), one by one."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr

from tests.naive import linear_elimination as naive
from uli_fast.formulas.mixture import boundary, log_mills, log_mix
from uli_fast.guarantees.linear_blocks import EXACT_PAIRS, TOLERANCE, LinearBlocks
from uli_fast.kernels.linear import designs as kernel
from uli_fast.learners._linear_blocks import new_linear_state, redesign


def density(u, rho):
    """Return the density of |N(0, 1 / rho)|."""
    return math.sqrt(2.0 * rho / math.pi) * math.exp(-rho * u * u / 2.0)


@pytest.mark.parametrize("rho", [0.5, 100.0, 2e4])
@pytest.mark.parametrize("v", [0.0, 3.0, 500.0])
@pytest.mark.parametrize("x", [-3.0, -0.2, 0.0, 1.0, 4.0])
def test_the_mixture_is_a_gaussian_integral(x, v, rho):
    A = x * math.sqrt(v + rho)
    peak, width = max(A / (v + rho), 0.0), 12.0 / math.sqrt(v + rho)
    value = quad(
        lambda u: math.exp(u * A - u * u * v / 2.0) * density(u, rho),
        0.0,
        peak + width,
        points=[peak, peak + width / 12.0],
        limit=200,
    )[0]
    assert log_mix(A, v, rho) == pytest.approx(math.log(value), abs=1e-8)


def test_log_mills_is_right_everywhere():
    for x in np.concatenate([np.linspace(-60, 40, 2001), [-1e6, -1e-12, 0.0, 1e-12, 1e6]]):
        expected = 0.5 * x * x + float(log_ndtr(x))
        assert log_mills(x) == pytest.approx(expected, rel=1e-11, abs=1e-14 * x * x)


def test_the_boundary_is_the_root_in_the_kernel_and_in_f():
    for K, delta, prior in ((2, 0.3, 0.2), (2, 0.999999, 5.0), (1000, 1e-6, 0.01)):
        plan = LinearBlocks(K, 2, delta, prior)
        for v in (0.0, 1e-6, 1.0, 1e3, 1e9, 1e18):
            c = boundary(v, plan.level, plan.rho)
            assert c == pytest.approx(float(plan.boundary(np.array([v]))[0]), rel=1e-11)
            assert c == pytest.approx(naive.crossing(v, plan.level, plan.rho), rel=1e-9)
            assert log_mix(c, v, plan.rho) == pytest.approx(plan.level, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("rho", [1.0, 100.0, 1e6])
def test_c_rises_and_c_over_v_falls(rho):
    """So F falls, and a variance of at most J is as good as J (steps 5 and 6)."""
    v = np.geomspace(1e-6, 1e18, 400)
    c = np.array([boundary(x, math.log(20.0), rho) for x in v])
    assert (np.diff(c) > 0.0).all()
    assert (np.diff(c / v) < 0.0).all()


@pytest.mark.parametrize("law", ["coins", "skewed", "gaussian"])
def test_the_mixture_has_a_stopped_mean_of_at_most_1(law):
    """Sums of noise with E exp(u x) <= exp(u^2 / 2), stopped where W reaches 5 (step 2)."""
    rng = np.random.default_rng(1)
    M, n, rho = 20_000, 300, 50.0
    A, W, running = np.zeros(M), np.ones(M), np.ones(M, bool)
    for t in range(1, n + 1):
        if law == "coins":
            x = rng.choice([-1.0, 1.0], M)
        elif law == "skewed":  # in an interval of width 2
            x = np.where(rng.random(M) < 0.1, 1.8, -0.2)
        else:
            x = rng.standard_normal(M)
        A = np.where(running, A + x, A)
        now = (
            2.0
            * np.sqrt(rho / (t + rho))
            * np.exp(A * A / (2 * (t + rho)) + log_ndtr(A / np.sqrt(t + rho)))
        )
        W = np.where(running, now, W)
        running &= W < 5.0
    assert W.mean() <= 1.0 + 4.0 * W.std() / math.sqrt(M)
    assert (~running).mean() <= 0.2
    if law == "gaussian":
        assert W.mean() >= 1.0 - 4.0 * W.std() / math.sqrt(M)  # a martingale


def random_set(rng):
    """Return arms of many shapes: balls, spheres, grids, copies, thin, far away, in a subspace."""
    d = int(rng.integers(1, 7))
    K = int(rng.integers(2, 12 if rng.random() < 0.5 else 80))
    arms = rng.standard_normal((K, d))
    kind = int(rng.integers(7))
    if kind == 1:
        arms /= np.linalg.norm(arms, axis=1)[:, None]
    elif kind == 2:
        arms = np.round(arms)
    elif kind == 3:
        arms *= 10.0 ** -rng.integers(0, 5, d)
    elif kind == 4:
        arms = arms * 1e-4 + rng.standard_normal(d) * 10.0
    elif kind == 5:
        arms = np.vstack([arms, arms[:3]])
    elif kind == 6:
        arms = arms @ rng.standard_normal((d, d + 2))
    return arms


def subsets(rng, K):
    """Return shrinking sets of arms, as a run has them."""
    left = np.full(K, True)
    yield left.copy()
    while left.sum() > 2:
        gone = rng.choice(np.flatnonzero(left), max(1, int(left.sum() // 3)), replace=False)
        left[gone[: left.sum() - 2]] = False
        yield left.copy()


def pairs(arms, weights, constant):
    """Return the largest |a - b|^2 in the inverse of V(weights), exactly."""
    rows = arms - weights @ arms if constant else arms
    V = (weights[:, None] * rows).T @ rows
    inverse = np.linalg.pinv(V, rcond=1e-13, hermitian=True)
    apart = (arms[:, None] - arms[None]).reshape(-1, arms.shape[1])
    return np.einsum("ij,jk,ik->i", apart, inverse, apart).max()


@pytest.mark.parametrize("known", [True, False])
def test_no_pair_has_more_leverage_than_f_counts_on(known):
    """J >= M / rbar (step 7), with supports of at most sbar arms (step 8)."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for _ in range(60):
        arms = random_set(rng)
        lin = new_linear_state(arms, 0.1, 0.2, known)
        plan = LinearBlocks(len(arms), max(1, lin.affine.shape[1] - 1), 0.1, 0.2)
        for active in subsets(rng, len(arms)):
            redesign(lin, active)
            weights = lin.weights[active]
            assert weights.sum() == pytest.approx(1.0) and (weights >= 0.0).all()
            assert (weights > 0.0).sum() <= plan.support
            assert lin.facts[1] <= plan.leverage * (1.0 + 1e-9)
            worst = max(worst, lin.facts[1] / plan.leverage)
            some = arms[active]
            scaled = (some - arms[0]) / np.abs(arms - arms[0]).max()
            if np.linalg.cond(scaled - scaled.mean(axis=0)) < 1e5 and known is False:
                exact = pairs(scaled, weights, constant=True)
                assert lin.facts[1] == pytest.approx(exact, rel=1e-5, abs=1e-9)
    assert worst > 0.9


def test_many_unit_vectors_are_within_the_affine_ratio():
    """Of more than 1500 arms pairs are bounded by 4 |a - mean|^2, which 2 K is not enough for."""
    K = EXACT_PAIRS + 1
    lin = new_linear_state(np.eye(K)[:, :400] + 0.0, 0.1, 0.2, True)
    plan = LinearBlocks(K, lin.affine.shape[1] - 1, 0.1, 0.2)
    assert lin.facts[1] <= plan.leverage == 4.0 * (TOLERANCE * 401 - 1.0)
    # Equal weights on K unit vectors: |e_a - mean|^2 = K - 1 in the inverse, so 4 (K - 1) > 2 K.
    assert 4 * (K - 1) > 2 * K
    sphere = np.random.default_rng(1).standard_normal((2000, 3))
    sphere /= np.linalg.norm(sphere, axis=1)[:, None]
    round_ones = new_linear_state(sphere, 0.1, 0.2, True)
    assert round_ones.facts[1] <= LinearBlocks(2000, 3, 0.1, 0.2).leverage


def test_a_known_intercept_can_only_help():
    rng = np.random.default_rng(5)
    for _ in range(40):
        arms = random_set(rng)
        known, unknown = (new_linear_state(arms, 0.1, 0.2, x) for x in (True, False))
        assert known.facts[1] <= unknown.facts[1] * (1.0 + 1e-6)


def test_pruning_keeps_the_moments():
    rng = np.random.default_rng(7)
    for _ in range(40):
        k, m = int(rng.integers(1, 5)), int(rng.integers(2, 60))
        E = np.column_stack([np.ones(m), rng.standard_normal((m, k))])
        if rng.random() < 0.3:
            E = np.round(E)
        nu = rng.random(m) * (rng.random(m) < 0.8)
        nu[0] += 0.1
        nu /= nu.sum()
        kept = nu.copy()
        kernel.prune(E, kept)
        assert (kept > 0.0).sum() <= (k + 1) * (k + 2) // 2
        assert (kept >= 0.0).all()
        assert kernel.moments(E, kept) == pytest.approx(kernel.moments(E, nu), abs=1e-11)


def test_coordinates_are_those_of_the_pivots():
    rng = np.random.default_rng(9)
    for _ in range(40):
        m, r = int(rng.integers(1, 30)), int(rng.integers(1, 6))
        rank = int(rng.integers(1, r + 1))
        rows = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, r))
        pivots = np.zeros(r, np.int64)
        C = kernel.span(rows, pivots, m)
        assert C.shape[1] == min(rank, m)
        assert C @ rows[pivots[: C.shape[1]]] == pytest.approx(rows, abs=1e-9)
        assert C[pivots[: C.shape[1]]] == pytest.approx(np.eye(C.shape[1]), abs=1e-12)


def test_designs_have_certified_leverages():
    rng = np.random.default_rng(11)
    for _ in range(30):
        m, r = int(rng.integers(2, 100)), int(rng.integers(1, 8))
        rows = rng.standard_normal((m, r))
        pivots = np.zeros(r, np.int64)
        C = kernel.span(rows, pivots, m)
        rank = C.shape[1]
        nu = np.zeros(m)
        nu[pivots[:rank]] = 1.0 / rank
        assert kernel.improve(C, nu, TOLERANCE)
        inverse = np.linalg.pinv((nu[:, None] * rows).T @ rows)
        leverages = np.einsum("ij,jk,ik->i", rows, inverse, rows)
        assert leverages.max() <= TOLERANCE * rank * (1 + 1e-9)


@pytest.mark.parametrize("m", [2, 3, 40, 300])
def test_the_largest_pair_is_found(m):
    rng = np.random.default_rng(m)
    for _ in range(5):
        B, nu = rng.standard_normal((m, 4)), rng.random(m)
        exact = max(((b - B) ** 2).sum(axis=1).max() for b in B)
        assert kernel.largest_pair(B, nu, True) == pytest.approx(exact)
        assert kernel.largest_pair(B, nu, False) >= exact


@pytest.mark.parametrize("exact", [True, False])
def test_a_singular_design_never_wins(exact):
    """Weights on one line of a plane tell nothing across it, and NaN is no small number."""
    rows = np.array([[1.0, 7.7e-11], [0.0, 1.0], [0.0, 0.0]])
    for nu in ([0.5, 0.0, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]):
        B = kernel.whitened(rows, kernel.factor(kernel.moments(rows, np.array(nu))))
        assert kernel.largest_pair(B, np.array(nu), exact) == math.inf
    even = np.full(3, 1.0 / 3.0)
    B = kernel.whitened(rows, kernel.factor(kernel.moments(rows, even)))
    assert 6.0 == pytest.approx(kernel.largest_pair(B, even, True))


def test_blocks_and_looks_change_coordinates_without_changing_anything():
    """s and H follow when a pivot is dropped: values and variances of pairs stay."""
    from uli_fast.kernels.linear import blocks

    rng = np.random.default_rng(13)
    for _ in range(20):
        arms = random_set(rng)
        lin = new_linear_state(arms, 0.1, 0.2, bool(rng.random() < 0.5))
        r = lin.counts[0]
        lin.s[:r] = rng.standard_normal(r)
        half = rng.standard_normal((r, r))
        lin.H[:r, :r] = half @ half.T
        for active in subsets(rng, len(arms)):
            on = np.flatnonzero(active)
            value = [blocks.value(lin, a)[0] for a in on]
            noise = [blocks.variance(lin, a, on[0]) for a in on]
            redesign(lin, active)
            again = [blocks.value(lin, a)[0] for a in on]
            scale = np.abs(value).max() + 1.0
            assert again == pytest.approx(value, abs=1e-6 * scale)
            if lin.counts[2] == 0:
                after = [blocks.variance(lin, a, on[0]) for a in on]
                assert after == pytest.approx(noise, rel=1e-5, abs=1e-6 * (max(noise) + 1e-9))
