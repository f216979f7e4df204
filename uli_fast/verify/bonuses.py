"""Optimism with other bonuses: the lower bound needs no law of the iterated logarithm.

Theorem LB_lilUCB is said to hold for every bonus "in a similar form", also with log in place of
log log. It does, and sharply, for every U(n) = sqrt(h(n) / n) that falls while h does not: with
n the last count with U(n) > gap, U(n) - gap <= U(n) - U(n + 1) <= U(n) / (2 n + 1), because
U(n + 1) >= U(n) sqrt(n / (n + 1)). The worse of two deterministic arms is played once more when
the leader's bonus is down to U(n) - gap, after x >= h(n) / (U(n) / (2 n + 1))^2 = n (2 n + 1)^2
plays of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import NamedTuple

import uli_fast as uli
from uli_fast.lower_bounds import lil_ucb_last_play
from uli_fast.verify import VerifyOutcome, check
from uli_fast.verify.common import simulate

OPTIMISM = ("learners/lil_ucb.py", "lower_bounds.py", "verify/bonuses.py::last_mistake")
TESTS = "tests/verify/test_bonuses.py"
# Enough for gaps down to .01 and h up to sqrt(n): rounds have up to 45 digits there.
DIGITS = 80


class Bonus(NamedTuple):
    """U(n) = sqrt(h(n) / n), h = a log log n + b log n + c log(k / delta) + r sqrt(n)."""

    a: int
    b: int
    c: int
    k: int
    r: int = 0

    def height(self, n: int, delta: str) -> Decimal:
        """Return h(n), as exactly as the context says."""
        count = Decimal(n)
        log_log = count.ln().ln() if self.a and n > 2 else Decimal(0)
        log = count.ln() if self.b else Decimal(0)
        level = (Decimal(self.k) / Decimal(delta)).ln() if self.c else Decimal(0)
        root = count.sqrt() if self.r else Decimal(0)
        return self.a * log_log + self.b * log + self.c * level + self.r * root

    def rough(self, n: int, delta: float) -> float:
        """Return U(n) in double precision."""
        log_log = math.log(math.log(n)) if n > 2 else 0.0
        h = self.a * log_log + self.b * math.log(n) + self.c * math.log(self.k / delta)
        return math.sqrt((h + self.r * math.sqrt(n)) / n)


DELTA = "0.1"
LIL = "log log n + log(6 / delta)"
BONUSES = {
    LIL: Bonus(1, 0, 1, 6),
    "log(log n / delta)": Bonus(1, 0, 1, 1),
    "2 log log n + log(12 / delta)": Bonus(2, 0, 1, 12),
    "log n + log(6 / delta)": Bonus(0, 1, 1, 6),
    "2 log n + log(6 / delta)": Bonus(0, 2, 1, 6),
    "log(6 / delta)": Bonus(0, 0, 1, 6),
    "sqrt(n)": Bonus(0, 0, 0, 1, 1),
}
LATEST = 10**200
# Last mistakes up to this round are played one by one.
PLAYABLE = 50_000


class LastMistake(NamedTuple):
    """Plays of the worse arm before the last one, and of the leader by then."""

    n: int
    x: int

    @property
    def round(self) -> int:
        """The round of the last mistake."""
        return self.n + self.x + 1


def last_mistake(bonus: Bonus, gap: str) -> LastMistake:
    """Solve an optimistic learner on two deterministic arms: when it plays the worse one last."""

    def size(n: int) -> Decimal:
        return (bonus.height(n, DELTA) / n).sqrt()

    with localcontext(prec=DIGITS):
        width = Decimal(gap)
        n = _first(lambda k: size(k) <= width) - 1
        goal = size(n) - width
        return LastMistake(n, _first(lambda k: size(k) < goal))  # the better arm wins ties


def _first(holds: Callable[[int], bool]) -> int:
    """Return the smallest number from 1 on for which a lasting condition holds."""
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
        if high > LATEST:
            raise ValueError(f"not before {LATEST:.0e}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def play(bonus: Callable[[int, int], float], gap: float, T: int) -> list[int]:
    """Play two deterministic arms round by round; return the rounds of the worse one.

    ``bonus`` is told the round and the count.
    """
    n, rounds = [1, 1], [2]
    for t in range(3, T + 1):
        if bonus(t, n[1]) - gap > bonus(t, n[0]):
            n[1] += 1
            rounds.append(t)
        else:
            n[0] += 1
    return rounds


@check(
    "LB_lilUCB-similar",
    OPTIMISM,
    (
        f"{TESTS}::test_the_last_mistake_is_found_by_playing",
        f"{TESTS}::test_bonuses_fall_and_their_heights_do_not",
    ),
)
def similar(quick: bool) -> VerifyOutcome:
    """Theorem LB_lilUCB for bonuses in a similar form: log in place of log log, other constants.

    For any sqrt(h(n) / n) that falls while h does not, the last mistake on two deterministic
    arms has gap > sqrt(h(n)) / (3 t)^(1/4), and even t >= n (2 n + 1)^2 > 4 n^3.
    """
    gaps = ("0.5", "0.1", "0.03") if quick else ("0.5", "0.2", "0.1", "0.03", "0.01")
    fourth, cube, ends = math.inf, math.inf, {}
    for name, bonus in BONUSES.items():
        for gap in gaps:
            found = last_mistake(bonus, gap)
            root = math.sqrt(float(bonus.height(found.n, DELTA)))
            fourth = min(fourth, float(gap) * (3.0 * found.round) ** 0.25 / root)
            cube = min(cube, found.x / (found.n * (2 * found.n + 1) ** 2))
            ends[name, gap] = found.round
    same = all(ends[LIL, gap] == lil_ucb_last_play(float(gap), float(DELTA)) for gap in gaps)
    played = sum(plays_as_found(bonus) for bonus in BONUSES.values())
    known = "as" if same else "NOT as"
    log, log_log = ends["log n + log(6 / delta)", "0.1"], ends[LIL, "0.1"]
    return VerifyOutcome(
        f"{len(BONUSES)} bonuses, gaps {gaps[0]} to {gaps[-1]}, delta {DELTA}, in {DIGITS} digits; "
        "each played once to the end",
        f"gap / bound >= {fourth:.2f}, x / (n (2 n + 1)^2) >= {cube:.3f}; {played} of "
        f"{len(BONUSES)} plays end where found, lil'UCB's {known} known; last mistake at gap .1: "
        f"{log:.3g} with log n, {log_log:.3g} with log log n",
        fourth > 1.0 and cube >= 1.0 and same and played == len(BONUSES),
    )


def plays_as_found(bonus: Bonus) -> bool:
    """Play the widest gap whose last mistake comes soon, half as long again."""
    for percent in range(90, 9, -1):
        gap = f"0.{percent:02d}"
        found = last_mistake(bonus, gap)
        if found.round <= PLAYABLE:
            rounds = play(
                lambda t, n: bonus.rough(n, float(DELTA)), float(gap), 3 * found.round // 2
            )
            return rounds[-1] == found.round and len(rounds) == found.n + 1
    raise ValueError(f"no last mistake of {bonus} within {PLAYABLE} rounds")


def just_below(bonus: Bonus, n: int, digits: int) -> str:
    """Return a gap that is less than 10^-digits below U(n), to twice as many digits."""
    with localcontext(prec=DIGITS):
        size = (bonus.height(n, DELTA) / n).sqrt() - Decimal(10) ** -digits / 2
        return str(round(size, 2 * digits))


@check(
    "LB_lilUCB-none",
    OPTIMISM,
    (
        f"{TESTS}::test_the_last_mistake_is_found_by_playing",
        f"{TESTS}::test_a_gap_just_below_a_bonus_is_played_late",
        "tests/test_lower_bounds.py::test_equals_an_independent_solution_and_keeps_every_bound",
    ),
)
def no_rate_at_all(quick: bool) -> VerifyOutcome:
    """Theorem LB_lilUCB, the question left open: lil'UCB is not ULI with any F that falls to 0.

    A gap just below U(n) brings back an arm with n plays when the leader's bonus is down to
    U(n) - gap, as late as one likes: the gap stays, the round does not. The same holds
    for every bonus that depends on counts alone.
    """
    digits, power, least, n = (3, 5, 7), math.inf, math.inf, 40
    for bonus in BONUSES.values():
        gaps = [just_below(bonus, n, k) for k in digits]
        found = [last_mistake(bonus, gap) for gap in gaps]
        assert all(each.n == n for each in found)
        least = min(least, *(float(gap) for gap in gaps))
        slope = math.log10(found[2].round / found[1].round) / (digits[2] - digits[1])
        power = min(power, slope)
    seen, told = 0, []
    for k in (3,) if quick else (3, 4):
        gap = just_below(BONUSES[LIL], n, k)
        late = last_mistake(BONUSES[LIL], gap).round
        problem = uli.DeterministicBandit([1.0, 1.0 - float(gap)])
        run = simulate(uli.LilUCB(float(DELTA)), problem, 10 * late)
        seen += int(run.last_play[0, 1]) == late
        told.append(f"{late:.3g}")
    return VerifyOutcome(
        f"{len(BONUSES)} bonuses, gaps 5e-4 to 5e-8 below U({n}), exactly; lil'UCB played "
        f"at {len(told)} of them",
        f"gaps of at least {least:.2f} are played in rounds that grow with (U - gap)^-{power:.2f} "
        f"or faster; {seen} of {len(told)} plays of lil'UCB end as solved, at {', '.join(told)} "
        f"with gaps of {float(gap):.2f}",
        power > 1.99 and least > 0.2 and seen == len(told),
    )


# Bonuses with log t, on two arms; none is bounded in t.
BY_ROUND: dict[str, Callable[[int, int], float]] = {
    "UCB1": lambda t, n: math.sqrt(2.0 * math.log(t) / n),
    "MOSS": lambda t, n: math.sqrt(max(math.log(t / (2.0 * n)), 0.0) / n),
    "UCB, delta .1": lambda t, n: math.sqrt(math.log(20.0 * float(t) ** 2) / n),
}


def return_round(bonus: Callable[[int, int], float], gap: float, number: int) -> int:
    """Return the round of the worse arm's play of this number, n - 1 of them being behind it."""
    return _first(lambda k: bonus(k + number, number - 1) - bonus(k + number, k) > gap) + number


