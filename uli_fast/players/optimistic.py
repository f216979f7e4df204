"""Live UCB and lil'UCB: counts are those asked for, means those of the rewards that came."""

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
        from uli_fast.kernels import lil_ucb, ucb  # noqa: F401  (they give choose its rules)
        from uli_fast.kernels._optimism import choose

        if (self._asked == 0).any():
            return int((self._asked == 0).argmax())
        rule = self.learner.rule(self._unit_noise)
        return int(choose(rule, self._means(), self._asked, len(self._arms) + 1))

    def _means(self) -> F64:
        """Settled means; an arm without one borrows the best, which keeps it in play."""
        n, total = self._came(), self._state.total
        means: F64 = np.where(n > 0, total / np.maximum(n, 1), -np.inf)
        best = means.max() if (n > 0).any() else 0.0
        return np.where(n > 0, means, best)

    def _absorb(self, a: int, reward: float) -> None:
        self._count(a, reward)

    def _unit_intervals(self) -> tuple[F64, F64]:
        from uli_fast.kernels._optimism import radii

        t = max(int(self._state.clock[0]), 1)
        n = self._state.n
        width = radii(self.learner.rule(self._unit_noise), n, t)
        if not self._lost.any():
            return self._means() - width, self._means() + width
        mean, most = (x / np.maximum(n, 1) for x in (self._state.total, self._lost))
        return mean - width, mean + most + width

    def _narrow(self) -> None:
        """Keep nothing: each interval holds at its own round, and not all of them at once."""
