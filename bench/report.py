"""Write docs/performance.md from the last run, its growth tables and the history.

The page's prose is kept; what stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``
is made anew. ``make bench`` calls it; of a quick run the tables are printed, and the page stays
but for the figure of the history.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from growth import GROWTH, Curve
from results import (
    HERE,
    LAST,
    WORSE,
    Results,
    counted,
    goals,
    history,
    join,
    keep,
    read,
    seconds,
    usual,
    verdict,
    wish,
)

DOCS = HERE.parent / "docs"
PAGE = DOCS / "performance.md"
VERSIONS = {
    "numpy": "NumPy",
    "numba": "Numba",
    "scipy": "SciPy",
    "cvxpy": "cvxpy",
    "highspy": "highspy",
    "clarabel": "Clarabel",
    "gcc": "gcc",
    "uli_fast": "uli_fast",
}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def figures_table(part: str, now: Results) -> str:
    """Return one part's comparisons; what was counted has a row of its own."""
    rows: list[list[str]] = []
    notes: list[str] = []
    for key, goal in goals().items():
        figure = now.figures.get(key)
        if goal["part"] != part:
            continue
        mark = ""
        if "note" in goal:
            if goal["note"] not in notes:
                notes.append(goal["note"])
            mark = f" ({notes.index(goal['note']) + 1})"
        if figure is None:
            rows.append([goal["work"], "not measured", "", goal.get("rival", "") + mark, "", ""])
        else:
            rival = "" if figure.yardstick else seconds(figure.rival)
            ratio = "" if figure.yardstick else f"{figure.ratio:.3g}x"
            sides = [seconds(figure.ours), seconds(figure.slowest)]
            rows.append([goal["work"], *sides, goal.get("rival", "") + mark, rival, ratio])
        rows[-1] += [wish(goal), verdict(goal, figure)]
        for what, n, most, met in counted(figure):
            rows.append([f"{goal['work']}: {what}", n, "", "", "", "", most, met])
    header = ("work", "ours", "slowest seed", "rival", "takes", "ratio", "goal", "")
    told = "".join(f"\n{i}. {note[0].upper()}{note[1:]}." for i, note in enumerate(notes, start=1))
    return f"Run of {moment(now.when)}.\n\n{table(header, rows)}" + ("\n" + told if told else "")


def moment(when: str) -> str:
    return when[:16].replace("T", " ") + " UTC"


def machine(now: Results) -> str:
    m = now.machine
    met = [verdict(goal, now.figures.get(key)) for key, goal in goals().items()]
    met += [said for key in goals() for *_, said in counted(now.figures.get(key))]
    counts = ", ".join(f"{met.count(x)} {x}" for x in ("met", "missed", "not measured"))
    return (
        f"{m['cpu']}, Python {m['python_version']}, "
        + ", ".join(f"{name} {m[key]}" for key, name in VERSIONS.items() if key in m)
        + f"; {moment(now.when)}. Goals: {counts}."
    )


def size(x: float) -> str:
    """Return a size as it is, a large power of ten as 1e9."""
    power = f"{x:.0e}".replace("e+0", "e").replace("e+", "e")
    return power if x >= 10**6 and float(power) == x else f"{x:,.0f}"


def growth_table(curves: Sequence[Curve]) -> str:
    """Return how costs grow, with the fitted power."""
    rows = []
    for c in curves:
        points = "; ".join(f"{size(x)}: {seconds(y)}" for x, y in zip(c.x, c.seconds, strict=True))
        rows.append([c.work, c.axis, points, f"{c.power():.2f}"])
    return table(("work", "against", "time", "power"), rows)


def draw_growth(curves: Sequence[Curve], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    axes_of = list(dict.fromkeys(c.axis for c in curves))
    plt.rcParams["svg.hashsalt"] = "growth"
    figure, panels = plt.subplots(1, len(axes_of), figsize=(3.4 * len(axes_of), 3.2))
    for panel, axis in zip(panels, axes_of, strict=True):
        for c in curves:
            if c.axis == axis:
                panel.loglog(c.x, c.seconds, marker=".", label=c.short)
        panel.set_xlabel(axis)
        panel.legend(fontsize=6)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("seconds")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_trend(runs: Sequence[Results], path: Path) -> None:
    """Draw every ratio over the median of its like, run by run: one is as usual."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "trend"
    figure, panel = plt.subplots(figsize=(7, 3.2))
    for key in sorted({key for r in runs for key in r.figures}):
        at = [i for i, r in enumerate(runs) if key in r.figures]
        figures = [runs[i].figures[key] for i in at]
        over = [x.ratio / median(usual(key, x, runs)) for x in figures]
        panel.semilogy(at, over, color="#0072B2", alpha=0.35, marker=".")
    panel.axhline(1.0 / (1.0 + WORSE), color="#D55E00", ls="--", lw=1)
    panel.set_xticks(range(len(runs)), [r.when[:10] for r in runs], rotation=30, fontsize=7)
    panel.set_ylabel("ratio / its median")
    panel.set_yticks([0.5, 0.7, 1.0, 1.5, 2.0], ["0.5", "0.7", "1", "1.5", "2"])
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def replaced(page: str, name: str, text: str) -> str:
    """Put text between a block's marks."""
    pattern = rf"(<!-- begin {re.escape(name)} -->\n).*?(<!-- end {re.escape(name)} -->)"
    if not re.search(pattern, page, flags=re.DOTALL):
        raise SystemExit(f"{PAGE.name} has no block {name!r}")
    return re.sub(pattern, lambda m: f"{m[1]}\n{text}\n\n{m[2]}", page, flags=re.DOTALL)


def memory_table(facts: dict[str, Any]) -> str:
    rows = [
        [f["work"], f"{f['megabytes']:.0f} MB{f['remark']}", seconds(f["seconds"])]
        for f in facts["memory"]
    ]
    return table(("work", "peak memory", "time"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="put the run into the history")
    parser.add_argument("--quick", action="store_true", help="print the tables, leave the page")
    parser.add_argument("--join", type=Path, help="the first lap of the run")
    args = parser.parse_args()
    if args.join:
        join(args.join, LAST)
    if args.keep:
        keep(LAST)
    runs = history()
    if len(runs) > 1:
        draw_trend(runs, DOCS / "performance_trend.svg")
    now = read(LAST)
    tables = {"machine": machine(now)}
    for part in dict.fromkeys(goal["part"] for goal in goals().values()):
        tables[part] = figures_table(part, now)
    if args.quick:
        print(*tables.values(), sep="\n\n")
        return
    page = PAGE.read_text(encoding="utf-8")
    for name, text in tables.items():
        page = replaced(page, name, text)
    if GROWTH.exists():
        facts = json.loads(GROWTH.read_text(encoding="utf-8"))
        curves = [Curve(**c) for c in facts["curves"]]
        when = f"Run of {moment(facts['when'])}.\n\n"
        page = replaced(page, "growth", when + growth_table(curves))
        page = replaced(page, "memory", when + memory_table(facts))
        draw_growth(curves, DOCS / "performance_growth.svg")
    PAGE.write_text(page, encoding="utf-8")
    print(f"{PAGE.relative_to(HERE.parent)}: {machine(now)}")


if __name__ == "__main__":
    main()
