"""lil'UCB: the exact skip on two arms, and ten arms round by round against plain Numba."""

import plain as loops
import pytest
from cases import DELTA, EQUAL, GAP, SPREAD, TIE, ours, plain

from uli_fast import LilUCB

MEANS = pytest.mark.parametrize("means", [SPREAD, EQUAL], ids=["spread", "equal"])
LOOPS = pytest.mark.parametrize(
    "loop", [loops.lil_ucb, loops.lil_ucb_kept], ids=["scan", "kept indices"]
)


@pytest.mark.benchmark(group="lil'UCB, two arms, gap .05")
def test_skip_at_1e12(measure):
    measure(ours(LilUCB(DELTA), GAP, 10**12, "skip"), rounds=40)


@pytest.mark.benchmark(group="lil'UCB, two tied arms")
def test_skip_at_1e8(measure):
    measure(ours(LilUCB(DELTA), TIE, 10**8, "skip"), rounds=5)


@pytest.mark.benchmark(group="lil'UCB, two tied arms")
@LOOPS
def test_plain_loop_at_a_tenth_of_1e8(measure, loop):
    measure(plain(loop, TIE, 10**8, factor=10), rounds=3)


@pytest.mark.benchmark(group="lil'UCB, K = 10, round by round, T = 1e6")
@MEANS
def test_rounds(measure, means):
    measure(ours(LilUCB(DELTA), means, 10**6, "rounds"), rounds=20)


@pytest.mark.benchmark(group="lil'UCB, K = 10, round by round, T = 1e6")
@LOOPS
@MEANS
def test_plain_loop(measure, means, loop):
    measure(plain(loop, means, 10**6), rounds=5)


@pytest.mark.benchmark(group="lil'UCB, K = 10, round by round, T = 1e7")
def test_rounds_at_1e7(measure):
    measure(ours(LilUCB(DELTA), SPREAD, 10**7, "rounds"), rounds=5)
