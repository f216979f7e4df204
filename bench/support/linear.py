"""Designs, spanners and whole phases, ours and plain rivals."""

from __future__ import annotations

import copy
import functools

import numpy as np

from bench.plain.linear import frank_wolfe
from bench.support.cases import SEED, Case, Run
from bench.support.oracles import polytope_rows
from uli_fast import CapElimination, LinearBandit
from uli_fast._support.streams import stream
from uli_fast.arm_sets import ArmSet, Ball, Finite, Polytope
from uli_fast.geometry import designs
from uli_fast.geometry.spanners import barycentric_spanner
from uli_fast.learners._spanner_sets import SpannedPhases
from uli_fast.learners.spanner_elimination import SpannerElimination


@functools.cache
def cloud(K: int, d: int, shape: str) -> np.ndarray:
    """Return K arms on a sphere or in a ball."""
    rng = np.random.default_rng(0)
    sphere = rng.standard_normal((K, d))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    return sphere if shape == "sphere" else sphere * rng.uniform(0, 1, (K, 1)) ** 2


def design(arms: np.ndarray) -> Case:
    """Return our design."""
    return Case(lambda seed: lambda: designs.g_optimal(arms))


def support(arms: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return the support of our design, and the bound of phased elimination on it."""
    d = arms.shape[1]
    size = int((designs.g_optimal(arms).weights > 0).sum())
    return {"support": (size, 4 * d * np.log(np.log(d)) + 16)}


def plain_design(arms: np.ndarray) -> Case:
    """Return the straightforward design."""
    return Case(lambda seed: lambda: frank_wolfe(arms))


def finite_spanner(K: int, d: int, C: float) -> Case:
    """Return a spanner of K random unit vectors."""

    def prepare(seed: int) -> Run:
        points = np.random.default_rng([1, seed]).standard_normal((K, d))
        region = Finite(points / np.linalg.norm(points, axis=1, keepdims=True))
        return lambda: barycentric_spanner(region, C)

    return Case(prepare)


def region_of(shape: str, d: int, rng: np.random.Generator) -> ArmSet:
    """Return the unit ball, or random facets in a box."""
    return Ball(d) if shape == "ball" else Polytope(*polytope_rows(d, rng))


def opened(region: ArmSet, theta: np.ndarray, schedule: str) -> SpannedPhases:
    """Return a run that has closed two phases without noise."""
    phases = SpannerElimination(0.05, schedule=schedule, R=1.0).phases(region)
    for _ in range(2):
        arms, n, _ = phases.open()
        phases.close(arms, n, arms @ theta)
    return phases


def before_third(shape: str, d: int, seed: int, schedule: str = "paper") -> SpannedPhases:
    """Return a run of which two phases are closed."""
    rng = np.random.default_rng([2, d, seed])
    region = region_of(shape, d, rng)
    theta = rng.standard_normal(d)
    return opened(region, theta / np.linalg.norm(theta), schedule)


def effort(shape: str, d: int, seeds: int) -> dict[str, tuple[float, float]]:
    """Return the oracle calls and swaps of a third phase, and what is allowed; the worst seed's."""
    calls, swaps = [], []
    for seed in range(seeds):
        phases = before_third(shape, d, seed)
        phases.open()
        made, learner = phases.spanner, phases.learner
        size = learner.phase_size(3, d, phases.scale)
        calls.append((made.oracle_calls, 2 * d * (2 + made.swaps)))
        swaps.append((made.swaps, d / 2 * np.log(size) / np.log(learner.C)))
    worst = functools.partial(max, key=lambda pair: pair[0] / pair[1])
    return {"oracle calls": worst(calls), "swaps": worst(swaps)}


def third_phase(shape: str, d: int, backend: str = "auto", schedule: str = "paper") -> Case:
    """Return the spanner of a third phase, with our oracle or cvxpy's."""

    def prepare(seed: int) -> Run:
        ready = before_third(shape, d, seed, schedule)
        if backend == "cvxpy":
            ready.region = copy.copy(ready.region)
            ready.region.backend = "cvxpy"

        def run() -> None:
            again = copy.copy(ready)
            again.open()

        return run

    return Case(prepare)


def on_a_ball(learner: CapElimination, d: int, T: int) -> Case:
    """Return a whole run on the unit ball, |theta| = .9, from allocation to the horizon."""

    def prepare(seed: int) -> Run:
        theta = np.random.default_rng([3, d, seed]).standard_normal(d)
        problem = LinearBandit(0.9 * theta / np.linalg.norm(theta), arm_set=Ball(d))

        def run() -> None:
            played = learner.begin(learner.on(problem), stream(SEED, seed), "skip", T)
            while not played.advance():
                pass

        return run

    return Case(prepare)