@check(
    "select_arm_opt_alg-log-t",
    ("learners/ucb.py", "verify/bonuses.py::return_round", "guarantees/guarantee.py"),
    (f"{TESTS}::test_returns_are_those_of_a_run",),
)
def with_log_t(quick: bool) -> VerifyOutcome:
    """Eq. select_arm_opt_alg, other variants with log t in the bonus: none is ULI.

    UCB1, MOSS without a horizon and UCB come back to the worse of two deterministic arms for
    ever, whatever F allows.
    """
    gap, T, right, told = 0.4, 20_000 if quick else 200_000, 0, []
    excluded = uli.SuccessiveElimination(0.1).guarantee(2, form="paper").rounds_until(gap)
    least = math.inf
    for name, bonus in BY_ROUND.items():
        rounds = play(bonus, gap, T)
        numbers = range(2, len(rounds) + 2)
        found = [return_round(bonus, gap, n) for n in numbers]
        right += rounds[1:] == [t for t in found if t <= T]
        far = [return_round(bonus, gap, n) for n in (100, 200, 400)]
        least = min(least, sum(excluded < t for t in far))
        told.append(f"{name} {far[0]:.1g}, {far[1]:.1g}, {far[2]:.1g}")
    return VerifyOutcome(
        f"deterministic rewards, gap {gap}, {T} rounds played; returns solved beyond",
        f"{right} of {len(BY_ROUND)} runs return as solved; plays 100, 200, 400 of the worse arm "
        f"come at {'; '.join(told)} (F of SE-MAB excludes it from {excluded} on)",
        right == len(BY_ROUND) and least >= 2,
    )
