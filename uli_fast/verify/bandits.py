"""Finitely many arms: the metric, the framework, SE-MAB, PE-MAB, and what ULI implies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import uli_fast as uli
from uli_fast._typing import B1, F64, I64
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.common import NEARLY, SIDES, simulate, uli_outcome, within

NICE = "tests/theory/test_nice_events.py"
SE = ("learners/successive_elimination.py", "kernels/successive_elimination.py")
PE = ("learners/phased_elimination.py", "kernels/phased_elimination.py")
ARMS = [0.9, 0.8, 0.6, 0.3]


def arms_played(runs: Any) -> I64:
    """Return the arm of each round, (M, T), where every round is recorded."""
    arms: I64 = np.diff(runs.plays, axis=1, prepend=0).argmax(axis=2)
    return arms


@check(
    "ULI",
    ("results/metrics.py::worst_ratio", "guarantees/guarantee.py"),
    ("tests/results/test_runs.py::test_worst_ratio_is_exact_over_every_round",),
)
def definition(quick: bool) -> VerifyOutcome:
    """Definition ULI: the largest gap_t / F(delta, t) is taken over every round."""
    T, M = 3000, 10 if quick else 100
    problem = uli.BernoulliBandit(ARMS)
    runs = simulate(uli.SuccessiveElimination(0.1), problem, T, M, seed=1, rounds=range(1, T + 1))
    bound = uli.SuccessiveElimination(0.1).guarantee(problem).bound(np.arange(1, T + 1))
    slowly = (problem.gaps[arms_played(runs)] / bound).max(axis=1)
    off = float(np.abs(slowly / runs.worst_ratio - 1.0).max())
    return VerifyOutcome(
        f"{M} runs of SE-MAB, every one of {T} rounds looked at",
        f"last plays and all rounds agree to {off:.0e}; largest {slowly.max():.3f}",
        off < 1e-12,
    )


@check(
    "SC",
    ("learners/elimination_framework.py", "kernels/elimination_framework.py"),
    ("tests/learners/test_elimination_framework.py",),
)
def framework(quick: bool) -> VerifyOutcome:
    """Theorem SC, Algorithm framework_ULI: active sets within beta f make the algorithm ULI."""
    T, M, K, delta = 2000, 3 if quick else 20, len(ARMS), 0.1

    def rule(n: I64, total: F64, active: B1, t: int) -> B1:
        """SE-MAB's own test."""
        wd = exact.width(n, K, delta)
        best = (total / n - wd)[active].max()
        keep: B1 = active & ((t <= K + 1) | (total / n + wd >= best))
        return keep

    def f(delta: float, t: float) -> float:
        return math.sqrt(14.0 * K * math.log(4.0 * K * t**2 / delta) / t)

    problem = uli.BernoulliBandit(ARMS)
    claims = uli.EliminationFramework(rule, f, 1.0, delta)
    ours, plain = (
        simulate(learner, problem, T, M, seed=2, engine="rounds", rounds=range(1, T + 1))
        for learner in (claims, uli.SuccessiveElimination(delta))
    )
    same = bool((arms_played(ours) == arms_played(plain)).all())
    idle = uli.EliminationFramework(lambda n, total, active, t: active, f, 1.0, delta)
    broken = float(simulate(idle, problem, 8 * T, seed=2).worst_ratio.max())
    return VerifyOutcome(
        f"{M} runs with SE-MAB's rule as a user's, {T} rounds; a rule that drops nothing",
        f"plays {'are' if same else 'are NOT'} SE-MAB's, gap / (beta f) up to "
        f"{ours.worst_ratio.max():.3f}; without eliminations it reaches {broken:.2f}",
        same and bool(ours.holds.all()) and broken > 1.0,
    )


@check(
    "AAE_alg",
    SE,
    ("tests/learners/test_against_naive.py", "tests/learners/test_successive_elimination.py"),
)
def se_algorithm(quick: bool) -> VerifyOutcome:
    """Algorithm SE-MAB (AAE_alg), Eq. width: order of play, width and test, round by round."""
    T, M, delta = 2000, 4 if quick else 40, 0.1
    rng = np.random.default_rng(3)
    right = eliminated = 0
    for _ in range(M):
        means = rng.uniform(0.0, 1.0, 4)
        rewards = np.asarray(rng.random((4, T)) < means[:, None], np.float64)
        problem = uli.TableBandit(rewards, means=means)
        runs = simulate(uli.SuccessiveElimination(delta), problem, T, rounds=range(1, T + 1))
        found, left = se_by_hand(rewards, delta)
        right += (arms_played(runs)[0] == found).all()
        eliminated += 4 - left
    return VerifyOutcome(
        f"{M} tables of rewards, {T} rounds, against the pseudocode by hand",
        f"{right} of {M} agree in every round; {eliminated} arms eliminated",
        right == M and eliminated > M,
    )


