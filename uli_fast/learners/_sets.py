"""What learners on arm sets share: blocks of plays, and the run that makes them.

A block is an arm and the consecutive rounds in which it is played. Everything a run
on infinitely many arms has to remember is its list of blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from uli_fast._typing import F64
from uli_fast.guarantees import Guarantee
from uli_fast.learners._arms import guarantee_or_warning

if TYPE_CHECKING:
    from uli_fast.players.spanner_elimination import SpannerPlayer


class Block(NamedTuple):
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

    blocks: list[Block] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)


class SetRun(Protocol):
    """One replication in progress."""

    log: BlockLog
    t: int

    def advance(self) -> bool:
        """Play a phase and say whether the horizon is reached."""


class SetLearner:
    """A learner on an arm set; subclasses are frozen dataclasses."""

    delta: float
    engines: ClassVar[tuple[str, ...]] = ("skip", "rounds")
    baseline: ClassVar[bool] = False

    def engines_for(self, problem: Any) -> tuple[str, ...]:
        """Return the engines that can play this problem, the preferred one first."""
        return tuple(e for e in self.engines if e != "skip" or problem.has_block_law)

    def check(self, problem: Any, horizon: int) -> None:
        """Refuse a problem or a horizon that this learner cannot play."""

    def guarantee(self, about: Any) -> Guarantee:
        """Return the bound for a problem, an arm set or (K, d)."""
        raise NotImplementedError

    def guarantee_if_any(self, about: Any) -> Guarantee | None:
        """Return the bound, or None with a warning where the proof does not apply."""
        return guarantee_or_warning(self.guarantee, about)

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

    def begin(self, problem: Any, rng: np.random.Generator, engine: str, horizon: int) -> SetRun:
        """Allocate one replication."""
        raise NotImplementedError
