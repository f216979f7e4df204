"""Write docs/performance.md from the last run, its growth tables and the history.

The page's prose is kept; what is between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``
is rewritten. ``make bench`` calls it; after a quick run the tables are printed, and on the page
only the figure of the history changes. ``python -m bench.tools.report --figures`` draws both
figures from what is kept, without a run.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import BENCH
from bench.tools.figures import draw_growth, draw_trend
from bench.tools.growth import GROWTH, Curve
from bench.tools.results import (
    LAST,
    Measured,
    Results,
    counted,
    goals,
    history,
    join,
    keep,
    read,
    seconds,
    size,
    verdict,
    wish,
)

DOCS = BENCH.parent / "docs"
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


def grid_table(part: str, now: Results) -> str:
    """Return the ratios of a part that is laid out in rows and columns, rival beside rival."""
    here = {key: goal for key, goal in goals().items() if goal["part"] == part}
    rivals = list(dict.fromkeys(goal["rival"] for goal in here.values()))
    columns = list(dict.fromkeys(goal["column"] for goal in here.values()))
    rows: dict[str, dict[str, dict[str, str]]] = {}
    for key, goal in here.items():
        row = rows.setdefault(goal["row"], {column: {} for column in columns})
        row[goal["column"]][goal["rival"]] = ratio_of(goal, now.figures.get(key))
    lines = [
        [name, *(" / ".join(cell.get(rival, "-") for rival in rivals) for cell in row.values())]
        for name, row in rows.items()
    ]
    told = f"How many times faster than {' / '.join(rivals)}; **bold** misses its goal."
    return f"Run of {moment(now.when)}. {told}\n\n{table(('', *columns), lines)}"


def ratio_of(goal: Mapping[str, Any], figure: Measured | None) -> str:
    """Return a ratio, bold where it misses its goal."""
    if figure is None:
        return "?"
    ratio = f"{figure.ratio:,.0f}" if figure.ratio >= 100.0 else f"{figure.ratio:.2g}"
    return f"**{ratio}**" if verdict(goal, figure) == "missed" else ratio


def figures_table(part: str, now: Results) -> str:
    """Return one part's comparisons; what was counted has a row of its own."""
    if any("row" in goal for goal in goals().values() if goal["part"] == part):
        return grid_table(part, now)
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


def growth_table(curves: Sequence[Curve]) -> str:
    """Return how costs grow, with the fitted power."""
    rows = []
    for c in curves:
        points = "; ".join(f"{size(x)}: {seconds(y)}" for x, y in zip(c.x, c.seconds, strict=True))
        rows.append([c.work, c.axis, points, f"{c.power():.2f}"])
    return table(("work", "against", "time", "power"), rows)


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


def draw(runs: Sequence[Results]) -> None:
    """Draw both figures of the page from what is kept."""
    if len(runs) > 1:
        draw_trend(runs, DOCS / "performance_trend.svg")
    draw_growth(curves_of(grown()), DOCS / "performance_growth.svg")


def grown() -> dict[str, Any]:
    """Return what growth.py measured last."""
    return json.loads(GROWTH.read_text(encoding="utf-8"))


def curves_of(facts: dict[str, Any]) -> list[Curve]:
    return [Curve(**c) for c in facts["curves"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="put the run into the history")
    parser.add_argument("--quick", action="store_true", help="print the tables, leave the page")
    parser.add_argument("--join", type=Path, help="the first lap of the run")
    parser.add_argument("--figures", action="store_true", help="draw what is kept, and no more")
    args = parser.parse_args()
    if args.figures:
        draw(history())
        return
    if args.join:
        join(args.join, LAST)
    now = read(LAST)
    if args.keep:
        keep(now)
    draw(history())
    tables = {"machine": machine(now)}
    for part in dict.fromkeys(goal["part"] for goal in goals().values()):
        tables[part] = figures_table(part, now)
    if args.quick:
        print(*tables.values(), sep="\n\n")
        return
    facts = grown()
    when = f"Run of {moment(facts['when'])}.\n\n"
    tables["growth"] = when + growth_table(curves_of(facts))
    tables["memory"] = when + memory_table(facts)
    page = PAGE.read_text(encoding="utf-8")
    for name, text in tables.items():
        page = replaced(page, name, text)
    PAGE.write_text(page, encoding="utf-8")
    print(f"{PAGE.relative_to(BENCH.parent)}: {machine(now)}")


if __name__ == "__main__":
    main()
