"""The two-armed instances of the lower bounds, solved exactly.

Rewards are deterministic, so a run is a sequence of events, and each is found by bisection.
Numbers are read as they are written (0.1 is one tenth), compared in decimal arithmetic with
as many digits as the answer needs, and rounds are Python ints: doubles tell neighbouring
rounds apart down to gaps of about 0.1 only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from uli_fast import _check
from uli_fast.errors import ArgumentError

# Rounds beyond 10**LARGEST_POWER are not computed.
LARGEST_POWER = 300


class Stay(NamedTuple):
    """How long a learner that eliminates keeps the worse arm.

    Attributes
    ----------
    plays
        Of the worse arm, in all.
    last_round
        The round of the last one.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import uli_fast as uli
    >>> uli.lower_bounds.pe_stay(Fraction(1, 10), Fraction(1, 20), Fraction(1, 2)).plays > 0
    True
    """

    plays: int  # of the worse arm, in all
    last_round: int  # whose reward removed it


@dataclass(frozen=True)
class LilLowerBound:
    """Theorem LB_lilUCB on two arms: when lil'UCB plays the worse one for the last time.

    With U the bonus, n = max{n: U(n) > gap} and x = min{x: U(x) <= U(n) - gap}, the worse
    arm is played n + 1 times, the last at round n + x + 1.

    Examples
    --------
    >>> import uli_fast as uli
    >>> found = uli.lower_bounds.lil_ucb_lower_bound(0.2, 0.05)
    >>> found.last_play, found.theorem_holds
    (226007056, True)
    """

    gap: Fraction
    delta: Fraction
    n: int
    x: int

    @property
    def last_play(self) -> int:
        """The round t0 = n + x + 1."""
        return self.n + self.x + 1

    @cached_property
    def constant(self) -> float:
        """The c = log log(log(6 / delta) / gap^2) + log(6 / delta) of the theorem."""
        level = math.log(6.0 / self.delta)
        return math.log(math.log(level / self.gap**2)) + level

    @property
    def count_holds(self) -> bool:
        """Whether n >= floor(c / gap^2), the proof's first step."""
        return self.n >= math.floor(self.constant / self.gap**2)

    @property
    def theorem_holds(self) -> bool:
        """Whether gap > sqrt(c) / (3 t0)^(1/4)."""
        return 3.0 * float(self.gap) ** 4 * self.last_play > self.constant**2

    @property
    def cubic_holds(self) -> bool:
        """Whether x >= 4 n^3, which makes t0 of order gap^-6."""
        return self.x >= 4 * self.n**3


def lil_ucb_lower_bound(gap: float, delta: float) -> LilLowerBound:
    """Solve lil'UCB on two deterministic arms with rewards in [0, 1], ``gap`` apart.

    Parameters
    ----------
    gap
        Between the two rewards, in (0, 1).
    delta
        Of lil'UCB.

    Returns
    -------
    LilLowerBound
        Exact, with whole numbers.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.lower_bounds.lil_ucb_lower_bound(0.1, 0.05).cubic_holds
    True
    """
    width, level = _unit("gap", gap), _unit("delta", delta)
    n = lil_plays(width, level) - 1
    return LilLowerBound(width, level, n, lil_round(n + 1, width, level) - n - 1)


def lil_ucb_last_play(gap: float, delta: float) -> int:
    """Return the last round in which lil'UCB plays the worse of two deterministic arms.

    Parameters
    ----------
    gap
        Between the two rewards, in (0, 1).
    delta
        Of lil'UCB.

    Returns
    -------
    int
        The round, a Python integer of any size.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.lower_bounds.lil_ucb_last_play(0.1, 0.05)
    1618401761
    """
    return lil_ucb_lower_bound(gap, delta).last_play


def ucb_play_rounds(gap: float, delta: float, plays: Iterable[int]) -> list[int]:
    """Return the rounds in which UCB plays the worse of two deterministic arms.

    Entry i is the round of play number ``plays[i]``. There is one for every number: UCB
    comes back for ever, the n-th time at about sqrt(delta / 2) exp(n gap^2 / 2).

    Parameters
    ----------
    gap
        Between the two rewards, in (0, 1).
    delta
        Of UCB.
    plays
        Which plays of the worse arm: 1 is the first.

    Returns
    -------
    list of int
        Rounds, Python integers of any size.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.lower_bounds.ucb_play_rounds(0.5, 0.05, [1, 2, 100])
    [2, 4, 89206]
    """
    width, level = _unit("gap", gap), _unit("delta", delta)
    numbers = [_check.whole("plays", n) for n in plays]
    rounds = [ucb_round(n, width, level) for n in numbers]
    for n, found in zip(numbers, rounds, strict=True):
        if found is None:
            raise ArgumentError("plays", f"number {n} comes after 10**{LARGEST_POWER} rounds")
    return rounds  # type: ignore[return-value]


def as_written(value: Any) -> Fraction:
    """Return a number as its shortest decimal says: 0.1 is one tenth.

    Parameters
    ----------
    value
        A number.

    Returns
    -------
    Fraction
        What its shortest decimal says.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.lower_bounds.as_written(0.1)
    Fraction(1, 10)
    """
    return Fraction(str(value))


