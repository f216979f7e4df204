"""Successive elimination on coins, sweep by sweep.

The survivors stand packed in ``Coins.room``. Nearly all sweeps are nothing but tosses:

- k sweeps surely drop nobody if the sums, whose spread is s, satisfy s + k < (n + 1) 2 wd(n + 1):
  in a sweep a mean is S / n, S / (n + 1) or (S + 1) / (n + 1), and n wd(n) grows with n;
- else a sweep is tossed first and looked at afterwards: the extreme bounds of all its rounds are
  those of the sums before it and after it. If they have crossed, it is taken back and played
  round by round.

Each draws a uniform for a round: a path does not depend on which of them was chosen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64, U64
from uli_fast.formulas.successive_elimination import width_at
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.rewards.blocks import SHORTEST_SWEEPS, SHORTEST_TOSSES, likely_sweeps

# Blocks are planned from this many sweeps on, and then after every STRIDE sweeps of coins.
FIRST_BLOCK, STRIDE = 128, 64

# An arm that is left alone is tossed up to this many plays; longer stretches are drawn at once.
FEW = 1024

# Sweeps, where nothing can happen in more.
MOST = 1e18

# Rows of Coins.room: arms, thresholds of 53 random bits, sums, and sums before a sweep or block.
ARM, CHANCE, SUM, BEFORE = 0, 1, 2, 3


class Coins(NamedTuple):
    """What a batch tosses, how wide intervals are, and room for the survivors of a replication."""

    mu: F64  # (K,)
    words: U64  # (M, 4) streams
    urn: I64  # (M, 2, K) pulls and successes of a refused block, revealed one by one
    room: I64  # (4, K) survivors in index order
    bounds: F64  # (2, K) their lower and upper ones
    delta: float
    level: float  # log(4 K / delta)
    R: float
    caution: float  # as in BernoulliBlocks; 0 where every round is drawn


@lean_kernel
def pack(room: I64, mu: F64, active: B1, total: I64, r: int) -> int:
    """Bring the survivors together; return how many there are."""
    m = 0
    for a in range(mu.shape[0]):
        if active[r, a]:
            room[ARM, m], room[SUM, m] = a, total[r, a]
            room[CHANCE, m] = np.int64(np.ceil(mu[a] * 2.0**53))
            m += 1
    return m


@lean_kernel
def unpack(room: I64, states: ArmState, r: int, m: int, n: int, t: int) -> None:
    """Write down that each survivor has been played n times by round t, the end of a sweep."""
    if states.clock[r, ROUND] == t:
        return
    for j in range(m):
        a = room[ARM, j]
        states.n[r, a], states.total[r, a] = n, room[SUM, j]
        states.last[r, a] = t - m + j + 1
    states.clock[r, ROUND] = t


@lean_kernel
def toss(words: U64, r: int, room: I64, m: int, k: int) -> None:
    """Toss k sweeps of stream r; a coin is won if ``uniform`` is below its mean.

    The words of xoshiro256++ stay in registers meanwhile: stores to sums might change an array.
    """
    a, b, c, d = words[r, 0], words[r, 1], words[r, 2], words[r, 3]
    for _ in range(k):
        for j in range(m):
            total, shifted = a + d, b << np.uint64(17)
            drawn = ((total << np.uint64(23)) | (total >> np.uint64(41))) + a
            c ^= a
            d ^= b
            b ^= c
            a ^= d
            c ^= shifted
            d = (d << np.uint64(45)) | (d >> np.uint64(19))
            room[SUM, j] += np.int64(drawn >> np.uint64(11)) < room[CHANCE, j]
    words[r, 0], words[r, 1], words[r, 2], words[r, 3] = a, b, c, d


@lean_kernel
def between(room: I64, m: int) -> tuple[int, int]:
    """Return the smallest and the largest sum of the survivors."""
    low = high = room[SUM, 0]
    for j in range(1, m):
        low, high = min(low, room[SUM, j]), max(high, room[SUM, j])
    return low, high


@lean_kernel
def room_to_spread(room: I64, m: int, n: int, level: float, R: float) -> float:
    """Return by how much the sums of n plays may spread before a sweep in which nobody falls.

    The last terms cover the rounding of the test as it is made round by round.
    """
    low, high = between(room, m)
    wd = float(width_at(n + 1, level, R))
    return min((n + 1) * (2.0 * wd - 1e-12) - (high - low) - (1.0 + 1e-9), MOST)


@lean_kernel
def sweeps_within(room: I64, mu: F64, m: int, n: int, level: float, R: float) -> int:
    """Return in how many sweeps surely no interval misses its mean."""
    if n == 0:
        return 0
    far = 0.0
    for j in range(m):
        far = max(far, abs(room[SUM, j] - n * mu[room[ARM, j]]))
    edge = n * width_at(n, level, R)
    return int(min(edge - far - (1e-9 + 1e-14 * n), MOST))


@lean_kernel
def some_missed(room: I64, mu: F64, m: int, n: int, level: float, R: float) -> bool:
    """Say whether an interval misses its mean after n plays of each survivor."""
    wd, found = width_at(n, level, R), False
    for j in range(m):
        mean = room[SUM, j] / n
        found = found or not mean - wd <= mu[room[ARM, j]] <= mean + wd
    return found


@lean_kernel
def plan(room: I64, mu: F64, m: int, n: int, growth: float, caution: float) -> int:
    """Return how many sweeps to draw as a block while the spread may grow by so much."""
    if caution == 0.0 or n < FIRST_BLOCK or m == 1 or growth < SHORTEST_SWEEPS:
        return 0
    p, q = 0.0, 0.0  # largest chances of a success and of a failure
    for j in range(m):
        x = mu[room[ARM, j]]
        p, q = max(p, x), max(q, 1.0 - x)
    return likely_sweeps(growth, n, min(p, q), caution)


@lean_kernel
def note_sweeps(
    record: RoundRecord, pulls: I64, room: I64, r: int, m: int, n: int, t: int, k: int
) -> None:
    """Record k sweeps over the survivors, each of which has been played n times by round t."""
    rounds, plays, at = record.rounds, record.plays, record.at[r, 0]
    while at < rounds.shape[0] and rounds[at] <= t + k * m:
        whole, rest = divmod(rounds[at] - t, m)
        for a in range(pulls.shape[1]):
            plays[r, at, a] = pulls[r, a]
        for j in range(m):
            plays[r, at, room[ARM, j]] = n + whole + (j < rest)
        at += 1
    record.at[r, 0] = at


@lean_kernel
def try_sweep(words: U64, room: I64, r: int, m: int, n: int, level: float, R: float) -> bool:
    """Play a sweep unless somebody falls in it; say whether it was played."""
    a, b, c, d = words[r, 0], words[r, 1], words[r, 2], words[r, 3]
    for j in range(m):
        room[BEFORE, j] = room[SUM, j]
    low, high = between(room, m)
    toss(words, r, room, m, int(np.int64(1)))  # a literal would be compiled for itself
    new_low, new_high = between(room, m)
    wd, new_wd = width_at(n, level, R), width_at(n + 1, level, R)
    best = max(high / n - wd, new_high / (n + 1) - new_wd)
    if best <= min(low / n + wd, new_low / (n + 1) + new_wd):
        return True
    words[r, 0], words[r, 1], words[r, 2], words[r, 3] = a, b, c, d
    for j in range(m):
        room[SUM, j] = room[BEFORE, j]
    return False


@lean_step
def note(record: RoundRecord, pulls: I64, r: int, t: int) -> None:
    """Record the counts if round t is a chosen one."""
    at = record.at[r, 0]
    if at < record.rounds.shape[0] and record.rounds[at] == t:
        for a in range(pulls.shape[1]):
            record.plays[r, at, a] = pulls[r, a]
        record.at[r, 0] = at + 1


@lean_step
def extremes(room: I64, bounds: F64, active: B1, r: int, m: int) -> tuple[float, float]:
    """Return the largest lower and the smallest upper bound of the survivors."""
    best, lowest = -np.inf, np.inf
    for j in range(m):
        if active[r, room[ARM, j]]:
            best, lowest = max(best, bounds[0, j]), min(lowest, bounds[1, j])
    return best, lowest


@lean_kernel
def play_closely(
    coins: Coins, states: ArmState, record: RoundRecord, r: int, m: int, n: int, T: int
) -> None:
    """Play a sweep round by round, but not beyond T: after each reward arms may fall."""
    room, bounds, urn, active = coins.room, coins.bounds, coins.urn, states.active
    words, t, K, wd = coins.words[r], states.clock[r, ROUND], active.shape[1], np.inf
    if n > 0:
        wd = width_at(n, coins.level, coins.R)
    for j in range(m):
        mean = room[SUM, j] / max(n, 1)
        bounds[0, j], bounds[1, j] = mean - wd, mean + wd
    best, lowest = extremes(room, bounds, active, r, m)
    wd = width_at(n + 1, coins.level, coins.R)
    for j in range(m):
        a = room[ARM, j]
        if t == T or not active[r, a]:
            continue
        t += 1
        u, left = uniform(words), urn[r, 0, a]
        won = np.int64(u < coins.mu[a])
        if left > 0:  # draws without replacement
            won = np.int64(u * left < urn[r, 1, a])
            urn[r, 0, a], urn[r, 1, a] = left - 1, urn[r, 1, a] - won
        total = states.total[r, a] + won
        states.n[r, a], states.total[r, a], states.last[r, a] = n + 1, total, t
        note(record, states.n, r, t)
        stale = bounds[0, j] == best or bounds[1, j] == lowest
        low, high = total / (n + 1) - wd, total / (n + 1) + wd
        bounds[0, j], bounds[1, j] = low, high
        if not low <= coins.mu[a] <= high:
            states.broken[r, 0] = True
        best, lowest = max(best, low), min(lowest, high)
        if stale:
            best, lowest = extremes(room, bounds, active, r, m)
        if best > lowest and t > K:  # the first sweep only initialises
            for i in range(m):
                b = room[ARM, i]
                if best > bounds[1, i] and active[r, b]:
                    active[r, b], states.eliminated[r, b] = False, t
            best, lowest = extremes(room, bounds, active, r, m)
    states.clock[r, ROUND] = t


@lean_kernel
def play_coins(
    coins: Coins, states: ArmState, record: RoundRecord, r0: int, r1: int, T: int, budget: int
) -> int:
    """Play rounds of replications r0 to r1, each up to T, a block or a last arm.

    Return the budget left. For the budget a replication stops after multiples of STRIDE sweeps
    only: what comes next must not depend on it.
    """
    room, level, R, skips = coins.room, coins.level, coins.R, coins.caution > 0.0
    for r in range(r0, r1):
        t = states.clock[r, ROUND]
        if t >= T or budget <= 0:
            continue
        m = pack(room, coins.mu, states.active, states.total, r)
        n = states.n[r, room[ARM, 0]]
        within = n  # up to this many plays surely no interval misses its mean
        while t < T and not (m == 1 and skips and n >= FEW):
            growth = room_to_spread(room, m, n, level, R) if n > 0 else 0.0
            urn = coins.urn[r, 0, room[ARM, 0]] > 0
            if n % STRIDE == 0:
                k = 0 if urn else plan(room, coins.mu, m, n, growth, coins.caution)
                if budget <= 0 or k >= SHORTEST_TOSSES:
                    break
            watched, sure = not states.broken[r, 0], growth >= 0.0
            if watched and within <= n:
                within = n + sweeps_within(room, coins.mu, m, n, level, R)
            k = min(max(int(growth) + 1, 1), (T - t) // m)
            if skips or budget < k * m:
                k = min(k, STRIDE - n % STRIDE)
            if watched:
                k = min(k, max(within - n, 1))
            if k == 0 or urn or not (sure or try_sweep(coins.words, room, r, m, n, level, R)):
                unpack(room, states, r, m, n, t)
                play_closely(coins, states, record, r, m, n, T)
                n, within = n + 1, n + 1
                budget -= states.clock[r, ROUND] - t
                m = pack(room, coins.mu, states.active, states.total, r)
                t = states.clock[r, ROUND]
                continue
            if sure:
                toss(coins.words, r, room, m, k)
            if record.rounds[min(record.at[r, 0], record.rounds.shape[0] - 1)] <= t + k * m:
                note_sweeps(record, states.n, room, r, m, n, t, k)
            n, t, budget = n + k, t + k * m, budget - k * m
            if watched and n > within:
                states.broken[r, 0] = some_missed(room, coins.mu, m, n, level, R)
        unpack(room, states, r, m, n, t)
    return budget
