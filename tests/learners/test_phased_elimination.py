"""PE-MAB: phases, quotas and their ends (coupling with naive: test_against_naive)."""

import numpy as np

import uli_fast as uli


def test_an_arm_exactly_the_slack_behind_stays():
    # Gap 1/2 equals the first phase's slack 2^-1: only a larger one is dropped there.
    learner = uli.PhasedElimination(0.1)
    m1, m2 = learner.quotas(2, 1000)[:2]
    for engine in ("rounds", "skip"):
        runs = uli.simulate(learner, uli.DeterministicBandit([1.0, 0.5]), 1000, engine=engine)
        assert runs.eliminated_at.tolist() == [[0, 2 * (m1 + m2)]]


def test_an_unfinished_phase_eliminates_nobody():
    # The horizon falls after the first quota of a phase, before the second.
    learner = uli.PhasedElimination(0.1)
    m1 = learner.quotas(2, 1000)[0]
    for T in (m1, m1 + 1, 2 * m1 - 1):
        for engine in ("rounds", "skip"):
            runs = uli.simulate(learner, uli.DeterministicBandit([1.0, 0.0]), T, engine=engine)
            assert (runs.eliminated_at == 0).all()
    runs = uli.simulate(learner, uli.DeterministicBandit([1.0, 0.0]), 2 * m1)
    assert runs.eliminated_at.tolist() == [[0, 2 * m1]]


def test_arms_are_played_in_index_order_each_quota_in_a_row():
    learner = uli.PhasedElimination(0.1)
    m1 = learner.quotas(3, 1000)[0]
    problem = uli.BernoulliBandit([0.5, 0.5, 0.5])
    runs = uli.simulate(learner, problem, 3 * m1, seed=0, rounds=range(1, 3 * m1 + 1))
    played = np.diff(runs.plays[0], axis=0, prepend=0).argmax(axis=1)
    assert played.tolist() == [0] * m1 + [1] * m1 + [2] * m1


def test_quotas_are_the_paper_s():
    quotas = uli.PhasedElimination(0.1).quotas(4, 10**6)
    expected = [np.ceil(2 ** (2 * p + 1) * np.log(4 * 4 * p * p / 0.1)) for p in range(1, 9)]
    assert quotas[:8] == expected
