"""A run of the benchmarks as it is kept, and its figures compared with goals and history."""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench import BENCH, BUILD

HISTORY = BENCH / "history.jsonl"
LAST = BUILD / "last.json"
# A ratio may be this much worse than the median of the history: 1.3 times the time.
WORSE = 0.30
# What keeps linear algebra, ours and the rivals', on one thread.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


# What an entry of goals.toml says about its grid.
GRID = ("grid", "instead", "without")


class Measured(NamedTuple):
    """One comparison: the seconds of ours, and how many times faster it is."""

    ours: float
    ratio: float
    seeds: int
    about: str = ""  # what was compared, in the words that goals.toml then had
    counts: Mapping[str, tuple[float, float]] = {}  # what was counted, and how much may be
    # Of the last run alone: the history has no use for them.
    slowest: float = math.nan
    rival: float = math.nan
    yardstick: bool = False  # there is no rival: the ratio is to a million Bernoulli draws


# What is kept of a comparison.
KEPT = ("ours", "ratio", "seeds", "about", "counts")


class Results(NamedTuple):
    """A whole run."""

    machine: Mapping[str, str]
    when: str
    figures: Mapping[str, Measured]


def goals() -> dict[str, dict[str, Any]]:
    """Return what is compared, by name, in the order of the tables."""
    entries = tomllib.loads((BENCH / "goals.toml").read_text(encoding="utf-8"))
    return {key: goal for name in entries for key, goal in cells(name, entries[name]).items()}


