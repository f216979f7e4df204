"""Ours: nested boxes of models, docs/proofs_models.md. Rows of this theme are not the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import uli_fast as uli
from uli_fast._typing import F64, I64, Play
from uli_fast.guarantees import describe_model, model_boxes
from uli_fast.verify import VerifyOutcome, check, exact, model_programs
from uli_fast.verify.common import simulate
from uli_fast.verify.policies import all_policies

CODE = ("learners/model_elimination.py", "kernels/model_elimination.py")
BOXES, ROBUST = "kernels/mdp/boxes.py", "kernels/mdp/robust.py"
RATE = "guarantees/model_boxes.py"
TESTS = "tests/learners/test_model_elimination.py"
THEORY = "tests/theory/test_models.py"
PLAYS: tuple[Play, ...] = ("deterministic", "stochastic")
# What rounding may do to a value.
SLACK = 1e-12


def tied_row(p: float) -> Any:
    """Return an MDP with one unknown row, (p, 1 - p), that is played for ever.

    The other action earns p at once, so that neither is dropped while p is plausible.
    """
    P, r = np.zeros((2, 2, 2, 2)), np.zeros((2, 2, 2))
    P[:, :, :, 0] = 1.0
    P[0, 0, 0] = 1.0 - p, p
    r[0, 0, 1], r[1, 1] = p, 1.0
    return uli.TabularMDP(P, r, np.array([1.0, 0.0])).restricted().with_known_structure()


def box_missed(p: float, delta: float, visits: I64) -> float:
    """Return P(the box of a coin misses p at one of these numbers of visits), all counts."""
    from scipy.special import xlogy
    from scipy.stats import binom

    alive, before = np.array([1.0]), 0
    for n in visits.tolist():
        alive = np.convolve(alive, binom.pmf(np.arange(n - before + 1), n - before, p))
        f = np.arange(n + 1) / n
        kl = xlogy(f, f / p) + xlogy(1.0 - f, (1.0 - f) / (1.0 - p))
        alive[n * kl > math.log(2.0 * math.sqrt(n) / (0.9 * delta))] = 0.0
        before = n
    return float(1.0 - alive.sum())


@check(
    "models-boxes",
    (*CODE, BOXES, "verify/models.py::box_missed"),
    (
        f"{THEORY}::test_the_exact_rate_at_which_a_box_of_two_states_fails",
        f"{TESTS}::test_failures_stay_within_delta",
    ),
)
def boxes(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_models.md, Lemma 1: the truth stays in its box but for delta_1.

    One row of two successors, by the exact law of its counts; runs fail as often.
    """
    M, T = (4000, 300) if quick else (40_000, 3000)
    worst, off, wrong = 0.0, 0.0, 0
    for p, delta in ((0.5, 0.9), (0.2, 0.9), (0.3, 0.5)):
        every = box_missed(p, delta, np.arange(1, (400 if quick else 4000) + 1))
        runs = simulate(uli.ModelElimination(delta), tied_row(p), T, M, seed=41)
        held = runs.event_held
        looks = runs.look_first[held][0] - 1
        looks = looks[looks > 0]
        wrong += int((runs.look_first[held] != runs.look_first[held][0]).sum())
        wrong += int((looks != expected_looks(T)).sum())
        rate = box_missed(p, delta, looks)
        worst = max(worst, max(every, rate) / (0.9 * delta))
        off = max(off, abs(exact.sigmas(int((~held).sum()), M, rate)))
    return VerifyOutcome(
        f"a coin's row, p = .5, .2, .3, delta .9, .9, .5: all counts; {M} runs of {T} episodes",
        f"missed with probability up to {worst:.3f} of delta_1, at looks or at every visit; "
        f"failures of runs {off:.2f} sigma from that at most; {wrong} looks at other times",
        worst <= 1.0 and off <= exact.SIGMAS and wrong == 0,
    )


