"""SE-MAB on equal arms, the most work there is: the exact skip, and round by round."""

import numpy as np
import pytest

from bench.plain import elimination as loops
from bench.support.cases import DELTA, EQUAL, ours, plain, tenth
from uli_fast import SuccessiveElimination

SE = SuccessiveElimination(DELTA)
LOOPS = pytest.mark.parametrize(
    "loop",
    [loops.successive_elimination, loops.successive_elimination_by_sweeps],
    ids=["rounds", "sweeps"],
)


def test_skip_at_1e12(versus):
    versus(ours(SE, EQUAL, 10**12, "skip"))


@LOOPS
def test_skip_at_1e8(versus, loop):
    versus(ours(SE, EQUAL, 10**8, "skip"), tenth(loop, EQUAL), repeats=20)


@pytest.mark.parametrize("K", [2, 10, 100])
@LOOPS
def test_rounds(versus, K, loop):
    means = np.full(K, 0.5)
    versus(ours(SE, means, 10**6, "rounds"), plain(loop, means, 10**6))
