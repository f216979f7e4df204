"""Designs, spanners and whole phases against plain rivals, in one run: ``python bench/linear.py``.

Each time is the minimum over repeats; ours and the rival take turns.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable

import numpy as np

from uli_fast import designs
from uli_fast.arm_sets import ArmSet, Ball, Finite, Polytope
from uli_fast.learners.spanner_elimination import SpannerElimination, SpannerPhases
from uli_fast.spanners import barycentric_spanner


def fastest(repeats: int, *jobs: Callable[[], object]) -> list[float]:
    """Return the shortest time of each job in seconds, the jobs taking turns."""
    best = [float("inf")] * len(jobs)
    for _ in range(repeats):
        for i, job in enumerate(jobs):
            begun = time.perf_counter()
            job()
            best[i] = min(best[i], time.perf_counter() - begun)
    return best


def frank_wolfe(arms: np.ndarray) -> np.ndarray:
    """Return a design with leverages up to 2d, the straightforward way."""
    K, d = arms.shape
    weights = np.full(K, 1.0 / K)
    while True:
        inverse = np.linalg.inv(arms.T @ (weights[:, None] * arms))
        leverages = ((arms @ inverse) * arms).sum(axis=1)
        a = int(leverages.argmax())
        if leverages[a] <= 2.0 * d:
            return weights
        step = (leverages[a] / d - 1.0) / (leverages[a] - 1.0)
        weights *= 1.0 - step
        weights[a] += step


def clouds(K: int, d: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    sphere = rng.standard_normal((K, d))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    return {"on a sphere": sphere, "in a ball": sphere * rng.uniform(0, 1, (K, 1)) ** 2}


def report_designs() -> None:
    for d, K, repeats in ((20, 10**4, 7), (50, 10**5, 2)):
        limit = 4 * d * np.log(np.log(d)) + 16
        for name, arms in clouds(K, d).items():
            ours, rival = fastest(
                repeats, lambda a=arms: designs.g_optimal(a), lambda a=arms: frank_wolfe(a)
            )
            support = int((designs.g_optimal(arms).weights > 0).sum())
            print(
                f"design, d = {d}, K = {K}, {name}: {1e3 * ours:.1f} ms, plain Frank-Wolfe "
                f"{1e3 * rival:.1f} ms, {rival / ours:.1f}x; support {support} of {limit:.0f}"
            )


def report_finite_spanner() -> None:
    points = np.random.default_rng(1).standard_normal((1000, 20))
    region = Finite(points / np.linalg.norm(points, axis=1, keepdims=True))
    for C in (2.0, 1.2):
        spanner = barycentric_spanner(region, C)
        (ours,) = fastest(20, lambda c=C: barycentric_spanner(region, c))
        print(
            f"finite spanner, K = 1000, d = 20, C = {C}: {1e3 * ours:.2f} ms, {spanner.swaps} swaps"
        )


def opened(region: ArmSet, theta: np.ndarray) -> SpannerPhases:
    """Return a run that has closed two phases without noise."""
    phases = SpannerPhases(SpannerElimination(0.05), region)
    for _ in range(2):
        arms, n, _ = phases.open()
        phases.close(arms, n, arms @ theta)
    return phases


def report_phases() -> None:
    rng = np.random.default_rng(2)
    for d in (5, 10):
        rows = rng.standard_normal((6 * d, d))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        box = np.vstack([rows, np.eye(d), -np.eye(d)])
        bounds = np.concatenate([rng.uniform(0.3, 0.6, 6 * d), np.full(2 * d, d**-0.5)])
        theta = rng.standard_normal(d)
        theta /= np.linalg.norm(theta)
        for region in (Ball(d), Polytope(box, bounds)):
            slow = copy.copy(region)
            slow.backend = "cvxpy"
            ready = opened(region, theta)

            def phase(where: ArmSet, ready: SpannerPhases = ready) -> None:
                again = copy.copy(ready)
                again.region = where
                again.open()

            ours, rival = fastest(3, lambda r=region: phase(r), lambda s=slow: phase(s))
            print(
                f"third phase, {type(region).__name__}, d = {d}: {1e3 * ours:.2f} ms, cvxpy "
                f"parametrised {1e3 * rival:.0f} ms, {rival / ours:.0f}x"
            )


if __name__ == "__main__":
    report_finite_spanner()
    report_phases()
    report_designs()