def ucb_round(n: int, gap: Fraction, delta: Fraction) -> int | None:
    """Return the round of UCB's n-th play of the worse arm, None beyond 10**LARGEST_POWER.

    With n - 1 plays behind it, it is the first t with
    sqrt(log(2 t^2 / delta)) (1 / sqrt(n - 1) - 1 / sqrt(t - n)) > gap. The left side grows
    with t and falls with n, and more from n - 1 to n than it grows in a round, so no earlier
    play has to be known.

    Parameters
    ----------
    n
        Which play of the worse arm: 1 is the first.
    gap, delta
        As fractions.

    Returns
    -------
    int or None
        The round.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import uli_fast as uli
    >>> uli.lower_bounds.ucb_round(2, Fraction(1, 2), Fraction(1, 20))
    4
    """
    if n == 1:
        return 2
    power = float(n * gap**2) / 4.6  # of ten, roughly
    if power > LARGEST_POWER:
        return None
    with localcontext(prec=50 + 2 * len(str(n)) + int(1.2 * power)):
        width, start = _decimal(gap), 1 / Decimal(n - 1).sqrt()

        def returns(t: int) -> bool:
            level = (_decimal(2 / delta) * t * t).ln().sqrt()
            return level * (start - 1 / Decimal(t - n).sqrt()) > width

        return _first(returns, n + 1)


def lil_plays(gap: Fraction, delta: Fraction) -> int:
    """Return how often lil'UCB plays the worse arm in all: n + 1, n = max{n: U(n) > gap}.

    Parameters
    ----------
    gap, delta
        As fractions.

    Returns
    -------
    int
        The number of plays.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import uli_fast as uli
    >>> uli.lower_bounds.lil_plays(Fraction(1, 5), Fraction(1, 20))
    161
    """
    with localcontext(prec=_lil_digits(gap)):
        width, level = _decimal(gap), _decimal(6 / delta).ln()
        return _first(lambda n: _lil_bonus(n, level) <= width, 1)


def lil_round(n: int, gap: Fraction, delta: Fraction) -> int:
    """Return the round of lil'UCB's n-th play of the worse arm, n <= lil_plays(gap, delta).

    Parameters
    ----------
    n
        Which play of the worse arm: 1 is the first.
    gap, delta
        As fractions.

    Returns
    -------
    int
        The round.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import uli_fast as uli
    >>> uli.lower_bounds.lil_round(10, Fraction(1, 5), Fraction(1, 20))
    27
    """
    if n == 1:
        return 2
    with localcontext(prec=_lil_digits(gap)):
        level = _decimal(6 / delta).ln()
        goal = _lil_bonus(n - 1, level) - _decimal(gap)
        return n + _first(lambda x: _lil_bonus(x, level) <= goal, 1)


def _lil_digits(gap: Fraction) -> int:
    """Return the digits that tell U(x) from U(x + 1) at x of order gap^-6 and well beyond."""
    return 60 + 12 * len(str(math.ceil(1 / gap)))


def _lil_bonus(x: int, level: Decimal) -> Decimal:
    """Return U(x) = sqrt((log log max(x, e) + log(6 / delta)) / x)."""
    count = Decimal(x)
    return ((level + (count.ln().ln() if x > 2 else 0)) / count).sqrt()


def se_stay(gap: Fraction, delta: Fraction, worse_first: bool) -> Stay:
    """Return how long successive elimination keeps the worse of two arms.

    Counts go (2, 1), (2, 2), (3, 2), ... in index order; the widths are those of R = 1/2.

    Parameters
    ----------
    gap, delta
        As fractions.
    worse_first
        Whether the worse arm has the smaller index.

    Returns
    -------
    Stay
        Plays, and the last round.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import uli_fast as uli
    >>> uli.lower_bounds.se_stay(Fraction(1, 5), Fraction(1, 20), worse_first=True)
    Stay(plays=939, last_round=1877)
    """
    with localcontext(prec=60):
        goal, level = _decimal(gap), _decimal(8 / delta).ln()

        def width(n: int) -> Decimal:
            return ((level + 2 * Decimal(n).ln()) / (2 * n)).sqrt()

        last = _first(lambda t: width((t + 1) // 2) + width(t // 2) < goal, 3)
        return Stay((last + worse_first) // 2, last)


def pe_stay(gap: Fraction, delta: Fraction, R: Fraction) -> Stay:
    """Return how long phased elimination keeps the worse of two arms: while gap <= 2^-l.

    Parameters
    ----------
    gap, delta, R
        As fractions.

    Returns
    -------
    Stay
        Plays, and the last round.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import uli_fast as uli
    >>> uli.lower_bounds.pe_stay(Fraction(1, 5), Fraction(1, 20), Fraction(1, 2))
    Stay(plays=1179, last_round=2358)
    """
    with localcontext(prec=60):
        plays, phase = 0, 0
        while phase == 0 or gap * 2**phase <= 1:
            phase += 1
            level = _decimal(8 * phase**2 / delta).ln()
            plays += max(1, math.ceil(_decimal(R**2 * 2 ** (2 * phase + 3)) * level))
        return Stay(plays, 2 * plays)


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def _first(holds: Callable[[int], bool], least: int) -> int:
    """Return the smallest whole number from ``least`` on for which a lasting condition holds."""
    low, high = least - 1, least
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _unit(name: str, value: Any) -> Fraction:
    _check.in_open_unit(name, value)
    return as_written(value)
