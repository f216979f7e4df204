"""Ours: sharp PE-linear, docs/proofs_linear.md. Rows of this theme are not the paper's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import uli_fast as uli
from uli_fast._typing import F64
from uli_fast.guarantees.linear_blocks import LinearBlocks
from uli_fast.learners._linear_blocks import new_linear_state, redesign
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.common import simulate

CODE = ("learners/linear_elimination.py", "kernels/linear/blocks.py")
RATE, DESIGNS = "guarantees/linear_blocks.py", "kernels/linear/designs.py"
TESTS = "tests/learners/test_linear_blocks.py"
THEORY = "tests/theory/test_linear_blocks.py"
# What rounding may do to a leverage.
SLACK = 1.0 + 1e-9


def mixed(A: float, v: float, rho: float) -> float:
    """Return the mean of exp(u A - u^2 v / 2) over u ~ |N(0, 1 / rho)|, by a sum over u."""
    top, width = max(A / (v + rho), 0.0), 1.0 / math.sqrt(v + rho)
    u = np.linspace(0.0, top + 12.0 * width, 200_001)
    height = np.exp(u * A - u * u * (v + rho) / 2.0) * math.sqrt(2.0 * rho / math.pi)
    return float(np.trapezoid(height, u))


@check(
    "linear-boundary",
    (RATE, "formulas/mixture.py"),
    (
        f"{THEORY}::test_the_mixture_is_a_gaussian_integral",
        f"{THEORY}::test_c_rises_and_c_over_v_falls",
        f"{TESTS}::test_golden_figures",
    ),
)
def crossing(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_linear.md, steps 2, 5 and 6: c(v) is where the mixture is (K - 1) / delta.

    c(v) rises, c(v) / v falls: F falls.
    """
    off, cases, right = 0.0, 0, True
    for K, delta, prior in ((2, 0.3, 0.2), (4, 0.05, 0.2), (1000, 0.001, 2.0)):
        plan = LinearBlocks(K, 1, delta, prior)
        v = np.geomspace(1e-3, 1e6, 7 if quick else 40)
        c = plan.boundary(v)
        right &= bool((np.diff(c) > 0.0).all() and (np.diff(c / v) < 0.0).all())
        for x, at in zip(v.tolist(), c.tolist(), strict=True):
            off = max(off, abs(mixed(at, x, plan.rho) * delta / (K - 1) - 1.0))
            cases += 1
    return VerifyOutcome(
        f"{cases} variances from 1e-3 to 1e6, integrals by their sums",
        f"the mixture at c(v) is (K - 1) / delta up to {off:.1e}; c rises, c / v falls",
        off < 1e-6 and right,
    )


@check(
    "linear-leverage",
    (RATE, DESIGNS, *CODE),
    (
        f"{THEORY}::test_no_pair_has_more_leverage_than_f_counts_on",
        f"{THEORY}::test_pruning_keeps_the_moments",
        f"{THEORY}::test_many_unit_vectors_are_within_the_affine_ratio",
    ),
)
def leverage(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_linear.md, steps 7 and 8: m_l |a - b|^2 in V_l^-1 is at most rbar.

    For shrinking sets of arms, with designs of at most sbar arms.
    """
    rng = np.random.default_rng(8)
    worst, wide, designs = 0.0, 0.0, 0
    for _ in range(20 if quick else 300):
        arms = random_set(rng)
        K = len(arms)
        lin = new_linear_state(arms, 0.1, 0.2, bool(rng.random() < 0.5))
        plan = LinearBlocks(K, max(1, lin.affine.shape[1] - 1), 0.1, 0.2)
        active = np.full(K, True)
        while active.sum() > 1:
            redesign(lin, active)
            worst = max(worst, float(lin.facts[1]) / plan.leverage)
            wide = max(wide, float((lin.weights > 0.0).sum()) / plan.support)
            designs += 1
            left = np.flatnonzero(active)
            active[rng.choice(left, max(1, left.size // 4), replace=False)] = False
    return VerifyOutcome(
        f"{designs} designs of random arms, copies, thin and far ones among them",
        f"largest leverage of a pair {worst:.4f} of rbar, largest support {wide:.3f} of sbar",
        worst <= SLACK and wide <= 1.0,
    )


def random_set(rng: np.random.Generator) -> F64:
    """Return random arms: some round, some thin, some copied, some far from the origin."""
    d, K = int(rng.integers(1, 6)), int(rng.integers(2, 60))
    arms = rng.standard_normal((K, d))
    kind = int(rng.integers(4))
    if kind == 1:
        arms = arms * 10.0 ** -rng.integers(0, 4, d)
    elif kind == 2:
        arms = np.round(arms)
    elif kind == 3:
        arms = 1e-3 * arms + 1.0
    return np.asarray(arms)


@check(
    "linear-ULI",
    (*CODE, RATE),
    (
        f"{TESTS}::test_two_equal_arms_fail_almost_as_often_as_delta_allows",
        f"{TESTS}::test_gaps_are_within_the_certificate_and_f_at_every_look_on_the_event",
        f"{TESTS}::test_failures_of_a_thousand_runs",
    ),
)
def sharp_uli(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_linear.md, Theorem A: sharp PE-linear is ULI with F = 2 c(J) / J.

    On the event E gaps are within F and the best arm stays; E fails with probability delta at most.
    """
    M, delta = 200 if quick else 4000, 0.3
    rng = np.random.default_rng(6)
    arms = rng.standard_normal((20, 3))
    learner, missed, beyond = uli.LinearElimination(delta, R=1.0), list[int](), 0
    round_arms = arms / np.linalg.norm(arms, axis=1)[:, None]
    problems: tuple[Any, ...] = (
        uli.LinearBandit([1e-6, 0.0], np.eye(2)),
        uli.LinearBandit([0.3, 0.2, -0.1], round_arms),
    )
    for problem in problems:
        runs = simulate(learner, problem, 10**7, M, seed=9, rounds=[1])
        missed.append(int((~runs.event_held).sum()))
        on, best = runs.event_held, int(problem.means.argmax())
        bad = ~runs.holds | (runs.eliminated_at[:, best] > 0)
        beyond += int((bad & on).sum())
    p = min(exact.surprise(count, M, delta) for count in missed)
    return VerifyOutcome(
        f"{M} runs of 1e7 rounds each on two equal arms, and on 20 in 3 dimensions, "
        f"delta {delta:g}",
        f"E failed in {missed[0]} and {missed[1]} (p = {p:.2g}); on E {beyond} gaps beyond F or "
        "best arms lost",
        p >= exact.LEAST_P and beyond == 0 and missed[0] >= 0.1 * M,
    )
