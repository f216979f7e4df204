"""BettingElimination: whole runs to 10^12, and round by round beside PE-MAB and a plain loop."""

import numpy as np
import pytest

from bench.plain.betting import betting_elimination
from bench.support.cases import DELTA, EQUAL, ours, plain, tenth
from uli_fast import BettingElimination, PhasedElimination, datasets

BETTING = BettingElimination(DELTA)
ISIS2 = np.array(datasets.load("isis2").means)


def test_isis2_at_1e12(versus):
    versus(ours(BettingElimination(0.05), ISIS2, 10**12, "skip"), repeats=40)


def test_equal_at_1e12(versus):
    versus(ours(BETTING, EQUAL, 10**12, "skip"), repeats=10)


@pytest.mark.parametrize("K", [2, 10])
def test_rounds_beside_phases(versus, K):
    means = np.full(K, 0.5)
    versus(
        ours(BETTING, means, 10**7, "rounds"),
        ours(PhasedElimination(DELTA), means, 10**7, "rounds"),
    )


@pytest.mark.parametrize("K", [2, 10, 100])
def test_rounds(versus, K):
    means = np.full(K, 0.5)
    versus(ours(BETTING, means, 10**6, "rounds"), plain(betting_elimination, means, 10**6))


def test_skip_at_1e8(versus):
    versus(ours(BETTING, EQUAL, 10**8, "skip"), tenth(betting_elimination, EQUAL), repeats=20)
