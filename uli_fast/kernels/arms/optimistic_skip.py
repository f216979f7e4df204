"""Skipping rounds in which an optimistic learner plays one arm.

Real rewards are drawn in blocks that no rewards, or hardly any Gaussian ones, can end
early (kernels/rewards/blocks.py). Bernoulli rewards are followed along a straight line above
which the arm leads (kernels/rewards/above_line.py): one by one near it, in blocks further away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.arms.optimism import (
    Indices,
    best_rival,
    confidence,
    credit,
    leader,
    line_of,
    margin,
    moves,
    play_first,
    play_singly,
    radius,
    refresh,
    restore_indices,
    two_best,
)
from uli_fast.kernels.arms.state import (
    ROUND,
    ArmState,
    RoundRecord,
    next_stop,
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
from uli_fast.kernels.rewards.blocks import BLOCK_FAILURE, is_gaussian, mean_floor
from uli_fast.kernels.rewards.laws import Law, RealLaw, law_of, total_after

# Real rewards: blocks start at this many pulls of the leader and are worth at least this
# many rounds; where none is safe, this many rounds are played before the next attempt.
FIRST_BLOCK, SHORTEST_BLOCK, SINGLE_ROUNDS = 32, 8, 64
# Bernoulli rewards: lines are drawn again after this many single rounds. Blocks start
# at this many rewards above a line and are worth at least this many rounds.
WINDOW, LOW, SHORTEST_LINE = 128, 12.0, 32


@lean_step
def safe_plays(rule: Any, law: RealLaw, state: ArmState, indices: Indices, A: int) -> int:
    """Return how many plays in a row the leader A surely gets.

    A k is accepted if A's lowest possible mean, with the smallest bonus
    that it meets on the way, beats the others' bonus at the last of the rounds;
    the first guess comes from the gap of the indices, then k is halved.
    """
    t, n, total = state.clock[ROUND], state.n[A], state.total[A]
    value = indices.value
    second = -np.inf
    for a in range(value.shape[0]):
        if a != A and value[a] > second:
            second = value[a]
    mean, bonus = indices.mean[A], value[A] - indices.mean[A]
    share = 2.0  # of n plays
    for k in (n, int(n * share)):  # the floor falls by mean - mean_floor over k plays
        if k >= SHORTEST_BLOCK:
            fall = max(mean - mean_floor(law, A, n, k, total), 0.0) * (n + k) / k
            share = min(share, 0.95 * (value[A] - second) / (fall + 0.5 * bonus))
    k = int(n * share)
    level = confidence(rule, t + 1)
    while k >= SHORTEST_BLOCK:
        floor = mean_floor(law, A, n, k, total) + radius(rule, level, float(n + k))
        if floor > second + margin(second):  # spares the rivals' indices where it must fail
            rival = best_rival(rule, indices, A, t + k + 1)
            if floor > rival + margin(rival):
                return k
        k //= 2
    return k


@lean_step
def follow_line(rule: Any, law: Any, state: ArmState, indices: Indices) -> tuple[int, int, Any]:
    """Play the leader for a while; return it, the plays made and its new sum."""
    t = state.clock[ROUND]
    refresh(rule, indices, t + 1)
    A, second = two_best(indices.value)
    n, total = state.n[A], state.total[A]
    fresh = is_fresh(law, A, n)
    roof = LOW
    if fresh:
        x, bonus = n * (indices.value[A] - second), indices.value[A] - indices.mean[A]
        if x >= LOW:
            k = longest_block(law, A, n, x, law.mu[A] - second + 0.5 * bonus)
            while k >= SHORTEST_LINE:
                rival = best_rival(rule, indices, A, t + k) if moves(rule) else second
                floor, slope = line_of(indices, A, rival, k)
                height = total - floor
                if height >= 0.5 * x:
                    k, wins = play_above(law, A, n, k, height, slope)
                    return A, k, total + wins
                k //= 2
        roof = max(LOW, 1.5 * x)
    k = min(n, WINDOW)
    rival = best_rival(rule, indices, A, t + k) if moves(rule) else second
    floor, slope = line_of(indices, A, rival, k)
    low = floor - total
    if fresh:
        k, wins = walk_fresh(law, A, k, low, low + roof, slope)
    else:
        k, wins = walk(law, A, n, k, low, slope)
    return A, k, total + wins


@lean_kernel
def play_skipping(
    rule: Any,
    law: RealLaw,
    state: ArmState,
    indices: Indices,
    record: RoundRecord,
    T: int,
    budget: int,
) -> int:
    """Play real rewards in blocks in which the leader stays ahead, else one by one."""
    if state.n.shape[0] == 1:
        play_out(state, record, state.n.shape[0] - 1, T)  # a literal 0 would be compiled apart
    restore_indices(rule, state, indices)
    play_first(rule, law, state, indices, record, T)
    while budget > 0 and state.clock[ROUND] < T:
        budget -= 1
        t = state.clock[ROUND]
        refresh(rule, indices, t + 1)
        A = leader(indices.value)
        k = safe_plays(rule, law, state, indices, A) if state.n[A] >= FIRST_BLOCK else 0
        if k < SHORTEST_BLOCK:
            play_singly(rule, law, state, indices, record, min(SINGLE_ROUNDS, T - t))
            budget -= SINGLE_ROUNDS // 16  # a block costs about as much as 16 rounds
            continue
        if is_gaussian(law):
            state.tv[0] += BLOCK_FAILURE
        total = total_after(law, A, state.n[A], k, state.total[A])
        if t + k >= next_stop(record):
            note_run(record, state.n, A, t, k)
        credit(rule, state, indices, A, k, total)
        state.last[A] = min(t + k, T)
    return budget


@lean_kernel
def play_lines(
    rule: Any,
    law: Law,
    state: ArmState,
    indices: Indices,
    record: RoundRecord,
    T: int,
    budget: int,
) -> int:
    """Play Bernoulli rewards along lines, in blocks where these are far away."""
    if state.n.shape[0] == 1:
        play_out(state, record, state.n.shape[0] - 1, T)  # a literal 0 would be compiled apart
    restore_indices(rule, state, indices)
    play_first(rule, law, state, indices, record, T)
    while budget > 0 and state.clock[ROUND] < T:
        budget -= 1
        t = state.clock[ROUND]
        A, k, total = follow_line(rule, law, state, indices)
        if t + k >= next_stop(record):
            note_run(record, state.n, A, t, k)
        credit(rule, state, indices, A, k, total)
        state.last[A] = min(t + k, T)
    return budget


@lean_kernel
def batch_skipping(
    rule: Any,
    law: Any,
    states: ArmState,
    indices: Indices,
    record: RoundRecord,
    T: int,
    budget: int,
) -> bool:
    """Skip through real rewards of all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_skipping(
                rule, law_of(law, r), state_of(states, r), indices, record_of(record, r), T, budget
            )
    return bool(states.clock[-1, ROUND] >= T)


@lean_kernel
def batch_lines(
    rule: Any,
    law: Law,
    states: ArmState,
    indices: Indices,
    record: RoundRecord,
    T: int,
    budget: int,
) -> bool:
    """Follow lines in all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_lines(
                rule, law_of(law, r), state_of(states, r), indices, record_of(record, r), T, budget
            )
    return bool(states.clock[-1, ROUND] >= T)
