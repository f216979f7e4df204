"""KL-UCB, the optimistic rival whose index knows the variance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.formulas.ucb import level_at, level_of
from uli_fast.learners._arms import ArmBatch, new_states
from uli_fast.learners._optimism import OptimisticLearner
from uli_fast.learners._parameters import noise, probability
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.kernels.arms.state import RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.kl_ucb import KLUCBPlayer


@dataclass(frozen=True)
class KLUCB(OptimisticLearner):
    """Play the largest q with N kl(mean, q) <= log t (Garivier and Cappe, 2011, with c = 0).

    With rewards in a range kl is that of coins, which is valid for all of them and sharp for
    rewards 0 and 1. Its regret grows with log t at the best possible rate (Lai and Robbins),
    for ever: it comes back to every arm, so that it has no F_ULI.

    With ThompsonSampling the rival to beat: no other has less regret in the first 10^6 rounds.
    Take it where only the sum over a short horizon counts.

    Parameters
    ----------
    delta
        Confidence of a live player's intervals. Decisions do not depend on it: it is not in log t.
    R
        None: kl of coins, for rewards in a declared range. Given, in reward units: rewards are
        R-subgaussian and kl(x, y) = (x - y)^2 / (2 R^2). Needed where they have no range.

    Examples
    --------
    >>> import uli_fast as uli
    >>> runs = uli.simulate(uli.KLUCB(), uli.BernoulliBandit([0.7, 0.5]), 10**6, seed=1)
    >>> print(runs.final_regret()[0] < 100, runs.last_mistake()[0] > 10**5)
    True True
    """

    delta: float = probability(0.05)
    R: float | None = noise()

    why_no_guarantee = (
        "no F_ULI holds for KL-UCB: log t grows, so that every worse arm comes back for ever"
    )

    def rule(self, R: float = 0.5) -> Any:
        """Return the bonus R sqrt(2 log t / N) of Gaussian kl, for R on the learner's scale."""
        from uli_fast.kernels.ucb import UcbRule

        return UcbRule(0.0, R)

    def begin(
        self, on: ArmSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        if self.R is not None:
            return super().begin(on, law, record, engine, horizon)
        from uli_fast.kernels import kl_ucb
        from uli_fast.kernels.rewards.laws import RealLaw

        states = new_states(law)
        play: Any = kl_ucb.batch_rounds
        if engine == "skip":
            play = kl_ucb.batch_skipping if isinstance(law, RealLaw) else kl_ucb.batch_lines
        ix = kl_ucb.KlIndices(*np.zeros((6, on.K)))
        return ArmBatch(states, lambda budget: play(law, states, ix, record, horizon, budget))

    def chooser(self, R: float) -> Callable[[F64, I64, I64, int], int]:
        """Return what chooses an arm from sums of rewards that came, plays and the round."""
        if self.R is not None:
            return super().chooser(R)
        from uli_fast.kernels.kl_ucb import choose

        return choose

    def _player(self, labels: Labels, low: float, high: float) -> KLUCBPlayer:
        from uli_fast.players.kl_ucb import KLUCBPlayer

        return KLUCBPlayer(self, labels, low, high)


def kl_intervals(learner: Any, R: float, means: F64, n: I64, t: int) -> tuple[F64, F64]:
    """Return where N kl(mean, q) <= log(2 t^2 / delta), on the unit scale.

    By Chernoff's bound an interval of n plays misses its mean with probability at most
    delta / t^2, and n is one of at most t numbers: that of an arm fails at round t with
    probability at most delta / t, whatever chose the plays.
    """
    level = float(level_at(t, level_of(learner.delta)))
    if learner.R is not None:
        with np.errstate(divide="ignore"):
            width: F64 = R * np.sqrt(2.0 * level / n)
        return means - width, means + width
    from uli_fast.kernels.kl_ucb import interval

    lower, upper = np.empty(means.size), np.empty(means.size)
    interval(means, n, level, lower, upper)
    return lower, upper
