"""Live UCB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uli_fast.players._optimistic import OptimisticPlayer

if TYPE_CHECKING:
    from uli_fast.learners.ucb import UCB


class UCBPlayer(OptimisticPlayer):
    """Asks for the arm with the largest mean plus bonus; the bonus grows with log t."""

    learner: UCB
