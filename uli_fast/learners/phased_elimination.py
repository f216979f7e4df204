"""Phased elimination (PE-MAB)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast._typing import Form
from uli_fast.errors import NoGuaranteeError
from uli_fast.formulas.phased_elimination import phase_size, quota
from uli_fast.guarantees import Guarantee, formula
from uli_fast.learners._arms import ArmBatch, ArmLearner, new_states
from uli_fast.learners._parameters import noise, probability
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.kernels.arms.state import RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.phased_elimination import PhasedPlayer


@dataclass(frozen=True)
class PhasedElimination(ArmLearner):
    """Play every survivor equally often in phases; drop what lags at a phase's end.

    With probability 1 - delta every round's gap is at most 4 2^-l, l being its phase when no
    arm is ever dropped; for rewards in [0, 1] that is below the paper's
    sqrt(256 K log(4 K log2(t+1)^2 / delta) / (3 t)).

    The paper's PE-MAB. It decides at few times that are known beforehand: for a committee that
    meets a handful of times.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    R
        Rewards are R-subgaussian, in reward units; None is half their declared range, which
        always holds. Where they have no range it must be given.

    Examples
    --------
    >>> import uli_fast as uli
    >>> learner = uli.PhasedElimination(delta=0.05)
    >>> learner.guarantee(4).rounds_until(0.1)
    96300
    >>> runs = uli.simulate(learner, uli.BernoulliBandit([0.7, 0.5]), 10**6, seed=1)
    >>> print(len(runs.phases[0]), runs.plays[0, -1].argmax())  # phases, the arm played most
    8 0
    """

    delta: float = probability(0.05)
    R: float | None = noise()
    has_event: ClassVar[bool] = True
    reads_logs: ClassVar[Mapping[str, str]] = {"any": "queues", "randomized": "queues"}

    def guarantee(self, about: Any, form: Form = "schedule") -> Guarantee:
        """Return the promise F, before anything is played.

        Parameters
        ----------
        about
            A problem, or a number of arms with rewards in [0, 1].
        form
            "schedule" is read off the schedule itself; "paper" is the paper's closed form.

        Returns
        -------
        Guarantee
            With ``bound(t)``, ``rounds_until(eps)`` and ``regret(T)``, in reward units.

        Raises
        ------
        NoGuaranteeError
            Nothing is proved for this case.
        """
        on = self.on(about)
        arms, R = on.subgaussian_arms, on.R
        if arms.largest_gap > 2.0:
            raise NoGuaranteeError(
                f"gaps up to {arms.largest_gap:g} exceed 2, the first phase's resolution; "
                "rescale the rewards"
            )
        if phase_size(1, arms.K, self.delta, R) < 1.0:
            raise NoGuaranteeError(f"R = {self.R:g} makes the first phase shorter than one play")
        parameters = {"K": arms.K, "R": R, "largest_gap": arms.largest_gap}
        return Guarantee(formula("PE-MAB", form), self.delta, parameters, arms.scale)

    def begin(
        self, on: ArmSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        from uli_fast.kernels import phased_elimination as kernel

        states = new_states(law)
        starts = kernel.PhaseStart(states.n.copy(), states.total.copy(), np.zeros_like(states.n))
        play = kernel.batch_skipping if engine == "skip" else kernel.batch_rounds
        args = (law, states, record, starts, self.delta, on.R, horizon)
        return ArmBatch(states, lambda budget: play(*args, budget))

    def quotas(self, about: Any, horizon: int) -> list[int]:
        """Return the plays per arm m_1, m_2, ... of every phase that can begin by the horizon."""
        on, result = self.on(about), list[int]()
        while sum(result) < horizon:
            result.append(quota(len(result) + 1, on.K, self.delta, on.R))
        return result

    def _player(self, labels: Labels, low: float, high: float) -> PhasedPlayer:
        from uli_fast.players.phased_elimination import PhasedPlayer

        return PhasedPlayer(self, labels, low, high)
