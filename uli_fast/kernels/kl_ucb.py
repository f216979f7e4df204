"""KL-UCB: play the arm with the largest q such that N kl(mean, q) <= log t.

Garivier and Cappe (2011), "The KL-UCB algorithm for bounded stochastic bandits and beyond",
Algorithm 1: after one play each, the index of arm a at round t is
max{q in [0, 1] : N_a kl(mean_a, q) <= log t + c log log t}, with c = 3 in the proof and c = 0
recommended for use, which is what is done here. Ties go to the smallest index. (For rewards
without a range the divergence is that of Gaussians and the index is a bonus: kernels/ucb.py.)

An index grows with log t, more and more slowly: a tangent bounds it from above. So
only the indices that may matter are computed (``front``, ``best_rival``).

While q bounds the others, arm A leads if its sum is above B(n) = min{S : n kl(S / n, q) <= log t}.
n kl(S / n, q) is convex in (n, S), so B is convex and lies below its chords: arms are followed
along straight lines as those of kernels/arms/optimistic_skip.py are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import kernel, lean_kernel, lean_step
from uli_fast.kernels.arms.kl import above, below
from uli_fast.kernels.arms.optimism import LONGEST_STRETCH, SHORT_STRETCH, leader, stretch
from uli_fast.kernels.arms.optimistic_skip import (
    FIRST_BLOCK,
    LOW,
    SHORTEST_BLOCK,
    SHORTEST_LINE,
    SINGLE_ROUNDS,
    WINDOW,
)
from uli_fast.kernels.arms.state import (
    ROUND,
    ArmState,
    RoundRecord,
    next_stop,
    note,
    note_run,
    play_out,
    record_of,
    state_of,
)
from uli_fast.kernels.rewards.above_line import (
    is_fresh,
    longest_block,
    play_above,
    walk,
    walk_fresh,
)
from uli_fast.kernels.rewards.blocks import mean_floor
from uli_fast.kernels.rewards.laws import Law, RealLaw, law_of, play_one, total_after

# Lines are not worth their indices before this round.
EARLY = 1 << 14
# What an index and its bounds may be off by, so that blocks decide as single rounds do.
MARGIN = 4e-15


class KlIndices(NamedTuple):
    """Indices of all arms, each from the level at which it was last computed."""

    mean: F64  # (K,)
    pulls: F64  # (K,)
    value: F64  # (K,) the index at ``level``, infinite if it has to be computed
    level: F64  # (K,) log t
    slope: F64  # (K,) derivative of the index with respect to log t


@lean_kernel
def index_of(mean: float, n: float, level: float) -> float:
    """Return the largest q with n kl(mean, q) <= level."""
    m = min(max(mean, 0.0), 1.0)
    return min(m + above(m, level / n), 1.0)


@kernel
def choose(mean: F64, n: I64, t: int) -> int:
    """Return the arm played at round t from means and counts (the live step)."""
    value = np.empty(n.shape[0])
    for a in range(n.shape[0]):
        value[a] = index_of(mean[a], float(n[a]), np.log(float(t)))
    return leader(value)


@lean_kernel
def interval(mean: F64, n: I64, level: float, lower: F64, upper: F64) -> None:
    """Fill in where N kl(mean, q) <= level; an unplayed arm has the whole range."""
    for a in range(n.shape[0]):
        lower[a], upper[a] = 0.0, 1.0
        if n[a] > 0:
            m = min(max(mean[a], 0.0), 1.0)
            upper[a] = index_of(m, float(n[a]), level)
            lower[a] = 1.0 - index_of(1.0 - m, float(n[a]), level)


@lean_step
def solve(ix: KlIndices, a: int, level: float) -> None:
    """Compute the index of arm a and its tangent at a level."""
    q = index_of(ix.mean[a], ix.pulls[a], level)
    ix.value[a], ix.level[a] = q, level
    d = q - ix.mean[a]
    ix.slope[a] = q * (1.0 - q) / (ix.pulls[a] * d) if d > 0.0 else 0.0


@lean_step
def cap(ix: KlIndices, a: int, level: float) -> float:
    """Bound the index of arm a at a level that is not below its own; equal there."""
    if ix.level[a] == level:
        return float(ix.value[a])
    return float(min(ix.value[a] + ix.slope[a] * (level - ix.level[a]) + MARGIN, 1.0))


@lean_step
def front(ix: KlIndices, level: float) -> tuple[int, float]:
    """Return the arm with the largest index, the first of equals, and a bound of the others'."""
    while True:
        arm, best, second = 0, cap(ix, 0, level), -np.inf
        for a in range(1, ix.value.shape[0]):
            bound = cap(ix, a, level)
            if bound > best:
                arm, best, second = a, bound, best
            elif bound > second:
                second = bound
        if ix.level[arm] == level:
            return arm, second
        solve(ix, arm, level)


