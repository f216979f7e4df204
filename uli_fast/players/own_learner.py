"""Live decisions of a learner of the user's own.

What the user's code knows cannot be looked into, so it is never saved: decisions and outcomes are,
with how many were settled at each decision. They are all it takes to bring the same code, with a
generator of the same seed, to where it was: after ``restore``, after a deep copy, and after a call
into the user's code that failed, of which nothing then remains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._check import Labels
from uli_fast._typing import F64
from uli_fast.errors import NoGuaranteeError, StateError
from uli_fast.players._arms import Decision, Player
from uli_fast.players._certificate import Certificate


class OwnPlayer(Player):
    """Asks the user's code which arm to play, and tells it the rewards."""

    learner: Any
    forgets: ClassVar[bool] = False

    def __init__(self, learner: Any, labels: Labels, low: float, high: float, seed: int) -> None:
        super().__init__(learner, labels, low, high)
        self.seed = seed
        self.seen: list[int] = []  # decisions that were settled when each was made
        self.rng: Any = None
        self._mind: Any = None  # what the user's code knows; None: to be brought there again

    @property
    def mind(self) -> Any:
        """What the user's code knows of all that is settled."""
        if self._mind is None:
            self._mind = self._remade()
        return self._mind

    def _remade(self) -> Any:
        """Let the user's code choose and learn all of it again."""
        self.rng = np.random.Generator(np.random.PCG64(self.seed))
        K, queue, told = len(self.labels), self.queue, 0
        mind = self.learner.begun(K, self.rng)
        for i, (arm, seen) in enumerate(zip(queue.decisions, self.seen, strict=True)):
            told = self._taught(mind, told, seen)
            if self.learner.chosen(mind.choose(i + 1), K, i + 1)[0] != arm:
                raise StateError(
                    "state",
                    f"contradicts itself: decision {i + 1} is not what {self.learner.title} "
                    "chooses; does it draw from anything but its rng?",
                )
        self._taught(mind, told, queue.settled)
        return mind

    def _taught(self, mind: Any, start: int, end: int) -> int:
        for a, reward in zip(
            self.queue.decisions[start:end], self.queue.outcomes[start:end], strict=True
        ):
            if reward is not None:
                mind.update(a, reward)
        return max(start, end)

    def _ask(self) -> Decision:
        mind, t = self.mind, len(self.queue) + 1
        before = self.rng.bit_generator.state
        with self._anew_if_it_fails():
            a, probability = self.learner.chosen(mind.choose(t), len(self.labels), t)
        if probability is None:
            drawn = self.rng.bit_generator.state != before
            probability = math.nan if drawn else 1.0
        self.seen.append(self.queue.settled)
        self.asked[a] += 1
        return Decision(self.queue.add(a), self.labels[a], probability)

    @contextmanager
    def _anew_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except BaseException:  # Ctrl-C too: nobody knows how far the user's code has come
            self._mind = None
            raise

    def tell(self, id: int, reward: float) -> None:
        """Give the reward of a decision; code that fails leaves everything as it was."""
        with self._undone_if_it_fails(id):
            super().tell(id, reward)

    def tell_missing(self, id: int, reason: str) -> None:
        """Say that a reward will never come: it is left out, and the learner is not told."""
        with self._undone_if_it_fails(id):
            super().tell_missing(id, reason)

    @contextmanager
    def _undone_if_it_fails(self, id: int) -> Iterator[None]:
        before, settled = [array.copy() for array in self.arm_state], self.queue.settled
        omitted, largest = self._omitted.copy(), self.largest
        try:
            yield
        except BaseException:
            if self.queue.settled != settled:  # the outcome was taken in and the code failed
                self._mind = None
                self.queue.take_back(id - 1, settled)
                self._omitted[:], self.largest = omitted, largest
                for array, old in zip(self.arm_state, before, strict=True):
                    array[:] = old
            raise

    def _take_in(self, a: int, reward: float | None) -> None:
        """Apply what became of the next decision: rewards are told as they are."""
        if reward is None:
            self._omitted[a] += 1
            return
        self.largest = max(self.largest, abs(reward))
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

    def _extra(self) -> dict[str, Any]:
        return {"seed": self.seed, "seen": list(self.seen)}

    def _load_extra(self, extra: Mapping[str, Any]) -> None:
        self.seen = [_check.whole("seen", x, least=0) for x in extra["seen"]]
        consistent = (
            len(self.seen) == len(self.queue.decisions)
            and all(x <= min(i, self.queue.settled) for i, x in enumerate(self.seen))
            and self.seen == sorted(self.seen)
        )
        if not consistent:
            raise StateError("state", "contradicts itself: draws and decisions differ")

    def retrace(self, other: Any) -> None:
        """Choose and learn again all that another player of the same seed did."""
        self.seen = list(other.seen)
        super().retrace(other)
        _ = self.mind

    def adopt(self, fresh: Any, saved: Mapping[str, Any]) -> None:
        """Take over what the user's code knows."""
        self._mind, self.rng = fresh.mind, fresh.rng
