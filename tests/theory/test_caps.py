"""The steps of Theorem B' (docs/proofs_caps.md) on random caps, and on the edge of its event."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2, norm

import uli_fast as uli
from tests.naive import cap_elimination as naive
from uli_fast.formulas.cap_elimination import (
    CAP_CUTS,
    CAP_ROOM,
    CAP_SHRINKS,
    cap_eta,
    cap_kappa,
    cap_quantiles,
)
from uli_fast.kernels.cap_elimination import design, largest_spread, slope, spread
from uli_fast.learners.cap_elimination import CapPhases

TAU = (2.0 + (1.0 + CAP_CUTS) * CAP_SHRINKS) / CAP_CUTS
DIMENSIONS = (1, 2, 3, 5, 10, 20)


def unit(rng, d):
    x = rng.standard_normal(d)
    return x / np.linalg.norm(x)


def random_cap(rng, d):
    """Return a pole and a depth: flat, deep, or deeper than the regular simplex."""
    return unit(rng, d), float(min(2.5, math.exp(rng.uniform(-9.0, 1.0))))


def at_depth(rng, u, x):
    """Return a point of the sphere at 1 - <u, a> = x, or of the segment if that is all."""
    d = len(u)
    if d == 1:
        return (1.0 - x) * u
    p = rng.standard_normal(d)
    p -= (p @ u) * u
    return (1.0 - x) * u + math.sqrt(max(0.0, x * (2.0 - x))) * p / np.linalg.norm(p)


def designed(u, y):
    points = np.empty((len(u) + 1, len(u)))
    design(u, y, points)
    return points


def reach(u, y, points, a):
    """Return the kernel's Mah of an arm; it takes a unit vector first."""
    return spread(u, y, np.vstack([points[0], a]), 1)


def cases(n, seed=0):
    rng = np.random.default_rng(seed)
    for i in range(n):
        d = DIMENSIONS[i % len(DIMENSIONS)]
        yield rng, d, *random_cap(rng, d)


def test_designs_are_those_of_the_page_and_lie_in_their_cap():
    for _, d, u, y in cases(300):
        points = designed(u, y)
        assert points == pytest.approx(naive.design(u, y), abs=1e-13)
        assert (np.linalg.norm(points, axis=1) <= 1.0 + 1e-14).all()
        assert (points @ u >= 1.0 - y - 1e-14).all()
        rim = points[1:] - points[1:].mean(axis=0)
        inner = rim @ rim.T
        assert inner == pytest.approx(
            inner[0, 0] * (np.eye(d) * d - 1.0) / max(d - 1.0, 1.0), abs=1e-13
        )


def test_no_arm_of_a_cap_is_further_than_d_and_the_design_is():
    """Step 1: the design is G-optimal, as no design has max Mah below d."""
    closest = 0.0
    for rng, d, u, y in cases(600, seed=1):
        points = designed(u, y)
        assert [spread(u, y, points, i) for i in range(d + 1)] == pytest.approx(
            [d] * (d + 1), rel=1e-6
        )
        for _ in range(20):
            a = at_depth(rng, u, rng.uniform(0.0, min(y, 2.0)))
            a *= rng.choice([1.0, rng.uniform(0.0, 1.0)])
            if 1.0 - a @ u > y:
                continue
            mah = reach(u, y, points, a)
            closest = max(closest, mah / d)
            assert mah <= d * (1.0 + 1e-6)
    assert closest > 0.999


def test_distances_are_those_of_barycentric_coordinates():
    for rng, d, u, y in cases(300, seed=2):
        if y < 1e-3:
            continue  # for matrices, not for closed forms
        points, a = designed(u, y), rng.uniform(-1.0, 1.0, d) / math.sqrt(d)
        lam = naive.barycentric(points, a)
        expected = (d + 1.0) * float(lam @ lam) - 1.0
        assert naive.mahalanobis(points, a) == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert reach(u, y, points, a) == pytest.approx(expected, rel=1e-6, abs=1e-6)
        others = designed(*random_cap(rng, d))
        largest = max(naive.mahalanobis(points, b) for b in others[1:])
        assert largest_spread(u, y, others) == pytest.approx(largest, rel=1e-6, abs=1e-6)


def test_arms_of_a_cap_tau_times_as_deep_are_within_kappa_d():
    """Step 3 on 4,000 caps, and that kappa could not be a percent smaller."""
    closest = dict.fromkeys(DIMENSIONS, 0.0)
    for rng, d, u, y in cases(4000, seed=3):
        points, deepest = designed(u, y), min(TAU * y, 2.0)
        rim, other = (at_depth(rng, u, x) for x in (deepest, rng.uniform(0.0, deepest)))
        for s in (1.0, 0.0, rng.uniform()):
            a = s * rim + (1.0 - s) * other
            share = reach(u, y, points, a) / (cap_kappa(d) * d)
            closest[d] = max(closest[d], share)
            assert share < 1.0 + 1e-7 * (y < 1e-3)
    assert min(closest.values()) > 0.99


def test_a_smaller_kappa_would_not_do():
    for d in DIMENSIONS:
        u, y = np.eye(d)[0], 1e-4
        far = at_depth(np.random.default_rng(0), u, TAU * y)
        assert cap_kappa(d) == pytest.approx(naive.kappa(d), rel=1e-14)
        assert reach(u, y, designed(u, y), far) > 0.999 * cap_kappa(d) * d


