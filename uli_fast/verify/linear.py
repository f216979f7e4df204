"""Finitely many linear arms: PE-linear."""

from __future__ import annotations

import math

import numpy as np

import uli_fast as uli
from uli_fast._typing import F64
from uli_fast.geometry import designs
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.adversarial import leverage
from uli_fast.verify.common import NEARLY, SIDES, simulate, uli_outcome

CODE = ("learners/linear_elimination.py", "kernels/linear_elimination.py")
TESTS = "tests/learners/test_linear_elimination.py"


def log_log(d: int) -> float:
    """Return log log max(d, e)."""
    return math.log(math.log(max(d, math.e)))


def phase_size(phase: int, K: int, d: int, delta: float) -> float:
    """Return m_l = 4 d 4^l max(log(4 K l^2 / delta), loglog d + 4) (Eq. def4mell)."""
    return 4.0 * d * 4.0**phase * max(math.log(4.0 * K * phase**2 / delta), log_log(d) + 4.0)


def largest_support(d: int) -> float:
    """Return 4 d loglog d + 16 (Eq. design_conditions)."""
    return 4.0 * d * log_log(d) + 16.0


def random_arms(rng: np.random.Generator, K: int, d: int) -> F64:
    """Return arms whose largest norm is 1."""
    arms = rng.standard_normal((K, d))
    return np.asarray(arms / np.linalg.norm(arms, axis=1).max())


@check(
    "design_conditions",
    (*CODE, "geometry/designs.py"),
    ("tests/geometry/test_designs.py", f"{TESTS}::test_rounds_equal_naive_on_the_same_draws"),
)
def design(quick: bool) -> VerifyOutcome:
    """Algorithm PE-linear (linear_PE), Eq. design_conditions.

    Leverages at most 2 d, at most 4 d loglog d + 16 arms.
    """
    rng = np.random.default_rng(1)
    worst, wide, cases = 0.0, 0.0, 20 if quick else 300
    for i in range(cases):
        d = int(rng.integers(1, 9))
        arms = random_arms(rng, int(rng.integers(d, 200)), d)
        if i % 4 == 3:
            arms = arms @ np.diag(10.0 ** rng.uniform(-3, 0, d))  # nearly flat
        weights = designs.g_optimal(arms).weights
        worst = max(worst, leverage(arms, weights) / (2.0 * d))
        wide = max(wide, float((weights > 0.0).sum()) / largest_support(d))
    return VerifyOutcome(
        f"{cases} random sets of up to 200 arms in up to 8 dimensions",
        f"largest leverage {worst:.3f} of 2 d, largest support {wide:.3f} of what is allowed",
        worst <= 1.0 + 1e-9 and wide <= 1.0,
    )


@check(
    "boundVnorm",
    CODE,
    (f"{TESTS}::test_phases_hold_the_design_its_plays_and_gaps",),
)
def norms(quick: bool) -> VerifyOutcome:
    """Lemma boundVnorm, Eq. def4mell.

    Every active arm has |a|^2 <= 2 d / m_l in the inverse of V.
    """
    rng = np.random.default_rng(2)
    worst, off, phases, delta = 0.0, 0.0, 0, 0.1
    for seed in range(4 if quick else 60):
        d, K = int(rng.integers(1, 6)), 20
        arms = random_arms(rng, K, d)
        theta = rng.standard_normal(d)
        problem = uli.LinearBandit(theta / np.linalg.norm(theta), arms)
        runs = simulate(uli.LinearElimination(delta, "paper", R=1.0), problem, 10**9, seed=seed)
        gone = runs.eliminated_at[0]
        for phase in runs.phases[0][:-1]:  # the last is cut by the horizon
            m = phase_size(phase.number, K, d, delta)
            active = arms[(gone == 0) | (gone >= phase.first_round)]
            V = (phase.plays[:, None] * phase.arms).T @ phase.arms
            squares = np.einsum("ij,jk,ik->i", active, np.linalg.pinv(V), active)
            worst = max(worst, float(squares.max()) * m / (2.0 * d))
            # Plays are ceil(pi(a) m_l): as many as m_l, and one more for each arm at most.
            extra = (float(phase.plays.sum()) - m) / len(phase.plays)
            off = max(off, -extra, extra - 1.0)
            phases += 1
    return VerifyOutcome(
        f"{phases} phases of runs with {K} arms in up to 5 dimensions",
        f"largest |a|^2 m_l / (2 d) {worst:.3f}; plays sum to m_l within their rounding "
        f"({max(off, 0.0):.1e} beyond)",
        worst <= 1.0 + 1e-9 and off <= 1e-6,
    )


@check(
    "PE_linear_concentration",
    (*CODE, "learners/_linear.py"),
    (f"{TESTS}::test_failures_stay_within_delta_and_the_phase_bound_holds_on_the_event",),
)
def event(quick: bool) -> VerifyOutcome:
    """Definition defE_PElinear and its lemma.

    Estimates within 2^-l with probability 1 - delta (exact rates).
    """
    # Orthogonal arms of equal value: errors are independent normals, nobody is eliminated.
    d, delta, sigma, phases = 2, 0.01, 2.5, 3
    M, arms = 2000 if quick else 40_000, np.eye(2)
    plays = [math.ceil(phase_size(phase, d, d, delta) / d) for phase in range(1, phases + 1)]
    missed = [exact.two_sided(2.0**-p * math.sqrt(n) / sigma) for p, n in enumerate(plays, 1)]
    rate = exact.any_of(missed * d)
    problem = uli.LinearBandit([0.3, 0.3], arms, sigma=sigma)
    runs = simulate(
        uli.LinearElimination(delta, "paper", R=1.0), problem, d * sum(plays), M, 3, rounds=[1]
    )
    count = int((~runs.event_held).sum())
    z = exact.sigmas(count, M, rate)
    return VerifyOutcome(
        f"{M} runs of {phases} phases, noise of {sigma} where R = 1 is assumed, to see failures",
        f"{count} failures, {M * rate:.1f} expected, {z:+.2f} sigma",
        abs(z) <= exact.SIGMAS,
    )


