"""What the finite-armed learners share: engines, allocation, live players."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64
from uli_fast.guarantees import read_arms
from uli_fast.learners._base import Learner
from uli_fast.learners._setting import ArmSetting, about_of

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.learners._sets import BlockLog
    from uli_fast.players._arms import Player


@dataclass
class ArmBatch:
    """Replications in progress, one row of every array each."""

    states: ArmState
    # Plays on for about ``budget`` steps and says whether all have reached the horizon.
    advance: Callable[[int], bool]
    # (M,) sup over t of gap / F, where a user's F has to be followed round by round.
    worst_ratio: F64 | None = None
    # (M,) the round from which on F is not claimed, 0 if it is.
    withdrawn: I64 | None = None
    # The blocks of rounds in which one arm is played, where phases have them.
    logs: list[BlockLog] | None = None

    @property
    def played(self) -> I64:
        """Rounds played by each; the last block may go beyond the horizon."""
        clock: I64 = self.states.clock[:, 0]
        return clock


class ArmLearner(Learner):
    """A learner on K arms; subclasses are frozen dataclasses."""

    R: float | None
    # Whether a run knows if all its confidence intervals held (the nice event).
    has_event: ClassVar[bool] = False

    def begin(self, on: Any, law: Law, record: RoundRecord, engine: str, horizon: int) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        raise NotImplementedError

    def on(self, about: Any) -> ArmSetting:
        """Return this learner on a bandit, a number of arms, (K, d), an array or an ArmsInfo."""
        if isinstance(about, ArmSetting) and about.learner is self:
            return about
        about = about_of(about)
        return ArmSetting(self, about, read_arms(about))

    def check(self, on: ArmSetting, horizon: int) -> None:
        """Refuse a horizon that this learner cannot play, and rewards for which R must be given."""
        _ = on.R

    def knows_event(self, on: ArmSetting, engine: str) -> bool:
        """Return whether runs know if all confidence intervals held."""
        return self.has_event

    def phase_lengths(self, about: Any, horizon: int) -> list[int] | None:
        """Return the rounds of each phase up to the horizon, if they are fixed beforehand."""
        return None

    def quotas(self, about: Any, horizon: int) -> list[int] | None:
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

        Parameters
        ----------
        arms
            Their number, or their names.
        seed, horizon
            Nothing is drawn at random and nothing is tuned to a horizon: they change nothing here.
        low, high
            The range of the rewards; ``-inf, inf`` for unbounded ones, which need R.

        Returns
        -------
        Player
            With ``ask``, ``tell``, ``active``, ``recommend``, ``intervals`` and ``certificate``.
        """
        _check.unused(seed, horizon)
        bounds = _check.reward_range(low, high)
        _check.unit_noise(self.R, bounds)
        return self._player(_check.labels("arms", arms), *bounds)

    def _player(self, labels: Labels, low: float, high: float) -> Player:
        raise NotImplementedError


def new_states(law: Law) -> ArmState:
    """Allocate the states of K-armed runs, one for each stream of the law."""
    from uli_fast.kernels.rewards.laws import RealLaw

    total = np.float64 if isinstance(law, RealLaw) else np.int64
    return empty_state(law.mu.size, total, law.words.shape[:-1])


def empty_state(
    K: int,
    total: type[np.int64] | type[np.float64] = np.float64,
    rows: tuple[int, ...] = (),
) -> ArmState:
    """Allocate a state in which nothing has been played, or a batch of them."""
    from uli_fast.kernels.arms.state import ArmState

    clock = np.zeros((*rows, 2), np.int64)
    clock[..., 1] = 1
    return ArmState(
        n=np.zeros((*rows, K), np.int64),
        total=np.zeros((*rows, K), total),
        active=np.full((*rows, K), True),
        last=np.zeros((*rows, K), np.int64),
        eliminated=np.zeros((*rows, K), np.int64),
        clock=clock,
        broken=np.zeros((*rows, 1), np.bool_),
        tv=np.zeros((*rows, 1)),
    )


class OneByOne:
    """Replications of a batch that are driven from Python, one after the other."""

    def __init__(
        self,
        states: ArmState,
        law: Law,
        record: RoundRecord,
        begin: Callable[[int, ArmState, Law, RoundRecord], Callable[[int], bool]],
    ) -> None:
        self._rows, self._begin = (states, law, record), begin
        self._at, self._size = 0, len(states.clock)
        self._advance: Callable[[int], bool] | None = None

    def advance(self, budget: int) -> bool:
        """Play the replication at hand on; say whether it was the last and is done."""
        if self._advance is None:
            self._advance = self._begin(self._at, *rows_of(*self._rows, self._at))
        if self._advance(budget):
            self._at, self._advance = self._at + 1, None
        return self._at == self._size


def rows_of(
    states: ArmState, law: Any, record: RoundRecord, r: int
) -> tuple[ArmState, Law, RoundRecord]:
    """Return state, law and record of replication r of a batch."""
    own = {name: getattr(law, name)[r] for name in ("words", "urn") if hasattr(law, name)}
    alone = record._replace(plays=record.plays[r], at=record.at[r])
    return indexed(states, r), law._replace(**own), alone


def indexed(arrays: Any, at: Any) -> Any:
    """Return the same tuple of arrays, each of them indexed: a replication of a batch."""
    return type(arrays)(*(x[at] for x in arrays))
