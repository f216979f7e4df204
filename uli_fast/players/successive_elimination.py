"""Live successive elimination (SE-MAB)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64, I64
from uli_fast.players._arms import Player


class SuccessivePlayer(Player):
    """Asks for the survivors in turn; drops an arm when the settled rewards rule it out."""

    widens: ClassVar[bool] = True
    chooses_by: ClassVar[str] = "turns"

    def __init__(self, learner: Any, labels: Labels, low: float, high: float) -> None:
        from uli_fast.kernels.successive_elimination import Bounds

        super().__init__(learner, labels, low, high)
        K = len(labels)
        self.memory = Bounds(np.full(K, -np.inf), np.full(K, np.inf), np.zeros(2))

    def _choose(self) -> int:
        from uli_fast.kernels.arms.state import least_played

        return int(least_played(self.tally.asked, self.arm_state.active))

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        from uli_fast.kernels.successive_elimination import absorb

        total = float(self.arm_state.total[a]) + reward
        missing, about = int(self.tally.lost[a]), (self.learner.delta, self.unit_noise)
        absorb(self.arm_state, self.memory, self.tally.known, a, total, missing, *about)

    def absorb_rows(self, arms: I64, rewards: F64) -> bool:
        """Take in rewards of any arms, on the unit scale; say whether all came in turn."""
        from uli_fast.kernels.successive_elimination import absorb_rows

        about = (self.learner.delta, self.unit_noise)
        return bool(
            absorb_rows(self.arm_state, self.memory, self.tally.known, arms, rewards, *about)
        )

    def absorb_log(self, arms: I64, rewards: F64) -> int:
        """Take in rows of a log, on the unit scale, nan where missing, until an arm is dropped.

        Return how many rows that took.
        """
        from uli_fast.kernels.successive_elimination import absorb_log

        state, about = self.arm_state, (self.learner.delta, self.unit_noise)
        return int(
            absorb_log(state, self.memory, self.tally.known, self.tally.lost, arms, rewards, *about)
        )

    def _unit_intervals(self) -> tuple[F64, F64]:
        return self.memory.lower, self.memory.upper
