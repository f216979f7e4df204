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
# Okabe and Ito's, then some of Tol's: told apart by colour-blind readers too.
_COLOURS = (
    *("#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#000000"),
    *("#882255", "#117733", "#999933", "#332288", "#888888"),
)


# Where there are more learners than colours, a dash pattern and a marker tell them apart: as
# many dots between the dashes as the colours have come before.
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (9.0, 1.5, 1.5, 1.5)),
    (0, (9.0, 1.5, 1.5, 1.5, 1.5, 1.5)),
)
_BOUND_DASHES: tuple[Any, ...] = (
    "--",
    (0, (3.0, 1.5, 1.0, 1.5)),
    (0, (3.0, 1.5, 1.0, 1.5, 1.0, 1.5)),
)
_MARKERS = ("o", "s", "^")


class Line(NamedTuple):
    """The Runs of one learner as they are drawn."""

    name: str
    runs: Runs
    colour: str
    cycle: int = 0  # how often its colour has come before

    @property
    def dash(self) -> Any:
        """The pattern of its lines."""
        return _DASHES[self.cycle]

    @property
    def bound_dash(self) -> Any:
        """The pattern of its F."""
        return _BOUND_DASHES[self.cycle]

    @property
    def marker(self) -> str:
        """The shape of its dots."""
        return _MARKERS[self.cycle]


def pen(i: int) -> tuple[str, int]:
    """Return the colour of the i-th of several lines, and how often it has come before."""
    return _COLOURS[i % len(_COLOURS)], i // len(_COLOURS) % len(_DASHES)


def lines_of(runs: Sequence[Runs], names: Sequence[str]) -> list[Line]:
    """Return a line per Runs, each with its colour and, where they run out, its pattern."""
    return [Line(name, r, *pen(i)) for i, (name, r) in enumerate(zip(names, runs, strict=True))]


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
    axes.set_yticks(range(len(names)), [squeezed(name, 20) for name in names], parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(True, axis="x", alpha=0.3)
