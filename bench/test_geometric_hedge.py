"""GeometricHedge.P on two sets of arms: the kernel against a NumPy loop."""

import pytest

from bench.plain import linear as loops
from bench.support.cases import DELTA, hedge_in_numpy, linear_arms, phase_of
from uli_fast import GeometricHedge


@pytest.mark.parametrize(
    ("K", "d", "T"), [(100, 5, 10**4), (400, 10, 2000)], ids=["100-5", "400-10"]
)
def test_rounds(versus, K, d, T):
    arms = linear_arms(K, d)
    rival = hedge_in_numpy(loops.geometric_hedge, arms, T)
    versus(phase_of(GeometricHedge(DELTA), arms, T), rival)
