"""Any convex set by cvxpy: the problem is built once, the direction is a parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from uli_fast._typing import F64
from uli_fast.arm_sets._chain import Answer, Failed, Infeasible
from uli_fast.arm_sets._polish import polish
from uli_fast.arm_sets._rows import Rows

# Tried in turn: tight ones fail now and then.
TOLERANCES = (1e-10, 1e-9)


class Conic:
    """max <u, y> over y with given cvxpy constraints, u a parameter."""

    def __init__(self, y: Any, constraints: list[Any]) -> None:
        import cvxpy as cp

        self.u = cp.Parameter(y.shape)
        self.y = y
        self.problem = cp.Problem(cp.Maximize(self.u @ y), constraints)

    def solve(self, u: F64, tolerance: float) -> tuple[str, Any, Any, Any]:
        """Return the status, cvxpy's solution, Clarabel's own, and the conic data."""
        import cvxpy as cp

        self.u.value = u
        options: dict[str, Any] = dict.fromkeys(
            ("tol_feas", "tol_gap_abs", "tol_gap_rel"), tolerance
        )
        options["accept_unknown"] = True  # answers are checked, whatever the solver says about them
        data, chain, inverse = self.problem.get_problem_data(cp.CLARABEL, solver_opts=options)
        raw = chain.solve_via_data(self.problem, data, solver_opts=options)
        solution = chain.invert(raw, inverse)
        return str(solution.status), solution, raw, data


class Cvxpy:
    """A set under rows W x <= b, E x = e in standard coordinates, by cvxpy and Clarabel.

    ``build(y)`` gives the set's constraints on y, and y = origin + scale x.
    """

    def __init__(
        self,
        n: int,
        rows: Rows,
        build: Callable[[Any], list[Any]],
        origin: F64,
        scale: float = 1.0,
        own_bound: bool = False,
        is_round: bool = False,
    ) -> None:
        import cvxpy as cp

        y = cp.Variable(n)
        constraints = list(build(y))
        self._set = tuple(constraints)
        self._le = self._eq = None
        if rows.b.size:
            self._le = rows.W @ y <= scale * rows.b + rows.W @ origin
            constraints.append(self._le)
        if rows.e.size:
            self._eq = rows.E @ y == scale * rows.e + rows.E @ origin
            constraints.append(self._eq)
        self._conic = Conic(y, constraints)
        self._origin, self._scale, self._own = origin, scale, own_bound
        self._rows, self._round = rows, is_round

    def solve(self, g: F64) -> Answer:
        """Return the point and the multipliers, or the solver's own dual bound."""
        for tolerance in TOLERANCES:
            status, solution, raw, data = self._conic.solve(g, tolerance)
            if status == "infeasible":
                raise Infeasible
            if self._conic.y.id in solution.primal_vars:
                break
        else:
            raise Infeasible if "infeasible" in status else Failed(f"Clarabel: {raw.status}")
        y = np.asarray(solution.primal_vars[self._conic.y.id], dtype=np.float64)
        x = (y - self._origin) / self._scale
        duals = [
            np.zeros(0) if c is None else np.atleast_1d(solution.dual_vars[c.id])
            for c in (self._le, self._eq)
        ]
        if self._round:
            return polish(g, self._rows, x, duals[0])
        if not self._own:
            return Answer(x, duals[0], duals[1])
        self._conic.problem.unpack(solution)
        bound = (dual_bound(raw, data) - float(g @ self._origin)) / self._scale
        return Answer(x, duals[0], duals[1], bound, self._outside())

    def _outside(self) -> float:
        """Return by how much the solution misses the set's own constraints, relatively."""
        worst = 0.0
        for constraint in self._set:
            sizes = [np.abs(part.value).max(initial=0.0) for part in constraint.args]
            size = max(1e-3 * self._scale, *sizes)
            worst = max(worst, float(np.max(constraint.violation())) / size)
        return worst


def dual_bound(raw: Any, data: Any) -> float:
    """Return an upper bound on the maximum from Clarabel's dual point.

    The conic problem is min <c, v> with A v + s = b, s in a cone; for z in the dual
    cone <c, v> >= -<b, z> + <c + A^T z, v>. What is left of c + A^T z is taken at twice
    the solution's length.
    """
    A, b, c = data["A"], data["b"], data["c"]
    v, z = np.array(raw.x), np.array(raw.z)
    left = float(np.linalg.norm(c + A.T @ z) * np.linalg.norm(v))
    return float(b @ z) + 2.0 * left
