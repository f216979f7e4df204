"""Elimination by betting on K arms (BettingElimination, docs/proofs.md).

In a sweep every survivor is played once, the leader r times. At looks, which are geometric in
the number of sweeps, an arm is dropped once a bettor who bets that the leader is better has
(K - 1) / delta times her money. Between looks nothing changes, so sums are all it needs.

The money on "j beats a" is 1/2 sum_u w_u exp(P[j, u] + Q[a, u]) + 1/2 Mix(M_j - M_a,
R^2 (V_j + V_a)), with M_a the sum of sweep means and V_a that of 1 / r_i; the second half alone
where rewards are unbounded.

Coins are played by kernels/betting/coins.py, and here if that cannot decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64, Total
from uli_fast.formulas.betting_elimination import next_look
from uli_fast.formulas.mixture import LOG_2, log_add, log_mix
from uli_fast.kernels._jit import lean_by_type, lean_kernel, lean_step
from uli_fast.kernels.arms.state import (
    ROUND,
    ArmState,
    RoundRecord,
    count_active,
    next_stop,
    note,
    play_out,
    record_of,
    state_of,
)
from uli_fast.kernels.betting.book import (
    ENTERED,
    FIRST,
    LEADER,
    LOOK,
    SWEEPS,
    Bets,
    Book,
    book_of,
    count,
    fold,
    set_bets,
    take_alike,
    take_one,
    take_sums,
)
from uli_fast.kernels.rewards.laws import (
    DETERMINISTIC,
    GAUSSIAN,
    Law,
    RealLaw,
    law_of,
    play_one,
    total_after,
)

# Logarithms of the number of bets; there are 67.
LOG_OF = np.log(np.maximum(np.arange(128.0), 1.0))
# A bet leaves for ever once it has less than e^-60 of its money for every pair.
WORTHLESS = -60.0


class BlockStart(NamedTuple):
    """Counts and sums at the last look, and the sweep."""

    n: I64  # (K,)
    total: Total  # (K,)
    order: I64  # (K + r,) which arm is played when


@lean_step
def start_of(starts: BlockStart, r: int) -> BlockStart:
    """Return the start of replication r of a batch, whose replications share the room."""
    return BlockStart(starts.n[r], starts.total[r], starts.order)


@lean_kernel
def lead(M: F64, active: B1) -> int:
    """Return the survivor with the largest sum of sweep means, the smallest index among equals."""
    j = -1
    for a in range(M.shape[0]):
        if active[a] and (j < 0 or M[a] > M[j]):
            j = a
    return j


@lean_step
def log_grid(book: Book, bets: Bets, j: int, a: int) -> float:
    """Return the log of sum_u w_u exp(P[j, u] + Q[a, u]); waiting bets have kept their money."""
    P, Q, w = book.P, book.Q, bets.log_w
    g0, g1 = book.mark[FIRST], book.mark[ENTERED]
    rest = bets.log_rest[g1]
    top = rest
    for g in range(g0, g1):
        top = max(top, w[g] + P[j, g] + Q[a, g])
    total = math.exp(rest - top)
    for g in range(g0, g1):
        total += math.exp(w[g] + P[j, g] + Q[a, g] - top)
    return float(top + math.log(total))


@lean_step
def log_grid_bound(book: Book, bets: Bets, j: int, a: int) -> float:
    """Return what log_grid does not exceed, at a fraction of its cost."""
    P, Q, w = book.P, book.Q, bets.log_w
    g0, g1 = book.mark[FIRST], book.mark[ENTERED]
    top = bets.log_rest[g1]
    for g in range(g0, g1):
        x = w[g] + P[j, g] + Q[a, g]
        top = x if x > top else top
    return float(top + LOG_OF[g1 - g0 + 1])


@lean_step
def log_second_bound(book: Book, bets: Bets, j: int, a: int, D: float) -> float:
    """Return what log_second does not exceed, as log Phi <= 0 and log(1 + x) >= x / (1 + x)."""
    R, rho = bets.test[1], bets.test[2]
    v, ahead = R * R * (book.V[j] + book.V[a]), (D if D > 0.0 else 0.0)
    return float(LOG_2 + (0.5 * ahead * ahead - 0.5 * v) / (v + rho))


@lean_step
def log_second(book: Book, bets: Bets, j: int, a: int, D: float) -> float:
    """Return the log of the second half, Mix(D, R^2 (V_j + V_a))."""
    R, rho = bets.test[1], bets.test[2]
    return log_mix(D, R * R * (book.V[j] + book.V[a]), rho)


@lean_kernel
def log_wealth(book: Book, bets: Bets, j: int, a: int, D: float) -> float:
    """Return the log of the money on "j beats a", D being how far ahead j's sum is."""
    mixed = log_second(book, bets, j, a, D)
    if bets.u.shape[0] == 0:
        return mixed
    return log_add(log_grid(book, bets, j, a), mixed) - LOG_2


