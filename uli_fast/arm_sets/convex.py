"""Any compact convex set that cvxpy can describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.arm_sets._chain import Backend, Chain, Restricted
from uli_fast.arm_sets._columns import OracleColumns
from uli_fast.arm_sets._cvxpy import Conic, Cvxpy
from uli_fast.arm_sets._rows import Chart, Rows, checked, standardise
from uli_fast.arm_sets._set import ArmSet, frozen, shown
from uli_fast.errors import ArgumentError, OracleError


class Convex(ArmSet):
    """The points x that satisfy the cvxpy constraints ``builder(x)``.

    Parameters
    ----------
    builder
        Takes a cvxpy variable of shape (d,) and returns a list of constraints, which
        may have further variables. It is called again for every restriction. The set
        must be compact, convex and not empty; that is checked in every coordinate.
    d
        Dimension.
    backend
        "auto", "cvxpy", or "columns", where cvxpy only maximises over the whole set and a
        linear program over its points meets the rows: slower, but not troubled by thin slices.

    Notes
    -----
    The upper bound comes from the solver's dual point, up to its accuracy.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import uli_fast as uli
    >>> disc = uli.arm_sets.Convex(lambda x: [cp.norm(x) <= 1, x[0] >= 0], d=2)
    >>> point, bound = disc.maximize([-1.0, 1.0])
    >>> print(abs(point.round(3)))
    [0. 1.]
    """

    backends: ClassVar[tuple[str, ...]] = ("cvxpy", "columns")
    own: ClassVar[bool] = False

    def __init__(self, builder: Callable[[Any], list[Any]], d: int, backend: str = "auto") -> None:
        super().__init__(_check.dimension("d", d), backend)
        if not callable(builder):
            raise ArgumentError("builder", f"must be a function of x, got {builder!r}")
        self.builder = builder
        self.low, self.high = (frozen(end) for end in self._bounds())
        half = 0.5 * float((self.high - self.low).max())
        self._chart = Chart(0.5 * (self.low + self.high), np.asarray(half if half > 0.0 else 1.0))

    def __repr__(self) -> str:
        return shown("Convex", [f"d={self.dimension}"], self.backend)

    def largest_norm(self) -> float:
        """Return the length of the farthest corner of the bounding box."""
        return float(np.linalg.norm(np.maximum(np.abs(self.low), np.abs(self.high))))

    def _constraints(self, x: Any) -> list[Any]:
        import cvxpy as cp

        built = self.builder(x)
        if not isinstance(built, list | tuple):
            raise ArgumentError("builder", f"must return a list of constraints, got {built!r}")
        for constraint in built:
            if not isinstance(constraint, cp.constraints.constraint.Constraint):
                raise ArgumentError("builder", f"returned {constraint!r}, not a cvxpy constraint")
            if not constraint.is_dcp():
                raise ArgumentError("builder", f"returned {constraint}, which is not convex")
        return list(built)

    def _bounds(self) -> tuple[F64, F64]:
        import cvxpy as cp

        d = self.dimension
        x = cp.Variable(d)
        conic = Conic(x, self._constraints(x))
        ends = np.empty((2, d))
        for i in range(d):
            for side, sign in enumerate((-1.0, 1.0)):
                status, solution, _, _ = conic.solve(sign * np.eye(1, d, i)[0], 1e-8)
                if "infeasible" in status:
                    raise ArgumentError("builder", "describes an empty set")
                if "unbounded" in status:
                    raise ArgumentError("builder", f"leaves coordinate {i} unbounded")
                if x.id not in solution.primal_vars:
                    raise OracleError(f"no bounds of coordinate {i} were found ({status})")
                ends[side, i] = solution.primal_vars[x.id][i]
        return ends[0], np.maximum(ends[0], ends[1])

    def _contains(self, a: F64, tolerance: float) -> bool:
        import cvxpy as cp

        x = cp.Variable(self.dimension)
        constraints, size = self._constraints(x), float(self._chart.scale)
        distance = cp.norm((x - a) / size, "inf")
        problem = cp.Problem(cp.Minimize(distance), constraints)
        problem.solve(solver=cp.CLARABEL)
        return bool(problem.value <= max(tolerance, 1e-7))

    def _restricted(self, eq: tuple[F64, F64], le: tuple[F64, F64]) -> Restricted:
        rows = standardise(self._chart, None, eq, le)
        origin, scale = self._chart.origin, float(self._chart.scale)

        def direct(rows: Rows) -> Cvxpy:
            return Cvxpy(self.dimension, rows, self._constraints, origin, scale, own_bound=True)

        def columns() -> OracleColumns:
            free = standardise(self._chart, None, *(checked("le", None, self.dimension),) * 2)
            return OracleColumns(direct(free), self.dimension, rows)

        makers: dict[str, Callable[[], Backend]] = {"cvxpy": lambda: direct(rows)}
        if rows.b.size or rows.e.size or self.backend == "columns":
            makers["columns"] = columns
        chosen = list(makers) if self.backend == "auto" else [self.backend]
        return Chain(self._chart, None, rows, [(n, makers[n]) for n in chosen], repr(self))
