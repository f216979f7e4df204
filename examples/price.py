"""What a promise costs on the arms of the ISIS-2 trial: the table and the picture of README.

    python examples/price.py --out docs/price.svg

prints the table and draws the picture; a few minutes, most of them Thompson sampling's and UCB's.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import uli_fast as uli
from uli_fast.report.bounds import binds_from
from uli_fast.report.canvas import lines_of
from uli_fast.results.runs import Runs

DELTA = 0.05
PATIENTS = 17_187  # of the trial itself
LEARNERS: dict[str, Any] = {
    "BettingElimination": uli.BettingElimination(DELTA),
    "SuccessiveElimination": uli.SuccessiveElimination(DELTA),
    "PhasedElimination": uli.PhasedElimination(DELTA),
    "KLUCB": uli.KLUCB(DELTA),
    "UCB": uli.UCB(DELTA),
    "ThompsonSampling": uli.ThompsonSampling(DELTA),
}
# Rivals never stop, and would lie on each other.
APART = {"KLUCB": 3.0, "UCB": 6.0, "ThompsonSampling": 9.0}
DRAWN = ("BettingElimination", "SuccessiveElimination", "KLUCB", "UCB", "ThompsonSampling")


def simulate(horizon: int, runs: int, seed: int = 1) -> dict[str, Runs]:
    """Play every learner to the horizon; one that is played round by round to 10^6 at most."""
    trial, found = uli.datasets.load("isis2"), {}
    for name, learner in LEARNERS.items():
        end = horizon if "skip" in learner.engines else min(horizon, 10**6)
        every = {*np.geomspace(1, end, 120).astype(int).tolist(), 10**6, PATIENTS, end}
        rounds = sorted(t for t in every if t <= end)
        found[name] = uli.simulate(learner, trial, end, runs, seed, rounds=rounds)
    return found


def table(found: Mapping[str, Runs]) -> list[str]:
    """Return the rows of README's table: promise, regret, when worse arms end."""
    trial = uli.datasets.load("isis2")
    longest = max(r.horizon for r in found.values())
    rows = []
    for name, r in found.items():
        regret = [_regret(r, t) for t in (PATIENTS, 10**6, longest)]
        promise, last = "nothing", "never"
        if not r.baseline:
            assert r.guarantee is not None
            smallest = float(trial.gaps[trial.gaps > 0.0].min())
            promise = f"only the best arm from round {binds_from(r.guarantee, smallest):,} on"
            last = f"{int(np.median(r.last_mistake())):,}"
        rows.append(f"| `{name}` | {promise} | {' | '.join(regret)} | {last} |")
    return rows


def _regret(r: Runs, t: int) -> str:
    at = np.flatnonzero(r.rounds == t)
    return f"{np.median(r.regret[:, at[0]]):,.0f}" if at.size else "not run"


def bought(runs: Runs) -> str:
    """Return how runs of the trial ended, and what arms at random would have cost, in words."""
    trial = uli.datasets.load("isis2")
    done = float((runs.last_mistake() <= PATIENTS).mean())
    lost = int((runs.eliminated_at[:, trial.gaps.argmin()] > 0).sum())
    random = PATIENTS * trial.gaps.mean()
    return (
        f"only the best arm is left within the trial in {done:.0%} of {runs.replications:,} "
        f"runs; the best one was dropped in {lost}; arms at random cost {random:.0f}"
    )


def draw(found: Mapping[str, Runs], path: Path) -> None:
    """Draw who still plays worse arms, and what it cost, side by side."""
    import matplotlib
    from matplotlib.figure import Figure

    style = {
        "font.size": 10.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "price",
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(10.4, 4.0), layout="constrained", facecolor="white")
        left, right = figure.subplots(1, 2)
        end = max(r.horizon for r in found.values())
        for line in lines_of([found[name] for name in DRAWN], DRAWN):
            r, thick = line.runs, 2.6 if line.name == "BettingElimination" else 1.6
            pen = {"color": line.colour, "lw": thick, "label": line.name}
            left.plot(*_still_to_come(r, APART.get(line.name, 0.0)), **pen)
            right.plot(r.rounds, np.median(r.regret, axis=0), **pen)
        left.set_title("Runs in which a worse arm is still to come, %", fontsize=11, loc="left")
        right.set_title("Regret so far (median)", fontsize=11, loc="left")
        left.set_ylim(-3, 112)
        left.set_yticks(range(0, 101, 20))
        words = {"fontsize": 9, "color": "0.35"}
        left.text(end / 2.0, 92, "rivals: for ever", ha="right", va="top", **words)
        right.set_yscale("log")
        right.set_ylim(bottom=1)
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlim(10, end)
            axes.set_xlabel("round")
            axes.axvline(PATIENTS, color="0.6", lw=0.8, ls=":")
            axes.grid(True, alpha=0.25)
        right.text(PATIENTS * 1.3, 1.3, "the trial's 17,187 patients", **words)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _still_to_come(r: Runs, apart: float) -> tuple[Any, Any]:
    """Return rounds, and the percentage of runs with a worse arm at that round or later.

    Rivals come back to every arm for ever, so that it is all of them, whatever the horizon.
    """
    last = np.sort(r.last_mistake())
    t = np.unique(np.concatenate([[1, r.horizon], last, last + 1]))
    t = t[t <= r.horizon]
    share = 100.0 * (1.0 - np.searchsorted(last, t) / last.size)
    return t, (np.full(t.size, 100.0) if r.baseline else share) + apart


def main() -> None:
    """Print the table and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("price.svg"))
    parser.add_argument("--horizon", type=int, default=10**9)
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    found = simulate(given.horizon, given.runs)
    print("\n".join(table(found)))
    often = uli.simulate(LEARNERS["BettingElimination"], uli.datasets.load("isis2"), 10**6, 2000, 3)
    print(bought(often))
    draw(found, given.out)


if __name__ == "__main__":
    main()
