"""PE-MAB, ten equal arms: a whole run costs a few hundred draws, whatever T is."""

import plain as loops
import pytest
from cases import DELTA, EQUAL, ours, plain

from uli_fast import PhasedElimination


@pytest.mark.benchmark(group="PE-MAB, K = 10, all arms equal")
@pytest.mark.parametrize("T", [10**6, 10**9, 10**12], ids="T={:.0e}".format)
def test_skip(measure, T):
    measure(ours(PhasedElimination(DELTA), EQUAL, T, "skip"), rounds=500)


@pytest.mark.benchmark(group="PE-MAB, K = 10, round by round")
def test_rounds_at_1e7(measure):
    measure(ours(PhasedElimination(DELTA), EQUAL, 10**7, "rounds"), rounds=10)


@pytest.mark.benchmark(group="PE-MAB, K = 10, round by round")
def test_plain_loop_at_1e7(measure):
    measure(plain(loops.phased_elimination, EQUAL, 10**7), rounds=10)
