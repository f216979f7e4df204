"""The two remarks: no sublinear expected regret with ULI, and no rate without it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

import uli_fast as uli
from uli_fast.lower_bounds import Stay, lil_ucb_lower_bound, se_stay
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.common import simulate

PE = (
    "learners/phased_elimination.py",
    "kernels/phased_elimination.py",
    "guarantees/phased_elimination.py",
)
TESTS = "tests/verify/test_remarks.py"
# Two arms and a delta with which the paper's constants lose the best arm once in 1,000 runs.
MEANS, DELTA = (0.51, 0.49), 0.99
# Phases are followed until both arms are left with a probability below this.
NEGLIGIBLE = 1e-24


def expected_regret(T: int, means: Sequence[float], delta: float) -> tuple[float, float]:
    """Return P(the best arm is lost before T) and the expected regret of PE-MAB over T rounds.

    Two Bernoulli arms, the best first. A phase plays them one after the other, so that its
    last half is bad; once the best arm is lost, every round is.
    """
    gap, both, t = means[0] - means[1], 1.0, 0
    regret, gone, phase = 0.0, 0.0, 1
    while t < T and both > NEGLIGIBLE:
        m = exact.quota(phase, 2, delta)
        played = min(2 * m, T - t)
        regret += both * gap * max(0, played - m)
        t += played
        if played == 2 * m:
            lost, won = exact.phase_ends(phase, means, delta)
            gone += both * lost
            regret += both * lost * gap * (T - t)
            both *= max(0.0, 1.0 - lost - won)
        phase += 1
    return gone, regret


@check(
    "discussion_expected_reg",
    (*PE, "verify/exact.py::phase_ends"),
    (
        f"{TESTS}::test_a_phase_ends_as_often_as_enumerated",
        f"{TESTS}::test_expected_regret_is_that_of_all_paths",
    ),
)
def lost_for_good(quick: bool) -> VerifyOutcome:
    """Remark discussion_expected_reg: a run that loses the best arm has linear regret.

    Up to delta of the runs do, each for good; so the expected regret is linear in the end.
    """
    M, T = 10_000 if quick else 100_000, 10**12
    problem, learner = uli.BernoulliBandit(list(MEANS)), uli.PhasedElimination(DELTA)
    rounds = [10**4, 10**6, T]
    runs = simulate(learner, problem, T, M, seed=9, rounds=rounds)
    lost = runs.eliminated_at[:, 0] > 0
    rate, _ = expected_regret(T, MEANS, DELTA)
    off = exact.sigmas(int(lost.sum()), M, rate)
    mean = expected_regret(rounds[0], MEANS, DELTA)[1]
    early = runs.regret[:, 0]
    drift = float((early.mean() - mean) / early.std()) * math.sqrt(M)
    # A round of the bad arm costs the gap, from the loss of the other on, to the end.
    slope = (runs.regret[lost, 2] - runs.regret[lost, 1]) / (rounds[2] - rounds[1])
    linear = bool(np.allclose(slope, MEANS[0] - MEANS[1], rtol=1e-9))
    ends = [expected_regret(t, MEANS, DELTA)[1] for t in (10**9, T)]
    r = int(lost.argmax())
    return VerifyOutcome(
        f"{M} runs of PE-MAB, {T:.0e} rounds, means {MEANS[0]}, {MEANS[1]}, delta {DELTA}; "
        "binomial sums over its phases",
        f"{lost.sum()} runs lose the best arm, {M * rate:.1f} expected ({off:+.2f} sigma), and "
        f"just these go beyond F; run {r} at round {runs.eliminated_at[r, 0]}: regret "
        f"{runs.regret[r, 2]:.3g} = gap T, {np.median(runs.regret[:, 2]):.0f} in the median; "
        f"expected regret {mean:.1f} at 1e4 ({drift:+.2f} sigma), {ends[0]:.2g} at 1e9, "
        f"{ends[1]:.2g} at 1e12",
        abs(off) <= exact.SIGMAS
        and abs(drift) <= exact.SIGMAS
        and bool(lost.any())
        and np.array_equal(lost, ~runs.holds)
        and linear
        and ends[1] > 900.0 * ends[0],
    )


def remedy(T: int) -> float:
    """Return the delta that keeps what failures cost over T rounds within one gap."""
    return 1.0 / T


@check(
    "discussion_expected_reg-remedy",
    (*PE, "verify/exact.py::phase_ends"),
    (f"{TESTS}::test_expected_regret_is_that_of_all_paths",),
)
def known_horizon(quick: bool) -> VerifyOutcome:
    """Remark discussion_expected_reg, the usual remedy: delta = 1 / T.

    The expected regret over T rounds is within the bound at delta = 1 / T, and a gap: a
    failure costs gap T at most. T must be known, and nothing is promised beyond it.
    """
    horizons = [10**4, 10**6, 10**9, 10**12]
    problem, gap = uli.BernoulliBandit(list(MEANS)), MEANS[0] - MEANS[1]
    kept, tuned, room = [], [], 0.0
    for T in horizons:
        delta = remedy(T)
        kept.append(expected_regret(T, MEANS, DELTA)[1])
        lost, regret = expected_regret(T, MEANS, delta)
        bound = uli.PhasedElimination(delta).guarantee(problem, "paper").regret(T, problem.gaps)
        tuned.append(regret)
        room = max(room, regret / (bound + gap), lost * T)
    return VerifyOutcome(
        f"binomial sums, means {MEANS[0]}, {MEANS[1]}, T = 1e4, 1e6, 1e9, 1e12",
        f"delta = 1 / T: {', '.join(f'{x:.3g}' for x in tuned)}, at most {room:.3f} of the bound "
        f"and a gap; delta {DELTA} kept: {', '.join(f'{x:.3g}' for x in kept)}",
        room <= 1.0 and tuned[3] < 2.0 * tuned[2] < 4.0 * tuned[1] and kept[3] > 900.0 * kept[2],
    )


def lil_mistakes(gap: float, delta: float) -> int:
    """Return how often lil'UCB can play an arm while all its intervals hold.

    It does so only while mean + 2 U(n) >= the best mean, that is 2 U(n) >= gap.
    """
    low, high = 1, 2
    while 2.0 * exact.lil_bonus(high, delta) >= gap:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if 2.0 * exact.lil_bonus(middle, delta) >= gap else (low, middle)
    return high


@check(
    "ULI_stronger",
    ("learners/lil_ucb.py", "kernels/lil_ucb.py", "lower_bounds.py"),
    (
        f"{TESTS}::test_lil_mistakes_are_the_first_count_with_a_small_bonus",
        "tests/test_lower_bounds.py::test_golden_last_plays_of_lil_ucb",
    ),
)
def stronger(quick: bool) -> VerifyOutcome:
    """Remark, ULI is strictly stronger than uniform-PAC: lil'UCB is uniform-PAC, not ULI.

    N_eps is of order eps^-2 loglog(1 / eps) for all eps, yet the last mistake comes so late
    that no F of order t^(-1/2) with logarithms allows it.
    """
    delta, T, M = 0.1, 10**6 if quick else 10**8, 40 if quick else 400
    few, late, settled = 0.0, [], []
    for gap in (0.5, 0.2, 0.1, 0.01, 0.001):
        found = lil_ucb_lower_bound(gap, delta)
        few = max(few, (found.n + 1) / lil_mistakes(gap, delta))
        late.append(gap * math.sqrt(found.last_play))
        stay = se_stay(Fraction(str(gap)), Fraction(1, 10), False)
        settled.append(gap * math.sqrt(stay.last_round))
    power = math.log(late[4] / late[2]) / math.log(100.0)
    seen, share, p = lil_runs(T, M, delta)
    return VerifyOutcome(
        f"deterministic arms, gaps .5 to .001, delta {delta}, exactly; {M} runs of {T:.0e} rounds "
        "on three Bernoulli arms",
        f"N_eps up to {few:.2f} of F_UPAC, {share:.2f} in runs (p = {p:.2g}); gap sqrt(t) at the "
        f"last mistake {late[2]:.2g}, {late[3]:.2g}, {late[4]:.2g} at gaps .1, .01, .001, growing "
        f"with gap^-{power:.2f}; {settled[2]:.1f}, {settled[3]:.1f}, {settled[4]:.1f} for SE-MAB",
        few <= 1.0 and p >= exact.LEAST_P and seen and power > 1.9 and max(settled) < 30.0,
    )


def lil_runs(T: int, M: int, delta: float) -> tuple[bool, float, float]:
    """Play lil'UCB: whether a run is as computed, N_eps / F_UPAC, and how surprising it is."""
    found = lil_ucb_lower_bound(0.5, delta)
    run = simulate(uli.LilUCB(delta), uli.DeterministicBandit([1.0, 0.5]), 10**6)
    seen = (int(run.final_plays[0, 1]), int(run.last_play[0, 1])) == (found.n + 1, found.last_play)
    problem = uli.BernoulliBandit([0.8, 0.7, 0.4])
    runs = simulate(uli.LilUCB(delta), problem, T, M, seed=10)
    near, far = (lil_mistakes(gap, delta) for gap in problem.gaps.tolist()[1:])
    near_share = runs.mistakes(0.99 * problem.gaps[1]) / (near + far)
    share = np.maximum(near_share, runs.mistakes(0.99 * problem.gaps[2]) / far)
    return seen, float(share.max()), exact.surprise(int((share > 1.0).sum()), M, delta)


