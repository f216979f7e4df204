"""Agents for Gymnasium's loop, and our bandits as environments for other people's agents.

An agent is told what happened after every step:

    observation, _ = env.reset(seed=1)
    while episodes_to_play:
        action = agent.act(observation)
        observation, reward, terminated, truncated, _ = env.step(action)
        agent.observe(observation, reward, terminated, truncated)
        if terminated or truncated or agent.done:
            observation, _ = env.reset()

``PolicyAgent`` (ModelElimination, PolicyElimination) learns where actions lead from the steps
alone; its rewards are known beforehand, from the environment's table. ``TrainedAgent`` plays what a
learner (also UCBVI or UBEV) came to in a simulation of that table. ``BanditEnv`` is imported on
first use and needs Gymnasium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check
from uli_fast._support.streams import entropy_of
from uli_fast._typing import F64, I8
from uli_fast.compat._tabular import PlayedEpisode, tables, taken
from uli_fast.errors import ArgumentError, MissingExtraError, UliError, UnsupportedError
from uli_fast.learners._kinds import policy_learner

if TYPE_CHECKING:
    from uli_fast.compat._bandit_env import BanditEnv
    from uli_fast.players._certificate import Certificate
    from uli_fast.problems.tabular_mdp import TabularMDP
    from uli_fast.results.runs import Runs

__all__ = ["BanditAgent", "BanditEnv", "PolicyAgent", "TrainedAgent"]


class BanditAgent:
    """A learner on K arms; every step is a round.

    Parameters
    ----------
    env
        An environment with one action per arm; observations are not looked at.
    learner
        What plays.
    low, high
        Range of the rewards.
    seed, horizon
        For learners that draw at random, and for those tuned to a horizon.
    """

    def __init__(
        self,
        env: Any,
        learner: Any,
        low: float = 0.0,
        high: float = 1.0,
        seed: int | None = None,
        horizon: int | None = None,
    ) -> None:
        from uli_fast.compat._stepper import stepper_of

        n_arms = _check.whole("env", getattr(getattr(env, "action_space", None), "n", None))
        self.done = self._acted = False
        self._stepper = stepper_of(learner, n_arms, low, high, seed, horizon)

    def act(self, observation: Any = 0) -> int:
        """Return the arm to play."""
        self._acted = True
        return self._stepper.choose()

    def observe(
        self, observation: Any, reward: float, terminated: bool = False, truncated: bool = False
    ) -> None:
        """Take in the reward of the arm that ``act`` named."""
        if not self._acted:
            raise UliError("act() comes before observe()")
        self._stepper.learn(self._stepper.choose(), reward)
        self._acted = False

    def certificate(self) -> Certificate:
        """Return what is certain of every active arm."""
        return self._stepper.certificate()


class _StagedAgent:
    """Counts the stages of episodes, and follows one policy in each."""

    def __init__(self, env: Any, horizon: int) -> None:
        self.mdp: TabularMDP = tables(env, horizon)
        self.episodes = 0
        self._episode = PlayedEpisode(self.mdp)
        self._open: tuple[int, int] | None = None  # state and action of the step under way
        self._finished = False

    @property
    def done(self) -> bool:
        """Whether the episode is over for the agent: after H steps, or when it has ended."""
        return self._finished

    def act(self, observation: Any) -> int:
        """Return the action in the state that is observed; the first one opens an episode."""
        state = _check.index("observation", observation, self.mdp.n_states)
        if self._finished:
            self._episode, self._finished = PlayedEpisode(self.mdp), False
        h = self._episode.stage
        if h > 0 or self._open is not None:
            here = self._open[0] if self._open is not None else self._episode.state
            if state != here:
                raise ArgumentError("observation", f"the episode is in {here}, got {state}")
        else:
            self._begin(state)
        if self._open is None:
            self._open = state, self._choose(h, state)
        return self._open[1]

    def observe(
        self, observation: Any, reward: float, terminated: bool = False, truncated: bool = False
    ) -> None:
        """Take in where the action of ``act`` led; the reward is in the table already."""
        if self._open is None:
            raise UliError("act() comes before observe()")
        state, action = self._open
        self._episode.step(state, action, observation, bool(terminated), bool(truncated))
        self._open = None
        if terminated:
            self._episode.fill(self._choose)
        if self._episode.over:
            self.episodes += 1
            self._finished = True
            self._end()

    def _begin(self, state: int) -> None:
        pass

    def _choose(self, h: int, state: int) -> int:
        raise NotImplementedError

    def _end(self) -> None:
        pass


class PolicyAgent(_StagedAgent):
    """Learns live where actions lead, from the steps it is told of.

    An episode is told before the next one is asked for, so no block of ModelElimination is ever
    exceeded; ``player.room`` says how many more episodes have the policy of this one.

    Parameters
    ----------
    env
        A toy-text environment with a table P, from which the rewards, the states in which an
        episode may begin, the choices that matter and, for ModelElimination, the states that may
        follow are read; or a TabularMDP, with the masks it has. The probabilities of the table
        are not used.
    learner
        A ModelElimination or a PolicyElimination.
    horizon
        Stages H of an episode: it is over after this many steps, and must then be reset.
    seed
        Of the actions of policies that draw them, play="stochastic"; by default a fresh one.
        Those of an episode are decided by the seed and the number of the episode.
    """

    def __init__(self, env: Any, learner: Any, horizon: int, seed: int | None = None) -> None:
        policy_learner("learner", learner)
        super().__init__(env, horizon)
        self.seed = entropy_of(_check.seed("seed", seed))
        self.player = _started(learner, self.mdp)
        self._decision: Any = None
        self._rng: np.random.Generator | None = None

    def certificate(self) -> Certificate:
        """Return what is certain of every policy that may still be played."""
        found: Certificate = self.player.certificate()
        return found

    def current(self) -> I8 | F64:
        """Return the policy of the last episode: actions (H, S), or probabilities (H, S, A)."""
        if self._decision is None:
            raise UliError("no episode has been played yet")
        policy: I8 | F64 = self._decision.policy
        return policy

    def abandon(self, reason: str) -> None:
        """Say that the episode under way will never end; the next ``act`` opens another one.

        It may be missing because of where it led, so that nothing is certified from then on.
        """
        if self._decision is None or self._finished:
            raise UliError("no episode is under way")
        self.player.tell_missing(self._decision.id, reason)
        self._finished, self._open = True, None

    def _begin(self, state: int) -> None:
        if self.mdp.initial[state] <= 0.0:
            raise ArgumentError("observation", f"the table never begins an episode in {state}")
        self._decision = self.player.ask(**self.player.read_request({"state": state}))
        self._rng = None

    def _choose(self, h: int, state: int) -> int:
        return taken(self._decision.policy[h, state], self._draws)

    def _draws(self) -> np.random.Generator:
        """Return the generator of this episode, the same for an agent that is restored."""
        if self._rng is None:
            own = np.random.SeedSequence(self.seed, spawn_key=(self._decision.id,))
            self._rng = np.random.default_rng(own)
        return self._rng

    def _end(self) -> None:
        self.player.tell(self._decision.id, self._episode.states, self._episode.actions)


def _started(learner: Any, mdp: TabularMDP) -> Any:
    """Return the live player of a learner, refusing what it cannot play."""
    try:
        learner.check(learner.on(mdp), 1)
        return learner.start_on(mdp)
    except UnsupportedError as refused:
        raise ArgumentError("learner", str(refused)) from None
    except ArgumentError as refused:
        if refused.argument != "problem":
            raise
        raise ArgumentError("horizon", refused.problem) from None


class TrainedAgent(_StagedAgent):
    """Plays the policy of the last of many simulated episodes, and learns nothing more.

    Parameters
    ----------
    env
        An environment with a table P, or a TabularMDP; the simulation draws from its table.
    learner
        ModelElimination (deterministic), PolicyElimination, UCBVI or UBEV.
    horizon
        Stages H of an episode.
    episodes
        How many are simulated.
    seed
        Of the simulation.
    """

    def __init__(
        self, env: Any, learner: Any, horizon: int, episodes: int, seed: int | None = None
    ) -> None:
        from uli_fast.simulation.simulate import simulate

        policy_learner("learner", learner)
        super().__init__(env, horizon)
        self.runs: Runs = simulate(learner, self.mdp, episodes, seed=seed, progress=False)
        self.policy: I8 = self.runs.last_policy()

    def _choose(self, h: int, state: int) -> int:
        return int(self.policy[h, state])


def __getattr__(name: str) -> Any:
    if name != "BanditEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from uli_fast.compat._bandit_env import BanditEnv
    except ImportError as missing:
        raise MissingExtraError("BanditEnv needs gymnasium: pip install gymnasium") from missing
    return BanditEnv
