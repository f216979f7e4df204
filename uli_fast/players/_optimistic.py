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
        if (self.tally.asked == 0).any():
            return int((self.tally.asked == 0).argmax())
        choose = self.learner.chooser(self.unit_noise)
        return int(choose(*self._settled(), self.tally.asked, len(self.queue) + 1))

    def _settled(self) -> tuple[F64, I64]:
        """Return sums and numbers of what came; an arm without borrows the best to stay in play."""
        n, total = self.came(), self.arm_state.total
        if not n.any():
            return total, np.ones_like(n)
        best = np.where(n > 0, total / np.maximum(n, 1), -np.inf).argmax()
        return np.where(n > 0, total, total[best]), np.where(n > 0, n, n[best])

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
        if not self.tally.lost.any():
            total, came = self._settled()
            return self._intervals_at(total / came, n, t)
        # Missing outcomes at their worst, both ways.
        means = self.arm_state.total / np.maximum(n, 1)
        most = means + self.tally.lost / np.maximum(n, 1)
        return self._intervals_at(means, n, t)[0], self._intervals_at(most, n, t)[1]

    def _narrow(self) -> None:
        """Keep nothing: each interval holds at its own round, and not all of them at once."""
