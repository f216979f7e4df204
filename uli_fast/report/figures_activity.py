"""Figures of what the learners did: arms and policies left, plays, calls of the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.report.canvas import POINTS, Line, band, log_ticks, over_rounds, rows, widths
from uli_fast.report.words import label
from uli_fast.results.record import ArmTable, PolicyPhases
from uli_fast.results.runs import Runs

# Arms that are shown one by one.
MOST_ARMS = 24


def draw_active(axes: Any, lines: Sequence[Line]) -> None:
    """Draw the number of arms that are left before each round: median, least and most."""
    K = max(len(line.runs.names) for line in lines)
    for line, width in zip(lines, widths(len(lines)), strict=True):
        gone = line.runs.arms.eliminated
        rounds = _grid(line.runs, gone)
        _steps(axes, line, rounds, arms_left(gone, rounds), width)
    over_rounds(axes, [line.runs for line in lines])
    _counts(axes, K)
    axes.set_ylabel("arms left at round t")


def arms_left(eliminated_at: I64, rounds: I64) -> F64:
    """Return how many arms are active at each of the rounds, (M, P)."""
    gone = [np.searchsorted(np.sort(row[row > 0]), rounds) for row in eliminated_at]
    left: F64 = eliminated_at.shape[1] - np.stack(gone).astype(np.float64)
    return left


def draw_policies(axes: Any, lines: Sequence[Line]) -> None:
    """Draw the number of policies that are left in each phase."""
    for line, width in zip(lines, widths(len(lines)), strict=True):
        phases = line.runs.policy_phases
        rounds = _grid(line.runs, phases.first)
        _steps(axes, line, rounds, policies_left(phases, rounds), width)
    over_rounds(axes, [line.runs for line in lines])
    _counts(axes, max(line.runs.policy_phases.left.max() for line in lines))
    axes.set_ylabel("policies left")


def policies_left(phases: PolicyPhases, rounds: I64) -> F64:
    """Return how many policies are active at each of the rounds, (M, P)."""
    each = []
    for first, last, left in zip(*phases, strict=True):
        real = last > 0
        each.append(left[real][np.searchsorted(first[real], rounds, side="right") - 1])
    return np.stack(each)


def draw_oracle(axes: Any, lines: Sequence[Line]) -> None:
    """Draw calls of the oracle (solid) and swaps of the spanner (dashed) per phase."""
    for line in lines:
        work = line.runs.oracle_work
        played = work.sum(axis=2) > 0.0
        phases = np.flatnonzero(played.any(axis=0)) + 1
        for kind, marker, style in ((0, "o", line.dash), (1, "s", line.bound_dash)):
            each = np.where(played, work[:, :, kind], np.nan)[:, phases - 1]
            middle = np.nanmedian(each, axis=0)
            axes.plot(phases, middle, marker, ls=style, color=line.colour, ms=4, lw=1.2)
            low, high = np.nanmin(each, axis=0), np.nanmax(each, axis=0)
            axes.fill_between(phases, low, high, color=line.colour, alpha=0.18, lw=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("phase")
    axes.set_ylabel("oracle calls, swaps (dashed)")
    axes.grid(True, alpha=0.3)


def draw_plays(axes: Any, lines: Sequence[Line]) -> None:
    """Draw how often each arm was played: median, least and most over runs."""
    arms = lines[0].runs.arms
    shown = arms_shown(arms)
    least = min(int(line.runs.arms.plays[:, shown].min()) for line in lines)
    for i, line in enumerate(lines):
        y = np.arange(shown.size) + 0.7 * ((i + 0.5) / len(lines) - 0.5)
        plays = np.maximum(line.runs.arms.plays[:, shown], 0.5)  # never: at the edge
        low, high = plays.min(axis=0), plays.max(axis=0)
        axes.hlines(y, low, high, color=line.colour, ls=line.dash, lw=2, alpha=0.45)
        axes.plot(np.median(plays, axis=0), y, line.marker, color=line.colour, ms=4.5)
    rows(axes, [label(arms.names[a]) for a in shown])
    for row in range(1, shown.size):
        axes.axhline(row - 0.5, color="black", lw=0.4, alpha=0.2)
    axes.set_xscale("log")
    axes.set_xlim(max(0.5, least / 3.0), 1.6 * max(line.runs.horizon for line in lines))
    log_ticks(axes.xaxis)
    axes.set_xlabel("plays up to the horizon")
    K = len(arms.names)
    if shown.size < K:
        axes.set_ylabel(f"the best {shown.size} of {K} arms")


def arms_shown(arms: ArmTable) -> I64:
    """Return the arms to show one by one, the best first; in their order where gaps are NaN."""
    return np.argsort(arms.gaps, kind="stable")[:MOST_ARMS]


def _grid(r: Runs, events: I64) -> I64:
    """Return rounds for drawing: log-spaced, with those after which something changes."""
    spaced = np.geomspace(1.0, r.horizon, POINTS).astype(np.int64)
    distinct = np.unique(events)
    distinct = distinct[:: 1 + distinct.size // POINTS]
    everything = np.unique(np.concatenate([spaced, distinct, distinct + 1]))
    return everything[(everything >= 1) & (everything <= r.horizon)]


def _counts(axes: Any, most: float) -> None:
    """Give small numbers an even axis, large ones a logarithmic one."""
    if most <= 20:
        axes.set_ylim(0, most + 0.5)
        axes.yaxis.get_major_locator().set_params(integer=True)
        return
    axes.set_yscale("log")
    axes.set_ylim(0.8, 1.5 * most)
    log_ticks(axes.yaxis)


def _steps(axes: Any, line: Line, rounds: I64, each: F64, width: float) -> None:
    middle = np.median(each, axis=0)
    axes.plot(rounds, middle, color=line.colour, lw=width, ls=line.dash, label=line.name)
    band(axes, rounds, each, line.colour)
