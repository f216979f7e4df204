"""Boxes, simplices, l1 balls and polytopes: linear programs once they are cut."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.arm_sets._bodies import (
    CrossPolytope,
    Cube,
    LinearBody,
    Surrounding,
    UnitSimplex,
    lengths,
)
from uli_fast.arm_sets._chain import Restricted
from uli_fast.arm_sets._highs import minimise, model
from uli_fast.arm_sets._rows import Chart, standardise
from uli_fast.arm_sets._set import StandardSet, frozen, shown
from uli_fast.arm_sets._vertices import check_count, vertices_of
from uli_fast.errors import ArgumentError, OracleError

COMPARED = 16  # directions in which a list of vertices is compared with the oracle


class PolyhedralSet(StandardSet):
    """The image of a body with facets under a chart."""

    backends: ClassVar[tuple[str, ...]] = ("closed", "kernel", "highs", "cvxpy")
    _chart: Chart
    _body: LinearBody

    def _restricted(self, eq: tuple[F64, F64], le: tuple[F64, F64]) -> Restricted:
        rows = standardise(self._chart, self._body, eq, le)
        return self._chain(self._chart, self._body, rows)


class Box(PolyhedralSet):
    """The box {a: low <= a <= high}.

    Parameters
    ----------
    low, high
        (d,); where they are equal the box is flat.
    backend
        "auto", "closed" (at most one inequality row), "kernel", "highs" or "cvxpy".

    Examples
    --------
    >>> import uli_fast as uli
    >>> box = uli.arm_sets.Box([-1, -1], [1, 2])
    >>> print(box.maximize([1.0, 1.0])[0], len(box.vertices()))
    [1. 2.] 4
    """

    def __init__(self, low: Any, high: Any, backend: str = "auto") -> None:
        self.low = frozen(_check.vector("low", low))
        self.high = frozen(_check.vector("high", high))
        super().__init__(self.low.size, backend)
        _check.same_length("high", self.high, self.dimension)
        if (self.low > self.high).any():
            raise ArgumentError("high", "must be at least low in every coordinate")
        # Halves first: the sum of two large numbers may overflow.
        self._chart = Chart(0.5 * self.low + 0.5 * self.high, 0.5 * self.high - 0.5 * self.low)
        self._body = Cube(self.dimension)

    def __repr__(self) -> str:
        return shown("Box", [f"d={self.dimension}"], self.backend)

    def largest_norm(self) -> float:
        """Return the length of the farthest corner."""
        return float(np.linalg.norm(np.maximum(np.abs(self.low), np.abs(self.high))))

    def _vertices(self, limit: int) -> F64:
        wide = self.low < self.high
        check_count(repr(self), 1 << int(wide.sum()), limit)
        ends = [(lo, hi) if lo < hi else (lo,) for lo, hi in zip(self.low, self.high, strict=True)]
        return np.array(list(itertools.product(*ends)))

    def _contains(self, a: F64, tolerance: float) -> bool:
        room = tolerance * float(np.linalg.norm(self._chart.scale))
        return bool((a >= self.low - room).all() and (a <= self.high + room).all())


class Simplex(PolyhedralSet):
    """The probability simplex {a >= 0, sum a = 1} in R^d.

    Parameters
    ----------
    d
        Number of coordinates.
    backend
        "auto", "closed" (at most one inequality row), "kernel", "highs" or "cvxpy".

    Examples
    --------
    >>> import uli_fast as uli
    >>> print(uli.arm_sets.Simplex(3).maximize([0.2, 0.9, 0.4])[0])
    [0. 1. 0.]
    """

    def __init__(self, d: int, backend: str = "auto") -> None:
        super().__init__(_check.dimension("d", d), backend)
        self._chart = Chart(np.zeros(self.dimension), np.asarray(1.0))
        self._body = UnitSimplex(self.dimension)

    def __repr__(self) -> str:
        return shown("Simplex", [str(self.dimension)], self.backend)

    def largest_norm(self) -> float:
        """Return 1, the length of a vertex."""
        return 1.0

    def _vertices(self, limit: int) -> F64:
        check_count(repr(self), self.dimension, limit)
        return np.eye(self.dimension)

    def _contains(self, a: F64, tolerance: float) -> bool:
        return bool(a.min() >= -tolerance and abs(a.sum() - 1.0) <= tolerance)


class L1Ball(PolyhedralSet):
    """The l1 ball ``{a: sum |a_i| <= radius}`` in R^d.

    Parameters
    ----------
    d
        Dimension.
    radius
        Above 0.
    backend
        "auto", "closed" (at most one inequality row), "kernel", "highs" or "cvxpy".

    Examples
    --------
    >>> import uli_fast as uli
    >>> print(uli.arm_sets.L1Ball(2, radius=2.0).maximize([0.2, -0.9])[0])
    [ 0. -2.]
    """

    def __init__(self, d: int, radius: float = 1.0, backend: str = "auto") -> None:
        super().__init__(_check.dimension("d", d), backend)
        self.radius = _check.positive("radius", radius)
        self._chart = Chart(np.zeros(self.dimension), np.asarray(self.radius))
        self._body = CrossPolytope(self.dimension)

    def __repr__(self) -> str:
        return shown("L1Ball", [str(self.dimension), f"radius={self.radius:g}"], self.backend)

    def largest_norm(self) -> float:
        """Return the radius, the length of a vertex."""
        return self.radius

    def _vertices(self, limit: int) -> F64:
        check_count(repr(self), 2 * self.dimension, limit)
        ends = self.radius * np.eye(self.dimension)
        return np.vstack([ends, -ends]) + 0.0  # no zeros with a sign

    def _contains(self, a: F64, tolerance: float) -> bool:
        return float(np.abs(a).sum()) <= (1.0 + tolerance) * self.radius


class Polytope(PolyhedralSet):
    """The polytope {a: G a <= h}, bounded and not empty.

    Parameters
    ----------
    G, h
        Rows (m, d) and their right-hand sides (m,). The polytope may be flat.
    backend
        "auto", "kernel", "highs" or "cvxpy".

    Examples
    --------
    >>> import uli_fast as uli
    >>> triangle = uli.arm_sets.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    >>> print(triangle.maximize([1.0, 2.0])[0].round(6), len(triangle.vertices()))
    [0. 1.] 3
    """

    backends: ClassVar[tuple[str, ...]] = ("kernel", "highs", "cvxpy")

    def __init__(self, G: Any, h: Any, backend: str = "auto") -> None:
        self.G, self.h = frozen(_check.matrix("G", G)), frozen(_check.vector("h", h))
        super().__init__(self.G.shape[1], backend)
        _check.same_length("h", self.h, len(self.G))
        low, high = bounding_box(self.G, self.h)
        self._reach = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))))
        half = 0.5 * (high - low)
        # Flat directions are given some width: the box only has to contain the polytope.
        widest = float(half.max())
        half = np.maximum(1.001 * half, 1e-6 * widest if widest > 0.0 else max(self._reach, 1.0))
        self._chart = Chart(0.5 * (low + high), half)
        self._body = Surrounding(self.dimension)

    def __repr__(self) -> str:
        return shown("Polytope", [f"{len(self.h)} rows, d={self.dimension}"], self.backend)

    def largest_norm(self) -> float:
        """Return the length of the farthest corner of the bounding box."""
        return self._reach

    def _vertices(self, limit: int) -> F64:
        rows, right = self._chart.rows(self.G), self.h - self.G @ self._chart.origin
        corners = vertices_of(repr(self), rows, right, limit)
        found: F64 = self._chart.origin + self._chart.scale * corners
        found[np.abs(found) <= 1e-14 * self._reach] = 0.0
        whole = self.restrict()
        for u in np.random.default_rng(0).standard_normal((COMPARED, self.dimension)):
            # Where more than d rows meet, edges may be missing that nobody has counted.
            if whole.maximize(u)[1] - (found @ u).max() > 1e-7 * self._chart.size() * len(u):
                raise OracleError(f"{self!r}: Qhull has left out vertices")
        return found

    def _contains(self, a: F64, tolerance: float) -> bool:
        room = tolerance * float(np.linalg.norm(self._chart.scale)) * lengths(self.G)
        return bool((self.G @ a <= self.h + room).all())

    def _restricted(self, eq: tuple[F64, F64], le: tuple[F64, F64]) -> Restricted:
        every = np.vstack([self.G, le[0]]), np.concatenate([self.h, le[1]])
        return super()._restricted(eq, every)


def bounding_box(G: F64, h: F64) -> tuple[F64, F64]:
    """Return the smallest and largest value of each coordinate over {a: G a <= h}."""
    length, d = lengths(G), G.shape[1]
    if (h[length == 0.0] < 0.0).any():
        raise ArgumentError("h", "no point satisfies G a <= h")
    rows = length > 0.0
    unit, right = G[rows] / length[rows, None], h[rows] / length[rows]
    size = float(np.abs(right).max(initial=0.0)) or 1.0
    free = np.full(d, np.inf)
    made = model(-free, free, unit, np.full(len(unit), -np.inf), right / size)
    ends = np.empty((2, d))
    if minimise(made, np.zeros(d)) == "infeasible":
        raise ArgumentError("h", "no point satisfies G a <= h")
    for i in range(d):
        for side, sign in enumerate((1.0, -1.0)):
            status = minimise(made, sign * np.eye(1, d, i)[0])
            if status in ("unbounded", "unbounded or infeasible"):
                raise ArgumentError("G", f"leaves coordinate {i} unbounded: add rows that bound it")
            if status != "optimal":
                raise OracleError(f"no bounds of coordinate {i} were found for G a <= h")
            ends[side, i] = made.getSolution().col_value[i]
    return size * ends[0], size * np.maximum(ends[0], ends[1])
