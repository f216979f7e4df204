"""lil'UCB: the exact skip on two arms, and more round by round against plain Numba."""

import pytest

from bench.plain import optimism as loops
from bench.support.cases import DELTA, EQUAL, GAP, MANY, SPREAD, TIE, ours, plain, tenth
from uli_fast import LilUCB

LIL = LilUCB(DELTA)
LOOPS = pytest.mark.parametrize("loop", [loops.lil_ucb, loops.lil_ucb_kept], ids=["scan", "kept"])


def test_skip_at_1e12(versus):
    versus(ours(LIL, GAP, 10**12, "skip"), seeds=41, repeats=3)  # they differ most here


@LOOPS
def test_skip_on_a_tie(versus, loop):
    versus(ours(LIL, TIE, 10**8, "skip"), tenth(loop, TIE), repeats=2)


@pytest.mark.parametrize(
    ("means", "T"),
    [(GAP, 10**6), (SPREAD, 10**6), (MANY, 10**5)],
    ids=["2", "10", "100"],
)
@LOOPS
def test_rounds(versus, means, T, loop):
    versus(ours(LIL, means, T, "rounds"), plain(loop, means, T))


def test_rounds_on_equal_arms(versus):
    versus(ours(LIL, EQUAL, 10**6, "rounds"), plain(loops.lil_ucb, EQUAL, 10**6))
