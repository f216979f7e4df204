"""Everyday sizes: a whole call of ``simulate`` against NumPy and a plain Numba loop.

Ours seeds, plays, and records some 100 rounds, as by default. NumPy plays a round of all
replications at once (a sweep, for BettingElimination); the Numba loop plays one replication
after the other, from our streams. Making their generators is not timed, and they return nothing but
the pulls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from bench.plain import betting, elimination, exp3p, optimism
from bench.support.cases import DELTA, SEED, SPREAD, Case, Run, one_after_another, side_by_side
from uli_fast import (
    KLUCB,
    UCB,
    BernoulliBandit,
    BettingElimination,
    Exp3P,
    LilUCB,
    PhasedElimination,
    SuccessiveElimination,
    ThompsonSampling,
    simulate,
)

Loop = Callable[..., Any]


class Sides(NamedTuple):
    """A learner, and the tightest plain forms of it."""

    learner: Any
    loop: Loop  # of one replication, in Numba
    numpy: Loop | None = None  # of all of them


LEARNERS = {
    "ucb": Sides(UCB(DELTA), optimism.ucb, optimism.ucb_side_by_side),
    "lil_ucb": Sides(LilUCB(DELTA), optimism.lil_ucb_kept, optimism.lil_ucb_side_by_side),
    "successive_elimination": Sides(
        SuccessiveElimination(DELTA),
        elimination.successive_elimination_by_sweeps,
        elimination.successive_elimination_side_by_side,
    ),
    "phased_elimination": Sides(
        PhasedElimination(DELTA),
        elimination.phased_elimination,
        elimination.phased_elimination_side_by_side,
    ),
    "betting_elimination": Sides(
        BettingElimination(DELTA),
        betting.betting_elimination,
        betting.betting_elimination_side_by_side,
    ),
    "exp3p": Sides(Exp3P(DELTA), exp3p.exp3p, exp3p.exp3p_side_by_side),
    "kl_ucb": Sides(KLUCB(DELTA), optimism.kl_ucb),
    "thompson_sampling": Sides(ThompsonSampling(), optimism.thompson_sampling),
}
REPLICATIONS, ROUNDS = (1, 10, 100, 1_000, 10_000), (1_000, 10_000)
# A rival that would play more rounds than this plays fewer replications, each counted more often.
MOST_IN_NUMPY, MOST_IN_LOOP = 10**7, 10**6
# What is longer has no run that compiles before it, and no more repeats than it is given.
LONG = 10**6


def whole_call(
    name: str, M: int, T: int, n_jobs: int = 1, rounds: Iterable[int] | None = None
) -> Case:
    """Return M replications of T rounds by ``simulate``; some 100 of them are recorded."""
    learner, problem = LEARNERS[name].learner, BernoulliBandit(SPREAD)

    def prepare(seed: int) -> Run:
        return lambda: simulate(
            learner, problem, T, M, SEED + seed, rounds=rounds, n_jobs=n_jobs, progress=False
        )

    # Three replications are the least that Exp3.P plays in lanes.
    return Case(prepare, warm=whole_call(name, 3, T, n_jobs, rounds) if M * T > LONG else None)


def all_at_once(name: str, M: int, T: int) -> Case:
    """Return M replications of T rounds in NumPy, side by side."""
    loop = LEARNERS[name].numpy
    assert loop is not None, name
    return fewer(partial(side_by_side, loop, SPREAD), M, T, MOST_IN_NUMPY)


def one_by_one(name: str, M: int, T: int) -> Case:
    """Return M replications of T rounds in Numba, one after the other."""
    return fewer(partial(one_after_another, LEARNERS[name].loop, SPREAD), M, T, MOST_IN_LOOP)


def fewer(playing: Callable[[int, int], Case], M: int, T: int, most: int) -> Case:
    """Return M replications, of which no more than ``most`` rounds are played.

    ``playing`` takes a horizon and a number of replications.
    """
    played = min(M, max(most // T, 1))
    warm = playing(500, 3) if M * T > LONG else None
    return replace(playing(T, played), factor=M / played, warm=warm)
