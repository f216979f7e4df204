"""lil'UCB: the lower-bound instance (coupling with naive: test_against_naive)."""

import pytest

import uli_fast as uli
from tests.naive.lil_ucb import last_bad_round


@pytest.mark.parametrize(
    ("means", "last"), [((1.0, 0.8), 101_867_649), ((1.0, 0.9), 1_366_653_593)]
)
def test_lil_ucb_plays_the_worse_arm_at_the_predicted_round(means, last):
    runs = uli.simulate(uli.LilUCB(0.1), uli.DeterministicBandit(means), 10**10, seed=0)
    assert runs.last_play[0, 1] == last
    assert last_bad_round(f"{means[0] - means[1]:.1f}", "0.1") == last


def test_lil_ucb_comes_back_later_and_later_and_breaks_f_of_se():
    previous = 0
    for gap in (0.5, 0.4, 0.3, 0.2, 0.15):
        problem = uli.DeterministicBandit([1.0, 1.0 - gap])
        runs = uli.simulate(uli.LilUCB(0.1), problem, 10**10, seed=0)
        assert runs.last_play[0, 1] > previous
        previous = runs.last_play[0, 1]
    assert runs.worst_ratio_against(uli.SuccessiveElimination(0.1).guarantee(problem))[0] > 10


def test_lil_ucb_settles_and_counts_to_the_longest_horizon():
    for T in (2**53 + 1, 10**18):
        runs = uli.simulate(uli.LilUCB(0.1), uli.BernoulliBandit([0.9, 0.2]), T, 2, seed=1)
        assert (runs.final_plays.sum(axis=1) == T).all() and (runs.last_play[:, 0] == T).all()
        assert (runs.last_play[:, 1] < 10**8).all()
        assert (runs.plays.sum(axis=2) == runs.rounds).all()
