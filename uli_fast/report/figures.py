"""Figures made from Runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.errors import MissingExtraError
from uli_fast.report.tables import reference, short_name
from uli_fast.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def figure_of(
    what: str,
    runs: Sequence[Runs],
    path: str | os.PathLike[str] | None = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """Draw the "gap" still to come, or the "regret", of some Runs on log-log axes."""
    _check.one_of("what", what, tuple(_DRAWINGS))
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plot needs matplotlib: pip install 'uli-fast[report]'") from None

    figure = Figure(figsize=(9.0, 5.5), layout="constrained")
    axes: Any = figure.subplots()
    _DRAWINGS[what](axes, runs, names or [short_name(x) for x in runs])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1, max(runs[0].horizon, 2))
    axes.set_xlabel("round t")
    axes.set_title(f"{runs[0].problem}; replications: {runs[0].replications}", fontsize=10)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(loc="lower left" if what == "gap" else "upper left", fontsize=8)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def draw_gaps(axes: Any, runs: Sequence[Runs], names: Sequence[str]) -> None:
    """Draw the largest gap still to come after each round, under F_ULI.

    The lines are the median (solid) and the largest (thin) over runs of
    sup over s >= t of gap_s: a learner keeps the guarantee where it stays below
    the dashed F. Dots mark the last play of each worse arm: the relapses.
    """
    floor = _floor(runs)
    for i, (r, name) in enumerate(zip(runs, names, strict=True)):
        # later lines are thinner, so that none hides another
        _draw_gap(axes, r, name, _COLOURS[i % len(_COLOURS)], max(4.0 - i, 1.0), floor)
    against = reference(runs)
    if against is not None and any(r.baseline for r in runs):
        name = f"(dots above {against.formula}'s F: relapses that F forbids)"
        axes.plot([], [], " ", label=name)
    axes.set_ylim(bottom=floor)
    axes.set_ylabel("largest gap at or after round t")


def draw_regret(axes: Any, runs: Sequence[Runs], names: Sequence[str]) -> None:
    """Draw the median of the pseudo-regret over runs, in a band from the least to the most."""
    for i, (r, name) in enumerate(zip(runs, names, strict=True)):
        colour, regret = _COLOURS[i % len(_COLOURS)], r.regret
        axes.plot(r.rounds, np.median(regret, axis=0), color=colour, label=name)
        low, high = regret.min(axis=0), regret.max(axis=0)
        axes.fill_between(r.rounds, low, high, color=colour, alpha=0.2, lw=0)
    axes.set_ylabel("regret up to round t")


_DRAWINGS = {"gap": draw_gaps, "regret": draw_regret}


def _floor(runs: Sequence[Runs]) -> float:
    """Return a gap below every positive one, drawn for "no worse arm any more"."""
    positive = np.concatenate([r._known_gaps()[r._known_gaps() > 0.0] for r in runs])
    return float(positive.min()) / 10.0 if positive.size else 1e-3


def _draw_gap(axes: Any, r: Runs, name: str, colour: str, width: float, floor: float) -> None:
    gaps = r._known_gaps()
    rounds = _rounds(r)
    ahead = r.gap_from(rounds)
    shown: F64 = np.where(ahead > 0.0, ahead, floor)
    axes.step(rounds, np.median(shown, axis=0), where="pre", color=colour, lw=width, label=name)
    axes.step(rounds, shown.max(axis=0), where="pre", color=colour, lw=0.8)
    last, _ = r._decisions()
    each = np.broadcast_to(gaps, last.shape)
    bad = (each > 0.0) & (last > 0)
    axes.plot(last[bad], each[bad], ".", color=colour, ms=4, alpha=0.4)
    if r.guarantee is not None:
        bound = r.guarantee.bound(rounds)
        axes.plot(rounds, bound, "--", color=colour, lw=1.2, label=f"F of {name}")


def _rounds(r: Runs) -> Any:
    """Return rounds for drawing: log-spaced, with every last play and the round after."""
    spaced = np.geomspace(1.0, r.horizon, 300).astype(np.int64)
    last = r._decisions()[0]
    last = np.unique(last[np.broadcast_to(r._known_gaps(), last.shape) > 0.0])[:2000]
    everything = np.unique(np.concatenate([spaced, last, last + 1]))
    return everything[(everything >= 1) & (everything <= r.horizon)]
