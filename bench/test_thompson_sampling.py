"""Thompson sampling, round by round against a plain Numba loop."""

import pytest

from bench.plain import optimism as loops
from bench.support.cases import DELTA, GAP, SPREAD, ours, plain
from uli_fast import ThompsonSampling

THOMPSON = ThompsonSampling(DELTA)


@pytest.mark.parametrize("means", [GAP, SPREAD], ids=["2", "10"])
def test_rounds(versus, means):
    T = 10**5
    versus(ours(THOMPSON, means, T, "rounds"), plain(loops.thompson_sampling, means, T))
