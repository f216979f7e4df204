"""A ``MAB`` with MABWiser's methods: fit, partial_fit, predict, predict_expectations.

Data that the learner did not choose (a log) is learned from as far as that is sound.
``certificate()`` says what is proved of the arms that are left:

* ``SuccessiveElimination`` and ``PhasedElimination``: the gap bound that their confidence
  intervals give, if the rewards of each arm are independent draws from one law and no row
  was chosen, left out or ordered by looking at its own reward or at later ones. The envelope
  F(delta, t) is claimed only while every row was the arm that ``predict()`` named.
* ``UCB``, ``LilUCB``, ``KLUCB``: nothing, with any data.
* ``ThompsonSampling``: nothing; rows must be the decisions it drew, one at a time.
* ``BettingElimination``: rows must be its decisions, one at a time: its sweeps are what is
  proved of. For a log, see ``uli.replay``.
* ``Exp3P``, ``MetaElimination``: rows must be the decisions they drew, one at a time; a log
  is refused, for they weigh a reward by the probability it was drawn with.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check
from uli_fast._registry import learners
from uli_fast._support.streams import entropy_of
from uli_fast._typing import F64, I64
from uli_fast.errors import UnsupportedError

if TYPE_CHECKING:
    from uli_fast.compat._stepper import Stepper
    from uli_fast.players._certificate import Certificate

__all__ = ["MAB", "LearningPolicy"]

NAMED = learners(kind="arms", live=True, plain=True)


class _LearnersByName(type):
    """Looks learners up by their names."""

    def __getattr__(cls, name: str) -> Any:
        if name not in NAMED:
            raise AttributeError(f"{cls.__name__} has no {name!r}: one of {', '.join(NAMED)}")
        return NAMED[name].load()

    def __dir__(cls) -> list[str]:
        return list(NAMED)


class LearningPolicy(metaclass=_LearnersByName):
    """The learners that a ``MAB`` takes, where MABWiser's policies stand."""


