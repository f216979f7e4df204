"""UCB-VI: whole runs against NumPy and another library, per episode."""

import pytest
from mdps import in_numpy, simulated
from rivals import another_library

from uli_fast import UCBVI, mdps

SIZES = pytest.mark.parametrize("sizes", [(5, 3, 5), (10, 3, 10)], ids=["5-3-5", "10-3-10"])


@SIZES
def test_episodes(versus, sizes):
    mdp = mdps.random_dense(*sizes, seed=1)
    rival = in_numpy(mdp, 500, UCBVI(0.1).bonus(mdp, 10**5))
    versus(simulated(UCBVI(0.1), mdp, 10**5), rival)


@pytest.mark.long
@SIZES
def test_episodes_against_rlberry(versus, sizes):
    mdp = mdps.random_dense(*sizes, seed=1)
    rival = another_library("rlberry", "ucbvi", *map(str, sizes))
    versus(simulated(UCBVI(0.1), mdp, 10**5), rival, repeats=1)
