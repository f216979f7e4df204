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
from uli_fast.kernels._jit import lean_kernel, lean_step
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord
from uli_fast.kernels.arms.successive_width import width_at
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.rewards.blocks import SHORTEST_TOSSES, likely_sweeps

# Blocks are planned from this many sweeps on, and then after every STRIDE sweeps of coins.
FIRST_BLOCK, STRIDE = 128, 16

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
def pack(coins: Coins, states: ArmState, r: int) -> int:
    """Bring the survivors together; return how many there are."""
    m, room = 0, coins.room
    for a in range(coins.mu.shape[0]):
        if states.active[r, a]:
            room[ARM, m], room[SUM, m] = a, states.total[r, a]
            room[CHANCE, m] = np.int64(np.ceil(coins.mu[a] * 2.0**53))
            m += 1
    return m


@lean_kernel
def unpack(coins: Coins, states: ArmState, r: int, m: int, n: int, t: int) -> None:
    """Write down that each survivor has been played n times by round t, the end of a sweep."""
    if states.clock[r, ROUND] == t:
        return
    for j in range(m):
        a = coins.room[ARM, j]
        states.n[r, a], states.total[r, a] = n, coins.room[SUM, j]
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
def room_to_spread(coins: Coins, m: int, n: int) -> float:
    """Return by how much the sums of n plays may spread before a sweep in which nobody falls.

    The last terms cover the rounding of the test as it is made round by round.
    """
    low, high = between(coins.room, m)
    wd = width_at(n + 1, coins.level, coins.R)
    return min((n + 1) * (2.0 * wd - 1e-12) - (high - low) - (1.0 + 1e-9), MOST)


@lean_kernel
def sweeps_within(coins: Coins, m: int, n: int) -> int:
    """Return in how many sweeps surely no interval misses its mean."""
    if n == 0:
        return 0
    far = 0.0
    for j in range(m):
        far = max(far, abs(coins.room[SUM, j] - n * coins.mu[coins.room[ARM, j]]))
    edge = n * width_at(n, coins.level, coins.R)
    return int(min(edge - far - (1e-9 + 1e-14 * n), MOST))


@lean_kernel
def some_missed(coins: Coins, m: int, n: int) -> bool:
    """Say whether an interval misses its mean after n plays of each survivor."""
    wd, found = width_at(n, coins.level, coins.R), False
    for j in range(m):
        mean, mu = coins.room[SUM, j] / n, coins.mu[coins.room[ARM, j]]
        found = found or not mean - wd <= mu <= mean + wd
    return found


@lean_kernel
def plan(coins: Coins, r: int, m: int, n: int, room: float) -> int:
    """Return how many sweeps to draw as a block while the spread may grow by ``room``."""
    if coins.caution == 0.0 or n < FIRST_BLOCK or coins.urn[r, 0, coins.room[ARM, 0]] > 0:
        return 0
    p, q = 0.0, 0.0  # largest chances of a success and of a failure
    for j in range(m):
        mu = coins.mu[coins.room[ARM, j]]
        p, q = max(p, mu), max(q, 1.0 - mu)
    return likely_sweeps(room, n, min(p, q), coins.caution)


@lean_kernel
def note_sweeps(
    record: RoundRecord, states: ArmState, room: I64, r: int, m: int, n: int, t: int, k: int
) -> None:
    """Record k sweeps over the survivors, each of which has been played n times by round t."""
    rounds, plays, at = record.rounds, record.plays, record.at[r, 0]
    while at < rounds.shape[0] and rounds[at] <= t + k * m:
        whole, rest = divmod(rounds[at] - t, m)
        for a in range(states.n.shape[1]):
            plays[r, at, a] = states.n[r, a]
        for j in range(m):
            plays[r, at, room[ARM, j]] = n + whole + (j < rest)
        at += 1
    record.at[r, 0] = at


@lean_kernel
def try_sweep(coins: Coins, r: int, m: int, n: int) -> bool:
    """Play a sweep unless somebody falls in it; say whether it was played."""
    words, room = coins.words, coins.room
    a, b, c, d = words[r, 0], words[r, 1], words[r, 2], words[r, 3]
    for j in range(m):
        room[BEFORE, j] = room[SUM, j]
    low, high = between(room, m)
    toss(words, r, room, m, 1)
    new_low, new_high = between(room, m)
    wd, new_wd = width_at(n, coins.level, coins.R), width_at(n + 1, coins.level, coins.R)
    best = max(high / n - wd, new_high / (n + 1) - new_wd)
    if best <= min(low / n + wd, new_low / (n + 1) + new_wd):
        return True
    words[r, 0], words[r, 1], words[r, 2], words[r, 3] = a, b, c, d
    for j in range(m):
        room[SUM, j] = room[BEFORE, j]
    return False


