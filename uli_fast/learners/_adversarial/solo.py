"""One replication of a base, compiled or the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._support.streams import generator_of
from uli_fast._typing import F64, I64
from uli_fast.learners._adversarial.bases import (
    Base,
    checked_estimates,
    drawn,
    loss_kind,
    losses_of,
    started,
)

if TYPE_CHECKING:
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.learners._adversarial.phases import PlannedPhase
    from uli_fast.problems.arms import ArmBandit


class SoloTeam:
    """One replication, its base compiled or the user's own."""

    def __init__(self, base: Base, problem: ArmBandit, law: Law, member: ArmState) -> None:
        self.base, self.problem, self.law, self.member = base, problem, law, member
        self.rng = generator_of(law.words)  # of a base that is the user's own
        self.features = problem.features
        self.arms: I64 = np.zeros(0, np.int64)
        self.losses = losses_of(loss_kind(base), problem.low, problem.high, problem.intercept)
        self.shrink = 1.0
        self.phase: Any = None
        self.rewards = RewardBuffer(law, problem.n_arms)

    def begin(self, phase: PlannedPhase) -> None:
        """Start a fresh base on the active arms."""
        self.arms = np.flatnonzero(self.member.active)
        self.shrink = phase.scale
        self.phase = started(self.base, self.features[self.arms], phase.rounds, phase.delta)

    def play(self, rounds: int, record: RoundRecord) -> None:
        """Play and record."""
        from uli_fast.kernels.arms.state import note

        end = int(self.member.clock[0]) + rounds
        own = record._replace(plays=record.plays[0], at=record.at[0])
        while self.member.clock[0] < end:
            stop = record.rounds[min(own.at[0], record.rounds.size - 1)]
            self._play(int(min(stop, end) - self.member.clock[0]))
            note(own, self.member.n, self.member.clock[0])

    def _play(self, rounds: int) -> None:
        """Play in a kernel where the base has one."""
        member = self.member
        offset, slope = self.losses.offset / self.shrink, self.losses.slope / self.shrink
        if hasattr(self.phase, "play"):
            self.phase.play(self.law, self.arms, member, offset, slope, rounds)
            return
        for t in range(int(member.clock[0]) + 1, int(member.clock[0]) + rounds + 1):
            i, _ = drawn(self.phase, self.rng, self.arms.size)
            a = int(self.arms[i])
            self.phase.update(i, offset - slope * self.rewards.draw(a))
            member.n[a] += 1
            member.last[a] = t
        member.clock[0] += rounds

    def estimates(self) -> Iterator[tuple[I64, I64, F64]]:
        """Yield the one replication, its active arms and their loss estimates."""
        found = checked_estimates(self.phase, self.arms.size)
        yield np.zeros(1, np.int64), self.arms[None], found[None]


class RewardBuffer:
    """Rewards drawn ahead, arm by arm, for bases that are not compiled."""

    AHEAD = 256

    def __init__(self, law: Law, K: int) -> None:
        self.law = law
        self.drawn = np.zeros(K, np.int64)
        self.ahead: list[list[float]] = [[] for _ in range(K)]

    def draw(self, a: int) -> float:
        """Return the next reward of arm a on the unit scale."""
        from uli_fast.kernels.rewards.laws import draw_rewards

        if not self.ahead[a]:
            rewards = np.empty(self.AHEAD)
            draw_rewards(self.law, a, int(self.drawn[a]), rewards)
            self.drawn[a] += self.AHEAD
            self.ahead[a] = rewards[::-1].tolist()
        return self.ahead[a].pop()
