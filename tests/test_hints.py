"""Errors that say what to do: swapped arguments, decisions for their ids, ragged tables."""

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import ArgumentError, UnknownDecisionError

PROBLEM = uli.BernoulliBandit([0.5, 0.4])
SE, UCB = uli.SuccessiveElimination(0.05), uli.UCB(0.05)


def reward_fn(arm):
    return 1.0


@pytest.mark.parametrize(
    ("call", "argument", "hint"),
    [
        (lambda: uli.simulate(PROBLEM, SE, 10), "learner", "simulate(learner, problem, horizon)"),
        (
            lambda: uli.simulate(PROBLEM, SE, 10, seed=1, checkpoint="never-made"),
            "learner",
            "simulate(learner, problem, horizon)",
        ),
        (
            lambda: uli.simulate(uli.mdps.river_swim(2, 2), uli.UCBVI(), 10),
            "learner",
            "simulate(learner, problem, horizon)",
        ),
        (lambda: uli.compare(PROBLEM, [SE], 10), "learners", "compare([learner, ...], problem,"),
        (lambda: uli.compare([PROBLEM], SE, 10), "learners", "compare([learner, ...], problem,"),
        (lambda: uli.compare(SE, PROBLEM, 10), "learners", "put it in a list"),
        (lambda: uli.play(reward_fn, SE, 10, 2), "learner", "play(learner, reward_fn, horizon,"),
        (lambda: uli.play(SE, PROBLEM, 10, 2), "reward_fn", "simulate(learner, problem, horizon)"),
        (
            lambda: uli.turning_point(UCB, SE, PROBLEM),
            "uli_learner",
            "which is optimistic; did you mean turning_point(uli_learner, optimistic_learner,",
        ),
        (
            lambda: uli.turning_point(PROBLEM, SE, UCB),
            "uli_learner",
            "turning_point(uli_learner, optimistic_learner, problem)",
        ),
        (
            lambda: uli.turning_point(SE, PROBLEM, UCB),
            "optimistic_learner",
            "turning_point(uli_learner, optimistic_learner, problem)",
        ),
    ],
)
def test_swapped_arguments_are_told_their_order(call, argument, hint):
    with pytest.raises(ArgumentError) as refused:
        call()
    assert refused.value.argument == argument and hint in str(refused.value)


def players():
    policies = uli.PolicyElimination(0.1).start(np.zeros((1, 2, 2)))
    points = uli.SpannerElimination(0.1, R=1.0).start(np.eye(2))
    for player in (SE.start(2), uli.MetaElimination().start(2, seed=1), points):
        yield player, player.ask(), (1.0,)
    yield policies, policies.ask(0), ([0], [0])


@pytest.mark.parametrize("number", range(4), ids=["arms", "adversarial", "points", "policies"])
def test_a_decision_in_place_of_its_id_is_told_to_be_one(number):
    player, decision, outcome = list(players())[number]
    hint = r"^id: .*not the decision itself: pass 1, its \.id$"
    with pytest.raises(UnknownDecisionError, match=hint):
        player.tell(decision, *outcome)
    with pytest.raises(UnknownDecisionError, match=hint):
        player.tell_missing(decision, "lost")
    player.tell(decision.id, *outcome)


def test_a_study_says_so_too_and_goes_on(tmp_path):
    with uli.Study.open(tmp_path / "study", SE, 2, seed=1) as study:
        decision = study.ask()
        with pytest.raises(UnknownDecisionError, match=r"decision_id: .* pass 1, its \.id"):
            study.tell(decision, 1.0)
        study.tell(decision.id, 1.0)
        assert study.counts()[decision.arm]["reward"] == 1


ROWS = "must have rows of equal length: row 0 has length 3, row 1 has length 2"
FEWER = [[1.0, 0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: uli.TableBandit(FEWER),
            f"rewards: {ROWS}; every arm needs the same number of rewards: cut",
        ),
        (lambda: uli.TableBandit(tuple(map(tuple, FEWER))), f"rewards: {ROWS}; every arm"),
        (lambda: uli.TableBandit(np.array(FEWER, dtype=object)), f"rewards: {ROWS}; every arm"),
        (lambda: uli.TableBandit([np.ones(3), np.ones(2)]), f"rewards: {ROWS}; every arm"),
        (lambda: uli.LinearBandit([1.0, 0.0, 0.0], FEWER), f"arms: {ROWS}"),
        (lambda: uli.MetaElimination().start(FEWER), f"arms: {ROWS}"),
        (lambda: uli.PolicyElimination(0.1).start([FEWER]), f"rewards: {ROWS}"),
        (lambda: uli.BernoulliBandit([0.5, [0.4]]), "means: must be numbers or rows of numbers"),
    ],
)
def test_ragged_rows_are_told_which_they_are(make, said):
    with pytest.raises(ArgumentError) as refused:
        make()
    assert str(refused.value).startswith(said)


def test_a_list_that_holds_itself_is_refused_and_not_walked_for_ever():
    endless = []
    endless.append(endless)
    with pytest.raises(ArgumentError, match="means: must be an array of numbers"):
        uli.BernoulliBandit(endless)
