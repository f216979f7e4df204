"""Seeds and rounds that are not given (what a path depends on: test_every_learner)."""

import numpy as np

import uli_fast as uli
from tests.support.coupling import assert_same_runs

LEARNERS = [uli.BettingElimination(0.1, R=0.5), uli.SuccessiveElimination(0.1, R=0.5)]
PROBLEM = uli.BernoulliBandit([0.6, 0.5, 0.45])


def test_fresh_seed_is_kept_and_repeats():
    one = uli.simulate(LEARNERS[0], PROBLEM, 10_000)
    two = uli.simulate(LEARNERS[0], PROBLEM, 10_000, seed=one.seed)
    assert_same_runs(one, two)
    assert uli.simulate(LEARNERS[0], PROBLEM, 10_000).seed != one.seed


def test_replications_differ():
    runs = uli.simulate(LEARNERS[0], PROBLEM, 30_000, replications=20, seed=0)
    assert len({tuple(row) for row in runs.eliminated_at}) > 15


def test_default_rounds_span_the_run():
    runs = uli.simulate(LEARNERS[1], PROBLEM, 10**9, seed=0)
    assert runs.rounds[0] == 1
    assert runs.rounds[-1] == 10**9
    assert 90 <= runs.rounds.size <= 101
    assert (np.diff(runs.rounds) > 0).all()
    assert (runs.plays.sum(axis=2) == runs.rounds).all()
