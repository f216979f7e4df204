"""F_ULI(delta, t): how bad a played arm can still be, and what follows from it.

With probability 1 - delta the gap of what is played at every round t is at most
``bound(t)``. A bound that holds at every round counts the rounds that may be
worse than eps (uniform PAC) and bounds the regret (Theorem ULI_implications).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._support.html import as_shown, facts
from uli_fast._typing import F64
from uli_fast.errors import ArgumentError, NoGuaranteeError, RuleError
from uli_fast.guarantees import bounds
from uli_fast.guarantees.bounds import Bound, Constant

# Why a run's F is withdrawn: said of runs, and of live certificates.
WITHDRAWN = "rounding leaves less of the differences of arms than F counts on"
# Rounds summed one by one before an integral takes over.
_SUMMED = 10**5
# Intervals, each with the bound of its first round, where an integral would not do.
_STEPS = 20_000


def confidence(delta: float) -> str:
    """Return 1 - delta as text, never rounded to certainty."""
    said = f"{1.0 - delta:g}"
    return said if float(said) < 1.0 else f"1 - {delta:g}"


@dataclass(frozen=True)
class Guarantee:
    """With probability 1 - delta, every round's gap is at most ``bound(t)``.

    ``learner.guarantee(problem)`` or ``learner.guarantee(K)`` makes it. What to call first:
    ``bound(t)``, ``rounds_until(eps)``, ``regret(T)``.

    Attributes
    ----------
    formula
        The name of a proved bound; or "user" for a ``function`` that is the user's claim and is
        not checked here.
    delta
        The probability with which it may fail.
    scale
        Reward units per unit of the formula.

    Examples
    --------
    >>> import uli_fast as uli
    >>> promise = uli.SuccessiveElimination(0.05).guarantee(2)
    >>> promise.proved, promise.bound(10**6) < promise.bound(10**4)
    (True, True)
    >>> last = promise.rounds_until(0.1)
    >>> promise.bound(last) > 0.1 >= promise.bound(last + 1)
    True
    """

    formula: str
    delta: float
    parameters: Mapping[str, float] = field(default_factory=dict)
    scale: float = 1.0
    function: Callable[[float], float] | None = field(default=None, repr=False)

    def bound(self, t: Any) -> Any:
        """Return F(delta, t) in reward units, for a round or an array of rounds."""
        try:
            rounds = np.asarray(t, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("t", f"must be rounds (numbers), got {t!r}") from None
        if not ((rounds >= 1.0) & (rounds < np.inf)).all():
            raise ArgumentError("t", f"must be at least 1, got {t!r}")
        if type(t) is int and self.proved and self.parameters.get("K") != 1:
            table = self._proved.table
            if table is not None:
                return self.scale * table(self.delta, self.parameters).at(t)
        values = self.scale * self._unit(rounds)
        return float(values) if rounds.ndim == 0 else values

    def _unit(self, t: F64) -> F64:
        if self.function is not None:
            return np.asarray(np.vectorize(self.function, otypes=[float])(t))
        if self.parameters.get("K") == 1:
            return np.zeros_like(t)  # a single arm has no gap
        return self._proved.at(t, self.delta, self.parameters)

    @property
    def _proved(self) -> Bound:
        return bounds.find(self.formula)

    @property
    def proved(self) -> bool:
        """Whether the bound is a theorem (rather than a user's claim)."""
        return self.function is None

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The numbers of the bound and where they come from."""
        if self.function is not None:
            claim = "the user's claim (Theorem SC, or the Condition); not verified"
            return (Constant("user", math.nan, claim),)
        found = self._proved.sources
        return found(self.parameters) if callable(found) else found

    @property
    def largest_gap(self) -> float:
        """No gap is larger, in reward units, whatever the bound; infinite where none is known."""
        return self.scale * self.parameters.get("largest_gap", math.inf)

    def rounds_until(self, eps: float, gaps: Any = None) -> int:
        """Return the largest t with bound(t) > eps, 0 if there is none.

        Every later decision is within eps of the best; this is F_UPAC(delta, eps). Where
        the ``gaps`` are known, it is the largest t at which the bound still allows one
        above eps.
        """
        eps = _check.positive("eps", eps)
        if gaps is not None:
            above = [gap for gap in self._sizes(gaps) if gap > eps]
            # bound(t) = gap allows the gap
            return self.rounds_until(math.nextafter(min(above), 0.0)) if above else 0
        if self.function is not None:
            return self._last_above(eps)
        return self._last(lambda t: self.bound(t) > eps)

    @staticmethod
    def _last(holds: Callable[[int], bool]) -> int:
        """Return the largest t for which a monotone condition holds, 0 if none."""
        if not holds(1):
            return 0
        low, high = 1, 2
        while holds(high):
            low, high = high, 2 * high
            if high > 2**400:
                raise ArgumentError("eps", "is so small that it takes more than 2**400 rounds")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    def _last_above(self, eps: float) -> int:
        """Search a user's f: every round to 10**4, then a grid to 10**18, then bisection."""
        near = np.arange(1.0, 10.0**4)
        grid = np.unique(np.geomspace(10.0**4, 10.0**18, 2000).round())
        values = self.bound(np.concatenate([near, grid]))
        if np.isnan(values).any():
            raise NoGuaranteeError("the given f is NaN at some rounds")
        above = np.concatenate([near, grid])[values > eps]
        if above.size == 0:
            return 0
        low = int(above[-1])
        if low >= 10**18:
            raise NoGuaranteeError(f"the given f does not fall to {eps:g} within 10**18 rounds")
        beyond = grid[grid > low]
        high = low + 1 if low + 1 < 10**4 else int(beyond[0])
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.bound(middle) > eps else (low, middle)
        return low

    def regret(self, T: int, gaps: Any = None) -> float:
        """Bound the pseudo-regret over T rounds, for any T, on the same event.

        Without ``gaps`` each round costs at most min(largest gap, bound(t)); with
        them a gap is charged only to rounds where the bound still allows it.
        """
        T = _check.whole("T", T)
        if self.function is not None:
            raise NoGuaranteeError("regret needs a bound known to decrease; a user's f may not")
        if gaps is None:
            return self._regret_gap_free(T)
        total, before = 0.0, 0
        for gap in self._sizes(gaps):
            last = min(T, self._last(lambda t, gap=gap: self.bound(t) >= gap))  # type: ignore[misc]
            total += gap * (last - before)
            before = last
        return total

    @staticmethod
    def _sizes(gaps: Any) -> list[float]:
        """Return the distinct positive gaps, the largest first."""
        sizes = _check.vector("gaps", gaps)
        if (sizes < 0.0).any():
            raise ArgumentError("gaps", f"must not be negative, got {sizes.min():g}")
        return sorted({float(g) for g in sizes if g > 0.0}, reverse=True)

    def _regret_gap_free(self, T: int) -> float:
        worst = self.largest_gap
        if worst == 0.0 or self.parameters.get("K") == 1:
            return 0.0
        proved = self._proved
        if proved.steps is not None:
            total, before = 0.0, 0
            for last, height in proved.steps(self.delta, self.parameters, T):
                total += (last - before) * min(worst, self.scale * height)
                before = last
            return total
        start, even = proved.start(self.parameters)
        first = min(T, max(start, self.rounds_until(worst)))
        total = worst * first
        stop = min(T, first + _SUMMED)
        total += float(np.sum(self.bound(np.arange(first + 1.0, stop + 1.0))))
        if stop < min(T, even):
            total += (min(T, even) - stop) * self.bound(even)
            stop = min(T, even)
        return total + (self._integral(stop, T) if stop < T else 0.0)

    def _integral(self, a: int, b: int) -> float:
        """Integrate the bound over [a, b]: not less than its sum over a+1..b, as it falls."""
        if self._proved.kinks:
            edges = np.geomspace(a, b, _STEPS + 1)
            return float(np.sum(np.diff(edges) * self.bound(edges[:-1])))
        panels = max(1, math.ceil(math.log(b / a)))
        edges = np.linspace(math.log(a), math.log(b), panels + 1)
        nodes, weights = np.polynomial.legendre.leggauss(16)
        half = np.diff(edges)[:, None] / 2.0
        u = (edges[:-1, None] + edges[1:, None]) / 2.0 + half * nodes
        t = np.exp(u)
        return float(np.sum(half * weights * self._smooth(t) * t))

    def _smooth(self, t: F64) -> F64:
        """Return a bound without steps, not below this one."""
        smooth = self._proved.smooth
        return np.asarray(
            self.bound(t) if smooth is None else self.scale * smooth(t, self.delta, self.parameters)
        )

    def __str__(self) -> str:
        """Say in two sentences what is certain, and by what."""
        sure = f"with probability {confidence(self.delta)} the gap of every round t is at most F(t)"
        given = "".join(f", {name} = {value:g}" for name, value in self.parameters.items())
        if not self.proved:
            return f"By a user's claim, not proved, {sure}{given}."
        values = ", ".join(f"{self.bound(t):.3g} at t = {t:,}" for t in (100, 10**4, 10**6))
        return f"W{sure[1:]}: {values}. Proved: {self.formula}{given}."

    @as_shown
    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [
            (f"at round {t:,}", f"at most {self.bound(t):.3g}") for t in (100, 10**4, 10**6, 10**9)
        ]
        for share in (0.1, 0.05, 0.01):
            eps = share * self.scale
            rows.append((f"within {eps:.3g} after", self._after(eps)))
        kind = f"proved: {self.formula}" if self.proved else "a user's claim, not proved"
        title = f"With probability {confidence(self.delta)}, the gap of every round"
        given = "".join(f", {name} = {value:g}" for name, value in self.parameters.items())
        return facts(title, rows, kind + given)

    def _after(self, eps: float) -> str:
        """Say after how many rounds every decision is within eps."""
        try:
            last = self.rounds_until(eps)
        except (ArgumentError, NoGuaranteeError) as reason:
            return f"unknown: {reason}"
        return f"{last:,} rounds" if last < 10**15 else f"about 1e{math.log10(last):.0f} rounds"

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; a user's function cannot be kept."""
        return {
            "formula": self.formula,
            "delta": self.delta,
            "parameters": dict(self.parameters),
            "scale": self.scale,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """Rebuild a proved bound; anything else is an ArgumentError."""
        formula = _check.one_of("formula", data["formula"], bounds.names())
        parameters, needs = dict(data["parameters"]), bounds.find(formula).needs
        if not parameters.keys() >= needs or ("R" in needs and not parameters["R"] > 0):
            raise ArgumentError("parameters", f"must be {', '.join(sorted(needs))}")
        for name, value in parameters.items():
            if type(value) not in (int, float) or not least_of(name) <= value:
                raise ArgumentError(name, f"is not a parameter of a bound: {str(value)[:50]}")
        delta = _check.in_open_unit("delta", data["delta"])
        made = cls(formula, delta, parameters, _check.number("scale", data["scale"]))
        if not made.bound(1) >= 0.0 or not made.constants:
            raise ArgumentError("parameters", "are not those of a bound")
        return made


def least_of(name: str) -> float:
    """Return the least that a parameter of a proved bound can be: for counts it is 1."""
    return 1.0 if name in ("K", "d", "k", "dimension", "support", "leader", "S", "A", "H") else 0.0


def ratio_by_round(played_gaps: F64, rounds: F64, guarantee: Guarantee) -> float:
    """Return the largest gap_t / F(t) over the given rounds, whatever the shape of F."""
    bad = played_gaps > 0.0
    if not bad.any():
        return 0.0
    bound = guarantee.bound(rounds[bad])
    if np.isnan(bound).any():
        t = rounds[bad][np.isnan(bound)][0]
        raise RuleError(f"f gave NaN at round {t:.0f}, where an arm with a gap was played")
    with np.errstate(divide="ignore"):
        return float(np.where(bound > 0.0, played_gaps[bad] / bound, np.inf).max())
