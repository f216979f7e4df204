"""Theorem B step by step (docs/proofs_sets.md): the lemma, Q, Chernoff's bound, the room."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from tests.naive import spanner_elimination as naive
from uli_fast.guarantees.spanner_blocks import (
    SHARE,
    SPARE,
    WIDEST,
    SpannerSize,
    accuracy,
    even_quantile,
    phi,
    quantile,
)

X = np.geomspace(0.02, 8.0, 30)  # lambda D
LOGS = (math.log(2 / 0.9), 2.0, 5.0, 20.0, 700.0)


def spread(points, weights):
    """Return the least R with E exp(u e) <= exp(u^2 R^2 / 2), for a law of mean 0."""
    u = np.geomspace(1e-3, 60.0, 2000) / np.abs(points).max()
    u = np.concatenate([-u, u])
    exponents = np.outer(u, points) + np.log(weights)
    top = exponents.max(axis=1)
    logs = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
    return math.sqrt(max((2 * logs / u**2).max(), weights @ points**2)) * (1 + 1e-6)


def laws():
    """Yield laws on a few points, of mean 0 and 1-subgaussian."""
    rng = np.random.default_rng(1)
    for p in (0.5, 0.3, 0.1, 0.03, 0.01):
        for sign in (1.0, -1.0):
            yield np.array([sign, -sign * p / (1 - p)]), np.array([p, 1 - p])
        yield np.array([-1.0, 0.0, 1.0]), np.array([p, 1 - 2 * p + 1e-300, p])
    yield np.linspace(-1, 1, 401), np.full(401, 1 / 401)
    grid = np.linspace(-7, 7, 2001)
    yield grid, np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    for k in (2, 3, 4, 6):
        for _ in range(8):
            points, weights = rng.standard_normal(k), rng.dirichlet(np.ones(k))
            yield points - weights @ points, weights


def test_the_lemma_holds_for_many_laws():
    """E exp(lambda (p e^+ + q e^-)) <= exp phi(lambda D) for p + q = D."""
    closest = 0.0
    for points, weights in laws():
        points = points / spread(points, weights)
        for x in X:
            for share in (0.0, 0.3, 0.5, 1.0):
                p, q = share * x, (1 - share) * x
                both = p * np.maximum(points, 0.0) + q * np.maximum(-points, 0.0)
                closest = max(closest, float(weights @ np.exp(both)) / math.exp(phi(x)))
    assert 0.97 < closest <= 1.0 + 1e-9


@pytest.mark.parametrize("x", [0.1, 0.5, 1.0, 2.0])
def test_no_law_on_a_grid_breaks_the_lemma(x):
    """The worst law is a linear programme: fewer constraints than subgaussian laws meet."""
    points = np.linspace(-9.0, 9.0, 721)
    u = np.concatenate([-np.geomspace(0.05, 9.0, 60), np.geomspace(0.05, 9.0, 60)])
    below = np.exp(np.outer(u, points) - u[:, None] ** 2 / 2)
    found = linprog(
        -np.maximum(1.0, np.exp(x * points)),
        A_ub=np.vstack([below / below.max(axis=1, keepdims=True), points**2]),
        b_ub=np.concatenate([1.0 / below.max(axis=1), [1.0]]),
        A_eq=np.vstack([np.ones_like(points), points]),
        b_eq=[1.0, 0.0],
    )
    assert found.status == 0
    assert 0.8 < -found.fun / math.exp(phi(x)) <= 1.0 + 1e-6


def test_the_columns_may_depend_on_each_other():
    """The size of a column's noise is chosen by those before: the bounds multiply all the same."""
    points = np.array([-1.0, 0.0, 1.0])
    for x in (0.3, 1.0, 2.5):
        weights = lambda p: np.array([p, 1 - 2 * p, p])  # noqa: E731
        total = 0.0
        for e, w in zip(points, weights(0.5), strict=True):  # Rademacher: 1-subgaussian
            second = weights(0.5) if e < 0 else weights(0.1)  # what is larger follows a loss
            inner = float(second @ np.exp(x * np.maximum(-points, 0.0)))
            total += w * math.exp(x * max(-e, 0.0)) * inner
        assert total <= math.exp(2 * phi(x))


