"""The rivals play the same algorithms: not timed, run with ``pytest bench --benchmark-skip``."""

import numpy as np
import plain as loops
import pytest
from cases import DELTA, EQUAL, GAP, SPREAD, TIE, ours, plain, ucb_in_c

from uli_fast import UCB, LilUCB, PhasedElimination, SuccessiveElimination

PAIRS = {
    "SE-MAB": (SuccessiveElimination, loops.successive_elimination),
    "PE-MAB": (PhasedElimination, loops.phased_elimination),
    "UCB": (UCB, loops.ucb),
    "lil'UCB": (LilUCB, loops.lil_ucb),
    "lil'UCB, kept indices": (LilUCB, loops.lil_ucb_kept),
}


@pytest.mark.parametrize("means", [EQUAL, SPREAD, GAP, TIE, np.array([0.9, 0.5, 0.1])])
@pytest.mark.parametrize("name", PAIRS)
def test_plain_loop_plays_as_ours_on_the_same_draws(name, means):
    learner, loop = PAIRS[name]
    for horizon in (means.size + 3, 1_237, 100_003):
        for seed in range(5):
            expected = ours(learner(DELTA), means, horizon, "rounds").prepare(seed)()
            np.testing.assert_array_equal(plain(loop, means, horizon).prepare(seed)(), expected)


def test_c_plays_the_best_arm_most_and_every_round():
    case = ucb_in_c(SPREAD, 10**5)
    if case is None:
        pytest.skip("gcc is missing: UCB in C is not measured")
    ours_best = np.array(
        [ours(UCB(DELTA), SPREAD, 10**5, "rounds").prepare(s)() for s in range(20)]
    )
    theirs = np.array([case.prepare(seed)() for seed in range(20)])
    assert (theirs.sum(axis=1) == 10**5).all()
    assert np.allclose(theirs.mean(axis=0), ours_best.mean(axis=0), rtol=0.15)
