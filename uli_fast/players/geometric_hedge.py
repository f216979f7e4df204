"""Live geometric hedge on linear arms, tuned to its horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uli_fast.players._adversarial import TunedPlayer

if TYPE_CHECKING:
    from uli_fast.learners.geometric_hedge import GeometricHedge


class HedgePlayer(TunedPlayer):
    """Draws arms by exponential weights on linear estimates, mixed with a design."""

    learner: GeometricHedge
