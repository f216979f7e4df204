"""Bets and the empty book of betting learners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast.guarantees.betting_grid import grid
from uli_fast.guarantees.betting_looks import ELIMINATION, log_threshold, sharpest_variance

if TYPE_CHECKING:
    from uli_fast.kernels.betting.book import Bets, Book


def new_bets(K: int, delta: float, R: float, r: int, bounded: bool) -> Bets:
    """Return the bets on K arms at level delta, whole; none but the mixture if unbounded."""
    from uli_fast.kernels.betting.book import Bets

    u, log_w, rest, enter = grid()
    if not bounded:
        u, log_w, rest, enter = u[:0], log_w[:0], rest[-1:], enter[:0]
    test = np.array([log_threshold(K, ELIMINATION * delta), R, sharpest_variance(R)])
    return Bets(u.copy(), log_w.copy(), rest.copy(), enter.copy(), test, r)


def new_book(K: int, bets: Bets) -> Book:
    """Return the book before the first sweep: theta is 1/2, nobody leads."""
    from uli_fast.kernels.betting.book import Book, set_bets

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


def new_books(K: int, bets: Bets, M: int) -> Book:
    """Return the books of M replications before the first sweep."""
    book: Any = new_book(K, bets)
    books: Book = type(book)(*(np.repeat(x[None], M, axis=0) for x in book))
    return books
