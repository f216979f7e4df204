"""Live elimination framework: a user's rule on settled rewards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from uli_fast._typing import F64
from uli_fast.players import _assumptions
from uli_fast.players._arms import Player


class FrameworkPlayer(Player):
    """Asks for the least played arm that the user's rule has kept."""

    learner: Any
    repeats = False

    def _choose(self) -> int:
        from uli_fast.kernels.arms.state import least_played

        return int(least_played(self.tally.asked, self.arm_state.active))

    def tell(self, id: int, reward: float) -> None:
        """Give the reward of a decision; a rule that fails leaves everything as it was."""
        with self._undone_if_it_fails(id):
            super().tell(id, reward)

    def tell_missing(self, id: int, reason: str) -> None:
        """Say that a reward will never come: it is left out, and the rule is not told."""
        with self._undone_if_it_fails(id):
            super().tell_missing(id, reason)

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        self.count(a, reward)
        self.learner.restrict(self.arm_state)

    def _unit_intervals(self) -> tuple[F64, F64]:
        # A rule says which arms stay, not how well they are known.
        unknown = np.full(len(self.labels), math.inf)
        return -unknown, unknown

    def _unit_gap_bound(self) -> float:
        # All that is claimed is beta f(delta, t), and at its own round: an f that is 0 at
        # round 1, or where it starts, must not be held against the rounds that follow.
        return math.inf

    def _assumes(self, proved: bool) -> tuple[str, ...]:
        return (*super()._assumes(proved), _assumptions.CLAIMED_RULE)