def se_by_hand(rewards: F64, delta: float) -> tuple[I64, int]:
    """Follow the pseudocode of SE-MAB; return the arms played and how many are left."""
    K, T = rewards.shape
    n, total, active = np.zeros(K, int), np.zeros(K), np.ones(K, bool)
    played = np.zeros(T, np.int64)
    for t in range(1, T + 1):
        a = int(np.where(active, n, T).argmin())
        total[a] += rewards[a, n[a]]
        n[a] += 1
        played[t - 1] = a
        if t > K:
            mean, wd = total / n, exact.width(n, K, delta)
            active &= mean + wd >= (mean - wd)[active].max()
    return played, int(active.sum())


@check(
    "SE_concentration",
    (*SE, "results/runs.py"),
    (f"{NICE}::test_successive_elimination_fails_as_often_as_computed",),
)
def se_event(quick: bool) -> VerifyOutcome:
    """Lemma SE_concentration: all intervals hold with probability 1 - delta (exact rates)."""
    # Intervals of the paper's width almost never fail; of a smaller R they do, and show it.
    cells = [(0.35, 20_000), (0.25, 5_000)] if quick else [(0.5, 300_000), (0.35, 60_000)]
    K, delta, pulls = 2, 0.9, 100
    told, worst = [], 0.0
    for R, M in cells:
        rate = exact.interval_missed(K, 0.5, delta, pulls, R)
        learner, problem = uli.SuccessiveElimination(delta, R=R), uli.BernoulliBandit([0.5] * K)
        runs = simulate(learner, problem, K * pulls, M, seed=4, engine="rounds", rounds=[1])
        missed = int((~runs.event_held).sum())
        worst = max(worst, abs(exact.sigmas(missed, M, rate)))
        told.append(f"R {R}: {missed} of {M}, {M * rate:.1f} expected")
    return VerifyOutcome(
        f"K = {K} equal arms, {pulls} pulls each, delta {delta}; dynamic programming",
        f"{'; '.join(told)}; largest {worst:.2f} sigma",
        worst <= exact.SIGMAS,
    )


@check(
    "upperbound_pull",
    (*SE, "guarantees/successive_elimination.py"),
    (
        f"{NICE}::test_failures_stay_within_delta",
        "tests/learners/test_successive_elimination.py",
    ),
)
def se_worst_case(quick: bool) -> VerifyOutcome:
    """Lemmas optarm_always_active, upperbound_pull: on E the best arm stays, gaps are within F."""
    delta, K = 0.1, 2
    right, worst, tight, told = 0, 0.0, 0.0, list[str]()
    printed = uli.SuccessiveElimination(delta).guarantee(K, form="paper")
    for gap in (0.6, 0.3, 0.15) if quick else (0.6, 0.3, 0.15, 0.08, 0.04):
        n, at = se_falls(gap, delta)
        means = [0.5 + gap / 2, 0.5 - gap / 2]
        problem = uli.TableBandit(se_adversary(gap, 2 * at, delta), means=means)
        runs = simulate(uli.SuccessiveElimination(delta), problem, 2 * at)
        most = next(s for s in range(1, at) if gap >= 5.0 * exact.width(s, K, delta))
        fell = runs.eliminated_at.tolist() == [[0, at]] and bool(runs.event_held.all())
        right += fell and n <= most and at <= K * (n + 1)
        worst = max(worst, float(runs.worst_ratio_against(printed)[0]))
        tight = max(tight, float(runs.worst_ratio[0]))
        told.append(f"{gap:g} after {n}")
    return VerifyOutcome(
        f"rewards as bad as E allows, delta {delta}: the best arm low, the other high by wd(n)",
        f"{right} of {len(told)} gaps fall where computed ({', '.join(told)} pulls), the best "
        f"stays; gap / F {worst:.3f}, F of the schedule {tight:.3f}",
        right == len(told) and worst <= 1.0 and tight <= 1.0,
    )


def se_falls(gap: float, delta: float) -> tuple[int, int]:
    """Return the pulls of the worse of two arms, and the round, when the adversary loses it."""
    n, t = [1, 1], 2
    while (1.0 + NEARLY) * sum(exact.width(k, 2, delta) for k in n) >= gap:
        n[t % 2] += 1
        t += 1
    return n[1], t


