"""Tabular MDPs: whole phases of policy elimination, exact values, and the optimistic rivals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import uli_fast as uli
from uli_fast._typing import Schedule
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.common import NEARLY, SIDES, simulate, within
from uli_fast.verify.policies import CODE, SCHEDULE, TESTS, all_policies, size_of, staged_values


@check(
    "uniform_estimation",
    (*CODE, "results/runs.py"),
    (
        f"{TESTS}::test_three_phases_of_one_stage_estimate_every_active_policy",
        f"{TESTS}::test_two_sharp_phases_of_two_stages_estimate_every_active_policy",
    ),
)
def estimates(quick: bool) -> VerifyOutcome:
    """Proposition uniform_estimation (2^(-m-1), 2^(m-1) printed), Lemma abs_whatV_V_bound.

    Every active policy is estimated within 2^(-m-1).
    """
    cases: list[tuple[tuple[int, int, int], Schedule, int, int]]
    cases = [((2, 2, 1), "proved", 3, 2), ((2, 2, 2), "sharp", 1, 2)]
    if not quick:
        cases = [
            ((2, 2, 1), "proved", 3, 20),
            ((2, 2, 2), "sharp", 3, 6),
            ((2, 2, 2), "proved", 2, 2),
        ]
    worst, phases, beyond = 0.0, 0, 0
    for sizes, schedule, last, M in cases:
        for seed in range(M):
            for phase in followed(wide_gaps(sizes, seed), schedule, last, seed):
                worst = max(worst, phase.error * 2.0 ** (phase.m + 1))
                phases += 1
                beyond += phase.widest > 4.0 * 2.0**-phase.m or not phase.best_kept
    return VerifyOutcome(
        "; ".join(f"{M} MDPs of {sizes}, {last} {how} phases" for sizes, how, last, M in cases),
        f"{phases} phases: errors up to {worst:.4f} of 2^(-m-1); {beyond} with a gap above 4 2^-m "
        "or without the best policy",
        0.0 < worst <= 1.0 and beyond == 0,
    )


class Followed(NamedTuple):
    """A whole phase: its largest error, its largest gap, whether the best policy was active."""

    m: int
    error: float
    widest: float
    best_kept: bool


def wide_gaps(sizes: tuple[int, int, int], seed: int) -> Any:
    """Return a random MDP whose second action earns little: bad policies are clearly bad."""
    mdp = uli.mdps.random_dense(*sizes, seed=seed)
    first = np.arange(sizes[1]) == 0
    rewards = np.where(first, 0.6 + 0.4 * mdp.rewards, 0.05 * mdp.rewards)
    return uli.TabularMDP(mdp.transitions, rewards, np.full(sizes[0], 1.0 / sizes[0]))


def followed(mdp: Any, schedule: Schedule, phases: int, seed: int) -> Iterator[Followed]:
    """Yield whole phases, estimates and gaps computed by hand."""
    from uli_fast._support.streams import stream

    T, r, H = 10**15, mdp.unit_rewards, float(mdp.horizon)
    learner: Any = uli.PolicyElimination(0.1, schedule)
    run = learner.begin(learner.on(mdp), stream(seed, 0), "skip", T, np.array([T]))
    top = float((staged_values(all_policies(mdp), mdp.transitions, r)[0] @ mdp.initial).max())
    for m in range(1, phases + 1):
        active, model = run.active.policies, run.model
        while run.phase < m or run.t < run.end:
            run.advance(1 << 22)
        P_hat = model.N3 / np.maximum(model.N, 1)[..., None]
        found = staged_values(active, P_hat, r, H)[0] @ (model.starts / model.starts.sum())
        true = staged_values(active, mdp.transitions, r)[0] @ mdp.initial
        widest = float(top - true.min()) if m > 1 else 0.0  # the first phase promises H
        kept = bool(true.max() > top - 1e-12)
        yield Followed(m, float(np.abs(found - true).max()), widest, kept)


@check(
    "RL_defmpi",
    ("learners/_policies/policy_sets.py::PolicySet", SCHEDULE),
    (f"{TESTS}::test_three_phases_of_one_stage_estimate_every_active_policy",),
)
def worst_case(quick: bool) -> VerifyOutcome:
    """Lemma RL_defmpi and those around it.

    On E a gap above 2 2^-m is not in Pi_{m+1}, the best policy is; m <= log2(t + 1).
    """
    from uli_fast.guarantees.policy_schedule import proved_length
    from uli_fast.learners._policies.policy_sets import PolicySet

    # The first action decides whether the second stage earns 1.
    points, r = np.array([[True, False], [False, False]]), np.zeros((2, 2, 2))
    r[1, 0] = 1.0
    right, cases, last = 0, 0, 10 if quick else 20
    for m in range(2, last + 1):
        for side, stays in zip(SIDES, (False, True), strict=True):
            gap = side * 2.0 * 2.0**-m
            off = NEARLY * 2.0 ** (-m - 1)
            reach = np.array([0.5 + gap / 2.0 - off, 0.5 - gap / 2.0 + off])
            P = np.zeros((2, 2, 2, 2))
            P[0, 0, :, 0], P[0, 0, :, 1] = reach, 1.0 - reach
            model: Any = SimpleNamespace(P=P, starts=np.array([10**6, 0]))
            left = PolicySet(points, 2).after(model, r, m).policies[:, 0, 0].tolist()
            right += left == ([0, 1] if stays else [0])
            cases += 1
    size, ends = size_of(1, 2, 1), 0
    in_time = True
    for m in range(1, 25):
        in_time &= m <= math.log2(ends + 2.0)
        ends += proved_length("sharp", size, 0.5, m)
    return VerifyOutcome(
        f"estimates as bad as E allows, gaps 2 2^-m (1 +- 1e-6), phases 2 to {last}; 24 phases",
        f"{right} of {cases} as computed; {within(in_time)}",
        right == cases and in_time,
    )


@check(
    "ULI_RL",
    (*CODE, "guarantees/policy_elimination.py"),
    (f"{TESTS}::test_the_bound_is_a_step_per_phase",),
)
def policy_uli(quick: bool) -> VerifyOutcome:
    """Theorem ULI_RL: policy elimination is ULI with H in phase 1, then 4 2^-m in phase m."""
    delta, T = 0.1, 10**9
    cases = [((2, 2, 1), seed, 10 if quick else 200) for seed in range(4)]
    cases += [((2, 2, 2), seed, 1 if quick else 20) for seed in range(2)]
    learner = uli.PolicyElimination(delta, "sharp")
    failures = total = mistaken = on_event = 0
    worst = 0.0
    for sizes, seed, M in cases:
        runs = simulate(learner, wide_gaps(sizes, seed), T, M, seed)
        failures += runs.coverage().failures
        on_event += int((~runs.holds & runs.event_held).sum())
        mistaken += int((runs.last_mistake() == T).sum())
        worst = max(worst, float(runs.worst_ratio.max()))
        total += M
    p = exact.surprise(failures, total, delta)
    telling = learner.guarantee((2, 2, 2)).rounds_until(0.25)
    return VerifyOutcome(
        f"{total} runs of 1e9 episodes on MDPs of (2, 2, 1) and (2, 2, 2), sharp, delta {delta}",
        f"{failures} beyond F (p = {p:.2g}), {on_event} of them on E; gap / F up to {worst:.3f}, "
        f"{mistaken} not settled; F <= 1/4 from {telling:.1e} on",
        p >= exact.LEAST_P and on_event == mistaken == 0 and telling < T,
    )


@check(
    "MDP-values",
    ("problems/tabular_mdp.py", "problems/mdps.py"),
    ("tests/problems/test_tabular_mdp.py",),
)
def mdp_values(quick: bool) -> VerifyOutcome:
    """Tabular episodic MDPs: V^pi, the best value and gaps, against all policies one by one."""
    off, cases = 0.0, 10 if quick else 100
    for seed in range(cases):
        mdp = uli.mdps.random_sparse(2 + seed % 2, 2, 2 + seed % 3, seed=seed)
        policies = all_policies(mdp)
        values = staged_values(policies, mdp.transitions, mdp.rewards)[0] @ mdp.initial
        i = seed % len(policies)
        off = max(off, abs(float(values.max()) - mdp.optimal_value))
        off = max(off, abs(float(values.max() - values[i]) - mdp.gap(policies[i])))
    return VerifyOutcome(f"{cases} random MDPs", f"off by {off:.0e}", off < 1e-12)


@check(
    "UCB-VI",
    ("learners/ucbvi.py", "kernels/ucbvi.py"),
    ("tests/learners/test_ucbvi.py",),
    illustration=True,
)
def ucbvi(quick: bool) -> VerifyOutcome:
    """UCB-VI (optimistic, without F): it comes back to bad policies to the end."""
    # It plays nothing else in 100 000 episodes: so far there is nothing to come back to.
    return relapses(uli.UCBVI(0.1), 10**6 if quick else 10**7)


@check(
    "UBEV",
    ("learners/ubev.py", "kernels/ubev.py"),
    ("tests/learners/test_ubev.py",),
    illustration=True,
)
def ubev(quick: bool) -> VerifyOutcome:
    """UBEV (uniform PAC, without F): few mistakes, and no promise about when they come."""
    return relapses(uli.UBEV(0.1), 10**5 if quick else 10**7)


def relapses(learner: Any, T: int) -> VerifyOutcome:
    """Show how late a rival still makes mistakes after it has played well.

    Episodes without one before the last one are what it came back from: a rival that has made
    mistakes all along has not come back to anything.
    """
    mdp = uli.mdps.river_swim(2, 2).restricted()
    runs = simulate(learner, mdp, T, 4, seed=2)
    last, mistakes = runs.last_mistake(0.1), runs.mistakes(0.1)
    late, away = int(last.min()), int((last - mistakes).min())
    return VerifyOutcome(
        f"4 runs of {T:.0e} episodes on a river of two states",
        f"{mistakes.mean():.3g} mistakes above .1, the last at episode {late} or later, after at "
        f"least {away} episodes without one",
        late > T // 100 and away > late // 2,
    )
