"""The meta-algorithm that makes adversarial bases ULI, and a base without a proof."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import uli_fast as uli
from uli_fast._typing import MetaMode
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.adversarial import EXP3P, HEDGE, META
from uli_fast.verify.common import simulate, within

META_TESTS = "tests/learners/test_meta_elimination.py"


@check(
    "UB_complexity",
    META,
    (
        f"{META_TESTS}::test_whole_runs_with_the_papers_constants",
        f"{META_TESTS}::test_whole_runs_with_the_sharp_constants",
    ),
)
def meta_worst_case(quick: bool) -> VerifyOutcome:
    """Lemmas opt_active, UB_complexity, from absUB and Corollary loss_concentration.

    576 and 7 suffice, by 3.83 where 5 is printed for 6.41; and in mode "sharp"
    a threshold of 1 + 4 kappa.
    """
    from uli_fast.learners._adversarial.phases import eliminate
    from uli_fast.learners._arms import empty_state

    # Lemma absUB for both arms, and sqrt(2) for the difference of their losses.
    deviations = {"sharp": 1.0 + 2.0 * math.sqrt(0.5), "printed": 5.0}
    sums = {name: total + math.sqrt(2.0) for name, total in deviations.items()}
    kept = removed = 0
    needed = {name: 4.0 * (7.0 + total) ** 2 for name, total in sums.items()}
    modes: tuple[tuple[MetaMode, float], ...]
    modes = (("paper", 361.0), ("sharp", 62.0), ("sharp", 361.0))
    cases = [(mode, c, m) for mode, c in modes for m in range(1, 31)]
    for mode, c, m in cases:
        delta, K = 0.05, 3
        learner = uli.MetaElimination(uli.Exp3P(constant=c), delta, mode=mode)
        phase = learner.schedule(np.zeros((K, 0)), None)(m)
        log = math.log(10.0 * K * 2.0 * m**2 / delta)
        # Losses deviate by sqrt(g T / 2) with the least g, by sqrt(log T / 2) in truth.
        total = sums["sharp"] * math.sqrt(c * K * log * phase.rounds)
        if mode == "sharp":
            total = (math.sqrt(c * K) + 4.0 * math.sqrt(0.5)) * math.sqrt(log * phase.rounds)
        off = total
        gap = 2.0 ** (-m / 2.0) * (1.0 + 1e-9)  # 2^m > 1 / gap^2
        state = empty_state(K)
        # The best arm looks worse than a twin by all that E allows, the bad one better.
        eliminate(state, np.array([off, 0.0, 0.5 * phase.rounds * gap - off]), phase.threshold)
        kept += bool(state.active[0])
        removed += not state.active[2]
    return VerifyOutcome(
        f"estimates as bad as E allows, all modes, gaps 2^(-m/2), {len(cases)} phases",
        f"best kept {kept}, bad removed {removed} of {len(cases)}; the sum is {sums['sharp']:.2f}, "
        f"as printed {sums['printed']:.2f}, which would need {needed['printed']:.0f} for 576",
        kept == removed == len(cases) and needed["printed"] > 576.0 > needed["sharp"],
    )


@check(
    "meta_FULI",
    (*META, "guarantees/meta_elimination.py"),
    (
        f"{META_TESTS}::test_the_phase_bound_is_below_f_at_every_round_of_the_phase",
        f"{META_TESTS}::test_the_bound_is_the_papers",
    ),
)
def meta_bound(quick: bool) -> VerifyOutcome:
    """Lemmas meta_FULI, Meta_bound4ellt.

    G(m) = 2^(-(m-1)/2) is below F to the end of phase m, and m <= log2(t + 1). F of the
    schedule is G itself.
    """
    worst, in_time, cases, same = 0.0, True, 0, True
    for base, arms in ((uli.Exp3P(), np.zeros((5, 0))), (uli.GeometricHedge(), np.eye(5))):
        for mode in ("paper", "sharp"):
            for delta in (0.5, 0.05, 1e-6):
                learner = uli.MetaElimination(base, delta, mode=mode)
                guarantee, end = learner.guarantee((5, 5), form="paper"), 0
                scheduled = learner.guarantee((5, 5))
                for m in range(1, 36):
                    in_time &= m <= math.log2(end + 2.0)
                    end += learner.schedule(arms, None)(m).rounds
                    worst = max(worst, 2.0 ** (-(m - 1) / 2.0) / guarantee.bound(end))
                    same &= scheduled.bound(end) == 2.0 ** (-(m - 1) / 2.0)
                cases += 1
    return VerifyOutcome(
        f"{cases} choices of base, mode and delta, 35 phases each",
        f"largest G / F {worst:.4f}; {within(in_time)}",
        worst <= 1.0 and in_time and same,
    )


def meta_outcome(learner: Any, problem: Any, phases: int, M: int, seed: int) -> VerifyOutcome:
    """Run whole phases; count eliminations that come late, and best arms that are lost."""
    K, exp3p = problem.n_arms, type(learner.base) is uli.Exp3P
    c: Any = learner.base_on(problem.features).constant
    size = c * (K if exp3p else problem.rank)
    sharp = 4.0 * (2.0 + 8.0 / math.sqrt(2.0 * size)) ** 2
    sharp = sharp if exp3p or c < 256.0 else max(sharp, 5000.0 / c)
    mode = {"paper": 576.0, "sharp": sharp}[learner.mode]
    logs = [math.log(20.0 * K * m**2 / learner.delta) for m in range(1, phases + 1)]
    lengths = [mode * size * log * 2**m for m, log in enumerate(logs, start=1)]
    arms = problem.features
    plan = [learner.schedule(arms, None)(m).rounds for m in range(1, phases + 1)]
    as_planned = all(x <= n <= x * (1.0 + 1e-5) + 1.0 for x, n in zip(lengths, plan, strict=True))
    ends = np.cumsum(plan)
    runs = simulate(learner, problem, int(ends[-1]), M, seed=seed, rounds=[1])
    late = lost = 0
    for a, gap in enumerate(problem.gaps.tolist()):
        at = runs.eliminated_at[:, a]
        if gap == 0.0:
            lost += int((at > 0).sum())
            continue
        due = math.floor(math.log2(1.0 / gap**2)) + 1
        late += int((at == 0).sum() if due <= phases else 0)
        late += int((at > ends[min(due, phases) - 1]).sum())
    printed = learner.guarantee(problem, form="paper")
    ratio = runs.worst_ratio_against(printed)
    failures = int(((ratio > 1.0) | ~runs.holds).sum())
    p = exact.surprise(max(failures, lost), M, learner.delta)
    at_ends = set(runs.eliminated_at.ravel().tolist()) <= {0, *ends.tolist()}
    telling = runs.guarantee.rounds_until(float(problem.gaps.max()) * (1.0 - 1e-9))
    tested = "F is telling" if telling < runs.horizon else "F says nothing yet, G does; F"
    return VerifyOutcome(
        f"{M} runs of {phases} phases ({runs.horizon:.1e} rounds), {learner.mode} constants, "
        f"c = {c:g}, gaps {', '.join(f'{g:.2g}' for g in problem.gaps)}",
        f"{failures} beyond F, {lost} best arms lost (p = {p:.2g}), {late} later than G allows; "
        f"gap / F up to {ratio.max():.3f}, of the schedule {runs.worst_ratio.max():.3f}, "
        f"{tested} from {telling:.1e} on",
        p >= exact.LEAST_P and late == 0 and at_ends and as_planned,
    )


@check(
    "Meta_alg_corr-Exp3P",
    (*META, *EXP3P),
    (
        f"{META_TESTS}::test_whole_runs_with_the_papers_constants",
        f"{META_TESTS}::test_exp3p_in_lanes_equals_naive_on_the_same_draws",
    ),
)
def meta_exp3p(quick: bool) -> VerifyOutcome:
    """Algorithm non_elimination_ULI, Eq. badarms, Theorems meta_ULI, Meta_alg_corr.

    The meta-algorithm on Exp3.P is ULI.
    """
    problem = uli.BernoulliBandit([0.995, 0.005, 0.4])
    if quick:
        learner = uli.MetaElimination(uli.Exp3P(), 0.05, mode="sharp")
        return meta_outcome(learner, problem, 3, 32, 6)
    learner = uli.MetaElimination(uli.Exp3P(), 0.05)
    return meta_outcome(learner, problem, 3, 64, 6)


@check(
    "Meta_alg_corr-GeometricHedge",
    (*META, *HEDGE),
    (
        f"{META_TESTS}::test_whole_runs_of_geometric_hedge",
        f"{META_TESTS}::test_geometric_hedge_equals_naive_on_the_same_draws",
    ),
)
def meta_hedge(quick: bool) -> VerifyOutcome:
    """Theorem Meta_alg_corr: the meta-algorithm on GeometricHedge.P is ULI."""
    learner = uli.MetaElimination(uli.GeometricHedge(), 0.05, mode="sharp")
    arms = np.array([[0.95, 0.0], [-0.95, 0.1], [0.2, 0.3]])
    problem = uli.LinearBandit([1.0, 0.0], arms, noise="bernoulli")
    return meta_outcome(learner, problem, 2 if quick else 3, 2 if quick else 16, 7)


@check(
    "SCRiBLe",
    ("learners/scrible.py", "geometry/hull.py", "kernels/scrible.py"),
    (
        "tests/kernels/test_scrible.py",
        "tests/learners/test_scrible.py::test_the_share_of_the_best_arm_grows",
    ),
    illustration=True,
)
def scrible(quick: bool) -> VerifyOutcome:
    """Refined SCRiBLe: another base, experimental, without a proof; it learns on a square."""
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) / 2.0
    T, M = 10**5, 2 if quick else 16
    problem = uli.LinearBandit([0.9, 0.7], square, noise="bernoulli")
    rounds = [T // 10, 9 * T // 10, T]
    runs = simulate(uli.Scrible(), problem, T, M, seed=8, rounds=rounds)
    best = runs.plays[:, :, 0].mean(axis=0) / (T // 10)
    early, late = float(best[0]), float(best[2] - best[1])
    return VerifyOutcome(
        f"{M} runs of {T:.0e} rounds on four arms",
        f"share of the best arm {early:.2f} in the first tenth, {late:.2f} in the last",
        late > early + 0.2,
    )
