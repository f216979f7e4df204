"""Figures of looks at plausible models: what they certified, and the actions that are left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError
from uli_fast.report.canvas import POINTS, Line, band, log_ticks, over_rounds, widths
from uli_fast.report.figures_activity import arms_left
from uli_fast.report.words import squeezed
from uli_fast.results import metrics
from uli_fast.results.runs import Runs

# Stages of a grid world that are shown, and cells up to which each has its number.
_STAGES, _NUMBERED = 6, 200


def draw_certificates(axes: Any, lines: Sequence[Line]) -> None:
    """Draw the certificate and the gap of what is played, look by look, under F.

    Thick: the median over runs of the certificate, in a band from the least to the most; dotted:
    the largest gap played from there on, in any run. What is zero lies along the bottom; a
    withdrawn certificate is as good as none, and leaves the figure at the top. Of arms the runs
    keep no looks: what is certain at least is F, and 0 once a single arm is left.
    """
    runs = [line.runs for line in lines]
    floor = _floor(runs)
    top = 2.0 * max(_highest(r) for r in runs)
    for line, width in zip(lines, widths(len(lines)), strict=True):
        r = line.runs
        rounds = _rounds(r)
        said, gap = certified_at(r, rounds), _gap_at(r, rounds)
        shown = np.clip(np.where(np.isnan(said), np.inf, said), floor, 2.0 * top)
        middle = np.median(shown, axis=0)
        axes.plot(rounds, middle, color=line.colour, lw=width, ls=line.dash, label=line.name)
        band(axes, rounds, shown, line.colour)
        worst = np.maximum(gap.max(axis=0), floor)
        name = f"largest gap still to come of {line.name}"
        axes.plot(rounds, worst, ":", color=line.colour, lw=1.2, label=name)
        if r.guarantee is not None and r.makes_looks:
            bound = r.guarantee.bound(rounds)
            name = f"F of {line.name}"
            axes.plot(rounds, bound, ls=line.bound_dash, color=line.colour, lw=1.2, label=name)
    axes.plot([], [], " ", label="(the bottom line: 0)")
    over_rounds(axes, runs)
    axes.set_yscale("log")
    axes.set_ylim(floor, top)
    log_ticks(axes.yaxis)
    axes.set_ylabel("certificate; gap still to come (dotted)")


def draw_actions(axes: Any, lines: Sequence[Line], grid: tuple[int, int] | None = None) -> None:
    """Draw how many actions are left at the horizon in each state of each stage, on average.

    States from top to bottom, stages from left to right, learners side by side; with ``grid``,
    (rows, columns) of a grid world, some stages as maps of it. Grey: nothing to choose.
    """
    panels: list[tuple[str, F64]] = []
    for line in lines:
        left = mean_left(line.runs)
        if grid is None:
            panels.append((line.name, left.T))
            continue
        for h in _chosen_stages(left):
            name = f"stage {h + 1}"
            whole = left[h, : grid[0] * grid[1]].reshape(grid)
            panels.append((f"{line.name}, {name}" if len(lines) > 1 else name, whole))
    across = max(1, min(len(panels), 3 if grid else len(panels)))
    most = lines[0].runs.looks.left.shape[3]
    _mosaic(axes, panels, across, most, named=grid is not None or len(lines) > 1)
    if grid is None:
        axes.set_ylabel("state")
        axes.set_xlabel("stage")


def mean_left(r: Runs) -> F64:
    """Return the actions left, the mean over runs, (H, S); NaN where there never was a choice."""
    looks = r.looks
    first = (looks.left | (looks.dropped > 0))[0].sum(axis=2)
    left: F64 = looks.left.sum(axis=3).mean(axis=0)
    return np.where(first > 1, left, np.nan)


def checked_grid(runs: Sequence[Runs], grid: Any) -> tuple[int, int]:
    """Return (rows, columns) of a grid world, whose states come row by row."""
    good = isinstance(grid, tuple | list) and len(grid) == 2
    if not good or not all(type(n) is int and n > 0 for n in grid):
        raise ArgumentError("grid", f"must be (rows, columns), got {grid!r}")
    S = mean_left(runs[0]).shape[1]
    if grid[0] * grid[1] not in (S, S - 1):  # the last state may be one that was added
        raise ArgumentError("grid", f"has {grid[0] * grid[1]} cells, but there are {S} states")
    return grid[0], grid[1]


def _mosaic(
    axes: Any, panels: Sequence[tuple[str, F64]], across: int, most: int, named: bool
) -> None:
    """Draw tables side by side, in rows of ``across``, each below its name."""
    from matplotlib.patches import Rectangle

    height, width = panels[0][1].shape
    tall, wide = height + 1, width + 1
    down = -(-len(panels) // across)
    sheet = np.full((down * tall - 1, across * wide - 1), np.nan)
    for k, (name, table) in enumerate(panels):
        y, x = k // across * tall, k % across * wide
        sheet[y : y + height, x : x + width] = table
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), width, height, color="#e8e8e8", zorder=0))
        if named:
            middle = x + (width - 1) / 2.0
            where = {"ha": "center", "va": "bottom", "fontsize": 8, "parse_math": False}
            axes.text(middle, y - 0.55, squeezed(name, 40), **where)
    shape = "equal" if named else "auto"
    image = axes.imshow(sheet, cmap="viridis_r", vmin=1.0, vmax=most, aspect=shape, zorder=1)
    if sheet.size <= _NUMBERED * len(panels):
        for (y, x), value in np.ndenumerate(sheet):
            if not np.isnan(value):
                shade = {"color": "white" if value > (1.0 + most) / 2.0 else "black"}
                place = {"ha": "center", "va": "center", "fontsize": 7}
                axes.text(x, y, f"{value:.2g}", **place, **shade)
    steps = np.arange(1, most + 1, -(-most // 8))
    axes.figure.colorbar(image, ax=axes, label="actions left", shrink=0.8, ticks=steps)
    if named:
        axes.set_axis_off()
        axes.set_ylim(sheet.shape[0] - 0.5, -1.5)
        return
    axes.set_xticks(*_ticks(width))
    axes.set_yticks(*_ticks(height, 0))


def _ticks(n: int, first: int = 1) -> tuple[I64, list[str]]:
    """Return at most ten positions and their numbers: stages from 1, states from 0."""
    at = np.arange(0, n, -(-n // 10))
    return at, [str(i + first) for i in at]


def _chosen_stages(left: F64) -> list[int]:
    """Return stages to show, evenly spread over those at which there is a choice."""
    some = np.flatnonzero(~np.isnan(left).all(axis=1))
    if some.size == 0:
        return [0]
    at = np.linspace(0, some.size - 1, min(_STAGES, some.size)).round().astype(int)
    return [int(h) for h in np.unique(some[at])]


def certifies(r: Runs) -> bool:
    """Return whether the runs say what was certain: looks at models, or arms dropped under F."""
    if r.makes_looks:
        return True
    F = r.guarantee
    return r.has_gaps and r.eliminates_arms and len(r.names) > 1 and F is not None and F.proved


def certified_at(r: Runs, rounds: I64) -> F64:
    """Return what bounded the gap of all that could be played at each of the rounds, (M, P)."""
    if r.makes_looks:
        return _at(r, _facts(r, 0), rounds)
    assert r.guarantee is not None
    bound = np.minimum(r.guarantee.bound(rounds), r.guarantee.largest_gap)
    return np.where(arms_left(r.arms.eliminated, rounds) > 1.0, bound, 0.0)


def _gap_at(r: Runs, rounds: I64) -> F64:
    return _at(r, _ahead(r), rounds) if r.makes_looks else r.gap_from(rounds)


def _facts(r: Runs, fact: int) -> F64:
    return r.looks.facts[:, :, fact]


def _ahead(r: Runs) -> F64:
    """Return the largest gap played from each look on, (M, looks); rows end with zeros."""
    gaps: F64 = _facts(r, 4)
    return np.maximum.accumulate(gaps[:, ::-1], axis=1)[:, ::-1]


def _highest(r: Runs) -> float:
    """Return what is certain before the first look, or F there."""
    if not r.makes_looks:
        said = certified_at(r, _rounds(r))
        return float(said[np.isfinite(said)].max(initial=1e-3))
    first = float(_facts(r, 0)[:, 0].max())
    return first if r.guarantee is None else max(first, float(r.guarantee.bound(1)))


def _at(r: Runs, said: F64, rounds: I64) -> F64:
    return metrics.at_looks(r.looks.first, said, rounds)


def _rounds(r: Runs) -> I64:
    """Return episodes for drawing: log-spaced, with some at which a look was made."""
    spaced = np.geomspace(1.0, r.horizon, POINTS).astype(np.int64)
    events = r.looks.first if r.makes_looks else r.arms.eliminated + 1
    looks = np.unique(events[events > 1])
    looks = looks[:: 1 + looks.size // POINTS]
    every = np.unique(np.concatenate([spaced, looks, looks - 1]))
    return every[(every >= 1) & (every <= r.horizon)]


def _known(r: Runs) -> F64:
    """Return the numbers that the figure shows, in any order."""
    if r.makes_looks:
        return np.concatenate([_facts(r, i).ravel() for i in (0, 4)])
    return r.worse_gaps


def _floor(runs: Sequence[Runs]) -> float:
    """Return a value below every positive one that is drawn."""
    facts = np.concatenate([_known(r) for r in runs])
    bounds = [float(r.guarantee.bound(r.horizon)) for r in runs if r.guarantee is not None]
    positive = facts[facts > 1e-9]
    lowest = float(positive.min()) / 3.0 if positive.size else 1e-3
    return max(1e-9, min([lowest, *(bound / 2.0 for bound in bounds if bound > 0.0)]))
