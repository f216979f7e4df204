"""Tabular environments of other libraries: their tables, and episodes played in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast.errors import ArgumentError
from uli_fast.problems import kinds
from uli_fast.problems.tabular_mdp import TabularMDP


def tables(env: Any, horizon: int) -> TabularMDP:
    """Return the MDP of an environment, cut off after ``horizon`` steps.

    It has Gymnasium's table P[s][a] = [(p, s', r, done), ...], or rlberry's arrays P (S, A, S)
    and R (S, A); or it is a TabularMDP.
    """
    if kinds.is_mdp(env):
        if _check.whole("horizon", horizon) != env.horizon:
            raise ArgumentError("horizon", f"must be the MDP's, {env.horizon}, got {horizon!r}")
        return env
    bare = getattr(env, "unwrapped", env)
    if not isinstance(getattr(bare, "P", None), np.ndarray):
        return TabularMDP.from_gymnasium(env, horizon)
    return _from_arrays(bare, horizon)


def _from_arrays(env: Any, horizon: int) -> TabularMDP:
    """Read arrays P and R. An episode is done when a terminal state has been acted in."""
    P, R, first, ends = _check.finite_mdp("env", env)
    S, A = R.shape
    if ends.any():  # one state more, in which nothing happens
        P = np.pad(P, ((0, 1), (0, 0), (0, 1)))
        P[np.append(ends, True)] = np.eye(S + 1)[S]
        R, first = np.vstack([R, np.zeros(A)]), np.append(first, 0.0)
    low, high = min(0.0, float(R.min())), max(0.0, float(R.max()))
    label = getattr(env, "name", None) or type(env).__name__
    high = high if low < high else 1.0
    mdp = TabularMDP(P, R, first, horizon, low=low, high=high, label=label)
    return mdp.with_known_structure().restricted()


class PlayedEpisode:
    """The stages of one episode, filled up to H when the environment ends it earlier."""

    def __init__(self, mdp: TabularMDP) -> None:
        self.mdp = mdp
        self.states: list[int] = []
        self.actions: list[int] = []

    @property
    def stage(self) -> int:
        """The stage that comes next, from 0."""
        return len(self.actions)

    @property
    def over(self) -> bool:
        """Whether all H stages are known."""
        return self.stage == self.mdp.horizon

    def step(self, state: int, action: int, after: int, terminated: bool, truncated: bool) -> None:
        """Take in one step; nothing changes if it is refused."""
        after = _check.index("observation", after, self.mdp.n_states)
        h, H = self.stage, self.mdp.horizon
        if truncated and not terminated and h + 1 < H:
            raise ArgumentError(
                "truncated", f"after {h + 1} steps: the time limit must not be below horizon={H}"
            )
        end = self._end(state, action, after) if terminated else after
        if self.mdp.transitions[h, state, action, end] <= 0.0:
            raise ArgumentError(
                "observation", f"the table never leads from {state} to {after} by action {action}"
            )
        self.states.append(state)
        self.actions.append(action)
        self.state = end

    def _end(self, state: int, action: int, after: int) -> int:
        """Return the state in which a done episode stays."""
        P, r, last = self.mdp.transitions[0], self.mdp.rewards[0], self.mdp.n_states - 1
        stays = bool((P[after, :, after] == 1.0).all() and not r[after].any())
        return after if stays and P[state, action, after] > 0.0 else last

    def fill(self, choose: Callable[[int, int], int]) -> None:
        """Play the stages that are left, by stage and state, where the episode ended."""
        while not self.over:
            self.actions.append(choose(self.stage, self.state))
            self.states.append(self.state)


def taken(chosen: Any, draws: Callable[[], np.random.Generator]) -> int:
    """Return the action of a policy in a state: the one it names, or one drawn by its law, (A,)."""
    if np.ndim(chosen) == 0:
        return int(chosen)
    return int(draws().choice(chosen.size, p=chosen))
