"""A replayed log: its table, its figure, its page."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast.errors import MissingExtraError
from uli_fast.report.canvas import DASHES, log_ticks, pens, thinned
from uli_fast.report.figures import checked_target, save_figure
from uli_fast.report.page import render, write_page
from uli_fast.report.sheet import sheet
from uli_fast.report.svg import inline_svg
from uli_fast.report.tables import plain_table
from uli_fast.report.words import label, listed, number, squeezed

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from uli_fast.results.replay import Replay

LONGEST_NAME = 20  # in the terminal and in legends
MOST_DRAWN = 12  # arms of a figure
MOST_LINES = 500  # arms of a page


class LogRow(NamedTuple):
    """What a table says of one arm."""

    name: str
    rows: int  # in the log
    used: int
    mean: float
    interval: str
    dropped: str


def rows_of(replay: Replay) -> list[LogRow]:
    """Return a row per arm: those left, the best mean first, then the dropped, the last first."""
    found = []
    for arm in _ordered(replay):
        low, high = replay.intervals[arm]
        known = math.isfinite(low) or math.isfinite(high)
        ends = f"{number(low)} to {number(high)}" if known else "\u2013"
        gone = f"row {replay.dropped[arm].row:,}" if arm in replay.dropped else ""
        about = (replay.counts[arm], replay.plays[arm], replay.means[arm], ends, gone)
        found.append(LogRow(label(arm), *about))
    return found


def _ordered(replay: Replay) -> list[str]:
    means = {arm: -math.inf if math.isnan(x) else x for arm, x in replay.means.items()}
    left = sorted(replay.active, key=lambda arm: -means[arm])
    return [*left, *reversed(replay.dropped)]


def headline(replay: Replay) -> str:
    """Say who was dropped when."""
    if not replay.dropped:
        return f"None of {len(replay.arms)} arms would have been dropped in {replay.rows:,} rows"
    gone = [f"{label(arm)} after row {drop.row:,}" for arm, drop in replay.dropped.items()]
    return f"Would have been dropped: {listed(gone)} of {replay.rows:,}"


def use(replay: Replay) -> str:
    """Say how much of the log was used."""
    used = sum(replay.plays.values())
    lost = f", {replay.missing:,} rows have no outcome" if replay.missing else ""
    why = {
        "any": "the learner chose the arms, each row being its arm's next outcome",
        "randomized": "rows went in by counts and sums, in whatever proportion the arms came",
    }[replay.assignment]
    if type(replay.learner).__name__ == "SuccessiveElimination":
        why = "rows went in as they came, until their arm was dropped"
    return f"{used:,} of {replay.rows:,} rows were used{lost}: {why}."


def table_of(replay: Replay) -> Table:
    """Return a table for the terminal."""
    from rich.text import Text

    title = f"{label(replay.source)}: {replay.learner!r}, assignment {replay.assignment}"
    table = plain_table(title, ["arm", "rows", "used", "mean", "interval", "dropped"])
    for row in rows_of(replay):
        numbers = (f"{row.rows:,}", f"{row.used:,}", number(row.mean), row.interval, row.dropped)
        table.add_row(Text(squeezed(row.name, LONGEST_NAME)), *numbers)
    table.caption = Text(f"{use(replay)}\n{replay.verdict}, if what is assumed holds")
    return table


def draw_intervals(axes: Any, replay: Replay) -> None:
    """Draw each arm's interval over the rows of the log, until it is dropped."""
    looks = replay.looks
    drawn = _ordered(replay)[:MOST_DRAWN]
    for arm, (colour, cycle) in zip(drawn, pens(drawn), strict=True):
        a = replay.arms.index(arm)
        seen = looks.active[:, a] & np.isfinite(looks.lower[:, a])
        if arm in replay.dropped:
            seen |= looks.rows == replay.dropped[arm].row
        at = np.flatnonzero(seen)
        if at.size:
            at = at[thinned(np.arange(1, at.size + 1))]
        x, low, high = looks.rows[at], looks.lower[at, a], looks.upper[at, a]
        axes.fill_between(x, low, high, color=colour, alpha=0.16, lw=0)
        style = {"color": colour, "ls": DASHES[cycle], "lw": 1.1}
        axes.plot(x, low, **style, label=squeezed(label(arm), LONGEST_NAME))
        axes.plot(x, high, **style)
        if arm in replay.dropped and at.size:
            axes.plot(x[-1:], (low[-1:] + high[-1:]) / 2.0, "X", color=colour, ms=7)
    axes.set_xscale("log")
    axes.set_xlim(1, max(2, replay.rows))
    axes.set_xlabel("row of the log")
    axes.set_ylabel("mean reward")
    log_ticks(axes.xaxis)
    axes.grid(True, which="major", alpha=0.3)


def figure_of(replay: Replay, path: str | os.PathLike[str] | None = None, ax: Any = None) -> Any:
    """Draw the intervals with a legend, and keep them as an image."""
    figure, axes = sheet(ax, 9.0, 5.5)
    target = checked_target(figure, path)
    draw_intervals(axes, replay)
    axes.set_title(headline(replay), fontsize=10, parse_math=False)
    for text in axes.legend(loc="upper right", fontsize=8).get_texts():
        text.set_parse_math(False)
    save_figure(figure, target)
    return figure if ax is None else ax


def write_replay(replay: Replay, path: str | os.PathLike[str], title: str | None = None) -> Path:
    """Write a replay as a page that needs nothing else."""
    target = _check.file("path", path)
    _check.page("path", target)
    heading = "A log replayed" if title is None else _check.text("title", title)
    drawn = _ordered(replay)[:MOST_DRAWN]
    svg = inline_svg(
        lambda axes, _: draw_intervals(axes, replay), [], (7.2, 3.6), "Intervals", "replay"
    )
    page = render(
        "replay.html",
        title=label(heading),
        replay=replay,
        headline=headline(replay),
        use=use(replay),
        rows=rows_of(replay)[:MOST_LINES],
        svg=svg,
        keys=[(label(arm), *pen) for arm, pen in zip(drawn, pens(drawn), strict=True)],
        learner=repr(replay.learner),
    )
    return write_page(page, target)


def frame_of(replay: Replay) -> pd.DataFrame:
    """Return one row per look and arm."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("to_pandas needs pandas: pip install pandas") from None
    looks, K = replay.looks, len(replay.arms)
    L = looks.rows.size
    return pd.DataFrame(
        {
            "row": np.repeat(looks.rows, K),
            "arm": list(replay.arms) * L,
            "plays": looks.plays.ravel(),
            "lower": looks.lower.ravel(),
            "upper": looks.upper.ravel(),
            "active": looks.active.ravel(),
        }
    )