def se_adversary(gap: float, n: int, delta: float) -> F64:
    """Return rewards in [0, 1] whose means are off by wd against the truth, (2, n)."""
    count = np.arange(1, n + 1)
    wd = NEARLY * exact.width(count, 2, delta)
    low, high = count * (0.5 + gap / 2 - wd), count * (0.5 - gap / 2 + wd)
    sums = np.stack([np.maximum(low, 0.0), np.minimum(high, count)])
    return np.diff(sums, axis=1, prepend=0.0)


@check(
    "verify_elimination_algs-SE",
    (*SE, "guarantees/successive_elimination.py"),
    (f"{NICE}::test_failures_stay_within_delta", "tests/guarantees/test_guarantees.py"),
)
def se_uli(quick: bool) -> VerifyOutcome:
    """Theorem verify_elimination_algs: SE-MAB is ULI with sqrt(14 K log(4 K t^2 / delta) / t)."""
    M = 2000 if quick else 20_000
    learner, problem = uli.SuccessiveElimination(0.1), uli.BernoulliBandit(ARMS)
    runs = simulate(learner, problem, 10**9, M, seed=5, rounds=[1])
    return uli_outcome(runs, f"means {ARMS}", learner.guarantee(problem, form="paper"))


@check(
    "PE_concentration",
    (*PE, "results/runs.py"),
    (
        f"{NICE}::test_phased_elimination_fails_as_often_as_computed",
        "tests/learners/test_against_naive.py",
    ),
)
def pe_event(quick: bool) -> VerifyOutcome:
    """Algorithm PE-MAB (PE_alg), Lemma PE_concentration.

    Phase means within 2^(-l-1) with probability 1 - delta (exact rates).
    """
    cells = [(2, 0.5, 0.9), (5, 0.3, 0.5)]
    M, phases = 10_000 if quick else 200_000, 3
    told, worst = [], 0.0
    for K, mean, delta in cells:
        rate = exact.phase_missed(K, mean, delta, phases)
        T = K * sum(exact.quota(phase, K, delta) for phase in range(1, phases + 1))
        learner, problem = uli.PhasedElimination(delta), uli.BernoulliBandit([mean] * K)
        runs = simulate(learner, problem, T, M, seed=6, rounds=[1])
        missed = int((~runs.event_held).sum())
        worst = max(worst, abs(exact.sigmas(missed, M, rate)))
        told.append(f"K {K}, mean {mean}, delta {delta}: {missed}, {M * rate:.1f} expected")
    return VerifyOutcome(
        f"equal arms, {phases} phases, {M} runs; sums of binomial probabilities",
        f"{'; '.join(told)}; largest {worst:.2f} sigma",
        worst <= exact.SIGMAS,
    )


@check(
    "PE_upperbound_pull",
    PE,
    (
        f"{NICE}::test_phase_bound_holds_on_the_event",
        "tests/learners/test_phased_elimination.py",
    ),
)
def pe_worst_case(quick: bool) -> VerifyOutcome:
    """Lemmas PE_MAB_optarm_always_active, PE_upperbound_pull.

    On E a gap above 2 2^-l ends with phase l, the best arm never.
    """
    delta, last = 0.1, 5 if quick else 8
    ends = np.cumsum([2 * exact.quota(phase, 2, delta) for phase in range(1, last + 2)])
    right, worst, tight = 0, 0.0, 0.0
    printed = uli.PhasedElimination(delta).guarantee(2, form="paper")
    for phase in range(2, last + 1):
        for side, falls in zip(SIDES, (phase, phase + 1), strict=True):
            gap = side * 2.0 * 2.0**-phase
            means = np.array([0.5 + gap / 2, 0.5 - gap / 2])
            horizon = int(ends[falls - 1])
            problem = uli.TableBandit(pe_adversary(means, delta, falls, horizon), means=means)
            runs = simulate(uli.PhasedElimination(delta), problem, horizon)
            fell = runs.eliminated_at.tolist() == [[0, horizon]]
            right += fell and bool(runs.event_held.all())
            worst = max(worst, float(runs.worst_ratio_against(printed)[0]))
            tight = max(tight, float(runs.worst_ratio[0]))
    return VerifyOutcome(
        f"phase means as bad as E allows, gaps 2 2^-l (1 +- 1e-6), phases 2 to {last}",
        f"{right} of {2 * (last - 1)} fall in the phase computed; gap / F {worst:.3f}, F of "
        f"the schedule {tight:.6f}",
        right == 2 * (last - 1) and worst <= 1.0 and tight <= 1.0,
    )


