"""Policy elimination: choosing among all policies, and among what is left of them."""

import pytest

from bench.support.mdps import Short, best_of, choosing, enumerated, everything, playing, simulated
from uli_fast import mdps

RESTRICTED = (
    ((3, 2, 4), 1000),
    ((4, 2, 4), 1000),
    ((4, 2, 4), 5000),
    ((4, 2, 4), 20_000),
    ((3, 3, 3), 1000),
    ((3, 3, 3), 15_000),
    ((2, 2, 7), 1000),
    ((2, 2, 7), 8000),
    ((3, 2, 5), 1000),
    ((3, 2, 5), 20_000),
)


def name(value):
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)


SMALL = pytest.mark.parametrize(
    "sizes", [(3, 2, 3), (3, 2, 4), (4, 2, 4)], ids=["512", "4096", "65536"]
)


@SMALL
def test_choice_among_all(versus, sizes):
    mdp = mdps.random_dense(*sizes, seed=1)
    left = everything(mdp)
    versus(choosing(mdp, left, "auto"), choosing(mdp, left, "plain"), seeds=1, repeats=30)


@pytest.mark.parametrize(("sizes", "size"), RESTRICTED, ids=name)
def test_choice_among_some(versus, sizes, size):
    mdp = mdps.random_dense(*sizes, seed=2)
    left = best_of(mdp, size)
    versus(choosing(mdp, left, "trie"), choosing(mdp, left, "plain"), seeds=1, repeats=30)


@SMALL
def test_all_policies(versus, sizes):
    mdp = mdps.random_dense(*sizes, seed=1)
    left = everything(mdp)
    versus(playing(mdp, left, "auto", 2000), enumerated(mdp, left), seeds=1, repeats=15)


@pytest.mark.parametrize(("sizes", "size"), RESTRICTED, ids=name)
def test_some_policies(versus, sizes, size):
    mdp = mdps.random_dense(*sizes, seed=2)
    left = best_of(mdp, size)
    versus(playing(mdp, left, "trie", 2000), enumerated(mdp, left), seeds=1, repeats=15)


@pytest.mark.parametrize("sizes", [(4, 2, 5), (3, 2, 7)], ids=["1048576", "2097152"])
def test_half_of_a_million(versus, sizes):
    mdp = mdps.random_dense(*sizes, seed=3)
    left = best_of(mdp, mdp.n_policies // 2)
    versus(playing(mdp, left, "trie", 100), seeds=1, repeats=5)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
def test_search_of_a_billion(versus):
    mdp = mdps.river_swim(6, 5)
    assert mdp.n_policies >= 10**9
    versus(simulated(Short(0.1, method="search"), mdp, 2000), seeds=3, repeats=2)
