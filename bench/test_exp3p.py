"""Exp3.P: replications in lockstep against plain Numba and C; a whole meta-run."""

import plain as loops
import pytest
from cases import (
    GAP,
    MANY,
    SPREAD,
    in_c,
    lockstep,
    lockstep_in_c,
    meta_run,
    plain,
)

SIZES = pytest.mark.parametrize(
    ("means", "T"),
    [(GAP, 10**6), (SPREAD, 3 * 10**5), (MANY, 5 * 10**4)],
    ids=["K=2", "K=10", "K=100"],
)
LOOPS = pytest.mark.parametrize(
    "loop", [loops.exp3p, loops.exp3p_polynomial], ids=["exp", "polynomial"]
)


@pytest.mark.benchmark(group="Exp3.P, 64 replications")
@SIZES
def test_lanes(measure, means, T):
    measure(lockstep(means, T), rounds=5)


@pytest.mark.benchmark(group="Exp3.P, 64 replications")
@SIZES
def test_lanes_in_c(measure, means, T):
    case = lockstep_in_c(means, T)
    if case is None:
        pytest.skip("gcc is missing: C is not measured")
    measure(case, rounds=5)


@pytest.mark.benchmark(group="Exp3.P, one replication")
@SIZES
def test_one_lane(measure, means, T):
    measure(lockstep(means, T, replications=1), rounds=10)


@pytest.mark.benchmark(group="Exp3.P, one replication")
@LOOPS
@SIZES
def test_plain_loop(measure, means, T, loop):
    measure(plain(loop, means, T), rounds=10)


@pytest.mark.benchmark(group="Exp3.P, one replication")
@SIZES
def test_c(measure, means, T):
    case = in_c("exp3p", means, T)
    if case is None:
        pytest.skip("gcc is missing: C is not measured")
    measure(case, rounds=10)


@pytest.mark.benchmark(group="MetaElimination, three phases with proved constants")
def test_meta_run(measure):
    measure(meta_run(), rounds=1)
