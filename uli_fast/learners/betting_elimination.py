"""Elimination by betting: the guarantee at a price near that of KL-UCB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import Form
from uli_fast.errors import ArgumentError
from uli_fast.guarantees import FORMS, Guarantee
from uli_fast.guarantees.betting_plan import Planned, plan
from uli_fast.learners._arms import ArmBatch, ArmLearner, new_states
from uli_fast.learners._betting import CoinRuns, new_bets, new_books
from uli_fast.learners._parameters import noise, probability, whole
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.betting_elimination import BettingPlayer

# Of the leader in a sweep: more would only delay the guarantee.
MOST_PLAYS = 1000


@dataclass(frozen=True)
class BettingElimination(ArmLearner):
    """Play the survivors in turn, the leader more often; drop an arm once a bet on it fails.

    With probability 1 - delta the best arm is never dropped, and every round's gap is at most
    2 c(n) / n after n sweeps, with c(n) of order sqrt(n log(K / delta)). It adapts to the
    variance: rates near 0 or 1 are told apart sooner.

    The learner to start with on K arms: among those with a guarantee it drops worse arms soonest.
    Its proof is in docs/proofs.md.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail: nine tenths of it for what is played,
        one tenth for the intervals of a live player.
    leader
        How often the arm that leads is played in a sweep. 1 treats all arms alike; larger
        values lower the regret and delay the guarantee.
    R
        Rewards are R-subgaussian, in reward units; None is half their declared range, which
        always holds. Where they have no range it must be given.

    Examples
    --------
    >>> import uli_fast as uli
    >>> learner = uli.BettingElimination(delta=0.05)
    >>> learner.guarantee(4).rounds_until(0.1)  # every later decision is within 0.1 of the best
    12705
    >>> trial = uli.datasets.load("isis2")
    >>> runs = uli.simulate(learner, trial, horizon=10**9, replications=20, seed=1)
    >>> runs.coverage().failures  # of 20 runs, each checked at all 10^9 rounds
    0
    >>> print(runs.last_mistake().max() < 10**5)  # the last round with a worse arm
    True
    >>> player = learner.start(["placebo", "drug"])
    >>> player.ask().arm
    'placebo'
    """

    delta: float = probability(0.05)
    leader: int = whole(2, most=MOST_PLAYS)
    R: float | None = noise()
    has_event: ClassVar[bool] = True
    reads_logs: ClassVar[Mapping[str, str]] = {"any": "queues", "randomized": "blocks"}

    def guarantee(self, about: Any, form: Form = "schedule") -> Guarantee:
        """Return the promise F, before anything is played.

        Parameters
        ----------
        about
            A problem, or a number of arms with rewards in [0, 1].
        form
            Only "schedule": there is no closed form.

        Returns
        -------
        Guarantee
            With ``bound(t)``, ``rounds_until(eps)`` and ``regret(T)``, in reward units.

        Raises
        ------
        NoGuaranteeError
            Nothing is proved for this case.
        """
        if form != "schedule":
            _check.one_of("form", form, FORMS)
            raise ArgumentError(
                "form", "can only be 'schedule': BettingElimination is not from the paper"
            )
        on = self.on(about)
        arms = on.subgaussian_arms
        parameters = {
            "K": arms.K,
            "R": on.R,
            "leader": self.leader,
            "bounded": int(arms.low is not None),
            "largest_gap": arms.largest_gap,
        }
        return Guarantee("BET", self.delta, parameters, arms.scale)

    def planned(self, about: Any, best_mean: float) -> Planned:
        """Return when arms are dropped *if* the best mean is this one, in reward units.

        For planning only: nothing is certified by it, and the learner does not use it.

        Parameters
        ----------
        about
            A problem, or a number of arms with rewards in [0, 1].
        best_mean
            What you expect the best mean to be.

        Returns
        -------
        Planned
            With ``rounds_until(eps)`` and ``bound(t)``, and what they assume.
        """
        return plan(about, best_mean, self.leader, self.R, self.guarantee(about))

    def begin(
        self, on: ArmSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        from uli_fast.kernels.rewards.laws import RealLaw

        states, K = new_states(law), on.arms.K
        bets = new_bets(K, self.delta, on.R, self.leader, on.arms.low is not None)

        def by_logs(law: Law, states: ArmState, record: RoundRecord) -> Callable[[int], bool]:
            from uli_fast.kernels import betting_elimination as kernel

            order = np.zeros(K + self.leader, np.int64)
            starts = kernel.BlockStart(states.n.copy(), states.total.copy(), order)
            books = new_books(K, bets, len(law.words))
            play = kernel.batch_rounds if engine == "rounds" else kernel.batch_skipping
            args = (law, states, record, starts, books, bets, horizon)
            return lambda budget: play(*args, budget)

        if isinstance(law, RealLaw):
            return ArmBatch(states, by_logs(law, states, record))
        return ArmBatch(states, CoinRuns(law, states, record, bets, horizon, by_logs).advance)

    def _player(self, labels: Labels, low: float, high: float) -> BettingPlayer:
        from uli_fast.players.betting_elimination import BettingPlayer

        return BettingPlayer(self, labels, low, high)
