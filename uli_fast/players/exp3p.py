"""Live Exp3.P, tuned to its horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uli_fast.players._adversarial import TunedPlayer

if TYPE_CHECKING:
    from uli_fast.learners.exp3p import Exp3P


class Exp3PPlayer(TunedPlayer):
    """Draws arms by exponential weights."""

    learner: Exp3P
