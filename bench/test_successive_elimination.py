"""SE-MAB on ten equal arms, the most work there is: the exact skip, and round by round."""

import plain as loops
from cases import DELTA, EQUAL, ours, plain, tenth

from uli_fast import SuccessiveElimination

SE = SuccessiveElimination(DELTA)


def test_skip_at_1e12(versus):
    versus(ours(SE, EQUAL, 10**12, "skip"))


def test_skip_at_1e8(versus):
    versus(ours(SE, EQUAL, 10**8, "skip"), tenth(loops.successive_elimination, EQUAL), repeats=20)


def test_rounds(versus):
    versus(ours(SE, EQUAL, 10**6, "rounds"), plain(loops.successive_elimination, EQUAL, 10**6))
