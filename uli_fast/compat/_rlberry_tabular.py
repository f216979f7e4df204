"""What the agents for rlberry's tabular environments share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import uli_fast as uli
from uli_fast import _check
from uli_fast._typing import F64, I8
from uli_fast.compat._rlberry_agent import LearningAgent
from uli_fast.compat._tabular import tables, taken
from uli_fast.errors import ArgumentError, UliError, UnsupportedError
from uli_fast.problems import kinds

if TYPE_CHECKING:
    from uli_fast.compat.gymnasium import PolicyAgent
    from uli_fast.players._certificate import Certificate
    from uli_fast.results.runs import Runs


class TabularAgent(LearningAgent):
    """A learner whose decisions are policies.

    Parameters
    ----------
    env
        A FiniteMDP, a Gymnasium environment with a table P, or a TabularMDP; or a constructor
        and its arguments.
    horizon
        Stages H of an episode.
    live
        Whether to play ``env`` itself (ModelElimination and PolicyElimination).
    **kwargs
        The learner's parameters, and those of rlberry's agents (``eval_env``, ``seeder`` ...).
    """

    def __init__(self, env: Any, horizon: int, live: bool = False, **kwargs: Any) -> None:
        super().__init__(env, **kwargs)
        self.horizon = _check.whole("horizon", horizon)
        self.mdp = tables(self.env, self.horizon)
        self.runs: Runs | None = None
        self._policy: I8 | F64 | None = None
        self._draws: np.random.Generator | None = None
        if live and not hasattr(self.env, "step"):
            raise ArgumentError("live", f"needs an environment to step in, got {self.env!r}")
        self._live: PolicyAgent | None = self._player() if live else None

    def _player(self) -> PolicyAgent:
        from uli_fast.compat.gymnasium import PolicyAgent

        if self.learner.baseline:
            self.learner.start_on(self.mdp)  # which it refuses, and says why
        return PolicyAgent(self.env, self.learner, self.horizon)

    def certificate(self) -> Certificate:
        """Return what is certain of every policy that may still be played; ``live`` agents only."""
        if self._live is None:
            raise UnsupportedError(
                "a simulation is checked against the truth: see agent.runs.holds"
            )
        return self._live.certificate()

    def fit(self, budget: int, **kwargs: Any) -> None:
        """Play ``budget`` more episodes."""
        more = _check.horizon("budget", budget)
        if self._live is None:
            self._simulate(self.budget + more)
        else:
            self._play(self._live, more)
        self.budget += more

    def _simulate(self, episodes: int) -> None:
        # The same path from the start: fit(a), fit(b) is fit(a + b), horizon-tuned or not.
        from uli_fast.simulation.simulate import simulate

        runs = simulate(self.learner, self.mdp, episodes, seed=self.seed, progress=False)
        self.runs, self._policy = runs, runs.last_policy()
        for t, regret in zip(runs.rounds.tolist(), runs.regret[0].tolist(), strict=True):
            if t > self.budget:
                self._write("regret", regret, t)

    def _play(self, player: PolicyAgent, episodes: int) -> None:
        total, player.seed = 0.0, self.seed  # which may have been set after the player was made
        for t in range(1, episodes + 1):
            observation, _ = self.env.reset()
            while True:
                step = self.env.step(player.act(observation))
                observation, reward, terminated, truncated = step[:4]
                player.observe(observation, reward, terminated, truncated)
                total += float(reward)
                if player.done:
                    break
            if t & (t - 1) == 0 or t == episodes:
                self._write("mean_episode_reward", total / t, self.budget + t)
        self._policy = player.current()

    def policy(self, observation: Any, stage: int | None = None) -> int:
        """Return the action of the last policy in a state; a stochastic one draws it.

        A policy may act otherwise at every stage 0..H-1. Without ``stage`` the action is
        returned if all stages at which it matters agree, and refused if not: see ``begin``.
        """
        state = _check.index("observation", observation, self.mdp.n_states)
        chosen = self.current()[:, state]
        if stage is not None:
            return taken(chosen[_check.index("stage", stage, self.horizon)], self._drawing)
        matter = chosen[self.mdp.decision_points[:, state]]
        if (matter != matter[:1]).any():
            raise ArgumentError("stage", f"must be given: actions in {state} differ by stage")
        return taken(matter[0], self._drawing) if len(matter) else 0

    def _drawing(self) -> np.random.Generator:
        """Return a generator of ``policy`` and ``eval``, beside those of the environments."""
        if self._draws is None:
            key = (*self._seeds.spawn_key, 2)
            own = np.random.SeedSequence(self._seeds.entropy, spawn_key=key)
            self._draws = np.random.default_rng(own)
        return self._draws

    def begin(self) -> Callable[[Any], int]:
        """Return ``act(observation)`` for one episode, counting its stages."""
        stages = iter(range(self.horizon))
        return lambda observation: self.policy(observation, next(stages))

    def current(self) -> I8 | F64:
        """Return the policy of the last episode: actions (H, S), or probabilities (H, S, A)."""
        if self._policy is None:
            raise UliError("nothing has been learned yet: call fit() first")
        return self._policy

    def eval(
        self, eval_horizon: int | None = None, n_simulations: int = 10, gamma: float = 1.0, **_: Any
    ) -> float:
        """Return the mean reward of simulated episodes of ``eval_env``, at most H steps each.

        Where ``eval_env`` is a TabularMDP, it is the exact expected reward.
        """
        if kinds.is_mdp(self.eval_env):
            return self.eval_env.value(self.current())
        steps = self.horizon if eval_horizon is None else min(eval_horizon, self.horizon)
        total = 0.0
        for _n in range(_check.whole("n_simulations", n_simulations)):
            observation, _info = self.eval_env.reset()
            for h in range(steps):
                action = self.policy(observation, h)
                observation, reward, terminated, truncated = self.eval_env.step(action)[:4]
                total += float(reward) * gamma**h
                if terminated or truncated:
                    break
        return total / n_simulations

    def _saved(self) -> Any:
        live = None if self._live is None else self._live.player.state()
        return {"policy": None if self._policy is None else self._policy.tolist(), "live": live}

    def _load(self, saved: Any) -> None:
        if saved["policy"] is not None:
            points, A = self.mdp.decision_points, self.mdp.n_actions
            self._policy = _check.any_policy("policy", saved["policy"], points, A)
        if self._live is not None:
            self._live.player = uli.restore(saved["live"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mdp!r}, {self.learner!r}, live={bool(self._live)})"
