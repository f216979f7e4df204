"""What the figures share: lines with their colours, axes, rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.report.words import number, power, squeezed
from uli_fast.results.runs import Runs

# Points of a line.
POINTS = 300
# Hues that stay apart for readers with protanopia and deuteranopia (tests/report/test_colours.py
# simulates both), and dark enough for white paper.
COLOURS = (
    *("#0072B2", "#D55E00", "#00B496", "#3C00A5", "#C31E5A", "#B487FF", "#004B00", "#000000"),
)
# Parameters of one learner are told apart by the dots between the dashes: none, one, two, ...
PATTERNS = 6
DASHES: tuple[Any, ...] = ("-", *((0, (9.0, 1.5, *(1.5, 1.5) * n)) for n in range(1, PATTERNS)))
_BOUNDS: tuple[Any, ...] = (
    "--",
    *((0, (3.0, 1.5, *(1.0, 1.5) * n)) for n in range(1, PATTERNS)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P")


class Line(NamedTuple):
    """The Runs of one learner as they are drawn."""

    name: str
    runs: Runs
    colour: str
    cycle: int = 0  # which of the learners with its colour it is

    @property
    def dash(self) -> Any:
        """The pattern of its lines."""
        return DASHES[self.cycle]

    @property
    def bound_dash(self) -> Any:
        """The pattern of its F."""
        return _BOUNDS[self.cycle]

    @property
    def marker(self) -> str:
        """The shape of its dots."""
        return _MARKERS[self.cycle]


def pens(kinds: Sequence[str]) -> list[tuple[str, int]]:
    """Return a colour and a pattern each: one hue per kind of learner, a dash per parameter.

    Where a kind has more members than there are patterns it takes a second hue, and where there
    are more kinds than hues they share one: two lines look the same only where all are in use.
    """
    used = [0] * len(COLOURS)
    hues: dict[str, int] = {}
    found = []
    for kind in kinds:
        hue = hues.get(kind)
        if hue is None or used[hue] % PATTERNS == 0:
            hue = hues[kind] = used.index(min(used))
        found.append((COLOURS[hue], used[hue] % PATTERNS))
        used[hue] += 1
    return found


def kind_of(learner: object) -> str:
    """Return what a learner is, without its parameters: the class in its description."""
    return str(learner).split("(")[0]


def lines_of(
    runs: Sequence[Runs], names: Sequence[str], looks: Sequence[tuple[str, int]] | None = None
) -> list[Line]:
    """Return a line per Runs, each with its colour and pattern; those of ``looks``, if given."""
    drawn = pens([kind_of(r.learner) for r in runs]) if looks is None else looks
    return [Line(name, r, *pen) for name, r, pen in zip(names, runs, drawn, strict=True)]


def widths(n: int) -> list[float]:
    """Return widths of lines: later ones are thinner, so that none hides another."""
    return [1.2 + min(0.9, 5.0 / n) * (n - 1 - i) for i in range(n)]


def thinned(rounds: I64, most: int = POINTS) -> I64:
    """Return which of the recorded rounds to show, the last among them."""
    if rounds.size <= most:
        return np.arange(rounds.size)
    wanted = np.geomspace(rounds[0], rounds[-1], most)
    at = np.searchsorted(rounds, wanted.clip(max=rounds[-1]))
    return np.unique(np.append(at, rounds.size - 1))


def band(axes: Any, x: I64, each: F64, colour: str) -> None:
    """Shade from the least to the most over runs."""
    axes.fill_between(x, each.min(axis=0), each.max(axis=0), color=colour, alpha=0.18, lw=0)


def over_rounds(axes: Any, runs: Sequence[Runs]) -> None:
    """Give rounds, or episodes, a logarithmic axis."""
    axes.set_xscale("log")
    axes.set_xlim(1, max(2, *(r.horizon for r in runs)))
    axes.set_xlabel(f"{runs[0].unit} t")
    log_ticks(axes.xaxis)
    axes.grid(True, which="major", alpha=0.3)


def log_ticks(axis: Any) -> None:
    """Show powers of ten on a logarithmic axis, where there are few 2 and 5 times them too."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axis.get_view_interval()
    few = high < 300.0 * low
    if few:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda x, _: number(x) if few else power(x))
    axis.set_minor_locator(NullLocator())


def rows(axes: Any, names: Sequence[str]) -> None:
    """Give each row its name, the first at the top; names are text and never formulas."""
    axes.set_yticks(range(len(names)), [squeezed(name, 28) for name in names], parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(True, axis="x", alpha=0.3)
