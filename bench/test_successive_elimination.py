"""SE-MAB, ten equal arms: the exact skip against the plain loop."""

import plain as loops
import pytest
from cases import DELTA, EQUAL, ours, plain

from uli_fast import SuccessiveElimination


@pytest.mark.benchmark(group="SE-MAB, K = 10, all arms equal")
@pytest.mark.parametrize("T", [10**8, 10**12], ids="T={:.0e}".format)
def test_skip(measure, T):
    measure(ours(SuccessiveElimination(DELTA), EQUAL, T, "skip"), rounds=20)


@pytest.mark.benchmark(group="SE-MAB, K = 10, all arms equal")
def test_plain_loop_at_a_tenth_of_1e8(measure):
    measure(plain(loops.successive_elimination, EQUAL, 10**8, factor=10), rounds=10)


@pytest.mark.benchmark(group="SE-MAB, K = 10, round by round")
def test_rounds_at_1e7(measure):
    measure(ours(SuccessiveElimination(DELTA), EQUAL, 10**7, "rounds"), rounds=5)