@lean_step
def best_rival(ix: KlIndices, A: int, level: float, later: float) -> float:
    """Bound the indices of the arms other than A up to a later level."""
    while True:
        arm, best = A, -np.inf
        for a in range(ix.value.shape[0]):
            if a != A and cap(ix, a, later) > best:
                arm, best = a, cap(ix, a, later)
        if arm == A or ix.level[arm] == level:
            return best
        solve(ix, arm, level)


@lean_step
def first_of_equals(ix: KlIndices, A: int, later: float) -> bool:
    """Say whether an index of 1 lets A lead up to a later level: nobody before it has one."""
    for a in range(A):
        if cap(ix, a, later) >= 1.0 - MARGIN:
            return False
    return True


@lean_step
def least_sum(q: float, n: float, level: float) -> float:
    """Return B(n): with a larger sum of n rewards the index is above q."""
    return n * (q - below(q, level / n)) + 1e-15 * n


@lean_step
def line_of(
    ix: KlIndices, A: int, rival: float, k: int, level: float, later: float
) -> tuple[float, float]:
    """Return floor and slope of a line; A leads for k plays while its sum is above."""
    n = ix.pulls[A]
    q = rival + MARGIN
    if q >= 1.0:  # only an index of 1 is not below
        if ix.value[A] == 1.0 and first_of_equals(ix, A, later):
            return n - 0.5, 1.0
        return np.inf, 0.0
    if -(n + k) * math.log1p(-q) < level:  # not even without any success
        return -1.0, 0.0
    floor = least_sum(q, n, level)
    return floor, (least_sum(q, n + k, level) - floor) / k


@lean_step
def credit(state: ArmState, ix: KlIndices, a: int, k: int, total: Any) -> None:
    """Take in k plays of arm a, which bring its sum to ``total``."""
    state.total[a] = total
    state.n[a] += k
    state.clock[ROUND] += k
    ix.mean[a] = total / state.n[a]
    ix.pulls[a] = float(state.n[a])
    ix.value[a], ix.level[a], ix.slope[a] = np.inf, -1.0, 0.0


@lean_kernel
def restore_indices(state: ArmState, ix: KlIndices) -> None:
    """Set up means and counts; no index is known."""
    for a in range(state.n.shape[0]):
        ix.pulls[a] = float(state.n[a])
        ix.mean[a] = state.total[a] / max(ix.pulls[a], 1.0)
        ix.value[a], ix.level[a], ix.slope[a] = np.inf, -1.0, 0.0


@lean_kernel
def play_first(law: Law, state: ArmState, ix: KlIndices, record: RoundRecord, T: int) -> None:
    """Play each arm once (rounds 1..K)."""
    while state.clock[ROUND] < min(T, state.n.shape[0]):
        a, n = state.clock[ROUND], state.n[state.clock[ROUND]]  # none: a literal is compiled apart
        credit(state, ix, a, n + 1, play_one(law, a, n, state.total[a]))
        state.last[a] = a + 1
        note(record, state.n, a + 1)


@lean_step
def play_singly(law: Law, state: ArmState, ix: KlIndices, record: RoundRecord, rounds: int) -> None:
    """Play single rounds, along a line while one arm leads."""
    end = state.clock[ROUND] + rounds
    longest = 1
    while state.clock[ROUND] < end:
        t = state.clock[ROUND]
        level = np.log(float(t + 1))
        A, _ = front(ix, level)
        n = state.n[A]
        window = min(longest, next_stop(record) - t, end - t)
        if window > 1:
            later = np.log(float(t + window))
            rival = best_rival(ix, A, level, later)
            floor, slope = line_of(ix, A, rival, window, level, later)
            after, total = stretch(law, n, state.total[A], A, window, floor, slope)
            played = after - n
        else:
            total = play_one(law, A, n, state.total[A])
            played = 1
        credit(state, ix, A, played, total)
        longest = min(2 * longest, LONGEST_STRETCH) if played == window else SHORT_STRETCH
        state.last[A] = t + played
        if t + played == next_stop(record):
            note(record, state.n, t + played)


@lean_kernel
def play_rounds(
    law: Law, state: ArmState, ix: KlIndices, record: RoundRecord, T: int, budget: int
) -> int:
    """Play single rounds until T or until the budget is spent; return what is left of it."""
    restore_indices(state, ix)
    play_first(law, state, ix, record, T)
    k = min(budget, T - state.clock[ROUND])
    play_singly(law, state, ix, record, k)
    return int(budget - k)


@lean_step
def safe_plays(law: RealLaw, state: ArmState, ix: KlIndices, A: int, level: float) -> int:
    """Return how many plays in a row the leader A surely gets; 0 if a block is not worth it.

    With the lowest mean that k plays can lead to, and all of them counted, its index must
    beat the others' of the last of these rounds.
    """
    t, n, total = state.clock[ROUND], state.n[A], state.total[A]
    k = 2 * n
    while k >= SHORTEST_BLOCK:
        later = np.log(float(t + k + 1))
        lowest = index_of(mean_floor(law, A, n, k, total), float(n + k), level)
        rival = best_rival(ix, A, level, later)
        if lowest > rival + MARGIN or (lowest == 1.0 and first_of_equals(ix, A, later)):
            return int(k)
        k //= 2
    return 0