@pytest.mark.parametrize("delta", [0.9, 0.1, 1e-6])
def test_quantiles_of_gaussian_noise(delta):
    """Step 2, exactly: chi-squared with d degrees, and a normal with two tails."""
    for m, d in itertools.product((1, 2, 10), (1, 2, 5, 20, 300)):
        share = delta / (2.0 * m * (m + 1.0))
        length, fixed = cap_quantiles(m, d, delta)
        assert chi2.sf(length**2, d) <= share
        assert share / 20.0 < 2.0 * norm.sf(fixed) <= share
    assert sum(1.0 / (m * (m + 1.0)) for m in range(1, 10**4)) < 1.0


def test_the_step_of_hsu_kakade_and_zhang():
    """Step 2 for coins, over all outcomes: E exp(s |Pe|^2 / 2) is at most a Gaussian's."""
    for d in (1, 2, 4, 8):
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=d + 1)))
        squares = ((signs - signs.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        for s in (0.1, 0.5, 0.9):
            assert np.exp(s * squares / 2.0).mean() <= (1.0 - s) ** (-d / 2.0)


def test_a_constant_in_all_means_cancels():
    for rng, d, u, y in cases(60, seed=4):
        theta, found, shifted = rng.standard_normal(d), np.empty(d), np.empty(d)
        means = designed(u, y) @ theta
        length = slope(u, y, means, found)
        slope(u, y, means + 3.0, shifted)
        assert length == pytest.approx(np.linalg.norm(found))
        assert found == pytest.approx(theta, abs=1e-13 / min(y, 1.0))
        assert shifted == pytest.approx(theta, abs=1e-13 / min(y, 1.0))


def worst_gap(theta, pole, depth):
    """Return the largest gap of a whole cap: that of its arm furthest from theta."""
    size, depth = float(np.linalg.norm(theta)), min(depth, 2.0)
    if size == 0.0:
        return 0.0
    along = float(theta @ pole) / size
    beside = math.sqrt(max(0.0, 1.0 - along**2)) if theta.size > 1 else 0.0
    if theta.size > 1 and -along >= 1.0 - depth:
        return 2.0 * size
    return size * (1.0 - along * (1.0 - depth) + beside * math.sqrt(depth * (2.0 - depth)))


def edge_noise(rng, phases, best, how):
    """Return errors of the means as large as the event allows, at random or along the best arm."""
    d, m = phases.ball.dimension, phases.phase
    length, fixed = cap_quantiles(m, d, phases.learner.delta)
    n = phases.arms_and_plays()[1]
    sigma = phases.R / math.sqrt(n)
    lam = naive.barycentric(phases.points, best) - 1.0 / (d + 1.0)  # of the best arm, centred
    away = {"random": rng.standard_normal(d + 1), "against": -lam, "for": lam}[how]
    away = away - away.mean()
    e = away / np.linalg.norm(away) * sigma * length if away.any() else np.zeros(d + 1)
    limit = math.sqrt(d / (d + 1.0)) * sigma * fixed
    share = abs(float(lam @ e)) / limit
    return e / max(1.0, share)


@pytest.mark.parametrize("how", ["random", "against", "for"])
def test_on_the_edge_of_the_event(how):
    """Steps 4 and 5: the best arm stays, no gap is above (1 + sig) eta, whatever theta's length."""
    tight = 0.0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d = DIMENSIONS[seed % len(DIMENSIONS)]
        theta = 10.0 ** rng.uniform(-4.0, 4.0) * unit(rng, d)
        size = np.linalg.norm(theta)
        phases = CapPhases(uli.CapElimination(0.5, R=1.0), uli.arm_sets.Ball(d))
        for m in range(1, 10):
            arms, n, _ = phases.open()
            if m > 1:
                assert worst_gap(theta, phases.pole, phases.depth) <= (1 + 1.9) * 0.36 ** (m - 1)
                assert (size - arms @ theta).max() <= phases.gap * (1.0 + 1e-9) + 1e-12 * size
                assert theta @ phases.pole / size >= 1.0 - phases.depth - 1e-12
                tight = max(tight, (size - arms @ theta).max() / phases.gap)
            if phases.depth < 1e-10:
                break  # beyond what the matrices of the naive twin can do
            phases.close(arms, n, arms @ theta + edge_noise(rng, phases, theta / size, how))
    assert tight > 0.6


def test_errors_on_the_set_that_matters_are_below_eta():
    """Step 2: with noise on its edge |<theta_hat - theta, a - a*>| <= (1 - room) eta on Phi."""
    largest = 0.0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        d = DIMENSIONS[seed % len(DIMENSIONS)]
        theta = unit(rng, d)
        phases = CapPhases(uli.CapElimination(0.5, R=1.0), uli.arm_sets.Ball(d))
        for m in range(1, 4):
            arms, n, _ = phases.open()
            points, e = phases.points.copy(), edge_noise(rng, phases, theta, "random")
            error = np.linalg.solve(points[1:] - points[0], e[1:] - e[0])
            star = naive.barycentric(points, theta)
            reached = math.sqrt(cap_kappa(d) * d / (d + 1.0)) * np.linalg.norm(e - e.mean())
            largest = max(largest, (reached + abs((1.0 / (d + 1.0) - star) @ e)) / cap_eta(m))
            for a in points:  # Mah = d
                off = error @ (a - theta)
                assert off == pytest.approx((naive.barycentric(points, a) - star) @ e, abs=1e-9)
            phases.close(arms, n, arms @ theta + e)
    assert 0.8 < largest <= 1.0 - CAP_ROOM + 1e-9


def test_phases_shrink_as_the_lemma_needs():
    """tau is made of the factor by which eta shrinks."""
    for m in range(1, 50):
        assert cap_eta(m + 1) <= CAP_SHRINKS * cap_eta(m) * (1.0 + 1e-12)
    assert cap_eta(1) == 0.36 and CAP_CUTS == 1.9 and 1.0 < TAU < 1.603