def expected_looks(T: int) -> I64:
    """Return the visits at the looks of a row that every episode visits: K = .1 n + 16."""
    found = [16]
    while found[-1] + math.floor(0.1 * found[-1] + 16.0) < T:
        found.append(found[-1] + math.floor(0.1 * found[-1] + 16.0))
    return np.array(found)


def examples(quick: bool) -> list[Any]:
    """Return small MDPs, some with ties, some with masks."""
    dense, coins = uli.mdps.random_dense, []
    for seed in range(1 if quick else 5):
        rng = np.random.default_rng(seed)
        P, r = rng.dirichlet(np.full(3, 0.5), (3, 3, 2)), rng.integers(0, 2, (3, 3, 2))
        coins.append(uli.TabularMDP(P, r.astype(np.float64)))
    return [
        *(dense(3, 2, 3, seed=s) for s in range(2 if quick else 10)),
        *coins,
        uli.mdps.river_swim(3, 4).restricted(),
        uli.mdps.two_stage_treatment().restricted().with_known_structure(),
    ]


def looked(problem: Any, play: Any, looks: int, seed: int, delta: float = 0.1) -> Iterator[Any]:
    """Yield a run after each of its first looks."""
    from uli_fast._support.streams import stream

    T, learner = 10**9, uli.ModelElimination(delta, play)
    run = learner.begin(learner.on(problem), stream(seed, 0), "skip", T, np.array([T]))
    for _ in range(looks):
        over = run.advance(1)
        yield run
        if over:
            return


