"""Elimination of actions on tabular MDPs by nested boxes of plausible models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, I64, U64, Play
from uli_fast.errors import ArgumentError, GuaranteeWarning, UnsupportedError
from uli_fast.guarantees import Guarantee, describe_model
from uli_fast.guarantees.model_boxes import log_term
from uli_fast.learners._policies.models import (
    allowed_actions,
    new_boxes,
    new_choice,
    new_view,
    rows_of,
)
from uli_fast.learners._policies.runs import (
    LookLog,
    PolicyLearner,
    PolicyRun,
    new_policy_log,
)
from uli_fast.problems.tabular_mdp import TabularMDP

PLAYS = ("deterministic", "stochastic")
# Looks that a run has room for at first.
FIRST_LOOKS = 256
EMPTY = (
    "a box of plausible transition laws is empty: what was seen contradicts itself, an event of "
    "probability below delta; the run goes on, and certifies nothing from then on (runs.empty_at)"
)


@dataclass(frozen=True)
class ModelElimination(PolicyLearner):
    """Keep every model that is still plausible; drop the actions that are worse in all of them.

    With probability 1 - delta the policy of every episode has a gap of at most the certificate of
    that episode, and of at most F(t), for MDPs of any size: a choice takes a few backward
    inductions. To our knowledge it is the first algorithm with a proven uniform last-iterate
    guarantee for tabular MDPs whose time per episode is polynomial.

    Parameters
    ----------
    delta
        Probability with which the guarantee may fail.
    play
        "deterministic": explore with the policy of the actions left that is least known.
        "stochastic": only where a policy may still be optimal; what is played draws its actions,
        and its gap is that of the stochastic policy.
    pooled
        Whether the law of next states is the same at every stage, so that visits at all stages
        are counted together.
    growth, first
        A policy is played until a count may have grown by ``growth`` times itself and ``first``.
    """

    delta: float = 0.05
    play: Play = "deterministic"
    pooled: bool = False
    growth: float = 0.1
    first: int = 16
    engines: ClassVar[tuple[str, ...]] = ("skip", "rounds")

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _check.in_open_unit("delta", self.delta))
        _check.one_of("play", self.play, PLAYS)
        object.__setattr__(self, "pooled", _check.flag("pooled", self.pooled))
        object.__setattr__(self, "growth", _check.positive("growth", self.growth))
        object.__setattr__(self, "first", _check.whole("first", self.first))

    def guarantee(self, about: Any) -> Guarantee:
        """Return F_ULI for a TabularMDP or (S, A, H)."""
        size, scale = describe_model(about, self.pooled)
        parameters = size.parameters(self.growth, self.first)
        return Guarantee(f"MODEL-{self.play}", self.delta, parameters, scale)

    def check(self, problem: Any, horizon: int) -> None:
        """Refuse to pool what changes with the stage."""
        P = problem.transitions[:-1]  # what comes after the last stage does not matter
        if self.pooled and (P != P[:1]).any():
            raise ArgumentError("pooled", f"must be False: {problem!r} changes with the stage")

    def start(self, *about: Any, **more: Any) -> NoReturn:
        """Raise UnsupportedError: there is no live player yet."""
        raise UnsupportedError("ModelElimination has no live player; PolicyElimination has one")

    def begin(
        self,
        problem: TabularMDP,
        words: U64,
        engine: str,
        horizon: int,
        rounds: I64,
    ) -> ModelRun:
        """Allocate one replication."""
        run = ModelRun(self, problem, horizon, rounds)
        run.prepare(words, engine)
        return run

    def log_term(self, problem: TabularMDP) -> float:
        """Return log(2 M / delta_1), M being the number of unknown probabilities."""
        size, _ = describe_model(problem, self.pooled)
        return float(log_term(np.ones(1), size.entries, self.delta)[0])


class ModelRun(PolicyRun):
    """One replication in progress, look by look."""

    def __post_init__(self) -> None:
        self.policy_log = new_policy_log(self.problem, self.rounds)

    def prepare(self, words: U64, engine: str) -> None:
        """Begin with every model that is possible, and every action."""
        from uli_fast.kernels import model_elimination as kernel

        learner, problem = self.learner, self.problem
        H, S, A = problem.rewards.shape
        rows, law = rows_of(problem, learner.pooled), problem.law(words)
        self.source = words
        self.skip = engine == "skip"
        self.boxes = new_boxes(rows)
        allowed = allowed_actions(problem.decision_points, A)
        self.view = new_view(problem.unit_rewards, allowed)
        self.choice = new_choice((H, S, A))
        self.rule = kernel.Rule(
            learner.log_term(problem),
            learner.growth,
            float(learner.first),
            learner.play == "stochastic",
        )
        facts = np.zeros((FIRST_LOOKS, kernel.FACTS))
        facts[0] = H, math.inf, H, 0.0, 0.0  # certificate, width, upper, lower value, gap
        self.course = kernel.ModelCourse(
            clock=np.array([0, 0, 0, self.horizon]),
            bad=np.zeros(2, np.int64),
            first=np.zeros(FIRST_LOOKS, np.int64),
            facts=facts,
            visits=np.zeros((H, S, A), np.int64),
            here=np.zeros((3, max(S, rows.to.shape[1])), np.int64),
            P=rows.flat(problem.initial, problem.transitions),
            cdf=rows.flat(law.start, law.cdf),
        )
        self.visits = self.course.visits

    def advance(self, budget: int) -> bool:
        """Make about ``budget`` looks, or play so many episodes one by one."""
        from uli_fast.kernels.model_elimination import NO_ROOM, play

        state = (self.boxes, self.view, self.choice, self.rule, self.course)
        if play(*state, self.policy_log, self.source, budget, self.skip) == NO_ROOM:
            self.make_room()
        self.t = int(self.course.clock[0])
        if self.course.bad[0] > 0 and self.complaint is None:
            self.complaint, self.warning = EMPTY, GuaranteeWarning
        return self.t == self.horizon

    def make_room(self) -> None:
        """Double what is full."""
        if self.policy_log.size[0] == len(self.policy_log.plays):
            super().make_room()
        if self.course.clock[2] == len(self.course.first):
            first, facts = (np.concatenate([x, np.zeros_like(x)]) for x in self.course[2:4])
            self.course = self.course._replace(first=first, facts=facts)

    def look_log(self) -> LookLog:
        """Return what every look said, and what came of the actions."""
        n, course, view = int(self.course.clock[2]), self.course, self.view
        left: B1 = view.left
        mixed = self.rule.stochastic
        bad = course.bad
        return LookLog(
            course.first[:n], course.facts[:n], left, view.dropped, int(bad[0]), bad[1] == 0, mixed
        )
