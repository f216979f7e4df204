"""A run of the benchmarks as it is kept, and its figures held against goals and history."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

HERE = Path(__file__).parent
HISTORY = HERE / "history"
LAST = HERE / ".build" / "last.json"
# A ratio may be this much worse than the median of the history: 1.3 times the time.
WORSE = 0.30
# What keeps linear algebra, ours and the rivals', on one thread.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Measured(NamedTuple):
    """One comparison: seconds of both sides, and how many times faster ours is."""

    ours: float
    slowest: float
    rival: float
    ratio: float
    yardstick: bool  # there is no rival: the ratio is to what takes every machine some time
    seeds: int
    about: str = ""  # what was compared, in the words that goals.toml then had
    counts: Mapping[str, tuple[float, float]] = {}  # what was counted, and how much may be


class Results(NamedTuple):
    """A whole run."""

    machine: Mapping[str, str]
    when: str
    figures: Mapping[str, Measured]


def goals() -> dict[str, dict[str, Any]]:
    """Return what is compared, by name, in the order of the tables."""
    return tomllib.loads((HERE / "goals.toml").read_text(encoding="utf-8"))


def read(path: Path) -> Results:
    """Read what pytest-benchmark wrote."""
    data = json.loads(path.read_text(encoding="utf-8"))
    figures = {
        info["key"]: Measured(**{name: info[name] for name in Measured._fields if name in info})
        for info in (each["extra_info"] for each in data["benchmarks"])
    }
    return Results(data["machine_info"], data["datetime"], figures)


def figures(best: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return what is kept of the least times, (side, seed): a side's is the median over seeds."""
    ours, rival = (float(median(times)) for times in best)
    times = {"ours": ours, "slowest": max(best[0]), "rival": rival, "ratio": rival / ours}
    return {**times, "best": [list(side) for side in best]}


def join(first: Path, last: Path, some: bool = False) -> None:
    """Put a lap into the file of another: of each seed the least, on both sides.

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
    """Return all runs that are kept, oldest first."""
    return sorted((read(path) for path in HISTORY.glob("*.json")), key=lambda r: r.when)


def keep(path: Path) -> Path:
    """Put a run into the history and return where."""
    data = json.loads(path.read_text(encoding="utf-8"))
    when = data["datetime"][:19].replace(":", "").replace("-", "")
    HISTORY.mkdir(exist_ok=True)
    target = HISTORY / f"{when}.json"
    target.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return target


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


def wish(goal: Mapping[str, Any]) -> str:
    """Say what is asked for."""
    if "at_most" in goal:
        return f"at most {seconds(goal['at_most'])}"
    return f"at least {goal['at_least']:,}x" if "at_least" in goal else ""
