"""Live SCRiBLe on linear arms, tuned to its horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uli_fast.players._adversarial import TunedPlayer

if TYPE_CHECKING:
    from uli_fast.learners.scrible import Scrible


class ScriblePlayer(TunedPlayer):
    """Draws around a point of the hull of the arms; needs each reward before the next draw."""

    learner: Scrible
