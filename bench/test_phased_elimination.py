"""PE-MAB on equal arms: a whole run costs a few hundred draws, whatever T is."""

import numpy as np
import pytest

from bench.plain import elimination as loops
from bench.support.cases import DELTA, EQUAL, ours, plain
from uli_fast import PhasedElimination

PE = PhasedElimination(DELTA)


def test_skip_at_1e12(versus):
    versus(ours(PE, EQUAL, 10**12, "skip"), repeats=200)


def test_skip_is_flat(versus):
    versus(ours(PE, EQUAL, 10**12, "skip"), ours(PE, EQUAL, 10**6, "skip"), repeats=200)


@pytest.mark.parametrize("K", [2, 10, 100])
def test_rounds(versus, K):
    means = np.full(K, 0.5)
    versus(ours(PE, means, 10**6, "rounds"), plain(loops.phased_elimination, means, 10**6))
