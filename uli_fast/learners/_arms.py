"""What the finite-armed learners share: engines, allocation, live players."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, U64
from uli_fast.learners._base import Learner

if TYPE_CHECKING:
    from uli_fast._check import Bounds, Labels
    from uli_fast.kernels.arms.event import EventWatch
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.learners._sets import BlockLog
    from uli_fast.players._arms import Player
    from uli_fast.problems.arms import ArmBandit


@dataclass
class ArmRun:
    """One replication in progress."""

    state: ArmState
    # Plays on for about ``budget`` steps and says whether the horizon is reached.
    advance: Callable[[int], bool]
    # sup over t of gap / F, where a user's F has to be followed round by round.
    worst_ratio: F64 | None = field(default=None)
    # The blocks of rounds in which one arm is played, where phases have them.
    log: BlockLog | None = field(default=None)


class ArmLearner(Learner):
    """A learner on K arms; subclasses are frozen dataclasses."""

    R: float | None
    # Whether a run knows if all its confidence intervals held (the nice event).
    has_event: ClassVar[bool] = False

    def begin(
        self, problem: ArmBandit, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmRun:
        """Allocate one replication."""
        raise NotImplementedError

    def check(self, problem: ArmBandit, horizon: int) -> None:
        """Refuse a problem or a horizon that this learner cannot play."""
        self.noise_on(problem)

    def knows_event(self, problem: ArmBandit, engine: str) -> bool:
        """Return whether runs know if all confidence intervals held."""
        return self.has_event

    def noise_on(self, problem: ArmBandit) -> float:
        """Return R on the learner's scale, refusing a problem for which it must be given."""
        own = problem.subgaussian * problem.scale
        return _check.unit_noise(self.R, (problem.low, problem.high), own)

    def lanes_for(self, problem: ArmBandit) -> int:
        """Return how many replications ``begin_lanes`` plays at once, 1 if it cannot."""
        return 1

    def begin_lanes(
        self, problem: ArmBandit, words: U64, records: list[RoundRecord], horizon: int
    ) -> list[ArmRun]:
        """Allocate replications that advance together, each from its own generator state."""
        raise NotImplementedError

    def phase_lengths(self, features: F64, horizon: int) -> list[int] | None:
        """Return the rounds of each phase up to the horizon, if they are fixed beforehand."""
        return None

    def quotas(self, K: int, horizon: int, bounds: Bounds = (0.0, 1.0)) -> list[int] | None:
        """Return the plays per arm of each phase up to the horizon, if there are phases."""
        return None

    def start(
        self,
        arms: int | Sequence[str],
        seed: int | None = None,
        horizon: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> Player:
        """Begin live decisions on a number of arms or on named ones.

        Rewards lie in [low, high]; pass ``-inf, inf`` for unbounded ones, which need R. This
        learner draws no random numbers and is not tuned to a horizon, so
        ``seed`` and ``horizon`` change nothing.
        """
        _check.unused(seed, horizon)
        bounds = _check.reward_range(low, high)
        _check.unit_noise(self.R, bounds)
        return self._player(_check.labels("arms", arms), *bounds)

    def starter(
        self, state: Mapping[str, Any], bounds: tuple[float, float], arms: Any
    ) -> Callable[[], Player]:
        """Return what starts a player as the one of a saved state was started."""
        labels = state["labels"]
        numbered = labels == list(range(len(labels)))
        return partial(self.revive, len(labels) if numbered else labels, *bounds, state["extra"])

    def revive(self, arms: Any, low: float, high: float, extra: Mapping[str, Any]) -> Player:
        """Start a player again, as a saved state describes it."""
        return self.start(arms, low=low, high=high)

    def _player(self, labels: Labels, low: float, high: float) -> Player:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        """Normalise delta and R of a frozen dataclass."""
        object.__setattr__(self, "delta", _check.in_open_unit("delta", self.delta))
        object.__setattr__(self, "R", _check.optional_noise("R", self.R))


def new_watch(law: Law) -> EventWatch:
    """Allocate what a run needs to know whether its event held in blocks, from the same seed."""
    from uli_fast.kernels.arms.event import MOST_ALONE, EventWatch

    rows = max(law.mu.size, MOST_ALONE)  # a block of each arm, or all blocks of one
    state: Any = law.rng.bit_generator.state["state"]  # of PCG64, two times 128 bits
    words = np.zeros(2 + rows, np.uint64)
    words[0] = state["state"] & 0xFFFFFFFFFFFFFFFF
    return EventWatch(words, np.empty((rows, 4), np.int64), np.empty((rows, 3)))


def new_state(law: Law) -> ArmState:
    """Allocate the state of a K-armed run."""
    from uli_fast.kernels.rewards.laws import RealLaw

    return empty_state(law.mu.size, np.float64 if isinstance(law, RealLaw) else np.int64)


def empty_state(K: int, total: type[np.int64] | type[np.float64] = np.float64) -> ArmState:
    """Allocate a state in which nothing has been played."""
    from uli_fast.kernels.arms.state import ArmState

    return ArmState(
        n=np.zeros(K, np.int64),
        total=np.zeros(K, total),
        active=np.full(K, True),
        last=np.zeros(K, np.int64),
        eliminated=np.zeros(K, np.int64),
        clock=np.array([0, 1], np.int64),
        broken=np.zeros(1, np.bool_),
        tv=np.zeros(1),
    )
