"""A river to swim up, 20 strokes an episode: 10^30 policies, and what it helps to know of it.

    python examples/river.py [FOLDER]

A little is certain at the left bank, a lot is possible at the right one, and the current takes most
swimmers back. The learner is told more and more about the river before it begins; the last line is
a rival that promises nothing about its last episode. With a folder, the certificates are drawn
there. It takes some seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import uli_fast as uli

EPISODES, EARLY = 10**8, 10**5
RIVER = uli.mdps.river_swim(n_states=6, horizon=20).restricted()
KNOWN = RIVER.with_known_structure()
WAYS = {
    "told nothing": (uli.ModelElimination(delta=0.1), RIVER),
    "told where strokes may lead": (uli.ModelElimination(delta=0.1), KNOWN),
    "told of one current, too": (uli.ModelElimination(delta=0.1, pooled=True), KNOWN),
    "the same, drawing actions": (uli.ModelElimination(0.1, "stochastic", pooled=True), KNOWN),
}


def certified_from(runs: uli.Runs, within: float) -> int:
    """Return the episode from which on all that may be played is this close to the best: median."""
    said, first = runs.look_facts[:, :, 0], runs.look_first
    reached = [when[(when > 0) & (x <= within)][0] for when, x in zip(first, said, strict=True)]
    return int(np.median(reached))


def main(folder: Path | None = None) -> None:
    """Swim, and say what was certain when."""
    best, tenth = RIVER.optimal_value, 0.1 * RIVER.optimal_value
    print(f"{RIVER}; the best policy earns {best:.3f}")
    print(f"{'learner':27} regret to 1e5  last gap > 10 %  sure of 10 % from  and at last of")
    done = {}
    for name, (learner, river) in WAYS.items():
        runs = uli.simulate(learner, river, EPISODES, 3, seed=1, rounds=[EARLY, EPISODES])
        regret, last = np.median(runs.regret[:, 0]), np.median(runs.last_mistake(tenth))
        sure, end = certified_from(runs, tenth), np.median(runs.certified) / best
        print(f"{name:27} {regret:13.0f}  {last:15.0f}  {sure:17}  {end:13.1e}")
        done[name] = runs
    rival = uli.simulate(uli.UBEV(delta=0.1), RIVER, EARLY, 3, seed=1)
    regret, last = np.median(rival.final_regret()), np.median(rival.last_mistake(tenth))
    print(f"{'UBEV, for 1e5 episodes':27} {regret:13.0f}  {last:15.0f}  {'never':>17}  {'-':>13}")
    if folder is not None:
        uli.Comparison(done).plot(folder / "river.png", what="certificate")


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:2]))
