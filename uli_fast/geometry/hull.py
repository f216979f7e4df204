"""The polytope of finitely many arms: its facets, vertices and analytic centre."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from uli_fast._typing import B1, F64, I64
from uli_fast.errors import ArgumentError

if TYPE_CHECKING:
    from uli_fast.kernels.scrible import Hull

# Relative tolerances: for the rank of the arms; for distinct arms; for arms on a facet, in the
# order in which they are tried; for rounding errors; and the gap between rounding and truth.
RANK, DISTINCT = 1e-10, 1e-6
THICKNESS = (1e-8, 1e-7, 1e-6, 1e-9, 1e-10, 1e-11, 1e-12)
ROUNDING, GAP = 1e-15, 1e4


def hull_of(arms: F64) -> Hull:
    """Return the convex hull of the arms in coordinates of their affine hull.

    Of (nearly) equal arms the first stands for all. Only vertices are ever played;
    all arms keep their own coordinates, hence their own estimates.

    Parameters
    ----------
    arms
        (K, n), not all equal; they may lie in a subspace or inside the hull.
    """
    from uli_fast.kernels.scrible import Hull

    x = affine_coordinates(arms)
    distinct = first_of_near(x)
    normals = facet_normals(x[distinct])
    offsets = (x[distinct] @ normals.T).max(axis=0)
    slack = offsets - x @ normals.T
    on, kept = incidences(slack[distinct], np.abs(x).max())
    normals, offsets, slack = normals[kept], offsets[kept], np.ascontiguousarray(slack[:, kept])
    incidence = np.zeros(slack.shape, dtype=bool)
    incidence[distinct] = on
    slack[incidence] = 0.0
    is_vertex = np.array([np.linalg.matrix_rank(normals[on]) == x.shape[1] for on in incidence])
    centre = analytic_centre(normals, offsets)
    return Hull(
        x=x,
        normals=normals,
        offsets=offsets,
        lifted=np.column_stack([-normals, offsets]),
        incidence=np.ascontiguousarray(incidence.T),
        slack=slack,
        is_vertex=is_vertex,
        centre=centre,
        centre_slack=offsets - normals @ centre,
    )


def affine_coordinates(arms: F64) -> F64:
    """Return the arms in coordinates of their affine hull, with mean 0 and covariance I.

    The scaling keeps thin sets of arms as precise as round ones.
    """
    left, d = _from_mean(arms)
    if d == 0:
        raise ArgumentError("arms", "all arms are equal; there is nothing to learn")
    return np.ascontiguousarray(left[:, :d] * math.sqrt(len(arms)))


def affine_rank(arms: F64) -> int:
    """Return the dimension of the affine hull of the arms."""
    return _from_mean(arms)[1]


def _from_mean(arms: F64) -> tuple[F64, int]:
    """Return the left singular vectors of the arms less their mean, and the rank."""
    left, spread, _ = np.linalg.svd(arms - arms.mean(axis=0), full_matrices=False)
    rounding = 10.0 * np.finfo(float).eps * np.linalg.norm(arms)
    return left, int((spread > max(RANK * spread[0], rounding)).sum())


def facet_normals(x: F64) -> F64:
    """Return outer unit normals of the hull's facets, some perhaps several times."""
    if x.shape[1] == 1:  # Qhull wants two dimensions
        return np.array([[1.0], [-1.0]])
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.ascontiguousarray(ConvexHull(x).equations[:, :-1])
    except QhullError as problem:
        raise ArgumentError("arms", "Qhull cannot compute their convex hull") from problem


def first_of_near(x: F64) -> I64:
    """Return, in order, the arms that lie near no earlier one of them."""
    near = (DISTINCT * np.abs(x).max()) ** 2
    left = np.ones(len(x), dtype=bool)
    for a in range(len(x)):
        if left[a]:
            later = slice(a + 1, None)
            left[later] &= ((x[later] - x[a]) ** 2).sum(axis=1) > near
    return np.flatnonzero(left)


def incidences(slack: F64, scale: float) -> tuple[B1, I64]:
    """Return which arms lie on which facets, and which facets are whole.

    Rounding and truth are told apart by a gap in size between the slacks of the
    arms on a facet and those of all others.
    """
    for tolerance in THICKNESS:
        on = slack <= tolerance * scale
        kept = whole_facets(on)
        on, sizes = on[:, kept], slack[:, kept]
        if sizes[~on].min() > GAP * max(sizes[on].max(), ROUNDING * scale):
            return on, kept
    raise ArgumentError("arms", "rounding decides which of them lie on one facet of their hull")


def whole_facets(on: B1) -> I64:
    """Return the columns of (arms, facets) that are contained in no other, the first of equals.

    Facets that are not simplices come in pieces, and so do those that rounding bends.
    """
    known: dict[bytes, int] = {}
    for f, row in enumerate(np.packbits(on, axis=0).T):
        known.setdefault(row.tobytes(), f)
    first = np.array(list(known.values()))
    size = on[:, first].sum(axis=0)
    large = first[size > size.min()]
    common = on[:, first].T.astype(float) @ on[:, large]
    inside = (common == size[:, None]) & (first[:, None] != large)
    return np.asarray(first[~inside.any(axis=1)])


def analytic_centre(normals: F64, offsets: F64) -> F64:
    """Return the minimiser of -sum log(b_f - n_f.x) by damped Newton steps from 0, inside."""
    x = np.zeros(normals.shape[1])
    for _ in range(1000):
        rows = normals / (offsets - normals @ x)[:, None]
        gradient = rows.sum(axis=0)
        direction = np.linalg.solve(rows.T @ rows, gradient)
        decrement = math.sqrt(gradient @ direction)
        x -= direction if decrement < 0.25 else direction / (1.0 + decrement)
        if decrement < 1e-12:
            return x
    raise ArgumentError("arms", "their hull is too thin to find its analytic centre")
