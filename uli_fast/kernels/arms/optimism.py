"""Optimistic learners: play the arm with the largest index (Eq. select_arm_opt_alg).

The index of arm a at round t is its sample mean plus a bonus that falls with its
count and never with t. A rule is a NamedTuple; kernels/ucb.py and
kernels/lil_ucb.py give its ``confidence`` (the part of the bonus that knows t),
its ``radius`` and whether its indices ``move`` with t. Ties go to the smallest
index.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import kernel, lean_kernel, lean_step
from uli_fast.kernels.arms.state import (
    ROUND,
    ArmState,
    RoundRecord,
    next_stop,
    note,
    record_of,
    state_of,
)
from uli_fast.kernels.rewards.laws import Law, law_of, play_one

# While one arm leads, up to this many rounds are played on one pair of bounds.
SHORT_STRETCH, LONGEST_STRETCH = 16, 1024


class Indices(NamedTuple):
    """Sample means, counts and indices of all arms."""

    mean: F64  # (K,)
    pulls: F64  # (K,) as floats: int64 to float64 does not vectorise
    value: F64  # (K,) indices at the round last refreshed


def confidence(rule: Any, t: int) -> float:
    """Return what a bonus at round t owes to the round (compiled code only)."""
    raise TypeError("confidence is called from compiled kernels only")


def radius(rule: Any, level: float, n: float) -> float:
    """Return the bonus of n pulls at a confidence level (compiled code only)."""
    raise TypeError("radius is called from compiled kernels only")


def moves(rule: Any) -> bool:
    """Say whether indices change with the round (compiled code only)."""
    raise TypeError("moves is called from compiled kernels only")


@lean_step
def refresh(rule: Any, indices: Indices, t: int) -> None:
    """Bring all indices to round t."""
    if moves(rule):
        mean, pulls, value = indices.mean, indices.pulls, indices.value
        level = confidence(rule, t)
        for a in range(value.shape[0]):
            value[a] = mean[a] + radius(rule, level, pulls[a])


@lean_kernel
def leader(value: F64) -> int:
    """Return the arm with the largest index, the smallest among equals."""
    arm = 0
    best = value[0]
    for a in range(1, value.shape[0]):
        if value[a] > best:
            best = value[a]
            arm = a
    return arm


@lean_step
def two_best(value: F64) -> tuple[int, float]:
    """Return the leader, as ``leader`` does, and the largest index of the others."""
    arm, best, second = 0, value[0], -np.inf
    for a in range(1, value.shape[0]):
        index = value[a]
        if index > best:
            arm, best, second = a, index, best
        elif index > second:
            second = index
    return arm, second


@lean_step
def best_rival(rule: Any, indices: Indices, A: int, t: int) -> float:
    """Return the largest index at round t of the arms other than A."""
    mean, pulls, value = indices.mean, indices.pulls, indices.value
    level = confidence(rule, t)
    best = -np.inf
    for a in range(value.shape[0]):
        if a != A:
            index = mean[a] + radius(rule, level, pulls[a]) if moves(rule) else value[a]
            if index > best:
                best = index
    return best


@kernel
def choose(rule: Any, total: F64, came: I64, n: I64, t: int) -> int:
    """Return the arm of round t from sums of rewards that came, and plays (the live step)."""
    return leader(total / came + radii(rule, n, t))


@kernel
def radii(rule: Any, n: I64, t: int) -> F64:
    """Return the bonus of every arm at round t, infinite for unplayed ones."""
    result = np.full(n.shape[0], np.inf)
    level = confidence(rule, t)
    for a in range(n.shape[0]):
        if n[a] > 0:
            result[a] = radius(rule, level, float(n[a]))
    return result


@lean_step
def update(rule: Any, state: ArmState, indices: Indices, a: int) -> None:
    """Bring mean, count and index of arm a up to date for the next round."""
    mean, count = state.total[a] / state.n[a], float(state.n[a])
    indices.mean[a] = mean
    indices.pulls[a] = count
    if not moves(rule):
        indices.value[a] = mean + radius(rule, confidence(rule, 1), count)


@lean_kernel
def restore_indices(rule: Any, state: ArmState, indices: Indices) -> None:
    """Recompute means, counts and indices of all arms played so far."""
    for a in range(state.n.shape[0]):
        if state.n[a] > 0:
            update(rule, state, indices, a)


@lean_step
def credit(rule: Any, state: ArmState, indices: Indices, a: int, k: int, total: Any) -> None:
    """Take in k plays of arm a, which bring its sum to ``total``."""
    state.total[a] = total
    state.n[a] += k
    state.clock[ROUND] += k
    update(rule, state, indices, a)


@lean_step
def margin(index: float) -> float:
    """Bound the rounding of two indices, so that blocks decide as single rounds do."""
    return 4e-15 * (1.0 + abs(index))


@lean_kernel
def play_first(
    rule: Any, law: Law, state: ArmState, indices: Indices, record: RoundRecord, T: int
) -> None:
    """Play each arm once (rounds 1..K)."""
    while state.clock[ROUND] < min(T, state.n.shape[0]):
        a, n = state.clock[ROUND], state.n[state.clock[ROUND]]  # none: a literal is compiled apart
        credit(rule, state, indices, a, n + 1, play_one(law, a, n, state.total[a]))
        state.last[a] = a + 1
        note(record, state.n, a + 1)


@lean_step
def stretch(law: Law, n: int, total: Any, a: int, k: int, floor: float, slope: float) -> Any:
    """Play arm a up to k times, stopping once its sum is not above a line.

    Returns the count and the sum. Above the line arm a leads (``line_of``), so every play
    here is the one that a comparison of all indices would choose.
    """
    for i in range(1, k + 1):
        total = play_one(law, a, n + i - 1, total)
        if total <= floor + slope * i:
            return n + i, total
    return n + k, total


@lean_step
def line_of(indices: Indices, A: int, rival: float, k: int) -> tuple[float, float]:
    """Return floor and slope of a line; A leads for k plays while its sum is above.

    ``rival`` bounds the other indices. A leads while its sum exceeds
    B(n) = n (rival - radius(n)). radius(n) sqrt(n) never falls, neither with n nor with t,
    so that B(n) <= n rival - radius(n0) sqrt(n0 n), from n0 on. That is convex: it lies
    below its chord over k plays.
    """
    n = indices.pulls[A]
    bonus, c = indices.value[A] - indices.mean[A], rival + margin(rival)
    return n * (c - bonus), c - bonus * (np.sqrt(n * (n + k)) - n) / k


@lean_step
def play_singly(
    rule: Any, law: Law, state: ArmState, indices: Indices, record: RoundRecord, k: int
) -> None:
    """Play k single rounds."""
    end = state.clock[ROUND] + k
    longest = 1
    while state.clock[ROUND] < end:
        t = state.clock[ROUND]
        refresh(rule, indices, t + 1)
        A, rival = two_best(indices.value)
        n = state.n[A]
        window = min(longest, next_stop(record) - t, end - t)
        if window > 1:
            if moves(rule):
                rival = best_rival(rule, indices, A, t + window)
            floor, slope = line_of(indices, A, rival, window)
            after, total = stretch(law, n, state.total[A], A, window, floor, slope)
            played = after - n
        else:
            total = play_one(law, A, n, state.total[A])
            played = 1
        credit(rule, state, indices, A, played, total)
        longest = min(2 * longest, LONGEST_STRETCH) if played == window else SHORT_STRETCH
        state.last[A] = t + played
        if t + played == next_stop(record):
            note(record, state.n, t + played)


@lean_kernel
def play_rounds(
    rule: Any,
    law: Law,
    state: ArmState,
    indices: Indices,
    record: RoundRecord,
    T: int,
    budget: int,
) -> int:
    """Play single rounds until T or until the budget is spent; return what is left of it."""
    restore_indices(rule, state, indices)
    play_first(rule, law, state, indices, record, T)
    k = min(budget, T - state.clock[ROUND])
    play_singly(rule, law, state, indices, record, k)
    return int(budget - k)


@lean_kernel
def batch_rounds(
    rule: Any,
    law: Law,
    states: ArmState,
    indices: Indices,
    record: RoundRecord,
    T: int,
    budget: int,
) -> bool:
    """Play single rounds of all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_rounds(
                rule, law_of(law, r), state_of(states, r), indices, record_of(record, r), T, budget
            )
    return bool(states.clock[-1, ROUND] == T)
