"""The figures of docs/performance.md: small files with text as text, the same for the same data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.tools.results import WORSE, Results, seconds, size, usual

if TYPE_CHECKING:
    from bench.tools.growth import Curve

BLUE, RED = "#0072B2", "#D55E00"


def save(figure: Any, path: Path) -> None:
    """Write an SVG with text as text, and nothing in it that depends on the day or the version."""
    import matplotlib

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": path.stem,
        "font.sans-serif": ["DejaVu Sans"],  # each text would name a dozen
    }
    with matplotlib.rc_context(settings):
        figure.savefig(path, metadata=dict.fromkeys(("Date", "Creator")))


def draw_growth(curves: Sequence[Curve], path: Path) -> None:
    """Draw time against size, a panel for each kind of size."""
    from matplotlib.figure import Figure

    axes_of = list(dict.fromkeys(c.axis for c in curves))
    figure = Figure(figsize=(3.4 * len(axes_of), 3.2), layout="constrained")
    for panel, axis in zip(figure.subplots(1, len(axes_of), sharey=True), axes_of, strict=True):
        drawn = [c for c in curves if c.axis == axis]
        for c in drawn:
            panel.loglog(c.x, c.seconds, marker=".", label=c.short)
        panel.set_xticks(drawn[0].x, [size(x) for x in drawn[0].x], fontsize=8)
        panel.yaxis.set_major_formatter(lambda y, _: seconds(y))
        panel.tick_params(axis="y", labelsize=8)
        panel.set_xlabel(axis)
        panel.legend(fontsize=7)
        panel.grid(alpha=0.3)
        panel.minorticks_off()  # half of the file
    save(figure, path)


def draw_trend(runs: Sequence[Results], path: Path) -> None:
    """Draw every ratio over the median of its like, run by run: one is as usual."""
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    panel = figure.subplots()
    lines = []
    for key in sorted({key for r in runs for key in r.figures}):
        known = [(i, r.figures[key]) for i, r in enumerate(runs) if key in r.figures]
        lines.append([(i, x.ratio / median(usual(key, x, runs))) for i, x in known])
    panel.add_collection(LineCollection([x for x in lines if len(x) > 1], colors=BLUE, alpha=0.35))
    panel.set_yscale("log")
    panel.axhline(1.0 / (1.0 + WORSE), color=RED, ls="--", lw=1)
    panel.set_xticks(range(len(runs)), [r.when[:10] for r in runs], rotation=30, fontsize=7)
    panel.set_ylabel("ratio / its median")
    panel.set_yticks([0.5, 0.7, 1.0, 1.5, 2.0], ["0.5", "0.7", "1", "1.5", "2"])
    panel.minorticks_off()
    save(figure, path)
