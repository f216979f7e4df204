"""KL-UCB: play the arm with the largest q such that N kl(mean, q) <= log t.

Garivier and Cappe (2011), "The KL-UCB algorithm for bounded stochastic bandits and beyond",
Algorithm 1: after one play each, the index of arm a at round t is
max{q in [0, 1] : N_a kl(mean_a, q) <= log t + c log log t}, with c = 3 in the proof and c = 0
recommended for use, which is what is done here. Ties go to the smallest index. (For rewards
without a range the divergence is that of Gaussians and the index is a bonus: kernels/ucb.py.)

Indices near 1 are all the same number. So heights are compared: that of q is q up to CREST, and
CREST + TOP log(TOP / (1 - q)) beyond; it is infinite for an arm that has seen nothing but 1.

A height grows with log t, more and more slowly: a tangent bounds it from above. So
only the heights that may matter are computed (``front``, ``best_rival``).

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
from uli_fast.kernels.arms.kl import fall, rise, shrinkage
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
# From where on heights are logarithms, and what is left to 1.
TOP = 2.0**-20
CREST = 1.0 - TOP
LOG_TOP = math.log(TOP)
# What rounding does to a sample mean.
ROUNDING = 1e-15


class KlIndices(NamedTuple):
    """Heights of all indices, each from the level at which it was last computed."""

    mean: F64  # (K,)
    rest: F64  # (K,) 1 - mean, of which the mean has lost digits if it is small
    pulls: F64  # (K,)
    value: F64  # (K,) the height at ``level``, infinite if it has to be computed
    level: F64  # (K,) log t
    slope: F64  # (K,) derivative of the height with respect to log t


@lean_kernel
def index_of(mean: float, n: float, level: float) -> float:
    """Return the largest q with n kl(mean, q) <= level."""
    m = min(max(mean, 0.0), 1.0)
    return min(m + rise(m, 1.0 - m, level / n, False), 1.0)


@lean_kernel
def height_of(mean: float, rest: float, y: float) -> tuple[float, float]:
    """Return the height of the largest q with kl(mean, q) <= y, and its derivative in y."""
    m = max(mean, 0.0)
    if rest <= 0.0:
        return np.inf, 0.0
    d = rise(m, rest, y, False)
    q = m + d
    if q < CREST:
        return q, q * (1.0 - q) / d if d > 0.0 else 0.0
    z = shrinkage(m, rest, y, d)
    d = -rest * math.expm1(-z)
    return CREST + TOP * (LOG_TOP - math.log(rest) + z), TOP * (m + d) / d


@lean_kernel
def margin(height: float) -> float:
    """Bound what two heights are off by, so that blocks decide as single rounds do."""
    return 4e-15 * max(height, 1.0)


@kernel
def choose(total: F64, came: I64, n: I64, t: int) -> int:
    """Return the arm of round t from sums of rewards that came, and plays (the live step)."""
    value, level = np.empty(n.shape[0]), np.log(float(t))
    for a in range(n.shape[0]):
        value[a], _ = height_of(total[a] / came[a], (came[a] - total[a]) / came[a], level / n[a])
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
    """Compute the height of arm a's index and its tangent at a level."""
    ix.level[a] = level
    ix.value[a], slope = height_of(ix.mean[a], ix.rest[a], level / ix.pulls[a])
    ix.slope[a] = slope / ix.pulls[a]


@lean_step
def cap(ix: KlIndices, a: int, level: float) -> float:
    """Bound the height of arm a at a level that is not below its own; equal there."""
    if ix.level[a] == level:
        return float(ix.value[a])
    bound = ix.value[a] + ix.slope[a] * (level - ix.level[a])
    return float(bound + margin(bound))


@lean_step
def front(ix: KlIndices, level: float) -> tuple[int, float]:
    """Return the arm with the largest height, the first of equals, and a bound of the others'."""
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
    """Bound the heights of the arms other than A up to a later level."""
    while True:
        arm, best = A, -np.inf
        for a in range(ix.value.shape[0]):
            if a != A and cap(ix, a, later) > best:
                arm, best = a, cap(ix, a, later)
        if arm == A or ix.level[arm] == level:
            return best
        solve(ix, arm, level)


