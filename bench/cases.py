"""What is measured: whole replications of ours, plain loops, and C.

A case prepares a run from a seed and hands back the call to be timed. Making the
generator is never timed; allocating a run and playing it to the horizon is.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uli_fast import BernoulliBandit, _check
from uli_fast.kernels._arms import Record
from uli_fast.learners._arms import ArmLearner
from uli_fast.simulate import generator

DELTA = 0.1
SEED = 20_240_101
# Ten equal arms: nobody is ever eliminated, the most work for SE-MAB and PE-MAB.
EQUAL = np.full(10, 0.5)
# One best arm and nine that are .05, .10, ..., .45 worse.
SPREAD = np.append(0.5, np.linspace(0.45, 0.05, 9))
# Two arms, .05 apart and tied.
GAP, TIE = np.array([0.5, 0.45]), np.array([0.5, 0.5])

Run = Callable[[], Any]

HERE = Path(__file__).parent
# Without errno, sqrt is one instruction; -ffast-math made the loop slower.
GCC_FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")


@dataclass(frozen=True)
class Case:
    """One side of a comparison; a time counts ``factor``-fold."""

    prepare: Callable[[int], Run]
    factor: int = 1


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


def ucb_in_c(means: Any, horizon: int) -> Case | None:
    """Return UCB in C, or None without a compiler."""
    library = limits()
    if library is None:
        return None
    p = np.array(means)

    def prepare(seed: int) -> Run:
        words = generator(SEED, seed).integers(2**64, size=4, dtype=np.uint64)
        n = np.zeros(p.size)

        def run() -> Any:
            library.ucb(p.ctypes.data, p.size, horizon, DELTA, words.ctypes.data, n.ctypes.data)
            return n

        return run

    return Case(prepare)


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
    library.ucb.argtypes = [pointer, whole, whole, real, pointer, pointer]
    library.ucb.restype = None
    return library