def test_phi_grows_faster_than_a_line_and_slower_than_a_square():
    x = np.linspace(1e-3, 12.0, 40_001)
    y = np.array([phi(v) for v in x])
    assert (np.diff(y, 2) > 0.0).all(), "convex, so that (sum phi + L) / lambda has one minimum"
    ratio = y / x**2
    assert (np.diff(ratio) < 1e-12).all(), "what makes Q of d columns sqrt(d / r) that of r"
    slope = np.gradient(y, x)
    inside = (x * slope - y)[1:-1] / x[1:-1] ** 2
    assert 0.198 < inside.min() and inside.max() < 0.5 + 1e-6, "where Q looks for the minimum"
    assert y == pytest.approx(np.log(np.exp(x**2 / 2) + 1 - np.exp(-x / 2)))


def test_q_is_the_minimum_and_grows():
    rng = np.random.default_rng(2)
    for L in LOGS[:4]:
        for d in (1, 2, 5, 20):
            D = rng.uniform(0.1, 3.0, d) * rng.choice([1.0, 1e-3], d)
            Q = quantile(D.tolist(), L)
            assert naive.quantile(D, L) * (1 - 1e-7) <= Q <= naive.quantile(D, L) * (1 + 2e-6)
            for lam in np.geomspace(0.01, 30.0, 200):
                assert Q <= (sum(phi(lam * x) for x in D) + L) / lam * (1 + 2e-6)
            assert quantile([*D.tolist(), 0.5], L) > Q and quantile(D.tolist(), L + 0.1) > Q
            wider = D.copy()
            wider[0] *= 1.01
            assert quantile(wider.tolist(), L) >= Q * (1 - 2e-6)
            assert quantile((3 * D).tolist(), L) == pytest.approx(3 * Q, rel=1e-9)
            assert even_quantile(2.0, d, L) == pytest.approx(quantile([2.0] * d, L), rel=2e-6)
    assert quantile([], 1.0) == quantile([0.0, 0.0], 1.0) == 0.0


@pytest.mark.parametrize("L", [math.log(2 / 0.9), 1.5, 3.0])
def test_chernoff(L):
    """P(sum p e^+ + q e^- > Q) <= exp(-L): Gaussian columns, and ones that look at the others."""
    rng, runs = np.random.default_rng(3), 200_000
    for d in (1, 3):
        D = rng.uniform(0.5, 2.5, d)
        p = D * rng.integers(0, 2, d)
        e = rng.standard_normal((runs, d))
        if d > 1:
            e[:, 1] *= np.where(e[:, 0] > 0, 0.1, 1.0)
        total = (p * np.maximum(e, 0.0) + (D - p) * np.maximum(-e, 0.0)).sum(axis=1)
        beyond = (total > quantile(D.tolist(), L)).sum()
        assert 0 < beyond <= binom.ppf(0.999, runs, math.exp(-L))


def test_shares_of_delta_add_up():
    for delta in (0.9, 0.05, 1e-300):
        shares = [math.exp(-SpannerSize(m, 2, 1.2, delta, 1.0)._log) for m in range(1, 10_000)]
        assert 0.9998 * delta <= sum(shares) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 10, 100, 400])
def test_phases_leave_room_for_wider_boxes(d):
    """Widths of 2.1 C on all columns, real or not: no column is played more often than F says."""
    for C, delta, m, R in ((1.05, 0.05, 1, 1.0), (2.0, 0.9, 3, 0.01), (1.2, 1e-300, 7, 30.0)):
        size = SpannerSize(m, d, C, delta, R)
        wide = 2 * C * WIDEST
        for real in {1, 2, d // 2, d - 2, d - 1, d} & set(range(1, d + 1)):
            hidden = size.length * wide * math.sqrt(d - real)
            n = size._plays(quantile([wide] * real, size._log), (1 - SPARE) * size.eta - hidden)
            assert n <= size.most
            plays = size.plays([wide] * real, hidden)
            assert max(1, 0.05 * size.most) <= plays <= size.most
            assert size.error([wide] * real, hidden, plays) <= size.eta
        assert size.plays([], 2.0) == size.most


def test_the_room_is_as_computed():
    """Q_d >= sqrt(d / r) Q_r, and (1 + y^2 / 2)(.999 - .0525 y) / .95 >= 1.05 for y in [0, 1]."""
    for L in LOGS:
        for d in (2, 7, 50):
            for r in range(1, d):
                few = math.sqrt(d / r) * even_quantile(1.0, r, L)
                assert even_quantile(1.0, d, L) >= few * (1 - 1e-9)
    y = np.linspace(0.0, 1.0, 100_001)
    room = (1 + y**2 / 2) * (1 - SPARE - SHARE * WIDEST * y) / (1 - SHARE)
    assert room.min() >= WIDEST


def test_eta_is_a_power_of_three_fifths():
    assert [accuracy(m) for m in range(3)] == pytest.approx([1.0, 0.6, 0.36])
