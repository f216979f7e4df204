"""What learners on arm sets share: blocks of plays, and the run that makes them.

A block is an arm and the consecutive rounds in which it is played. Everything a run
on infinitely many arms has to remember is its list of blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from uli_fast import _check
from uli_fast._check import Bounds
from uli_fast._typing import F64, I64, U64
from uli_fast.learners._base import Learner
from uli_fast.learners._linear import noise_of
from uli_fast.learners._setting import LearnerSetting, about_of
from uli_fast.problems.linear import draw_mean

if TYPE_CHECKING:
    from uli_fast.players._sets import SetPlayer


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
    withdrawn: int = 0  # the round from which on F is not claimed, 0 if it is


class SetRun(Protocol):
    """One replication in progress."""

    log: BlockLog

    def advance(self, budget: int) -> bool:
        """Play a phase and say whether the horizon is reached."""

    @property
    def played(self) -> I64:
        """Rounds played, (1,)."""


class SetPhases(Protocol):
    """The phases of one run: arms to play, and what is learned from their mean rewards."""

    phase: int  # the one that was opened last
    numbers: list[int]  # of its arms, where they are finitely many; else -1

    @property
    def in_time(self) -> bool:
        """Whether F holds for the arms of this phase: what was learned is as good as planned."""

    def open(self) -> tuple[F64, int, Work]:
        """Begin the next phase; return its arms, the plays of each, and what that took."""

    def close(self, arms: F64, n: int, means: F64) -> None:
        """Learn from this phase's mean rewards, less the intercept."""


class PhaseRun:
    """One replication in progress, of a learner that plays each arm of a phase equally often."""

    def __init__(
        self, phases: SetPhases, problem: Any, words: U64, engine: str, horizon: int
    ) -> None:
        self.phases: Any = phases
        self.problem, self.engine, self.horizon = problem, engine, horizon
        self.law = problem.law(words, engine)
        self.t = 0
        self.log = BlockLog()

    @property
    def played(self) -> I64:
        """Rounds played, (1,)."""
        return np.array([self.t])

    def advance(self, budget: int = 1) -> bool:
        """Play a phase and say whether the horizon is reached."""
        arms, n, work = self.phases.open()
        self.log.work.append(work)
        if not self.phases.in_time and not self.log.withdrawn:
            self.log.withdrawn = self.t + 1
        means = []
        for arm, number in zip(arms, self.phases.numbers, strict=True):
            last = min(self.t + n, self.horizon)
            self.log.blocks.append(PlayBlock(self.phases.phase, self.t + 1, last, arm, number))
            self.t += n
            if self.t >= self.horizon:  # nothing is learned from a phase that is cut short
                return True
            means.append(draw_mean(self.problem, self.law, arm, number, n, self.engine))
        self.phases.close(arms, n, np.array(means))
        return False


class SetSetting(LearnerSetting):
    """A learner on an arm set; ``about`` is a linear bandit, or the arms."""

    @cached_property
    def R(self) -> float:
        """R of the noise, in reward units."""
        return noise_of(self.about, self.learner.R)

    @cached_property
    def known(self) -> Any:
        """The learner with R as a number."""
        return replace(self.learner, R=self.R)


class SetLearner(Learner):
    """A learner on an arm set; subclasses are frozen dataclasses."""

    R: float | None

    def plays_on(self, region: Any) -> bool:
        """Return whether this learner can play on an arm set."""
        return True

    def start(
        self,
        arms: Any,
        seed: int | None = None,
        horizon: int | None = None,
        low: float = -math.inf,
        high: float = math.inf,
        intercept: float = 0.0,
    ) -> SetPlayer:
        """Begin live decisions on an arm set."""
        raise NotImplementedError

    def on(self, about: Any) -> SetSetting:
        """Return this learner on a linear bandit, or on arms."""
        mine = isinstance(about, SetSetting) and about.learner is self
        return about if mine else SetSetting(self, about_of(about))

    def check(self, on: SetSetting, horizon: int) -> None:
        """Refuse unbounded rewards for which R is not given."""
        _ = on.R

    def resolved(self, bounds: Bounds) -> Self:
        """Return this learner with R as a number, from the declared range if it was not given."""
        return replace(self, R=_check.noise(self.R, bounds))  # type: ignore[type-var]

    def begin(self, on: SetSetting, words: U64, engine: str, horizon: int) -> SetRun:
        """Allocate one replication."""
        raise NotImplementedError
