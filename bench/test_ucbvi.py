"""UCB-VI: whole runs against NumPy and another library, per episode."""

from dataclasses import replace

import pytest

from bench.support.mdps import in_numpy, simulated, stationary
from bench.support.rivals import another_library
from uli_fast import UCBVI, mdps

SIZES = pytest.mark.parametrize("sizes", [(5, 3, 5), (10, 3, 10)], ids=["5-3-5", "10-3-10"])


@SIZES
def test_episodes(versus, sizes):
    mdp = mdps.random_dense(*sizes, seed=1)
    rival = in_numpy(mdp, 500, UCBVI(0.1).parameter(mdp, 10**5))
    versus(simulated(UCBVI(0.1), mdp, 10**5), rival)


@pytest.mark.long
@SIZES
def test_episodes_against_rlberry(versus, sizes):
    """On the same MDP; another one for each seed."""
    rival = another_library("rlberry", "ucbvi", *map(str, sizes))
    by_seed = [simulated(UCBVI(0.1), stationary(*sizes, seed), 10**5) for seed in range(5)]
    mine = replace(by_seed[0], prepare=lambda seed: by_seed[seed].prepare(seed))
    versus(mine, rival, seeds=len(by_seed), repeats=1)
