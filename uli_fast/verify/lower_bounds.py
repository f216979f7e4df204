"""What is impossible: to beat t^(-1/2) for anybody, to have an F for optimistic algorithms."""

from __future__ import annotations

import math

import numpy as np

import uli_fast as uli
from uli_fast.lower_bounds import LilLowerBound, lil_ucb_lower_bound, ucb_play_rounds
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.common import simulate

LIL = ("learners/lil_ucb.py", "kernels/lil_ucb.py", "kernels/arms/optimism.py", "lower_bounds.py")
LIL_TESTS = "tests/learners/test_lil_ucb.py"
EXACT_TESTS = "tests/test_lower_bounds.py"
# Last play of the worse arm at delta = .1.
LAST = {
    0.5: 72349,
    0.2: 101867649,
    0.1: 1366653593,
    0.03: 1997664498265,
    0.01: 2361339012660748,
    0.003: 2858005036562436398,
    0.001: 5868908346009196909267,
}


@check(
    "LB_ULI",
    ("guarantees/guarantee.py",),
    ("tests/guarantees/test_guarantees.py",),
    illustration=True,
)
def square_root(quick: bool) -> VerifyOutcome:
    """Theorem LB_ULI: no F falls faster than t^(-1/2); SE-MAB and PE-MAB at round T."""
    # An arm played at round T with probability above delta has a gap within F(delta, T).
    M, delta, told, least = 40 if quick else 400, 0.1, [], math.inf
    for learner in (uli.SuccessiveElimination(delta), uli.PhasedElimination(delta)):
        for T in (10**3, 10**5, 10**7):
            low, high = 1.0 / math.sqrt(T), 1.0
            for _ in range(8):
                gap = math.sqrt(low * high)
                problem = uli.BernoulliBandit([0.5 + gap / 2.0, 0.5 - gap / 2.0])
                runs = simulate(learner, problem, T, M, seed=1, rounds=[1])
                active = float((runs.eliminated_at[:, 1] == 0).mean())
                low, high = (gap, high) if active > delta else (low, gap)
            least = min(least, low * math.sqrt(T))
            told.append(low * math.sqrt(T))
    return VerifyOutcome(
        f"largest gap still active at T = 1e3, 1e5, 1e7 in more than {delta:.0%} of {M} runs",
        f"times sqrt(T): SE {', '.join(f'{x:.1f}' for x in told[:3])}; PE "
        f"{', '.join(f'{x:.1f}' for x in told[3:])}",
        least > 1.0,
    )


@check(
    "LB_lilUCB",
    LIL,
    (
        f"{LIL_TESTS}::test_lil_ucb_plays_the_worse_arm_at_the_predicted_round",
        f"{EXACT_TESTS}::test_golden_last_plays_of_lil_ucb",
    ),
)
def lil_ucb(quick: bool) -> VerifyOutcome:
    """Algorithm lil'UCB (UCB_UPAC), Eq. lil_bonus, Theorem LB_lilUCB.

    On two arms with deterministic rewards the worse one is played at some t with
    gap > sqrt(log log(log(6 / delta) / gap^2) + log(6 / delta)) / (3 t)^(1/4).
    """
    right, least = 0, math.inf
    for gap, last in LAST.items():
        found = lil_ucb_lower_bound(gap, 0.1)
        right += found.last_play == last
        least = min(least, gap * (3.0 * last) ** 0.25 / math.sqrt(lil_scale(gap, 0.1)))
    played = []
    for gap in (0.5, 0.2) if quick else (0.5, 0.2, 0.1):
        problem = uli.DeterministicBandit([1.0, 1.0 - gap])
        runs = simulate(uli.LilUCB(0.1), problem, 10 * LAST[gap])
        played.append(int(runs.last_play[0, 1]) == LAST[gap])
    return VerifyOutcome(
        f"exact t_0 for gaps .5 to .001 (5.9e21), delta .1; played for {len(played)} of them",
        f"{right} of {len(LAST)} known t_0; {sum(played)} of {len(played)} plays end there; gap / "
        f"bound >= {least:.2f}",
        right == len(LAST) and all(played) and least > 1.0,
    )


