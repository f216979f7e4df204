"""Successive elimination on K arms (Algorithm SE-MAB).

The survivors are played in turn; after every reward an arm is dropped whose
upper confidence bound lies below another's lower one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64, Total
from uli_fast.kernels._jit import kernel, step
from uli_fast.kernels.arms.event import EventWatch, Span, is_watched, leaves, may_leave, watch_alone
from uli_fast.kernels.arms.state import (
    ROUND,
    ArmState,
    RoundRecord,
    count_active,
    least_played,
    next_stop,
    note,
    note_sweeps,
    play_out,
)
from uli_fast.kernels.arms.successive_width import Band, width
from uli_fast.kernels.rewards.blocks import (
    BLOCK_FAILURE,
    SHORTEST_SWEEPS,
    draw_sweeps,
    is_gaussian,
    plan_sweeps,
    swing,
)
from uli_fast.kernels.rewards.laws import Law, play_one

# Blocks start at this many pulls per arm.
FIRST_BLOCK = 32


class Bounds(NamedTuple):
    """Confidence bounds of each arm."""

    lower: F64  # (K,)
    upper: F64  # (K,)
    width: F64  # (2,) a count and its width: the arms of a sweep share it


@step
def bound(state: ArmState, bounds: Bounds, a: int, delta: float, R: float) -> None:
    """Update the confidence bounds of arm a from its count and sum."""
    n, known = state.n[a], bounds.width
    if known[0] != n:
        known[0], known[1] = n, width(n, state.n.shape[0], delta, R)
    mean, wd = state.total[a] / n, known[1]
    bounds.lower[a] = mean - wd
    bounds.upper[a] = mean + wd


@step
def extremes(active: B1, bounds: Bounds) -> tuple[float, float]:
    """Return the largest lower and the smallest upper bound of the survivors."""
    best, lowest = -np.inf, np.inf
    for a in range(active.shape[0]):
        if active[a]:
            best = max(best, bounds.lower[a])
            lowest = min(lowest, bounds.upper[a])
    return best, lowest


@step
def eliminate(active: B1, bounds: Bounds, eliminated: I64, t: int) -> None:
    """Drop every arm whose upper bound lies below the best lower bound (set B_t)."""
    best, _ = extremes(active, bounds)
    for a in range(active.shape[0]):
        if active[a] and best > bounds.upper[a]:
            active[a] = False
            eliminated[a] = t


@step
def take(state: ArmState, bounds: Bounds, a: int, total: float, delta: float, R: float) -> None:
    """Take in one reward of arm a, which brings its sum to ``total``."""
    state.clock[ROUND] += 1
    state.n[a] += 1
    state.total[a] = total
    state.last[a] = state.clock[ROUND]
    bound(state, bounds, a, delta, R)


@kernel
def absorb(
    state: ArmState,
    bounds: Bounds,
    known: F64,
    a: int,
    total: float,
    missing: int,
    delta: float,
    R: float,
) -> None:
    """Take in one play of arm a and make the elimination step (the live step).

    The rewards of ``missing`` of its plays are not known. They are in [0, 1], so the sum of all
    is in [total, total + missing]: the event of the proof keeps the best arm as before. Its
    intervals hold at all rounds at once: ``known`` (2, K) is what they have in common.
    """
    take(state, bounds, a, total, delta, R)
    bounds.upper[a] += missing / state.n[a]
    known[0, a] = max(known[0, a], bounds.lower[a])
    known[1, a] = min(known[1, a], bounds.upper[a])
    if state.clock[ROUND] > state.n.shape[0]:  # the first sweep only initialises
        eliminate(state.active, bounds, state.eliminated, state.clock[ROUND])


@kernel
def absorb_rows(
    state: ArmState, bounds: Bounds, known: F64, arms: I64, rewards: F64, delta: float, R: float
) -> bool:
    """Take in rewards of any arms in their order; say whether each arm was the one to play."""
    asked = True
    for i in range(arms.shape[0]):
        a = arms[i]
        asked = asked and a == least_played(state.n, state.active)
        if state.active[a]:
            absorb(state, bounds, known, a, state.total[a] + rewards[i], 0, delta, R)
    return asked


@kernel
def absorb_log(
    state: ArmState,
    bounds: Bounds,
    known: F64,
    lost: I64,
    arms: I64,
    rewards: F64,
    delta: float,
    R: float,
) -> int:
    """Take in rows of a log until one of them drops somebody; return how many there were.

    NaN is a missing reward; ``lost`` counts them.
    """
    left = count_active(state.active)
    for i in range(arms.shape[0]):
        a = arms[i]
        if not state.active[a]:
            continue
        total = state.total[a]
        if np.isnan(rewards[i]):
            lost[a] += 1
        else:
            total += rewards[i]
        absorb(state, bounds, known, a, total, lost[a], delta, R)
        if count_active(state.active) < left:
            return i + 1
    return int(arms.shape[0])


@kernel
def play_singly(
    law: Law, state: ArmState, bounds: Bounds, k: int, sweep: bool, delta: float, R: float
) -> None:
    """Play k rounds, or with ``sweep`` only to the end of the sweep if that comes first.

    Each is the least played survivor, its reward and the elimination step. The least
    played survivors follow each other in index order, and somebody falls only when
    the extreme bounds have crossed: neither needs a search each round.
    """
    active, lower, upper = state.active, bounds.lower, bounds.upper
    K = active.shape[0]
    a = least_played(state.n, active)
    best, lowest = extremes(active, bounds)
    for _ in range(k):
        stale = lower[a] == best or upper[a] == lowest
        take(state, bounds, a, play_one(law, a, state.n[a], state.total[a]), delta, R)
        best, lowest = max(best, lower[a]), min(lowest, upper[a])
        if stale:
            best, lowest = extremes(active, bounds)
        if not lower[a] <= law.mu[a] <= upper[a]:
            state.broken[0] = True
        if best > lowest and state.clock[ROUND] > K:  # the first sweep only initialises
            eliminate(active, bounds, state.eliminated, state.clock[ROUND])
            best, lowest = extremes(active, bounds)
        played = a
        a = (a + 1) % K
        while not active[a]:
            a = (a + 1) % K
        if sweep and a <= played:
            break


@kernel
def fill_bounds(state: ArmState, bounds: Bounds, delta: float, R: float) -> None:
    """Write the bounds of all arms played so far into ``bounds``.

    For players: a tuple of arrays that Python allocates. One that a kernel returns is made into
    Python objects after it, and an interrupt (Ctrl-C) in the middle of that ends the process.
    """
    for a in range(state.n.shape[0]):
        if state.n[a] > 0:
            bound(state, bounds, a, delta, R)


@kernel
def restore_bounds(state: ArmState, delta: float, R: float) -> Bounds:
    """Recompute the bounds of all arms played so far."""
    K = state.n.shape[0]
    bounds = Bounds(np.full(K, -np.inf), np.full(K, np.inf), np.zeros(2))
    fill_bounds(state, bounds, delta, R)
    return bounds


@kernel
def play_rounds(
    law: Law, state: ArmState, record: RoundRecord, delta: float, R: float, T: int, budget: int
) -> bool:
    """Play single rounds until T or until the budget is spent; say whether T is reached."""
    bounds = restore_bounds(state, delta, R)
    while budget > 0 and state.clock[ROUND] < T:
        k = min(budget, next_stop(record) - state.clock[ROUND])
        play_singly(law, state, bounds, k, False, delta, R)
        budget -= k
        note(record, state.n, state.clock[ROUND])
    return bool(state.clock[ROUND] == T)


@step
def room_to_spread(state: ArmState, n: int, delta: float, R: float) -> float:
    """Return by how much the spread of the sums may surely grow, all counts being n.

    Equal counts N eliminate only if S_j - S_a > 2 N wd(N), which grows with N. In
    mid-sweep one arm is a pull ahead, which costs 1 for its reward, 1 for its longer
    denominator and 2 wd for the other width. The last terms cover the rounding of
    the test as it is played round by round.
    """
    high, low = -np.inf, np.inf
    for a in range(state.n.shape[0]):
        if state.active[a]:
            high = max(high, float(state.total[a]))
            low = min(low, float(state.total[a]))
    wd = width(n, state.n.shape[0], delta, R)
    return 2.0 * (n - 1) * wd - 2.0 - (high - low) - (1.0 + 1e-15 * n)


@step
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


@step
def sweep_block(
    law: Law,
    state: ArmState,
    bounds: Bounds,
    watch: EventWatch,
    before: Total,
    k: int,
    T: int,
    delta: float,
    R: float,
) -> None:
    """Count k whole sweeps, drawn already, and watch the event in them."""
    t, K, active = state.clock[ROUND], state.n.shape[0], state.active
    m, n = count_active(active), state.n[least_played(state.n, active)]
    wd, near = width(n + k, K, delta, R), n * width(n, K, delta, R)
    span = Span(n, k, n + k, near, (n + k) * wd)
    watched = not state.broken[0] and may_leave(law, active, span, before, state.total)
    i = 0
    for a in range(K):
        if active[a]:
            state.n[a], total = n + k, state.total[a]
            bounds.lower[a], bounds.upper[a] = total / (n + k) - wd, total / (n + k) + wd
            turns = k
            if t + k * m > T:  # those within the horizon
                turns = (T - t + m - 1 - i) // m
            elif not bounds.lower[a] <= law.mu[a] <= bounds.upper[a]:
                state.broken[0] = True
            if turns > 0:
                state.last[a] = t + (turns - 1) * m + i + 1
            if watched and not state.broken[0]:
                band, part = Band(law.mu[a], K, delta, R), Span(n, k, n + turns, near, span.far)
                state.broken[0] = leaves(law, watch, a, band, part, before[a], total)
            i += 1
    state.clock[ROUND] = t + k * m


@step
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


@kernel
def play_skipping(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    watch: EventWatch,
    delta: float,
    R: float,
    T: int,
    budget: int,
) -> bool:
    """Play blocks of sweeps where nobody can fall, single rounds elsewhere.

    It comes back early where a block was put off, for ``some_leave``.
    """
    first_rounds = min(T, FIRST_BLOCK * state.n.shape[0])
    if state.clock[ROUND] < first_rounds:
        play_rounds(law, state, record, delta, R, first_rounds, first_rounds)
    bounds = restore_bounds(state, delta, R)
    n, active, before = state.n, state.active, state.total.copy()
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
        k, room = 0, np.inf
        if n[first] == n[final]:  # between two sweeps
            if is_gaussian(law):
                k = certified_sweeps(law, state, n[first], delta, R)
            else:
                room = room_to_spread(state, n[first], delta, R)
                k = plan_sweeps(law, active, n[first], room)
        for a in range(n.shape[0]):
            before[a] = state.total[a]
        if k < SHORTEST_SWEEPS or not draw_sweeps(law, active, n[first], state.total, k, room):
            left = next_stop(record) - state.clock[ROUND]
            play_singly(law, state, bounds, left, True, delta, R)
            note(record, state.n, state.clock[ROUND])
            continue
        m = count_active(active)
        if state.clock[ROUND] + k * m >= next_stop(record):
            note_sweeps(record, n, active, state.clock[ROUND], k, m)
        sweep_block(law, state, bounds, watch, before, k, T, delta, R)
        if is_gaussian(law):
            state.tv[0] += m * BLOCK_FAILURE
    return bool(state.clock[ROUND] >= T)
