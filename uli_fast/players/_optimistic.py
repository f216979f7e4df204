"""What live optimistic players share: counts are those asked for, means those of what came."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.players._arms import Player


class OptimisticPlayer(Player):
    """Asks for the arm with the largest index."""

    widens: ClassVar[bool] = True
    chooses_by: ClassVar[str] = "index"
    learner: Any

    def _choose(self) -> int:
        if (self.asked == 0).any():
            return int((self.asked == 0).argmax())
        choose = self.learner.chooser(self.unit_noise)
        return int(choose(self._means(), self.asked, len(self.queue) + 1))

    def _means(self) -> F64:
        """Settled means; an arm without one borrows the best, which keeps it in play."""
        n, total = self.came(), self.arm_state.total
        means: F64 = np.where(n > 0, total / np.maximum(n, 1), -np.inf)
        best = means.max() if (n > 0).any() else 0.0
        return np.where(n > 0, means, best)

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        self.count(a, reward)

    def _intervals_at(self, means: F64, n: I64, t: int) -> tuple[F64, F64]:
        """Return the means less and plus their bonus at round t."""
        from uli_fast.kernels.arms.optimism import radii

        width = radii(self.learner.rule(self.unit_noise), n, t)
        return means - width, means + width

    def _unit_intervals(self) -> tuple[F64, F64]:
        t, n = max(int(self.arm_state.clock[0]), 1), self.arm_state.n
        if not self._lost.any():
            return self._intervals_at(self._means(), n, t)
        # Missing outcomes at their worst, both ways.
        means = self.arm_state.total / np.maximum(n, 1)
        most = means + self._lost / np.maximum(n, 1)
        return self._intervals_at(means, n, t)[0], self._intervals_at(most, n, t)[1]

    def _narrow(self) -> None:
        """Keep nothing: each interval holds at its own round, and not all of them at once."""
