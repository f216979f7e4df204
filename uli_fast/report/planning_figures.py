"""Figures of a plan: when inferior arms are dropped, and how many patients they get."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast.planning.fixed_trial import LARGEST_GROUP
from uli_fast.report.canvas import POINTS, Line, lines_of, log_ticks, rows, widths
from uli_fast.report.figures import checked_target, save_figure
from uli_fast.report.planning import FIXED
from uli_fast.report.sheet import sheet
from uli_fast.report.words import label, number
from uli_fast.results.characteristics import NEVER, OperatingCharacteristics
from uli_fast.results.metrics import on_inferior

# Sizes at which the usual trial's power is drawn.
SIZES = 60


def plan_lines(plan: OperatingCharacteristics) -> list[Line]:
    """Return a line per learner, each with its colour."""
    each: Any = list(plan.learners.values())  # drawn instead of Runs
    return lines_of(each, [label(name) for name in plan.learners])


def figure_of_plan(
    plan: OperatingCharacteristics,
    what: str,
    path: str | os.PathLike[str] | None,
    ax: Any = None,
) -> Any:
    """Draw "dropping" or "inferior", and write the figure if a path is given."""
    _check.one_of("what", what, tuple(DRAWINGS))
    figure, axes = sheet(ax, 9.0, 5.5)
    target = checked_target(figure, path, tuple(DRAWINGS))
    drawing(plan, what)(axes, plan_lines(plan))
    axes.set_title(f"{plan.problem}; trials: {plan.replications}", fontsize=10, parse_math=False)
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        for text in axes.legend(fontsize=8).get_texts():
            text.set_parse_math(False)
    save_figure(figure, target)
    return figure if ax is None else ax


def drawing(plan: OperatingCharacteristics, what: str) -> Callable[[Any, Sequence[Line]], None]:
    """Return what draws one figure of a plan onto axes."""
    return partial(DRAWINGS[what], plan)


def draw_dropping(plan: OperatingCharacteristics, axes: Any, lines: Sequence[Line]) -> None:
    """Draw the share of trials in which all inferior arms are dropped by a number of patients."""
    drops = [
        (line, np.sort(each.all_dropped_at))
        for line, each in zip(lines, plan.learners_in_order, strict=True)
        if each.all_dropped_at is not None
    ]
    first = max(len(plan.names), plan.horizon / 100.0)
    end = 1.5 * max([plan.horizon, *(x for _, when in drops for x in when[when < NEVER])])
    for (line, when), width in zip(drops, widths(len(drops)), strict=True):
        rank = np.unique(np.linspace(0, when.size - 1, POINTS).astype(int))
        rank = rank[when[rank] < NEVER]
        x, share = when[rank], (rank + 1.0) / when.size
        ends = np.append(0.0, share)[-1]
        style = {"color": line.colour, "ls": line.dash, "lw": width, "label": line.name}
        axes.step([1.0, *x, end], [0.0, *share, ends], where="post", **style)
    _draw_fixed(plan, axes, first, end)
    axes.axvline(plan.horizon, color="0.5", lw=1.0, ls=":")
    axes.set_xscale("log")
    axes.set_xlim(first, end)
    axes.set_ylim(-0.02, 1.02)
    log_ticks(axes.xaxis)
    axes.grid(True, which="major", alpha=0.3)
    axes.set_xlabel("patients")
    axes.set_ylabel("all inferior arms dropped")


def _draw_fixed(plan: OperatingCharacteristics, axes: Any, first: float, end: float) -> None:
    """Draw the power of the usual trial, by its size."""
    if plan.fixed is None or not plan.fixed.inferior.any():
        return
    K = len(plan.names)
    last = min(end / K, float(LARGEST_GROUP))
    sizes = np.unique(np.geomspace(max(1.0, first / K), max(1.0, last), SIZES).astype(int))
    power = [plan.fixed.power_all(int(n)) for n in sizes]
    axes.plot(K * sizes, power, color="0.3", lw=1.2, ls="--", label=FIXED)


def draw_inferior(plan: OperatingCharacteristics, axes: Any, lines: Sequence[Line]) -> None:
    """Draw patients on inferior arms: the mean over trials, and nine tenths of the trials."""
    for i, (line, learner) in enumerate(zip(lines, plan.learners_in_order, strict=True)):
        each = on_inferior(learner.plays, plan.gaps)
        low, high = np.quantile(each, [0.05, 0.95])
        axes.plot([low, high], [i, i], color=line.colour, lw=2.0, alpha=0.5)
        axes.plot(each.mean(), i, line.marker, color=line.colour, ms=6)
    axes.axvline(plan.equal_on_inferior, color="0.3", lw=1.2, ls="--", label="equal allocation")
    rows(axes, [line.name for line in lines])
    axes.set_xlim(0.0, 1.02 * plan.horizon)
    axes.xaxis.get_major_locator().set_params(nbins=5)
    axes.xaxis.set_major_formatter(lambda x, _: number(x))
    axes.set_xlabel(f"patients on inferior arms, of {plan.horizon:,}")


DRAWINGS: dict[str, Callable[..., None]] = {
    "dropping": draw_dropping,
    "inferior": draw_inferior,
}
