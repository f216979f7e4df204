"""Elimination by betting on coins, quickly: the decisions of kernels/betting_elimination.py.

Rewards 0 and 1 multiply the money of a bet by one of two factors, so that products serve
instead of sums of logarithms:

    P[a, u] = prod (1 + (x - theta) u / r_i),   Q[a, u] = prod (1 - (x - theta) u / r_i)

Rounding differs from that of the logarithms. Where a test is so close that this might matter, the
kernel decides nothing and says so: that replication is played again, from its first round, by
the kernel that live players share.

One replication is under way at a time; what it keeps is the next one's room.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.formulas.mixture import LOG_2, log_mix
from uli_fast.kernels._jit import lean_by_type, lean_kernel
from uli_fast.kernels.arms.state import ROUND, ArmState, RoundRecord
from uli_fast.kernels.betting.book import ENTERED, FIRST, LARGEST_LOSS, LEADER, LOOK, SWEEPS
from uli_fast.kernels.draws.coins import toss
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.rewards.laws import BernoulliBlocks, BernoulliLaw, law_of, total_after

# A row of CoinBook.rows has P and Q in turn, four bets each: that of bet g is at place(g), and four
# places on. Rows 0 to K - 1 are the arms' money. After them come the bets in play (0 if not, and
# negative for Q), their weights, the most that a survivor has, a row for scratch, and factors, of
# an arm and of the leader: 1, of a reward, of none, of both.
STAKE, WEIGHT, TOP, SCRATCH, FACTORS, ROWS = 0, 1, 2, 3, 4, 12
# Unsigned: they have no wraparound, and loops are SIMD.
ONE, TWO, THREE = np.uintp(1), np.uintp(2), np.uintp(3)
# Rows of CoinBook.sums.
M, V, S, N = 0, 1, 2, 3
# Entries of CoinBets.test.
LIMIT, R, RHO, MARGIN = 0, 1, 2, 3
# Money is kept between these. More than the smallest is never the truth, less than the largest
# is; a pair of both has enough for a drop, before which it is looked for.
LEAST, MOST = 1e-100, 1e200
# A bet leaves once no pair has more of its money: e^-60. No test depends on it.
WORTHLESS = math.exp(-60.0)
# What a play may take from the relative precision of products and of sums of logarithms, and how
# much may be lost before a replication is left to the logarithms.
PRECISION, IMPRECISE = 2.0**-48, 1e-2
# Coins are tossed in loops of so many where sweeps are shorter: the inner one must not be tiny.
LONG_SWEEP = 24
# How a call ends; or it returns the number of a replication that it could not decide.
MORE, DONE = -1, -2


class CoinBets(NamedTuple):
    """The grid of bets, and what the test is."""

    u: F64  # (G,) falling
    rest: F64  # (G + 4,) weights of all bets from here on
    enter: I64  # (G,) a bet is in play after looks at this many sweeps or more
    test: F64  # (4,) log of the threshold, R, rho, how close is too close
    r: int  # plays of the leader in a sweep


class CoinBook(NamedTuple):
    """What the replication that is under way goes by."""

    rows: F64  # (K + ROWS, 2G or a little more)
    sums: F64  # (4, K) of sweep means, of 1 / r_i, of rewards, of plays
    mark: I64  # (5,) as Book.mark
    lost: F64  # (1,) relative precision
    order: I64  # (K + r,) which arm is played when in a sweep
    wins: I64  # (K + r + LONG_SWEEP,)
    p: F64  # (K + r + LONG_SWEEP,)


@lean_kernel
def place(g: int) -> int:
    """Return where the money of "a is good" on bet g stands in a row; four on is "a is bad"."""
    return g + g // 4 * 4


@lean_kernel
def clear(book: CoinBook) -> None:
    """Begin a replication: nobody leads."""
    rows, K = book.rows, book.sums.shape[1]
    for g in range(rows.shape[1]):
        for a in range(K):
            rows[a, g] = 1.0
        rows[K + STAKE, g] = 0.0
    for i in range(4):
        for a in range(K):
            book.sums[i, a] = 0.0
    for i in range(5):
        book.mark[i] = 0
    book.mark[LEADER], book.mark[LOOK], book.lost[0] = -1, 1, 0.0


@lean_kernel
def set_factors(book: CoinBook, bets: CoinBets, theta: float) -> None:
    """Let bets enter, and fix all factors for the sweeps to come."""
    rows, mark, K = book.rows, book.mark, book.sums.shape[1]
    while mark[ENTERED] < bets.u.shape[0] and bets.enter[mark[ENTERED]] <= mark[SWEEPS]:
        new, u = place(mark[ENTERED]), bets.u[mark[ENTERED]]
        rows[K + STAKE, new], rows[K + STAKE, new + 4] = u, -u
        mark[ENTERED] += 1
    far = max(theta, 1.0 - theta)
    cap = LARGEST_LOSS / far
    for i in range(2):
        f, r = K + FACTORS + 4 * i, float(bets.r if i else 1)
        for g in range(mark[FIRST] // 4 * 8, (mark[ENTERED] + 3) // 4 * 8):
            at = np.uintp(g)
            u = rows[K + STAKE, at]
            u = u if u < cap else cap
            u = (u if u > -cap else -cap) / r
            one, none = 1.0 + (1.0 - theta) * u, 1.0 - theta * u
            rows[f + 1, at], rows[f + 2, at], rows[f + 3, at] = one, none, one * none
    largest = min(bets.u[min(mark[FIRST], bets.u.shape[0] - 1)], cap)
    k = (mark[LOOK] - mark[SWEEPS]) * bets.r
    book.lost[0] += PRECISION * k / (1.0 - largest * far)


@lean_kernel
def multiply(rows: F64, i: int, x: int, f: int, won: int, lost: int, g0: int, g1: int) -> None:
    """Multiply row i by the factors at row f of so many rewards and others.

    Row x is scratch, the one before it has the most of all rows. Powers grow together, bit by
    bit: nothing on the way is larger than what comes of it.
    """
    bit = 1
    while 2 * bit <= won + lost:  # the same for all arms: no branch depends on the draws
        bit *= 2
    h = f + (won & bit != 0) + 2 * (lost & bit != 0)
    if bit > 1:
        for g in range(g0, g1):
            rows[x, np.uintp(g)] = rows[h, np.uintp(g)]
        h = x
    while bit > 1:
        bit //= 2
        more = f + (won & bit != 0) + 2 * (lost & bit != 0)
        for g in range(g0, g1):
            at = np.uintp(g)
            rows[x, at] = rows[x, at] * rows[x, at] * rows[more, at]
    for g in range(g0, g1):
        at = np.uintp(g)
        y, top = rows[i, at] * rows[h, at], rows[x - 1, at]
        y = y if y > LEAST else LEAST
        y = y if y < MOST else MOST
        rows[i, at], rows[x - 1, at] = y, y if y > top else top


@lean_kernel
def paired(rows: F64, i: int, j: int, flip: int, g0: int, g1: int) -> float:
    """Return the sum of products of P in row i and Q in row j, or of Q and P (flip 4)."""
    x, y, s0, s1, s2, s3 = rows[i], rows[j], 0.0, 0.0, 0.0, 0.0
    for g in range(g0, g1, 8):
        a, b = np.uintp(g + flip), np.uintp(g + 4 - flip)
        s0 += x[a] * y[b]
        s1 += x[a + ONE] * y[b + ONE]
        s2 += x[a + TWO] * y[b + TWO]
        s3 += x[a + THREE] * y[b + THREE]
    return (s0 + s1) + (s2 + s3)


@lean_kernel
def verdict(book: CoinBook, bets: CoinBets, j: int, a: int, D: float, v: float, W: float) -> int:
    """Return whether the money on "j beats a" has reached the threshold: 1, 0, or 2 if too close.

    W is that of the bets.
    """
    rows, K, limit = book.rows, book.sums.shape[1], bets.test[LIMIT]
    x = math.log(0.5 * (W + math.exp(log_mix(D, v, bets.test[RHO]))))
    if abs(x - limit) <= bets.test[MARGIN] + book.lost[0]:
        return 2
    if x < limit:
        return 0
    for g in range(book.mark[FIRST], book.mark[ENTERED]):
        at = place(g)
        good, bad, w = rows[j, at], rows[a, at + 4], rows[K + WEIGHT, at]
        if max(good, bad) >= MOST or (min(good, bad) <= LEAST and w * good * bad > 1e-12):
            return 2
    return 1


@lean_kernel
def look(book: CoinBook, bets: CoinBets, states: ArmState, m: int, mu: F64, best: int) -> bool:
    """Drop the arms that the leader beats, and name it; say whether all was decided.

    First it is seen whether the event of the proof fails here: whether the money on "a beats the
    best arm", with the gaps known, has reached the threshold for some a.
    """
    rows, sums, mark, active = book.rows, book.sums, book.mark, states.active
    K, n, RR, rho = mu.shape[0], float(mark[SWEEPS]), bets.test[R] * bets.test[R], bets.test[RHO]
    almost = bets.test[LIMIT] - bets.test[MARGIN] - book.lost[0]
    few, c, rest = math.exp(almost), 2.0 * (almost - LOG_2), bets.rest[(mark[ENTERED] + 3) // 4 * 4]
    g0, g1 = mark[FIRST] // 4 * 8, (mark[ENTERED] + 3) // 4 * 8
    j = -1
    for a in range(K):
        if active[m, a] and (j < 0 or sums[M, a] > sums[M, j]):
            j = a
    for part in range(2):
        if part == 0 and (states.broken[m, 0] or not active[m, best]):
            continue
        one = j if part else best  # who is in every pair: the one that is good, or bad
        for g in range(g0, g1):
            at = np.uintp(g)
            rows[K + SCRATCH, at] = rows[one, at] * rows[K + WEIGHT, at]
        flip = 0 if part else 4
        W = most = rest + paired(rows, K + SCRATCH, K + TOP, flip, g0, g1)
        for a in range(K):
            if active[m, a] and a != one:
                D = sums[M, one] - sums[M, a]
                if part == 0:
                    D = sums[M, a] - sums[M, one] + n * (mu[one] - mu[a])
                v, ahead = RR * (sums[V, one] + sums[V, a]), (D if D > 0.0 else 0.0)
                if most >= few:
                    W = rest + paired(rows, K + SCRATCH, a, flip, g0, g1)
                # Half of each is no more than the larger; log Phi <= 0, log(1 + x) >= x / (1 + x).
                if W < few and ahead * ahead - v < c * (v + rho):
                    continue
                W = rest + paired(rows, K + SCRATCH, a, flip, g0, g1)
                found = verdict(book, bets, one if part else a, a if part else one, D, v, W)
                if found == 2:
                    return False
                if found == 1 and part == 0:
                    states.broken[m, 0] = True
                    break
                if found == 1:
                    active[m, a] = False
                    states.eliminated[m, a] = states.clock[m, ROUND]
    mark[LEADER] = j
    mark[LOOK] = mark[SWEEPS] + max(1, mark[SWEEPS] // 50)
    drop_worthless(rows, mark, K)
    set_factors(book, bets, (sums[S, j] + 0.5) / (sums[N, j] + 1.0))
    return bool(book.lost[0] < IMPRECISE)


@lean_kernel
def drop_worthless(rows: F64, mark: I64, K: int) -> None:
    """Let the largest bets go once they have lost for every pair of survivors."""
    while mark[FIRST] < mark[ENTERED]:
        at = place(mark[FIRST])
        if rows[K + TOP, at] * rows[K + TOP, at + 4] >= WORTHLESS:
            return
        for a in range(K):
            rows[a, at] = rows[a, at + 4] = LEAST
        rows[K + STAKE, at] = rows[K + STAKE, at + 4] = 0.0
        mark[FIRST] += 1


def draw_sweeps(law: Any, m: int, n: I64, book: CoinBook, L: int, k: int) -> int:
    """Draw k sweeps of L rounds for replication m; return the steps it took (compiled code only).

    ``wins`` are sums by places in a sweep; where an arm has several, the first may have them all.
    """
    raise TypeError("draw_sweeps is called from compiled kernels only")


@lean_by_type(draw_sweeps)
def _draw_sweeps(law: Any, m: Any, n: Any, book: Any, L: Any, k: Any) -> Callable[..., int] | None:
    if law.instance_class is BernoulliLaw:
        return _toss
    return _draw_blocks if law.instance_class is BernoulliBlocks else None


def _toss(law: Any, m: Any, n: Any, book: Any, L: Any, k: Any) -> int:
    p, wins, tiles = book.p, book.wins, max(1, min(LONG_SWEEP // L, k // 8))
    for i in range(L):
        for j in range(i, tiles * L, L):
            p[j], wins[j] = law.mu[book.order[i]], 0
    toss(law.words[m], p, wins, tiles * L, k // tiles)
    toss(law.words[m], p, wins, L, k % tiles)
    for j in range(L, tiles * L):
        wins[j % L] += wins[j]
    return k * L  # type: ignore[no-any-return]


def _draw_blocks(law: Any, m: Any, n: Any, book: Any, L: Any, k: Any) -> int:
    i, own = 0, law_of(law, m)
    while i < L:
        first, a = i, book.order[i]
        while i < L and book.order[i] == a:
            book.wins[i] = 0
            i += 1
        plays, p = k * (i - first), own.mu[a]
        if plays == 1 and n[m, a] + 1 >= own.prefix.shape[1]:  # what total_after draws, sooner
            u = uniform(own.words)
            book.wins[first] = u < p if p > 0.5 else u >= 1.0 - p
        else:
            book.wins[first] = total_after(own, a, n[m, a], plays, 0)
    return 1


@lean_kernel
def enter(book: CoinBook, bets: CoinBets, states: ArmState, m: int, L: int, k: int) -> None:
    """Enter the wins of k sweeps of L rounds."""
    rows, sums, order, K = book.rows, book.sums, book.order, book.sums.shape[1]
    g0, g1 = book.mark[FIRST] // 4 * 8, (book.mark[ENTERED] + 3) // 4 * 8
    for g in range(g0, g1):
        rows[K + TOP, g] = 0.0
    i = 0
    while i < L:
        first, a, won = i, order[i], 0
        while i < L and order[i] == a:
            won += book.wins[i]
            i += 1
        r, plays, f = float(i - first), k * (i - first), K + FACTORS + (4 if i - first > 1 else 0)
        multiply(rows, a, K + SCRATCH, f, won, plays - won, g0, g1)
        sums[M, a] += float(won) / r
        sums[V, a] += float(plays) / (r * r)
        sums[S, a] += float(won)
        sums[N, a] += float(plays)
        states.total[m, a] += won


@lean_kernel
def play_coins(
    law: Any,
    states: ArmState,
    record: RoundRecord,
    bets: CoinBets,
    book: CoinBook,
    best: int,
    T: int,
    budget: int,
) -> int:
    """Play the replications in turn until T or until the budget is spent; say how it ended.

    What ends beyond T is not drawn: nothing depends on it.
    """
    n, last, active, clock, order = states.n, states.last, states.active, states.clock, book.order
    K, rounds, mark = n.shape[1], record.rounds, book.mark
    for m in range(n.shape[0]):
        if clock[m, ROUND] == 0:
            clear(book)
            set_factors(book, bets, 0.5)
        while clock[m, ROUND] < T:
            if budget <= 0:
                return MORE
            L, left, t = 0, 0, clock[m, ROUND]
            for a in range(K):
                if active[m, a]:
                    left += 1
                    for _ in range(bets.r if a == mark[LEADER] else 1):
                        order[L] = a
                        L += 1
            k = mark[LOOK] - mark[SWEEPS]
            if left == 1:
                L, k = 1, T - t
            at, end = record.at[m, 0], t + k * L
            while at < rounds.shape[0] and rounds[at] <= end:
                whole, rest = divmod(rounds[at] - t, L)
                for a in range(K):
                    record.plays[m, at, a] = n[m, a]
                for i in range(L):
                    record.plays[m, at, order[i]] += whole + (i < rest)
                at += 1
            record.at[m, 0] = at
            open_end = left == 1 or end > T
            if not open_end:
                budget -= draw_sweeps(law, m, n, book, L, k)
            whole, rest = k, 0
            if end > T:
                whole, rest = divmod(T - t, L)
            for i in range(L):
                a, plays = order[i], whole + (i < rest)
                n[m, a] += plays
                if plays > 0:  # the leader has several places, of which the last may be cut
                    last[m, a] = max(last[m, a], t + (plays - 1) * L + i + 1)
            clock[m, ROUND] = min(end, T)
            if not open_end:
                enter(book, bets, states, m, L, k)
                mark[SWEEPS] = mark[LOOK]
                if not look(book, bets, states, m, law.mu, best):
                    return m
    return DONE
