"""What certificates rest on: the whole list, learner by learner and option by option."""

import functools
import json
import math
from dataclasses import fields
from inspect import signature

import numpy as np
import pytest

import uli_fast as uli
from tests.support.examples import Wavering
from uli_fast._registry import learners
from uli_fast.errors import ArgumentError, NoGuaranteeError, UnsupportedError

PAPER = functools.partial(uli.LinearElimination, schedule="paper")

GIVEN = "given all earlier decisions and their outcomes, told or not,"
MEANS = f"{GIVEN} an outcome of an arm has that arm's mean, which never changes"
UNIT = "outcomes lie in [0, 1]"
MISSING = (
    "what is assumed of outcomes holds for missing ones too, had they been told, "
    "whatever made them missing"
)
AHEAD = "no outcome is called missing because of those of decisions asked for beyond its block"
RULE = (
    "the rule keeps a best arm and, before every round t, no arm with a gap above "
    "beta f(delta, t): a claim that is not checked"
)
BASE = (
    "the base keeps the Condition with its g, which is never larger for fewer arms: "
    "a claim that is not checked"
)
ORACLE = "the oracle of the arm set returns no bound below the value of an arm"
LARGEST = "no arm of the set is longer than its largest_norm() says"
FIRST = "whatever came before, the first state of an episode follows one law"
NEXT = "whatever came before, the next state follows one law of stage, state and action"
REWARDS = "a stage earns the reward that was given for its state and action"
SUPPORT = "episodes begin nowhere but in the states of initial_support"
SUCCESSORS = "no state follows but those that successors allows"
ONE_LAW = "the law of next states is the same at every stage"
DRAWN = "whatever came before, actions are drawn by the probabilities of the policy"
POINTS = "where decision_points is False no episode passes, or all actions do the same"

ORDER = (
    f"{GIVEN} an outcome of an arm has that arm's mean of its sweep or block, and one arm is a "
    "best one in every sweep; no means that never change fit the outcomes, so that bounds are of "
    "gaps averaged over the sweeps so far"
)
BLOCKS = (
    "how often an arm is played in a block was fixed after everything before was told, and before "
    "an outcome of the block was known; only then its plays were made; no block was left out or "
    "put in order by outcomes, and what made an outcome missing knew none of a later block"
)

INF = {"low": -math.inf, "high": math.inf}
ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
SE, PE, LINEAR = uli.SuccessiveElimination, uli.PhasedElimination, PAPER
BET, SHARP = uli.BettingElimination, uli.LinearElimination
META, HEDGE, SPANNER = uli.MetaElimination, uli.GeometricHedge(), uli.SpannerElimination
CAPS, CENTRED = uli.CapElimination, "the mean of an arm a is c + <a, theta> for some c and theta"


def wide(R):
    return f"{GIVEN} an outcome is R-subgaussian around its mean with R = {R}"


def slope(norm, at=""):
    return f"the mean of an arm a is {at}<a, theta>, with a theta of norm at most {norm}"


def framework(**more):
    return uli.EliminationFramework(lambda n, total, active, t: active, lambda d, t: 1.0, **more)


class Base:
    """A base of one's own."""

    def __init__(self, losses):
        self.losses = losses

    def g(self, arms, delta):
        return 10.0 * math.log(10.0 * len(arms) / delta)

    def start_phase(self, arms, rounds, delta):
        return uli.Exp3P().start_phase(np.zeros((len(arms), 0)), rounds, delta)


class Square:
    """An oracle of one's own."""

    dimension = 2

    def maximize(self, u, eq=None, le=None):
        return uli.arm_sets.Box([-1.0, -1.0], [1.0, 1.0]).maximize(u, eq, le)


def disc(x):
    import cvxpy as cp

    return [cp.norm(x) <= 1]


def with_one_missing(player):
    player.tell_missing(player.ask().id, "away")
    return player


def with_blocks(player, *blocks):
    for block in blocks:
        player.tell_block(block)
    return player