@lean_step
def least_sum(q: float, p: float, n: float, level: float) -> float:
    """Return B(n): with a larger sum of n rewards the index is above q = 1 - p."""
    return n * (q - fall(q, p, level / n)) + ROUNDING * n


@lean_step
def line_of(ix: KlIndices, A: int, rival: float, k: int, level: float) -> tuple[float, float]:
    """Return floor and slope of a line; A leads for k plays while its sum is above.

    ``rival`` bounds the other heights.
    """
    n = ix.pulls[A]
    height = rival + margin(rival)
    if height == np.inf:
        # Somebody has seen nothing but 1. A leads if that is true of A as well, nobody before A has
        # (else A would not lead now), and it stays so: sums are as large as they can be.
        return (np.nextafter(n, 0.0), 1.0) if ix.value[A] == np.inf else (np.inf, 0.0)
    q, p, log_p = height, 1.0 - height, 0.0
    if height < CREST:
        log_p = math.log1p(-q)
    else:
        log_p = LOG_TOP - (height - CREST) / TOP
        p = math.exp(log_p)
        q = 1.0 - p
    if -(n + k) * log_p < level:  # not even without any success
        return -1.0, 0.0
    floor = least_sum(q, p, n, level)
    return floor, (least_sum(q, p, n + k, level) - floor) / k


@lean_step
def take_mean(state: ArmState, ix: KlIndices, a: int) -> None:
    """Bring mean and count of arm a up to date; its height has to be computed."""
    n = max(state.n[a], 1)
    ix.pulls[a] = float(n)
    ix.mean[a], ix.rest[a] = state.total[a] / n, (n - state.total[a]) / n
    ix.value[a], ix.level[a], ix.slope[a] = np.inf, -1.0, 0.0


@lean_step
def credit(state: ArmState, ix: KlIndices, a: int, k: int, total: Any) -> None:
    """Take in k plays of arm a, which bring its sum to ``total``."""
    state.total[a] = total
    state.n[a] += k
    state.clock[ROUND] += k
    take_mean(state, ix, a)


@lean_kernel
def restore_indices(state: ArmState, ix: KlIndices) -> None:
    """Set up means and counts; no height is known."""
    for a in range(state.n.shape[0]):
        take_mean(state, ix, a)


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
            floor, slope = line_of(ix, A, rival, window, level)
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
    beat the others' of the last of these rounds. (Infinite, it leads as long as it stays so.)
    """
    t, n, total = state.clock[ROUND], state.n[A], state.total[A]
    k = 2 * n
    while k >= SHORTEST_BLOCK:
        later = np.log(float(t + k + 1))
        m = mean_floor(law, A, n, k, total)
        m -= ROUNDING * m if m < 1.0 else 0.0
        lowest, _ = height_of(m, 1.0 - m, level / (n + k))
        rival = best_rival(ix, A, level, later)
        if lowest == np.inf or lowest > rival + margin(rival):
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
        floor, slope = line_of(ix, A, second, n, level)
        x = max(total - floor, 0.0)
        if x >= LOW or law.mu[A] >= 1.0:  # rewards of 1 alone never end a lead
            k = longest_block(law, A, n, x, law.mu[A] - slope)
            while k >= SHORTEST_LINE:
                later = np.log(float(t + k))
                rival = best_rival(ix, A, level, later)
                floor, slope = line_of(ix, A, rival, k, level)
                height = total - floor
                if height >= 0.5 * x:
                    k, wins = play_above(law, A, n, k, height, slope)
                    return A, k, total + wins
                k //= 2
        roof = max(LOW, 1.5 * x)
    k = min(n, WINDOW)
    later = np.log(float(t + k))
    floor, slope = line_of(ix, A, best_rival(ix, A, level, later), k, level)
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
