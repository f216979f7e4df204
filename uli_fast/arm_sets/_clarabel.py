"""Second-order cones by Clarabel, kept warm: only the linear term changes between directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from uli_fast._typing import F64
from uli_fast.arm_sets._bodies import Body
from uli_fast.arm_sets._chain import Answer, Failed, Infeasible
from uli_fast.arm_sets._polish import polish
from uli_fast.arm_sets._rows import Rows

TOLERANCE = 1e-10


class Clarabel:
    """The unit ball under rows W x <= b, by an interior-point method."""

    def __init__(self, body: Body, rows: Rows) -> None:
        import clarabel
        from scipy import sparse

        self._rows = rows
        self._m, n = rows.W.shape
        A = sparse.csc_matrix(np.vstack([rows.W, np.zeros((1, n)), -np.eye(n)]))
        b = np.concatenate([rows.b, [1.0], np.zeros(n)])
        cones: list[Any] = [clarabel.NonnegativeConeT(self._m)] if self._m else []
        cones.append(clarabel.SecondOrderConeT(n + 1))
        settings = clarabel.DefaultSettings()
        settings.verbose = settings.presolve_enable = False  # presolve would forbid updates
        settings.max_threads = 1
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = TOLERANCE
        zero = sparse.csc_matrix((n, n))
        self._solver = clarabel.DefaultSolver(zero, np.zeros(n), A, b, cones, settings)

    def solve(self, g: F64) -> Answer:
        """Return the point and the multipliers of the rows, polished."""
        self._solver.update(q=-g)
        solution = self._solver.solve()
        status = str(solution.status)
        if "PrimalInfeasible" in status:
            raise Infeasible
        x, z = np.array(solution.x), np.array(solution.z)
        if not np.isfinite(x).all():
            raise Failed(f"Clarabel ended as {status}")
        return polish(g, self._rows, x, z[: self._m])