def pe_adversary(means: F64, delta: float, phases: int, n: int) -> F64:
    """Return rewards whose means in every phase are off by 2^(-l-1) against the truth, (2, n)."""
    against = np.array([-1.0, 1.0])
    blocks = [
        np.tile(
            (means + NEARLY * against * 2.0 ** (-phase - 1))[:, None],
            (1, exact.quota(phase, 2, delta)),
        )
        for phase in range(1, phases + 1)
    ]
    rewards = np.clip(np.concatenate(blocks, axis=1), 0.0, 1.0)
    return np.pad(rewards, ((0, 0), (0, n - rewards.shape[1])), mode="edge")


@check(
    "PE_MAB_FULI",
    (*PE, "guarantees/phased_elimination.py"),
    ("tests/guarantees/test_guarantees.py::test_bounds_are_the_paper_s",),
)
def pe_bound(quick: bool) -> VerifyOutcome:
    """Lemmas PE_MAB_FULI, PE_MAB_bound4ellt.

    G(l) = 4 2^-l is below F to the end of phase l, and l <= log2(t + 1).
    """
    sizes = [(K, delta) for K in (2, 10, 1000) for delta in (0.5, 0.05, 1e-6)]
    worst, in_time = 0.0, True
    for K, delta in sizes:
        learner = uli.PhasedElimination(delta)
        ends = K * np.cumsum([float(m) for m in learner.quotas(K, 10**15)])
        phase = np.arange(1, ends.size + 1)
        worst = max(
            worst, float((4.0 * 2.0**-phase / learner.guarantee(K, "paper").bound(ends)).max())
        )
        in_time &= bool((phase <= np.log2(np.append(0.0, ends[:-1]) + 2.0)).all())
    return VerifyOutcome(
        f"{len(sizes)} pairs of K and delta, all phases to 10^15 plays of an arm",
        f"largest G / F {worst:.3f}; {within(in_time)}",
        worst <= 1.0 and in_time,
    )


@check(
    "verify_elimination_algs-PE",
    (*PE, "guarantees/phased_elimination.py"),
    (f"{NICE}::test_failures_stay_within_delta", "tests/guarantees/test_guarantees.py"),
)
def pe_uli(quick: bool) -> VerifyOutcome:
    """Theorem verify_elimination_algs.

    PE-MAB is ULI with sqrt(256 K log(4 K log2(t+1)^2 / delta) / (3 t)).
    """
    M = 2000 if quick else 20_000
    learner, problem = uli.PhasedElimination(0.1), uli.BernoulliBandit(ARMS)
    runs = simulate(learner, problem, 10**9, M, seed=7, rounds=[1])
    return uli_outcome(runs, f"means {ARMS}", learner.guarantee(problem, form="paper"))


def learners_with_f() -> list[tuple[Any, Any, int]]:
    """Return ULI learners with problems and horizons at which their F says something."""
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [-0.5, 0.2]])
    linear = uli.LinearBandit([0.7, 0.2], vectors, sigma=0.5)
    flat = uli.BernoulliBandit(ARMS)
    mdp = uli.mdps.combination_lock(length=1, n_actions=2)
    return [
        (uli.SuccessiveElimination(0.1), flat, 10**9),
        (uli.PhasedElimination(0.1), flat, 10**9),
        (uli.LinearElimination(0.1, "paper", R=1.0), linear, 10**10),
        (uli.SpannerElimination(0.1, schedule="paper", R=1.0), linear, 10**12),
        (uli.PolicyElimination(0.1, "sharp"), mdp, 10**9),
    ]


@check(
    "ULI_implications-UPAC",
    ("guarantees/guarantee.py::Guarantee", "results/metrics.py::mistakes"),
    ("tests/guarantees/test_guarantees.py::test_rounds_until_is_the_last_round_above_eps",),
)
def uniform_pac(quick: bool) -> VerifyOutcome:
    """Theorem ULI_implications, first part: N_eps <= F_UPAC(delta, eps) for all eps at once."""
    M = 20 if quick else 400
    worst, runs_held = 0.0, 0
    for learner, problem, T in learners_with_f():
        runs = simulate(learner, problem, T, M, seed=8)
        held = runs.holds
        runs_held += int(held.sum())
        # N_eps jumps at the gaps and F_UPAC falls: just below each gap is the worst eps.
        for gap in gaps_of(runs):
            eps = float(np.nextafter(gap, 0.0))
            allowed = runs.guarantee.rounds_until(eps)
            worst = max(worst, float((runs.mistakes(eps)[held] / max(allowed, 1)).max()))
    off = max(abs(se_upac(eps) - exact_upac(eps)) for eps in (0.5, 0.1, 0.01, 1e-3))
    return VerifyOutcome(
        f"SE, PE, PE-linear, spanner and policy elimination, {M} runs each, just below every gap",
        f"{runs_held} ULI runs: largest N_eps / F_UPAC {worst:.3f}; F_UPAC of SE-MAB is off "
        f"by {off} from Lambert's W",
        worst <= 1.0 and off == 0,
    )


