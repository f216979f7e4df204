"""lil'UCB, the optimistic rival without log t in its bonus."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uli_fast.learners._optimism import OptimisticLearner
from uli_fast.learners._parameters import noise, probability

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.players.lil_ucb import LilUCBPlayer


@dataclass(frozen=True)
class LilUCB(OptimisticLearner):
    """Play the largest mean + 2R sqrt((log log max(N, e) + log(6 / delta)) / N).

    On two arms with deterministic rewards it still plays the worse one at some
    round t with gap of order t^(-1/4) (Theorem LB_lilUCB): no near-optimal F_ULI. With
    a gap just below U(n) the round is as late as one likes: no F_ULI that falls to 0.

    The optimistic rival that settles in the end, late: on ISIS-2 after 3 10^10 rounds.

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
    >>> runs = uli.simulate(uli.LilUCB(), problem, horizon=10**12, replications=3, seed=1)
    >>> print(runs.last_mistake().min() > 10**4)
    True
    """

    delta: float = probability(0.05)
    R: float | None = noise()

    why_no_guarantee = (
        "no F_ULI that falls to 0 holds for lil'UCB: an arm whose gap is just below the bonus of "
        "n plays comes back as late as one likes (docs/open_questions.md)"
    )

    def rule(self, R: float = 0.5) -> Any:
        """Return the bonus as kernels read it, for R on the learner's scale."""
        from uli_fast.kernels.lil_ucb import LilRule

        return LilRule(math.log(6.0) - math.log(self.delta), 2.0 * R)

    def _player(self, labels: Labels, low: float, high: float) -> LilUCBPlayer:
        from uli_fast.players.lil_ucb import LilUCBPlayer

        return LilUCBPlayer(self, labels, low, high)
