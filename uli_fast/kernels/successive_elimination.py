"""Successive elimination on K arms (Algorithm SE-MAB).

The survivors are played in turn; after every reward an arm is dropped whose
upper confidence bound lies below another's lower one. On coins, which most runs toss,
kernels/arms/successive_coins.py does the same faster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64
from uli_fast.formulas.successive_elimination import width
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.arms.state import (
    ROUND,
    ArmState,
    RoundRecord,
    count_active,
    least_played,
    next_stop,
    note,
    note_sweeps,
    record_of,
    state_of,
)
from uli_fast.kernels.rewards.blocks import is_gaussian
from uli_fast.kernels.rewards.laws import Law, law_of, play_one


class Bounds(NamedTuple):
    """Confidence bounds of each arm; of a batch, those of the replication at hand."""

    lower: F64  # (K,)
    upper: F64  # (K,)
    width: F64  # (2,) a count and its width: the arms of a sweep share it


@lean_step
def bound(state: ArmState, bounds: Bounds, a: int, delta: float, R: float) -> None:
    """Update the confidence bounds of arm a from its count and sum."""
    n, known = state.n[a], bounds.width
    if known[0] != n:
        known[0], known[1] = n, width(n, state.n.shape[0], delta, R)
    mean, wd = state.total[a] / n, known[1]
    bounds.lower[a] = mean - wd
    bounds.upper[a] = mean + wd


@lean_step
def extremes(active: B1, bounds: Bounds) -> tuple[float, float]:
    """Return the largest lower and the smallest upper bound of the survivors."""
    best, lowest = -np.inf, np.inf
    for a in range(active.shape[0]):
        if active[a]:
            best = max(best, bounds.lower[a])
            lowest = min(lowest, bounds.upper[a])
    return best, lowest


@lean_step
def eliminate(active: B1, bounds: Bounds, eliminated: I64, t: int) -> None:
    """Drop every arm whose upper bound lies below the best lower bound (set B_t)."""
    best, _ = extremes(active, bounds)
    for a in range(active.shape[0]):
        if active[a] and best > bounds.upper[a]:
            active[a] = False
            eliminated[a] = t


@lean_step
def take(state: ArmState, bounds: Bounds, a: int, total: float, delta: float, R: float) -> None:
    """Take in one reward of arm a, which brings its sum to ``total``."""
    state.clock[ROUND] += 1
    state.n[a] += 1
    state.total[a] = total
    state.last[a] = state.clock[ROUND]
    bound(state, bounds, a, delta, R)


@lean_kernel
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


@lean_kernel
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


@lean_kernel
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


@lean_kernel
def play_singly(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    bounds: Bounds,
    k: int,
    delta: float,
    R: float,
) -> None:
    """Play k rounds, or to the end of the sweep if that comes first.

    Each is the least played survivor, its reward and the elimination step. The least
    played survivors follow each other in index order, and somebody falls only when
    the extreme bounds have crossed: neither needs a search each round.
    """
    active, lower, upper = state.active, bounds.lower, bounds.upper
    K = active.shape[0]
    a = least_played(state.n, active)
    for b in range(K):
        if state.n[b] > 0:
            bound(state, bounds, b, delta, R)
        else:
            lower[b], upper[b] = -np.inf, np.inf
    best, lowest = extremes(active, bounds)
    while k > 0 and a < K:
        k -= 1
        stale = lower[a] == best or upper[a] == lowest
        take(state, bounds, a, play_one(law, a, state.n[a], state.total[a]), delta, R)
        if state.clock[ROUND] == next_stop(record):
            note(record, state.n, state.clock[ROUND])
        best, lowest = max(best, lower[a]), min(lowest, upper[a])
        if stale:
            best, lowest = extremes(active, bounds)
        if not lower[a] <= law.mu[a] <= upper[a]:
            state.broken[0] = True
        if best > lowest and state.clock[ROUND] > K:  # the first sweep only initialises
            eliminate(active, bounds, state.eliminated, state.clock[ROUND])
            best, lowest = extremes(active, bounds)
        a += 1
        while a < K and not active[a]:
            a += 1


@lean_kernel
def room_to_spread(state: ArmState, n: int, delta: float, R: float) -> float:
    """Return by how much the spread of the sums may surely grow, all counts being n.

    Equal counts N eliminate only if S_j - S_a > 2 N wd(N), which grows with N. In
    mid-sweep one arm is a pull ahead, which costs 1 for its reward, 1 for its longer
    denominator and 2 wd for the other width. The last terms cover the rounding of
    the test as it is played round by round.
    """
    low, high = sums_between(state)
    wd = float(width(n, state.n.shape[0], delta, R))
    return 2.0 * (n - 1) * wd - 2.0 - (high - low) - (1.0 + 1e-15 * n)


@lean_step
def sums_between(state: ArmState) -> tuple[float, float]:
    """Return the smallest and the largest sum of the survivors."""
    low, high = np.inf, -np.inf
    for a in range(state.n.shape[0]):
        if state.active[a]:
            x = float(state.total[a])
            low, high = (x if x < low else low), (x if x > high else high)
    return low, high


@lean_kernel
def safe_sweeps(law: Law, state: ArmState, n: int, delta: float, R: float) -> int:
    """Return how many sweeps surely drop nobody and, but for the last, miss no mean.

    All counts are n and rewards in [0, 1]. A sweep adds at most 1 to the spread of the sums, and a
    reward at most 1 to the distance of a sum from its expectation, n wd(n) of which are allowed;
    that grows with n. In a single sweep a mean is S / n, S / (n + 1) or (S + 1) / (n + 1): nobody
    falls while the largest and the smallest are within two widths.
    """
    K, room = state.n.shape[0], room_to_spread(state, n, delta, R)
    if room >= 2.0:  # whether or not the event has failed: paths do not depend on it
        edge = n * width(n, K, delta, R) - (1.0 + 1e-14 * n)
        for a in range(K):
            if state.active[a]:
                room = min(room, edge - abs(state.total[a] - n * law.mu[a]))
    if room >= 1.0:
        return int(room)
    low, high = sums_between(state)
    spread = max((high + 1.0) / (n + 1), high / n) - low / (n + 1)
    return int(spread < 2.0 * width(n + 1, K, delta, R) - 1e-12)


@lean_kernel
def play_sweeps(law: Law, state: ArmState, k: int, m: int, delta: float, R: float) -> None:
    """Play k whole sweeps over the m survivors without a look at any bound before their end."""
    n, total, active, t, K = state.n, state.total, state.active, state.clock[ROUND], law.mu.shape[0]
    for i in range(k):
        for a in range(K):
            if active[a]:
                total[a] = play_one(law, a, n[a] + i, total[a])
    j = 0
    for a in range(K):
        if active[a]:
            j += 1
            n[a] += k
            state.last[a] = t + (k - 1) * m + j
            mean, wd = total[a] / n[a], width(n[a], K, delta, R)
            if not mean - wd <= law.mu[a] <= mean + wd:
                state.broken[0] = True
    state.clock[ROUND] = t + k * m


@lean_kernel
def play_turn(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    bounds: Bounds,
    delta: float,
    R: float,
    most: int,
) -> None:
    """Play some rounds one by one, ``most`` at most: safe sweeps, else up to the end of one."""
    t, n, active = state.clock[ROUND], state.n, state.active
    first, final, m = -1, 0, 0
    for a in range(n.shape[0]):
        if active[a]:
            first, final, m = (a if first < 0 else first), a, m + 1
    k = 0
    if n[first] > 0 and n[first] == n[final] and not is_gaussian(law):
        k = min(safe_sweeps(law, state, n[first], delta, R), most // m)
    if k > 0:
        if t + k * m >= next_stop(record):
            note_sweeps(record, n, active, t, k, m)
        play_sweeps(law, state, k, m, delta, R)
    else:
        play_singly(law, state, record, bounds, most, delta, R)


@lean_kernel
def play_rounds(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    bounds: Bounds,
    delta: float,
    R: float,
    T: int,
    budget: int,
) -> int:
    """Play single rounds until T or until the budget is spent; return what is left of it."""
    while budget > 0 and state.clock[ROUND] < T:
        t = state.clock[ROUND]
        play_turn(law, state, record, bounds, delta, R, min(budget, T - t))
        budget -= state.clock[ROUND] - t
    return budget


@lean_kernel
def batch_rounds(
    law: Law,
    states: ArmState,
    record: RoundRecord,
    bounds: Bounds,
    delta: float,
    R: float,
    T: int,
    budget: int,
) -> bool:
    """Play single rounds of all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_rounds(
                law_of(law, r),
                state_of(states, r),
                record_of(record, r),
                bounds,
                delta,
                R,
                T,
                budget,
            )
    return bool(states.clock[-1, ROUND] == T)
