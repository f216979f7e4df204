"""What is measured: whole replications of ours, plain loops, and C.

A case prepares a run from a seed and hands back the call to be timed. Making the
generator is never timed; allocating a run and playing it to the horizon is. Replications
in lockstep are timed as ``simulate`` plays them, seeding included; bases on linear arms
from where a phase has started.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import plain as loops

from uli_fast import (
    BernoulliBandit,
    Exp3P,
    LinearBandit,
    MetaElimination,
    _check,
    designs,
    simulate,
)
from uli_fast.kernels._arms import Record
from uli_fast.learners._adversarial import losses_of
from uli_fast.learners._arms import ArmLearner, new_state
from uli_fast.learners._lanes import aligned
from uli_fast.learners.geometric_hedge import RHO, whitened
from uli_fast.simulate import generator, generator_words

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

HERE = Path(__file__).parent
# Without errno, sqrt is one instruction; -ffast-math made the loop slower.
GCC_FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")


@dataclass(frozen=True)
class Case:
    """One side of a comparison; a time counts ``factor``-fold."""

    prepare: Callable[[int], Run]
    factor: float = 1
    says_its_time: bool = False  # a run returns its own seconds: it is in another process


@functools.cache
def yardstick() -> Case:
    """Return a million Bernoulli draws, which every machine takes some time for."""
    return plain(loops.draws, TIE, 10**6)


def tenth(loop: Callable[..., Any], means: Any) -> Case:
    """Return a plain loop of 10^7 rounds that stands for one of 10^8."""
    return plain(loop, means, 10**8, factor=10)


def per_round(case: Case, rounds: int) -> Case:
    """Return the case, its time divided by the rounds of all its replications."""
    return replace(case, factor=1.0 / rounds)


def ours(learner: ArmLearner, means: Any, horizon: int, engine: str) -> Case:
    """Return a replication as ``simulate`` plays it, with its default record."""
    problem = BernoulliBandit(means)
    rounds = _check.recorded_rounds("rounds", None, horizon)

    def prepare(seed: int) -> Run:
        plays = np.zeros((rounds.size, problem.n_arms), np.int64)
        record = Record(rounds, plays, np.zeros(1, np.int64))
        law = problem.law(generator(SEED, seed), engine)

        def run() -> Any:
            replication = learner.begin(problem, law, record, engine, horizon)
            budget = (1 << 22) // problem.n_arms
            while not replication.advance(budget):
                budget *= 2
            return plays[-1]

        return run

    return Case(prepare)


def plain(loop: Callable[..., Any], means: Any, horizon: int, factor: int = 1) -> Case:
    """Return a plain Numba loop, played to ``horizon // factor`` and scaled up."""
    p = np.array(means)

    def prepare(seed: int) -> Run:
        rng = generator(SEED, seed)
        return lambda: loop(p, horizon // factor, DELTA, rng)

    return Case(prepare, factor)


def simulated(
    learner: Any, problem: Any, horizon: int, replications: int, engine: str = "auto"
) -> Case:
    """Return a whole call of ``simulate`` on one thread, which records the horizon alone.

    A hundred recorded rounds, the default, add 40 ms to 64 replications at any horizon.
    """

    def prepare(seed: int) -> Run:
        batch = (learner, problem, horizon, replications, SEED + seed, engine, [horizon])
        return lambda: simulate(*batch, progress=False)

    return Case(prepare)


def side_by_side(loop: Callable[..., Any], means: Any, horizon: int, replications: int) -> Case:
    """Return replications in NumPy, all of them in every operation."""
    p = np.array(means)

    def prepare(seed: int) -> Run:
        rng = generator(SEED, seed)
        return lambda: loop(p, horizon, DELTA, rng, replications)

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


def phase_of(base: Any, problem: Any, horizon: int) -> Case:
    """Return one phase of a base, tuned to the horizon and started, round by round."""
    losses = losses_of(base.losses, problem.low, problem.high, problem.intercept)
    arms = np.arange(problem.n_arms)

    def prepare(seed: int) -> Run:
        law = problem.law(generator(SEED, seed), "rounds")
        phase, state = base.start_phase(problem.features, horizon, DELTA), new_state(law)

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


def hedge_in_numpy(loop: Callable[..., Any], problem: LinearBandit, horizon: int) -> Case:
    """Return GeometricHedge.P as a NumPy loop, on arms that are already whitened."""
    nu = designs.d_optimal(problem.features, RHO).weights
    x = whitened(problem.features, nu)

    def prepare(seed: int) -> Run:
        rng = generator(SEED, seed)
        return lambda: loop(x, nu, problem.unit_means, horizon, DELTA, rng)

    return per_round(Case(prepare), horizon)


def in_c(name: str, means: Any, horizon: int) -> Case | None:
    """Return a plain loop of limits.c, ``ucb`` or ``exp3p``, or None without a compiler."""
    library = limits()
    if library is None:
        return None
    loop, p = getattr(library, name), np.array(means)

    def prepare(seed: int) -> Run:
        words = generator(SEED, seed).integers(2**64, size=4, dtype=np.uint64)
        n = np.zeros(p.size)

        def run() -> Any:
            loop(p.ctypes.data, p.size, horizon, DELTA, words.ctypes.data, n.ctypes.data)
            return n

        return run

    return Case(prepare)


def lockstep_in_c(means: Any, horizon: int, rounds: int | None = None) -> Case | None:
    """Return ``lockstep`` in C from the same seeds, or None without a compiler.

    It is tuned to the horizon, and plays so many rounds of it.
    """
    library = limits()
    if library is None:
        return None
    q = np.repeat(1.0 - np.array(means), LANES)
    K, T = len(means), horizon if rounds is None else rounds
    gamma, _ = Exp3P(DELTA).rates(K, horizon, DELTA)

    def block(seed: int, first: int) -> tuple[Any, ...]:
        words = [generator_words(SEED + seed, r) for r in range(first, first + LANES)]
        arrays = aligned(q.size, np.float64), aligned(4 * LANES, np.uint64)
        arrays[0][:], arrays[1][:] = q, np.stack(words, axis=1).ravel()
        sums = (aligned(q.size, np.float64) for _ in range(2))
        counts = (aligned(q.size, np.int64) for _ in range(2))
        return *arrays, *sums, *counts

    def prepare(seed: int) -> Run:
        blocks = [block(seed, first) for first in range(0, REPLICATIONS, LANES)]

        def run() -> Any:
            for q, *others in blocks:
                pointers = (array.ctypes.data for array in others)
                library.exp3p_lanes(q.ctypes.data, K, T, gamma, *pointers)
            return np.concatenate([n.reshape(K, LANES).T for *_, n, _ in blocks])

        return run

    return per_round(Case(prepare), REPLICATIONS * T)


def gcc_version() -> str:
    """Return the compiler's version, or that it is missing."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return "missing"
    command = [gcc, "-dumpfullversion"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@functools.cache
def limits() -> ctypes.CDLL | None:
    """Compile limits.c into bench/.build; None without gcc."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    source = HERE / "limits.c"
    digest = hashlib.sha256(source.read_bytes() + " ".join(GCC_FLAGS).encode()).hexdigest()
    target = HERE / ".build" / f"limits-{digest[:16]}.so"
    target.parent.mkdir(exist_ok=True)
    # Built anew by every process: the machine may have changed under -march=native.
    subprocess.run([gcc, *GCC_FLAGS, "-o", str(target), str(source), "-lm"], check=True)
    library = ctypes.CDLL(str(target))
    pointer, whole, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    for loop in (library.ucb, library.exp3p):
        loop.argtypes = [pointer, whole, whole, real, pointer, pointer]
        loop.restype = None
    library.exp3p_lanes.argtypes = [pointer, whole, whole, real, *[pointer] * 5]
    library.exp3p_lanes.restype = None
    return library
