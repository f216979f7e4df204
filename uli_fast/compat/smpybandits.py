"""Policies for SMPyBandits: ``startGame()``, ``choice()``, ``getReward(arm, reward)``.

Its Evaluator deep-copies one policy for every repetition. A generator kept in the policy
would repeat one stream, so a game takes its seed from the global ``np.random``, as the
library's own policies do: repetitions differ, and a seed set there repeats them all.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._registry import learners
from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, UliError, UnsupportedError
from uli_fast.learners._arms import ArmLearner
from uli_fast.learners._kinds import arm_learner

if TYPE_CHECKING:
    from uli_fast.compat._stepper import Stepper
    from uli_fast.players._certificate import Certificate

# Every learner that its parameters describe is here under its own name, as a class of policies.
NAMED = learners(kind="arms", live=True, plain=True)
__all__ = ["Policy", "policy", *NAMED]


def __getattr__(name: str) -> type[Policy]:
    if name not in NAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    row = NAMED[name]
    said = f"{row.what}: see :class:`uli_fast.{name}`."
    body = {"made_of": row.load()(), "__doc__": said, "__module__": __name__}
    kind: type[Policy] = type(name, (Policy,), body)
    globals()[name] = kind
    return kind


def __dir__() -> list[str]:
    return __all__


class Policy:
    """A learner as SMPyBandits drives it.

    Parameters
    ----------
    nbArms
        Number of arms.
    lower, amplitude
        Rewards lie in [lower, lower + amplitude]; ``-inf, inf`` if they are unbounded, with
        a suitable ``R``. A reward outside is refused, for nothing is proved then.
    horizon
        Rounds of a game, for learners tuned to it (``Exp3P``).
    **params
        The learner's own: ``delta``, ``R``, ``base`` ...

    Attributes
    ----------
    t, pulls, rewards
        Rounds, pulls of each arm, and their sums of rewards on the unit scale.
    """

    learner: ArmLearner
    made_of: ClassVar[Any] = None  # the learner whose parameters are the defaults

    def __init__(
        self,
        nbArms: int,
        lower: float = 0.0,
        amplitude: float = 1.0,
        horizon: int | None = None,
        **params: Any,
    ) -> None:
        if self.made_of is None:
            raise UliError("Policy is made by policy(learner)")
        self.nbArms = _check.whole("nbArms", nbArms, most=_check.MOST_ARMS)
        self.lower, self.amplitude = lower, amplitude
        if lower == -math.inf and amplitude == math.inf:
            self._low, self._high = -math.inf, math.inf
        else:
            self.lower = _check.number("lower", lower)
            self.amplitude = _check.positive("amplitude", amplitude)
            self._low, self._high = self.lower, self.lower + self.amplitude
        self.horizon = None if horizon is None else _check.horizon("horizon", horizon)
        known = [field.name for field in fields(self.made_of)]
        for name in params:
            if name not in known:
                raise ArgumentError(name, f"is not a parameter of {self.made_of!r}")
        self.learner = replace(self.made_of, **params)
        self.t = -1
        self.pulls: I64 = np.zeros(self.nbArms, np.int64)
        self.rewards: F64 = np.zeros(self.nbArms)
        self._stepper: Stepper | None = None

    def startGame(self) -> None:  # noqa: N802
        """Forget everything; learners that draw at random take a new seed."""
        from uli_fast.compat._stepper import DrawingStepper, stepper_of

        stepper = stepper_of(self.learner, self.nbArms, self._low, self._high, 0, self.horizon)
        if isinstance(stepper, DrawingStepper):
            seed = fresh_seed()
            stepper = stepper_of(
                self.learner, self.nbArms, self._low, self._high, seed, self.horizon
            )
        self._stepper = stepper
        self.t = 0
        self.pulls.fill(0)
        self.rewards.fill(0.0)

    def choice(self) -> int:
        """Return the arm to play; the same one until its reward comes."""
        return self._playing().choose()

    def getReward(self, arm: int, reward: float) -> None:  # noqa: N802
        """Take in a reward."""
        a = _check.index("arm", arm, self.nbArms)
        self.rewards[a] += self._playing().learn(a, reward)
        self.pulls[a] += 1
        self.t += 1

    def estimatedOrder(self) -> I64:  # noqa: N802
        """Return the arms by increasing sample mean."""
        return np.argsort(self.rewards / np.maximum(self.pulls, 1), kind="stable")

    def estimatedBestArms(self, M: int = 1) -> I64:  # noqa: N802
        """Return the M arms with the best sample means."""
        return self.estimatedOrder()[-_check.whole("M", M, most=self.nbArms) :]

    def choiceWithRank(self, rank: int = 1) -> int:  # noqa: N802
        """Return ``choice()`` for rank 1; there are no other ranks."""
        return self._only(rank == 1)

    def choiceFromSubSet(self, availableArms: Any = "all") -> int:  # noqa: N802
        """Return ``choice()`` from all arms; a subset of the day has no guarantee."""
        return self._only(isinstance(availableArms, str) and availableArms == "all")

    def choiceMultiple(self, nb: int = 1) -> I64:  # noqa: N802
        """Return ``choice()`` as an array; there is one play a round."""
        return np.array([self._only(nb == 1)])

    def choiceIMP(self, nb: int = 1, startWithChoiceMultiple: bool = True) -> I64:  # noqa: N802
        """Return ``choice()`` as an array; there is one play a round."""
        return self.choiceMultiple(nb)

    def certificate(self) -> Certificate:
        """Return what is certain of every active arm, in units of reward."""
        return self._playing().certificate()

    def _playing(self) -> Stepper:
        if self._stepper is None:
            raise UliError("no game has been started: call startGame() first")
        return self._stepper

    def _only(self, possible: bool) -> int:
        if not possible:
            raise UnsupportedError(f"{self} chooses one arm out of all")
        return self.choice()

    def __str__(self) -> str:
        return repr(self.learner)

    def __reduce__(self) -> Any:
        # Classes that policy() makes are not found by name.
        named = globals().get(type(self).__name__) is type(self)
        return _revived, (type(self) if named else self.made_of, dict(vars(self)))


@cache
def policy(learner: Any) -> type[Policy]:
    """Return a class of policies for ``{"archtype": policy(learner), "params": {}}``.

    Its parameters default to those of the learner, any learner on K arms.
    """
    arm_learner("learner", learner)
    return type(type(learner).__name__, (Policy,), {"made_of": learner, "__doc__": Policy.__doc__})


def _revived(origin: Any, values: dict[str, Any]) -> Policy:
    kind: type[Policy] = origin if isinstance(origin, type) else policy(origin)
    result = kind.__new__(kind)
    vars(result).update(values)
    return result


def fresh_seed() -> int:
    """Return 128 bits of the stream that the Evaluator seeds."""
    words = np.random.randint(0, 2**32, size=4, dtype=np.uint32)  # noqa: NPY002
    return int.from_bytes(words.tobytes(), "little")
