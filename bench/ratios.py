"""Ours against its rivals, in one process and in turn: ``python bench/ratios.py``.

A time is the median over seeds of the minimum over repeats: the minimum removes
what else the machine does, the median keeps easy seeds from flattering. The
slowest seed is shown too. Ours and the rival start from the same seeds.
"""

from __future__ import annotations

import argparse
import gc
import platform
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numba
import numpy as np
import plain as loops
from cases import (
    DELTA,
    EQUAL,
    GAP,
    MANY,
    SPREAD,
    TIE,
    Case,
    corners,
    hedge_in_numpy,
    in_c,
    limits,
    linear_arms,
    lockstep,
    lockstep_in_c,
    meta_run,
    ours,
    per_round,
    phase_of,
    plain,
)
from rich.console import Console
from rich.table import Table

from uli_fast import (
    UCB,
    GeometricHedge,
    LilUCB,
    PhasedElimination,
    Scrible,
    SuccessiveElimination,
)

HEADER = ("work", "ours", "slowest seed", "rival", "takes", "ratio", "goal", "")


@dataclass(frozen=True)
class Comparison:
    """Two cases and how often to run them; ``key`` finds the goal."""

    key: str
    ours: Case
    rival: Case | None = None
    seeds: int = 5
    repeats: int = 5


def comparisons() -> Iterator[Comparison]:
    """Yield everything that is compared, but not C without a compiler."""
    se, pe, ucb, lil = (
        learner(DELTA) for learner in (SuccessiveElimination, PhasedElimination, UCB, LilUCB)
    )

    def tenth(loop: Any, means: Any) -> Case:
        return plain(loop, means, 10**8, factor=10)

    def short(loop: Any, means: Any) -> Case:
        return plain(loop, means, 10**6)

    se_loop, pe_loop = loops.successive_elimination, loops.phased_elimination
    yield Comparison("se_at_1e12", ours(se, EQUAL, 10**12, "skip"))
    yield Comparison("se_at_1e8", ours(se, EQUAL, 10**8, "skip"), tenth(se_loop, EQUAL), repeats=20)
    yield Comparison("se_rounds", ours(se, EQUAL, 10**6, "rounds"), short(se_loop, EQUAL))

    pe_long = ours(pe, EQUAL, 10**12, "skip")
    yield Comparison("pe_at_1e12", pe_long, repeats=200)
    yield Comparison("pe_flat", pe_long, ours(pe, EQUAL, 10**6, "skip"), repeats=200)
    yield Comparison("pe_rounds", ours(pe, EQUAL, 10**6, "rounds"), short(pe_loop, EQUAL))

    ucb_tie = ours(ucb, TIE, 10**8, "skip")
    yield Comparison("ucb_at_1e12", ours(ucb, GAP, 10**12, "skip"), seeds=9, repeats=3)
    yield Comparison("ucb_tie", ucb_tie, tenth(loops.ucb, TIE), repeats=3)
    for key, means in (("ucb_rounds", SPREAD), ("ucb_rounds_equal", EQUAL)):
        single = ours(ucb, means, 10**6, "rounds")
        yield Comparison(key, single, short(loops.ucb, means))
        yield from against_c(f"{key}_c", single, in_c("ucb", means, 10**6))

    # Times differ most from seed to seed here, hence more of them.
    yield Comparison("lil_at_1e12", ours(lil, GAP, 10**12, "skip"), seeds=41, repeats=3)
    lil_tie, lil_rounds = ours(lil, TIE, 10**8, "skip"), ours(lil, SPREAD, 10**6, "rounds")
    yield Comparison("lil_tie", lil_tie, tenth(loops.lil_ucb, TIE), repeats=2)
    yield Comparison("lil_tie_kept", lil_tie, tenth(loops.lil_ucb_kept, TIE), repeats=2)
    yield Comparison("lil_rounds", lil_rounds, short(loops.lil_ucb, SPREAD))
    yield Comparison("lil_rounds_kept", lil_rounds, short(loops.lil_ucb_kept, SPREAD))
    yield Comparison(
        "lil_rounds_equal", ours(lil, EQUAL, 10**6, "rounds"), short(loops.lil_ucb, EQUAL)
    )
    yield from adversarial()


