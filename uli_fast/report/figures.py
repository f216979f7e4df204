"""Figures made from Runs: the gap still to come, under F, and the regret."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64, I64
from uli_fast.errors import ArgumentError, ReportError, UnsupportedError
from uli_fast.report.bounds import reference
from uli_fast.report.canvas import (
    POINTS,
    Line,
    band,
    lines_of,
    log_ticks,
    over_rounds,
    thinned,
    widths,
)
from uli_fast.report.figures_models import checked_grid, draw_actions, draw_certificates
from uli_fast.report.sheet import sheet
from uli_fast.report.tables import short_name
from uli_fast.report.turning import ahead_from, comparable, rival_among
from uli_fast.report.words import listed, number
from uli_fast.results.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Dots of a learner, and entries of an array that are looked at together.
_DOTS, _AT_ONCE = 1000, 10**7
# The share of the figure's height, and twice that of its width, which is kept for what is not seen.
_STRIP = 0.09


def figure_of(
    what: str,
    runs: Sequence[Runs],
    path: str | os.PathLike[str] | None = None,
    names: Sequence[str] | None = None,
    grid: tuple[int, int] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the "gap" still to come, or the "regret", of some Runs on log-log axes.

    Of those that look at plausible models, also the "certificate", and the "actions" left; these
    as maps of a ``grid`` world, (rows, columns), if it is one. The others are left out there.
    Return the figure, or the Axes on which it was drawn where they were given.
    """
    _check.one_of("what", what, tuple(_DRAWINGS))
    draw, lines = _DRAWINGS[what], lines_of(runs, names or [short_name(x) for x in runs])
    if what in _OF_LOOKS:
        lines = [line for line in lines if line.runs.makes_looks]
        if not lines:
            whose = listed([short_name(x) for x in runs])
            raise UnsupportedError(
                f"{whose}: has no certificate in simulations, so that there is nothing to draw"
            )
    if grid is not None:
        if what != "actions":
            raise ArgumentError("grid", f"is for the actions left, not for {what!r}")
        draw = partial(draw_actions, grid=checked_grid([line.runs for line in lines], grid))
    figure, axes = sheet(ax, 9.0, 5.5)
    target = checked_target(figure, path, tuple(_DRAWINGS))
    draw(axes, lines)
    title = f"{runs[0].problem}; replications: {runs[0].replications}"
    axes.set_title(title, fontsize=10, parse_math=False)
    if what != "actions":
        place = _LEGENDS.get(what, "lower left")
        if ax is None:
            legend = axes.legend(loc=place, fontsize=8)
        else:  # a panel of the caller's has room for names only
            strip = _STRIP if what == "gap" else 0.0  # whose words are to be read
            room = (0.0, strip, 1.0, 1.0 - strip)
            legend = axes.legend(*_names_only(axes), loc=place, bbox_to_anchor=room, **_SMALL)
        for text in legend.get_texts():
            text.set_parse_math(False)
    save_figure(figure, target)
    return figure if ax is None else ax


def _names_only(axes: Any) -> tuple[list[Any], list[str]]:
    """Return the entries of a legend without its notes, which are in parentheses."""
    handles, names = axes.get_legend_handles_labels()
    kept = [(h, x) for h, x in zip(handles, names, strict=True) if not x.startswith("(")]
    return [h for h, _ in kept], [x for _, x in kept]


def checked_target(
    figure: Figure, path: str | os.PathLike[str] | None, drawings: Sequence[str] = ()
) -> Path | None:
    """Return where a figure is to be written, refusing what it cannot be written as.

    The name of one of the ``drawings`` is no file: it was meant for ``what``.
    """
    target = None if path is None else _check.path("path", path)
    if path in drawings:
        raise ArgumentError("path", f"is where to write the figure; did you mean what={path!r}?")
    if target is not None and target.suffix:
        kinds = sorted(figure.canvas.get_supported_filetypes())
        if target.suffix[1:].lower() not in kinds:
            said = f"must end in one of {', '.join(kinds)}; got {target.name!r}"
            raise ArgumentError("path", said)
    return target


