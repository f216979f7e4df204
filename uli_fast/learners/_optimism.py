"""What optimistic learners share: no elimination, no guarantee, indices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from uli_fast._typing import F64, I64
from uli_fast.errors import NoGuaranteeError
from uli_fast.guarantees import Guarantee
from uli_fast.learners._arms import ArmLearner, ArmRun, new_state

if TYPE_CHECKING:
    from uli_fast.kernels.arms.state import RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.problems.arms import ArmBandit


class OptimisticLearner(ArmLearner):
    """Play the arm whose sample mean plus bonus is largest."""

    why_no_guarantee: str
    baseline: ClassVar[bool] = True
    returns: ClassVar[bool] = True

    def rule(self, R: float = 0.5) -> Any:
        """Return the bonus as kernels read it, for R on the learner's scale."""
        raise NotImplementedError

    def guarantee(self, about: Any) -> Guarantee:
        """Raise NoGuaranteeError: optimism has no near-optimal F_ULI."""
        raise NoGuaranteeError(self.why_no_guarantee)

    def begin(
        self, problem: ArmBandit, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmRun:
        """Allocate one replication."""
        from uli_fast.kernels.arms import optimism, optimistic_skip
        from uli_fast.kernels.rewards.laws import RealLaw

        state, rule = new_state(law), self.rule(self.noise_on(problem))
        play: Any = optimism.play_rounds
        if engine == "skip":
            play = (
                optimistic_skip.play_skipping
                if isinstance(law, RealLaw)
                else optimistic_skip.play_lines
            )

        def advance(budget: int) -> bool:
            return bool(play(rule, law, state, record, horizon, budget))

        return ArmRun(state, advance)

    def chooser(self, R: float) -> Callable[[F64, I64, int], int]:
        """Return what chooses an arm from means, counts and the round (the live step)."""
        from uli_fast.kernels.arms.optimism import choose

        return partial(choose, self.rule(R))
