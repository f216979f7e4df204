"""Tabular MDPs: policy elimination, its estimates, and the optimistic rivals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import uli_fast as uli
from uli_fast._schedule import Size
from uli_fast._typing import F64, I8, I64, Schedule
from uli_fast.verify import Outcome, check, exact
from uli_fast.verify.common import NEARLY, SIDES, simulate, within

CODE = ("learners/policy_elimination.py", "kernels/policy_elimination.py")
SCHEDULE = "_schedule.py"
TESTS = "tests/learners/test_policy_elimination.py"
# T_1, T_2, T_3 for (S, A, H, delta) of the paper's bonus.
GOLDEN = {
    (2, 2, 2, 0.1): (11798944, 51617060, 220641461),
    (2, 2, 1, 0.1): (245686, 1049044, 4419392),
    (2, 2, 3, 0.05): (133934004, 582115223, 2475611324),
    (3, 2, 2, 0.1): (28856275, 124810908, 529779960),
}


def size_of(S: int, A: int, H: int) -> Size:
    """Return the size of an MDP with all its policies."""
    return Size(S, A, H, S * H * math.log(A))


def log_iota(S: int, A: int, H: int, T: int, delta: float) -> float:
    """Return log(10 S A H |Pi| T / delta) (Eq. def4bonus)."""
    return math.log(10.0 * S * A * H * T / delta) + S * H * math.log(A)


def error(S: int, A: int, H: int, T: int, delta: float) -> float:
    """Return epsilon(T, delta) of docs/errata.md, written out once more."""
    log, policies = log_iota(S, A, H, T, delta), S * H * math.log(A)
    starts = H / 2.0 * math.sqrt(2.0 * S * math.log(10.0 / delta) / T)
    values = H**2 * math.sqrt((math.log(5.0 / delta) + policies) / (2.0 * T))
    steps = H**2 * math.sqrt(H * math.log(5.0 / delta) / (2.0 * T))
    root = H**2 * math.sqrt(2.0 * S * log) * (S * A + 2.0 * math.sqrt(S * A * T))
    rest = 2.0 / 3.0 * H**2 * S**2 * A * log * (2.0 + math.log(T))
    return starts + values + steps + H / T * (2.0 + 1.0 / H) * (root + rest)


@check(
    "RL_ULI_main",
    (*CODE, SCHEDULE),
    (
        f"{TESTS}::test_phase_lengths_are_the_golden_ones",
        f"{TESTS}::test_a_phase_is_the_shortest_with_a_small_enough_error",
    ),
)
def lengths(quick: bool) -> Outcome:
    """Algorithm RL_ULI_main: phase m is the shortest with epsilon(T_m, delta_m) <= 2^(-m-1)."""
    right = shortest = 0
    for (S, A, H, delta), golden in GOLDEN.items():
        learner = uli.PolicyElimination(delta)
        for m, wanted in enumerate(golden, start=1):
            T, delta_m = learner.plan(size_of(S, A, H), m).episodes, delta / (2.0 * m**2)
            right += T == wanted
            goal = 2.0 ** (-m - 1)
            shortest += error(S, A, H, T, delta_m) <= goal < error(S, A, H, T - 1, delta_m)
    sharp = uli.PolicyElimination(0.1, "sharp")
    found = [sharp.plan(size_of(2, 2, 2), m).episodes for m in (1, 2, 3)]
    return Outcome(
        "four sizes, three phases each, and the sharp schedule of (2, 2, 2)",
        f"{right} of 12 lengths are the known ones, {shortest} the shortest; sharp {found}",
        right == shortest == 12 and found == [1281806, 5859437, 25671307],
    )


@check(
    "RL_ULI_main-H",
    (SCHEDULE,),
    (
        f"{TESTS}::test_the_errors_are_those_of_the_derivation",
        f"{TESTS}::test_the_papers_formula_with_constants_of_ones_own",
    ),
)
def powers(quick: bool) -> Outcome:
    """Algorithm RL_ULI_main, Theorem ULI_RL, corrected.

    T_m grows with H^6 where H^4 is printed, with H^7 where |Pi| = A^(S H) and H^5 is printed.
    """
    from uli_fast._schedule import paper_length, proved_error, proved_length

    def slope(length: Any, all_policies: bool) -> float:
        ends = []
        for H in (2**14, 2**15):
            size = Size(2, 2, H, 2 * H * math.log(2.0) if all_policies else math.log(16.0))
            ends.append(length(size))
        return math.log2(ends[1] / ends[0])

    ours = [slope(lambda size: proved_length("proved", size, 0.1, 1), x) for x in (False, True)]
    printed = [slope(lambda size: paper_length(1.0, 1.0, size, 0.1, 1), x) for x in (False, True)]
    # With T as printed the error grows with H, whatever c1 and c2 are.
    short = [
        proved_error(s, paper_length(1e3, 1e3, s, 0.1, 1), 0.05)
        for s in (Size(2, 2, H, math.log(16.0)) for H in (2**14, 2**20))
    ]
    return Outcome(
        "T_1 at H = 2^14 and 2^15, S = A = 2; the error at the printed length, H = 2^14 and 2^20",
        f"powers of H: {ours[0]:.2f} with |Pi| fixed, {ours[1]:.2f} with all policies; printed "
        f"{printed[0]:.2f} and {printed[1]:.2f}; epsilon at the printed T {short[0]:.3g} and "
        f"{short[1]:.3g}",
        abs(ours[0] - 6.0) < 0.15
        and abs(ours[1] - 7.0) < 0.15
        and printed[0] < 4.3
        and short[1] > 10.0 * short[0],
    )


def staged_values(policies: I8, P: F64, c: F64, limit: float = math.inf) -> F64:
    """Return the values of policies, (H + 1, n, S), from rewards c and a limit on Q."""
    n, H, S = policies.shape
    V, states = np.zeros((H + 1, n, S)), np.arange(S)
    for h in range(H - 1, -1, -1):
        a = policies[:, h]
        ahead = np.einsum("nsk,nk->ns", P[h][states, a], V[h + 1])
        V[h] = np.minimum(ahead + c[h][states, a], limit)
    return V


def bonus(N: I64, T: int, delta: float) -> F64:
    """Return b of all stages, states and actions, unclipped (Eq. def4bonus)."""
    H, S, A = N.shape
    log, n = log_iota(S, A, H, T, delta), np.maximum(N, 1)
    return np.asarray(H * np.sqrt(2.0 * S * log / n) + 2.0 * H * S * log / (3.0 * n))


class Watched(NamedTuple):
    """An episode of policy elimination and what was known before it."""

    N: I64  # (H, S, A) visits
    P: F64  # (H, S, A, S) P_hat
    c: F64  # (H, S, A) b / H + b, as the learner has it
    b: F64  # (H, S, A) bonuses b, from it
    pi: I8  # (H, S)
    state: I64  # (H,)
    action: I64  # (H,)


# Episodes are watched in the first phase of two states, actions and stages at delta = .1.
SMALL, FIRST, DELTA_1 = (2, 2, 2), GOLDEN[2, 2, 2, 0.1][0], 0.05


def watched(seed: int, skipped: int, episodes: int) -> Iterator[Watched]:
    """Yield episodes of the first phase on a random MDP, after some that are not looked at."""
    from uli_fast.simulate import generator

    mdp = uli.mdps.random_dense(*SMALL, seed=seed)
    run = uli.PolicyElimination(0.1).begin(
        mdp, generator(seed, 0), "rounds", FIRST, np.array([FIRST])
    )
    run.advance(1)
    while run.t < skipped:
        run.advance(skipped - run.t)
    done = 0
    while done < episodes:
        model, path, before = run.model, run.path, run.t
        N, P, c = model.N.copy(), model.P.copy(), model.c.copy()
        run.advance(1)
        if run.t > before:  # else the list of policies has grown
            done += 1
            b = c / (1.0 + 1.0 / mdp.horizon)
            yield Watched(N, P, c, b, path.pi.copy(), path.state.copy(), path.action.copy())


def all_policies(mdp: Any) -> I8:
    """Return every policy, (n, H, S)."""
    from uli_fast.learners._policy_sets import PolicySet

    return PolicySet(mdp.decision_points, mdp.n_actions).policies


@check(
    "RL_ULI_main_subroutine",
    (
        *CODE,
        "kernels/_mdp.py",
        "kernels/_induction.py",
        "kernels/_enumeration.py",
        "kernels/_trie.py",
        "kernels/_search.py",
    ),
    (
        f"{TESTS}::test_every_way_of_choosing_equals_enumeration_on_the_same_draws",
        f"{TESTS}::test_choices_with_the_real_bonus_equal_enumeration",
    ),
)
def choices(quick: bool) -> Outcome:
    """Algorithms RL_ULI_main_subroutine, RL_ULI_subroutine1, Eq. def4bonus.

    Each episode plays a policy of the largest optimistic value at its initial state.
    """
    wrong, off, short, total = 0, 0.0, 0.0, 0
    seen: set[int] = set()
    for seed in range(2 if quick else 20):
        policies = all_policies(uli.mdps.random_dense(*SMALL, seed=seed))
        for e in watched(seed, 20_000, 200):
            c = 1.5 * np.minimum(bonus(e.N, FIRST, DELTA_1), 2.0)  # b / H + b
            V = staged_values(policies, e.P, c, 2.0)[0][:, e.state[0]]
            own = int((policies == e.pi).all(axis=(1, 2)).argmax())
            short = max(short, float(V.max() - V[own]))
            off = max(off, float(np.abs(e.c / c - 1.0).max()))
            wrong += bool((e.pi[np.arange(2), e.state] != e.action).any())
            seen.add(own)
            total += 1
    return Outcome(
        f"{total} episodes of the first phase of (2, 2, 2) against all 16 policies by hand",
        f"values short of the largest by {short:.0e}, bonuses off by {off:.0e}, {wrong} wrong "
        f"actions, {len(seen)} policies played",
        short < 1e-12 and off < 1e-9 and wrong == 0 and len(seen) > 1,
    )


@check(
    "optimism_V",
    (*CODE, SCHEDULE),
    (f"{TESTS}::test_choices_with_the_real_bonus_equal_enumeration",),
)
def optimism(quick: bool) -> Outcome:
    """Lemmas concentration_V, concentration_whatV, optimism_V.

    Bonuses cover the errors, values are optimistic; b clipped at H, without which optimism
    fails.
    """
    S, A, H = SMALL
    log = log_iota(S, A, H, FIRST, DELTA_1)
    errors, least, unclipped = np.zeros(3), math.inf, -math.inf
    for seed in range(2 if quick else 20):
        mdp = uli.mdps.random_dense(*SMALL, seed=seed)
        policies, P = all_policies(mdp), mdp.transitions
        truth = staged_values(policies, P, mdp.unit_rewards)
        for skipped in (1, 10, 100, 1000, 10_000, 100_000):
            e = next(watched(seed, skipped, 1))
            V = staged_values(policies, e.P, e.b / H + e.b, float(H))
            least = min(least, float((V[0] - staged_values(policies, P, e.b / H)[0]).min()))
            raw = staged_values(policies, P, bonus(e.N, FIRST, DELTA_1) / H)[0]
            unclipped = max(unclipped, float((raw - V[0]).max()))
            hoeffding = H * np.sqrt(log / (2.0 * np.maximum(e.N[0], 1)))
            # After the last stage there is nothing to estimate.
            cases = ((truth[1], hoeffding), (truth[1], e.b[0]), (V[1], e.b[0]))
            for i, (ahead, allowed) in enumerate(cases):
                miss = np.abs(np.einsum("sak,nk->nsa", e.P[0] - P[0], ahead)).max(axis=0)
                errors[i] = max(errors[i], (miss / allowed)[e.N[0] > 0].max())
    return Outcome(
        "first phase of (2, 2, 2) after 1, 10, ..., 100 000 episodes, all 16 policies",
        f"|(P_hat - P) V| up to {errors[0]:.3f} of Lemma concentration_V and {errors[1]:.3f} b, "
        f"|(P_hat - P) V_hat| {errors[2]:.3f} b; "
        f"V_hat - V(b / H) >= {least:.3f}, unclipped {-unclipped:.0f}",
        bool((errors <= 1.0).all()) and least >= -1e-12 and unclipped > 0.0,
    )


@check(
    "whatV_pit_bound",
    (*CODE, SCHEDULE),
    (f"{TESTS}::test_the_errors_are_those_of_the_derivation",),
)
def optimistic_sums(quick: bool) -> Outcome:
    """Eqs. whatV_pit_bound (b_{t,h} and h <= H in place of what is printed), xi_bound, bound_s1_mu.

    Optimistic values are at most the sums of bonuses and of martingales.
    """
    from uli_fast._schedule import step_error, value_error

    H = SMALL[2]
    M, episodes = 3 if quick else 30, 300
    # What the martingales of the proof may reach in so many episodes.
    about = (size_of(*SMALL), episodes, DELTA_1)
    steps, starts = (error(*about) * episodes / H for error in (step_error, value_error))
    tight, late, worst = math.inf, 0, np.zeros(2)
    for seed in range(M):
        mdp = uli.mdps.random_dense(*SMALL, seed=seed)
        policies, P = all_policies(mdp), mdp.transitions
        drift, differences = 0.0, np.zeros(len(policies))
        for e in watched(seed, 20_000, episodes):
            V = staged_values(e.pi[None], e.P, e.b / H + e.b, float(H))[:, 0]
            s, a = e.state, e.action
            xi = float(P[0, s[0], a[0]] @ V[1] - V[1, s[1]])
            bonuses = float(e.b[np.arange(H), s, a].sum())
            tight = min(tight, xi + (2.0 + 1.0 / H) * bonuses - float(V[0, s[0]]))
            drift += xi
            value = staged_values(policies, P, e.b / H)[0]
            differences += value @ mdp.initial - value[:, s[0]]
        shares = np.array([drift / steps, differences.max() / starts])
        late += bool((shares > 1.0).any())
        worst = np.maximum(worst, shares)
    p = exact.surprise(late, M, 2.0 * DELTA_1 / 5.0)
    return Outcome(
        f"{episodes} episodes after 20 000, {M} random MDPs of (2, 2, 2)",
        f"xi + (2 + 1/H) sum b - V_hat >= {tight:.3f} in every episode; martingales up to "
        f"{worst[0]:.3f} and {worst[1]:.3f} of what Azuma allows",
        tight >= -1e-12 and p >= exact.LEAST_P,
    )


@check(
    "bound_integral",
    (SCHEDULE,),
    (f"{TESTS}::test_the_errors_are_those_of_the_derivation",),
)
def visits(quick: bool) -> Outcome:
    """Lemma bound_integral with constants.

    Visits sum to S A + 2 sqrt(S A T) and S A (2 + log T) at most.
    """
    from uli_fast._schedule import _visits

    worst, cases = np.zeros(2), 0
    for pairs in (1, 4, 60):
        for T in (pairs, 10 * pairs, 1000 * pairs, (10**5 if quick else 10**7) * pairs):
            # Even visits are the worst, as both sums are concave in each count.
            N = np.maximum(1.0, np.arange(T // pairs))
            sums = pairs * np.array([(1.0 / np.sqrt(N)).sum(), (1.0 / N).sum()])
            allowed = [_visits(Size(pairs, 1, 1, 0.0), T), pairs * (2.0 + math.log(T))]
            worst = np.maximum(worst, sums / np.array(allowed))
            cases += 1
    return Outcome(
        f"{cases} sizes, visits spread evenly",
        f"largest sum / bound {worst[0]:.4f} for roots, {worst[1]:.4f} for inverses",
        bool((worst <= 1.0).all()) and worst[0] > 0.99,
    )


@check(
    "initial_state_concentration",
    (SCHEDULE,),
    (f"{TESTS}::test_the_errors_are_those_of_the_derivation",),
)
def initial_states(quick: bool) -> Outcome:
    """Eq. initial_state_concentration, corrected.

    Initial states cost (H / 2) sqrt(2 S log(10 / delta) / T); the printed H sqrt(8 T log) says
    nothing.
    """
    from uli_fast._schedule import initial_error
    from uli_fast.simulate import generator

    S, A, H = SMALL
    T, M, delta = 500, 50 if quick else 500, 0.1
    allowed = initial_error(size_of(*SMALL), T, delta)
    shares = np.zeros(M)
    for r in range(M):
        mdp = uli.mdps.random_dense(*SMALL, seed=r)
        run = uli.PolicyElimination(delta).begin(mdp, generator(1, r), "rounds", T, np.array([T]))
        while not run.advance(T):
            pass
        V = staged_values(all_policies(mdp), run.model.P, mdp.unit_rewards, float(H))[0]
        shares[r] = np.abs(V @ (run.model.starts / T - mdp.initial)).max() / allowed
    late = int((shares > 1.0).sum())
    p = exact.surprise(late, M, delta / 5.0)
    printed = H * math.sqrt(8.0 * T * math.log(10.0 * A ** (S * H) / delta))
    return Outcome(
        f"{M} random MDPs of (2, 2, 2), {T} episodes, all 16 policies",
        f"|V_tilde - E V_hat| up to {shares.max():.3f} of it, {late} beyond (p = {p:.2g}); "
        f"printed {printed:.0f} where values are at most {H}",
        p >= exact.LEAST_P and shares.max() > 0.05 and printed > H,
    )


@check(
    "uniform_estimation",
    (*CODE, "runs.py"),
    (
        f"{TESTS}::test_three_phases_of_one_stage_estimate_every_active_policy",
        f"{TESTS}::test_two_sharp_phases_of_two_stages_estimate_every_active_policy",
    ),
)
def estimates(quick: bool) -> Outcome:
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
    return Outcome(
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
    from uli_fast.simulate import generator

    T, r, H = 10**15, mdp.unit_rewards, float(mdp.horizon)
    learner: Any = uli.PolicyElimination(0.1, schedule)
    run = learner.begin(mdp, generator(seed, 0), "skip", T, np.array([T]))
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
    ("learners/_policy_sets.py::PolicySet", SCHEDULE),
    (f"{TESTS}::test_three_phases_of_one_stage_estimate_every_active_policy",),
)
def worst_case(quick: bool) -> Outcome:
    """Lemma RL_defmpi and those around it.

    On E a gap above 2 2^-m is not in Pi_{m+1}, the best policy is; m <= log2(t + 1).
    """
    from uli_fast._schedule import proved_length
    from uli_fast.learners._policy_sets import PolicySet

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
    return Outcome(
        f"estimates as bad as E allows, gaps 2 2^-m (1 +- 1e-6), phases 2 to {last}; 24 phases",
        f"{right} of {cases} as computed; {within(in_time)}",
        right == cases and in_time,
    )


@check(
    "ULI_RL",
    (*CODE, "guarantees.py"),
    (f"{TESTS}::test_the_bound_is_a_step_per_phase",),
)
def policy_uli(quick: bool) -> Outcome:
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
    return Outcome(
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
def mdp_values(quick: bool) -> Outcome:
    """Tabular episodic MDPs: V^pi, the best value and gaps, against all policies one by one."""
    off, cases = 0.0, 10 if quick else 100
    for seed in range(cases):
        mdp = uli.mdps.random_sparse(2 + seed % 2, 2, 2 + seed % 3, seed=seed)
        policies = all_policies(mdp)
        values = staged_values(policies, mdp.transitions, mdp.rewards)[0] @ mdp.initial
        i = seed % len(policies)
        off = max(off, abs(float(values.max()) - mdp.optimal_value))
        off = max(off, abs(float(values.max() - values[i]) - mdp.gap(policies[i])))
    return Outcome(f"{cases} random MDPs", f"off by {off:.0e}", off < 1e-12)


@check(
    "UCB-VI",
    ("learners/ucbvi.py", "kernels/ucbvi.py"),
    ("tests/learners/test_ucbvi.py",),
    illustration=True,
)
def ucbvi(quick: bool) -> Outcome:
    """UCB-VI (optimistic, without F): it comes back to bad policies to the end."""
    # It plays nothing else in 100 000 episodes: so far there is nothing to come back to.
    return relapses(uli.UCBVI(0.1), 10**6 if quick else 10**7)


@check(
    "UBEV",
    ("learners/ubev.py", "kernels/ubev.py"),
    ("tests/learners/test_ubev.py",),
    illustration=True,
)
def ubev(quick: bool) -> Outcome:
    """UBEV (uniform PAC, without F): few mistakes, and no promise when they come."""
    return relapses(uli.UBEV(0.1), 10**5 if quick else 10**7)


def relapses(learner: Any, T: int) -> Outcome:
    """Show how late a rival still makes mistakes after it has played well.

    Episodes without one before the last one are what it came back from: a rival that has made
    mistakes all along has not come back to anything.
    """
    mdp = uli.mdps.river_swim(2, 2).restricted()
    runs = simulate(learner, mdp, T, 4, seed=2)
    last, mistakes = runs.last_mistake(0.1), runs.mistakes(0.1)
    late, away = int(last.min()), int((last - mistakes).min())
    return Outcome(
        f"4 runs of {T:.0e} episodes on a river of two states",
        f"{mistakes.mean():.3g} mistakes above .1, the last at episode {late} or later, after at "
        f"least {away} episodes without one",
        late > T // 100 and away > late // 2,
    )
