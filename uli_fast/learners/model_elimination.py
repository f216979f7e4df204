"""Elimination of actions on tabular MDPs by nested boxes of plausible models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, I64, U64, Play
from uli_fast.errors import ArgumentError, GuaranteeWarning, HorizonTooLargeError
from uli_fast.formulas.model_elimination import level_of
from uli_fast.guarantees import Guarantee, describe_model
from uli_fast.guarantees.model_boxes import ModelSize
from uli_fast.learners._parameters import checked, positive, probability, whole, word
from uli_fast.learners._policies.models import (
    KnownModel,
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
from uli_fast.learners._setting import PolicySetting
from uli_fast.problems import kinds
from uli_fast.problems.tabular_mdp import TabularMDP

if TYPE_CHECKING:
    from uli_fast.kernels.model_elimination import Rule
    from uli_fast.players.model_elimination import ModelPlayer

# Visits of a row, which 64-bit counters have to hold.
MOST_VISITS = 9 * 10**18
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

    The learner for tabular MDPs. Its proof is in docs/proofs_models.md, and docs/mdps.md says how
    soon it certifies what.

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

    Examples
    --------
    >>> import uli_fast as uli
    >>> river = uli.mdps.river_swim(n_states=3, horizon=4).restricted().with_known_structure()
    >>> learner = uli.ModelElimination(delta=0.1, pooled=True)
    >>> runs = uli.simulate(learner, river, horizon=10**6, seed=1)
    >>> print(runs.certificates[0, -1] < 0.01, runs.holds[0])
    True True
    >>> print(river.gap(runs.last_policy()) <= runs.certificates[0, -1])
    True
    """

    delta: float = probability(0.05)
    play: Play = word("deterministic", PLAYS)
    pooled: bool = checked(False, _check.flag)
    growth: float = positive(0.1)
    first: int = whole(16, most=_check.LARGEST_HORIZON)
    engines: ClassVar[tuple[str, ...]] = ("skip", "rounds")

    def guarantee(self, about: Any) -> Guarantee:
        """Return the promise F, before anything is played. Rounds are episodes.

        Parameters
        ----------
        about
            A TabularMDP, or (S, A, H): states, actions, stages.

        Returns
        -------
        Guarantee
            With ``bound(t)``, ``rounds_until(eps)`` and ``regret(T)``, in reward units.

        Raises
        ------
        NoGuaranteeError
            Nothing is proved for this case.
        """
        return self.guarantee_for(*self.on(about).size)

    def guarantee_for(self, size: ModelSize, scale: float) -> Guarantee:
        """Return F_ULI for an MDP of which this is unknown, and these reward units."""
        parameters = size.parameters(self.growth, self.first)
        return Guarantee(f"MODEL-{self.play}", self.delta, parameters, scale)

    def read(self, about: Any) -> tuple[ModelSize, float]:
        """Read what is unknown of a TabularMDP, or of one with (S, A, H), and its reward units."""
        return describe_model(about, self.pooled)

    def check(self, on: PolicySetting, horizon: int) -> None:
        """Refuse to pool what changes with the stage, and more visits than can be counted."""
        problem = on.about
        P = problem.transitions[:-1]  # what comes after the last stage does not matter
        if self.pooled and (P != P[:1]).any():
            raise ArgumentError("pooled", f"must be False: {problem!r} changes with the stage")
        if self.pooled and (problem.horizon - 1) * horizon > MOST_VISITS:
            most = MOST_VISITS // (problem.horizon - 1)
            raise HorizonTooLargeError(
                "horizon", f"must be at most {most} where visits of all stages are pooled"
            )

    def start(
        self,
        rewards: Any,
        initial_support: Any = None,
        low: float = 0.0,
        high: float = 1.0,
        decision_points: Any = None,
        successors: Any = None,
        seed: int | None = None,
        horizon: int | None = None,
    ) -> ModelPlayer:
        """Begin live episodes of an MDP whose transitions are not known; decisions are policies.

        Nothing is drawn at random here, so ``seed`` changes nothing.

        Parameters
        ----------
        rewards
            Rewards, (H, S, A), known and within [low, high]; or (S, A) and ``horizon``.
        initial_support
            The states in which an episode may begin; by default all.
        low, high
            Range of the rewards.
        decision_points
            Mask (H, S): where an action is to be decided, as in TabularMDP; elsewhere it is 0.
            That this costs nothing (no episode passes there, or all actions do the same) is your
            knowledge, and certificates say so. A mask that the rewards contradict is refused;
            one that an episode contradicts certifies nothing from then on.
        successors
            Mask (H, S, A, S), or (S, A, S) for all stages: which states may follow; by default
            all. An episode that goes elsewhere is refused, also after its last stage, where
            that is told.
        horizon
            Stages H of an episode, where the rewards do not say.
        """
        from uli_fast.players.model_elimination import ModelPlayer

        _check.unused(seed, None)
        low, high = _check.interval(low, high)
        if kinds.is_mdp(rewards):
            raise ArgumentError(
                "rewards", "must be an array of numbers, got TabularMDP: give mdp.rewards"
            )
        repeated = _check.repeated_rewards("rewards", rewards, horizon)
        table = _check.stage_rewards("rewards", repeated, low, high)
        H, S, A = table.shape
        support = _check.initial_mask("initial_support", initial_support, S)
        points = _check.decision_points("decision_points", decision_points, np.full((H, S), True))
        known = KnownModel(
            table,
            np.full(S, True) if support is None else support,
            points,
            _check.successor_mask("successors", successors, (H, S, A)),
        )
        about = (known.initial_support, known.successors)
        _check.kept_choices("decision_points", points, table, *about)
        return ModelPlayer(self, known, low, high)

    def start_on(self, mdp: TabularMDP) -> ModelPlayer:
        """Begin live episodes of an MDP; of its probabilities only what masks say is used."""
        known = (mdp.decision_points, mdp.successors)
        return self.start(mdp.rewards, mdp.initial_support, mdp.low, mdp.high, *known)

    def begin(
        self,
        on: PolicySetting,
        words: U64,
        engine: str,
        horizon: int,
        rounds: I64,
    ) -> ModelRun:
        """Allocate one replication."""
        run = ModelRun(on, horizon, rounds)
        run.prepare(words, engine)
        return run

    def rule(self, size: ModelSize) -> Rule:
        """Return the parameters as kernels have them, for an MDP of which this is unknown."""
        from uli_fast.kernels.model_elimination import Rule

        return Rule(
            level_of(size.entries, self.delta),
            self.growth,
            float(self.first),
            self.play == "stochastic",
        )


def first_facts(H: int) -> tuple[float, ...]:
    """Return what is known before the first look: certificate, width, upper, lower value, gap."""
    return H, math.inf, H, 0.0, 0.0


class ModelRun(PolicyRun):
    """One replication in progress, look by look."""

    def __post_init__(self) -> None:
        self.policy_log = new_policy_log(self.problem, self.rounds)

    def prepare(self, words: U64, engine: str) -> None:
        """Begin with every model that is possible, and every action."""
        from uli_fast.kernels import model_elimination as kernel

        learner, problem = self.on.learner, self.problem
        H, S, A = problem.rewards.shape
        rows, law = rows_of(problem, learner.pooled), problem.law(words)
        self.source = words
        self.skip = engine == "skip"
        self.boxes = new_boxes(rows)
        allowed = allowed_actions(problem.decision_points, A)
        self.view = new_view(problem.unit_rewards, allowed)
        self.choice = new_choice((H, S, A))
        size, _ = self.on.size
        self.rule = learner.rule(size)
        facts = np.zeros((FIRST_LOOKS, kernel.FACTS))
        facts[0] = first_facts(H)
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
