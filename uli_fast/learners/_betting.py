"""The grid of bets and the empty book of betting learners."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from uli_fast._looks import ELIMINATION, log_threshold, sharpest_variance
from uli_fast._typing import F64, I64

if TYPE_CHECKING:
    from uli_fast.kernels._book import Bets, Book

# Bets sqrt(2) 2^(-k/2): the last of them enters before 10^18 rounds are over.
GRID = 67
# A bet enters where n u^2 reaches 1/100: before, it would neither win nor lose.
ENTRY = 200


@lru_cache(maxsize=1)
def grid() -> tuple[F64, F64, F64, I64]:
    """Return sizes, log weights, the logs of what is left of them, and the looks of entry."""
    k = np.arange(float(GRID))
    w = (k + 8.0) ** -1.5
    w /= w.sum()
    with np.errstate(divide="ignore"):
        rest = np.log(np.append(np.cumsum(w[::-1])[::-1], 0.0))
    rest[0] = 0.0
    enter = np.array([2**i // ENTRY for i in range(GRID)], np.int64)
    return math.sqrt(2.0) * 2.0 ** (-k / 2.0), np.log(w), rest, enter


def new_bets(K: int, delta: float, R: float, r: int, bounded: bool) -> Bets:
    """Return the bets on K arms at level delta, whole; none but the mixture if unbounded."""
    from uli_fast.kernels._book import Bets

    u, log_w, rest, enter = grid()
    if not bounded:
        u, log_w, rest, enter = u[:0], log_w[:0], rest[-1:], enter[:0]
    test = np.array([log_threshold(K, ELIMINATION * delta), R, sharpest_variance(R)])
    return Bets(u.copy(), log_w.copy(), rest.copy(), enter.copy(), test, r)


def new_book(K: int, bets: Bets) -> Book:
    """Return the book before the first sweep: theta is 1/2, nobody leads."""
    from uli_fast.kernels._book import Book, set_bets

    G = bets.u.size
    rows = {name: np.zeros((K, G)) for name in ("P", "Q")}
    factors = {name: np.ones((K, G)) for name in ("up", "down")}
    sums = {name: np.zeros(K) for name in ("M", "gone", "V", "S", "N")}
    book = Book(
        **rows,
        **factors,
        factors=np.zeros(K, np.int64),
        **sums,
        theta=np.zeros(1),
        stake=np.zeros(G),
        odds=np.zeros((2, 4, G)),
        mark=np.array([0, -1, 0, 0, 1], np.int64),
    )
    set_bets(book, bets, 0.5)
    return book