def lil_scale(gap: float, delta: float) -> float:
    """Return log log(log(6 / delta) / gap^2) + log(6 / delta)."""
    return math.log(math.log(math.log(6.0 / delta) / gap**2)) + math.log(6.0 / delta)


def instances(quick: bool) -> list[tuple[float, float, LilLowerBound]]:
    """Solve instances with gaps from .001 to .6 and several delta."""
    gaps = np.geomspace(0.001, 0.599, 25 if quick else 400).round(6).tolist()
    return [(x, d, lil_ucb_lower_bound(x, d)) for x in gaps for d in (0.5, 0.1, 0.001)]


@check(
    "UB_second_last_U",
    LIL,
    (f"{EXACT_TESTS}::test_equals_an_independent_solution_and_keeps_every_bound",),
)
def lil_lemmas(quick: bool) -> VerifyOutcome:
    """Lemmas UCB_subarm_bounded_play, LB_second_last_play, UB_second_last_U.

    The plays of the worse arm from above and below, and U before the last of them.
    """
    cases, fewest, most, largest, printed = instances(quick), math.inf, 0.0, 0.0, 0
    for gap, delta, found in cases:
        c, level = lil_scale(gap, delta), math.log(6.0 / delta)
        m = c / gap**2
        fewest = min(fewest, found.n / math.floor(m))
        limit = math.ceil(2.0 * (math.log(math.log(16.0 * level / gap**2)) + level) / gap**2)
        most = max(most, (found.n + 1) / limit)
        # U(n) - gap, of what the lemma leaves to it.
        spare = exact.lil_bonus(found.n, delta) / gap - 1.0
        largest = max(largest, spare / (gap * math.sqrt(3.0 / c)))
        printed += math.floor(m) * (math.floor(m) + 1) < m**2
    return VerifyOutcome(
        f"{len(cases)} instances, gaps .001 to .6, delta .5, .1, .001",
        f"plays at least {fewest:.3f} of the lower bound, at most {most:.3f} of the upper one; "
        f"U(n) - gap up to {largest:.3f} of its bound, though floor(m) (floor(m) + 1) >= m^2 is "
        f"false in {printed}",
        fewest >= 1.0 and most <= 1.0 and 0.0 < largest <= 1.0 and printed > 0,
    )


@check(
    "LB_lilUCB-sixth",
    LIL,
    (
        f"{LIL_TESTS}::test_lil_ucb_comes_back_later_and_later_and_breaks_f_of_se",
        f"{EXACT_TESTS}::test_equals_an_independent_solution_and_keeps_every_bound",
    ),
)
def lil_sixth(quick: bool) -> VerifyOutcome:
    """Theorem LB_lilUCB, sharpened: the gap at the last mistake is of order t^(-1/6)."""
    least = min(found.x / (4 * found.n**3) for _, _, found in instances(quick))
    ends = [lil_ucb_lower_bound(gap, 0.1).last_play for gap in (0.001, 0.1)]
    power = math.log(ends[0] / ends[1]) / math.log(100.0)
    problem = uli.DeterministicBandit([1.0, 0.9])
    runs = simulate(uli.LilUCB(0.1), problem, 10**10)
    printed = uli.SuccessiveElimination(0.1).guarantee(problem, form="paper")
    ratio = float(runs.worst_ratio_against(printed)[0])
    return VerifyOutcome(
        "x* against 4 n*^3 on a grid of instances; t_0 from gap .1 to .001; F of SE-MAB at t_0",
        f"x* >= {least:.3f} 4 n*^3; t_0 grows with gap^-{power:.2f}; at gap .1 it exceeds F of "
        f"SE-MAB {ratio:.0f} times",
        least >= 1.0 and power > 6.0 and ratio > 1.0,
    )


