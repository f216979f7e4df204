"""Live Thompson sampling: every decision is drawn, and says with which probability.

Draws are from the posterior of what is settled when they are asked for. An outcome that will
never come is left out. The generator is part of the state, and so is how much was settled at each
decision: with the seed that is all it takes to draw everything again, which ``restore`` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._check import Labels
from uli_fast._typing import F64
from uli_fast.errors import StateError
from uli_fast.learners.kl_ucb import kl_intervals
from uli_fast.players._arms import Decision, Player
from uli_fast.players._queue import DecisionQueue


class ThompsonPlayer(Player):
    """Draws a mean for every arm and asks for the largest."""

    learner: Any

    def __init__(self, learner: Any, labels: Labels, low: float, high: float, seed: int) -> None:
        super().__init__(learner, labels, low, high)
        self.seed = seed
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._wins: F64 = np.zeros(len(labels))  # successes, of rewards treated as coins
        self.seen: list[int] = []  # decisions that were settled when each was made

    def _choose(self) -> int:
        from uli_fast.kernels.thompson_sampling import draw_coin, draw_normal

        n, total = self.arm_state.n, self.arm_state.total
        if self.learner.R is None:
            return int(draw_coin(self._rng, n, self._wins))
        if (self.asked == 0).any():
            return int((self.asked == 0).argmax())
        if (n == 0).any():  # asked for, and not settled: nothing is known about it
            return int(np.where(n == 0, self.asked, np.iinfo(np.int64).max).argmin())
        return int(draw_normal(self._rng, n, total, self.unit_noise))

    def _ask(self) -> Decision:
        a = self._draw()
        return Decision(len(self.queue), self.labels[a], self._chance(a))

    def _draw(self) -> int:
        """Draw the next decision and take note of it."""
        a = self._choose()
        self.seen.append(self.queue.settled)
        self.asked[a] += 1
        self.queue.add(a)
        return a

    def _chance(self, a: int) -> float:
        """Return the probability with which arm a was drawn."""
        from uli_fast.players._chances import beta_chance, normal_chance

        n = self.arm_state.n
        if self.learner.R is None:
            return beta_chance(a, 1.0 + self._wins, 1.0 + (n - self._wins))
        if (self.asked == 0).any() or (n == 0).any():
            return 1.0
        return normal_chance(a, self.arm_state.total / n, self.unit_noise / np.sqrt(n))

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        from uli_fast.kernels.thompson_sampling import as_coin

        if self.learner.R is None:
            self._wins[a] += as_coin(self._rng, reward)
        self.count(a, reward)

    def _unit_intervals(self) -> tuple[F64, F64]:
        t, n = max(int(self.arm_state.clock[0]), 1), self.arm_state.n
        means = self.arm_state.total / np.maximum(n, 1)
        return kl_intervals(self.learner, self.unit_noise, means, n, t)

    def _narrow(self) -> None:
        """Keep nothing: each interval holds at its own round, and not all of them at once."""

    def retrace(self, other: ThompsonPlayer) -> None:
        """Draw and learn again all that another player of the same seed did."""
        queue, told = other.queue, 0
        for i, (arm, seen) in enumerate(zip(queue.decisions, other.seen, strict=True)):
            told = self._follow(queue, told, seen)
            if self.queue.settled != seen or self._draw() != arm:
                raise StateError("state", f"contradicts itself: decision {i + 1} was not drawn")
        self._follow(queue, told, len(queue))

    def _follow(self, other: DecisionQueue, start: int, end: int) -> int:
        """Learn what another player was told of decisions start..end-1, if it was."""
        for i in range(start, end):
            self.queue.copy_outcome(other, i)
        self._settle()
        return max(start, end)

    def _forget(self, n: int) -> None:
        del self.seen[:n]

    def _extra(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "rng": self._rng.bit_generator.state,
            "wins": self._wins.tolist(),
            "seen": list(self.seen),
        }

    def _load_extra(self, extra: Mapping[str, Any]) -> None:
        self._rng.bit_generator.state = dict(extra["rng"])
        wins = np.asarray(extra["wins"], np.float64)
        self.seen = [_check.whole("seen", x, least=0) for x in extra["seen"]]
        first = self.queue.forgotten
        counts = wins.shape == self._wins.shape and bool((wins == np.floor(wins)).all())
        consistent = (
            counts
            and bool((wins >= 0.0).all() and (wins <= self.arm_state.n).all())
            and len(self.seen) == len(self.queue.decisions)
            and all(x <= min(i, self.queue.settled) for i, x in enumerate(self.seen, first))
            and self.seen == sorted(self.seen)
        )
        if not consistent:
            raise StateError("state", "contradicts itself: draws and decisions differ")
        self._wins[:] = wins
