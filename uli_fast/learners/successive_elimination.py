"""Successive elimination (SE-MAB)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast._typing import Form
from uli_fast.guarantees import Guarantee, describe_arms, formula
from uli_fast.learners._arms import ArmLearner, ArmRun, new_state, new_watch

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.kernels.arms.state import RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players.successive_elimination import SuccessivePlayer
    from uli_fast.problems.arms import ArmBandit

FARTHEST = 1e5


@dataclass(frozen=True)
class SuccessiveElimination(ArmLearner):
    """Play the survivors in turn; drop an arm once another is surely better.

    With probability 1 - delta every round's gap is at most 4 wd(floor((t - 1) / K)), where
    wd(n) = R sqrt(2 log(4 K n^2 / delta) / n) and R = 1/2 for rewards in [0, 1]; the paper's
    closed form is sqrt(14 K log(4 K t^2 / delta) / t).

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    R
        Rewards are R-subgaussian, in reward units; None is half their declared range, which
        always holds. Where they have no range it must be given.
    """

    delta: float = 0.05
    R: float | None = None
    has_event: ClassVar[bool] = True
    reads_logs: ClassVar[Mapping[str, str]] = {"any": "rows", "randomized": "rows"}

    def __post_init__(self) -> None:
        self._check_parameters()

    def guarantee(self, about: Any, form: Form = "schedule") -> Guarantee:
        """Return F_ULI for a problem or a number of arms; form "paper" is the closed form."""
        arms, R = describe_arms(about, self.R)
        parameters = {"K": arms.K, "R": R, "largest_gap": arms.largest_gap}
        return Guarantee(formula("SE-MAB", form), self.delta, parameters, arms.scale)

    def knows_event(self, problem: ArmBandit, engine: str) -> bool:
        """Return whether a run knows if all intervals held: not where sums of blocks are rounded.

        The rounding of sums far from 0 grows with n, an interval's share of a sum with sqrt(n):
        from means of FARTHEST R on they meet before 10^18 plays.
        """
        free = problem.low is None and engine == "skip"
        return not free or float(np.abs(problem.means).max()) <= FARTHEST * self.noise_on(problem)

    def begin(
        self, problem: ArmBandit, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmRun:
        """Allocate one replication."""
        from uli_fast.kernels import successive_elimination as kernel

        state, after = new_state(law), (self.delta, self.noise_on(problem), horizon)
        if engine == "rounds":
            return ArmRun(state, lambda left: kernel.play_rounds(law, state, record, *after, left))
        watch, play = new_watch(law), kernel.play_skipping
        state.broken[0] = not self.knows_event(problem, engine)  # then nothing is watched

        def advance(left: int) -> bool:
            done = play(law, state, record, watch, *after, left)
            if watch.words[1]:
                from uli_fast.kernels.arms.event import some_leave

                state.broken[0] |= some_leave(watch, law.mu, *after[:2])
            return done

        return ArmRun(state, advance)

    def _player(self, labels: Labels, low: float, high: float) -> SuccessivePlayer:
        from uli_fast.players.successive_elimination import SuccessivePlayer

        return SuccessivePlayer(self, labels, low, high)
