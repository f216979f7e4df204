"""Live meta-algorithm: a base in phases, and what its estimates show to be worse is dropped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from uli_fast._typing import F64
from uli_fast.learners._adversarial.bases import checked_estimates
from uli_fast.learners._adversarial.phases import eliminate
from uli_fast.players._adversarial import AdversarialPlayer

if TYPE_CHECKING:
    from uli_fast.learners._adversarial.bases import BasePhase
    from uli_fast.learners.meta_elimination import MetaElimination


class MetaPlayer(AdversarialPlayer):
    """Draws from a fresh base in every phase; eliminates at its end."""

    learner: MetaElimination

    def _close(self, base: BasePhase) -> None:
        """Drop what the estimates of a phase show to be worse, and open the next."""
        estimates = checked_estimates(base, self._arms_now.size)
        least = self.memory.least
        least[0] = min(least[0], self._survivors_gap(estimates))
        eliminate(self.arm_state, estimates, self._plan.threshold)
        self.arm_state.clock[1] += 1
        self._open()

    def _survivors_gap(self, estimates: F64) -> float:
        """Bound the gaps of what this phase leaves, on the unit scale."""
        scale = self._losses.scale * self._plan.scale / self.scale
        return self.learner.survivors_gap(self._plan, estimates) * scale

    def _unit_gap_bound(self) -> float:
        # G(m) = 2^(-(m - 1) / 2) for the survivors of phase m - 1, in units of loss.
        if self.phase == 1:
            return math.inf
        scale = self._losses.scale * self._schedule(self.phase - 1).scale
        return min(
            float(self.memory.least[0]),
            float(2.0 ** (-(self.phase - 1) / 2.0) * scale / self.scale),
        )
