"""A race as a table, a figure and a page."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check
from uli_fast._support.versions import versions
from uli_fast.errors import MissingExtraError
from uli_fast.guarantees import confidence
from uli_fast.report.canvas import rows
from uli_fast.report.figures import checked_target, save_figure
from uli_fast.report.page import render, write_page
from uli_fast.report.sheet import new_figure
from uli_fast.report.svg import inline_svg
from uli_fast.report.tables import plain_table
from uli_fast.report.words import label, listed, number, squeezed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table

    from uli_fast.results.race import Race, Standing

LONGEST_NAME = 28
HEADERS = ("mean", "interval", "evaluations", "missing", "dropped at", "beaten by")
IN, OUT = "#0072B2", "#888888"  # of those still in the race, and of those dropped


def summary(race: Race) -> list[str]:
    """Say what came out, what it cost, and how sure it is."""
    share, lost = race.saved / race.full, len(race.missing)
    made = f"{race.evaluations:,} evaluations of {race.full:,}"
    made += f", {lost:,} of them without a score" if lost else ""
    meant = "over the whole list" if race.about == "list" else "in the population"
    return [
        f"{race.stopped} after {race.instances} instances",
        f"{made}: {100.0 * share:.0f} % saved",
        f"averages {meant}; with probability {confidence(race.delta)} {label(race.verdict(), 200)}",
    ]


def cells(race: Race, x: Standing) -> list[str]:
    """Return a candidate's numbers as text."""
    return [
        number(x.mean),
        f"{x.low:.3f} to {x.high:.3f}",
        f"{x.evaluations:,}",
        f"{x.missing:,}",
        "in the race" if x.dropped_at is None else f"{x.dropped_at:,}",
        "" if x.beaten_by is None else squeezed(label(x.beaten_by), LONGEST_NAME),
    ]


def race_table(race: Race) -> Table:
    """Return the ranking for the terminal."""
    from rich.text import Text

    shown = HEADERS if race.missing else tuple(h for h in HEADERS if h != "missing")
    table = plain_table(f"Race: {label(race.verdict(), 200)}", ["candidate", *shown])
    for x in race.ranking:
        kept = [c for h, c in zip(HEADERS, cells(race, x), strict=True) if h in shown]
        table.add_row(Text(squeezed(label(x.name), LONGEST_NAME)), *map(Text, kept))
    table.caption = Text("\n".join(summary(race)))
    return table


def race_frame(race: Race) -> pd.DataFrame:
    """Return one row per candidate."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("to_pandas needs pandas: pip install pandas") from None
    frame = pd.DataFrame([x._asdict() for x in race.ranking])
    for column in ("dropped_at", "dropped_after"):
        frame[column] = frame[column].astype("Int64")
    return frame


def draw_intervals(axes: Any, ranking: Sequence[Standing]) -> None:
    """Draw each candidate's mean and interval."""
    for i, x in enumerate(ranking):
        colour = IN if x.dropped_at is None else OUT
        axes.plot([x.low, x.high], [i, i], color=colour, lw=2.0, solid_capstyle="butt")
        if math.isfinite(x.mean):
            axes.plot([x.mean], [i], "o", color=colour, ms=5.0)
    rows(axes, [label(x.name) for x in ranking])
    axes.set_xlabel("mean score, with its confidence interval")


def draw_lengths(axes: Any, ranking: Sequence[Standing]) -> None:
    """Draw on how many instances each candidate was evaluated."""
    colours = [IN if x.dropped_at is None else OUT for x in ranking]
    axes.barh(np.arange(len(ranking)), [x.evaluations for x in ranking], 0.6, color=colours)
    rows(axes, [label(x.name) for x in ranking])
    axes.set_xlabel("instances evaluated; grey: until it was dropped")


def race_figure(race: Race, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw intervals and lengths side by side."""
    figure = new_figure(10.0, 1.6 + 0.3 * len(race.ranking))
    target = checked_target(figure, path)
    left, right = figure.subplots(1, 2)
    draw_intervals(left, race.ranking)
    draw_lengths(right, race.ranking)
    figure.suptitle(label(race.verdict(), 120), fontsize=10, parse_math=False)
    save_figure(figure, target)
    return figure


def write_race(race: Race, path: str | os.PathLike[str], title: str) -> Path:
    """Write a race as a page that needs nothing else.

    Parameters
    ----------
    race
        What ``uli.race`` returned.
    path
        The page; one that is there already is replaced once the new one is on the disk.
    title
        The page's heading.
    """
    target, heading = _check.path("path", path), _check.text("title", title)
    _check.page("path", target)
    size = 5.2, 1.0 + 0.28 * len(race.ranking)
    drawings: list[Any] = [draw_intervals, draw_lengths]
    titles = ["Means and intervals", "Instances evaluated"]
    ranking: Any = race.ranking
    page = render(
        "race.html",
        title=label(heading),
        race=race,
        verdict=race.verdict(),
        summary=summary(race),
        headers=HEADERS,
        lines=[(x.name, cells(race, x)) for x in race.ranking],
        pictures=[
            (name, inline_svg(draw, ranking, size, name, f"race-{i}"))
            for i, (name, draw) in enumerate(zip(titles, drawings, strict=True))
        ],
        left=listed([label(x) for x in race.active]),
        reasons=_reasons(race),
        versions=versions(),
    )
    return write_page(page, target)


def _reasons(race: Race) -> list[tuple[int, str]]:
    """Return how often scores were missing for each reason, the most frequent first."""
    counts: dict[str, int] = {}
    for x in race.missing:
        counts[x.reason] = counts.get(x.reason, 0) + 1
    return sorted(((n, reason) for reason, n in counts.items()), key=lambda x: (-x[0], x[1]))[:200]