@lean_step
def extremes(coins: Coins, active: B1, m: int) -> tuple[float, float]:
    """Return the largest lower and the smallest upper bound of the survivors."""
    best, lowest = -np.inf, np.inf
    for j in range(m):
        if active[coins.room[ARM, j]]:
            best, lowest = max(best, coins.bounds[0, j]), min(lowest, coins.bounds[1, j])
    return best, lowest


@lean_kernel
def play_closely(
    coins: Coins, states: ArmState, record: RoundRecord, r: int, m: int, n: int, T: int
) -> None:
    """Play a sweep round by round, but not beyond T: after each reward arms may fall."""
    room, lower, upper = coins.room, coins.bounds[0], coins.bounds[1]
    active, words, urn = states.active[r], coins.words[r], coins.urn[r]
    K, t, wd = active.shape[0], states.clock[r, ROUND], np.inf
    if n > 0:
        wd = width_at(n, coins.level, coins.R)
    for j in range(m):
        mean = room[SUM, j] / max(n, 1)
        lower[j], upper[j] = mean - wd, mean + wd
    best, lowest = extremes(coins, active, m)
    wd = width_at(n + 1, coins.level, coins.R)
    for j in range(m):
        a = room[ARM, j]
        if t == T or not active[a]:
            continue
        t += 1
        if urn[0, a] > 0:  # draws without replacement
            won = np.int64(uniform(words) * urn[0, a] < urn[1, a])
            urn[0, a] -= 1
            urn[1, a] -= won
        else:
            won = np.int64(uniform(words) < coins.mu[a])
        states.n[r, a], states.last[r, a] = n + 1, t
        states.total[r, a] += won
        mean = states.total[r, a] / (n + 1)
        stale = lower[j] == best or upper[j] == lowest
        lower[j], upper[j] = mean - wd, mean + wd
        best, lowest = max(best, lower[j]), min(lowest, upper[j])
        if not lower[j] <= coins.mu[a] <= upper[j]:
            states.broken[r, 0] = True
        at = record.at[r, 0]
        if at < record.rounds.shape[0] and record.rounds[at] == t:
            for b in range(K):
                record.plays[r, at, b] = states.n[r, b]
            record.at[r, 0] = at + 1
        if stale:
            best, lowest = extremes(coins, active, m)
        if best > lowest and t > K:  # the first sweep only initialises
            for i in range(m):
                if best > upper[i] and active[room[ARM, i]]:
                    active[room[ARM, i]] = False
                    states.eliminated[r, room[ARM, i]] = t
            best, lowest = extremes(coins, active, m)
    states.clock[r, ROUND] = t


@lean_kernel
def play_coins(
    coins: Coins, states: ArmState, record: RoundRecord, r: int, T: int, budget: int
) -> int:
    """Play rounds of replication r up to T, a block or a last arm; return the budget left.

    For the budget it stops after multiples of STRIDE sweeps only: what comes next must not depend
    on it.
    """
    room, skips = coins.room, coins.caution > 0.0
    m = pack(coins, states, r)
    n, t = states.n[r, room[ARM, 0]], states.clock[r, ROUND]
    within = n  # up to this many plays surely no interval misses its mean
    while t < T:
        growth = room_to_spread(coins, m, n) if n > 0 else 0.0
        if m == 1 and skips:
            if n >= FEW:
                break
        elif n % STRIDE == 0 and plan(coins, r, m, n, growth) >= SHORTEST_TOSSES:
            break
        if n % STRIDE == 0 and budget <= 0:
            break
        watched, sure = not states.broken[r, 0], growth >= 0.0
        if watched and within <= n:
            within = n + sweeps_within(coins, m, n)
        k = min(max(int(growth) + 1, 1), (T - t) // m)
        if skips or budget < k * m:
            k = min(k, STRIDE - n % STRIDE)
        if watched:
            k = min(k, max(within - n, 1))
        if coins.urn[r, 0, room[ARM, 0]] > 0 or k == 0 or not (sure or try_sweep(coins, r, m, n)):
            unpack(coins, states, r, m, n, t)
            play_closely(coins, states, record, r, m, n, T)
            n, within = n + 1, n + 1
            budget -= states.clock[r, ROUND] - t
            m, t = pack(coins, states, r), states.clock[r, ROUND]
            continue
        if sure:
            toss(coins.words, r, room, m, k)
        if record.rounds[min(record.at[r, 0], record.rounds.shape[0] - 1)] <= t + k * m:
            note_sweeps(record, states, room, r, m, n, t, k)
        n, t, budget = n + k, t + k * m, budget - k * m
        if watched and n > within:
            states.broken[r, 0] = some_missed(coins, m, n)
    unpack(coins, states, r, m, n, t)
    return budget


@lean_kernel
def batch_coins(coins: Coins, states: ArmState, record: RoundRecord, T: int, budget: int) -> int:
    """Play rounds of all replications in turn; return what is left of the budget."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            budget = play_coins(coins, states, record, r, T, budget)
    return budget