def save_figure(figure: Figure, target: Path | None) -> None:
    """Write a figure, if it is to be written; in an SVG text stays text, and there is no date."""
    if target is None:
        return
    import matplotlib

    undated = {"Date": None} if target.suffix.lower() == ".svg" else None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "uli_fast"}):
            figure.savefig(target, dpi=150, metadata=undated)
    except OSError as problem:
        reason = problem.strerror or problem
        raise ReportError(f"{target} cannot be written: {reason}") from problem


def draw_gaps(axes: Any, lines: Sequence[Line]) -> None:
    """Draw the largest gap from each round up to the horizon, under F_ULI.

    The lines are the median (solid) and the largest (thin) over runs of the largest gap_s with
    t <= s <= T: a learner keeps the guarantee up to T where it stays below the dashed F. Dots
    mark the last play of each worse arm: the relapses. What is cut off at the horizon is hollow:
    dots of arms that are still in play, and a triangle at the end of a learner's line. Two grey
    strips say what is not seen: gaps below the smallest one, and rounds beyond the horizon.
    """
    runs = [line.runs for line in lines]
    floor = _floor(runs)
    # From where no worse arm is left to where F says nothing yet.
    top = 10.0 * max(r.known_gaps().max(initial=floor) for r in runs)
    bottom = floor * (floor / top) ** _STRIP
    for line, width in zip(lines, widths(len(lines)), strict=True):
        _draw_gap(axes, line, width, math.sqrt(bottom * floor))
    against = reference(runs)
    if against is not None and any(r.baseline for r in runs):
        name = f"(dots above {against.formula}'s F: relapses that F forbids)"
        axes.plot([], [], " ", label=name)
    if any(not r.settled.all() for r in runs):
        said = "(hollow: cut off at the horizon, worse choices may follow)"
        axes.plot([], [], ">", color="black", mfc="white", ms=5, label=said)
    over_rounds(axes, runs)
    axes.set_yscale("log")
    axes.set_ylim(bottom, top)
    log_ticks(axes.yaxis)
    axes.set_yticks([x for x in axes.get_yticks() if floor <= x <= top])
    axes.set_ylabel(f"largest gap from {runs[0].unit} t to the horizon")
    _mark_unseen(axes, runs, floor)


def draw_regret(axes: Any, lines: Sequence[Line]) -> None:
    """Draw the median of the pseudo-regret over runs, in a band from the least to the most."""
    for line in lines:
        at = thinned(line.runs.rounds)
        rounds, regret = line.runs.rounds[at], line.runs.regret[:, at]
        middle = np.median(regret, axis=0)
        axes.plot(rounds, middle, color=line.colour, ls=line.dash, label=line.name)
        band(axes, rounds, regret, line.colour)
    runs = [line.runs for line in lines]
    rival = rival_among(runs)
    for line in lines:
        if rival is not None and comparable(line.runs, runs[rival]):
            reached = ahead_from(line.runs, runs[rival])
            if reached is not None:
                axes.axvline(reached, color=line.colour, lw=1.0, ls=":")
    over_rounds(axes, runs)
    axes.set_yscale("log")
    log_ticks(axes.yaxis)
    axes.set_ylabel(f"regret up to {runs[0].unit} t")


def _mark_unseen(axes: Any, runs: Sequence[Runs], floor: float) -> None:
    """Shade what the runs cannot show: gaps too small to be any choice's, and what comes later."""
    end = max(2, *(r.horizon for r in runs))
    beyond = float(end) ** (1.0 + _STRIP / 2.0)
    bottom, top = axes.get_ylim()
    axes.set_xlim(1, beyond)
    grey = {"color": "0.5", "alpha": 0.16, "lw": 0, "zorder": 0}
    axes.axhspan(bottom, floor, **grey)
    axes.axvspan(end, beyond, **grey)
    smallest = min((float(r.worse_gaps.min()) for r in runs if r.worse_gaps.size), default=None)
    least = "" if smallest is None else f" (the smallest: {number(smallest)})"
    said = {"fontsize": 7.5, "color": "0.35", "parse_math": False}
    words = f"no gap up to the horizon{least}"
    paper = {"fc": "white", "alpha": 0.7, "lw": 0, "pad": 1.0}
    middle = math.sqrt(bottom * floor)
    axes.text(1.15, middle, words, va="center", zorder=4, bbox=paper, **said)
    where = (math.sqrt(end * beyond), math.sqrt(floor * top))
    axes.text(*where, "beyond the horizon: not seen", rotation=90, ha="center", va="center", **said)


