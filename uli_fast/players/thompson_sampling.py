"""Live Thompson sampling: every decision is drawn, and says with which probability.

Draws are from the posterior of what is settled when they are asked for. An outcome that will
never come is left out. With the seed, and how much was settled at each decision, everything can be
drawn again, which ``restore`` does.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64
from uli_fast.learners.kl_ucb import kl_intervals
from uli_fast.players._arms import Player


class ThompsonMemory(NamedTuple):
    """What decisions are drawn with and from."""

    rng: np.random.Generator
    wins: F64  # (K,) successes, of rewards treated as coins


class ThompsonPlayer(Player):
    """Draws a mean for every arm and asks for the largest."""

    learner: Any
    chooses_again: ClassVar[bool] = True

    def __init__(self, learner: Any, labels: Labels, low: float, high: float, seed: int) -> None:
        super().__init__(learner, labels, low, high)
        self.seed = seed
        rng = np.random.Generator(np.random.PCG64(seed))
        self.memory = ThompsonMemory(rng, np.zeros(len(labels)))

    def _choose(self) -> int:
        from uli_fast.kernels.thompson_sampling import draw_coin, draw_normal

        n, total = self.arm_state.n, self.arm_state.total
        if self.learner.R is None:
            return int(draw_coin(self.memory.rng, n, self.memory.wins))
        if (self.tally.asked == 0).any():
            return int((self.tally.asked == 0).argmax())
        if (n == 0).any():  # asked for, and not settled: nothing is known about it
            return int(np.where(n == 0, self.tally.asked, np.iinfo(np.int64).max).argmin())
        return int(draw_normal(self.memory.rng, n, total, self.unit_noise))

    def _chance(self, a: int) -> float:
        from uli_fast.players._chances import beta_chance, normal_chance

        n = self.arm_state.n
        if self.learner.R is None:
            return beta_chance(a, 1.0 + self.memory.wins, 1.0 + (n - self.memory.wins))
        if (self.tally.asked == 0).any() or (n == 0).any():
            return 1.0
        return normal_chance(a, self.arm_state.total / n, self.unit_noise / np.sqrt(n))

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        from uli_fast.kernels.thompson_sampling import as_coin

        if self.learner.R is None:
            self.memory.wins[a] += as_coin(self.memory.rng, reward)
        self.count(a, reward)

    def _unit_intervals(self) -> tuple[F64, F64]:
        t, n = max(int(self.arm_state.clock[0]), 1), self.arm_state.n
        means = self.arm_state.total / np.maximum(n, 1)
        return kl_intervals(self.learner, self.unit_noise, means, n, t)

    def _narrow(self) -> None:
        """Keep nothing: each interval holds at its own round, and not all of them at once."""

    def also_started_with(self) -> dict[str, Any]:
        """Return the seed."""
        return {"seed": self.seed}