def adversarial() -> Iterator[Comparison]:
    """Yield the bases of the meta-algorithm; times are per round of one replication."""

    # Long enough for the lanes' polynomial and for 64 seeds to be a percent or two.
    for means, T in ((GAP, 4 * 10**5), (SPREAD, 2 * 10**5), (MANY, 4 * 10**4)):
        key, lanes = f"exp3p_{len(means)}", lockstep(means, T)
        loop, polynomial = (
            per_round(plain(loop, means, T), T) for loop in (loops.exp3p, loops.exp3p_polynomial)
        )
        yield Comparison(key, lanes, loop, seeds=3, repeats=10)
        yield Comparison(f"{key}_polynomial", lanes, polynomial, seeds=3, repeats=10)
        yield from against_c(f"{key}_c", lanes, lockstep_in_c(means, T), seeds=3, repeats=10)
    T = 2 * 10**5
    one = lockstep(SPREAD, T, replications=1)
    yield Comparison("exp3p_one", one, per_round(plain(loops.exp3p, SPREAD, T), T), repeats=10)
    scalar = in_c("exp3p", SPREAD, T)
    yield from against_c("exp3p_one_c", one, scalar and per_round(scalar, T), repeats=10)
    yield Comparison("meta_run", meta_run(), seeds=1, repeats=2)

    arms, T = linear_arms(100, 5), 10**4
    hedge = phase_of(GeometricHedge(DELTA), arms, T)
    yield Comparison("hedge", hedge, hedge_in_numpy(loops.geometric_hedge, arms, T))
    for d in (2, 3):
        yield Comparison(f"scrible_{d}", phase_of(Scrible(DELTA), corners(d), 10**5))


def against_c(
    key: str, side: Case, rival: Case | None, seeds: int = 5, repeats: int = 5
) -> Iterator[Comparison]:
    """Yield a comparison with C, or nothing without a compiler."""
    if rival is not None:
        yield Comparison(key, side, rival, seeds, repeats)


def clock(case: Case, seed: int) -> float:
    """Return the seconds of one run."""
    run = case.prepare(seed)
    begun = time.perf_counter()
    run()
    return case.factor * (time.perf_counter() - begun)


def compare(this: Comparison) -> tuple[list[float], list[float]]:
    """Return the best time of each seed, for ours and for the rival."""
    sides = [side for side in (this.ours, this.rival) if side is not None]
    best = [[np.inf] * this.seeds for _ in sides]
    for side in sides:
        side.prepare(0)()  # compiles
    for _ in range(this.repeats):
        for seed in range(this.seeds):
            for side, times in zip(sides, best, strict=True):
                times[seed] = min(times[seed], clock(side, seed))
    return best[0], best[1] if this.rival is not None else []


def row(this: Comparison, goal: dict[str, Any]) -> tuple[str, ...]:
    """Measure a comparison and put it into words."""
    mine, theirs = compare(this)
    took = median(mine)
    ratio = median(theirs) / took if theirs else None
    return (
        goal["work"],
        seconds(took),
        seconds(max(mine)),
        goal.get("rival", ""),
        seconds(median(theirs)) if theirs else "",
        f"{ratio:.3g}x" if ratio is not None else "",
        wish(goal),
        verdict(goal, took, ratio),
    )


def wish(goal: dict[str, Any]) -> str:
    """Say what is asked for."""
    if "at_most" in goal:
        return f"at most {seconds(goal['at_most'])}"
    return f"at least {goal['at_least']:,}x" if "at_least" in goal else ""


def verdict(goal: dict[str, Any], took: float, ratio: float | None) -> str:
    """Say whether a goal is met; nothing where there is none."""
    if "at_most" in goal:
        return "met" if took <= goal["at_most"] else "missed"
    if "at_least" in goal and ratio is not None:
        return "met" if ratio >= goal["at_least"] else "missed"
    return ""


def seconds(x: float) -> str:
    """Return a time with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if x >= size:
            return f"{x / size:.3g} {unit}"
    return f"{x / 1e-9:.3g} ns"


def machine() -> str:
    """Name what the figures were taken on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return ", ".join(
        (
            names[0] if names else platform.machine(),
            f"Python {platform.python_version()}",
            f"NumPy {np.__version__}",
            f"Numba {numba.__version__}",
        )
    )


def as_markdown(rows: list[tuple[str, ...]]) -> str:
    """Return the rows as a table for the documentation."""
    lines = [HEADER, ("---",) * len(HEADER), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def as_table(rows: list[tuple[str, ...]]) -> Table:
    """Return the rows as a table for the terminal."""
    table = Table(title="Ours against its rivals", caption=machine())
    for name in HEADER:
        table.add_column(name, justify="left" if name in ("work", "rival", "goal", "") else "right")
    colours = {"met": "green", "missed": "red"}
    for cells in rows:
        table.add_row(*cells, style=colours.get(cells[-1]))
    return table


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description="Time ours against its rivals.")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--only", default="", help="only comparisons whose key starts with this")
    args = parser.parse_args()
    goals = tomllib.loads((Path(__file__).parent / "goals.toml").read_text())
    if limits() is None:
        print("gcc is missing: C is not measured", file=sys.stderr)
    gc.disable()
    rows = []
    for this in comparisons():
        if this.key.startswith(args.only):
            print(f"{this.key} ...", file=sys.stderr)
            rows.append(row(this, goals[this.key]))
    if args.markdown:
        print(f"{machine()}.\n\n{as_markdown(rows)}")
    else:
        Console(width=None if sys.stdout.isatty() else 160).print(as_table(rows))


if __name__ == "__main__":
    main()
