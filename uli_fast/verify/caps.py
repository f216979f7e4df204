"""Ours: elimination by caps, docs/proofs_caps.md. Rows of this theme are not the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import uli_fast as uli
from uli_fast._typing import F64
from uli_fast.formulas.cap_elimination import (
    CAP_CUTS,
    CAP_SHRINKS,
    cap_eta,
    cap_kappa,
    cap_quantiles,
)
from uli_fast.kernels.cap_elimination import design
from uli_fast.learners.cap_elimination import CapPhases
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.common import simulate

CODE = ("learners/cap_elimination.py", "kernels/cap_elimination.py")
SIZES = "formulas/cap_elimination.py"
THEORY, TESTS = "tests/theory/test_caps.py", "tests/learners/test_cap_elimination.py"
DIMENSIONS = (1, 2, 3, 5, 10, 20)


def unit(rng: np.random.Generator, d: int) -> F64:
    """Return a random direction."""
    x = rng.standard_normal(d)
    return np.asarray(x / np.linalg.norm(x))


def at_depth(rng: np.random.Generator, u: F64, x: float) -> F64:
    """Return a random point of the sphere at 1 - <u, a> = x; of the segment, if d = 1."""
    beside = unit(rng, len(u))
    beside = beside - (beside @ u) * u
    length = float(np.linalg.norm(beside)) if len(u) > 1 else math.inf
    return np.asarray((1.0 - x) * u + math.sqrt(x * (2.0 - x)) / length * beside)


def barycentric(points: F64, a: F64) -> F64:
    """Return the coordinates of an arm in the points of a design, by a linear system."""
    system = np.column_stack([points, np.ones(len(points))]).T
    return np.asarray(np.linalg.solve(system, np.append(a, 1.0)))


def mah(points: F64, a: F64) -> float:
    """Return (d + 1) |lam(a)|^2 - 1."""
    lam = barycentric(points, a)
    return float(len(points) * (lam @ lam) - 1.0)


def caps(n: int, seed: int) -> Iterator[tuple[np.random.Generator, F64, float, F64]]:
    """Yield random caps, some deeper than a regular simplex, and their designs."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        d = DIMENSIONS[i % len(DIMENSIONS)]
        u, y = unit(rng, d), float(min(2.0, math.exp(rng.uniform(-6.0, 1.0))))
        points = np.empty((d + 1, d))
        design(u, y, points)
        yield rng, u, y, points


