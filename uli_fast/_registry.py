"""The ONE list of learners, problems and arm sets: where each is, and what it has.

Public names, experiment files, saved players and studies, ``uli doctor``, plans, adapters and the
tests read it. A row holds facts alone: reading them imports nothing, ``load`` imports the class.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol

# What decisions are: one of K arms, one of K vectors, a point of a set, a policy of an MDP.
Kind = Literal["arms", "vectors", "set", "policies"]


class RegistryRow(Protocol):
    """Something public: its name, and its module below ``uli_fast``."""

    @property
    def name(self) -> str:
        """The name."""

    @property
    def module(self) -> str:
        """The module."""

    def load(self) -> Any:
        """Return the class or function of that name."""


def _load(row: RegistryRow) -> Any:
    return getattr(importlib.import_module(f"uli_fast.{row.module}"), row.name)


# Rows are tuples: a dataclass would take longer to import than all of the package.


class LearnerRow(NamedTuple):
    """A learner, the kind of its decisions, and what it is in a few words."""

    name: str
    module: str
    kind: Kind
    what: str
    live: bool = True  # has a player
    plain: bool = True  # its parameters can be written to JSON and TOML
    usual: bool = False  # compared in plans, unless told otherwise
    base: bool = False  # one that MetaElimination can run in its phases
    draws: bool = False  # decisions are drawn at random
    ahead: bool = True  # can be asked again while a reward is awaited
    tuned: bool = False  # plays otherwise for another horizon
    # The names of its proved bounds, which are in guarantees/x.py for the stem x.
    bounds: tuple[str, ...] = ()
    instead: str = "none"  # what one without them promises
    # Parameters, as experiment files have them, with which a short run shows what it does.
    examples: tuple[Mapping[str, Any], ...] = ({},)

    @property
    def stem(self) -> str:
        """The name of its files."""
        return self.module.rpartition(".")[2]

    def load(self) -> Any:
        """Return the class."""
        return _load(self)


class ProblemRow(NamedTuple):
    """A problem, and the kind of decisions that are made on it."""

    name: str
    module: str
    kind: Kind

    def load(self) -> Any:
        """Return the class, or the function that makes one."""
        return _load(self)


class ArmSetRow(NamedTuple):
    """An arm set."""

    name: str
    module: str
    plain: bool = True  # its parameters can be written to JSON and TOML
    sized: bool = False  # there is one for every dimension, with arms of norm at most 1

    def load(self) -> Any:
        """Return the class."""
        return _load(self)


# In the order in which they are listed and compared: those that drop arms first, and the one
# that is recommended at the head.
LEARNERS = (
    LearnerRow(
        "BettingElimination",
        "learners.betting_elimination",
        "arms",
        "Elimination by betting",
        bounds=("BET",),
        usual=True,
    ),
    LearnerRow(
        "SuccessiveElimination",
        "learners.successive_elimination",
        "arms",
        "SE-MAB",
        bounds=("SE-MAB", "SE-MAB-schedule"),
        usual=True,
    ),
    LearnerRow(
        "PhasedElimination",
        "learners.phased_elimination",
        "arms",
        "PE-MAB",
        bounds=("PE-MAB", "PE-MAB-schedule"),
        usual=True,
    ),
    LearnerRow(
        "KLUCB",
        "learners.kl_ucb",
        "arms",
        "The sharpest optimistic rival",
        usual=True,
        examples=({}, {"R": 0.5}),  # for coins, for Gaussian rewards
    ),
    LearnerRow(
        "ThompsonSampling",
        "learners.thompson_sampling",
        "arms",
        "The rival that draws its decisions",
        usual=True,
        draws=True,
        examples=({}, {"R": 0.5}),  # for coins, for Gaussian rewards
    ),
    LearnerRow(
        "UCB",
        "learners.ucb",
        "arms",
        "The optimistic rival",
        usual=True,
    ),
    LearnerRow(
        "LilUCB",
        "learners.lil_ucb",
        "arms",
        "The optimistic rival that settles",
        usual=True,
    ),
    LearnerRow(
        "EliminationFramework",
        "learners.elimination_framework",
        "arms",
        "Elimination by a rule of one's own",
        instead="your claim beta f(delta, t), checked at every round",
        plain=False,
    ),
    LearnerRow(
        "OwnLearner",
        "learners.own_learner",
        "arms",
        "A learner of one's own",
        instead="none, or your claim, checked at every round",
        plain=False,
        draws=True,
    ),
    LearnerRow(
        "MetaElimination",
        "learners.meta_elimination",
        "arms",
        "Elimination over an adversarial base",
        bounds=tuple(
            f"META-{base}{form}"
            for form in ("", "-schedule")
            for base in ("Exp3P", "GeometricHedge", "GeometricHedge-unbounded")
        ),
        draws=True,
        examples=(  # small constants make arms fall early
            {"base": {"type": "Exp3P", "constant": 0.01}},
            {"base": {"type": "GeometricHedge", "constant": 0.005}},
            {"base": {"type": "Scrible", "constant": 0.0003}},
        ),
    ),
    LearnerRow(
        "Exp3P",
        "learners.exp3p",
        "arms",
        "An adversarial baseline, tuned to ``horizon``",
        base=True,
        draws=True,
        tuned=True,
    ),
    LearnerRow(
        "GeometricHedge",
        "learners.geometric_hedge",
        "vectors",
        "An adversarial baseline on vectors, tuned to ``horizon``",
        base=True,
        draws=True,
        tuned=True,
    ),
    LearnerRow(
        "Scrible",
        "learners.scrible",
        "vectors",
        "An adversarial baseline in few dimensions, tuned to ``horizon``",
        base=True,
        draws=True,
        ahead=False,
        tuned=True,
    ),
    LearnerRow(
        "LinearElimination",
        "learners.linear_elimination",
        "vectors",
        "PE-linear",
        bounds=("PE-linear", "PE-linear-schedule", "PE-linear-sharp"),
        examples=({"R": 0.02},),
    ),
    LearnerRow(
        "LinUCB",
        "learners.lin_ucb",
        "vectors",
        "The optimistic rival on vectors",
        examples=({"R": 0.1},),
    ),
    LearnerRow(
        "SpannerElimination",
        "learners.spanner_elimination",
        "set",
        "Elimination on a set of arms",
        bounds=("PE-spanner", "PE-spanner-schedule", "PE-spanner-sharp"),
        examples=(
            {"R": 0.1},
            {"R": 0.1, "schedule": "paper"},
            {"R": 0.1, "schedule": "paper", "mode": "paper"},
        ),
    ),
    LearnerRow(
        "CapElimination",
        "learners.cap_elimination",
        "set",
        "Elimination on a ball or an ellipsoid",
        bounds=("CAP-schedule",),
        examples=({"R": 0.1, "theta_norm": 1.0},),
    ),
    LearnerRow(
        "PolicyElimination",
        "learners.policy_elimination",
        "policies",
        "Policy elimination",
        bounds=("POLICY-proved", "POLICY-sharp"),
        examples=tuple(  # phases that end within a few episodes
            {"schedule": [1e-4, 1.0], "method": method}
            for method in ("auto", "plain", "trie", "search")
        ),
    ),
    LearnerRow(
        "ModelElimination",
        "learners.model_elimination",
        "policies",
        "Elimination of actions by plausible models",
        bounds=("MODEL-deterministic", "MODEL-stochastic"),
        examples=({}, {"play": "stochastic"}),
    ),
    LearnerRow(
        "UCBVI", "learners.ucbvi", "policies", "The optimistic rival", live=False, tuned=True
    ),
    LearnerRow("UBEV", "learners.ubev", "policies", "The uniform-PAC rival", live=False),
)
PROBLEMS = (
    ProblemRow("BernoulliBandit", "problems.arms", "arms"),
    ProblemRow("GaussianBandit", "problems.arms", "arms"),
    ProblemRow("DeterministicBandit", "problems.arms", "arms"),
    ProblemRow("BetaBandit", "problems.arms", "arms"),
    ProblemRow("TableBandit", "problems.arms", "arms"),
    ProblemRow("LinearBandit", "problems.linear", "vectors"),
    ProblemRow("TabularMDP", "problems.tabular_mdp", "policies"),
)
# Ready-made ones: uli.mdps.river_swim() and so on.
MDPS = (
    ProblemRow("river_swim", "problems.mdps", "policies"),
    ProblemRow("combination_lock", "problems.mdps", "policies"),
    ProblemRow("two_stage_treatment", "problems.mdps", "policies"),
    ProblemRow("random_dense", "problems.mdps", "policies"),
    ProblemRow("random_sparse", "problems.mdps", "policies"),
)
ARM_SETS = (
    ArmSetRow("Finite", "arm_sets.finite"),
    ArmSetRow("Ball", "arm_sets.round", sized=True),
    ArmSetRow("Ellipsoid", "arm_sets.round"),
    ArmSetRow("Box", "arm_sets.polyhedral", sized=True),
    ArmSetRow("Simplex", "arm_sets.polyhedral", sized=True),
    ArmSetRow("L1Ball", "arm_sets.polyhedral", sized=True),
    ArmSetRow("Polytope", "arm_sets.polyhedral"),
    ArmSetRow("Convex", "arm_sets.convex", plain=False),
)


def learners(**facts: Any) -> dict[str, LearnerRow]:
    """Return the learners of which these facts are true, by name: ``learners(live=True)``."""
    wanted = facts.items()
    return {x.name: x for x in LEARNERS if all(getattr(x, key) == value for key, value in wanted)}


# Arm sets that files can describe, by name.
PLAIN_SETS = {x.name: x for x in ARM_SETS if x.plain}