@lean_kernel
def beats(book: Book, bets: Bets, j: int, a: int, D: float) -> bool:
    """Return whether the money on "j beats a" has reached the threshold."""
    limit = bets.test[0]
    almost = limit - 1e-9  # beyond the rounding of the bounds
    if log_second_bound(book, bets, j, a, D) < almost:  # most tests fail by far
        if bets.u.shape[0] == 0 or log_grid_bound(book, bets, j, a) < almost:
            return False  # half of each is no more than the larger
    return bool(log_wealth(book, bets, j, a, D) >= limit)


@lean_kernel
def misses(book: Book, bets: Bets, active: B1, mu: F64) -> bool:
    """Return whether the event of the proof fails at this look.

    It does where some Z_a, the money on "a beats the best arm" with the gaps known, has reached
    the threshold.
    """
    best, n = int(np.argmax(mu)), float(book.mark[SWEEPS])
    if not active[best]:
        return False
    for a in range(mu.shape[0]):
        if active[a] and a != best:
            if beats(book, bets, a, best, book.M[a] - book.M[best] + n * (mu[best] - mu[a])):
                return True
    return False


@lean_kernel
def drop_worthless(book: Book, active: B1) -> None:
    """Let the largest bets go once they have lost for every pair of survivors."""
    mark = book.mark
    while mark[FIRST] < mark[ENTERED]:
        g, good, bad = mark[FIRST], -np.inf, -np.inf
        for a in range(active.shape[0]):
            if active[a]:
                good, bad = max(good, book.P[a, g]), max(bad, book.Q[a, g])
        if good + bad >= WORTHLESS:
            return
        mark[FIRST] += 1


@lean_kernel
def eliminate(book: Book, bets: Bets, active: B1, eliminated: I64, t: int) -> None:
    """Drop the arms that the leader beats, name the leader, and set the bets (a look)."""
    mark, K = book.mark, active.shape[0]
    j = lead(book.M, active)
    for a in range(K):
        if active[a] and a != j and beats(book, bets, j, a, book.M[j] - book.M[a] - book.gone[a]):
            active[a] = False
            eliminated[a] = t
    mark[LEADER] = j
    mark[LOOK] = next_look(mark[SWEEPS])
    drop_worthless(book, active)
    if bets.u.shape[0] > 0:
        set_bets(book, bets, (book.S[j] + 0.5) / (book.N[j] + 1.0))


def reward_kind(law: Law) -> int:
    """Return how the rewards of a law enter the book (compiled code only)."""
    raise TypeError("reward_kind is called from compiled kernels only")


BINARY, ALIKE, SINGLE, UNBOUNDED = 0, 1, 2, 3


@lean_by_type(reward_kind)
def _reward_kind(law: Any) -> Callable[..., int]:
    if law.instance_class is not RealLaw:
        return lambda law: BINARY
    return _kind_of_real


def _kind_of_real(law: Any) -> int:
    if law.kind == DETERMINISTIC:
        return ALIKE
    return UNBOUNDED if law.kind == GAUSSIAN else SINGLE


@lean_kernel
def sweep_order(active: B1, leader: int, r: int, order: I64) -> int:
    """Write down which arm is played when in a sweep; return the rounds of a sweep."""
    L = 0
    for a in range(active.shape[0]):
        if active[a]:
            for _ in range(r if a == leader else 1):
                order[L] = a
                L += 1
    return L


@lean_kernel
def note_block(record: RoundRecord, n: I64, order: I64, L: int, t: int, k: int) -> None:
    """Record k sweeps of L rounds after round t; n is from before."""
    rounds, plays, at = record.rounds, record.plays, record.at[0]
    while at < rounds.shape[0] and rounds[at] <= t + k * L:
        whole, rest = divmod(rounds[at] - t, L)
        for a in range(n.shape[0]):
            plays[at, a] = n[a]
        for i in range(L):
            plays[at, order[i]] += whole + (i < rest)
        at += 1
    record.at[0] = at


@lean_kernel
def total_of(n: I64) -> int:
    """Return the sum of counts."""
    total = 0
    for a in range(n.shape[0]):
        total += n[a]
    return total


@lean_kernel
def note_last(last: I64, order: I64, L: int, t: int, first: int, k: int) -> None:
    """Set the last plays of k rounds after round t that begin at place ``first`` of a sweep."""
    for i in range(max(0, k - L), k):
        last[order[(first + i) % L]] = t + i + 1


@lean_kernel
def close_block(law: Law, state: ArmState, start: BlockStart, book: Book, bets: Bets) -> None:
    """Enter what was played since the last look, and look."""
    kind, leader = reward_kind(law), book.mark[LEADER]
    for a in range(state.n.shape[0]):
        if state.active[a]:
            r = bets.r if a == leader else 1
            plays, total = float(state.n[a] - start.n[a]), float(state.total[a] - start.total[a])
            if kind == BINARY:
                take_sums(book, book.odds[int(r > 1)], a, float(r), plays, total)
            elif kind == ALIKE:
                take_alike(book, a, float(r), plays, law.mu[a])
            else:
                fold(book, a)
                count(book, a, float(r), plays, total)
            start.n[a], start.total[a] = state.n[a], state.total[a]
    book.mark[SWEEPS] = book.mark[LOOK]
    if not state.broken[0]:
        state.broken[0] = misses(book, bets, state.active, law.mu)
    eliminate(book, bets, state.active, state.eliminated, state.clock[ROUND])


