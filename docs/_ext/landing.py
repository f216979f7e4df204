"""Draw docs/landing.svg, the figure of the first page: python docs/_ext/landing.py."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import uli_fast as uli

HORIZON, SEED = 10**6, 4
LANES = {
    "UCB": uli.UCB(),
    "KL-UCB": uli.KLUCB(),
    "Thompson sampling": uli.ThompsonSampling(),
    "BettingElimination": uli.BettingElimination(delta=0.05),
}
# By gap, from slight to bad; told apart without colour by their height.
COLOURS = ("#7fb7be", "#3f88a5", "#b3202c")


def draw() -> Figure:
    """Return the figure: a dot wherever a worse arm was played."""
    trial = uli.datasets.load("isis2")
    edges = np.unique(np.geomspace(1, HORIZON, 260).astype(int))
    worse = [a for a in np.argsort(trial.gaps) if trial.gaps[a] > 0]
    mpl.rcParams.update({"svg.hashsalt": "uli_fast", "font.size": 10.5})
    figure = Figure(figsize=(8.4, 3.3), layout="constrained")
    axes = figure.subplots()
    for lane, learner in enumerate(LANES.values()):
        runs = uli.simulate(learner, trial, HORIZON, seed=SEED, rounds=edges)
        counts = np.diff(np.vstack([np.zeros(trial.n_arms, int), runs.plays[0]]), axis=0)
        for rank, arm in enumerate(worse):
            played = edges[counts[:, arm] > 0]
            axes.plot(played, np.full(len(played), lane + 0.24 * (rank - 1)), "o", ms=2.6,
                      color=COLOURS[rank], mew=0)  # fmt: skip
        if lane == len(LANES) - 1:
            last = int(runs.last_mistake()[0])
            axes.annotate(
                f"its last one: round {last:,}", (last, lane), (last * 1.6, lane), va="center",
                color="#0b6e6e", weight="bold",
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(1, HORIZON * 1.15)
    axes.set_yticks(range(len(LANES)), LANES)
    axes.set_ylim(-0.6, len(LANES) - 0.4)
    axes.set_xlabel("round")
    axes.set_title(
        "A dot wherever a worse arm is played (one run on the ISIS-2 arms; red: the worst one)",
        fontsize=10.5, loc="left",
    )  # fmt: skip
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    for line in np.arange(0.5, len(LANES) - 1):
        axes.axhline(line, color="#d9dee2", lw=0.8)
    return figure


if __name__ == "__main__":
    draw().savefig(Path(__file__).parents[1] / "landing.svg", metadata={"Date": None})
