"""Exp3.P: replications in lockstep against plain Numba, C and NumPy, per round of one of them.

Most are long enough for the lanes' polynomial and for 64 seeds to be a percent or two; shorter
ones show what that takes.
"""

import pytest

from bench.plain import exp3p as loops
from bench.support.cases import (
    GAP,
    MANY,
    REPLICATIONS,
    SPREAD,
    lockstep,
    per_round,
    plain,
    side_by_side,
)
from bench.support.limits import in_c, lockstep_in_c
from bench.support.rivals import another_library

SIZES = pytest.mark.parametrize(
    ("means", "T"),
    [(GAP, 4 * 10**5), (SPREAD, 2 * 10**5), (MANY, 4 * 10**4)],
    ids=["2", "10", "100"],
)


@SIZES
@pytest.mark.parametrize("loop", [loops.exp3p, loops.exp3p_polynomial], ids=["plain", "polynomial"])
def test_lanes(versus, means, T, loop):
    versus(lockstep(means, T), per_round(plain(loop, means, T), T), seeds=3, repeats=10)


@pytest.mark.parametrize("T", [10**4, 10**5], ids=["1e4", "1e5"])
@pytest.mark.parametrize("means", [GAP, SPREAD], ids=["2", "10"])
def test_shorter_lanes(versus, means, T):
    rival = per_round(plain(loops.exp3p, means, T), T)
    versus(lockstep(means, T), rival, seeds=3, repeats=10)


@SIZES
def test_lanes_against_c(versus, means, T):
    case = lockstep_in_c(means, T)
    if case is None:
        pytest.skip("gcc is missing: C is not measured")
    versus(lockstep(means, T), case, seeds=3, repeats=10)


def test_lanes_against_numpy(versus):
    T, M = 2000, REPLICATIONS
    rival = side_by_side(loops.exp3p_side_by_side, SPREAD, T, M)
    versus(lockstep(SPREAD, 2 * 10**5), per_round(rival, M * T), seeds=2)


def test_one_replication(versus):
    T = 2 * 10**5
    versus(lockstep(SPREAD, T, 1), per_round(plain(loops.exp3p, SPREAD, T), T), repeats=10)


def test_one_replication_against_c(versus):
    T = 2 * 10**5
    case = in_c("exp3p", SPREAD, T)
    if case is None:
        pytest.skip("gcc is missing: C is not measured")
    versus(lockstep(SPREAD, T, 1), per_round(case, T), repeats=10)


@pytest.mark.long
def test_lanes_against_a_library(versus):
    rival = another_library("smpybandits", "exp3")
    versus(lockstep(SPREAD, 2 * 10**5), rival, seeds=2, repeats=2)
