"""The vertices of {y: W y <= b}, bounded and not empty, flat ones included.

Qhull intersects the half-spaces around an interior point, in coordinates of the set's own affine
hull. Nothing is taken on its word: every vertex is put where the rows that meet there say, must
satisfy all rows, and must have as many edges to other vertices as a vertex has at least.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64
from uli_fast.arm_sets._highs import minimise, model
from uli_fast.errors import ArgumentError, OracleError

# More vertices than that are no list to learn on, unless a caller says so.
MOST_VERTICES = 4096
# Half-spaces that may meet in more points than that are not given to Qhull: it would not return.
MOST_POSSIBLE = 10**6
# For rows of unit length and sets of size about 1: what meets a row; what a vertex may miss one by.
MEETS, MISSES = 1e-8, 1e-9
RANK = 1e-9
AT_ONCE = 4096  # points that are held against all rows


class HalfSpaces(NamedTuple):
    """Half-spaces W y <= b, rows of unit length, none twice."""

    W: F64
    b: F64


def check_count(name: str, count: int, limit: int) -> None:
    """Refuse a list that is too long, saying how long it would be."""
    if count > limit:
        raise ArgumentError(
            "limit",
            f"{name} has {count} vertices, more than {limit}; vertices(limit={count}) lists them",
        )


def vertices_of(name: str, W: F64, b: F64, limit: int) -> F64:
    """Return the vertices, one per row, in lexicographic order.

    The set should be of size about 1 around 0; ``name`` is what errors call it.
    """
    rows = _distinct(W, b)
    lying = _room(rows) <= MEETS
    if lying.any():
        start, basis = _affine_hull(name, rows, lying)
    else:
        start, basis = np.zeros(W.shape[1]), np.eye(W.shape[1])
    if basis.shape[1] == 0:
        return start[None]
    inner = _distinct(rows.W[~lying] @ basis, rows.b[~lying] - rows.W[~lying] @ start)
    corners = _corners(name, inner, limit)
    found: F64 = start + corners @ basis.T
    slack = rows.b - found @ rows.W.T
    if min(slack.min(), -slack[:, lying].max(initial=0.0)) < -MISSES:
        raise OracleError(f"{name}: rounding decides where its vertices are")
    order = np.lexsort(np.round(found, 9).T[::-1])
    return found[order]


def _distinct(W: F64, b: F64) -> HalfSpaces:
    """Return unit rows; of those with one direction the tightest, and none without a direction."""
    length = np.linalg.norm(W, axis=1)
    rows = length > RANK * max(1.0, float(length.max(initial=0.0)))
    unit, right = W[rows] / length[rows, None], b[rows] / length[rows]
    order = np.lexsort(right[None])
    _, first = np.unique(np.round(unit[order], 12) + 0.0, axis=0, return_index=True)
    kept = np.sort(order[first])
    return HalfSpaces(np.ascontiguousarray(unit[kept]), right[kept])


def _solved(rows: HalfSpaces, costs: F64, extra: F64 | None = None) -> F64:
    """Return a minimiser of <costs, y> over the rows; ``extra`` is a column more."""
    A = rows.W if extra is None else np.column_stack([rows.W, extra])
    free = np.full(A.shape[1], np.inf)
    made = model(-free, free, A, np.full(len(A), -np.inf), rows.b)
    if minimise(made, costs) != "optimal":
        raise OracleError("no interior point of a polytope was found")
    return np.array(made.getSolution().col_value)


def _room(rows: HalfSpaces) -> F64:
    """Return for each row how far the set goes away from it; 0 where it lies in the row."""
    middle = _centre(rows)
    room: F64 = rows.b - rows.W @ middle[:-1]
    if middle[-1] > MEETS:  # an interior point: no row is an equality
        return room
    ends = np.array([rows.b[i] - rows.W[i] @ _solved(rows, rows.W[i]) for i in range(len(rows.b))])
    return np.asarray(np.maximum(ends, 0.0))


def _centre(rows: HalfSpaces) -> F64:
    """Return a point far from all rows, and its distance from the nearest."""
    return _solved(rows, np.append(np.zeros(rows.W.shape[1]), -1.0), np.ones(len(rows.b)))


def _affine_hull(name: str, rows: HalfSpaces, lying: B1) -> tuple[F64, F64]:
    """Return a point of the rows in which the set lies, and a basis of their directions."""
    U, spread, Vt = np.linalg.svd(rows.W[lying])
    rank = int((spread > RANK * spread[0]).sum())
    if 0 < rank < spread.size and spread[rank - 1] < 1e-6 * spread[0]:
        raise OracleError(f"{name}: rounding decides in how many dimensions it lies")
    start = Vt[:rank].T @ ((U[:, :rank].T @ rows.b[lying]) / spread[:rank])
    return start, np.ascontiguousarray(Vt[rank:].T)


def _corners(name: str, rows: HalfSpaces, limit: int) -> F64:
    """Return the vertices of a set with an interior."""
    m, d = rows.W.shape
    if d == 1:  # Qhull wants two dimensions
        up, down = rows.W[:, 0] > 0.0, rows.W[:, 0] < 0.0
        return np.array([[-rows.b[down].min()], [rows.b[up].min()]])
    possible = most_vertices(m, d)
    if possible > MOST_POSSIBLE:
        raise ArgumentError(
            "limit",
            f"{name}: {m} half-spaces in {d} dimensions may meet in {possible:.3g} vertices, more "
            f"than can be looked for ({MOST_POSSIBLE})",
        )
    middle = _centre(rows)
    if middle[-1] <= MEETS:
        raise OracleError(f"{name}: too thin to look for its vertices")
    on = _met(rows, _intersections(name, rows, middle[:-1]))
    check_count(name, len(on), limit)
    found = np.array([_meeting_point(name, rows, active) for active in on])
    _check_edges(name, rows, on)
    return found


def _intersections(name: str, rows: HalfSpaces, middle: F64) -> F64:
    """Return the points in which Qhull sees half-spaces meet, some of them several times."""
    from scipy.spatial import HalfspaceIntersection, QhullError

    try:
        found: F64 = HalfspaceIntersection(np.column_stack([rows.W, -rows.b]), middle).intersections
    except QhullError as problem:
        raise OracleError(f"{name}: Qhull cannot list its vertices") from problem
    if not np.isfinite(found).all():
        raise OracleError(f"{name}: Qhull cannot list its vertices")
    return found


def _met(rows: HalfSpaces, points: F64) -> B1:
    """Return which rows are met in each of some points, every such set of rows once."""
    blocks = (points[i : i + AT_ONCE] for i in range(0, len(points), AT_ONCE))
    found = [np.unique(rows.b - block @ rows.W.T <= MEETS, axis=0) for block in blocks]
    return np.unique(np.concatenate(found), axis=0)


def _meeting_point(name: str, rows: HalfSpaces, active: B1) -> F64:
    """Return where some rows meet, in one point and inside all others."""
    point, _, rank, _ = np.linalg.lstsq(rows.W[active], rows.b[active], rcond=RANK)
    slack = rows.b - rows.W @ point
    if rank < len(point) or slack.min() < -MISSES or slack[active].max() > MISSES:
        raise OracleError(f"{name}: rounding decides where its vertices are")
    return np.asarray(point)


def _check_edges(name: str, rows: HalfSpaces, on: B1) -> None:
    """Refuse a list in which a vertex has fewer than d edges.

    A polytope's vertices and edges are a connected graph, so that a list is whole if each vertex
    has all its edges in it. There are d of them where d rows meet; where more do there are at least
    as many. Both ends of an edge lie on d - 1 rows at least.
    """
    d = rows.W.shape[1]
    share = on.astype(np.float32)
    for i in range(0, len(on), 256):
        common = share[i : i + 256] @ share.T >= d - 1
        if (common.sum(axis=1) - 1 < d).any():
            raise OracleError(f"{name}: Qhull has left out vertices")


def most_vertices(m: int, d: int) -> int:
    """Return how many vertices m half-spaces in d dimensions have at most (McMullen)."""
    return math.comb(m - (d + 1) // 2, m - d) + math.comb(m - (d + 2) // 2, m - d)
