"""UCB: the exact skip on two arms, and ten arms round by round against plain Numba and C."""

import plain as loops
import pytest
from cases import DELTA, EQUAL, GAP, SPREAD, TIE, in_c, ours, plain

from uli_fast import UCB

MEANS = pytest.mark.parametrize("means", [SPREAD, EQUAL], ids=["spread", "equal"])


@pytest.mark.benchmark(group="UCB, two arms, gap .05")
def test_skip_at_1e12(measure):
    measure(ours(UCB(DELTA), GAP, 10**12, "skip"), rounds=10)


@pytest.mark.benchmark(group="UCB, two tied arms")
def test_skip_at_1e8(measure):
    measure(ours(UCB(DELTA), TIE, 10**8, "skip"), rounds=5)


@pytest.mark.benchmark(group="UCB, two tied arms")
def test_plain_loop_at_a_tenth_of_1e8(measure):
    measure(plain(loops.ucb, TIE, 10**8, factor=10), rounds=5)


@pytest.mark.benchmark(group="UCB, K = 10, round by round, T = 1e6")
@MEANS
def test_rounds(measure, means):
    measure(ours(UCB(DELTA), means, 10**6, "rounds"), rounds=20)


@pytest.mark.benchmark(group="UCB, K = 10, round by round, T = 1e6")
@MEANS
def test_plain_loop(measure, means):
    measure(plain(loops.ucb, means, 10**6), rounds=20)


@pytest.mark.benchmark(group="UCB, K = 10, round by round, T = 1e6")
@MEANS
def test_c(measure, means):
    case = in_c("ucb", means, 10**6)
    if case is None:
        pytest.skip("gcc is missing: C is not measured")
    measure(case, rounds=20)


@pytest.mark.benchmark(group="UCB, K = 10, round by round, T = 1e7")
def test_rounds_at_1e7(measure):
    measure(ours(UCB(DELTA), SPREAD, 10**7, "rounds"), rounds=5)
