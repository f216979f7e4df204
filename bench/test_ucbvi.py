"""UCB-VI: whole runs against NumPy."""

import pytest
from cases import Case
from mdps import ucbvi_in_numpy

from uli_fast import UCBVI, mdps, simulate

SIZES = pytest.mark.parametrize("sizes", [(5, 3, 5), (10, 3, 10)], ids=["5-3-5", "10-3-10"])


@SIZES
@pytest.mark.benchmark(group="UCB-VI, 10^5 episodes")
def test_simulate(measure, sizes):
    mdp = mdps.random_dense(*sizes, seed=1)
    measure(Case(lambda seed: lambda: simulate(UCBVI(0.1), mdp, 10**5, seed=seed)), rounds=5)


@SIZES
@pytest.mark.benchmark(group="UCB-VI, 10^5 episodes")
def test_numpy_at_a_hundredth(measure, sizes):
    mdp = mdps.random_dense(*sizes, seed=1)
    bonus = UCBVI(0.1).bonus(mdp, 10**5)
    measure(Case(lambda seed: lambda: ucbvi_in_numpy(mdp, 1000, bonus), factor=100), rounds=2)
