"""Linear constraints in standard coordinates, every row of unit length.

A set is the image of a standard body under a = origin + scale x. Constraints are
pulled back to x, where lengths are near 1, tolerances mean the same for every set,
and rows that cannot bind are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64
from uli_fast.arm_sets._bodies import Body, RoundBody, lengths
from uli_fast.errors import ArgumentError

Constraint: TypeAlias = tuple[Any, Any] | None

# A point may miss a constraint by this much, in standard coordinates.
FEASIBLE = 1e-8
# A row this short, relative to what it was made from, is constant on the set.
CONSTANT = 1e-13
# Singular values of equalities below this fraction of the largest count as zero.
RANK_TOLERANCE = 1e-10


class Chart:
    """Standard coordinates: a = origin + scale x."""

    def __init__(self, origin: F64, scale: F64) -> None:
        self.origin = origin  # (d,)
        self.scale = scale  # a number (), a diagonal (d,) or a matrix (d, n)
        self._is_matrix = scale.ndim == 2
        self._central = not origin.any()
        self._plain = scale.ndim == 0 and float(scale) == 1.0

    def point(self, x: F64) -> F64:
        """Return the arm at x, always a new array."""
        if self._plain:
            return self.origin + x
        moved: F64 = self.scale.dot(x) if self._is_matrix else self.scale * x
        return moved if self._central else self.origin + moved

    def direction(self, u: F64) -> F64:
        """Return the g with <u, a> = <u, origin> + <g, x>."""
        return self.rows(u)

    def offset(self, u: F64) -> float:
        """Return <u, origin>."""
        return 0.0 if self._central else float(u.dot(self.origin))

    def rows(self, V: F64) -> F64:
        """Return the rows as functions of x."""
        if self._plain:
            return V
        moved: F64 = V.dot(self.scale) if self._is_matrix else V * self.scale
        return moved

    def within(self, centre: F64, basis: F64) -> Chart:
        """Return the chart of coordinates v, x = centre + basis v; not for diagonals."""
        inner: F64 = self.scale @ basis if self.scale.ndim == 2 else self.scale * basis
        return Chart(self.point(centre), inner)

    def size(self) -> float:
        """Return a number near the largest stretch."""
        if self.scale.ndim == 2:
            return float(np.linalg.norm(self.scale))
        return float(np.abs(self.scale).max())


class Rows(NamedTuple):
    """Constraints W x <= b and E x = e; rows of W have length 1, those of E are orthonormal."""

    W: F64  # (m, n)
    b: F64  # (m,)
    E: F64  # (k, n)
    e: F64  # (k,)
    possible: bool = True  # False where a single row already excludes every point
    tolerance: float = FEASIBLE  # by which a point may miss them


def checked(name: str, value: Constraint, d: int) -> tuple[F64, F64]:
    """Return a constraint's matrix (m, d) and right-hand side (m,); m = 0 for None."""
    if value is None:
        return np.zeros((0, d)), np.zeros(0)
    try:
        left, right = value
    except (TypeError, ValueError):
        raise ArgumentError(
            name, f"must be a pair (matrix, vector), got {type(value).__name__}"
        ) from None
    if np.size(left) == 0 and np.size(right) == 0:
        return np.zeros((0, d)), np.zeros(0)
    matrix, vector = _check.matrix(name, left), _check.vector(name, right)
    if matrix.shape[1] != d:
        raise ArgumentError(name, f"must have {d} columns, got {matrix.shape[1]}")
    _check.same_length(name, vector, len(matrix))
    return matrix, vector


def standardise(
    chart: Chart,
    body: Body | None,
    eq: tuple[F64, F64],
    le: tuple[F64, F64],
    tolerance: float = FEASIBLE,
) -> Rows:
    """Return the constraints in the coordinates of the chart."""
    size, possible = chart.size(), True
    V, U = le[0], eq[0]
    W = E = chart.rows(np.zeros((0, chart.origin.size)))
    b = e = np.zeros(0)
    if V.size:
        W, b, fine = _unit(chart.rows(V), le[1] - V @ chart.origin, lengths(V) * size)
        possible = bool((b[~fine] >= -tolerance).all())
        W, b = W[fine], b[fine]
    if body is not None and b.size:
        possible &= bool((b >= -body.supports(-W) - tolerance).all())
        binding = b < body.supports(W)
        W, b = W[binding], b[binding]
    if U.size:
        E, e, fine = _unit(chart.rows(U), eq[1] - U @ chart.origin, lengths(U) * size)
        possible &= bool((np.abs(e[~fine]) <= tolerance).all())
        E, e, consistent = orthonormal(E[fine], e[fine])
        possible &= consistent
    return Rows(W, b, E, e, possible, tolerance)


def _unit(W: F64, b: F64, reference: F64) -> tuple[F64, F64, B1]:
    """Return rows of unit length and which those are; the others are constant.

    A constant row is divided by ``reference``, its length before it was pulled back.
    """
    length = lengths(W)
    fine = length > CONSTANT * reference
    divisor = np.where(fine, length, np.where(reference > 0.0, reference, 1.0))
    return W / divisor[:, None], b / divisor, fine


def orthonormal(E: F64, e: F64) -> tuple[F64, F64, bool]:
    """Return equivalent orthonormal equalities, and whether the given ones agree."""
    if not e.size:
        return E, e, True
    left, singular, right = np.linalg.svd(E, full_matrices=False)
    keep = singular > RANK_TOLERANCE * max(1.0, singular[0])
    solved = (left.T @ e)[keep] / singular[keep]
    kept = np.ascontiguousarray(right[keep])
    consistent = bool(np.abs(E @ (kept.T @ solved) - e).max() <= FEASIBLE)
    return kept, solved, consistent


def null_space(E: F64) -> F64:
    """Return an orthonormal basis (n, n - k) of what orthonormal equalities leave free."""
    k, n = E.shape
    if not k:
        return np.eye(n)
    return np.ascontiguousarray(np.linalg.svd(E, full_matrices=True)[2][k:].T)


def restrict_ball(chart: Chart, rows: Rows) -> tuple[Chart, Rows]:
    """Return the slice of a unit ball by its equalities as a smaller ball.

    {|x| <= 1, E x = e} is the ball of squared radius 1 - |e|^2 around E^T e.
    """
    if not rows.e.size:
        return chart, rows
    centre, basis = rows.e @ rows.E, null_space(rows.E)
    room = 1.0 - float(rows.e @ rows.e)
    radius = float(np.sqrt(room)) if room > 1e-18 else 0.0
    basis *= radius
    inner = chart.within(centre, basis)
    tolerance = FEASIBLE / radius if radius > 0.0 else FEASIBLE
    nothing = (np.zeros((0, centre.size)), np.zeros(0))
    less = standardise(
        Chart(centre, basis), RoundBody(basis.shape[1]), nothing, (rows.W, rows.b), tolerance
    )
    possible = rows.possible and less.possible and room >= -2.0 * FEASIBLE
    return inner, less._replace(possible=possible)
