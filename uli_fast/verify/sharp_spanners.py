"""Ours: the sharp schedule on spanners, docs/proofs_sets.md, Theorem B."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import uli_fast as uli
from uli_fast._typing import F64
from uli_fast.guarantees.spanner_blocks import SpannerSize, phi, quantile
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.common import simulate
from uli_fast.verify.spanners import begun, random_sets

CODE = (
    "learners/_sharp_spanner.py",
    "learners/_spanner_sets.py",
    "guarantees/spanner_blocks.py",
    "geometry/spanners.py",
)
TESTS = "tests/learners/test_sharp_spanner.py"
THEORY = "tests/theory/test_spanner_blocks.py"


@check(
    "spanner-lemma",
    CODE[2:3],
    (
        f"{THEORY}::test_the_lemma_holds_for_many_laws",
        f"{THEORY}::test_no_law_on_a_grid_breaks_the_lemma",
        f"{THEORY}::test_chernoff",
    ),
)
def lemma(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_sets.md, Theorem B, steps 3 and 4: errors of columns, whatever their signs.

    E max(1, exp(x e)) <= exp phi(x); sums of p e+ + q e- exceed Q with probability e^-L at most.
    """
    closest, cases = 0.0, 0
    for p in np.linspace(0.01, 0.5, 10 if quick else 100).tolist():
        # The least R of a law on two points is known (Kearns and Saul).
        R = 0.5 if p == 0.5 else math.sqrt((1.0 - 2.0 * p) / (2.0 * math.log((1.0 - p) / p)))
        for x in np.geomspace(0.02, 8.0, 40).tolist():
            for up, down in (((1.0 - p) / R, -p / R), (p / R, -(1.0 - p) / R)):
                high = p if up > -down else 1.0 - p
                mean = high * math.exp(x * up) + 1.0 - high
                closest, cases = max(closest, mean / math.exp(phi(x))), cases + 1
    rng, N, beyond = np.random.default_rng(1), 10**5 if quick else 10**6, 0
    D, log = np.array([2.0, 1.0, 2.0]), 1.5
    e = rng.standard_normal((N, 3))
    e[:, 1] *= np.where(e[:, 0] > 0.0, 0.1, 1.0)  # columns may look at those before
    beyond = int(((D * np.maximum(-e, 0.0)).sum(axis=1) > quantile(D.tolist(), log)).sum())
    p_value = exact.surprise(beyond, N, math.exp(-log))
    return VerifyOutcome(
        f"{cases} laws on two points and values of x; {N} draws of three columns, L = {log}",
        f"mean / bound up to {closest:.4f}; "
        f"{beyond / N:.4f} beyond Q, allowed {math.exp(-log):.4f}",
        closest <= 1.0 + 1e-9 and p_value >= exact.LEAST_P,
    )


def stays(active: Any, arm: F64) -> bool:
    """Return whether an arm is in the active set, up to rounding."""
    return all(
        bool((V @ arm <= b + 1e-9 * np.maximum(1.0, np.abs(b))).all())
        for V, b in (active.cut, active.box)
    )


def on_the_edge(phases: Any, best: F64, size: float, rng: np.random.Generator) -> F64:
    """Return errors of the real columns with sum p e+ + q e- equal to ``size``."""
    real, c = phases.spanner.real, phases.spanner.inverse @ best
    up, down = (phases.high - c)[real], (c - phases.low)[real]
    e = rng.standard_normal(len(up))
    total = float((up * np.maximum(e, 0.0) + down * np.maximum(-e, 0.0)).sum())
    return np.asarray(e * size / total)


