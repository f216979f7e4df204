"""UCB, the optimistic rival that comes back to every arm for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uli_fast.formulas.ucb import level_of
from uli_fast.learners._optimism import OptimisticLearner
from uli_fast.learners._parameters import noise, probability

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.players.ucb import UCBPlayer


@dataclass(frozen=True)
class UCB(OptimisticLearner):
    """Play the largest mean + 2R sqrt(log(2 t^2 / delta) / N); no F_ULI exists.

    The log t in the bonus makes it play every arm infinitely often.

    The classic rival. KLUCB is the sharper one.

    Parameters
    ----------
    delta
        Confidence parameter of the bonus.
    R
        Rewards are R-subgaussian, in reward units; None is half their declared range, which
        always holds. Where they have no range it must be given.

    Examples
    --------
    >>> import uli_fast as uli
    >>> problem = uli.BernoulliBandit([0.7, 0.5])
    >>> runs = uli.simulate(uli.UCB(), problem, horizon=10**9, seed=1)
    >>> print(runs.last_mistake()[0] > 10**8)  # it still comes back
    True
    """

    delta: float = probability(0.05)
    R: float | None = noise()

    why_no_guarantee = (
        "UCB plays every arm infinitely often (its bonus grows with log t), "
        "so no decreasing F_ULI holds"
    )

    def rule(self, R: float = 0.5) -> Any:
        """Return the bonus as kernels read it, for R on the learner's scale."""
        from uli_fast.kernels.ucb import UcbRule

        return UcbRule(level_of(self.delta), 2.0 * R)

    def _player(self, labels: Labels, low: float, high: float) -> UCBPlayer:
        from uli_fast.players.ucb import UCBPlayer

        return UCBPlayer(self, labels, low, high)