def relapse(stay: Stay) -> int:
    """Return log2 of the round in which the relapsing learner plays the worse arm once more."""
    return stay.last_round


@check(
    "ULI_stronger-no-rate",
    (
        "lower_bounds.py",
        "learners/successive_elimination.py",
        "guarantees/successive_elimination.py",
    ),
    (f"{TESTS}::test_a_relapse_breaks_every_power", "tests/test_lower_bounds.py"),
)
def no_rate(quick: bool) -> VerifyOutcome:
    """Remark, ULI is strictly stronger than uniform-PAC: a learner with no F at all.

    SE-MAB that plays the arm it dropped last once more, in round 2^t if that fell in round t:
    N_eps grows by one, so it is uniform-PAC; no (log t)^a t^-b with b > 0 allows the relapse.
    """
    delta, M = 0.1, 50 if quick else 1000
    guarantee = uli.SuccessiveElimination(delta).guarantee(2, form="paper")
    most, least, last = 0.0, math.inf, math.inf
    for gap in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01):
        stay = se_stay(Fraction(str(gap)), Fraction(1, 10), False)
        most = max(most, (stay.plays + 1) / (guarantee.rounds_until(gap) + 1))
        least = min(least, gap * math.sqrt(relapse(stay)))
        last = min(last, broken_power(gap, relapse(stay)))
    late = 0
    for gap in (0.5, 0.2):
        problem = uli.BernoulliBandit([0.5 + gap / 2.0, 0.5 - gap / 2.0])
        runs = simulate(uli.SuccessiveElimination(delta), problem, 10**9, M, seed=11, rounds=[1])
        allowed = guarantee.rounds_until(0.99 * gap)
        late += int((runs.mistakes(0.99 * gap) > allowed).sum())
        settled = runs.eliminated_at.max(axis=1).astype(float)
        least = min(least, float((gap * np.sqrt(settled)).min()))
    p = exact.surprise(late, 2 * M, delta)
    return VerifyOutcome(
        f"deterministic arms, gaps .5 to .01, delta {delta}, exactly; {2 * M} Bernoulli runs",
        f"N_eps up to {most:.3f} of F_UPAC + 1, {late} runs beyond (p = {p:.2g}); gap sqrt(log2 t) "
        f">= {least:.1f} at the relapse; at gap .01 it breaks 10^6 (log t)^10 t^-b from "
        f"b = {last:.1g} on",
        most <= 1.0 and p >= exact.LEAST_P and least > 1.0 and last < 1e-3,
    )


def broken_power(gap: float, log2_t: int) -> float:
    """Return the least b with gap > 10^6 (log t)^10 t^-b at a round t."""
    log_t = log2_t * math.log(2.0)
    return (6.0 * math.log(10.0) + 10.0 * math.log(log_t) - math.log(gap)) / log_t