def cells(name: str, entry: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the goals of an entry: one, or one for each point of its grid."""
    if "grid" not in entry:
        return {name: dict(entry)}
    axes = {axis: words_of(values) for axis, values in entry["grid"].items()}
    found = {}
    for point in itertools.product(*axes.values()):
        at = dict(zip(axes, point, strict=True))
        if any(holds(rule, at) for rule in entry.get("without", ())):
            continue
        goal = {field: entry[field] for field in entry if field not in GRID}
        for rule in entry.get("instead", ()):
            if holds(rule, at):
                goal |= {field: rule[field] for field in rule if field not in axes}
        words = {axis: axes[axis][value] for axis, value in at.items()}
        texts = {field: x.format(**words) for field, x in goal.items() if isinstance(x, str)}
        found[f"{name}[{'-'.join(point)}]"] = goal | texts
    return found


def words_of(values: Mapping[str, str] | Sequence[int]) -> dict[str, str]:
    """Return the names that an axis of a grid has in keys, and the words for them."""
    return dict(values) if isinstance(values, Mapping) else {str(x): f"{x:,}" for x in values}


def holds(rule: Mapping[str, Any], at: Mapping[str, str]) -> bool:
    """Return whether a rule of a grid is about this point: all that it names must fit."""
    return all(value in map(str, rule[axis]) for axis, value in at.items() if axis in rule)


def read(path: Path) -> Results:
    """Read what pytest-benchmark wrote."""
    data = json.loads(path.read_text(encoding="utf-8"))
    infos = [each["extra_info"] for each in data["benchmarks"]]
    figures = {info["key"]: measured(info) for info in infos}
    return Results(data["machine_info"], data["datetime"], figures)


def measured(info: Mapping[str, Any]) -> Measured:
    """Return a comparison, of which more may be known than is read."""
    return Measured(**{name: info[name] for name in Measured._fields if name in info})


def figures(best: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return what is kept of the least times, (side, seed): a side's is the median over seeds."""
    ours, rival = (float(median(times)) for times in best)
    times = {"ours": ours, "slowest": max(best[0]), "rival": rival, "ratio": rival / ours}
    return {**times, "best": [list(side) for side in best]}


def join(first: Path, last: Path, some: bool = False) -> None:
    """Merge a lap into the file of another: the least time of each seed, on both sides.

    The first lap may be of some of the benchmarks.
    """
    one, two = (json.loads(path.read_text(encoding="utf-8")) for path in (first, last))
    known = {each["extra_info"]["key"]: each["extra_info"] for each in one["benchmarks"]}
    infos = {each["extra_info"]["key"]: each["extra_info"] for each in two["benchmarks"]}
    if not some and known.keys() != infos.keys():
        raise SystemExit(f"not in both laps: {', '.join(sorted(known.keys() ^ infos.keys()))}")
    for key, other in known.items():
        info = infos[key]
        sides = zip(info["best"], other["best"], strict=True)
        least = [[min(pair) for pair in zip(*side, strict=True)] for side in sides]
        info.update(figures(least))
        info["repeats"] += other["repeats"]
    last.write_text(json.dumps(two), encoding="utf-8")


def names(path: Path) -> dict[str, str]:
    """Return what pytest calls each benchmark of a run."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return {each["extra_info"]["key"]: each["fullname"] for each in data["benchmarks"]}


def history() -> list[Results]:
    """Return all kept runs, oldest first; a line that is not a run is named and left out."""
    runs = []
    text = HISTORY.read_text(encoding="utf-8", errors="replace") if HISTORY.exists() else ""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            runs.append(from_line(line))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            where = f"{HISTORY.name}, line {number}"
            print(f"{where} is no run and is left out: {problem!r}", file=sys.stderr)
    return sorted(runs, key=lambda r: r.when)


def keep(now: Results) -> None:
    """Add a run to the history, once."""
    if any(r.when == now.when for r in history()):
        return
    before = HISTORY.read_bytes() if HISTORY.exists() else b""
    torn = bool(before) and not before.endswith(b"\n")
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write("\n" * torn + to_line(now) + "\n")


def to_line(run: Results) -> str:
    """Return a run as it is kept, its times to six digits."""
    kept = {}
    for key, figure in run.figures.items():
        known = {name: getattr(figure, name) for name in KEPT if getattr(figure, name)}
        kept[key] = known | {name: float(f"{known[name]:.6g}") for name in ("ours", "ratio")}
    data = {"when": run.when, "machine": dict(run.machine), "figures": kept}
    return json.dumps(data, separators=(",", ":"))


def from_line(line: str) -> Results:
    """Return a kept run; raise if it is not one."""
    data = json.loads(line)
    machine, when = dict(data["machine"]), data["when"]
    if not isinstance(when, str):
        raise TypeError("when must be text")
    run = Results(machine, when, {key: measured(info) for key, info in data["figures"].items()})
    for key, figure in run.figures.items():
        if not (0.0 < figure.ours < math.inf and 0.0 < figure.ratio < math.inf):
            raise ValueError(f"{key} has no time or no ratio")
    return run


def about(goal: Mapping[str, Any]) -> str:
    """Return what is compared, in words: other words begin another history."""
    return f"{goal['work']} / {goal.get('rival', '')}"


def verdict(goal: Mapping[str, Any], figure: Measured | None) -> str:
    """Say whether a goal is met; nothing where there is none."""
    if "at_most" not in goal and "at_least" not in goal:
        return ""
    if figure is None:
        return "not measured"
    met = figure.ours <= goal.get("at_most", float("inf"))
    return said(met and figure.ratio >= goal.get("at_least", 0.0))


def said(met: bool) -> str:
    return "met" if met else "missed"


def counted(figure: Measured | None) -> list[tuple[str, str, str, str]]:
    """Return what was counted: its name, how often, what is allowed, and whether that is met."""
    counts = {} if figure is None else figure.counts
    return [
        (what, f"{n:.4g}", f"at most {most:.4g}", said(n <= most))
        for what, (n, most) in counts.items()
    ]


def usual(key: str, figure: Measured, runs: Sequence[Results]) -> list[float]:
    """Return the ratios of the same comparison in other runs, over as many seeds."""
    known = (r.figures[key] for r in runs if key in r.figures)
    return [x.ratio for x in known if (x.about, x.seeds) == (figure.about, figure.seeds)]


def slower(now: Results, before: Sequence[Results]) -> dict[str, tuple[float, float]]:
    """Return the ratios that are much worse than in the history: now, and its median."""
    found = {}
    for key, figure in now.figures.items():
        known = usual(key, figure, before)
        if known and figure.ratio < median(known) / (1.0 + WORSE):
            found[key] = figure.ratio, median(known)
    return found


def refuse_threads() -> None:
    """Raise unless linear algebra is held to one thread: ours is, and so must rivals be."""
    free = [name for name in ONE_THREAD if os.environ.get(name) != "1"]
    if free:
        raise RuntimeError(f"set {' '.join(f'{name}=1' for name in free)}, as make bench does")


def seconds(x: float) -> str:
    """Return a time with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if x >= size:
            return f"{x / size:.3g} {unit}"
    return f"{x / 1e-9:.3g} ns"


def size(x: float) -> str:
    """Return a size as it is, a large power of ten as 1e9."""
    power = f"{x:.0e}".replace("e+0", "e").replace("e+", "e")
    return power if x >= 10**6 and float(power) == x else f"{x:,.0f}"


def wish(goal: Mapping[str, Any]) -> str:
    """Say what is asked for."""
    if "at_most" in goal:
        return f"at most {seconds(goal['at_most'])}"
    return f"at least {goal['at_least']:,}x" if "at_least" in goal else ""
