"""GeometricHedge.P on 100 arms in five dimensions: the kernel against a NumPy loop."""

import plain as loops
from cases import DELTA, hedge_in_numpy, linear_arms, phase_of

from uli_fast import GeometricHedge


def test_rounds(versus):
    arms, T = linear_arms(100, 5), 10**4
    rival = hedge_in_numpy(loops.geometric_hedge, arms, T)
    versus(phase_of(GeometricHedge(DELTA), arms, T), rival)
