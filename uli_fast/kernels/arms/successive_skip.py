"""Skipping rounds of successive elimination: blocks of sweeps in which nobody can fall.

A block is drawn as sums (kernels/rewards/blocks.py), exactly in law. Whether an interval missed its
mean inside it is decided apart (kernels/arms/event.py). Coins, unless some of them are known
beforehand, are skipped by kernels/arms/successive_blocks.py.
"""

from __future__ import annotations

import numpy as np

from uli_fast.formulas.successive_elimination import width
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.arms.event import (
    EventWatch,
    Span,
    is_watched,
    leaves,
    watch_alone,
    watch_of,
)
from uli_fast.kernels.arms.state import (
    ROUND,
    ArmState,
    RoundRecord,
    count_active,
    least_played,
    next_stop,
    note_sweeps,
    play_out,
    record_of,
    state_of,
)
from uli_fast.kernels.arms.successive_width import Band
from uli_fast.kernels.rewards.blocks import (
    BLOCK_FAILURE,
    SHORTEST_SWEEPS,
    draw_sweeps,
    is_gaussian,
    plan_sweeps,
    shortest_sweeps,
    swing,
)
from uli_fast.kernels.rewards.laws import Law, law_of
from uli_fast.kernels.successive_elimination import (
    Bounds,
    play_rounds,
    play_turn,
    room_to_spread,
)

# Blocks start at this many pulls per arm.
FIRST_BLOCK = 32


@lean_step
def certified_sweeps(law: Law, state: ArmState, n: int, delta: float, R: float) -> int:
    """Return how many sweeps eliminate nobody, failing with BLOCK_FAILURE per arm.

    During k sweeps a sample mean stays within swing/n of the way from its value
    now to its expected last one; no arm falls while all stay within 2 wd(n+k).
    """
    K = state.n.shape[0]
    k = n
    while k >= SHORTEST_SWEEPS:
        high, low = -np.inf, np.inf
        for a in range(K):
            if state.active[a]:
                now, then = state.total[a] / n, (state.total[a] + k * law.mu[a]) / (n + k)
                noise = swing(law, a, k) / n
                high = max(high, max(now, then) + noise)
                low = min(low, min(now, then) - noise)
        if high - low + 1e-14 * (1.0 + abs(high)) < 2.0 * width(n + k, K, delta, R):
            return k
        k //= 2
    return k


@lean_step
def sweep_block(
    law: Law,
    state: ArmState,
    watch: EventWatch,
    k: int,
    T: int,
    delta: float,
    R: float,
) -> None:
    """Count k whole sweeps, drawn already, and watch the event in them."""
    t, K, active, before = state.clock[ROUND], state.n.shape[0], state.active, watch.before
    m, n = count_active(active), state.n[least_played(state.n, active)]
    wd, near = width(n + k, K, delta, R), n * width(n, K, delta, R)
    span = Span(n, k, n + k, near, (n + k) * wd)
    watched = is_watched(law) and not state.broken[0]
    i = 0
    for a in range(K):
        if active[a]:
            state.n[a], total = n + k, state.total[a]
            turns, mean = k, total / (n + k)
            if t + k * m > T:  # those within the horizon
                turns = (T - t + m - 1 - i) // m
            elif not mean - wd <= law.mu[a] <= mean + wd:
                state.broken[0] = True
            if turns > 0:
                state.last[a] = t + (turns - 1) * m + i + 1
            if watched and not state.broken[0]:
                band, part = Band(law.mu[a], K, delta, R), Span(n, k, n + turns, near, span.far)
                state.broken[0] = leaves(law, watch, a, band, part, before[a], total)
            i += 1
    state.clock[ROUND] = t + k * m


@lean_step
def play_alone(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    watch: EventWatch,
    a: int,
    T: int,
    delta: float,
    R: float,
) -> None:
    """Play the last arm to the horizon and watch its intervals."""
    if is_watched(law) and not state.broken[0]:
        watch_alone(law, watch, state, a, Band(law.mu[a], state.n.shape[0], delta, R), T)
    play_out(state, record, a, T)


@lean_kernel
def play_skipping(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    bounds: Bounds,
    watch: EventWatch,
    delta: float,
    R: float,
    T: int,
    budget: int,
) -> int:
    """Play blocks of sweeps where nobody can fall, single rounds elsewhere.

    It returns what is left of the budget, and comes back early where a block was put off, for
    ``some_leave``.
    """
    first_rounds = min(T, FIRST_BLOCK * state.n.shape[0])
    if state.clock[ROUND] < first_rounds:
        budget -= 1 + (first_rounds - state.clock[ROUND]) // 16  # a step takes as long as 16 rounds
        play_rounds(law, state, record, bounds, delta, R, first_rounds, first_rounds)
    n, active, before = state.n, state.active, watch.before
    while budget > 0 and state.clock[ROUND] < T and watch.words[1] == 0:
        budget -= 1
        first = 0
        while not active[first]:
            first += 1
        final = n.shape[0] - 1
        while not active[final]:
            final -= 1
        if first == final:
            play_alone(law, state, record, watch, first, T, delta, R)
            break
        k, growth = 0, np.inf
        if n[first] == n[final]:  # between two sweeps
            if is_gaussian(law):
                k = certified_sweeps(law, state, n[first], delta, R)
            else:
                growth = room_to_spread(state, n[first], delta, R)
                k = plan_sweeps(law, active, n[first], growth)
        for a in range(n.shape[0]):
            before[a] = state.total[a]
        if k < shortest_sweeps(law) or not draw_sweeps(
            law, active, n[first], state.total, k, growth
        ):
            play_turn(law, state, record, bounds, delta, R, T - state.clock[ROUND])
            continue
        m = count_active(active)
        if state.clock[ROUND] + k * m >= next_stop(record):
            note_sweeps(record, n, active, state.clock[ROUND], k, m)
        sweep_block(law, state, watch, k, T, delta, R)
        if is_gaussian(law):
            state.tv[0] += m * BLOCK_FAILURE
    return budget


@lean_kernel
def batch_skipping(
    law: Law,
    states: ArmState,
    record: RoundRecord,
    bounds: Bounds,
    watches: EventWatch,
    delta: float,
    R: float,
    T: int,
    budget: int,
) -> bool:
    """Skip through all replications in turn; say whether all have reached T.

    Those with blocks put off are left where they are, for ``some_leave``.
    """
    done = True
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_skipping(
                law_of(law, r),
                state_of(states, r),
                record_of(record, r),
                bounds,
                watch_of(watches, r),
                delta,
                R,
                T,
                budget,
            )
        done = done and states.clock[r, ROUND] >= T
    return done