@check(
    "models-monotone",
    (*CODE, BOXES, ROBUST),
    (f"{TESTS}::test_everything_is_monotone", f"{THEORY}::test_everything_is_monotone"),
)
def monotone(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_models.md, Lemma 2 (iii): U, b and W never rise, L never falls.

    Nor do actions come back. Widths are computed afresh, not as running minima.
    """
    worst, looks = -math.inf, 0
    for seed, problem in enumerate(examples(quick)):
        for play in PLAYS:
            before: list[F64] = []
            for run in looked(problem, play, 40 if quick else 200, seed):
                view = run.view
                now = [
                    view.V[0].copy(),
                    -view.V[1],
                    np.where(view.left, view.b, 0.0),
                    np.array([view.start[0], -view.start[1], model_programs.width_now(run)]),
                    view.left.astype(np.float64),
                ]
                for new, old in zip(now, before, strict=False):
                    worst = max(worst, float((new - old).max()))
                before, looks = now, looks + 1
    return VerifyOutcome(
        f"{looks} looks on {len(examples(quick))} MDPs, both ways to play",
        f"largest rise of U, -L, b, W or an action: {worst:.0e}",
        worst <= 1e-9,
    )


@check(
    "models-values",
    (*CODE, ROBUST, "verify/model_programs.py::random_model"),
    (
        f"{TESTS}::test_widths_of_rows_bound_how_values_differ",
        f"{THEORY}::test_values_of_two_plausible_models_differ_by_at_most_what_is_open",
    ),
)
def values(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_models.md, Lemma 2 (ii): |V' - V''| <= <q', b> of two plausible models.

    For policies of actions left that draw their actions.
    """
    rng, pairs, most = np.random.default_rng(42), 0, 0.0
    for seed, problem in enumerate(examples(quick)):
        H, S, A = problem.rewards.shape
        for run in looked(problem, "deterministic", 30 if quick else 100, seed):
            view = run.view
            for _ in range(10):
                pi = view.left * rng.dirichlet(np.ones(A), (H, S)) ** 4
                pi /= pi.sum(axis=2, keepdims=True)
                one, two = (model_programs.random_model(run.boxes, rng) for _ in range(2))
                x, value = model_programs.passed(run.boxes, one, pi, view.r)
                _, other = model_programs.passed(run.boxes, two, pi, view.r)
                open_ = float(view.start[3] + (x[:, :, None] * pi * view.b).sum())
                pairs += 1
                most = max(most, (abs(value - other) - SLACK) / max(open_, SLACK))
    return VerifyOutcome(
        f"{pairs} pairs of models at {pairs // 10} looks, most of them corners of their boxes",
        f"|V' - V''| up to {most:.3f} of <q', b>",
        0.2 < most <= 1.0,
    )


@check(
    "models-certificate",
    (*CODE, ROBUST, "results/runs.py"),
    (
        f"{TESTS}::test_failures_stay_within_delta",
        f"{THEORY}::test_certificates_hold",
    ),
)
def certificate(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_models.md, Theorem 1: on E no gap that may be played is above the bound.

    Deterministic: every policy of the actions left is looked at; stochastic: what is played. And
    L <= V* <= U, and the event fails within delta.
    """
    M, delta, most, outside, failed, total = 20 if quick else 200, 0.3, 0.0, 0, 0, 0
    problems = [uli.mdps.random_dense(2, 2, 3, seed=1), uli.mdps.river_swim(2, 3).restricted()]
    for problem in problems:
        listed = all_policies(problem)
        gaps = np.array([problem.gap(policy) for policy in listed])
        hs = np.indices(listed.shape[1:])
        for play in PLAYS:
            for seed in range(M):
                for run in looked(problem, play, 60, seed, delta):
                    log = run.look_log()
                    if not log.held:
                        break
                    said, _, top, sure, gap = log.facts[-1]
                    left = log.left[hs[0], hs[1], listed].all(axis=(1, 2))
                    widest = gap if play == "stochastic" else gaps[left].max()
                    most = max(most, (float(max(gap, widest)) - SLACK) / max(said, SLACK))
                    best = problem.optimal_value
                    outside += not sure - SLACK <= best <= top + SLACK or not gaps[left].min() == 0
                failed, total = failed + (not log.held), total + 1
    p = exact.surprise(failed, total, delta)
    return VerifyOutcome(
        f"{total} runs of 60 looks on (2, 2, 3) and a river, delta {delta:g}",
        f"{failed} left the event (p = {p:.2g}); on it gaps up to {most:.3f} of the certificate, "
        f"{outside} looks without V* in [L, U] or without the best policy",
        p >= exact.LEAST_P and 0.1 < most <= 1.0 and outside == 0,
    )


@check(
    "models-rate",
    (*CODE, RATE),
    (
        f"{THEORY}::test_runs_stay_below_the_theorem",
        "tests/guarantees/test_model_boxes.py::test_bounds_are_those_of_the_page",
    ),
)
def rate(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_models.md, Theorem 2: the width W is within its bound at every look.

    Where actions tie nothing is ever dropped; F allows every gap; C2 <= H W'.
    """
    M, T, most, beyond, looks = 3 if quick else 20, 10**6 if quick else 10**9, 0.0, 0, 0
    for problem in (*ties(), *examples(quick)):
        for play in PLAYS:
            learner = uli.ModelElimination(0.1, play)
            runs = simulate(learner, problem, T, M, seed=43)
            known = describe_model(problem)[0].parameters(learner.growth, learner.first)
            for first, facts in zip(runs.look_first, runs.look_facts, strict=True):
                used = first > 1  # W of the first look is infinite or H: nothing was seen
                said, width = (facts[used, i] / problem.scale for i in (0, 1))
                t = (first[used] - 1).astype(np.float64)
                bound = model_boxes.width_bound(play, t, 0.1, known)
                most = max(most, float((width / bound).max(initial=0.0)))
                factor = 2.0 if play == "stochastic" else problem.horizon
                beyond += int((said > factor * width + 1e-9).sum())
                looks += int(used.sum())
            beyond += int((~runs.holds & runs.event_held).sum())
    return VerifyOutcome(
        f"{looks} looks in {M} runs of {T:.0e} episodes on {2 + len(examples(quick))} MDPs",
        f"W up to {most:.3f} of its bound; {beyond} certificates or gaps beyond theirs",
        0.1 < most <= 1.0 and beyond == 0,
    )


def ties() -> list[Any]:
    """Return MDPs on which all actions do the same: nothing can be dropped."""
    found = []
    for S, A, H in ((2, 2, 2), (2, 2, 3)):
        P = np.full((S, A, S), 1.0 / S)
        found.append(uli.TabularMDP(P, np.tile([[0.0], [1.0]], (1, A)), horizon=H))
    return found


@check(
    "models-programme",
    (ROBUST, "verify/model_programs.py::OccupancyProgram"),
    (
        f"{TESTS}::test_inductions_agree_with_a_linear_programme",
        f"{THEORY}::test_inductions_solve_the_programme",
    ),
)
def programme(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_models.md, section 4: inductions solve the programme of occupancies.

    W with its constraint on the value, U and C2 before its cut, by HiGHS; rewards 0 and 1, and
    L = U, among the cases.
    """
    off, cases, binding = 0.0, 0, 0
    for seed, problem in enumerate(examples(quick)[:4]):
        for run in looked(problem, "stochastic", 8 if quick else 30, seed):
            view = run.view
            program = model_programs.OccupancyProgram(run.boxes, view.left)
            b, r, g = (program.weights(x) for x in (view.b, view.r, view.g))
            b[program.starts] = view.start[3]
            upper = program.most(r)
            found = [(upper, view.start[0]), (program.most(g), model_programs.largest(run, view.g))]
            for least in (view.start[1], upper):
                least -= 3e-12
                W = program.most(b, (r, least))
                binding += W < program.most(b) - 1e-9
                found.append((W, model_programs.width_within(run, least)))
            off = max(off, *(abs(x - y) for x, y in found))
            cases += len(found)
    return VerifyOutcome(
        f"{cases} programmes of {examples(quick)[0]!r} and others, the constraint binding in "
        f"{binding}",
        f"largest difference {off:.0e}",
        off <= 2e-6 and binding >= 3,
    )


@check(
    "models-ULI",
    (*CODE, BOXES, ROBUST, "kernels/mdp/visit_bounds.py", RATE),
    (f"{TESTS}::test_failures_stay_within_delta", f"{TESTS}::test_equals_naive_on_the_same_draws"),
)
def last_iterate(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_models.md: model elimination is ULI.

    The truth lies in all boxes with probability 1 - 0.9 delta. On that event every gap is within
    its certificate, certificates never rise, and no optimal action is dropped.
    """
    M, delta = 60 if quick else 600, 0.3
    mdps = uli.mdps
    problems = (
        mdps.random_dense(2, 2, 3, seed=1),
        mdps.river_swim(3, 4).restricted(),
        mdps.two_stage_treatment().restricted(),
    )
    failed, runs, broken, closest, beyond = 0, 0, 0, 0.0, 0
    for problem in problems:
        for play in PLAYS:
            learner = uli.ModelElimination(delta, play)
            found = simulate(learner, problem, 10**5, M, seed=1)
            held, room = found.event_held, 1e-12 * problem.horizon
            said, gaps = found.look_facts[held, :, 0], found.look_facts[held, :, 4]
            h, s = np.indices(problem.optimal_policy.shape)
            lost = ~found.actions_left[held][:, h, s, problem.optimal_policy]
            rises = np.diff(said, axis=1) > 0.0
            broken += int((gaps > said + room).sum() + lost.sum() + rises.sum())
            closest = max(closest, float((gaps[said > 0.0] / said[said > 0.0]).max(initial=0.0)))
            failed, runs = failed + int((~held).sum()), runs + M
            beyond += int((~found.holds).sum())
    p = exact.surprise(failed, runs, 0.9 * delta)
    return VerifyOutcome(
        f"{runs} runs of 1e5 episodes on a dense MDP, a river and a treatment, delta {delta:g}",
        f"{failed} left their boxes (p = {p:.2g}), {beyond} beyond F; on the event {broken} gaps "
        f"beyond their certificates or best actions lost, gap / certificate up to {closest:.2f}",
        p >= exact.LEAST_P and broken == 0 and beyond <= failed and 0.0 < closest <= 1.0,
    )
