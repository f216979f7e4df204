"""Live successive elimination (SE-MAB)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64
from uli_fast.players._base import Player


class SuccessivePlayer(Player):
    """Asks for the survivors in turn; drops an arm when the settled rewards rule it out."""

    widens: ClassVar[bool] = True

    def __init__(self, learner: Any, labels: Labels, low: float, high: float) -> None:
        from uli_fast.kernels.successive_elimination import Bounds

        super().__init__(learner, labels, low, high)
        K = len(labels)
        self._bounds = Bounds(np.full(K, -np.inf), np.full(K, np.inf), np.zeros(2))

    def _choose(self) -> int:
        from uli_fast.kernels._arms import least_played

        return int(least_played(self._asked, self._state.active))

    def _absorb(self, a: int, reward: float) -> None:
        from uli_fast.kernels.successive_elimination import absorb

        total = float(self._state.total[a]) + reward
        missing, about = int(self._lost[a]), (self.learner.delta, self._unit_noise)
        absorb(self._state, self._bounds, self._known, a, total, missing, *about)

    def _unit_intervals(self) -> tuple[F64, F64]:
        return self._bounds.lower, self._bounds.upper

    def _load_extra(self, extra: Mapping[str, Any]) -> None:
        from uli_fast.kernels.successive_elimination import fill_bounds

        fill_bounds(self._state, self._bounds, self.learner.delta, self._unit_noise)
        self._bounds.upper[:] += self._lost / np.maximum(self._state.n, 1)