@check(
    "linear_PE_upperbound_pull",
    CODE,
    (f"{TESTS}::test_phases_hold_the_design_its_plays_and_gaps",),
)
def worst_case(quick: bool) -> VerifyOutcome:
    """Lemmas PE_optarm_always_active, linear_PE_upperbound_pull.

    On E a gap above 4 2^-l ends with phase l, the best arm never.
    """
    last = 8 if quick else 12
    right = 0
    for phase in range(2, last + 1):
        for side, falls in zip(SIDES, (phase, phase + 1), strict=True):
            fell, kept, _ = adversary(np.eye(2), side * 4.0 * 2.0**-phase, 0.1, last + 1)
            right += fell == falls and kept
    return VerifyOutcome(
        f"estimates as bad as E allows, gaps 4 2^-l (1 +- 1e-6), phases 2 to {last}",
        f"{right} of {2 * (last - 1)} fall in the phase computed, the best arm stays",
        right == 2 * (last - 1),
    )


def adversary(arms: F64, gap: float, delta: float, phases: int) -> tuple[int, bool, list[int]]:
    """Give PE-linear estimates off by 2^-l against e_1, for e_2, with <theta, e_1 - e_2> = gap.

    Return the phase in which e_2 falls, whether e_1 stays on the event, and the last rounds.
    """
    from uli_fast.learners._arms import empty_state
    from uli_fast.learners.linear_elimination import Phases

    learner, state = uli.LinearElimination(delta, "paper", R=1.0), empty_state(len(arms))
    run = Phases(delta, learner.units(arms, (None, None), 0.0), arms, state)
    theta, against, ends = np.array([gap, -gap]) / 2.0, np.array([-1.0, 1.0]), []
    for phase in range(1, phases + 1):
        quotas = run.quotas()
        state.clock[0] += quotas.sum()
        ends.append(int(state.clock[0]))
        estimate = theta + NEARLY * 2.0**-phase * against
        run.close(quotas * (arms @ estimate), arms @ theta)
        if not state.active[1]:
            break
    return phase, bool(state.active[0] and not state.broken[0]), ends


@check(
    "PE_linear_FULI",
    (*CODE, "guarantees/linear_elimination.py"),
    (f"{TESTS}::test_the_bound_has_2048",),
)
def bound(quick: bool) -> VerifyOutcome:
    """Lemmas PE_linear_FULI, PE_linear_bound4ellt, corrected.

    2048 where 512 is printed, which is too small.
    """
    K, d, delta, phase = 1000, 2, 0.01, 8
    inner = np.random.default_rng(4).uniform(-0.1, 0.1, (K - d, d))
    gap = 8.0 * 2.0**-phase * (1.0 - 1e-6)
    fell, kept, ends = adversary(np.vstack([np.eye(d), inner]), gap, delta, phase)
    t = ends[phase - 1]  # e_2 is active to the end of phase 8, at least
    log = math.log(4.0 * K * math.log2(t + 1.0) ** 2 / delta)
    printed = math.sqrt(512.0 * d * (log + 4.0) / (3.0 * t))  # with the 4 inside: the larger one
    ours = uli.LinearElimination(delta, "paper", R=1.0).guarantee((K, d), form="paper").bound(t)
    worst, in_time = 0.0, True
    for K, d, delta in [(K, d, x) for K in (2, 1000) for d in (1, 5, 50) for x in (0.5, 1e-6)]:
        # A phase has m_l plays, and at most one more for each arm of its design.
        number, sizes = np.arange(1, 25), [phase_size(p, K, d, delta) for p in range(1, 25)]
        ends_of = np.cumsum(np.array(sizes) + largest_support(d))
        guarantee = uli.LinearElimination(delta, "paper", R=1.0).guarantee((K, d), form="paper")
        worst = max(worst, float((8.0 * 2.0**-number / guarantee.bound(ends_of)).max()))
        in_time &= bool((number <= np.log2(np.cumsum(np.append(0.0, sizes[:-1])) + 2.0)).all())
    return VerifyOutcome(
        "estimates as bad as E allows to the end of phase 8, K = 1000, d = 2, delta .01; G / F of "
        "24 phases, 12 sizes",
        f"a gap of {gap:.5f} is active at t = {t}: printed F {printed:.4f}, ours {ours:.4f}; "
        f"largest G / F {worst:.3f}",
        fell >= phase and kept and printed < gap <= ours and worst <= 1.0 and in_time,
    )


@check(
    "verify_elimination_algs-PE-linear",
    (*CODE, "guarantees/linear_elimination.py"),
    (f"{TESTS}::test_failures_stay_within_delta_and_the_phase_bound_holds_on_the_event",),
)
def linear_uli(quick: bool) -> VerifyOutcome:
    """Theorem verify_elimination_algs.

    PE-linear is ULI with sqrt(2048 d max(log(4 K log2(t+1)^2 / delta), loglog d + 4) / (3 t)).
    """
    rng = np.random.default_rng(5)
    problem = uli.LinearBandit([0.7, 0.5, -0.3], random_arms(rng, 20, 3))
    M = 200 if quick else 5000
    learner = uli.LinearElimination(0.1, "paper", R=1.0)
    runs = simulate(learner, problem, 10**12, M, seed=6)
    return uli_outcome(runs, "20 arms in 3 dimensions", learner.guarantee(problem, form="paper"))
