"""GeometricHedge.P on 100 arms in five dimensions: the kernel against a NumPy loop."""

import plain as loops
import pytest
from cases import DELTA, hedge_in_numpy, linear_arms, phase_of

from uli_fast import GeometricHedge


@pytest.mark.benchmark(group="GeometricHedge.P, K = 100, d = 5, T = 1e4")
def test_kernel(measure):
    measure(phase_of(GeometricHedge(DELTA), linear_arms(100, 5), 10**4), rounds=20)


@pytest.mark.benchmark(group="GeometricHedge.P, K = 100, d = 5, T = 1e4")
def test_numpy_loop(measure):
    measure(hedge_in_numpy(loops.geometric_hedge, linear_arms(100, 5), 10**4), rounds=5)
