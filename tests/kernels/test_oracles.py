"""The oracle kernels on their own: certified answers, statuses, hard geometry."""

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from uli_fast.kernels.oracles import ball, polytope
from uli_fast.kernels.oracles import body as body_oracle
from uli_fast.kernels.oracles import status as _status

NONE = np.zeros(0)


def units(rng, *shape):
    rows = rng.standard_normal(shape)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


# Ball ------------------------------------------------------------------------------


def slices(rng, kind):
    """Return rows that leave something of the unit ball, in various kinds of trouble."""
    n, N = int(rng.integers(1, 12)), int(rng.integers(1, 30))
    W, z = units(rng, N, n), units(rng, n)
    if kind == "wide":
        b = W @ (0.5 * z) + rng.uniform(0.0, 0.3, N)
    elif kind == "thin":  # between two nearly equal points of the sphere
        b = W @ ((1 - 1e-6) * z) + rng.uniform(0.0, 1e-5, N)
    elif kind == "point":
        b = W @ (0.9 * z) + 1e-9
    elif kind == "cap":
        W[0] = -z
        b = np.append(-(1 - 10 ** rng.uniform(-7, -1)), W[1:] @ z + rng.uniform(0, 0.1, N - 1))
    else:  # every row three times, up to rounding
        b = W @ (0.5 * z) + rng.uniform(0.0, 0.3, N)
        W, b = np.vstack([W, W, W]), np.concatenate([b, b, b + 1e-13])
    return np.ascontiguousarray(W), b


@pytest.mark.parametrize("kind", ["wide", "thin", "point", "cap", "repeated"])
def test_the_path_of_projections_ends_with_a_certified_maximum(kind):
    rng = np.random.default_rng(0)
    for _ in range(300):
        W, b = slices(rng, kind)
        n = W.shape[1]
        status, start = ball.project_origin(W, b, 500)
        assert status == _status.FOUND
        WT = np.ascontiguousarray(W.T)
        for g in units(rng, 4, n):
            x, y = np.empty(n), np.empty(len(b))
            status = ball.maximise(g, W, WT, b, start, 500, x, y)
            assert status == _status.FOUND
            E = np.zeros((0, n))
            missed, bound, value = body_oracle.certify(0, g, x, W, b, y, E, NONE, NONE)
            assert missed <= 1e-9
            assert abs(bound - value) <= 1e-8
            assert value == pytest.approx(g @ x, abs=1e-14)


def test_the_projection_of_the_origin_is_that_of_least_squares():
    rng = np.random.default_rng(1)
    for _ in range(300):
        W, z = units(rng, 60, 3), units(rng, 3)  # many rows come and go
        b = W @ (0.9 * z) + rng.uniform(0.0, 0.1, 60)
        _, start = ball.project_origin(W, b, 500)
        x = np.linalg.pinv(W[start]) @ b[start] if start.size else np.zeros(W.shape[1])
        # Lawson and Hanson's least distance programming.
        y, _ = nnls(np.vstack([-W.T, -b]), np.append(np.zeros(W.shape[1]), 1.0))
        r = np.append(-W.T @ y, -b @ y - 1.0)
        assert x == pytest.approx(-r[:-1] / r[-1], abs=1e-8)


def test_rows_that_leave_nothing_of_the_ball():
    W = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert ball.project_origin(W, np.array([-0.1, 0.05]), 100)[0] == _status.EMPTY
    assert ball.project_origin(W[:1], np.array([-1.01]), 100)[0] == _status.EMPTY
    assert ball.project_origin(W, np.array([0.1, 0.05]), 0)[0] == _status.ENDLESS
    W = units(np.random.default_rng(2), 40, 3)
    assert ball.project_origin(W, np.full(40, -0.5), 500)[0] == _status.EMPTY


def test_the_path_says_when_it_did_not_end():
    W, b = np.array([[1.0, 0.0]]), np.array([0.5])
    g = np.array([1.0, 0.0])
    given = (g, W, W.T.copy(), b, np.zeros(0, dtype=np.int64))
    x, y = np.empty(2), np.empty(1)
    assert ball.maximise(*given, 1, x, y) == _status.ENDLESS
    assert ball.maximise(*given, 5, x, y) == _status.FOUND
    assert (x[0], y[0]) == (0.5, 1.0)


# Polytope --------------------------------------------------------------------------


class Search:
    """The kernel's arrays, and its answers as arrays."""

    def __init__(self, A, b):
        N, n = A.shape
        P = 2 * n + 2
        numbers, integers = polytope.room_for(n, N, P)
        self.store = (np.zeros(numbers), np.zeros(integers, dtype=np.int64), n, N, P)
        self.parts = polytope.carve(*self.store)
        self.parts.AT[:], self.parts.b[:], self.parts.lengths[:] = A.T, b, 1.0

    def start(self, most=2000):
        return polytope.first(*self.store, most)

    def maximise(self, c, most=2000):
        status = polytope.maximise(*self.store, c, most)
        return status, self.parts.best.copy(), self.parts.y.copy()


def polytopes(rng, kind):
    n = int(rng.integers(1, 9))
    A = np.vstack([units(rng, 5 * n, n), np.eye(n), -np.eye(n)])
    point = rng.standard_normal(n)
    b = A @ point + np.append(rng.uniform(0.2, 0.5, 5 * n), np.ones(2 * n))
    if kind == "thin":
        b = A @ point + np.append(rng.uniform(1e-7, 1e-6, 5 * n), np.ones(2 * n))
    if kind == "pyramid":  # many rows through one vertex
        A[: 5 * n] *= np.sign(A[: 5 * n] @ rng.standard_normal(n))[:, None]
        b[: 5 * n] = A[: 5 * n] @ point
    if kind == "repeated":
        A, b = np.vstack([A, A, A]), np.concatenate([b, b, b + 1e-13])
    return np.ascontiguousarray(A), b


