"""What is measured: whole replications of ours, and plain loops.

A case prepares a run from a seed and hands back the call to be timed. Making its stream
is never timed; allocating a run and playing it to the horizon is. Replications
in lockstep are timed as ``simulate`` plays them, seeding included; bases on linear arms
from where a phase has started. Ours and a plain loop have the same streams.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench.plain.elimination import still_in
from bench.plain.jit import plain as compiled
from bench.plain.jit import repeated
from uli_fast import (
    BernoulliBandit,
    EliminationFramework,
    Exp3P,
    LinearBandit,
    MetaElimination,
    simulate,
)
from uli_fast._support.streams import stream, stream_words
from uli_fast.geometry import designs
from uli_fast.kernels.arms.state import RoundRecord
from uli_fast.learners._adversarial.bases import losses_of
from uli_fast.learners._arms import ArmLearner, new_states
from uli_fast.learners.geometric_hedge import RHO, whitened
from uli_fast.simulation.simulate import rounds_to_record

DELTA = 0.1
SEED = 20_240_101
# Ten equal arms: nobody is ever eliminated, the most work for SE-MAB and PE-MAB.
EQUAL = np.full(10, 0.5)
# One best arm and nine that are .05, .10, ..., .45 worse.
SPREAD = np.append(0.5, np.linspace(0.45, 0.05, 9))
# Two arms, .05 apart and tied.
GAP, TIE = np.array([0.5, 0.45]), np.array([0.5, 0.5])
# One best arm and 99 that are .05 to .45 worse.
MANY = np.append(0.5, np.linspace(0.45, 0.05, 99))
# Replications of Exp3.P in lockstep, and how many of them a call in C plays.
REPLICATIONS, LANES = 64, 16

Run = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """One side of a comparison; a time counts ``factor``-fold."""

    prepare: Callable[[int], Run]
    factor: float = 1
    says_its_time: bool = False  # a run returns its own seconds: it is in another process
    # A short run that compiles as much, for one that is too long to be repeated.
    warm: Case | None = None


@compiled
def coins(rng, n):
    """Draw nothing but coins from a NumPy generator."""
    total = 0
    for _ in range(n):
        total += rng.random() < 0.5
    return total


@functools.cache
def yardstick() -> Case:
    """Return a million Bernoulli draws, which take some time on every machine.

    By NumPy's generator, as ever: kept runs can be held against new ones.
    """

    def prepare(seed: int) -> Run:
        rng = numpy_draws(seed)
        return lambda: coins(rng, 10**6)

    return Case(prepare)


def numpy_draws(seed: int) -> np.random.Generator:
    """Return what rivals in NumPy draw from."""
    return np.random.default_rng([SEED, seed])


def tenth(loop: Callable[..., Any], means: Any) -> Case:
    """Return a plain loop of 10^7 rounds that stands for one of 10^8."""
    return plain(loop, means, 10**8, factor=10)


def per_round(case: Case, rounds: int) -> Case:
    """Return the case, its time divided by the rounds of all its replications."""
    return replace(case, factor=1.0 / rounds)


def ours(learner: ArmLearner, means: Any, horizon: int, engine: str) -> Case:
    """Return a replication on Bernoulli arms."""
    return replication(learner, BernoulliBandit(means), horizon, engine)


def replication(learner: ArmLearner, problem: Any, horizon: int, engine: str) -> Case:
    """Return a replication as ``simulate`` plays it, with its default record."""
    rounds = rounds_to_record(None, horizon)

    def prepare(seed: int) -> Run:
        plays = np.zeros((1, rounds.size, problem.n_arms), np.int64)
        record = RoundRecord(rounds, plays, np.zeros((1, 1), np.int64))
        law = problem.law(stream_words(SEED, seed, 1), engine)

        def run() -> Any:
            begun = learner.begin(learner.on(problem), law, record, engine, horizon)
            budget = (1 << 22) // problem.n_arms
            while not begun.advance(budget):
                budget *= 2
            return plays[0, -1]

        return run

    return Case(prepare)


def plain(loop: Callable[..., Any], means: Any, horizon: int, factor: int = 1) -> Case:
    """Return a plain Numba loop, played to ``horizon // factor`` and scaled up."""
    p = np.array(means)

    def prepare(seed: int) -> Run:
        words = stream(SEED, seed)
        return lambda: loop(p, horizon // factor, DELTA, words)

    return Case(prepare, factor)


def simulated(
    learner: Any, problem: Any, horizon: int, replications: int, engine: str = "auto"
) -> Case:
    """Return a whole call of ``simulate`` on one thread, which records the horizon alone.

    A hundred recorded rounds, the default, would be part of it at any horizon.
    """

    def prepare(seed: int) -> Run:
        batch = (learner, problem, horizon, replications, SEED + seed, engine, [horizon])
        return lambda: simulate(*batch, progress=False)

    return Case(prepare)


def side_by_side(loop: Callable[..., Any], means: Any, horizon: int, replications: int) -> Case:
    """Return replications in NumPy, all of them in every operation."""
    p = np.array(means)

    def prepare(seed: int) -> Run:
        rng = numpy_draws(seed)
        return lambda: loop(p, horizon, DELTA, rng, replications)

    return Case(prepare)


def one_after_another(
    loop: Callable[..., Any], means: Any, horizon: int, replications: int
) -> Case:
    """Return replications by a plain loop, with the streams that ``simulate`` gives them."""
    p = np.array(means)

    def prepare(seed: int) -> Run:
        words = stream_words(SEED + seed, 0, replications)
        return lambda: repeated(loop)(p, horizon, DELTA, words)

    return Case(prepare)


def lockstep(means: Any, horizon: int, replications: int = REPLICATIONS) -> Case:
    """Return replications of Exp3.P side by side, per round of one of them."""
    case = simulated(Exp3P(DELTA), BernoulliBandit(means), horizon, replications)
    return per_round(case, replications * horizon)


def meta_run() -> Case:
    """Return 32 replications of the first three phases on four arms, with proved constants."""
    problem = BernoulliBandit([0.95, 0.9, 0.35, 0.05])
    learner = MetaElimination(Exp3P(constant=176.0), DELTA, mode="sharp")
    phase = learner.schedule(problem.features, None)
    horizon = sum(phase(m).rounds for m in (1, 2, 3))
    return simulated(learner, problem, horizon, 32)


@functools.cache
def framework() -> EliminationFramework:
    """Return the framework around the test of SE-MAB as a compiled rule, with the F of SE-MAB."""

    @compiled
    def rule(n, total, active, t):
        return still_in(n, total, active, DELTA)

    def f(delta: float, t: float) -> float:
        return math.sqrt(140.0 * (math.log(40.0 / delta) + 2.0 * math.log(t)) / t)

    return EliminationFramework(rule, f, delta=DELTA)


def phase_of(base: Any, problem: Any, horizon: int) -> Case:
    """Return one phase of a base, tuned to the horizon and started, round by round."""
    losses = losses_of(base.losses, problem.low, problem.high, problem.intercept)
    arms = np.arange(problem.n_arms)

    def prepare(seed: int) -> Run:
        law = problem.law(stream(SEED, seed), "rounds")
        phase, state = base.start_phase(problem.features, horizon, DELTA), new_states(law)

        def run() -> Any:
            phase.play(law, arms, state, losses.offset, losses.slope, horizon)
            return state.n

        return run

    return per_round(Case(prepare), horizon)


def linear_arms(K: int, d: int) -> LinearBandit:
    """Return K random unit vectors in R^d with Bernoulli rewards."""
    arms = np.random.default_rng(SEED).normal(size=(K, d))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    return LinearBandit(np.append(0.8, np.zeros(d - 1)), arms, noise="bernoulli")


def corners(d: int) -> LinearBandit:
    """Return the corners of the cube [-1, 1]^d with Bernoulli rewards."""
    arms = np.stack(np.meshgrid(*[[-1.0, 1.0]] * d), axis=-1).reshape(-1, d)
    return LinearBandit(np.append(0.4, np.full(d - 1, 0.1)), arms, noise="bernoulli")


def hedge_in_numpy(
    loop: Callable[..., Any],
    problem: LinearBandit,
    horizon: int,
    draws: Callable[[int], Any] = numpy_draws,
) -> Case:
    """Return GeometricHedge.P as a NumPy loop, on arms that are already whitened."""
    nu = designs.d_optimal(problem.features, RHO).weights
    x = whitened(problem.features, nu)

    def prepare(seed: int) -> Run:
        rng = draws(seed)
        return lambda: loop(x, nu, problem.unit_means, horizon, DELTA, rng)

    return per_round(Case(prepare), horizon)


def plain_linear(
    loop: Callable[..., Any], problem: LinearBandit, horizon: int, factor: int = 1
) -> Case:
    """Return a plain loop on linear arms, played to ``horizon // factor`` and scaled up."""
    x, p = np.array(problem.features), np.array(problem.unit_means)

    def prepare(seed: int) -> Run:
        words = stream(SEED, seed)
        return lambda: loop(x, p, horizon // factor, DELTA, words)

    return Case(prepare, factor)
