"""LinUCB, round by round against a plain Numba loop."""

import pytest

from bench.plain import linear as loops
from bench.support.cases import DELTA, linear_arms, plain_linear, replication
from uli_fast import LinUCB


@pytest.mark.parametrize(
    ("K", "d", "T"), [(100, 5, 10**5), (400, 10, 2 * 10**4)], ids=["100-5", "400-10"]
)
def test_rounds(versus, K, d, T):
    arms = linear_arms(K, d)
    versus(replication(LinUCB(DELTA), arms, T, "rounds"), plain_linear(loops.lin_ucb, arms, T))
