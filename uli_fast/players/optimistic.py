"""Live UCB, lil'UCB, KL-UCB: counts are those asked for, means those of what came."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from uli_fast._typing import F64
from uli_fast.players._base import Player


class OptimisticPlayer(Player):
    """Asks for the arm with the largest index."""

    widens: ClassVar[bool] = True
    learner: Any

    def _choose(self) -> int:
        if (self._asked == 0).any():
            return int((self._asked == 0).argmax())
        choose = self.learner.chooser(self._unit_noise)
        return int(choose(self._means(), self._asked, len(self._arms) + 1))

    def _means(self) -> F64:
        """Settled means; an arm without one borrows the best, which keeps it in play."""
        n, total = self._came(), self._state.total
        means: F64 = np.where(n > 0, total / np.maximum(n, 1), -np.inf)
        best = means.max() if (n > 0).any() else 0.0
        return np.where(n > 0, means, best)

    def _absorb(self, a: int, reward: float) -> None:
        self._count(a, reward)

    def _unit_intervals(self) -> tuple[F64, F64]:
        t, n = max(int(self._state.clock[0]), 1), self._state.n
        means = self._means()
        if self._lost.any():  # missing outcomes at their worst, both ways
            means = self._state.total / np.maximum(n, 1)
            most = means + self._lost / np.maximum(n, 1)
            bounds = [self.learner.unit_intervals(self._unit_noise, x, n, t) for x in (means, most)]
            return bounds[0][0], bounds[1][1]
        lower, upper = self.learner.unit_intervals(self._unit_noise, means, n, t)
        return lower, upper

    def _narrow(self) -> None:
        """Keep nothing: each interval holds at its own round, and not all of them at once."""
