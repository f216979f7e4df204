"""Live elimination framework: a user's rule on settled rewards."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from uli_fast._typing import F64
from uli_fast.players import _assumptions
from uli_fast.players._base import Player


class FrameworkPlayer(Player):
    """Asks for the least played arm that the user's rule has kept."""

    learner: Any

    def _choose(self) -> int:
        from uli_fast.kernels._arms import least_played

        return int(least_played(self._asked, self._state.active))

    def tell(self, id: int, reward: float) -> None:
        """Give the reward of a decision; a rule that fails leaves everything as it was."""
        with self._undone_if_it_fails(id):
            super().tell(id, reward)

    def tell_missing(self, id: int, reason: str) -> None:
        """Say that a reward will never come: a rule knows nothing of it, it is left out."""
        with self._undone_if_it_fails(id):
            super().tell_missing(id, reason)

    @contextmanager
    def _undone_if_it_fails(self, id: int) -> Iterator[None]:
        before, settled = [array.copy() for array in self._state], self._settled
        omitted = self._omitted.copy()
        try:
            yield
        except Exception:
            if self._settled != settled:  # the outcome was taken in and the rule failed
                self._rewards[id - 1], self._settled = None, settled
                self._missing.pop(id - 1, None)
                self._omitted[:] = omitted
                for array, old in zip(self._state, before, strict=True):
                    array[:] = old
            raise

    def _absorb(self, a: int, reward: float) -> None:
        self._count(a, reward)
        self.learner.restrict(self._state)

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