# Every learner with a certificate, and every option that changes what it rests on.
LIST = {
    "SE": (lambda: SE().start(2), (MEANS, UNIT)),
    "SE, range": (
        lambda: SE(0.1).start(["a", "b"], low=-2.0, high=6.5),
        (MEANS, "outcomes lie in [-2, 6.5]"),
    ),
    "SE, unbounded": (lambda: SE(0.1, R=0.7).start(2, **INF), (MEANS, wide("0.7"))),
    "SE, missing": (lambda: with_one_missing(SE().start(2)), (MEANS, UNIT, MISSING)),
    "PE": (lambda: PE().start(2), (MEANS, UNIT)),
    "PE, unbounded": (lambda: PE(0.1, R=3.0).start(2, **INF), (MEANS, wide("3"))),
    "PE, missing": (lambda: with_one_missing(PE().start(2)), (MEANS, UNIT, MISSING)),
    "BET": (lambda: BET().start(2), (MEANS, UNIT)),
    "BET, leader": (lambda: BET(leader=1).start(2), (MEANS, UNIT)),
    "BET, unbounded": (lambda: BET(0.1, R=3.0).start(2, **INF), (MEANS, wide("3"))),
    "BET, missing": (lambda: with_one_missing(BET().start(2)), (MEANS, UNIT, MISSING)),
    "BET, blocks": (
        lambda: with_blocks(BET().start(2), {0: (9, 4.0), 1: (7, 3.0)}),
        (MEANS, UNIT, BLOCKS),
    ),
    "BET, blocks, missing": (
        lambda: with_blocks(BET().start(2), {0: (9, 4.0, 2), 1: (7, 3.0)}),
        (MEANS, UNIT, BLOCKS, MISSING),
    ),
    "BET, means that change": (
        lambda: with_blocks(BET().start(2), *({a: (999, x) for a in (0, 1)} for x in (900, 300))),
        (ORDER, UNIT, BLOCKS),
    ),
    "blocks": (
        lambda: SHARP(0.1, R=2.0, prior_gap=1.0).start(ARMS, intercept=0.5),
        (MEANS, wide("2"), "the mean of an arm a is 0.5 + <a, theta>"),
    ),
    "blocks, norm": (
        lambda: SHARP(theta_norm=2.5).start(ARMS, low=0.0, high=1.0),
        (MEANS, UNIT, slope("2.5")),
    ),
    "blocks, any intercept, missing": (
        lambda: with_one_missing(
            SHARP(known_intercept=False).start(ARMS, low=0.0, high=1.0, intercept=0.5)
        ),
        (MEANS, UNIT, CENTRED, MISSING, AHEAD),
    ),
    "linear": (lambda: LINEAR(0.1, R=2.0).start(ARMS), (MEANS, wide("2"), slope("1"))),
    "linear, range, intercept, norm": (
        lambda: LINEAR(theta_norm=2.5).start(ARMS, low=0.0, high=1.0, intercept=0.5),
        (MEANS, UNIT, slope("2.5", "0.5 + ")),
    ),
    "linear, missing": (
        lambda: with_one_missing(LINEAR().start(ARMS, low=0.0, high=1.0)),
        (MEANS, UNIT, slope("1"), MISSING, AHEAD),
    ),
    "spanner": (lambda: SPANNER(R=1.0).start(ARMS), (MEANS, wide("1"), slope("1"))),
    "spanner, paper": (
        lambda: SPANNER(schedule="paper", mode="paper", R=2.0).start(uli.arm_sets.Ball(2)),
        (MEANS, wide("2"), slope("1")),
    ),
    "spanner, range, intercept, norm": (
        lambda: SPANNER(theta_norm=3.0, R=1.0).start(
            uli.arm_sets.Ball(2), low=0.0, high=1.0, intercept=-0.25
        ),
        (MEANS, UNIT, slope("3", "-0.25 + ")),
    ),
    "spanner, missing": (
        lambda: with_one_missing(SPANNER().start(ARMS, low=0.0, high=1.0)),
        (MEANS, UNIT, slope("1"), MISSING),
    ),
    "spanner, oracle": (
        lambda: SPANNER(R=1.0).start(Square()),
        (MEANS, wide("1"), slope("1"), ORACLE, LARGEST),
    ),
    "spanner, convex": (
        lambda: SPANNER(R=1.0).start(uli.arm_sets.Convex(disc, 2)),
        (MEANS, wide("1"), slope("1"), ORACLE),
    ),
    "caps": (lambda: CAPS(R=2.0).start(uli.arm_sets.Ball(2)), (MEANS, wide("2"), CENTRED)),
    "caps, norm, intercept": (
        lambda: CAPS(R=2.0, theta_norm=3.0).start(uli.arm_sets.Ball(2), intercept=5.0),
        (MEANS, wide("2"), f"{CENTRED}, with a theta of norm at most 3"),
    ),
    "caps, missing": (
        lambda: with_one_missing(CAPS().start(uli.arm_sets.Ball(2), low=0.0, high=1.0)),
        (MEANS, UNIT, CENTRED, MISSING),
    ),
    "meta": (lambda: META().start(2, seed=1), (MEANS, UNIT)),
    "meta, sharp, range": (
        lambda: META(mode="sharp").start(2, seed=1, low=-1.0, high=1.0),
        (MEANS, "outcomes lie in [-1, 1]"),
    ),
    "meta, Exp3P on vectors": (lambda: META().start(ARMS, seed=1), (MEANS, UNIT)),
    "meta, hedge": (
        lambda: META(HEDGE).start(ARMS, seed=1, intercept=0.5),
        (MEANS, UNIT, "the mean of an arm a is 0.5 + <a, theta>"),
    ),
    "meta, sigma": (
        lambda: META(HEDGE, sigma=0.3).start(ARMS, seed=1, **INF),
        (
            MEANS,
            f"{GIVEN} an outcome is symmetric around its mean and "
            "sigma-subgaussian with sigma = 0.3",
            "the mean of an arm a is <a, theta>, with |<a, theta>| at most 1",
        ),
    ),
    "meta, sigma, intercept": (
        lambda: META(HEDGE, sigma=2.0).start(ARMS, seed=1, intercept=4.0, **INF),
        (
            MEANS,
            f"{GIVEN} an outcome is symmetric around its mean and sigma-subgaussian with sigma = 2",
            "the mean of an arm a is 4 + <a, theta>, with |<a, theta>| at most 1",
        ),
    ),
    "meta, base of one's own": (lambda: META(Base("unit")).start(2, seed=1), (MEANS, UNIT, BASE)),
    "meta, linear base of one's own": (
        lambda: META(Base("linear")).start(ARMS, seed=1, intercept=0.5),
        (MEANS, UNIT, "the mean of an arm a is 0.5 + <a, theta>", BASE),
    ),
    "meta, centred base of one's own": (
        lambda: META(Base("centred")).start(ARMS, seed=1, intercept=0.5),
        (MEANS, UNIT, "the mean of an arm a is c + <a, theta> for some c and theta", BASE),
    ),
    "framework": (lambda: framework().start(2), (MEANS, UNIT, RULE)),
    "framework, unbounded": (
        lambda: framework(R=2.0).start(2, **INF),
        (MEANS, wide("2"), RULE),
    ),
    "policies": (lambda: policies(), (FIRST, NEXT, REWARDS)),
    "policies, sharp": (
        lambda: policies(uli.PolicyElimination(schedule="sharp", method="trie"), low=-1.0),
        (FIRST, NEXT, REWARDS),
    ),
    "policies, initial_support": (
        lambda: policies(initial_support=[1]),
        (FIRST, NEXT, REWARDS, SUPPORT),
    ),
    "policies, decision_points": (
        lambda: policies(decision_points=[[True, True], [True, False]]),
        (FIRST, NEXT, REWARDS, POINTS),
    ),
    "policies, decision_points that say what initial_support says": (
        lambda: policies(initial_support=[1], decision_points=[[False, True], [True, True]]),
        (FIRST, NEXT, REWARDS, SUPPORT),
    ),
    "models": (lambda: policies(uli.ModelElimination(0.1)), (FIRST, NEXT, REWARDS)),
    "models, all that is known": (
        lambda: policies(
            uli.ModelElimination(0.1, "stochastic", pooled=True, growth=0.5, first=3),
            initial_support=[1],
            decision_points=[[False, True], [False, True]],
            successors=np.ones((2, 2, 2), bool),
        ),
        (FIRST, NEXT, REWARDS, SUPPORT, POINTS, SUCCESSORS, ONE_LAW, DRAWN),
    ),
    "policies, both": (
        lambda: policies(initial_support=[1], decision_points=[[False, True], [False, True]]),
        (FIRST, NEXT, REWARDS, SUPPORT, POINTS),
    ),
}
# Learners that certify nothing, and so rest on nothing.
WITHOUT = [name for name, row in learners().items() if row.load().baseline]
TABLE = np.array([[[0.2, 0.9], [0.3, 0.4]], [[0.1, 0.5], [0.3, 0.6]]])


