"""The sizes that most people run, 1 to 10,000 replications of 1,000 or 10,000 rounds; K = 10.

A whole call of ``simulate`` stands against NumPy and a plain Numba loop; further, what a
replication costs besides its rounds, and what a second thread gains.
"""

import os
from itertools import product

import pytest

from bench.support.cases import Case, per_round
from bench.support.everyday import (
    LEARNERS,
    LONG,
    REPLICATIONS,
    ROUNDS,
    all_at_once,
    one_by_one,
    whole_call,
)

SLOW = ("kl_ucb", "thompson_sampling")


def sizes(names):
    """Return learners x replications x rounds; a quick run has a few of the short ones."""
    params = []
    for name, M, T in product(names, REPLICATIONS, ROUNDS):
        if M * T < 10**8 or name not in SLOW:
            long = [pytest.mark.long] if M * T > LONG or M == 10 or T > 1_000 else []
            params.append(pytest.param(name, M, T, id=f"{name}-{M}-{T}", marks=long))
    return pytest.mark.parametrize(("name", "M", "T"), params)


def effort(M):
    """Return seeds and repeats that suit a size: many replications are alike in every seed."""
    return {"seeds": 3 if M < 100 else 1, "repeats": 2}


@sizes([name for name, sides in LEARNERS.items() if sides.numpy])
def test_against_numpy(versus, name, M, T):
    versus(whole_call(name, M, T), all_at_once(name, M, T), **effort(M))


@sizes(LEARNERS)
def test_against_loop(versus, name, M, T):
    versus(whole_call(name, M, T), one_by_one(name, M, T), **effort(M))


@pytest.mark.parametrize("name", ["successive_elimination", "phased_elimination", "ucb"])
def test_overhead(versus, name):
    M, T = 10_000, 20
    mine = per_round(whole_call(name, M, T), M)
    versus(mine, per_round(one_by_one(name, M, T), M), seeds=1, repeats=2)


@pytest.mark.parametrize("name", ["successive_elimination", "phased_elimination"])
def test_recording(versus, name):
    M, T = 10_000, 100
    mine = per_round(whole_call(name, M, T, rounds=range(1, T + 1)), M)
    versus(mine, per_round(one_by_one(name, M, T), M), seeds=1, repeats=2)


@pytest.mark.long
@pytest.mark.parametrize("name", ["ucb", "successive_elimination"])
def test_two_threads(versus, name):
    if (os.cpu_count() or 1) < 2:
        pytest.skip("there is one core")
    M, T = 10_000, 1_000
    versus(whole_call(name, M, T, n_jobs=2), whole_call(name, M, T), seeds=1, repeats=4)


def test_streams(versus):
    streams = pytest.importorskip("uli_fast._support.streams")
    versus(Case(lambda seed: lambda: streams.stream_words(seed, 0, 10**5)))
