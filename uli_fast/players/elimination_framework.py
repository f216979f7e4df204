"""Live elimination framework: a user's rule on settled rewards."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from uli_fast._typing import F64
from uli_fast.players import _assumptions
from uli_fast.players._arms import Player


class FrameworkPlayer(Player):
    """Asks for the least played arm that the user's rule has kept."""

    learner: Any

    def _choose(self) -> int:
        from uli_fast.kernels.arms.state import least_played

        return int(least_played(self.asked, self.arm_state.active))

    def tell(self, id: int, reward: float) -> None:
        """Give the reward of a decision; a rule that fails leaves everything as it was."""
        with self._undone_if_it_fails(id):
            super().tell(id, reward)

    def tell_missing(self, id: int, reason: str) -> None:
        """Say that a reward will never come: it is left out, and the rule is not told."""
        with self._undone_if_it_fails(id):
            super().tell_missing(id, reason)

    @contextmanager
    def _undone_if_it_fails(self, id: int) -> Iterator[None]:
        before, settled = [array.copy() for array in self.arm_state], self.queue.settled
        omitted = self._omitted.copy()
        try:
            yield
        except Exception:
            if self.queue.settled != settled:  # the outcome was taken in and the rule failed
                self.queue.take_back(id - 1, settled)
                self._omitted[:] = omitted
                for array, old in zip(self.arm_state, before, strict=True):
                    array[:] = old
            raise

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        self.count(a, reward)
        self.learner.restrict(self.arm_state)

    def retraced(self, start: Any) -> None:
        """Add up the rewards again: a rule may do anything when it is asked twice."""
        self.recount()

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
