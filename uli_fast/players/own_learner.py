"""Live decisions of a learner of the user's own.

What the user's code knows cannot be looked into, so it is never saved: decisions and outcomes are,
with how many were settled at each decision. They are all it takes to bring the same code, with a
generator of the same seed, to where it was: after ``restore``, after a deep copy, and after a call
into the user's code that failed, of which nothing then remains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64
from uli_fast.errors import NoGuaranteeError
from uli_fast.players._arms import Decision, Player
from uli_fast.players._certificate import Certificate
from uli_fast.players._saved_states import contradicts


class OwnPlayer(Player):
    """Asks the user's code which arm to play, and tells it the rewards."""

    learner: Any
    forgets: ClassVar[bool] = False
    chooses_again: ClassVar[bool] = True

    def __init__(self, learner: Any, labels: Labels, low: float, high: float, seed: int) -> None:
        super().__init__(learner, labels, low, high)
        self.seed = seed
        self.rng: Any = None
        self._mind: Any = None  # what the user's code knows; None: to be brought there again

    @property
    def mind(self) -> Any:
        """What the user's code knows of all that is settled."""
        if self._mind is None and len(self.queue):
            fresh = type(self)(self.learner, self.labels, self.low, self.high, self.seed)
            fresh.follow(self)
            self.adopt(fresh)
        elif self._mind is None:
            self.rng = np.random.Generator(np.random.PCG64(self.seed))
            self._mind = self.learner.begun(len(self.labels), self.rng)
        return self._mind

    def adopt(self, fresh: Any) -> None:
        """Take over what the user's code knows."""
        self._mind, self.rng = fresh.mind, fresh.rng

    def _repeat(self, decision: int, outcome: float | None) -> None:
        t = len(self.queue) + 1
        if self.learner.chosen(self.mind.choose(t), len(self.labels), t)[0] != decision:
            raise contradicts(
                f"decision {t} is not what {self.learner.title} chooses; does it draw from "
                "anything but its rng?"
            )
        self._note(decision)

    def _ask(self) -> Decision:
        mind, t = self.mind, len(self.queue) + 1
        before = self.rng.bit_generator.state
        try:
            a, probability = self.learner.chosen(mind.choose(t), len(self.labels), t)
        except BaseException:  # Ctrl-C too: nobody knows how far the user's code has come
            self._start_over()
            raise
        if probability is None:
            drawn = self.rng.bit_generator.state != before
            probability = math.nan if drawn else 1.0
        self._note(a)
        return Decision(len(self.queue), self.labels[a], probability)

    def _start_over(self) -> None:
        self._mind = None

    def tell(self, id: int, reward: float) -> None:
        """Give the reward of a decision; code that fails leaves everything as it was."""
        with self._undone_if_it_fails(id):
            super().tell(id, reward)

    def tell_missing(self, id: int, reason: str) -> None:
        """Say that a reward will never come: it is left out, and the learner is not told."""
        with self._undone_if_it_fails(id):
            super().tell_missing(id, reason)

    def _take_in(self, a: int, reward: float | None) -> None:
        """Apply what became of the next decision: rewards are told as they are."""
        if reward is None:
            self.tally.omitted[a] += 1
            return
        self.tally.largest[0] = max(self.largest, abs(reward))
        if self._mind is not None:
            self._mind.update(a, reward)
        self.count(a, self._unit(reward))

    def certificate(self) -> Certificate:
        """Raise NoGuaranteeError: nothing is known about the arms that it may still choose."""
        self.learner.guarantee(self.arms_info())
        raise NoGuaranteeError(
            f"{self.learner.title} claims a bound for the arm of each round, and does not say "
            "which arms it may still choose: nothing is certain about all of them"
        )

    def _unit_intervals(self) -> tuple[F64, F64]:
        unknown = np.full(len(self.labels), math.inf)
        return -unknown, unknown

    # Saving: what the user's code knows is left out, and brought there again.

    def decision(self, id: int, content: Mapping[str, Any]) -> Decision:
        """Return a decision as a file has it, which holds no NaN."""
        said = content["probability"]
        return Decision(id, content["arm"], math.nan if said is None else said)

    def forget(self) -> None:
        """Forget nothing: the user's code is brought to where it was by all of it."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_mind": None, "rng": None}

    def also_started_with(self) -> dict[str, Any]:
        """Return the seed."""
        return {"seed": self.seed}