def policies(learner=uli.PolicyElimination(0.1), **more):  # noqa: B008
    return learner.start(TABLE, **more)


@pytest.mark.parametrize("case", LIST)
def test_a_certificate_says_all_that_it_rests_on(case):
    start, wanted = LIST[case]
    if "convex" in case:
        pytest.importorskip("cvxpy")
    player = start()
    assert player.certificate().assumes == wanted
    json.dumps(player.certificate().assumes)


# What learners and their start() take: what changes a sentence of the list, and what none.
CHANGES = {"R", "theta_norm", "sigma", "base", "rule", "f", "arms", "low", "high", "intercept"}
CHANGES |= {"rewards", "initial_support", "decision_points", "successors", "play", "pooled"}
CHANGES |= {"known_intercept"}
CHANGES_NOTHING = {"delta", "mode", "C", "beta", "schedule", "method", "node_cap"}
CHANGES_NOTHING |= {"seed", "horizon", "leader", "growth", "first", "prior_gap"}


def test_the_list_has_every_learner_and_every_option():
    listed = {type(start().learner) for case, (start, _) in LIST.items() if "convex" not in case}
    assert {kind.__name__ for kind in listed} == learners().keys() - set(WITHOUT)
    options = {f.name for kind in listed for f in fields(kind)}
    options |= {name for kind in listed for name in signature(kind.start).parameters}
    assert options - {"self"} == CHANGES | CHANGES_NOTHING


