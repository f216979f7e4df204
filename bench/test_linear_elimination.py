"""PE-linear: phases drawn whole, and round by round, against a plain loop with its own design.

Sharp blocks are timed beside the paper's phases, to 10^12.
"""

import pytest

from bench.plain import linear as loops
from bench.support.cases import DELTA, linear_arms, plain_linear, replication
from uli_fast import LinearElimination

PE, SHARP = LinearElimination(DELTA, "paper"), LinearElimination(DELTA)
SIZES = pytest.mark.parametrize(("K", "d"), [(100, 5), (400, 10)], ids=["100-5", "400-10"])


@SIZES
def test_skip_at_1e8(versus, K, d):
    arms = linear_arms(K, d)
    rival = plain_linear(loops.linear_elimination, arms, 10**8, factor=10)
    versus(replication(PE, arms, 10**8, "skip"), rival)


@SIZES
def test_rounds(versus, K, d):
    arms = linear_arms(K, d)
    rival = plain_linear(loops.linear_elimination, arms, 10**6)
    versus(replication(PE, arms, 10**6, "rounds"), rival)


@pytest.mark.parametrize(("K", "d"), [(20, 5), (1000, 20)], ids=["20-5", "1000-20"])
def test_sharp_at_1e12(versus, K, d):
    arms = linear_arms(K, d)
    versus(
        replication(SHARP, arms, 10**12, "skip"),
        replication(PE, arms, 10**12, "skip"),
    )


@SIZES
def test_sharp_rounds(versus, K, d):
    arms = linear_arms(K, d)
    versus(replication(SHARP, arms, 10**6, "rounds"), replication(PE, arms, 10**6, "rounds"))
