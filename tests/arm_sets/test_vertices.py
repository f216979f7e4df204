"""Vertices of arm sets: against brute force, and against the oracle."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from scipy.spatial import ConvexHull

import uli_fast as uli
from uli_fast.arm_sets import _vertices
from uli_fast.errors import ArgumentError, OracleError, UnsupportedError

SETS = uli.arm_sets
DIRECTIONS = 40


def cube(d):
    return np.vstack([np.eye(d), -np.eye(d)]), np.ones(2 * d)


def brute_force(G, h):
    """Try every d rows: where they meet in one point that satisfies all, there is a vertex."""
    d, found = G.shape[1], []
    for some in itertools.combinations(range(len(G)), d):
        rows = list(some)
        if abs(np.linalg.det(G[rows])) < 1e-9:
            continue
        point = np.linalg.solve(G[rows], h[rows])
        if (G @ point <= h + 1e-9).all() and not any(np.allclose(point, x) for x in found):
            found.append(point)
    return np.array(found)


def same_points(one, other, tolerance=1e-9):
    """Say whether two lists hold the same points, each once."""
    apart = np.abs(one[:, None] - other[None]).max(axis=2) <= tolerance
    return len(one) == len(other) and (apart.sum(axis=0) == 1).all()


def attains(region, arms, tolerance=1e-8):
    """Say whether the best of some arms is the best of the set, in every direction tried."""
    size = region.largest_norm()
    for u in np.random.default_rng(3).standard_normal((DIRECTIONS, region.dimension)):
        point, bound = region.maximize(u)
        best = (arms @ u).max()
        if abs(bound - best) > tolerance * size * np.linalg.norm(u) or best < u @ point - 1e-9:
            return False
    return True


@pytest.mark.parametrize(
    ("region", "count"),
    [
        (SETS.Simplex(1), 1),
        (SETS.Simplex(4), 4),
        (SETS.L1Ball(1, 3.0), 2),
        (SETS.L1Ball(4, 0.3), 8),
        (SETS.Box([-1.0, 0.0, 2.0], [1.0, 0.0, 5.0]), 4),  # a flat side
        (SETS.Box([1.0, 2.0], [1.0, 2.0]), 1),
        (SETS.Box([-0.1] * 10, [0.2] * 10), 1024),
        (SETS.Box([0.0] * 12, [1.0] * 12), 4096),
    ],
    ids=repr,
)
def test_sets_that_are_known_have_their_vertices(region, count):
    arms = region.vertices()
    assert arms.shape == (count, region.dimension) == np.unique(arms, axis=0).shape
    assert all(region.contains(a) for a in arms[:: max(1, count // 50)])
    assert attains(region, arms)
    assert not np.signbit(arms[arms == 0.0]).any()


def test_points_are_returned_as_they_are():
    points = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])  # one inside, one twice
    assert (SETS.Finite(points).vertices(limit=1) == points).all()


@pytest.mark.parametrize("seed", range(12))
def test_random_rows_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    G, h = cube(d)
    more = rng.standard_normal((int(rng.integers(0, 7)), d))
    G, h = np.vstack([G, more]), np.append(h, rng.uniform(0.2, 1.5, len(more)))
    move, size = rng.standard_normal(d), 10.0 ** rng.uniform(-4, 4)
    region = SETS.Polytope(G, size * h + G @ (size * move))
    expected = size * (brute_force(G, h) + move)
    found = region.vertices()
    assert same_points(found, expected, 1e-8 * size * (1 + np.abs(move).max()))
    assert attains(region, found)
    slack = (region.h - found @ region.G.T) / np.linalg.norm(region.G, axis=1)
    assert slack.min() >= -1e-9 * size * (1 + np.abs(move).max())
    for row in np.abs(slack) <= 1e-9 * size * (1 + np.abs(move).max()):
        assert np.linalg.matrix_rank(region.G[row]) == d


@pytest.mark.parametrize("seed", range(8))
def test_the_hull_of_random_points(seed):
    rng = np.random.default_rng(100 + seed)
    d = int(rng.integers(2, 6))
    points = rng.standard_normal((int(rng.integers(d + 1, 20)), d)) @ np.diag(
        rng.uniform(0.1, 5, d)
    )
    hull = ConvexHull(points)
    again = np.repeat(hull.equations, 2, axis=0)  # every row twice, and of another length
    again[::2] *= 7.0
    region = SETS.Polytope(again[:, :-1], -again[:, -1])
    assert same_points(region.vertices(), points[hull.vertices], 1e-8 * np.abs(points).max())


def test_a_wider_copy_of_a_row_changes_nothing():
    G, h = cube(3)
    for order in (slice(None), slice(None, None, -1)):
        more = np.vstack([G, 3.0 * G])[order], np.append(h, np.full(6, 5.0))[order]
        assert same_points(SETS.Polytope(*more).vertices(), brute_force(G, h))


@pytest.mark.parametrize("d", [2, 3, 5, 7])
def test_the_cross_polytope_by_its_facets(d):
    """In each of its 2 d vertices 2^(d-1) rows meet."""
    G = np.array(list(itertools.product((-1.0, 1.0), repeat=d)))
    region = SETS.Polytope(G, np.full(len(G), 0.5))
    assert same_points(region.vertices(), SETS.L1Ball(d, 0.5).vertices())


def test_a_pyramid_has_its_top():
    G = np.array([[0, 0, -1], [1, 0, 1], [-1, 0, 1], [0, 1, 1], [0, -1, 1]], float)
    expected = np.array([[0, 0, 1], [1, 1, 0], [1, -1, 0], [-1, 1, 0], [-1, -1, 0]], float)
    assert same_points(SETS.Polytope(G, [0.0, 1.0, 1.0, 1.0, 1.0]).vertices(), expected)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_flat_polytopes(d):
    sums = np.vstack([np.ones((1, d)), -np.ones((1, d))])
    region = SETS.Polytope(np.vstack([-np.eye(d), sums]), [*np.zeros(d), 1.0, -1.0])
    assert same_points(region.vertices(), np.eye(d))
    G, h = cube(d)  # and a face of the cube, given as a cut that touches it
    face = SETS.Polytope(np.vstack([G, -np.eye(1, d)]), [*h, -1.0])
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=d - 1))).reshape(-1, d - 1)
    assert same_points(face.vertices(), np.column_stack([np.ones(len(corners)), corners]))


def test_a_segment_and_a_point():
    slope = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    segment = SETS.Polytope(slope, [1.0, -1.0, 1.0, 1.0])
    assert same_points(segment.vertices(), np.array([[1.0, 0.0], [0.0, 1.0]]))
    point = SETS.Polytope(cube(2)[0], [1.0, 2.0, -1.0, -2.0])
    assert same_points(point.vertices(), np.array([[1.0, 2.0]]))


def test_vertices_come_in_lexicographic_order_whatever_the_order_of_rows():
    G, h = cube(3)
    expected = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    for order in ([0, 1, 2, 3, 4, 5], [5, 3, 1, 4, 2, 0]):
        assert np.allclose(SETS.Polytope(G[order], h[order]).vertices(), expected, atol=1e-12)


def test_too_many_are_refused_with_their_number():
    for region, count in (
        (SETS.Box([0.0] * 13, [1.0] * 13), 8192),
        (SETS.Simplex(5000), 5000),
        (SETS.L1Ball(2049), 4098),
    ):
        with pytest.raises(ArgumentError, match=f"{count} vertices, more than 4096") as caught:
            region.vertices()
        assert caught.value.argument == "limit"
        assert f"limit={count}" in str(caught.value)
    assert SETS.Box([0.0] * 13, [1.0] * 13).vertices(limit=8192).shape == (8192, 13)
    with pytest.raises(ArgumentError, match="8 vertices, more than 7"):
        SETS.Polytope(*cube(3)).vertices(limit=7)
    with pytest.raises(ArgumentError, match="limit"):
        SETS.Simplex(3).vertices(limit=0)


def test_rows_that_may_meet_in_too_many_points_are_refused_before_they_are_tried():
    rng = np.random.default_rng(0)
    G, h = cube(12)
    region = SETS.Polytope(np.vstack([G, rng.standard_normal((40, 12))]), np.append(h, np.ones(40)))
    with pytest.raises(
        ArgumentError, match="64 half-spaces in 12 dimensions may meet in"
    ) as caught:
        region.vertices()
    assert caught.value.argument == "limit"


def test_the_most_that_half_spaces_have_is_that_of_a_cyclic_polytope():
    """Polygons; polyhedra, 2 m - 4; in four dimensions m (m - 3) / 2."""
    for m in range(5, 12):
        counts = [_vertices.most_vertices(m, d) for d in (2, 3, 4)]
        assert counts == [m, 2 * m - 4, m * (m - 3) // 2]


def test_sets_without_a_list_say_so():
    class Point:
        dimension = 1

        def maximize(self, u, eq, le):
            return np.ones(1), float(u[0])

    convex = SETS.Convex(lambda x: [cp.norm(x) <= 1], 2)
    round_ones = (SETS.Ball(2), SETS.Ellipsoid([0.0, 0.0], np.eye(2)), convex)
    for region in (*round_ones, SETS.as_arm_set(Point())):
        with pytest.raises(UnsupportedError, match="no list of vertices"):
            region.vertices()


def test_empty_and_unbounded_polytopes_are_refused_as_ever():
    with pytest.raises(ArgumentError, match="no point satisfies"):
        SETS.Polytope([[1.0], [-1.0]], [0.0, -1.0])
    with pytest.raises(ArgumentError, match="unbounded"):
        SETS.Polytope([[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0])


def test_a_list_that_is_not_whole_is_refused(monkeypatch):
    """Whatever Qhull forgets: one of the corners, or all on one side."""
    whole = _vertices._intersections
    G, h = cube(3)
    for keep in (lambda x: x[:-1], lambda x: x[x[:, 0] > 0.0]):
        monkeypatch.setattr(_vertices, "_intersections", lambda *a, keep=keep: keep(whole(*a)))
        with pytest.raises(OracleError, match="left out vertices"):
            SETS.Polytope(G, h).vertices()
    monkeypatch.setattr(_vertices, "_intersections", lambda *a: whole(*a) * 0.999)
    with pytest.raises(OracleError, match="rounding decides"):
        SETS.Polytope(G, h).vertices()
    # Where more rows meet than there are dimensions, edges alone do not tell.
    monkeypatch.setattr(_vertices, "_check_edges", lambda *a: None)
    monkeypatch.setattr(_vertices, "_intersections", lambda *a: whole(*a)[:-1])
    with pytest.raises(OracleError, match="left out vertices"):
        SETS.Polytope(G, h).vertices()
