"""Bets and the empty book of betting learners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast.formulas.betting_elimination import ELIMINATION, log_threshold, sharpest_variance
from uli_fast.guarantees.betting_grid import grid
from uli_fast.learners._arms import empty_state, indexed

if TYPE_CHECKING:
    from collections.abc import Callable

    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.betting.book import Bets, Book
    from uli_fast.kernels.betting.coins import CoinBets, CoinBook
    from uli_fast.kernels.rewards.laws import Law

# Products of factors and sums of their logarithms may disagree when a log of money is as close.
MARGIN = 1e-9


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


def coin_bets(bets: Bets) -> CoinBets:
    """Return the bets as products need them: weights instead of their logs."""
    from uli_fast.kernels.betting.coins import CoinBets

    rest = np.concatenate([np.exp(bets.log_rest), np.zeros(3)])
    test = np.array([*bets.test.tolist(), MARGIN])
    return CoinBets(bets.u, rest, bets.enter, test, bets.r)


def coin_book(K: int, bets: Bets) -> CoinBook:
    """Return room for what a replication on K coins keeps."""
    from uli_fast.kernels.betting.coins import LONG_SWEEP, ROWS, WEIGHT, CoinBook

    rows, L = np.ones((K + ROWS, -(-bets.u.size // 4) * 8)), K + bets.r
    at = np.arange(bets.u.size) // 4 * 4 + np.arange(bets.u.size)
    rows[K + WEIGHT] = 0.0
    rows[K + WEIGHT, at] = rows[K + WEIGHT, at + 4] = np.exp(bets.log_w)
    return CoinBook(
        rows=rows,
        sums=np.zeros((4, K)),
        mark=np.zeros(5, np.int64),
        lost=np.zeros(1),
        order=np.zeros(L, np.int64),
        wins=np.zeros(L + LONG_SWEEP, np.int64),
        p=np.zeros(L + LONG_SWEEP),
    )


class CoinRuns:
    """Replications on coins; those that products cannot decide are played again by logarithms."""

    def __init__(
        self,
        law: Law,
        states: ArmState,
        record: RoundRecord,
        bets: Bets,
        horizon: int,
        by_logs: Callable[[Law, ArmState, RoundRecord], Callable[[int], bool]],
    ) -> None:
        self._rows, self._words = (law, states, record), law.words.copy()
        book, best = coin_book(law.mu.size, bets), int(np.argmax(law.mu))
        self._args = (law, states, record, coin_bets(bets), book, best, horizon)
        self._by_logs = by_logs
        self._again: Callable[[int], bool] | None = None

    def advance(self, budget: int) -> bool:
        """Play on; say whether all have reached the horizon."""
        from uli_fast.kernels.betting import coins

        if self._again is not None:
            self._again = None if self._again(budget) else self._again
            return False
        found = int(coins.play_coins(*self._args, budget))
        if found >= 0:
            self._again = self._from_the_start(found)
        return found == coins.DONE

    def _from_the_start(self, m: int) -> Callable[[int], bool]:
        (law, states, record), own = self._rows, slice(m, m + 1)
        law.words[own] = self._words[own]
        fresh = empty_state(law.mu.size, rows=(1,))
        for now, then in zip(states, fresh, strict=True):
            now[own] = then
        record.at[own] = 0
        alone = {name: getattr(law, name)[own] for name in ("words", "urn") if hasattr(law, name)}
        record = record._replace(plays=record.plays[own], at=record.at[own])
        return self._by_logs(law._replace(**alone), indexed(states, own), record)
