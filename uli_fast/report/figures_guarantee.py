"""Figures of what the guarantee implies: rare failures and few mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uli_fast._typing import F64
from uli_fast.errors import NoGuaranteeError
from uli_fast.guarantees import Guarantee
from uli_fast.report.canvas import Line, log_ticks, rows
from uli_fast.report.checks import check, tightest
from uli_fast.results.runs import Runs


def draw_failures(axes: Any, lines: Sequence[Line], against: Guarantee | None = None) -> None:
    """Draw how often F was broken, with the interval of its probability, against delta.

    A learner without F is held against the tightest one of the problem: its dot is hollow.
    """
    against = against or tightest(line.runs for line in lines)
    for y, line in enumerate(lines):
        checked = check(line.runs, against)
        assert checked is not None
        found = checked.coverage
        colour, face = line.colour, line.colour if checked.own else "white"
        axes.plot([found.low, found.high], [y, y], color=colour, lw=3.0, alpha=0.45)
        shape = {"marker": line.marker, "color": colour, "mfc": face, "ms": 7}
        axes.plot(found.rate, y, **shape, clip_on=False, zorder=3)
        axes.plot([found.delta] * 2, [y - 0.38, y + 0.38], "--", color="black", lw=1.2)
    rows(axes, [line.name for line in lines])
    axes.set_xlim(-0.01, 1.01)
    # Below the whole figure: long names leave little room below the axes.
    axes.figure.supxlabel("probability of going beyond F (dashed: delta)", fontsize=9)


def draw_mistakes(axes: Any, lines: Sequence[Line]) -> None:
    """Draw N_eps, median and most over runs, under the number of rounds that F allows."""
    gaps = np.unique(np.concatenate([line.runs.worse_gaps for line in lines]))
    spaced = np.geomspace(gaps[0] / 3.0, gaps[-1], 60)
    some = gaps[:: 1 + gaps.size // 100]  # N_eps falls where eps is a gap
    precisions = np.unique(np.concatenate([spaced, some, some * (1.0 - 1e-9)]))
    for line in lines:
        counts = np.stack([line.runs.mistakes(eps) for eps in precisions], axis=1)
        middle, most = np.median(counts, axis=0), counts.max(axis=0)
        style, allowed = {"color": line.colour, "ls": line.dash}, _allowed(line.runs, spaced)
        axes.plot(precisions, _or_nan(middle), **style, label=line.name)
        axes.plot(precisions, _or_nan(most), **style, lw=0.8)
        axes.plot(spaced, _or_nan(allowed), color=line.colour, ls=line.bound_dash, lw=1.2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("eps")
    axes.set_ylabel(f"{lines[0].runs.unit}s with a gap above eps")
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis)
    axes.grid(True, which="major", alpha=0.3)


def _allowed(r: Runs, precisions: F64) -> F64:
    """Return how many rounds may have a gap above eps, by F; NaN where that is not known."""
    if r.guarantee is None:
        return np.full(precisions.size, np.nan)
    try:
        return np.array([float(r.guarantee.rounds_until(eps)) for eps in precisions])
    except NoGuaranteeError:  # a user's f that does not fall far enough
        return np.full(precisions.size, np.nan)


def _or_nan(counts: F64) -> F64:
    """Leave out what a logarithmic axis cannot show."""
    return np.where(counts > 0.0, counts, np.nan)
