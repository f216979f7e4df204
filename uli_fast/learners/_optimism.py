"""What optimistic learners share: no elimination, no guarantee, indices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.errors import NoGuaranteeError
from uli_fast.guarantees import Guarantee
from uli_fast.learners._arms import ArmBatch, ArmLearner, new_states
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.rewards.laws import Law


# In lanes.
MOST_ARMS = 32


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
        self, on: ArmSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        from uli_fast.kernels.arms import optimism, optimistic_skip
        from uli_fast.kernels.rewards.laws import RealLaw

        states, rule = new_states(law), self.rule(on.R)
        play: Any = optimism.batch_rounds
        if engine == "skip":
            real = isinstance(law, RealLaw)
            play = optimistic_skip.batch_skipping if real else optimistic_skip.batch_lines
        indices = optimism.Indices(*np.zeros((3, on.K)))
        args = (rule, law, states, indices, record, horizon)
        early = Early(rule, law, states, record, horizon) if goes_in_lanes(law) else None

        def advance(budget: int) -> bool:
            left = budget if early is None else early.play(budget)
            return bool(play(*args, left))

        return ArmBatch(states, advance)

    def chooser(self, R: float) -> Callable[[F64, I64, I64, int], int]:
        """Return the live step: from sums, rewards that came, plays and the round to an arm."""
        from uli_fast.kernels.arms.optimism import choose

        return partial(choose, self.rule(R))


def goes_in_lanes(law: Law) -> bool:
    """Return whether rewards are coins, none of them known beforehand, of not too many arms.

    A lane looks at every arm in every round; one replication alone need not.
    """
    from uli_fast.kernels.rewards.laws import RealLaw

    known = getattr(law, "prefix", None)
    coins = not isinstance(law, RealLaw) and (known is None or known.shape[1] <= 1)
    return coins and 1 < law.mu.size <= MOST_ARMS


class Early:
    """The first rounds, replications side by side."""

    def __init__(
        self, rule: Any, law: Law, states: ArmState, record: RoundRecord, horizon: int
    ) -> None:
        from uli_fast.kernels.arms import optimistic_lanes as kernel

        self.play_early, self.end = kernel.play_early, min(horizon, kernel.EARLY)
        shape = (law.mu.size, kernel.LANES)
        lanes = kernel.CoinLanes(
            n=np.zeros(shape, np.int64),
            total=np.zeros(shape),
            last=np.zeros(shape, np.int64),
            value=np.zeros(shape),
            bonus=np.zeros(shape),
            words=np.zeros((4, kernel.LANES), np.uint64),
            bits=np.zeros(kernel.LANES, np.uint64),
            best=np.zeros(kernel.LANES),
            arm=np.zeros(kernel.LANES),
        )
        tables = kernel.BonusTables(np.zeros(self.end + 1), np.zeros(self.end + 1))
        kernel.fill_tables(rule, tables)
        self.args = (law.mu, law.words, states, record, lanes, tables)

    def play(self, budget: int) -> int:
        """Play on up to the last early round; return what is left of the budget."""
        return int(self.play_early(*self.args, self.end, budget))
