"""SE-MAB: order of play, counts and eliminations (coupling with naive: test_against_naive)."""

import math

import numpy as np

import uli_fast as uli


def test_successive_elimination_counts_stay_below_the_paper_s():
    # On the event N_a <= T_a = min{s: gap >= 5 wd(s)}.
    delta, K = 0.1, 3
    runs = uli.simulate(
        uli.SuccessiveElimination(delta), uli.BernoulliBandit([0.9, 0.6, 0.3]), 10**5, 500, seed=8
    )

    def wd(s):
        return math.sqrt(math.log(4 * K * s * s / delta) / (2 * s))

    for a in (1, 2):
        limit = next(s for s in range(1, 10**5) if runs.gaps[a] >= 5 * wd(s))
        assert (runs.final_plays[runs.event_held, a] <= limit).all()


def test_an_eliminated_arm_is_never_played_again():
    problem = uli.BernoulliBandit([0.9, 0.7, 0.5, 0.1])
    for engine in ("rounds", "skip"):
        runs = uli.simulate(uli.SuccessiveElimination(0.1), problem, 10**5, 50, 3, engine=engine)
        gone = runs.eliminated_at > 0
        assert gone[:, 1:].all()
        assert (runs.last_play[gone] <= runs.eliminated_at[gone]).all()


def test_survivors_counts_differ_by_at_most_one():
    T = 3000
    runs = uli.simulate(
        uli.SuccessiveElimination(0.1),
        uli.BernoulliBandit([0.9, 0.7, 0.5]),
        T,
        seed=1,
        engine="rounds",
        rounds=range(1, T + 1),
    )
    removed = np.where(runs.eliminated_at[0] == 0, T + 1, runs.eliminated_at[0])
    for t, counts in zip(runs.rounds, runs.plays[0], strict=True):
        alive = counts[t < removed]
        assert alive.max() - alive.min() <= 1
        assert (t <= 3 * (alive + 1)).all()  # t <= K (N + 1)
