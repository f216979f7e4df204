"""UCB: it comes back for ever (coupling with naive: test_against_naive)."""

import uli_fast as uli


def test_the_worse_arm_is_played_in_every_decade():
    rounds = [10**d for d in range(2, 13)]
    problem = uli.BernoulliBandit([0.7, 0.3])
    runs = uli.simulate(uli.UCB(0.1), problem, 10**12, 3, seed=2, rounds=rounds)
    assert (runs.plays[:, 1:, 1] > runs.plays[:, :-1, 1]).all()
    bound = uli.SuccessiveElimination(0.1).guarantee(problem)
    assert (runs.worst_ratio_against(bound) > 1000).all()


def test_turning_point_of_the_deterministic_instance():
    # Its 110th play of the worse arm, when SE has stopped, is round 312,111 (gap 1/2).
    problem = uli.DeterministicBandit([1.0, 0.5])
    runs = uli.simulate(uli.UCB(0.1), problem, 400_000, rounds=[312_110, 312_111])
    assert runs.plays[0, :, 1].tolist() == [109, 110]
    runs = uli.simulate(uli.SuccessiveElimination(0.1), problem, 400_000)
    assert runs.final_plays[0, 1] == 110
