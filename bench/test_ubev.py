"""UBEV: whole runs, per episode."""

import pytest

from bench.support.mdps import simulated
from uli_fast import UBEV, mdps


@pytest.mark.parametrize("sizes", [(5, 3, 5), (10, 3, 10)], ids=["5-3-5", "10-3-10"])
def test_episodes(versus, sizes):
    versus(simulated(UBEV(0.1), mdps.random_dense(*sizes, seed=1), 10**5))
