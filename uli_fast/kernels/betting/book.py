"""The books of betting learners: a grid of bets, and what each has earned on each arm.

For arm a and bet u the money of "a is good" and "a is bad" is kept apart, as logs:

    P[a, u] = sum of log(1 + (x - theta) u / r_i),   Q[a, u] = sum of log(1 - (x - theta) u / r_i)

over its plays x, with r_i the plays of a in sweep i and theta the same for all arms. Rewards 0
and 1 enter by their sums, others one by one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import lean_kernel, lean_step

# Positions in Book.mark.
SWEEPS, LEADER, FIRST, ENTERED, LOOK = 0, 1, 2, 3, 4
# No factor of a bet is below 1/100.
LARGEST_LOSS = 0.99
# Factors of single rewards are multiplied this often before a log is taken: 100^-128 > 1e-300.
MOST_FACTORS = 128


class Bets(NamedTuple):
    """The grid of bets, and what the test is."""

    u: F64  # (G,) falling; empty where rewards are unbounded
    log_w: F64  # (G,) logs of their weights, which sum to 1
    log_rest: F64  # (G + 1,) logs of the weights of all bets from here on
    enter: I64  # (G,) a bet is in play after looks at this many sweeps or more
    test: F64  # (3,) log of the threshold, R, rho
    r: int  # plays of the leader in a sweep


class Book(NamedTuple):
    """What the bettors have, and what they go by."""

    P: F64  # (K, G) log wealth of "a is good"
    Q: F64  # (K, G) log wealth of "a is bad"
    up: F64  # (K, G) factors of P of single rewards, not yet in it
    down: F64  # (K, G) factors of Q
    factors: I64  # (K,) how many these are
    M: F64  # (K,) sums of sweep means; missing rewards count as 0
    gone: F64  # (K,) what missing rewards would add to M at most
    V: F64  # (K,) sums of 1 / r_i
    S: F64  # (K,) reward sums
    N: F64  # (K,) plays
    theta: F64  # (1,)
    stake: F64  # (G,) the bets, capped for this theta
    odds: F64  # (2, 4, G) logs of the factors of rewards 1 and 0 in P and Q; arms, leader
    mark: I64  # (5,) sweeps, leader (-1 if none), first living and first waiting bet, next look


@lean_step
def book_of(books: Book, r: int) -> Book:
    """Return the book of replication r of a batch, whose arrays have a first axis more."""
    return Book(
        books.P[r],
        books.Q[r],
        books.up[r],
        books.down[r],
        books.factors[r],
        books.M[r],
        books.gone[r],
        books.V[r],
        books.S[r],
        books.N[r],
        books.theta[r],
        books.stake[r],
        books.odds[r],
        books.mark[r],
    )


@lean_step
def fill_odds(odds: F64, stake: F64, theta: float, r: float, g0: int, g1: int) -> None:
    """Work out what a reward of 1 and one of 0 do to P and Q, (4, G), r plays a sweep.

    Live players save what comes of it, and restore it to the bit: so do the logarithms stay.
    """
    for g in range(g0, g1):
        u = stake[g] / r
        odds[0, g] = math.log1p((1.0 - theta) * u)
        odds[1, g] = math.log1p(-theta * u)
        odds[2, g] = math.log1p(-(1.0 - theta) * u)
        odds[3, g] = math.log1p(theta * u)


@lean_kernel
def set_bets(book: Book, bets: Bets, theta: float) -> None:
    """Fix theta, the bets and their odds for the sweeps to come."""
    mark, G = book.mark, bets.u.shape[0]
    while mark[ENTERED] < G and bets.enter[mark[ENTERED]] <= mark[SWEEPS]:
        mark[ENTERED] += 1
    book.theta[0] = theta
    cap = LARGEST_LOSS / max(theta, 1.0 - theta)
    g0, g1 = mark[FIRST], mark[ENTERED]
    for g in range(g0, g1):
        book.stake[g] = min(bets.u[g], cap)
    fill_odds(book.odds[0], book.stake, theta, 1.0, g0, g1)
    if bets.r > 1:
        fill_odds(book.odds[1], book.stake, theta, float(bets.r), g0, g1)


@lean_kernel
def take_sums(book: Book, odds: F64, a: int, r: float, plays: float, total: float) -> None:
    """Take in plays of arm a by their sum; values inside (0, 1) then earn less (log is concave)."""
    lost = plays - total
    for g in range(book.mark[FIRST], book.mark[ENTERED]):
        book.P[a, g] += total * odds[0, g] + lost * odds[1, g]
        book.Q[a, g] += total * odds[2, g] + lost * odds[3, g]
    count(book, a, r, plays, total)


@lean_kernel
def take_missing(book: Book, odds: F64, a: int, r: float, plays: float) -> None:
    """Take in plays of arm a without rewards, at their worst: 0 in P, 1 in Q."""
    for g in range(book.mark[FIRST], book.mark[ENTERED]):
        book.P[a, g] += plays * odds[1, g]
        book.Q[a, g] += plays * odds[2, g]
    book.V[a] += plays / (r * r)
    book.gone[a] += plays / r


@lean_kernel
def take_alike(book: Book, a: int, r: float, plays: float, x: float) -> None:
    """Take in plays of arm a that all gave the reward x."""
    theta = book.theta[0]
    for g in range(book.mark[FIRST], book.mark[ENTERED]):
        z = (x - theta) * book.stake[g] / r
        book.P[a, g] += plays * math.log1p(z)
        book.Q[a, g] += plays * math.log1p(-z)
    count(book, a, r, plays, plays * x)


@lean_kernel
def take_one(book: Book, a: int, r: float, x: float) -> None:
    """Multiply by the factors of a single reward in [0, 1]; the sums are counted at the look."""
    theta, up, down = book.theta[0], book.up, book.down
    for g in range(book.mark[FIRST], book.mark[ENTERED]):
        z = (x - theta) * (book.stake[g] / r)
        up[a, g] *= 1.0 + z
        down[a, g] *= 1.0 - z
    book.factors[a] += 1
    if book.factors[a] == MOST_FACTORS:
        fold(book, a)


@lean_kernel
def fold(book: Book, a: int) -> None:
    """Bring the factors of single rewards into P and Q."""
    if book.factors[a] == 0:
        return
    for g in range(book.mark[FIRST], book.mark[ENTERED]):
        book.P[a, g] += math.log(book.up[a, g])
        book.Q[a, g] += math.log(book.down[a, g])
        book.up[a, g] = book.down[a, g] = 1.0
    book.factors[a] = 0


@lean_kernel
def count(book: Book, a: int, r: float, plays: float, total: float) -> None:
    """Count plays of arm a, r in a sweep, and their sum."""
    book.M[a] += total / r
    book.V[a] += plays / (r * r)
    book.S[a] += total
    book.N[a] += plays
