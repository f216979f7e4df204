"""``learner.on(about)``: what follows from a learner and what it plays is found once."""

import warnings
from collections import Counter

import numpy as np
import pytest

import uli_fast as uli
from tests.support.examples import EXAMPLES
from uli_fast import _check
from uli_fast.errors import ArgumentError, GuaranteeWarning, NoGuaranteeError
from uli_fast.problems.arms_info import ArmsInfo

COINS, BELL = uli.BernoulliBandit([0.7, 0.5]), uli.GaussianBandit([1.0, 0.2], sigma=2.0)


def promised(learner, about):
    try:
        return repr(learner.guarantee(about))
    except NoGuaranteeError as reason:
        return str(reason)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_setting_promises_what_its_learner_promises_of_the_problem(example):
    for problem in example.problems:
        learner = example.on(problem)
        on = learner.on(problem)
        assert learner.on(on) is on
        assert promised(learner, on) == promised(learner, problem)


def test_r_is_on_the_learners_scale():
    wide = uli.BernoulliBandit([0.0, 10.0], low=0.0, high=20.0)
    assert uli.UCB().on(wide).R == 0.5
    assert uli.UCB(R=4.0).on(wide).R == 0.2
    assert uli.UCB(R=2.0).on(BELL).R == 2.0
    assert uli.UCB(R=3.0).on(ArmsInfo(5, low=None, high=None)).R == 3.0
    with pytest.raises(ArgumentError, match=r"^R: must be given .* this problem's own is R=2"):
        _ = uli.UCB().on(BELL).R


def test_a_number_of_arms_says_that_rewards_lie_between_0_and_1_but_vectors_do_not():
    assert uli.PhasedElimination().on(3).bounds == (0.0, 1.0)
    on = uli.LinearElimination(R=1.0).on(np.eye(3))
    assert (on.K, on.bounds, on.features.shape) == (3, (None, None), (3, 3))
    assert uli.MetaElimination().on(3).arms.bounded
    assert not uli.MetaElimination(uli.GeometricHedge(), sigma=1.0).on(np.eye(3)).arms.bounded


def test_f_is_computed_once_and_a_missing_one_is_warned_of(monkeypatch):
    asked = Counter()
    honest = uli.PhasedElimination.guarantee

    def counted(self, about, form="schedule"):
        asked["guarantee"] += 1
        return honest(self, about, form)

    monkeypatch.setattr(uli.PhasedElimination, "guarantee", counted)
    on = uli.PhasedElimination().on(COINS)
    assert on.guarantee is on.guarantee is on.guarantee_if_any() is not None
    assert asked["guarantee"] == 1
    table = uli.TableBandit([[0.0, 1.0], [1.0, 1.0]])
    with pytest.warns(GuaranteeWarning, match="no guarantee: a table's rows need not be"):
        assert uli.PhasedElimination().on(table).guarantee_if_any() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert uli.UCB().on(COINS).guarantee_if_any() is None  # a baseline promises nothing


def test_a_call_resolves_r_once(monkeypatch):
    asked, honest = Counter(), _check.unit_noise

    def counted(*about):
        asked["R"] += 1
        return honest(*about)

    monkeypatch.setattr(_check, "unit_noise", counted)
    for learner in (uli.BettingElimination(R=2.0), uli.PhasedElimination(R=2.0), uli.UCB(R=2.0)):
        asked.clear()
        uli.simulate(learner, BELL, 1000, replications=600, seed=1)
        assert asked["R"] == 1, learner


def test_schedules_take_a_setting_or_what_it_is_made_of():
    pe, meta = uli.PhasedElimination(), uli.MetaElimination()
    assert pe.quotas(2, 10**6) == pe.quotas(COINS, 10**6) == pe.quotas(pe.on(COINS), 10**6)
    assert meta.phase_lengths(2, 10**6) == meta.phase_lengths(meta.on(COINS), 10**6)


def test_a_setting_of_another_learner_is_about_the_same_and_promises_ones_own():
    problem, mine = uli.BernoulliBandit([0.5, 0.4]), uli.PhasedElimination(0.1, R=2.0)
    on = uli.PhasedElimination(0.1).on(problem)
    assert on.learner.on(on) is on and mine.on(on).learner is mine
    assert mine.guarantee(on) == mine.guarantee(problem) != on.guarantee