@lean_kernel
def play_turns(
    law: Law, state: ArmState, book: Book, bets: Bets, order: I64, L: int, first: int, k: int
) -> None:
    """Play k rounds from place ``first`` of a sweep on."""
    n, total, i, leader = state.n, state.total, first, book.mark[LEADER]
    single = reward_kind(law) == SINGLE
    for _ in range(k):
        a = order[i]
        after = play_one(law, a, n[a], total[a])
        if single:
            take_one(book, a, float(bets.r) if a == leader else 1.0, after - total[a])
        total[a] = after
        n[a] += 1
        i += 1
        if i == L:
            i = 0


@lean_kernel
def play_rounds(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    start: BlockStart,
    book: Book,
    bets: Bets,
    T: int,
    budget: int,
) -> int:
    """Play single rounds until T or until the budget is spent; return what is left of it."""
    order = start.order
    while budget > 0 and state.clock[ROUND] < T:
        if count_active(state.active) == 1:
            play_out(state, record, int(np.argmax(state.active)), T)
            break
        L = sweep_order(state.active, book.mark[LEADER], bets.r, order)
        t, began = state.clock[ROUND], total_of(start.n)
        end = began + (book.mark[LOOK] - book.mark[SWEEPS]) * L
        k = min(min(end, next_stop(record)) - t, budget)
        first = (t - began) % L
        play_turns(law, state, book, bets, order, L, first, k)
        note_last(state.last, order, L, t, first, k)
        state.clock[ROUND] = t + k
        budget -= k
        note(record, state.n, t + k)
        if t + k == end:
            close_block(law, state, start, book, bets)
    return budget


@lean_kernel
def draw_block(law: Law, state: ArmState, book: Book, a: int, r: int, k: int) -> None:
    """Draw k rewards of arm a: their sum, or each where the book needs it."""
    if reward_kind(law) == SINGLE:
        for _ in range(k):
            after = play_one(law, a, state.n[a], state.total[a])
            take_one(book, a, float(r), after - state.total[a])
            state.total[a] = after
            state.n[a] += 1
    else:
        state.total[a] = total_after(law, a, state.n[a], k, state.total[a])
        state.n[a] += k


@lean_kernel
def play_skipping(
    law: Law,
    state: ArmState,
    record: RoundRecord,
    start: BlockStart,
    book: Book,
    bets: Bets,
    T: int,
    budget: int,
) -> int:
    """Play from look to look until T or until the budget is spent; return what is left of it."""
    order = start.order
    while budget > 0 and state.clock[ROUND] < T:
        budget -= 1
        if count_active(state.active) == 1:
            play_out(state, record, int(np.argmax(state.active)), T)
            break
        leader, t = book.mark[LEADER], state.clock[ROUND]
        L = sweep_order(state.active, leader, bets.r, order)
        k = book.mark[LOOK] - book.mark[SWEEPS]
        note_block(record, state.n, order, L, t, k)
        note_last(state.last, order, L, t, 0, min(k * L, T - t))
        for a in range(state.n.shape[0]):
            if state.active[a]:
                r = bets.r if a == leader else 1
                draw_block(law, state, book, a, r, k * r)
        state.clock[ROUND] = t + k * L
        if state.clock[ROUND] <= T:
            close_block(law, state, start, book, bets)
    return budget


@lean_kernel
def batch_rounds(
    law: Law,
    states: ArmState,
    record: RoundRecord,
    starts: BlockStart,
    books: Book,
    bets: Bets,
    T: int,
    budget: int,
) -> bool:
    """Play single rounds of all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            start, book = start_of(starts, r), book_of(books, r)
            budget = play_rounds(
                law_of(law, r),
                state_of(states, r),
                record_of(record, r),
                start,
                book,
                bets,
                T,
                budget,
            )
    return bool(states.clock[-1, ROUND] >= T)


@lean_kernel
def batch_skipping(
    law: Law,
    states: ArmState,
    record: RoundRecord,
    starts: BlockStart,
    books: Book,
    bets: Bets,
    T: int,
    budget: int,
) -> bool:
    """Skip through all replications in turn; say whether all have reached T."""
    for r in range(states.clock.shape[0]):
        if states.clock[r, ROUND] < T and budget > 0:
            start, book = start_of(starts, r), book_of(books, r)
            budget = play_skipping(
                law_of(law, r),
                state_of(states, r),
                record_of(record, r),
                start,
                book,
                bets,
                T,
                budget,
            )
    return bool(states.clock[-1, ROUND] >= T)
