"""What learners on arm sets share: blocks of plays, and the run that makes them.

A block is an arm and the consecutive rounds in which it is played. Everything a run
on infinitely many arms has to remember is its list of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from uli_fast._typing import F64, I64, U64
from uli_fast.errors import StateError
from uli_fast.learners._base import Learner

if TYPE_CHECKING:
    from uli_fast.players.spanner_elimination import SpannerPlayer


class PlayBlock(NamedTuple):
    """An arm and the rounds first..last in which it is played."""

    phase: int
    first: int
    last: int
    arm: F64  # (d,)
    number: int = -1  # of the arm, where they are finitely many


class Work(NamedTuple):
    """What a phase took."""

    oracle_calls: int
    swaps: int
    seconds: float


@dataclass
class BlockLog:
    """The blocks of one replication, and what each phase took."""

    blocks: list[PlayBlock] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)


class SetRun(Protocol):
    """One replication in progress."""

    log: BlockLog

    def advance(self, budget: int) -> bool:
        """Play a phase and say whether the horizon is reached."""

    @property
    def played(self) -> I64:
        """Rounds played, (1,)."""


class SetLearner(Learner):
    """A learner on an arm set; subclasses are frozen dataclasses."""

    def start(
        self,
        arms: Any,
        seed: int | None = None,
        horizon: int | None = None,
        low: float = -math.inf,
        high: float = math.inf,
        intercept: float = 0.0,
    ) -> SpannerPlayer:
        """Begin live decisions on an arm set."""
        raise NotImplementedError

    def starter(
        self, state: Mapping[str, Any], bounds: tuple[float, float], arms: Any
    ) -> Callable[[], SpannerPlayer]:
        """Return what starts a player as the one of a saved state was started."""
        if arms is None:
            raise StateError("arms", "must be given: the arm set is not in the state")
        low, high = bounds
        return partial(self.start, arms, low=low, high=high, intercept=state["intercept"])

    def begin(self, problem: Any, words: U64, engine: str, horizon: int) -> SetRun:
        """Allocate one replication."""
        raise NotImplementedError
