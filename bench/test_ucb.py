"""UCB: the exact skip on two arms; more round by round against Numba, C and NumPy."""

import pytest

from bench.plain import optimism as loops
from bench.support.cases import (
    DELTA,
    EQUAL,
    GAP,
    MANY,
    SPREAD,
    TIE,
    ours,
    per_round,
    plain,
    side_by_side,
    simulated,
    tenth,
)
from bench.support.limits import in_c
from bench.support.rivals import another_library
from uli_fast import UCB, BernoulliBandit

MEANS = pytest.mark.parametrize("means", [SPREAD, EQUAL], ids=["spread", "equal"])


def test_skip_at_1e12(versus):
    versus(ours(UCB(DELTA), GAP, 10**12, "skip"), seeds=9, repeats=3)


def test_skip_on_a_tie(versus):
    versus(ours(UCB(DELTA), TIE, 10**8, "skip"), tenth(loops.ucb, TIE), repeats=3)


@pytest.mark.parametrize("means", [SPREAD, EQUAL, GAP, MANY], ids=["spread", "equal", "2", "100"])
def test_rounds(versus, means):
    versus(ours(UCB(DELTA), means, 10**6, "rounds"), plain(loops.ucb, means, 10**6))


@MEANS
def test_rounds_against_c(versus, means):
    case = in_c("ucb", means, 10**6)
    if case is None:
        pytest.skip("gcc is missing: C is not measured")
    versus(ours(UCB(DELTA), means, 10**6, "rounds"), case)


@pytest.mark.parametrize(
    "T",
    [
        pytest.param(2000, id="short"),
        pytest.param(10**5, id="long", marks=pytest.mark.long),
    ],
)
def test_replications_against_numpy(versus, T):
    M, few = 1000, 2000  # this many rounds stand for all in NumPy: their cost does not change
    mine = per_round(simulated(UCB(DELTA), BernoulliBandit(SPREAD), T, M, "rounds"), M * T)
    rival = per_round(side_by_side(loops.ucb_side_by_side, SPREAD, few, M), M * few)
    versus(mine, rival, seeds=2, repeats=3)


@pytest.mark.long
@pytest.mark.parametrize("library", ["mabwiser", "smpybandits"])
def test_rounds_against_a_library(versus, library):
    T = 10**6
    mine = per_round(ours(UCB(DELTA), SPREAD, T, "rounds"), T)
    versus(mine, another_library(library, "ucb"), seeds=2, repeats=2)