class MAB:
    """A context-free bandit on arms with any hashable labels.

    Parameters
    ----------
    arms
        The list of arms.
    learning_policy
        A learner on K arms: see :class:`LearningPolicy`.
    neighborhood_policy
        None: there are no contexts here.
    seed
        For learners that draw at random.
    n_jobs, backend
        Taken and not used: a fit is one pass.
    low, high
        Range of the rewards; ``-inf, inf`` if they are unbounded, with a suitable ``R``.
    horizon
        Number of decisions, for learners tuned to it (``Exp3P``).
    """

    is_contextual = False

    def __init__(
        self,
        arms: list[Any],
        learning_policy: Any,
        neighborhood_policy: Any = None,
        seed: int = 123456,
        n_jobs: int = 1,
        backend: str | None = None,
        *,
        low: float = 0.0,
        high: float = 1.0,
        horizon: int | None = None,
    ) -> None:
        if neighborhood_policy is not None:
            raise UnsupportedError(
                "the learners are context-free: neighborhood_policy must be None"
            )
        labels = _check.hashable_labels("arms", arms)
        self.arms: list[Hashable] = list(labels)
        self.learning_policy, self.neighborhood_policy = learning_policy, None
        self.seed = entropy_of(_check.seed("seed", seed))
        self.n_jobs, self.backend = n_jobs, backend
        self.low, self.high = _check.reward_range(low, high)
        self.horizon = horizon
        self._numbers = {label: a for a, label in enumerate(labels)}
        self._fits = 0
        self._begin(self._new_stepper())
        admit(type(self))

    def fit(self, decisions: Any, rewards: Any, contexts: Any = None) -> None:
        """Forget everything and learn from these rows."""
        self._learn(decisions, rewards, contexts, afresh=True)

    def partial_fit(self, decisions: Any, rewards: Any, contexts: Any = None) -> None:
        """Learn from more rows, with or without a fit before."""
        self._learn(decisions, rewards, contexts, afresh=False)

    def predict(self, contexts: Any = None) -> Any:
        """Return the arm to play next; a list for several rows of contexts.

        The same arm is named until a reward comes. A list holds the decisions that follow
        one another if no reward comes in between.
        """
        n = _check.context_rows("contexts", contexts)
        if n == 1:
            return self.arms[self._stepper.choose()]
        return [self.arms[a] for a in self._stepper.ahead(n)]

    def predict_expectations(self, contexts: Any = None) -> Any:
        """Return each arm's sample mean, 0 for arms without data; a list for several rows.

        The arm to play next is ``predict()``, which is often not the one with the best mean.
        """
        n = _check.context_rows("contexts", contexts)
        return self.arm_to_expectation if n == 1 else [self.arm_to_expectation for _ in range(n)]

    def certificate(self) -> Certificate:
        """Return what is certain of every active arm: see the module's text."""
        names: tuple[Any, ...] = tuple(self.active)
        return self._stepper.certificate()._replace(active=names)

    @property
    def active(self) -> list[Hashable]:
        """The arms still in play."""
        return [self.arms[a] for a in self._stepper.player.active]

    @property
    def cold_arms(self) -> list[Hashable]:
        """The arms without data."""
        return [arm for arm, n in zip(self.arms, self._count, strict=True) if n == 0]

    @property
    def arm_to_expectation(self) -> dict[Hashable, float]:
        """Each arm's sample mean, 0 for arms without data."""
        means = self._sum / np.maximum(self._count, 1)
        return dict(zip(self.arms, means.tolist(), strict=True))

    def add_arm(self, arm: Any, binarizer: Any = None) -> None:
        """Refuse: the guarantee is about all arms from the start."""
        raise UnsupportedError("arms are fixed from the start; make a new MAB")

    def remove_arm(self, arm: Any) -> None:
        """Refuse: the guarantee is about all arms from the start."""
        raise UnsupportedError("arms are fixed from the start; make a new MAB")

    def warm_start(self, arm_to_features: Any, distance_quantile: float) -> None:
        """Refuse: data of one arm says nothing of another."""
        raise UnsupportedError("an arm is judged by its own rewards alone")

    @property
    def _imp(self) -> MAB:  # the Simulator looks for the expectations there
        return self

    def _new_stepper(self) -> Stepper:
        from uli_fast.compat._stepper import stepper_of

        words = np.random.SeedSequence(self.seed, spawn_key=(self._fits,)).generate_state(4)
        seed = int.from_bytes(words.tobytes(), "little")
        about = (self.low, self.high, seed, self.horizon, "learning_policy")
        return stepper_of(self.learning_policy, len(self.arms), *about)

    def _begin(self, stepper: Stepper) -> None:
        self._stepper = stepper
        self._count: I64 = np.zeros(len(self.arms), np.int64)
        self._sum: F64 = np.zeros(len(self.arms))
        self._fits += 1

    def _learn(self, decisions: Any, rewards: Any, contexts: Any, afresh: bool) -> None:
        if contexts is not None:
            raise UnsupportedError("the learners are context-free: contexts must be None")
        arms, values = _check.log_rows(decisions, rewards, self._numbers, self.low, self.high)
        stepper = self._new_stepper() if afresh and self._count.any() else self._stepper
        stepper.accepts(arms)
        if stepper is not self._stepper:
            self._begin(stepper)
        if arms.size == 1:
            stepper.learn(int(arms[0]), values[0])
            self._count[arms] += 1
            self._sum[arms] += values
            return
        stepper.learn_rows(arms, values)
        self._count += np.bincount(arms, minlength=len(self.arms))
        np.add.at(self._sum, arms, values)


def admit(kind: type[MAB]) -> None:
    """Make MABWiser's Simulator take such objects, if it is loaded: it asks for a BaseMAB."""
    base = sys.modules.get("mabwiser.base_mab")
    if base is not None:
        base.BaseMAB.register(kind)
