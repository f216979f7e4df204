"""Successive elimination on coins: blocks of sweeps in which nobody can fall, drawn as sums.

Sums are drawn first, and what an arrangement of them can do is checked then (see
kernels/rewards/blocks.py). Whether an interval missed its mean inside a block is decided apart
(kernels/arms/event.py).
"""

from __future__ import annotations

from uli_fast.formulas.successive_elimination import width_at
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.arms.event import LONGEST, NEVER, EventWatch, Span, doubtful, put_off
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord
from uli_fast.kernels.arms.successive_coins import (
    ARM,
    BEFORE,
    FEW,
    SUM,
    Coins,
    note_sweeps,
    pack,
    plan,
    play_coins,
    room_to_spread,
    unpack,
)
from uli_fast.kernels.arms.successive_width import Band, edge, missed
from uli_fast.kernels.draws.binomial import successes
from uli_fast.kernels.rewards.blocks import SHORTEST_TOSSES
from uli_fast.kernels.rewards.bridges import Piece

# A step takes as long as this many tosses.
TOSSES = 16


@lean_kernel
def draw_block(coins: Coins, r: int, m: int, k: int, growth: float) -> bool:
    """Draw k sweeps, unless their sums might drop somebody; say whether they are played.

    With s successes in k pulls an arm gains at most min(i, s) in i of them and at least
    i - (k - s): a spread grows by at most min(largest s, k - smallest s). Refused sweeps stay in
    the urn, revealed one by one.
    """
    room, urn, most, least = coins.room, coins.urn[r], 0, k
    for j in range(m):
        wins = successes(coins.words[r], k, coins.mu[room[ARM, j]])
        room[BEFORE, j] = room[SUM, j]
        room[SUM, j] += wins
        most, least = max(most, wins), min(least, wins)
    if min(most, k - least) <= growth:
        return True
    for j in range(m):
        a = room[ARM, j]
        urn[0, a], urn[1, a] = k, room[SUM, j] - room[BEFORE, j]
    return False


@lean_kernel
def may_leave(coins: Coins, m: int, span: Span) -> bool:
    """Say whether a block has to be watched arm by arm: the E of some arm may be below NEVER.

    With room x and y at the ends, E >= D z >= (y - 1) x / (k + 1): see ``tilt``.
    """
    n, k, _, near, far = span
    slack, room = 1e-14 * (far + n + k), coins.room
    x, y = near - slack, far - slack - 1.0
    off, off_later = 0.0, 0.0
    for j in range(m):
        mu = coins.mu[room[ARM, j]]
        off = max(off, abs(room[BEFORE, j] - n * mu))
        off_later = max(off_later, abs(room[SUM, j] - (n + k) * mu))
    x, y = x - off, y - off_later
    return bool(min(x, y) <= 0.0 or x * y <= NEVER * (k + 1.0))


@lean_kernel
def count_block(
    coins: Coins, states: ArmState, watch: EventWatch, r: int, m: int, n: int, k: int, T: int
) -> None:
    """Count k whole sweeps, drawn already, and watch the event in them."""
    t, K, room = states.clock[r, ROUND], coins.mu.shape[0], coins.room
    wd = width_at(n + k, coins.level, coins.R)
    near, far = n * width_at(n, coins.level, coins.R), (n + k) * wd
    watched = not states.broken[r, 0] and may_leave(coins, m, Span(n, k, n + k, near, far))
    for j in range(m):
        a, turns = room[ARM, j], k
        states.n[r, a], states.total[r, a] = n + k, room[SUM, j]
        if t + k * m > T:  # those within the horizon
            turns = (T - t + m - 1 - j) // m
        else:
            mean = room[SUM, j] / (n + k)
            if not mean - wd <= coins.mu[a] <= mean + wd:
                states.broken[r, 0] = True
        if turns > 0:
            states.last[r, a] = t + (turns - 1) * m + j + 1
        if watched and not states.broken[r, 0]:
            band = Band(coins.mu[a], K, coins.delta, coins.R)
            gain = float(room[SUM, j] - room[BEFORE, j])
            piece = Piece(n, float(room[BEFORE, j]), k, gain, 0.0)
            if doubtful(watch.words[r], band, Span(n, k, n + turns, near, far), piece):
                put_off(watch.words[r], watch.counts[r], watch.sums[r], a, piece, n + turns)
    states.clock[r, ROUND] = t + k * m


@lean_kernel
def watch_alone(coins: Coins, states: ArmState, watch: EventWatch, r: int, T: int) -> None:
    """Note whether the arm that alone is left misses an interval by round T.

    Its rewards decide nothing and are drawn for this alone, after all others.
    """
    a = coins.room[ARM, 0]
    n, total, urn = states.n[r, a], states.total[r, a], coins.urn[r]
    band = Band(coins.mu[a], coins.mu.shape[0], coins.delta, coins.R)
    limit, near = n + T - states.clock[r, ROUND], edge(band, n)
    while n < limit and not states.broken[r, 0]:
        k, wins = urn[0, a], urn[1, a]  # of a refused block
        urn[0, a] = 0
        if k == 0:
            k = min(3 * n, LONGEST)
            wins = successes(coins.words[r], k, band.mu)
        far, piece = edge(band, n + k), Piece(n, float(total), k, float(wins), 0.0)
        if n + k <= limit and missed(band, n + k, float(total + wins)):
            states.broken[r, 0] = True
        elif doubtful(watch.words[r], band, Span(n, k, limit, near, far), piece):
            put_off(watch.words[r], watch.counts[r], watch.sums[r], a, piece, limit)
        n, total, near = n + k, total + wins, far


@lean_kernel
def batch_skipping(
    coins: Coins, states: ArmState, record: RoundRecord, watch: EventWatch, T: int, budget: int
) -> None:
    """Play blocks of sweeps where nobody can fall, coins elsewhere, while the budget lasts.

    Replications with blocks put off are left where they are, for ``some_leave``.
    """
    room, level, R = coins.room, coins.level, coins.R
    for r in range(states.clock.shape[0]):
        while budget > 0 and states.clock[r, ROUND] < T and watch.words[r, 1] == 0:
            budget -= 1
            t, m = states.clock[r, ROUND], pack(room, coins.mu, states.active, states.total, r)
            n = states.n[r, room[ARM, 0]]
            alone = m == 1 and n >= FEW
            growth, k = room_to_spread(room, m, n, level, R), T - t
            if alone:
                if not states.broken[r, 0]:
                    watch_alone(coins, states, watch, r, T)
            elif coins.urn[r, 0, room[ARM, 0]] > 0:
                k = 0
            else:
                k = plan(room, coins.mu, m, n, growth, coins.caution)
            if not alone and k < SHORTEST_TOSSES:
                left = play_coins(coins, states, record, r, r + 1, T, TOSSES * budget)
                budget = left // TOSSES
            elif alone or draw_block(coins, r, m, k, growth):
                if t + k * m >= record.rounds[min(record.at[r, 0], record.rounds.shape[0] - 1)]:
                    note_sweeps(record, states.n, room, r, m, n, t, k)
                if alone:
                    unpack(room, states, r, m, n + k, T)
                else:
                    count_block(coins, states, watch, r, m, n, k, T)
