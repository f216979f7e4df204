"""Linear programs by HiGHS, kept warm: only the costs change between directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from uli_fast._typing import F64
from uli_fast.arm_sets._bodies import LinearBody
from uli_fast.arm_sets._chain import Answer, Failed, Infeasible
from uli_fast.arm_sets._rows import Rows

TOLERANCE = 1e-9


def model(low: F64, high: F64, A: F64, row_low: F64, row_high: F64) -> Any:
    """Return a silent HiGHS model with zero costs: low <= y <= high, row_low <= A y <= row_high."""
    import highspy

    m, n = A.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n, m
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.zeros(n), low, high
    lp.row_lower_, lp.row_upper_ = row_low, row_high
    nonzero = A != 0.0
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.concatenate([[0], nonzero.sum(axis=1).cumsum()]).astype(np.int32)
    lp.a_matrix_.index_ = np.nonzero(nonzero)[1].astype(np.int32)
    lp.a_matrix_.value_ = A[nonzero]
    made = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("solver", "simplex"),
        ("simplex_strategy", 4),  # primal: the last vertex stays feasible
        ("presolve", "off"),
        ("threads", 1),
        ("primal_feasibility_tolerance", TOLERANCE),
        ("dual_feasibility_tolerance", TOLERANCE),
    ):
        made.setOptionValue(option, value)
    made.passModel(lp)
    return made


def minimise(made: Any, costs: F64) -> str:
    """Minimise <costs, y> from the last vertex, then from scratch; return the status."""
    from highspy import HighsModelStatus as Status

    made.changeColsCost(costs.size, np.arange(costs.size, dtype=np.int32), costs)
    names = {
        Status.kOptimal: "optimal",
        Status.kInfeasible: "infeasible",
        Status.kUnbounded: "unbounded",
        Status.kUnboundedOrInfeasible: "unbounded or infeasible",
    }
    for _ in range(2):
        made.run()
        status = names.get(made.getModelStatus(), "failed")
        if status == "optimal":
            break
        made.clearSolver()
    return status


class Highs:
    """A body with facets under rows, by HiGHS's simplex method."""

    def __init__(self, body: LinearBody, rows: Rows) -> None:
        form = body.linear_form()
        self._lift = form.lift
        W, E = rows.W, rows.E
        if form.lift is not None:
            W, E = W @ form.lift, E @ form.lift
        A = np.vstack([W, E, form.rows])
        low = np.concatenate([np.full(len(W), -np.inf), rows.e, form.row_low])
        high = np.concatenate([rows.b, rows.e, form.row_high])
        self._model = model(form.low, form.high, A, low, high)
        self._m, self._k = len(W), len(E)

    def solve(self, g: F64) -> Answer:
        """Return the optimal vertex and the duals of the rows."""
        costs = -g if self._lift is None else -(g @ self._lift)
        status = minimise(self._model, costs)
        if status in ("infeasible", "unbounded or infeasible"):
            raise Infeasible
        if status != "optimal":
            raise Failed(f"HiGHS ended as {status}")
        solution = self._model.getSolution()
        y, duals = np.array(solution.col_value), -np.array(solution.row_dual)
        x = y if self._lift is None else self._lift @ y
        return Answer(x, duals[: self._m], duals[self._m : self._m + self._k])
