"""Successive elimination (SE-MAB)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast._typing import Form
from uli_fast.guarantees import Guarantee, describe_arms, formula
from uli_fast.learners._arms import ArmBatch, ArmLearner, indexed, new_states

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.kernels.arms.event import EventWatch
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
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
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        from uli_fast.kernels import successive_elimination as kernel

        states, after = new_states(law), (self.delta, self.noise_on(problem), horizon)
        M, K = states.n.shape
        ends = np.full((M, K), -np.inf), np.full((M, K), np.inf)
        bounds = kernel.Bounds(*ends, np.zeros((M, 2)))
        room = kernel.Room(np.zeros(K, np.int64), np.zeros(K), np.zeros(K, np.int64))
        if engine == "rounds":
            args = (law, states, record, bounds, room, *after)
            return ArmBatch(states, lambda left: kernel.batch_rounds(*args, left))
        from uli_fast.kernels.arms.successive_skip import batch_skipping

        watches = new_watches(law, states)
        states.broken[:] = not self.knows_event(problem, engine)  # then nothing is watched

        def advance(left: int) -> bool:
            done = batch_skipping(law, states, record, bounds, room, watches, *after, left)
            for r in np.flatnonzero(watches.words[:, 1]):
                from uli_fast.kernels.arms.event import some_leave

                states.broken[r] |= some_leave(indexed(watches, r), law.mu, *after[:2])
            return done

        return ArmBatch(states, advance)

    def _player(self, labels: Labels, low: float, high: float) -> SuccessivePlayer:
        from uli_fast.players.successive_elimination import SuccessivePlayer

        return SuccessivePlayer(self, labels, low, high)


def new_watches(law: Law, states: ArmState) -> EventWatch:
    """Allocate what runs need to know whether their events held in blocks, from the same seed."""
    from uli_fast.kernels.arms.event import MOST_ALONE, EventWatch

    M = len(law.words)
    rows = max(law.mu.size, MOST_ALONE)  # a block of each arm, or all blocks of one
    words = np.zeros((M, 2 + rows), np.uint64)
    words[:, 0] = law.words[:, 0] ^ law.words[:, 2]
    counts, sums = np.empty((M, rows, 4), np.int64), np.empty((M, rows, 3))
    return EventWatch(words, counts, sums, np.zeros_like(states.total))
