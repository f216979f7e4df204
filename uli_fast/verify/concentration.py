"""The five lemmas of concentration that the meta-algorithm and Exp3.P rest on.

Bernoulli losses are the widest in [0, 1] with a given mean, and their sums are binomial, so that
every probability here is computed. Hoeffding's exponent cannot be improved at mean 1/2: with a
tiny delta a width a few hundredths smaller fails, and rows say so. What follows from an event
without chance (absUB, loss_concentration) is the value of a linear programme over all that the
event allows, and is seen in runs of Exp3.P whose g is the least with which the event holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import uli_fast as uli
from uli_fast._typing import F64
from uli_fast.formulas.meta_elimination import log_term
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.adversarial import EXP3P, META, exp3p_phase, exp3p_rates

TESTS = "tests/verify/test_concentration.py"
# A width this much smaller has to fail somewhere.
TOO_NARROW = 0.98
TINY = 1e-100


def width(T: float, log: float) -> float:
    """Return sqrt(T log / 2), how far Hoeffding lets a sum of T losses in [0, 1] stray."""
    return math.sqrt(T * log / 2.0)


def beyond(T: int, p: float, reach: float) -> tuple[float, float]:
    """Return P(S < T p - reach) and P(S > T p + reach) of S binomial."""
    from scipy.stats import binom

    below = binom.cdf(math.ceil(T * p - reach) - 1, T, p)
    return float(below), float(binom.sf(math.floor(T * p + reach), T, p))


def laws() -> Iterator[tuple[int, float]]:
    """Yield numbers of rounds and means of losses."""
    for T in (3, 10, 100, 1000, 10**5, 10**7):
        for p in (0.5, 0.45, 0.3, 0.1, 0.01):
            yield T, p


def rewards_stray(narrow: float) -> float:
    """Return the largest P(a loss sum of Exp3.P's arms strays) / (delta / 5)."""
    worst = 0.0
    for K in (2, 10):
        for delta in (0.9, 0.05, 1e-6, TINY):
            reach = narrow * width(1.0, log_term(K, delta))
            for T, p in laws():
                stray = exact.any_of([sum(beyond(T, p, reach * math.sqrt(T)))] * K)
                worst = max(worst, 5.0 * stray / delta)
    return worst


@check(
    "hoeffding_reward_concentration",
    (*EXP3P, "formulas/meta_elimination.py::log_term"),
    (
        f"{TESTS}::test_tails_are_those_of_fractions",
        f"{TESTS}::test_a_smaller_constant_turns_its_row",
    ),
)
def rewards(quick: bool) -> VerifyOutcome:
    """Lemma hoeffding_reward_concentration: the losses of all arms at once.

    |sum l_a - T (1 - mu_a)| <= sqrt(T log(10 K / delta) / 2) with probability 1 - delta / 5.
    """
    held, narrow = rewards_stray(1.0), rewards_stray(TOO_NARROW)
    return VerifyOutcome(
        "binomial tails, K = 2, 10, delta .9 to 1e-100, 30 laws of up to 1e7 rounds",
        f"P(beyond) at most {held:.3f} of delta / 5; {narrow:.2g} of it with a width of "
        f"{TOO_NARROW}, so the constant cannot be smaller",
        held <= 1.0 < narrow,
    )


def phases_stray(delta: float, narrow: float, phases: int) -> tuple[float, float]:
    """Return P(a phase's losses stray) / (delta / 5), and the least g_m / log(20 m^2 K / delta).

    The widths are those of the least g that the Condition allows; phases last as long as the
    learner's. What comes after the phases computed is bounded by Hoeffding's inequality.
    """
    arms, least = np.zeros((5, 0)), math.inf
    base = uli.Exp3P(constant=uli.Exp3P.proved_constant)
    schedule = uli.MetaElimination(base, delta, mode="sharp").schedule(arms, None)
    stray = delta / 10.0 * (math.pi**2 / 6.0 - sum(1.0 / m**2 for m in range(1, phases + 1)))
    for m in range(1, phases + 1):
        phase = schedule(m)
        log = math.log(20.0 * m**2 * len(arms)) - math.log(delta)
        least = min(least, base.g(arms, phase.delta) / log)
        reach = narrow * width(phase.rounds, log)
        stray += len(arms) * sum(beyond(phase.rounds, 0.5, reach))
    return 5.0 * stray / delta, least


@check(
    "concentration_X",
    META,
    (
        f"{TESTS}::test_tails_are_those_of_fractions",
        f"{TESTS}::test_a_smaller_constant_turns_its_row",
    ),
)
def phases(quick: bool) -> VerifyOutcome:
    """Lemma concentration_X, Eq. LB_ftau: the losses of all phases at once.

    |sum l_a - T_m (1 - mu_a)| <= sqrt(g_m T_m / 2) with probability 1 - delta / 5, because
    g_m >= log(20 m^2 K / delta).
    """
    count = 4 if quick else 12
    found = {delta: phases_stray(delta, 1.0, count) for delta in (0.9, 0.05, TINY)}
    held, least = max(x for x, _ in found.values()), min(x for _, x in found.values())
    narrow, _ = phases_stray(TINY, TOO_NARROW, count)
    return VerifyOutcome(
        f"binomial tails of {count} phases, 5 arms of mean 1/2, the least g allowed, delta .9 to "
        "1e-100",
        f"P(beyond) at most {held:.3f} of delta / 5, {narrow:.2g} of it with a width of "
        f"{TOO_NARROW}; g_m of Exp3.P is {least:.0f} times what is needed",
        held <= 1.0 < narrow and least >= 1.0,
    )


class Sums(NamedTuple):
    """Sums over a run of Exp3.P whose losses are all known, per arm and in all."""

    losses: F64  # (K,)
    estimates: F64  # (K,)
    shifted: F64  # (K,) l_tilde
    over: F64  # (K,) 1 / p
    played: float  # losses of the arms played
    expected: float  # what they were expected to be


RUN_MEANS, RUN_ROUNDS, RUN_DELTA = np.array([0.3, 0.35, 0.8]), 300, 0.5


def sample(M: int) -> tuple[Sums, ...]:
    """Play Exp3.P on Bernoulli losses that are drawn for all arms."""
    K, T, runs = len(RUN_MEANS), RUN_ROUNDS, []
    _, beta = exp3p_rates(K, T, RUN_DELTA)
    for r in range(M):
        phase, rng = exp3p_phase(K, T, RUN_DELTA), np.random.default_rng([12, r])
        table = (rng.random((T, K)) < RUN_MEANS).astype(float)
        over, played, expected = np.zeros(K), 0.0, 0.0
        for losses in table:
            arm, _ = phase.choose(rng)
            over += 1.0 / phase.p
            played += losses[arm]
            expected += float(phase.p @ RUN_MEANS)
            phase.update(arm, losses[arm])
        estimates, shifted = phase.estimates.copy(), -phase.state.lw / beta
        runs.append(Sums(table.sum(axis=0), estimates, shifted, over, played, expected))
    return tuple(runs)


def scale_of(run: Sums, sharp: bool) -> float:
    """Return the least sqrt(g T) with which the event of the meta-algorithm holds in a run."""
    T = RUN_ROUNDS
    condition = run.played - run.losses + 2.0 * np.abs(run.estimates - run.losses)
    arms = math.sqrt(2.0) * np.abs(run.losses - T * RUN_MEANS)
    all_of_them = abs(run.played - run.expected) / math.sqrt(0.5 if sharp else 8.0)
    return max(float(condition.max()), float(arms.max()), all_of_them)


# 2 |sum (l_a - l_hat_a)| <= ... sqrt(g T) + T gap: as printed, and by the sharp lemma Xiv.
ABS_UB = {"printed": 5.0, "sharp": 2.42}
XIV = {"printed": math.sqrt(8.0), "sharp": math.sqrt(0.5)}


def most_error(xiv: float, gap: float) -> float:
    """Return the largest 2 |sum (l_a - l_hat_a)| that the event allows, in units of sqrt(g T).

    Variables: that error, how far the losses played stray from what was expected, how far
    those of arm a do, and what a gains on the arms played, at most T gap.
    """
    from scipy.optimize import linprog

    half = math.sqrt(0.5)
    bounds = [(0.0, None), (-xiv, xiv), (-half, half), (None, gap)]
    # Condition: (played - losses of a) + error <= 1.
    solved = linprog([-1.0, 0.0, 0.0, 0.0], [[1.0, 1.0, -1.0, -1.0]], [1.0], bounds=bounds)
    return -float(solved.fun)


@check(
    "absUB",
    (*META, *EXP3P),
    (f"{TESTS}::test_a_smaller_constant_turns_its_row",),
)
def estimates(quick: bool) -> VerifyOutcome:
    """Lemma absUB: on E estimates are off by 2 |sum (l_a - l_hat_a)| <= 5 sqrt(g T) + T gap_a.

    4.54 is the most that E allows, and 2.42 with the sharp form of Lemma concentration_Xiv.
    """
    gaps, most = (0.0, 0.3, 7.0, 100.0), {}
    for form, xiv in XIV.items():
        most[form] = max(most_error(xiv, gap) - gap for gap in gaps)
    runs, seen = sample(30 if quick else 300), dict.fromkeys(ABS_UB, 0.0)
    for run in runs:
        twice = 2.0 * np.abs(run.losses - run.estimates)
        spare = float((twice - RUN_ROUNDS * (RUN_MEANS - RUN_MEANS.min())).max())
        for form in seen:
            seen[form] = max(seen[form], spare / scale_of(run, form == "sharp"))
    fits = all(0.9 * ABS_UB[f] < most[f] <= ABS_UB[f] and seen[f] <= ABS_UB[f] for f in ABS_UB)
    return VerifyOutcome(
        f"a linear programme over E; {len(runs)} runs of Exp3.P with the least g that lets E hold",
        f"E allows {most['printed']:.3f} of 5, sharp {most['sharp']:.3f} of 2.42; in runs "
        f"{seen['printed']:.2f} and {seen['sharp']:.2f}",
        fits and min(seen.values()) > 0.0,
    )


def difference_width(T: float, log: float) -> float:
    """Return sqrt(2 T log), how far Corollary loss_concentration lets a difference stray."""
    return math.sqrt(2.0 * T * log)


# Chances of a loss: the gap is .1.
PAIR = 0.45, 0.55


def opposed_stray(T: int, log: float, narrow: float) -> float:
    """Return P(the difference strays) if one arm loses when the other does not: it is 2 S - T."""
    return sum(beyond(T, PAIR[0], narrow * difference_width(T, log) / 2.0))


def independent_stray(T: int, log: float) -> float:
    """Return P(the difference of two independent arms' losses strays)."""
    from scipy.stats import binom

    reach, s, (a, b) = difference_width(T, log), np.arange(T + 1), PAIR
    middle = s + T * (a - b)  # of the first sum, given the second
    high = binom.sf(np.floor(middle + reach), T, a)
    low = binom.cdf(np.ceil(middle - reach) - 1.0, T, a)
    return float(binom.pmf(s, T, b) @ (high + low))


@check(
    "loss_concentration",
    (*META, *EXP3P),
    (
        f"{TESTS}::test_differences_are_those_of_all_pairs",
        f"{TESTS}::test_a_smaller_constant_turns_its_row",
    ),
)
def differences(quick: bool) -> VerifyOutcome:
    """Corollary loss_concentration: two arms' losses differ by T gap_a +- sqrt(2 g T) on E.

    Arms of one round may depend on each other. Opposed ones need all of it, independent ones
    fail with the square of that probability.
    """
    worst, square, narrow = 0.0, 0.0, 0.0
    for T in (10, 100, 1000, 10**5):
        for level in (0.5, 0.01, 1e-6, TINY):
            log = math.log(2.0 / level)
            worst = max(worst, opposed_stray(T, log, 1.0) / level)
            narrow = max(narrow, opposed_stray(T, log, TOO_NARROW) / level)
            square = max(square, independent_stray(min(T, 1000), log) / level**2)
    runs, seen = sample(30 if quick else 300), 0.0
    for run in runs:
        strayed = run.losses - RUN_ROUNDS * RUN_MEANS
        largest = float(np.abs(strayed).max())  # sqrt(g T / 2)
        seen = max(seen, float(np.abs(strayed - strayed[0]).max()) / (2.0 * largest))
    return VerifyOutcome(
        f"binomial tails, 4 numbers of rounds, levels .5 to 1e-100; {len(runs)} runs of Exp3.P",
        f"opposed arms fail with up to {worst:.3f} of the level ({narrow:.2g} with a width of "
        f"{TOO_NARROW}), independent ones {square:.3f} of its square; in runs {seen:.2f} of it",
        worst <= 1.0 < narrow and square <= 1.0 and 0.5 < seen <= 1.0,
    )


def abs_bound(m: float, log: float, theta: float, rest: float, sharp: bool) -> float:
    """Return beta times the |sum (l_hat - l)| that Lemma absBound allows.

    ``m`` is beta^2 sum 1 / p and ``rest`` is beta sqrt(T log / 2). The sharp form has a fixed
    rate in place of Freedman's inequality: (e - 2) / theta, and no 2 K log / (3 gamma).
    """
    if sharp:
        return (math.e - 2.0) * m / theta + theta * log + rest
    return m / theta + (2.0 / 3.0 + theta) * log + rest


def estimates_stray(sharp: bool, logs: float) -> float:
    """Return the largest P(a sum of estimates strays) / (delta / (5 K)), with shorter logs.

    The arm is played with the least probability, beta, and loses 1 whenever it is: T l_hat is
    binomial over beta. Rounds are from the fewest that Exp3.P may have on.
    """
    worst = 0.0
    for K in (2, 20, 200):
        for delta in (0.9, 0.05, 1e-6, TINY):
            log = log_term(K, delta)
            for times in (4.1, 8.0, 20.0, 60.0, 1000.0):
                T = math.ceil(times * K * log)
                _, beta = uli.Exp3P().rates(K, T, delta)
                for theta in (1.0, 1.5, 2.0, 4.0):
                    rest = beta * width(T, logs * log)
                    reach = abs_bound(T * beta, logs * log, theta, rest, sharp)
                    worst = max(worst, sum(beyond(T, beta, reach)) * 5.0 * K / delta)
    return worst


def strays(run: Sums) -> bool:
    """Return whether a run breaks the sharp form at theta = 2, or the second inequality."""
    K, T = len(RUN_MEANS), RUN_ROUNDS
    _, beta = exp3p_rates(K, T, RUN_DELTA)
    log = math.log(10.0 * K / RUN_DELTA)
    rest = beta * width(T, log)
    m, off = beta**2 * run.over, beta * (run.estimates - run.losses)
    first = [abs(x) > abs_bound(v, log, 2.0, rest, True) for x, v in zip(off, m, strict=True)]
    shifted = beta * (run.shifted - run.losses) + m
    return any(first) or bool((shifted > abs_bound(0.0, log, 2.0, rest, False)).any())


@check(
    "absBound",
    (*EXP3P, "learners/exp3p.py::rates"),
    (
        f"{TESTS}::test_tails_are_those_of_fractions",
        f"{TESTS}::test_a_smaller_constant_turns_its_row",
    ),
)
def weighted(quick: bool) -> VerifyOutcome:
    """Lemma absBound: |sum (l_hat_a - l_a)| within (beta / theta) sum 1 / p and logarithms.

    A fixed rate proves it for one theta at a time, without 2 K log / (3 gamma) and with
    (e - 2) / theta; Freedman's inequality, as printed, does not.
    """
    held = {sharp: estimates_stray(sharp, 1.0) for sharp in (False, True)}
    short = {False: estimates_stray(False, 0.4), True: estimates_stray(True, 0.8)}
    runs = sample(30 if quick else 300)
    late = sum(strays(run) for run in runs)
    p = exact.surprise(late, len(runs), 0.4 * RUN_DELTA)
    return VerifyOutcome(
        f"binomial tails, K = 2, 20, 200, delta .9 to 1e-100, theta 1 to 4; {len(runs)} runs",
        f"P(beyond) at most {held[False]:.2g} of delta / (5 K) as printed ({short[False]:.2g} with "
        f"0.4 log), {held[True]:.2g} sharp ({short[True]:.2g} with 0.8 log); {late} runs beyond "
        f"(p = {p:.2g})",
        max(held.values()) <= 1.0 < min(short.values()) and p >= exact.LEAST_P,
    )
