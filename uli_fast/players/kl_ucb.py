"""Live KL-UCB: an index and intervals that know the variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uli_fast._typing import F64, I64
from uli_fast.learners.kl_ucb import kl_intervals
from uli_fast.players._optimistic import OptimisticPlayer

if TYPE_CHECKING:
    from uli_fast.learners.kl_ucb import KLUCB


class KLUCBPlayer(OptimisticPlayer):
    """Asks for the arm with the largest q that its rewards do not rule out."""

    learner: KLUCB

    def _intervals_at(self, means: F64, n: I64, t: int) -> tuple[F64, F64]:
        """Return where N kl(mean, q) <= log(2 t^2 / delta), on the unit scale."""
        return kl_intervals(self.learner, self.unit_noise, means, n, t)