_DRAWINGS: Mapping[str, Callable[[Any, Sequence[Line]], None]] = {
    "gap": draw_gaps,
    "regret": draw_regret,
    "certificate": draw_certificates,
    "actions": draw_actions,
}
_LEGENDS = {"regret": "upper left"}
_SMALL: Mapping[str, Any] = {"fontsize": 7, "framealpha": 0.6}
_OF_LOOKS = ("certificate", "actions")


def _floor(runs: Sequence[Runs]) -> float:
    """Return a gap below every positive one and below F, drawn for "no worse arm up to T"."""
    positive = np.concatenate([r.worse_gaps for r in runs])
    bounds = [float(r.guarantee.bound(r.horizon)) for r in runs if r.guarantee is not None]
    lowest = float(positive.min()) / 10.0 if positive.size else 1e-3
    return min([lowest, *(bound / 2.0 for bound in bounds if bound > 0.0)])


def _draw_gap(axes: Any, line: Line, width: float, zero: float) -> None:
    r, colour = line.runs, line.colour
    rounds = _rounds(r)
    ahead = _ahead(r, rounds)
    shown: F64 = np.where(ahead > 0.0, ahead, zero)
    middle = np.median(shown, axis=0)
    axes.step(rounds, middle, where="pre", color=colour, lw=width, ls=line.dash, label=line.name)
    axes.step(rounds, shown.max(axis=0), where="pre", color=colour, lw=0.8, ls=line.dash)
    last, _, each, final = r.decisions()
    bad = (each > 0.0) & (last > 0)
    dots = {"marker": line.marker, "ls": "", "color": colour, "alpha": 0.4}
    axes.plot(*_distinct(last, each, bad & final), **dots, ms=2.5, mew=0)
    axes.plot(*_distinct(last, each, bad & ~final), **dots, ms=3.0, mew=0.6, mfc="none")
    if not r.settled.all():
        end = {"marker": ">", "ls": "", "color": colour, "mfc": "white", "ms": 6}
        axes.plot(r.horizon, middle[-1], **end, clip_on=False, zorder=3)
    if r.guarantee is not None:
        bound = r.guarantee.bound(rounds)
        name = f"F of {line.name}"
        axes.plot(rounds, bound, ls=line.bound_dash, color=colour, lw=1.2, label=name)


def _ahead(r: Runs, rounds: I64) -> F64:
    """Return the largest gap played at or after each of the rounds, a few rounds at a time."""
    step = max(1, _AT_ONCE // max(1, r.decisions().last.size))
    parts = [r.gap_from(rounds[i : i + step]) for i in range(0, rounds.size, step)]
    return np.concatenate(parts, axis=1)


def _distinct(x: I64, y: F64, shown: B1) -> tuple[I64, F64]:
    """Leave out dots that would lie on others, and some where there are still too many."""
    x, y = x[shown], y[shown]
    if x.size <= _DOTS:
        return x, y
    cells = np.stack([np.log10(x), np.log10(y)]).round(2)
    kept = np.unique(cells, axis=1, return_index=True)[1]
    kept = kept[:: 1 + kept.size // _DOTS]
    return x[kept], y[kept]


def _rounds(r: Runs) -> I64:
    """Return rounds for drawing: log-spaced, with last plays of worse arms and the rounds after."""
    spaced = np.geomspace(1.0, r.horizon, POINTS).astype(np.int64)
    made = r.decisions()
    last = np.unique(made.last[made.gaps > 0.0])
    last = last[:: 1 + last.size // (2 * POINTS)]
    everything = np.unique(np.concatenate([spaced, last, last + 1]))
    return everything[(everything >= 1) & (everything <= r.horizon)]
