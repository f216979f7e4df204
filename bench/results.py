"""A run of the benchmarks as it is kept, and its figures held against goals and history."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

HERE = Path(__file__).parent
HISTORY = HERE / "history"
LAST = HERE / ".build" / "last.json"
# A ratio may be this much below the median of the history.
WORSE = 0.30
# Ratios of fewer runs are no history.
FEWEST = 3


class Measured(NamedTuple):
    """One comparison: seconds of both sides, and how many times faster ours is."""

    ours: float
    slowest: float
    rival: float
    ratio: float
    yardstick: bool  # there is no rival; the ratio only shows the machine


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
        info["key"]: Measured(*(info[name] for name in Measured._fields))
        for info in (each["extra_info"] for each in data["benchmarks"])
    }
    return Results(data["machine_info"], data["datetime"], figures)


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


def verdict(goal: Mapping[str, Any], figure: Measured | None) -> str:
    """Say whether a goal is met; nothing where there is none."""
    if "at_most" not in goal and "at_least" not in goal:
        return ""
    if figure is None:
        return "not measured"
    met = figure.ours <= goal.get("at_most", float("inf"))
    return "met" if met and figure.ratio >= goal.get("at_least", 0.0) else "missed"


def slower(now: Results, before: Sequence[Results]) -> dict[str, tuple[float, float]]:
    """Return the ratios that are much worse than in the history: now, and its median."""
    found = {}
    for key, figure in now.figures.items():
        known = [r.figures[key].ratio for r in before if key in r.figures]
        if len(known) >= FEWEST and figure.ratio < (1.0 - WORSE) * median(known):
            found[key] = figure.ratio, median(known)
    return found


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