@check(
    "caps-design",
    CODE,
    (f"{THEORY}::test_no_arm_of_a_cap_is_further_than_d_and_the_design_is",),
)
def designs(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_caps.md, step 1: no arm of a cap is further than d from its design.

    No design does better. With the rim of a cap deeper than 1 + 1/d, where it is, some are.
    """
    n, largest, clipped = 600 if quick else 20_000, 0.0, 0.0
    for rng, u, y, points in caps(n, 1):
        d = len(u)
        arms = [*points, *(at_depth(rng, u, rng.uniform(0.0, y)) for _ in range(5))]
        largest = max(largest, max(mah(points, a) for a in arms) / d)
        if y > 1.2 + 1.0 / d and y < 1.9 and d > 1:
            rim = points[1:] - points[1:].mean(axis=0)
            rim *= math.sqrt(y * (2.0 - y)) / np.linalg.norm(rim[0])
            own = np.vstack([u, (1.0 - y) * u + rim])
            clipped = max(clipped, max(mah(own, a) for a in arms) / d)
    return VerifyOutcome(
        f"{n} random caps, six arms and more of each, d = 1 to 20",
        f"largest distance {largest:.9f} d; with the rim where it is {clipped:.2f} d",
        abs(largest - 1.0) < 1e-7 and clipped > 1.1,
    )


@check(
    "caps-kappa",
    (*CODE, f"{SIZES}::cap_kappa"),
    (f"{THEORY}::test_arms_of_a_cap_tau_times_as_deep_are_within_kappa_d",),
)
def deeper(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_caps.md, step 3: arms tau times as deep as a cap are within kappa d."""
    n, tau = 600 if quick else 20_000, (2.0 + (1.0 + CAP_CUTS) * CAP_SHRINKS) / CAP_CUTS
    share = dict.fromkeys(DIMENSIONS, 0.0)
    for rng, u, y, points in caps(n, 2):
        d, deepest = len(u), min(tau * y, 2.0)
        for x in (deepest, rng.uniform(0.0, deepest)):
            found = mah(points, at_depth(rng, u, x)) / (cap_kappa(d) * d)
            share[d] = max(share[d], found)
    least, most = min(share.values()), max(share.values())
    return VerifyOutcome(
        f"{2 * n} arms of caps, tau = {tau:.4f}",
        f"largest distance {most:.6f} kappa d, in each dimension at least {least:.3f}",
        most <= 1.0 and least > 0.98,
    )


@check(
    "caps-noise",
    (*CODE, f"{SIZES}::cap_quantiles"),
    (
        f"{THEORY}::test_quantiles_of_gaussian_noise",
        f"{THEORY}::test_the_step_of_hsu_kakade_and_zhang",
    ),
)
def noise(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_caps.md, step 2: the two errors stay below their quantiles (exact rates).

    For Gaussian noise both probabilities are known; twice the noise fails as often as it should.
    """
    from scipy.stats import chi2, norm

    runs, delta, allowed = 2000 if quick else 50_000, 0.5, 0.0
    rng, expected, failures = np.random.default_rng(3), 0.0, 0
    for d in DIMENSIONS:
        length, fixed = cap_quantiles(1, d, delta)
        share = delta / 4.0
        allowed = max(allowed, chi2.sf(length**2, d) / share, 2.0 * norm.sf(fixed) / share)
        expected += runs * float(chi2.sf((length / 2.0) ** 2, d))
        e = 2.0 * rng.standard_normal((runs, d + 1))
        e -= e.mean(axis=1, keepdims=True)
        failures += int((np.linalg.norm(e, axis=1) > length).sum())
    total = runs * len(DIMENSIONS)
    z = exact.sigmas(failures, total, expected / total)
    return VerifyOutcome(
        f"{total} phases, noise of 2 where R = 1 is assumed, to see failures",
        f"{failures} lengths beyond, {expected:.1f} expected, {z:+.2f} sigma; with R = 1 the "
        f"probabilities are up to {allowed:.2f} of what is allowed",
        abs(z) <= exact.SIGMAS and allowed <= 1.0,
    )


def edge(rng: np.random.Generator, phases: Any, best: F64, along: float) -> F64:
    """Return errors of the means as large as the event allows, partly along the best arm."""
    d = phases.ball.dimension
    length, fixed = cap_quantiles(phases.phase, d, phases.learner.delta)
    sigma = phases.R / math.sqrt(phases.arms_and_plays()[1])
    lam = barycentric(phases.points, best) - 1.0 / (d + 1.0)
    e = unit(rng, d + 1) + along * lam
    e -= e.mean()
    e *= sigma * length / np.linalg.norm(e)
    limit = math.sqrt(d / (d + 1.0)) * sigma * fixed
    return np.asarray(e / max(1.0, abs(float(lam @ e)) / limit))


@check(
    "caps-edge",
    CODE,
    (
        f"{THEORY}::test_on_the_edge_of_the_event",
        f"{THEORY}::test_errors_on_the_set_that_matters_are_below_eta",
    ),
)
def on_the_edge(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_caps.md, steps 4 and 5: the best arm stays, gaps are below 2.9 eta.

    With errors as bad as the event allows, for theta of any length; certificates hold, too.
    """
    cases, lost, beyond, worst = 120 if quick else 2400, 0, 0, 0.0
    for i in range(cases):
        rng, d = np.random.default_rng(i), DIMENSIONS[i % len(DIMENSIONS)]
        size, star = 10.0 ** rng.uniform(-4.0, 4.0), unit(rng, d)
        phases = CapPhases(uli.CapElimination(0.5, R=1.0), uli.arm_sets.Ball(d))
        while phases.phase < 8 and not phases.depth < 1e-9:
            arms, n, _ = phases.open()
            if phases.phase > 1:
                gap = size * float((1.0 - arms @ star).max())
                worst = max(worst, gap / ((1.0 + CAP_CUTS) * cap_eta(phases.phase - 1)))
                lost += bool(phases.pole @ star < 1.0 - phases.depth - 1e-12)
                beyond += bool(gap > phases.gap + 1e-12 * size)
            means = size * (arms @ star) + edge(rng, phases, star, (i % 3 - 1) * 10.0)
            phases.close(arms, n, means)
    return VerifyOutcome(
        f"{cases} runs of up to 8 phases, d = 1 to 20, |theta| from 1e-4 to 1e4",
        f"best arm lost {lost} times, {beyond} certificates broken; gap up to {worst:.3f} of F",
        lost == 0 and beyond == 0 and 0.5 < worst <= 1.0,
    )


@check(
    "caps-ULI",
    (*CODE, "players/cap_elimination.py", SIZES),
    (
        f"{TESTS}::test_random_balls_and_ellipsoids",
        f"{TESTS}::test_three_hundred_random_balls_and_ellipsoids",
        f"{TESTS}::test_golden_figures",
    ),
)
def caps_uli(quick: bool) -> VerifyOutcome:
    """Ours, Theorem B' of docs/proofs_caps.md: elimination by caps is ULI.

    F = 2.9 .36^(m-1) eta_0 in phase m > 1, whatever theta, center and intercept are.
    """
    M, delta, failures, total, worst = 2 if quick else 20, 0.3, 0, 0, 0.0
    for i in range(12):
        rng, d = np.random.default_rng(i), DIMENSIONS[i % len(DIMENSIONS)]
        axes = np.linalg.qr(rng.standard_normal((d, d)))[0] * 10.0 ** rng.uniform(-1.0, 0.5, d)
        region = uli.arm_sets.Ellipsoid(3.0 * rng.standard_normal(d), axes)
        if i >= len(DIMENSIONS):
            region = uli.arm_sets.Ball(d, 2.0, rng.standard_normal(d))  # type: ignore[assignment]
        theta = 10.0 ** rng.uniform(-3.0, 2.0) * unit(rng, d)
        problem = uli.LinearBandit(theta, arm_set=region)
        runs = simulate(uli.CapElimination(delta, R=1.0), problem, 10**12, M, seed=i)
        failures += int((~runs.holds).sum())
        worst, total = max(worst, float(runs.worst_ratio.max())), total + M
    p = exact.surprise(failures, total, delta)
    until = uli.CapElimination(0.1, R=1.0).guarantee(uli.arm_sets.Ball(20)).rounds_until(0.1)
    return VerifyOutcome(
        f"{total} runs of 1e12 rounds on balls and ellipsoids, d = 1 to 20, delta {delta}",
        f"{failures} beyond F (p = {p:.2g}); gap / F up to {worst:.3f}; "
        f"F < .1 from {until:.1e} on at d = 20, R = 1",
        p >= exact.LEAST_P and 0.3 < worst and until < 10**8,
    )
