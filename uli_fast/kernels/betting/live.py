"""Elimination by betting, live: what came since the last look, and what is certain after it.

With immediate rewards a look is the simulation's, operation by operation.
"""

from __future__ import annotations

import math

import numpy as np

from uli_fast._typing import B1, F64, I64
from uli_fast.formulas.betting_elimination import mixture_level
from uli_fast.formulas.mixture import ROUNDING, outer_boundary
from uli_fast.kernels._jit import kernel
from uli_fast.kernels.betting.book import (
    ENTERED,
    FIRST,
    SWEEPS,
    Bets,
    Book,
    count,
    fill_odds,
    fold,
    take_missing,
    take_sums,
)
from uli_fast.kernels.betting_elimination import eliminate

# Columns of what came (K, 6): plays with rewards 0 and 1 and how many were 1, plays with others
# and their sum, plays whose reward is missing, plays left out.
PLAYS, WINS, OTHERS, SUM, MISSING, OMITTED = 0, 1, 2, 3, 4, 5
OUTWARD, EPSILON = 1.0 + 1e-9, 2.0**-52  # of what is left after cancelling, of numbers up to 1
HALVINGS = 70  # of bisection, until the last digit


@kernel
def enter(book: Book, bets: Bets, new: F64, a: int, r: int) -> None:
    """Enter the plays (6,) of arm a that came, r in a sweep, and forget them."""
    each, odds = float(r), book.odds[int(r > 1)]
    if bets.u.shape[0] == 0:
        new[SUM] += new[WINS]
        new[OTHERS] += new[PLAYS]
        new[PLAYS] = 0.0
    if new[PLAYS] > 0.0:
        take_sums(book, odds, a, each, new[PLAYS], new[WINS])
    if new[MISSING] > 0.0:
        take_missing(book, odds, a, each, new[MISSING])
    if new[OTHERS] > 0.0:
        fold(book, a)
        count(book, a, each, new[OTHERS], new[SUM])
    if new[OMITTED] > 0.0 and book.N[a] > 0.0:
        # Nothing is certified any more; the arm's own mean keeps it from falling behind.
        book.M[a] += new[OMITTED] / each * (book.S[a] / book.N[a])
    new[:] = 0.0


@kernel
def enter_all(book: Book, bets: Bets, active: B1, came: F64, leader: int) -> None:
    """Enter what came (K, 6) of sweeps that were asked for under one leader and theta."""
    for a in range(active.shape[0]):
        if active[a]:
            enter(book, bets, came[a], a, bets.r if a == leader else 1)
        else:
            came[a] = 0.0


@kernel
def enter_block(
    book: Book, bets: Bets, active: B1, plays: F64, total: F64, missing: F64, sweeps: int
) -> None:
    """Enter plays of every survivor by their sums: sweeps of plays / sweeps, a real number."""
    G = bets.u.shape[0]
    odds = np.zeros((4, G))
    for a in range(active.shape[0]):
        if not active[a]:
            continue
        r = plays[a] / sweeps
        if G > 0:
            theta, mark = book.theta[0], book.mark
            fill_odds(odds, book.stake, theta, r, mark[FIRST], mark[ENTERED])
        take_sums(book, odds, a, r, plays[a] - missing[a], total[a])
        if missing[a] > 0.0:
            take_missing(book, odds, a, r, missing[a])


@kernel
def look(book: Book, bets: Bets, active: B1, eliminated: I64, t: int, sweeps: int) -> float:
    """Drop what the leader beats after some more sweeps; return what no survivor's gap exceeds."""
    book.mark[SWEEPS] += sweeps
    eliminate(book, bets, active, eliminated, t)
    return gap_bound(book, bets, active)


@kernel
def gap_bound(book: Book, bets: Bets, active: B1) -> float:
    """Return what no survivor's gap exceeds on the event of the proof.

    With a* the best arm n gap_a = (M_a* - M_a) + N_a, N_a < c(V_a + V_a*), and a* is among the
    survivors (docs/proofs.md). Missing rewards are 1 in M_a* and 0 in M_a.
    """
    R, rho, n = bets.test[1], bets.test[2], float(book.mark[SWEEPS])
    level = mixture_level(bets.test[0], bets.u.shape[0] > 0)
    worst, widest = 0.0, 0.0
    for a in range(active.shape[0]):
        if active[a]:
            widest = max(widest, book.V[a])
    most = outer_boundary(2.0 * R * R * widest, level, rho) if n > 0.0 else 0.0
    for a in range(active.shape[0]):
        for j in range(active.shape[0]):
            if active[a] and active[j] and a != j:
                D = book.M[j] + book.gone[j] - book.M[a]
                if D + most > worst:  # else it cannot be the worst pair
                    v = R * R * (book.V[a] + book.V[j])
                    worst = max(worst, D + outer_boundary(v, level, rho))
    return worst / n * (1.0 + ROUNDING) if n > 0.0 else np.inf