@check(
    "UCB",
    ("learners/ucb.py", "kernels/ucb.py", "kernels/arms/optimism.py", "lower_bounds.py"),
    (
        "tests/learners/test_ucb.py",
        EXACT_TESTS,
        "tests/guarantees/test_guarantees.py::test_optimistic_learners_have_no_guarantee",
    ),
)
def ucb(quick: bool) -> VerifyOutcome:
    """Eq. select_arm_opt_alg: UCB plays the worse arm for ever, so that no F exists."""
    gap, delta, T = 0.4, 0.1, 10**9 if quick else 10**12
    problem = uli.DeterministicBandit([1.0, 1.0 - gap])
    rounds = [10**k for k in range(2, round(math.log10(T)) + 1)]
    runs = simulate(uli.UCB(delta), problem, T, rounds=rounds)
    found = runs.plays[0, :, 1].tolist()
    times = ucb_play_rounds(gap, delta, range(1, found[-1] + 2))
    expected = [sum(t <= x for t in times) for x in rounds]
    share = found[-1] * gap**2 / math.log(2.0 * float(T) ** 2 / delta)
    printed = uli.SuccessiveElimination(delta).guarantee(problem, form="paper")
    excluded = printed.rounds_until(gap)
    late = sum(excluded < t <= T for t in times)
    (far,) = ucb_play_rounds(gap, delta, [1000])
    return VerifyOutcome(
        f"deterministic rewards, gap {gap}, delta {delta}, {T:.0e} rounds",
        f"{found[-1]} plays of the worse arm, {expected[-1]} computed, {late} of them after F of "
        f"SE-MAB excludes it; {share:.3f} log(2 T^2 / delta) / gap^2; the 1000th at {far:.1e}",
        found == expected and late > 10 and abs(share - 1.0) < 0.01,
    )


@check(
    "turning_point",
    ("simulation/turning_point.py", "lower_bounds.py"),
    ("tests/simulation/test_turning_point.py", "tests/learners/test_ucb.py"),
)
def overtaking(quick: bool) -> VerifyOutcome:
    """Conclusion, turning point: the regret of a ULI algorithm falls below UCB's for good."""
    from uli_fast.simulation.turning_point import turning_point

    learners = uli.SuccessiveElimination(0.1), uli.UCB(0.1)
    taus: list[int] = []
    seen = 0
    for gap in (0.5, 0.2, 0.1):
        problem = uli.DeterministicBandit([1.0, 1.0 - gap])
        (tau,) = turning_point(*learners, problem).rounds
        assert tau is not None
        rounds = [tau - 1, tau, 10 * tau]
        se, ucb = (simulate(x, problem, 10 * tau, rounds=rounds).regret[0] for x in learners)
        seen += (se > ucb + 1e-9).tolist() == [True, False, False]
        taus.append(tau)
    return VerifyOutcome(
        "SE-MAB against UCB on deterministic arms .5, .2 and .1 apart, played ten times as long",
        f"they turn at {taus[0]}, {taus[1]:.3g} and {taus[2]:.3g}; seen in {seen} of 3 runs",
        seen == 3 and taus[0] == 312_111,
    )


@check(
    "LinUCB",
    ("learners/lin_ucb.py", "kernels/lin_ucb.py"),
    ("tests/learners/test_lin_ucb.py",),
    illustration=True,
)
def lin_ucb(quick: bool) -> VerifyOutcome:
    """LinUCB (optimistic, with log t in its radius): it comes back to a worse arm to the end."""
    T, M = 10**5 if quick else 10**7, 4
    arms = np.array([[1.0, 0.0], [0.8, 0.3], [0.0, 1.0]])
    problem = uli.LinearBandit([0.8, 0.2], arms, sigma=0.5)
    runs = simulate(uli.LinUCB(0.1, R=1.0), problem, T, M, seed=2)
    last = int(runs.last_mistake(0.05).min())
    return VerifyOutcome(
        f"{M} runs of {T:.0e} rounds, three arms",
        f"a gap of {runs.gaps[1]:.2f} is played at round {last} or later in every run",
        last > T // 2,
    )
