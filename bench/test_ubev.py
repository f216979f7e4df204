"""UBEV: whole runs."""

import pytest
from cases import Case

from uli_fast import UBEV, mdps, simulate


@pytest.mark.parametrize("sizes", [(5, 3, 5), (10, 3, 10)], ids=["5-3-5", "10-3-10"])
@pytest.mark.benchmark(group="UBEV, 10^5 episodes")
def test_simulate(measure, sizes):
    mdp = mdps.random_dense(*sizes, seed=1)
    measure(Case(lambda seed: lambda: simulate(UBEV(0.1), mdp, 10**5, seed=seed)), rounds=5)
