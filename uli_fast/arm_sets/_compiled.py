"""The compiled back ends: rows prepared once, then one call of a kernel per direction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64
from uli_fast.arm_sets._bodies import Body, LinearBody, lengths
from uli_fast.arm_sets._chain import Answer, Failed, Infeasible
from uli_fast.arm_sets._rows import FEASIBLE, Rows, null_space, orthonormal
from uli_fast.kernels.oracles.status import EMPTY, FOUND

NONE = np.zeros(0)
# The secant ends in a few steps; this is far more.
MOST_SECANTS = 200
# Vertices are kept as long as they take fewer numbers than this.
MOST_NUMBERS = 10**6
# Rows shorter than this, after equalities are taken out, are constant.
SHORTEST = 1e-11


class BallKernel:
    """The unit ball under rows W x <= b, along the path of projections."""

    def __init__(self, body: Body, rows: Rows) -> None:
        from uli_fast.kernels.oracles import ball

        self._kernel = ball
        W, b = np.ascontiguousarray(rows.W), np.ascontiguousarray(rows.b)
        most = 50 + 10 * sum(W.shape)
        status, start = ball.project_origin(W, b, most)
        self._given = (W, np.ascontiguousarray(W.T), b, start, most)
        self._x, self._y = np.empty(W.shape[1]), np.empty(b.size)
        if status == EMPTY:
            raise Infeasible
        if status != FOUND:
            raise Failed("the projection of the centre was not found")

    def solve(self, g: F64) -> Answer:
        """Return the maximiser and the multipliers of the rows."""
        status = self._kernel.maximise(g, *self._given, self._x, self._y)
        if status != FOUND:
            raise Failed("the path of projections did not end")
        return Answer(self._x, self._y, NONE)


class VertexKernel:
    """A body with facets under rows, from vertex to vertex."""

    def __init__(self, body: LinearBody, rows: Rows) -> None:
        from uli_fast.kernels.oracles import polytope

        self._kernel = polytope
        self._form = reduce(body, rows)
        A, b = self._form.A, self._form.b
        N, n = A.shape
        P = max(2, min(2 * n + 2, MOST_NUMBERS // max(n * n + N, 1)))
        numbers, integers = polytope.room_for(n, N, P)
        self._store = (np.zeros(numbers), np.zeros(integers, dtype=np.int64), n, N, P)
        vertices = polytope.carve(*self._store)
        vertices.lengths[:] = lengths(A)
        vertices.AT[:] = (A / vertices.lengths[:, None]).T
        vertices.b[:] = b / vertices.lengths
        self._best, self._y = vertices.best, vertices.y
        self._most = 200 + 20 * (N + n)
        status = polytope.first(*self._store, self._most) if n else FOUND
        if status == EMPTY:
            raise Infeasible
        if status != FOUND:
            raise Failed(f"no vertex was found (status {status})")

    def solve(self, g: F64) -> Answer:
        """Return the best vertex and the multipliers of the rows."""
        form = self._form
        c = g if form.map is None else g @ form.map
        if c.size:  # else the equalities leave a single point
            status = self._kernel.maximise(*self._store, c, self._most)
            if status != FOUND:
                raise Failed(f"the walk along the vertices did not end (status {status})")
        x = self._best if form.map is None else form.origin + form.map @ self._best
        if form.equalities is None:
            return Answer(x, self._y[form.first :], NONE)
        every = np.zeros(form.whole.shape[0])
        every[form.kept] = self._y
        rest = (g if form.lift is None else g @ form.lift) - every @ form.whole
        return Answer(x, every[form.first :], form.equalities @ rest)


class Reduced(NamedTuple):
    """A body and rows as A v <= b alone, x = origin + map v.

    The body's variables are y, x = lift y. Equalities are taken out: y runs through an
    affine space with coordinates v.
    """

    A: F64  # (N, n)
    b: F64  # (N,)
    first: int  # where the rows W begin, the body's come before
    map: F64 | None  # (d, n), None where x = v
    origin: F64  # (d,)
    lift: F64 | None
    whole: F64  # (N', n') all rows on y
    kept: B1  # (N',) those that are not constant
    equalities: F64 | None  # (k, n') gives the multipliers of E from what the rows leave of g


def reduce(body: LinearBody, rows: Rows) -> Reduced:
    """Return a body under rows and equalities as inequalities alone."""
    form = body.linear_form()
    lift = np.eye(body.n) if form.lift is None else form.lift
    axes = np.eye(lift.shape[1])
    low, high = np.isfinite(form.low), np.isfinite(form.high)
    fixed = form.row_low == form.row_high
    A = np.vstack([axes[high], -axes[low], form.rows[~fixed], rows.W @ lift])
    b = np.concatenate([form.high[high], -form.low[low], form.row_high[~fixed], rows.b])
    first, kept = b.size - rows.b.size, np.ones(b.size, dtype=np.bool_)
    if not rows.e.size and not fixed.any():
        return Reduced(A, b, first, form.lift, np.zeros(body.n), form.lift, A, kept, None)
    F = np.vstack([rows.E @ lift, form.rows[fixed]])
    unit, f, consistent = orthonormal(F, np.append(rows.e, form.row_high[fixed]))
    if not consistent:
        raise Infeasible
    origin, basis = f @ unit, null_space(unit)
    inner, room = A @ basis, b - A @ origin
    kept = lengths(inner) > SHORTEST
    if (room[~kept] < -FEASIBLE).any():
        raise Infeasible
    multipliers = np.linalg.pinv(F.T)[: rows.e.size]
    return Reduced(
        inner[kept],
        room[kept],
        first,
        lift @ basis,
        lift @ origin,
        form.lift,
        A,
        kept,
        multipliers,
    )


class CutKernel:
    """A body without rows, or with one, in closed form."""

    def __init__(self, body: Body, rows: Rows) -> None:
        from uli_fast.kernels.oracles import body as body_oracle

        self._kernel, self._body = body_oracle, getattr(body_oracle, body.kind)
        self._cut = (np.ascontiguousarray(rows.W[0]), float(rows.b[0])) if rows.b.size else None

    def solve(self, g: F64) -> Answer:
        """Return the maximiser and the multiplier of the cut."""
        if self._cut is None:
            return Answer(self._kernel.closed(self._body, g), NONE, NONE)
        status, x, y = self._kernel.cut(self._body, g, *self._cut, MOST_SECANTS)
        if status == EMPTY:
            raise Infeasible
        if status != FOUND:
            raise Failed("the secant did not end")
        return Answer(x, np.array([y]), NONE)