@pytest.mark.parametrize("name", WITHOUT)
def test_without_a_guarantee_there_is_nothing_to_assume(name):
    learner = getattr(uli, name)(**({"make": Wavering} if name == "OwnLearner" else {}))
    about = ARMS if learners()[name].kind == "vectors" else 2
    try:
        player = learner.start(about, seed=1, horizon=200_000, low=0.0, high=1.0)
    except UnsupportedError:
        return  # no live player at all
    with pytest.raises(NoGuaranteeError):
        player.certificate()


def test_a_mask_that_the_rewards_contradict_is_refused():
    """One state, two actions worth 0 and 1, nothing to decide: their gap is 1, not 0."""
    learner = uli.PolicyElimination(0.1)
    with pytest.raises(ArgumentError, match="stage 0, state 0") as refused:
        learner.start(np.array([[[0.0, 1.0]]]), decision_points=np.zeros((1, 1), bool))
    assert refused.value.argument == "decision_points"
    for stage in (0, 1):  # every state of a later stage: one of them is reached
        mask = np.ones((2, 2), bool)
        mask[stage] = False
        with pytest.raises(ArgumentError, match=f"stage {stage}, state 0") as refused:
            learner.start(TABLE, decision_points=mask)
        assert refused.value.argument == "decision_points"
    same = np.array([[[0.5, 0.5]]])
    assert learner.start(same, decision_points=[[False]]).certificate().bound == 0.0
    # Where no episode begins, nothing has to be decided.
    assert learner.start(TABLE, [1], decision_points=[[False, True], [True, True]]).active == 8


def test_a_study_is_not_begun_with_such_a_mask(tmp_path):
    about = {"rewards": [[[0.0, 1.0]]], "decision_points": [[False]]}
    with pytest.raises(ArgumentError) as refused:
        uli.Study.open(tmp_path / "x.db", uli.PolicyElimination(0.1), **about)
    assert refused.value.argument == "decision_points" and not list(tmp_path.iterdir())


def test_a_mask_that_an_episode_contradicts_certifies_nothing():
    """Stage 1, state 1 was not to be reached, or not to matter; an episode went there."""
    player = policies(decision_points=[[True, True], [True, False]])
    for states, fine in (([0, 0], True), ([0, 1], False), ([0, 0], False)):
        d = player.ask(state=0)
        player.tell(d.id, states, [int(d.policy[h, s]) for h, s in enumerate(states)])
        for one in (player, uli.restore(json.loads(json.dumps(player.state())))):
            if fine:
                assert POINTS in one.certificate().assumes
                continue
            with pytest.raises(NoGuaranteeError, match="decision_points is False at stage 1"):
                one.certificate()


def test_masks_of_an_mdp_are_never_refused():
    """What cannot be reached needs no choice, though its rewards may differ."""
    for seed in range(20):
        mdp = uli.mdps.random_sparse(4, 2, 3, seed=seed).restricted()
        start = np.flatnonzero(mdp.initial > 0.0)
        uli.PolicyElimination(0.1).start(
            mdp.rewards, start, decision_points=mdp.decision_points
        ).certificate()
