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
    from uli_fast._check import Labels
    from uli_fast.kernels._arms import Record
    from uli_fast.kernels._rewards import Law
    from uli_fast.players.optimistic import OptimisticPlayer
    from uli_fast.problems.arms import ArmBandit


class OptimisticLearner(ArmLearner):
    """Play the arm whose sample mean plus bonus is largest."""

    why_no_guarantee: str
    baseline: ClassVar[bool] = True

    def rule(self, R: float = 0.5) -> Any:
        """Return the bonus as kernels read it, for R on the learner's scale."""
        raise NotImplementedError

    def guarantee(self, about: Any) -> Guarantee:
        """Raise NoGuaranteeError: optimism has no near-optimal F_ULI."""
        raise NoGuaranteeError(self.why_no_guarantee)

    def begin(
        self, problem: ArmBandit, law: Law, record: Record, engine: str, horizon: int
    ) -> ArmRun:
        """Allocate one replication."""
        from uli_fast.kernels import _leads, _optimism
        from uli_fast.kernels._rewards import RealLaw

        state, rule = new_state(law), self.rule(self.noise_on(problem))
        play: Any = _optimism.play_rounds
        if engine == "skip":
            play = _leads.play_skipping if isinstance(law, RealLaw) else _leads.play_lines

        def advance(budget: int) -> bool:
            return bool(play(rule, law, state, record, horizon, budget))

        return ArmRun(state, advance)

    def chooser(self, R: float) -> Callable[[F64, I64, int], int]:
        """Return what chooses an arm from means, counts and the round (the live step)."""
        from uli_fast.kernels import lil_ucb, ucb  # noqa: F401  (they give choose its rules)
        from uli_fast.kernels._optimism import choose

        return partial(choose, self.rule(R))

    def unit_intervals(self, R: float, means: F64, n: I64, t: int) -> tuple[F64, F64]:
        """Return the means less and plus their bonus at round t."""
        from uli_fast.kernels import lil_ucb, ucb  # noqa: F401  (they give radii its rules)
        from uli_fast.kernels._optimism import radii

        width = radii(self.rule(R), n, t)
        return means - width, means + width

    def _player(self, labels: Labels, low: float, high: float) -> OptimisticPlayer:
        from uli_fast.players.optimistic import OptimisticPlayer

        return OptimisticPlayer(self, labels, low, high)
