"""From an interior point to the exact maximum over a ball, once the active rows are known."""

from __future__ import annotations

import numpy as np

from uli_fast._typing import F64
from uli_fast.arm_sets._chain import Answer
from uli_fast.arm_sets._rows import Rows


def polish(g: F64, rows: Rows, x: F64, y: F64) -> Answer:
    """Return the maximum of <g, x> on |x| = 1 and the rows that seem active, if it is better.

    A row counts as active where its multiplier exceeds its slack. Interior-point methods
    are inaccurate on thin slices, but not about that.
    """
    x = x / max(1.0, float(np.sqrt(x @ x)))
    claimed = Answer(x, y, np.zeros(0))
    active = np.flatnonzero(y > rows.b - rows.W @ x)
    if not active.size or active.size > x.size:
        return claimed
    Q, R = np.linalg.qr(rows.W[active].T)
    if np.abs(np.diag(R)).min() < 1e-9:
        return claimed
    foot = np.linalg.solve(R.T, rows.b[active])  # of the origin on the rows, in Q
    inner = Q.T @ g
    along = g - Q @ inner
    along -= Q @ (Q.T @ along)
    length, room = float(np.sqrt(along @ along)), 1.0 - float(foot @ foot)
    if room < 0.0 or length == 0.0:
        return claimed
    radius = float(np.sqrt(room))
    point = Q @ foot + (radius / length) * along
    multipliers = np.zeros_like(y)
    multipliers[active] = np.linalg.solve(R, inner - (length / max(radius, 1e-9)) * foot)
    better = _missed(rows, point) <= _missed(rows, x) and (multipliers >= -1e-9).all()
    return Answer(point, multipliers, np.zeros(0)) if better else claimed


def _missed(rows: Rows, x: F64) -> float:
    return float((rows.W @ x - rows.b).max(initial=0.0))
