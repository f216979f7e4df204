"""KL-UCB: the exact skip, and round by round against a plain Numba loop."""

import pytest

from bench.plain import optimism as loops
from bench.support.cases import DELTA, EQUAL, GAP, SPREAD, TIE, ours, plain, tenth
from uli_fast import KLUCB

KL = KLUCB(DELTA)


def test_skip_at_1e12(versus):
    versus(ours(KL, GAP, 10**12, "skip"), seeds=21, repeats=3)


def test_skip_on_a_tie(versus):
    versus(ours(KL, TIE, 10**8, "skip"), tenth(loops.kl_ucb, TIE), repeats=2)


@pytest.mark.parametrize("means", [GAP, SPREAD, EQUAL], ids=["2", "10", "equal"])
def test_rounds(versus, means):
    versus(ours(KL, means, 10**6, "rounds"), plain(loops.kl_ucb, means, 10**6))
