"""Model elimination: whole runs, and one look."""

import numpy as np
import pytest

from bench.support import cases
from bench.support.cases import Case
from bench.support.mdps import simulated
from bench.support.models import choice_by_highs, choice_by_inductions, problem_of
from uli_fast import ModelElimination, mdps

# The event may fail for a seed: the run goes on, and takes as long.
pytestmark = pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
PLAYS = pytest.mark.parametrize("play", ["deterministic", "stochastic"])
SMALL = {
    "2-2-3": mdps.random_dense(2, 2, 3, seed=1),
    "5-2-2": mdps.random_dense(5, 2, 2, seed=1),
    "river": mdps.river_swim(3, 4).restricted(),
    "treatment": mdps.two_stage_treatment().restricted(),
}


@PLAYS
@pytest.mark.parametrize("name", SMALL)
def test_small_at_1e12(versus, name, play):
    versus(cases.simulated(ModelElimination(0.1, play), SMALL[name], 10**12, 1))


@PLAYS
def test_dense_at_1e12(versus, play):
    mdp = mdps.random_dense(10, 3, 10, seed=1)
    versus(cases.simulated(ModelElimination(0.1, play), mdp, 10**12, 1), repeats=3)


@PLAYS
def test_frozen_lake_at_1e8(versus, play):
    pytest.importorskip("gymnasium")
    lake = problem_of("lake")
    versus(cases.simulated(ModelElimination(0.1, play), lake, 10**8, 1), seeds=1, repeats=2)


@PLAYS
def test_look(versus, play):
    mdp, learner = mdps.random_dense(10, 3, 10, seed=1), ModelElimination(0.1, play)

    def prepare(seed):
        words = np.random.default_rng(seed).integers(1, 2**63, 4).astype(np.uint64)
        run = learner.begin(learner.on(mdp), words, "skip", 10**12, np.array([10**12]))
        run.advance(60)
        return lambda: run.advance(1)

    versus(Case(prepare), seeds=2)


@pytest.mark.parametrize("solver", ["warm", "cold"])
@pytest.mark.parametrize("name", ["lake", "dense"])
def test_choice(versus, name, solver):
    if name == "lake":
        pytest.importorskip("gymnasium")
    versus(choice_by_inductions(name), choice_by_highs(name, solver), seeds=3, repeats=3)


@pytest.mark.long
@PLAYS
def test_large_lake_at_1e6(versus, play):
    pytest.importorskip("gymnasium")
    learner = ModelElimination(0.1, play, growth=0.5, first=256)
    versus(cases.simulated(learner, problem_of("large lake"), 10**6, 1), seeds=1, repeats=1)


@pytest.mark.parametrize("sizes", [(2, 2, 3), (10, 3, 10)], ids=["2-2-3", "10-3-10"])
def test_episodes(versus, sizes):
    """Play 10^5 episodes at once, per episode."""
    versus(simulated(ModelElimination(0.1), mdps.random_dense(*sizes, seed=1), 10**5))