@kernel
def excess(x: float) -> float:
    """Return log Gamma(x + 1/2) - (x log x - x + log(2 pi) / 2), which vanishes as x grows."""
    if x < 20.0:
        power = x * math.log(x) if x > 0.0 else 0.0
        return math.lgamma(x + 0.5) - power + x - 0.5 * math.log(2.0 * math.pi)
    y = 1.0 / (x * x)
    return (-1.0 / 24.0 + y * (7.0 / 2880.0 - y * (31.0 / 40320.0))) / x


@kernel
def spare(total: float, plays: float, level: float) -> float:
    """Return how large plays KL(mean, p) may be for p to be in the beta-binomial interval.

    That is level - log KT + the largest log-likelihood, by Stirling's series so that nothing
    cancels: log KT = log B(S + 1/2, N - S + 1/2) - log pi.
    """
    of_sum = 0.5 * math.log(2.0 * math.pi * plays) + 1.0 / (12.0 * plays)
    kt = excess(total) + excess(plays - total) + math.log(2.0 * math.pi)
    # log Gamma(N + 1) = N log N - N + of_sum at most: the interval is a little wider.
    return level - (kt - of_sum - math.log(math.pi))


@kernel
def divergence(p: float, d: float) -> float:
    """Return KL(p, p + d)."""
    q, found = 1.0 - p, 0.0
    if p > 0.0:
        found -= p * math.log1p(max(d / p, -1.0))
    if q > 0.0:
        found -= q * math.log1p(max(-d / q, -1.0))
    return found


@kernel
def reach(p: float, room: float, sign: float) -> float:
    """Return how far from p one may go up (1) or down (-1) until KL(p, .) is room, or more."""
    near, far = 0.0, math.sqrt(room / 2.0)  # Pinsker: KL is at least 2 d^2
    far = min(far, 1.0 - p if sign > 0.0 else p)
    if divergence(p, sign * far) <= room:
        return far
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        if divergence(p, sign * middle) > room:
            far = middle
        else:
            near = middle
    return far


@kernel
def beta_binomial(plays: float, total: float, missing: float, level: float) -> tuple[float, float]:
    """Return the ends of a beta-binomial confidence sequence.

    It holds for rewards in [0, 1] by convexity. A missing reward is 0 for the lower end and 1
    for the upper one.
    """
    low, high = min(max(total, 0.0), plays), min(max(total + missing, 0.0), plays)
    least, most = low / plays, high / plays
    room = spare(low, plays, level) * OUTWARD / plays
    lower = least - reach(least, room, -1.0) * OUTWARD - EPSILON
    if missing > 0.0:
        room = spare(high, plays, level) * OUTWARD / plays
    upper = most + reach(most, room, 1.0) * OUTWARD + EPSILON
    return max(lower, 0.0), min(upper, 1.0)


@kernel
def half_width(plays: float, R: float, rho: float, level: float) -> float:
    """Return half the width of a two-sided normal-mixture confidence sequence."""
    v = R * R * plays + rho
    return math.sqrt(v * (2.0 * level + math.log(v / rho))) / plays * (1.0 + ROUNDING)


@kernel
def normal_mixture(
    plays: float, total: float, R: float, rho: float, level: float
) -> tuple[float, float]:
    """Return the ends of a two-sided normal-mixture confidence sequence."""
    half = half_width(plays, R, rho, level)
    return total / plays - half, total / plays + half


@kernel
def narrow(
    known: F64, a: int, plays: int, total: float, missing: int, level: float, R: float, rho: float
) -> None:
    """Keep (2, K) what the interval of arm a says, beta-binomial if R is 0, else a mixture."""
    if R == 0.0:
        lower, upper = beta_binomial(float(plays), total, float(missing), level)
    else:
        lower, upper = normal_mixture(float(plays), total, R, rho, level)
    known[0, a] = max(known[0, a], lower)
    known[1, a] = min(known[1, a], upper)