@check(
    "spanner-edge",
    CODE,
    (
        f"{TESTS}::test_errors_as_large_as_the_event_allows",
        f"{TESTS}::test_what_placeholders_hide_is_allowed_for",
    ),
)
def edge(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_sets.md, Theorem B, steps 1, 2 and 5: on the event the best arm stays.

    Errors are as large as the event allows, and no gap exceeds its phase's bound.
    """
    rng = np.random.default_rng(2)
    lost = beyond = phases = 0
    closest = 0.0
    for region, theta in random_sets(3, 8 if quick else 80):
        best, most = region.maximize(theta)
        run: Any = uli.SpannerElimination(0.3, 1.1, R=1.0).phases(region)
        for m in range(1, 7):
            arms, n, _ = run.open()
            worst = float((most - arms @ theta).max()) / run.scale
            beyond += worst > run.gap + 1e-7
            closest = max(closest, worst / run.gap) if run.gap > 0.0 else closest
            size = SpannerSize(m, region.dimension, 1.1, 0.3, 1.0 / run.scale)
            real, D = run.spanner.real, run.high - run.low
            hidden = size.length * float(np.linalg.norm(D[~real]))
            noise = size.error(D[real].tolist(), hidden, n) - hidden
            e = on_the_edge(run, best, 0.999 * noise, rng)
            run.close(arms, n, arms @ theta + e * run.scale)
            lost += not stays(run.active(m + 1)[0], best)
            phases += 1
    return VerifyOutcome(
        f"{phases} phases on random balls, boxes, polytopes and finite sets",
        f"the best arm is lost {lost} times, {beyond} gaps beyond the bound; "
        f"gap / bound up to {closest:.3f}",
        lost == 0 and beyond == 0 and closest > 0.5,
    )


@check(
    "spanner-ULI",
    (*CODE, "guarantees/spanner_elimination.py"),
    (
        f"{TESTS}::test_random_sets",
        f"{TESTS}::test_three_hundred_random_sets",
        f"{TESTS}::test_golden_figures",
    ),
)
def sharp_uli(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_sets.md, Theorem B: the sharp schedule is ULI, 2 .6^(m-1) in phase m."""
    M, delta, failures, total, worst = 2 if quick else 20, 0.1, 0, 0, 0.0
    late, sooner = 0, math.inf
    for i, (region, theta) in enumerate(random_sets(8, 8)):
        problem = uli.LinearBandit(theta, arm_set=region, sigma=1.0)
        learner = uli.SpannerElimination(delta, R=1.0)
        runs = simulate(learner, problem, 10**12, M, seed=i)
        failures, total = failures + int((~runs.holds).sum()), total + M
        worst = max(worst, float(runs.worst_ratio.max()))
        d, R = region.dimension, 1.0 / region.largest_norm()
        for p in (p for row in runs.phases for p in row[:-1]):
            most = d * SpannerSize(p.number, d, 1.2, delta, R).most
            late += p.last_round - p.first_round >= most
        paper = uli.SpannerElimination(delta, schedule="paper", R=1.0).guarantee(problem)
        sooner = min(sooner, paper.rounds_until(0.1) / runs.guarantee.rounds_until(0.1))
    # A best arm of hardly any advantage is lost as seldom.
    null, lost = uli.LinearBandit([1e-7], arm_set=uli.arm_sets.Box([-1.0], [1.0])), 0
    N = 500 if quick else 5000
    for r in range(N):
        run = begun(uli.SpannerElimination(0.9, 1.05, R=1.0), null, 4, r)
        kept = True
        for m in range(2, 5):
            run.advance()
            kept &= stays(run.phases.active(m)[0], np.ones(1))
        lost += not kept
    p_value = exact.surprise(failures, total, delta)
    return VerifyOutcome(
        f"{total} runs of 1e12 rounds on balls, boxes, polytopes, finite sets, delta {delta}; "
        f"{N} of 3 phases without a slope, delta .9",
        f"{failures} beyond F (p = {p_value:.2g}), {late} phases too long; "
        f"gap / F up to {worst:.3f}; the best arm is lost in {lost / N:.3f} without a slope; "
        f"F < .1 {sooner:.0f} times sooner than the paper's, or more",
        p_value >= exact.LEAST_P and late == 0 and 0 < lost < 0.9 * N and sooner > 30.0,
    )