@lean_kernel
def play_skipping(
    law: RealLaw, state: ArmState, ix: KlIndices, record: RoundRecord, T: int, budget: int
) -> int:
    """Play rewards in [0, 1] in blocks in which the leader stays ahead, else one by one."""
    if state.n.shape[0] == 1:
        play_out(state, record, state.n.shape[0] - 1, T)  # a literal 0 would be compiled apart
    restore_indices(state, ix)
    play_first(law, state, ix, record, T)
    while budget > 0 and state.clock[ROUND] < T:
        budget -= 1
        t = state.clock[ROUND]
        level = np.log(float(t + 1))
        A, _ = front(ix, level)
        k = safe_plays(law, state, ix, A, level) if state.n[A] >= FIRST_BLOCK else 0
        if k == 0:
            play_singly(law, state, ix, record, min(SINGLE_ROUNDS, T - t))
            budget -= SINGLE_ROUNDS // 16
            continue
        total = total_after(law, A, state.n[A], k, state.total[A])
        if t + k >= next_stop(record):
            note_run(record, state.n, A, t, k)
        credit(state, ix, A, k, total)
        state.last[A] = min(t + k, T)
    return budget


@lean_step
def follow_line(law: Any, state: ArmState, ix: KlIndices) -> tuple[int, int, Any]:
    """Play the leader for a while; return it, the plays made and its new sum."""
    t = state.clock[ROUND]
    level = np.log(float(t + 1))
    # All of them: how blocks are drawn must not depend on what was computed when, or where a
    # chunk began.
    for a in range(ix.value.shape[0]):
        solve(ix, a, level)
    A, second = front(ix, level)
    n, total = state.n[A], state.total[A]
    fresh = is_fresh(law, A, n)
    roof = LOW
    if fresh:
        floor, slope = line_of(ix, A, second, n, level, level)
        x = max(total - floor, 0.0)
        if x >= LOW or law.mu[A] >= 1.0:  # rewards of 1 alone never end a lead
            k = longest_block(law, A, n, x, law.mu[A] - slope)
            while k >= SHORTEST_LINE:
                later = np.log(float(t + k))
                rival = best_rival(ix, A, level, later)
                floor, slope = line_of(ix, A, rival, k, level, later)
                height = total - floor
                if height >= 0.5 * x:
                    k, wins = play_above(law, A, n, k, height, slope)
                    return A, k, total + wins
                k //= 2
        roof = max(LOW, 1.5 * x)
    k = min(n, WINDOW)
    later = np.log(float(t + k))
    floor, slope = line_of(ix, A, best_rival(ix, A, level, later), k, level, later)
    low = floor - total
    if fresh:
        k, wins = walk_fresh(law, A, k, low, low + roof, slope)
    else:
        k, wins = walk(law, A, n, k, low, slope)
    return A, k, total + wins


@lean_kernel
def play_lines(
    law: Law, state: ArmState, ix: KlIndices, record: RoundRecord, T: int, budget: int
) -> int:
    """Play Bernoulli rewards along lines, in blocks where these are far away."""
    if state.n.shape[0] == 1:
        play_out(state, record, state.n.shape[0] - 1, T)  # a literal 0 would be compiled apart
    restore_indices(state, ix)
    play_first(law, state, ix, record, T)
    early = min(budget, min(T, EARLY) - state.clock[ROUND])
    if early > 0:
        play_singly(law, state, ix, record, early)
        budget -= early
    while budget > 0 and state.clock[ROUND] < T:
        budget -= 1
        t = state.clock[ROUND]
        A, k, total = follow_line(law, state, ix)
        if t + k >= next_stop(record):
            note_run(record, state.n, A, t, k)
        credit(state, ix, A, k, total)
        state.last[A] = min(t + k, T)
    return budget


@lean_kernel
def batch_rounds(
    law: Law, states: ArmState, ix: KlIndices, record: RoundRecord, T: int, budget: int
) -> bool:
    """Play single rounds of all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_rounds(
                law_of(law, r), state_of(states, r), ix, record_of(record, r), T, budget
            )
    return bool(states.clock[-1, ROUND] >= T)


@lean_kernel
def batch_skipping(
    law: Any, states: ArmState, ix: KlIndices, record: RoundRecord, T: int, budget: int
) -> bool:
    """Skip through real rewards of all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_skipping(
                law_of(law, r), state_of(states, r), ix, record_of(record, r), T, budget
            )
    return bool(states.clock[-1, ROUND] >= T)


@lean_kernel
def batch_lines(
    law: Law, states: ArmState, ix: KlIndices, record: RoundRecord, T: int, budget: int
) -> bool:
    """Follow lines in all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_lines(
                law_of(law, r), state_of(states, r), ix, record_of(record, r), T, budget
            )
    return bool(states.clock[-1, ROUND] >= T)
