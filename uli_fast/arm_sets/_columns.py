"""Rows over any set with a linear oracle: a linear program over points of the set.

Dantzig and Wolfe's column generation. The master program mixes known points so that
the rows hold; its multipliers y, z give a direction g - W^T y - E^T z, whose maximiser
over the set is the next point, and whose maximum gives an upper bound. The set itself
is never cut, so that slices too thin for an interior-point method cause no trouble.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64
from uli_fast.arm_sets._chain import GAP, Answer, Backend, Failed, Infeasible
from uli_fast.arm_sets._highs import minimise, model
from uli_fast.arm_sets._rows import FEASIBLE, Rows

# Curved sets take about 20 points for one row that binds, 100 for five.
MOST_POINTS = 400
# Steps without progress after which a sufficient answer is taken.
PATIENCE = 5
# Rows are met better than asked for, and gaps closed further.
CLOSE = 1e-2


class Mix(NamedTuple):
    """A solution of the master program."""

    weights: F64  # (p,) of the points
    value: float
    y: F64  # (m,) multipliers of W x <= b, at least 0
    z: F64  # (k,) multipliers of E x = e


class OracleColumns:
    """A set under rows, by its oracle without them."""

    def __init__(self, oracle: Backend, n: int, rows: Rows) -> None:
        self._oracle, self._rows = oracle, rows
        self._points = np.zeros((0, n))
        self._points = np.array([self._maximum(row)[0] for row in (-np.eye(n)[:1])])
        self._meet_rows()

    def solve(self, g: F64) -> Answer:
        """Return the best mix of points, and the best bound met."""
        self._add(g)
        bound, best, stalled = np.inf, np.inf, 0
        while len(self._points) < MOST_POINTS:
            mix = self._mix(self._points @ g, relaxed=False)
            rest = g - mix.y @ self._rows.W - mix.z @ self._rows.E
            value = self._add(rest)
            bound = min(bound, value + float(mix.y @ self._rows.b + mix.z @ self._rows.e))
            gap = bound - mix.value
            stalled = 0 if gap < 0.9 * best else stalled + 1
            best = min(best, gap)
            # The oracle's own accuracy may end all progress.
            if gap <= CLOSE * GAP or (gap <= GAP and stalled >= PATIENCE):
                x = mix.weights @ self._points[: mix.weights.size]
                self._forget(mix.weights)
                return Answer(x, mix.y, mix.z, bound)
        raise Failed(f"{MOST_POINTS} points were not enough")

    def _meet_rows(self) -> None:
        """Gather points of which a mix meets the rows."""
        while len(self._points) < MOST_POINTS:
            mix = self._mix(np.zeros(len(self._points)), relaxed=True)
            if -mix.value <= CLOSE * FEASIBLE:
                return
            value = self._add(-(mix.y @ self._rows.W + mix.z @ self._rows.E))
            if value + float(mix.y @ self._rows.b + mix.z @ self._rows.e) < -FEASIBLE:
                raise Infeasible
        raise Failed("no mix of points meets the rows")

    def _add(self, r: F64) -> float:
        """Add the maximiser of <r, x>; return an upper bound on its value."""
        x, bound = self._maximum(r)
        self._points = np.vstack([self._points, x])
        return bound

    def _maximum(self, r: F64) -> tuple[F64, float]:
        length = float(np.linalg.norm(r))
        answer = self._oracle.solve(r / length if length > 0.0 else np.eye(1, r.size)[0])
        return answer.x, length * answer.bound

    def _forget(self, weights: F64) -> None:
        """Keep the points in use, and some of the last."""
        keep = np.append(weights > 0.0, True)
        keep[-20:] = True
        self._points = self._points[keep]

    def _mix(self, values: F64, relaxed: bool) -> Mix:
        """Solve the master program; relaxed, rows may be missed by s, and -s is the value."""
        rows, p = self._rows, len(self._points)
        m, k = rows.b.size, rows.e.size
        over, equal = rows.W @ self._points.T, rows.E @ self._points.T
        A = np.vstack([over, equal, -equal, np.ones((1, p))])
        A = np.hstack([A, np.append(-np.ones(m + 2 * k), 0.0)[:, None]])
        high = np.concatenate([rows.b, rows.e, -rows.e, [1.0]])
        low = np.append(np.full(m + 2 * k, -np.inf), 1.0)
        most = np.append(np.full(p, np.inf), np.inf if relaxed else CLOSE * FEASIBLE)
        costs = np.append(-values, 1.0 if relaxed else 0.0)
        made = model(np.zeros(p + 1), most, A, low, high)
        status = minimise(made, costs)
        if status != "optimal":
            raise Failed(f"the master program ended as {status}")
        solution = made.getSolution()
        y = np.maximum(-np.array(solution.row_dual), 0.0)
        weights = np.maximum(np.array(solution.col_value)[:p], 0.0)
        value = -float(costs @ np.array(solution.col_value))
        return Mix(weights / weights.sum(), value, y[:m], y[m : m + k] - y[m + k : m + 2 * k])
