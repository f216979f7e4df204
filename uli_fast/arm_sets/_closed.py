"""Closed forms: the linear oracle of a body, and one half-space cut by a secant."""

from __future__ import annotations

import numpy as np

from uli_fast._typing import F64
from uli_fast.arm_sets._bodies import Body
from uli_fast.arm_sets._chain import Answer, Failed, Infeasible
from uli_fast.arm_sets._rows import FEASIBLE, Rows

# A vertex is found in a few steps; this is far more.
MOST_STEPS = 200


class Closed:
    """The maximum over a body, possibly cut by one half-space <w, x> <= b.

    With a cut, h(g - lambda w) + lambda b is minimised over lambda >= 0, h the support
    function of the body: where the lines of a point that misses the cut and one that
    keeps it cross, there is the next lambda. On polytopes it ends with the optimum,
    which is on the segment between the two.
    """

    def __init__(self, body: Body, rows: Rows) -> None:
        self._body, self._rows = body, rows

    def solve(self, g: F64) -> Answer:
        """Return the maximum and the multiplier of the cut."""
        none = np.zeros(0)
        x = self._body.argmax(g)
        if not self._rows.b.size:
            return Answer(x, none, none)
        w, b = self._rows.W[0], float(self._rows.b[0])
        over = float(w @ x) - b
        if over <= 0.0:
            return Answer(x, np.zeros(1), none)
        other = self._body.argmax(-w)
        under = float(w @ other) - b
        if under > FEASIBLE:
            raise Infeasible
        for _ in range(MOST_STEPS):
            if over <= under:  # the cut touches the body
                return Answer(other, np.zeros(1), none)
            slope = float(g @ (x - other)) / (over - under)
            slope = max(slope, 0.0)
            value = float(g @ x) - slope * over
            new = self._body.argmax(g - slope * w)
            missed = float(w @ new) - b
            gained = float(g @ new) - slope * missed - value
            if gained <= 1e-14:
                share = -under / (over - under)
                share = min(max(share, 0.0), 1.0)
                return Answer(share * x + (1.0 - share) * other, np.array([slope]), none)
            if missed > 0.0:
                x, over = new, missed
            else:
                other, under = new, missed
        raise Failed("the secant did not end")
