"""What the agents for rlberry's bandit environments share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uli_fast import _check
from uli_fast.compat._rlberry_agent import LearningAgent

if TYPE_CHECKING:
    from uli_fast.compat._stepper import Stepper
    from uli_fast.players._certificate import Certificate


class RlberryBanditAgent(LearningAgent):
    """A learner on K arms, one per action of ``env``; observations are not looked at.

    Parameters
    ----------
    env
        An environment with a discrete action space; or a constructor and its arguments.
    low, high
        Range of the rewards.
    horizon
        Rounds in all, for learners tuned to it (Exp3P).
    **kwargs
        The learner's parameters, and those of rlberry's agents.
    """

    def __init__(
        self,
        env: Any,
        low: float = 0.0,
        high: float = 1.0,
        horizon: int | None = None,
        **kwargs: Any,
    ) -> None:
        self._about = low, high, horizon
        super().__init__(env, **kwargs)
        self.n_arms = _check.whole("env", self.env.action_space.n)
        self._place: Stepper | None = None
        self._total = 0.0

    def _stepper(self) -> Stepper:
        from uli_fast.compat._stepper import stepper_of

        if self._place is None:  # the manager seeds an agent after it is made
            low, high, horizon = self._about
            self._place = stepper_of(self.learner, self.n_arms, low, high, self.seed, horizon)
        return self._place

    def fit(self, budget: int, **kwargs: Any) -> None:
        """Play ``budget`` more rounds."""
        stepper, env = self._stepper(), self.env
        more = _check.horizon("budget", budget)
        env.reset()
        for t in range(self.budget + 1, self.budget + more + 1):
            arm = stepper.choose()
            _, reward, terminated, truncated = env.step(arm)[:4]
            stepper.learn(arm, reward)
            self._total += float(reward)
            if terminated or truncated:
                env.reset()
            if t & (t - 1) == 0 or t == self.budget + more:
                self._write("mean_reward", self._total / t, t)
        self.budget += more

    def policy(self, observation: Any = 0) -> int:
        """Return the arm to play next."""
        return self._stepper().choose()

    def eval(self, eval_horizon: int = 1000, n_simulations: int = 1, **_: Any) -> float:
        """Return the mean reward of the arm to play next, over this many steps of ``eval_env``."""
        steps, total = _check.whole("eval_horizon", eval_horizon), 0.0
        arm = self.policy()
        for _n in range(_check.whole("n_simulations", n_simulations)):
            self.eval_env.reset()
            for _t in range(steps):
                _obs, reward, terminated, truncated = self.eval_env.step(arm)[:4]
                total += float(reward)
                if terminated or truncated:
                    self.eval_env.reset()
        return total / (steps * n_simulations)

    def certificate(self) -> Certificate:
        """Return what is certain of every active arm."""
        return self._stepper().certificate()

    def _saved(self) -> Any:
        return {"stepper": self._stepper().saved(), "total": self._total}

    def _load(self, saved: Any) -> None:
        from uli_fast.compat._stepper import resumed_stepper

        self._place = resumed_stepper(saved["stepper"], self.learner)
        self._total = _check.number("total", saved["total"])

    def __repr__(self) -> str:
        low, high, horizon = self._about
        more = "" if horizon is None else f", horizon={horizon}"
        unit = "" if (low, high) == (0.0, 1.0) else f", low={low:g}, high={high:g}"
        return f"{type(self).__name__}({self.n_arms}, {self.learner!r}{unit}{more})"
