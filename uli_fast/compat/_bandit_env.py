"""A bandit as a Gymnasium environment (the one file that imports Gymnasium)."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from uli_fast import _check
from uli_fast.learners._adversarial.solo import RewardBuffer
from uli_fast.problems import kinds
from uli_fast.problems.arms import ArmBandit


class BanditEnv(gymnasium.Env[Any, Any]):
    """One state, one action per arm; ``info["gap"]`` says what a step lost in expectation.

    Parameters
    ----------
    problem
        A bandit with finitely many arms.
    horizon
        Steps until an episode is truncated; None for no end.
    """

    def __init__(self, problem: ArmBandit, horizon: int | None = None) -> None:
        self.problem = kinds.bandit("problem", problem)
        self.horizon = None if horizon is None else _check.horizon("horizon", horizon)
        self.observation_space = spaces.Discrete(1)
        self.action_space = spaces.Discrete(problem.n_arms)
        self._rewards: RewardBuffer | None = None
        self._t = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin again; the i-th pulls of a TableBandit begin again too."""
        super().reset(seed=seed)
        words = self.np_random.integers(2**64, size=4, dtype=np.uint64)
        self._rewards = RewardBuffer(self.problem.law(words), self.problem.n_arms)
        self._t = 0
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Play an arm."""
        if self._rewards is None:
            raise gymnasium.error.ResetNeeded("reset() comes before step()")
        a = _check.index("action", action, self.problem.n_arms)
        unit = self._rewards.draw(a)
        reward = unit if self.problem.low is None else self.problem.low + self.problem.scale * unit
        self._t += 1
        truncated = self.horizon is not None and self._t >= self.horizon
        return 0, float(reward), False, truncated, {"gap": float(self.problem.gaps[a])}
