"""Tabular MDPs: phase lengths of policy elimination, and the errors of its estimates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import uli_fast as uli
from uli_fast._typing import F64, I8, I64
from uli_fast.guarantees.policy_schedule import Size
from uli_fast.verify import VerifyOutcome, check, exact

CODE = ("learners/policy_elimination.py", "kernels/policy_elimination.py")
SCHEDULE = "guarantees/policy_schedule.py"
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
def lengths(quick: bool) -> VerifyOutcome:
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
    return VerifyOutcome(
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
def powers(quick: bool) -> VerifyOutcome:
    """Algorithm RL_ULI_main, Theorem ULI_RL, corrected.

    T_m grows with H^6 where H^4 is printed, with H^7 where |Pi| = A^(S H) and H^5 is printed.
    """
    from uli_fast.guarantees.policy_schedule import paper_length, proved_error, proved_length

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
    return VerifyOutcome(
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
    from uli_fast._support.streams import stream

    mdp = uli.mdps.random_dense(*SMALL, seed=seed)
    on = uli.PolicyElimination(0.1).on(mdp)
    run = on.learner.begin(on, stream(seed, 0), "rounds", FIRST, np.array([FIRST]))
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
    from uli_fast.learners._policies.policy_sets import PolicySet

    return PolicySet(mdp.decision_points, mdp.n_actions).policies


@check(
    "RL_ULI_main_subroutine",
    (
        *CODE,
        "kernels/mdp/episodes.py",
        "kernels/mdp/backward_induction.py",
        "kernels/mdp/enumeration.py",
        "kernels/mdp/trie.py",
        "kernels/mdp/search.py",
    ),
    (
        f"{TESTS}::test_every_way_of_choosing_equals_enumeration_on_the_same_draws",
        f"{TESTS}::test_choices_with_the_real_bonus_equal_enumeration",
    ),
)
def choices(quick: bool) -> VerifyOutcome:
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
    return VerifyOutcome(
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
def optimism(quick: bool) -> VerifyOutcome:
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
    return VerifyOutcome(
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
def optimistic_sums(quick: bool) -> VerifyOutcome:
    """Eqs. whatV_pit_bound (b_{t,h} and h <= H in place of what is printed), xi_bound, bound_s1_mu.

    Optimistic values are at most the sums of bonuses and of martingales.
    """
    from uli_fast.guarantees.policy_schedule import step_error, value_error

    H = SMALL[2]
    M, episodes = 3 if quick else 30, 300
    # What the martingales of the proof may reach in this many episodes.
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
    return VerifyOutcome(
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
def visits(quick: bool) -> VerifyOutcome:
    """Lemma bound_integral with constants.

    Visits sum to S A + 2 sqrt(S A T) and S A (2 + log T) at most.
    """
    from uli_fast.guarantees.policy_schedule import visit_sum

    worst, cases = np.zeros(2), 0
    for pairs in (1, 4, 60):
        for T in (pairs, 10 * pairs, 1000 * pairs, (10**5 if quick else 10**7) * pairs):
            # Even visits are the worst, as both sums are concave in each count.
            N = np.maximum(1.0, np.arange(T // pairs))
            sums = pairs * np.array([(1.0 / np.sqrt(N)).sum(), (1.0 / N).sum()])
            allowed = [visit_sum(Size(pairs, 1, 1, 0.0), T), pairs * (2.0 + math.log(T))]
            worst = np.maximum(worst, sums / np.array(allowed))
            cases += 1
    return VerifyOutcome(
        f"{cases} sizes, visits spread evenly",
        f"largest sum / bound {worst[0]:.4f} for roots, {worst[1]:.4f} for inverses",
        bool((worst <= 1.0).all()) and worst[0] > 0.99,
    )


@check(
    "initial_state_concentration",
    (SCHEDULE,),
    (f"{TESTS}::test_the_errors_are_those_of_the_derivation",),
)
def initial_states(quick: bool) -> VerifyOutcome:
    """Eq. initial_state_concentration, corrected.

    Initial states cost (H / 2) sqrt(2 S log(10 / delta) / T); the printed H sqrt(8 T log) says
    nothing.
    """
    from uli_fast._support.streams import stream
    from uli_fast.guarantees.policy_schedule import initial_error

    S, A, H = SMALL
    T, M, delta = 500, 50 if quick else 500, 0.1
    allowed = initial_error(size_of(*SMALL), T, delta)
    shares = np.zeros(M)
    for r in range(M):
        mdp = uli.mdps.random_dense(*SMALL, seed=r)
        on = uli.PolicyElimination(delta).on(mdp)
        run = on.learner.begin(on, stream(1, r), "rounds", T, np.array([T]))
        while not run.advance(T):
            pass
        V = staged_values(all_policies(mdp), run.model.P, mdp.unit_rewards, float(H))[0]
        shares[r] = np.abs(V @ (run.model.starts / T - mdp.initial)).max() / allowed
    late = int((shares > 1.0).sum())
    p = exact.surprise(late, M, delta / 5.0)
    printed = H * math.sqrt(8.0 * T * math.log(10.0 * A ** (S * H) / delta))
    return VerifyOutcome(
        f"{M} random MDPs of (2, 2, 2), {T} episodes, all 16 policies",
        f"|V_tilde - E V_hat| up to {shares.max():.3f} of it, {late} beyond (p = {p:.2g}); "
        f"printed {printed:.0f} where values are at most {H}",
        p >= exact.LEAST_P and shares.max() > 0.05 and printed > H,
    )
