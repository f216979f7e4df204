"""Live lil'UCB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uli_fast.players._optimistic import OptimisticPlayer

if TYPE_CHECKING:
    from uli_fast.learners.lil_ucb import LilUCB


class LilUCBPlayer(OptimisticPlayer):
    """Asks for the arm with the largest mean plus bonus; the bonus does not depend on t."""

    learner: LilUCB
