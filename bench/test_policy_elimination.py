"""Policy elimination: episodes with every way of choosing, on all policies and on what is left."""

import pytest
from cases import Case
from mdps import best_of, episodes, everything

from uli_fast import mdps

N = 100


@pytest.mark.parametrize("sizes", [(3, 2, 3), (3, 2, 4)], ids=["512", "4096"])
@pytest.mark.parametrize("method", ["auto", "trie", "plain"])
@pytest.mark.benchmark(group="policy elimination, all policies, 100 episodes")
def test_all(measure, sizes, method):
    mdp = mdps.random_dense(*sizes, seed=1)
    measure(Case(lambda seed: episodes(mdp, everything(mdp).chooser(method), N)), rounds=10)


@pytest.mark.parametrize("left", [1000, 20_000])
@pytest.mark.parametrize("method", ["trie", "plain"])
@pytest.mark.benchmark(group="policy elimination, 65,536 policies of which some are left")
def test_left(measure, left, method):
    mdp = mdps.random_dense(4, 2, 4, seed=2)
    measure(Case(lambda seed: episodes(mdp, best_of(mdp, left).chooser(method), N)), rounds=5)
