"""The same in C: limits.c, compiled on this machine."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import shutil
import subprocess
from typing import Any

import numpy as np

from bench import BENCH, BUILD
from bench.support.cases import DELTA, LANES, REPLICATIONS, SEED, Case, Run, per_round
from uli_fast import Exp3P
from uli_fast._support.memory import aligned
from uli_fast._support.streams import stream, stream_words

SOURCE = BENCH / "support" / "limits.c"
# Without errno, sqrt is one instruction; -ffast-math made the loop slower.
GCC_FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")


def in_c(name: str, means: Any, horizon: int) -> Case | None:
    """Return a plain loop of limits.c, ``ucb`` or ``exp3p``, or None without a compiler."""
    library = limits()
    if library is None:
        return None
    loop, p = getattr(library, name), np.array(means)

    def prepare(seed: int) -> Run:
        words, n = stream(SEED, seed), np.zeros(p.size)

        def run() -> Any:
            loop(p.ctypes.data, p.size, horizon, DELTA, words.ctypes.data, n.ctypes.data)
            return n

        return run

    return Case(prepare)


def lockstep_in_c(means: Any, horizon: int, rounds: int | None = None) -> Case | None:
    """Return ``lockstep`` in C from the same seeds, or None without a compiler.

    It is tuned to the horizon, and plays this many rounds of it.
    """
    library = limits()
    if library is None:
        return None
    q = np.repeat(1.0 - np.array(means), LANES)
    K, T = len(means), horizon if rounds is None else rounds
    gamma, _ = Exp3P(DELTA).rates(K, horizon, DELTA)

    def block(seed: int, first: int) -> tuple[Any, ...]:
        words = stream_words(SEED + seed, first, LANES)
        arrays = aligned(q.size, np.float64), aligned(4 * LANES, np.uint64)
        arrays[0][:], arrays[1][:] = q, words.T.ravel()
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
    digest = hashlib.sha256(SOURCE.read_bytes() + " ".join(GCC_FLAGS).encode()).hexdigest()
    target = BUILD / f"limits-{digest[:16]}.so"
    BUILD.mkdir(exist_ok=True)
    # Built again by every process: the machine may have changed under -march=native.
    subprocess.run([gcc, *GCC_FLAGS, "-o", str(target), str(SOURCE), "-lm"], check=True)
    library = ctypes.CDLL(str(target))
    pointer, whole, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    for loop in (library.ucb, library.exp3p):
        loop.argtypes = [pointer, whole, whole, real, pointer, pointer]
        loop.restype = None
    library.exp3p_lanes.argtypes = [pointer, whole, whole, real, *[pointer] * 5]
    library.exp3p_lanes.restype = None
    return library