def gaps_of(runs: Any) -> list[float]:
    """Return the distinct positive gaps of what was played."""
    return sorted({float(gap) for gap in np.ravel(runs.known_gaps()) if gap > 0.0})


def se_upac(eps: float) -> int:
    """Return F_UPAC of SE-MAB on two arms, as the package finds it."""
    return uli.SuccessiveElimination(0.1).guarantee(2, form="paper").rounds_until(eps)


def exact_upac(eps: float) -> int:
    """Solve t = a (log(4 K / delta) + 2 log t), a = 14 K / eps^2, for K = 2 and delta = .1."""
    from scipy.special import lambertw

    a = 14.0 * 2.0 / eps**2
    t = -2.0 * a * float(lambertw(-math.sqrt(0.1 / 8.0) / (2.0 * a), -1).real)
    return math.floor(t)


@check(
    "ULI_implications-regret",
    ("guarantees/guarantee.py::Guarantee", "results/metrics.py::regret"),
    (
        "tests/guarantees/test_guarantees.py::test_simulated_regret_stays_below_the_bound",
        "tests/guarantees/test_guarantees.py::test_gap_free_regret_equals_the_sum",
    ),
)
def regret(quick: bool) -> VerifyOutcome:
    """Theorem ULI_implications, second part.

    Regret within the sum of F, and gap by gap, at all T.
    """
    M = 20 if quick else 400
    worst = by_gap = at_the_end = 0.0
    for learner, problem, T in learners_with_f():
        rounds = [10**k for k in range(int(math.log10(T)) + 1)]
        runs = simulate(learner, problem, T, M, seed=9, rounds=rounds)
        largest = runs.regret[runs.holds].max(axis=0)
        for t, value in zip(rounds, largest.tolist(), strict=True):
            worst = max(worst, value / runs.guarantee.regret(t))
            by_gap = max(by_gap, value / runs.guarantee.regret(t, gaps_of(runs)))
        at_the_end = max(at_the_end, largest[-1] / runs.guarantee.regret(T, gaps_of(runs)))
    se = uli.SuccessiveElimination(0.1).guarantee(2)
    summed = float(np.minimum(1.0, se.bound(np.arange(1, 10**6 + 1))).sum())
    off = se.regret(10**6) / summed - 1.0
    return VerifyOutcome(
        f"SE, PE, PE-linear, spanner and policy elimination, {M} runs each, T = 1, 10, 100, ...",
        f"largest regret / bound {worst:.3f}, gap by gap {by_gap:.3f} ({at_the_end:.3f} at the "
        f"end); bound / sum of F - 1 = {off:.1e}",
        max(worst, by_gap) <= 1.0 + 1e-12 and 0.0 <= off < 1e-3,
    )


@check(
    "UPAC_implications",
    ("guarantees/guarantee.py::Guarantee", "results/metrics.py::last_mistake"),
    ("tests/guarantees/test_guarantees.py",),
)
def pac(quick: bool) -> VerifyOutcome:
    """Theorem UPAC_implications.

    No mistake after F_UPAC, and the regret is the integral of F_UPAC.
    """
    M, T = 500 if quick else 10_000, 10**7
    problem = uli.BernoulliBandit(ARMS)
    told, fine = [], True
    for learner in (uli.SuccessiveElimination(0.1), uli.PhasedElimination(0.1)):
        runs = simulate(learner, problem, T, M, seed=10, rounds=[T])
        late = 0
        for eps in (0.01, 0.15, 0.5):
            late += int((runs.last_mistake(eps) > runs.guarantee.rounds_until(eps)).sum())
        # R_T = integral of N_eps <= integral of min(T, F_UPAC): on a grid, from both sides.
        grid = np.geomspace(1e-5, 1.0, 2000)
        counts = np.array([min(T, runs.guarantee.rounds_until(float(e))) for e in grid])
        steps = np.diff(grid, prepend=0.0)
        lower, upper = float(steps @ counts), float(steps @ np.append(T, counts[:-1]))
        fine &= late == 0 and lower <= runs.guarantee.regret(T) <= upper
        told.append(f"{late} late; {lower:.0f} <= {runs.guarantee.regret(T):.0f} <= {upper:.0f}")
    return VerifyOutcome(
        f"{M} runs of SE-MAB and PE-MAB, {T:.0e} rounds; eps .01, .15, .5 and a grid of 2000",
        "; ".join(told),
        fine,
    )
