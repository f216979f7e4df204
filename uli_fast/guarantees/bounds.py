"""What a proved F is made of, and where it is found by its name.

A learner's bounds stand in ``guarantees/x.py``, x its stem, as ``BOUNDS``: what computes F, on the
learner's scale, and where its constants come from. The row of the registry has their names.
"""

from __future__ import annotations

import importlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from uli_fast import _check, _registry
from uli_fast._typing import F64, Form

# A table of phases ends here; what is beyond has the bound of its last phase.
LAST_ROUND, MOST_PHASES = 2**1000, 1100
FORMS = ("schedule", "paper")

Parameters: TypeAlias = Mapping[str, float]


class Constant(NamedTuple):
    """A number of the bound and where it comes from."""

    name: str
    value: float
    source: str


class Bound(NamedTuple):
    """A proved F, which never rises."""

    at: Callable[[F64, float, Parameters], F64]  # at rounds t, for a delta and parameters
    sources: tuple[Constant, ...] | Callable[[Parameters], tuple[Constant, ...]]
    # F as a table of phases, where it is one: exact at whole numbers of any size.
    table: Callable[[float, Parameters], Steps] | None = None
    # The last round and the height of each step up to a round: regret sums them. Where F has no
    # steps, or too many, it is integrated.
    steps: Callable[[float, Parameters, int], Iterator[tuple[int, float]]] | None = None
    # What to integrate in place of a bound with small steps: no smaller, and smooth.
    smooth: Callable[[F64, float, Parameters], F64] | None = None
    # Until when a gap may have any size, and the round until which F keeps its first value.
    start: Callable[[Parameters], tuple[int, int]] = lambda p: (0, 0)
    kinks: bool = False  # the least of many: no quadrature likes it
    needs: frozenset[str] = frozenset()  # parameters without which there is no F
    formula: str = ""  # as docs write it, in a few words


@dataclass(frozen=True, eq=False)
class Steps:
    """A bound that is constant within phases."""

    ends: tuple[int, ...]  # the last round of phase 1, 2, ...
    gaps: tuple[float, ...]  # the bound in each of them, and after the last

    @cached_property
    def _arrays(self) -> tuple[F64, F64]:
        return np.array(self.ends, np.float64), np.array(self.gaps)

    def at(self, t: float) -> float:
        """Return the bound at a round; Python's whole numbers are compared exactly."""
        return self.gaps[bisect_left(self.ends, t)]

    def at_all(self, t: F64) -> F64:
        """Return the bounds at many rounds.

        Rounds that are not floats are rounded as ends are: none falls in a later phase.
        """
        ends, gaps = self._arrays
        return np.asarray(gaps[np.searchsorted(ends, t)])

    def until(self, T: int) -> Iterator[tuple[int, float]]:
        """Return the last round and the height of each step up to round T."""
        for end, gap in zip((*self.ends, T), self.gaps, strict=True):
            yield min(end, T), gap
            if end >= T:
                break


def stepped(
    steps: Callable[[float, Parameters], Steps],
    sources: tuple[Constant, ...] | Callable[[Parameters], tuple[Constant, ...]],
    formula: str = "",
) -> Bound:
    """Return the bound of a table of phases, which is made once for its parameters."""

    @lru_cache(maxsize=256)
    def kept(delta: float, items: tuple[tuple[str, float], ...]) -> Steps:
        return steps(delta, dict(items))

    def table(delta: float, p: Parameters) -> Steps:
        return kept(delta, tuple(sorted(p.items())))

    return Bound(
        lambda t, delta, p: table(delta, p).at_all(t),
        sources,
        table,
        lambda delta, p, T: table(delta, p).until(T),
        formula=formula,
    )


def phased(
    rounds: Callable[[int, float, Parameters], int],
    gap: Callable[[int, float, Parameters], float],
    sources: tuple[Constant, ...] | Callable[[Parameters], tuple[Constant, ...]],
    formula: str = "",
) -> Bound:
    """Return the bound of phases: rounds with all arms active, and what no gap in it exceeds.

    With fewer arms phases only come sooner, and later phases have smaller gaps. So at every round
    the gap is at most G(l), l the phase of that round in the schedule with all arms active, and
    nothing is lost to closed forms of sums and logarithms (docs/proofs_phases.md).
    """

    def steps(delta: float, p: Parameters) -> Steps:
        return add_up(lambda m: rounds(m, delta, p), lambda m: gap(m, delta, p))

    return stepped(steps, sources, formula)


def add_up(rounds: Callable[[int], int], gap: Callable[[int], float]) -> Steps:
    """Add up the rounds of phases 1, 2, ... as they are given."""
    ends, gaps, last = list[int](), [gap(1)], 0
    while last < LAST_ROUND and len(ends) < MOST_PHASES:
        try:
            last += rounds(len(ends) + 1)
        except OverflowError:  # longer than any number of rounds that can be asked about
            break
        ends.append(last)
        gaps.append(gap(len(ends) + 1))
    return Steps(tuple(ends), tuple(gaps))


def names() -> tuple[str, ...]:
    """Return the names of all proved bounds."""
    return tuple(_homes())


@lru_cache(maxsize=1)
def _homes() -> dict[str, str]:
    return {name: row.stem for row in _registry.LEARNERS for name in row.bounds}


def find(name: str) -> Bound:
    """Return the bound of that name; its learner's file alone is imported."""
    home = importlib.import_module(f"uli_fast.guarantees.{_homes()[name]}")
    bound: Bound = home.BOUNDS[name]
    return bound


def formula(name: str, form: Form) -> str:
    """Return the name of a bound in one of its two forms.

    F of a schedule has its own name: saved runs keep the bound that they were made with.
    """
    _check.one_of("form", form, FORMS)
    return name if form == "paper" else f"{name}-schedule"