@pytest.mark.parametrize("kind", ["fat", "thin", "pyramid", "repeated"])
def test_the_simplex_method_finds_the_vertices_of_linprog(kind):
    rng = np.random.default_rng(3)
    for _ in range(40):
        A, b = polytopes(rng, kind)
        search = Search(A, b)
        assert search.start() == _status.FOUND
        for c in units(rng, 5, A.shape[1]):
            status, x, y = search.maximise(c)
            assert status == _status.FOUND
            assert (A @ x - b).max() <= 1e-9
            assert A.T @ y == pytest.approx(c, abs=1e-8)
            assert y @ b == pytest.approx(c @ x, abs=1e-8)
            best = linprog(-c, A, b, bounds=(None, None), method="highs")
            assert c @ x == pytest.approx(-best.fun, abs=1e-6)


def test_it_stays_exact_over_thousands_of_warm_calls():
    rng = np.random.default_rng(4)
    A = np.vstack([units(rng, 60, 10), np.eye(10), -np.eye(10)])
    b = rng.uniform(0.3, 0.6, 80)
    search, oldest = Search(A, b), 0
    search.start()
    for c in units(rng, 3000, 10):
        status, x, y = search.maximise(c)
        oldest = max(oldest, search.parts.age.max())
        assert status == _status.FOUND
        assert (A @ x - b).max() <= 1e-12
        assert abs(y @ b - c @ x) + np.abs(A.T @ y - c).max() <= 1e-11
    assert 60 <= oldest <= 150  # inverses are computed afresh from time to time


def test_statuses():
    A = np.array([[1.0], [-1.0]])
    assert Search(A, [-1.0, 0.5]).start() == _status.EMPTY
    assert Search(A, [-1.0, 1.0]).start() == _status.FOUND
    search = Search(A[:1], [1.0])  # a half-line has a vertex
    assert search.start() == _status.FOUND
    assert search.maximise(np.array([-1.0]))[0] == _status.UNBOUNDED
    search = Search(np.vstack([np.eye(3), -np.eye(3)]), np.ones(6))
    assert search.start() == _status.FOUND
    c = -search.parts.x[0]
    assert search.maximise(c, 1)[0] == _status.ENDLESS
    status, x, _ = search.maximise(c)
    assert status == _status.FOUND
    assert x == pytest.approx(np.sign(c))


# Bodies ----------------------------------------------------------------------------

VERTICES = {
    body_oracle.CUBE: lambda n: np.array(np.meshgrid(*[[-1.0, 1.0]] * n)).reshape(n, -1).T,
    body_oracle.SIMPLEX: np.eye,
    body_oracle.CROSS: lambda n: np.vstack([np.eye(n), -np.eye(n)]),
}


@pytest.mark.parametrize("body", VERTICES)
def test_a_cut_body_is_maximal_on_its_vertices_and_edges(body):
    rng = np.random.default_rng(5)
    for _ in range(300):
        n = int(rng.integers(1, 6))
        P, g, w = VERTICES[body](n), rng.standard_normal(n), rng.standard_normal(n)
        assert g @ body_oracle.closed(body, g) == pytest.approx((P @ g).max())
        b = rng.uniform((P @ w).min(), (P @ w).max())
        status, x, slope = body_oracle.cut(body, g, w, b, 200)
        if status != _status.FOUND:  # one vertex, or the cut touches
            assert n == 1 or b == (P @ w).min()
            continue
        # Maxima are on vertices below, or on segments across the cut.
        over, values = P @ w - b, P @ g
        candidates = [v for v, o in zip(values, over, strict=True) if o <= 0]
        for i in np.flatnonzero(over > 0):
            for j in np.flatnonzero(over < 0):
                share = -over[j] / (over[i] - over[j])
                candidates.append(share * values[i] + (1 - share) * values[j])
        assert g @ x == pytest.approx(max(candidates), abs=1e-12)
        assert w @ x <= b + 1e-12
        assert slope >= 0.0


@pytest.mark.parametrize("body", range(4))
def test_the_certificate_is_above_every_feasible_point(body):
    """Any multipliers give a bound; points and bounds are compared on samples."""
    rng = np.random.default_rng(6)
    for _ in range(200):
        n = int(rng.integers(1, 6))
        points = rng.standard_normal((500, n))
        norms = {
            0: np.linalg.norm(points, axis=1),
            1: np.abs(points).max(axis=1),
            2: points.sum(axis=1),
            3: np.abs(points).sum(axis=1),
        }[body]
        points = np.abs(points) / np.abs(points).sum(axis=1)[:, None] if body == 2 else (
            points / np.maximum(norms, 1.0)[:, None]
        )  # fmt: skip
        W, E = rng.standard_normal((2, n)), rng.standard_normal((1, n))
        centre = points[0]
        b, e = W @ centre + 0.2, E @ centre
        inside = points[(points @ W.T <= b).all(axis=1)]
        g, y, z = rng.standard_normal(n), rng.standard_normal(2), rng.standard_normal(1)
        missed, bound, value = body_oracle.certify(body, g, centre, W, b, y, E, e, z)
        assert missed <= 1e-12
        assert bound >= value - 1e-12
        _, loose, _ = body_oracle.certify(body, g, centre, W, b, y, E, e, np.zeros(1))
        assert loose >= (inside @ g).max() - 1e-12
        outside = centre + 2.0
        assert body_oracle.certify(body, g, outside, W, b, y, E, e, z)[0] > 0.5
        for bad in (centre * np.nan, centre + np.inf):
            missed, _, _ = body_oracle.certify(body, g, bad, W, b, y, E, e, z)
            assert missed == np.inf
