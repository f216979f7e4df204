"""Live LinUCB: the widths count every decision asked for, the estimate the rewards that came.

With immediate rewards both are those of the kernel. While rewards are awaited, what was asked for
narrows its directions at once, so that asking ahead spreads over the arms.

A missing outcome counts as asked for and is left out of the estimate. Where rewards are bounded the
intervals take it for the middle of the range, and allow for what that may move the estimate: half
the range times |x^T V^-1 a| for every missing outcome of an arm a.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64
from uli_fast.errors import UliError
from uli_fast.learners._linear import units_of
from uli_fast.learners.lin_ucb import new_ridge, refresh
from uli_fast.players._arms import Player

if TYPE_CHECKING:
    from uli_fast.kernels.lin_ucb import Ridge
    from uli_fast.learners.lin_ucb import LinUCB

# What a state keeps of the two regressions; the rest follows from it or from the arms.
KEPT = {"came": ("V", "inverse", "b", "mean", "square"), "asked": ("V", "inverse", "square")}


class LinUCBPlayer(Player):
    """Asks for the arm with the largest <theta_hat, a> + radius(t) |a|_{V^-1}."""

    learner: LinUCB
    widens: ClassVar[bool] = True

    def __init__(
        self,
        learner: LinUCB,
        labels: Labels,
        low: float,
        high: float,
        features: F64,
        intercept: float,
    ) -> None:
        super().__init__(learner, labels, low, high)
        self.features, self.intercept = features, intercept
        bounds = (low, high) if math.isfinite(low) else (None, None)
        self._units = units_of(features, learner.theta_norm, learner.R, bounds, intercept)
        # Regressions on the rewards that came, and on all decisions: of this V alone is used.
        self._ridges = {name: new_ridge(features) for name in KEPT}
        self.memory = {
            name: {part: getattr(self._ridges[name], part) for part in parts}
            for name, parts in KEPT.items()
        }

    def _choose(self) -> int:
        from uli_fast.kernels.lin_ucb import choose

        came, asked = self._ridges["came"], self._ridges["asked"]
        t, delta, R = len(self.queue) + 1, self.learner.delta, self._units.R
        return int(choose(came._replace(square=asked.square), t, delta, R))

    def _note(self, a: int) -> None:
        _take(self._ridges["asked"], a, 0.0, len(self.queue) + 1)
        super()._note(a)

    def follow(self, other: Any) -> None:
        """Ask and be told what another player was."""
        for i, a in enumerate(other.queue.decisions):
            _take(self._ridges["asked"], a, 0.0, i + 1)
        super().follow(other)

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an arm, on the unit scale."""
        self.count(a, reward)
        _take(self._ridges["came"], a, self._units.slope * reward - self._units.offset, self._taken)

    def _absorb_missing(self, a: int) -> None:
        self.count(a, 0.0)

    @property
    def _taken(self) -> int:
        """How many rewards came."""
        return int(self.arm_state.clock[0]) - self.lost

    def recommend(self) -> int | str:
        """Return the arm that the estimate from the rewards that came likes best."""
        if not self._taken:
            raise UliError("nothing to recommend: no reward has been settled yet")
        return self.labels[int(self._ridges["came"].mean.argmax())]

    def _unit_intervals(self) -> tuple[F64, F64]:
        from uli_fast.kernels.lin_ucb import radius

        x, units, n, lost = self._ridges["came"].x, self._units, self.arm_state.n, self.tally.lost
        spread = x @ np.linalg.inv(np.eye(x.shape[1]) + (x.T * n) @ x)  # a^T V^-1
        sums = self.arm_state.total + 0.5 * lost
        values = spread @ (x.T @ (units.slope * sums - units.offset * n))
        t = int(self.arm_state.clock[0]) + 1
        wide = radius(t, x.shape[1], self.learner.delta, units.R)
        half = wide * np.sqrt(np.maximum((spread * x).sum(axis=1), 0.0))
        half += np.abs(spread @ x[lost > 0].T) @ (0.5 * units.slope * lost[lost > 0])
        if self.tally.omitted.any():  # one estimate serves all arms
            half[:] = math.inf
        # Rewards in units of the proofs are X slope - offset.
        middle, half = (values + units.offset) / units.slope, half / units.slope
        return middle - half, middle + half

    def _narrow(self) -> None:
        """Keep nothing: there is no certificate that would use it."""

    def started_with(self) -> dict[str, Any]:
        """Return the arms, and the mean where they are 0."""
        return super().started_with() | {"intercept": self.intercept}


def _take(ridge: Ridge, a: int, reward: float, count: int) -> None:
    """Take in a reward, the count-th, and get rid of rounding errors as often as the kernel."""
    from uli_fast.kernels.lin_ucb import REFRESH, take

    take(ridge, a, reward)
    if count % REFRESH == 0:
        refresh(ridge)
