"""FrozenLake 4x4 on slippery ice, 20 steps an episode: 10^110 policies, and what is certain.

    python examples/frozen_lake.py [FOLDER]

The learner knows the map, and that the ice is the same at every step; how slippery it is it has to
find out. With a folder, two figures are written there. It takes some seconds, and Gymnasium.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium

import uli_fast as uli

EPISODES = 10**8


def main(folder: Path | None = None) -> None:
    """Play, and say what was certain when."""
    env = gymnasium.make("FrozenLake-v1", map_name="4x4", is_slippery=True)
    lake = uli.TabularMDP.from_gymnasium(env, horizon=20)
    print(f"{lake}; the best policy arrives with probability {lake.optimal_value:.3f}")
    learner = uli.ModelElimination(delta=0.1, pooled=True, growth=0.25, first=64)
    powers = [10**k for k in range(3, 9)]
    runs = uli.simulate(learner, lake, EPISODES, seed=1, rounds=powers)
    for t in powers:
        at = runs.rounds.tolist().index(t)
        said, gap = runs.certificates[0, at], runs.played_gaps[0, at]
        print(f"after {t:9.0e} episodes every policy left is within {said:.4f}; played: {gap:.4f}")
    points = lake.decision_points
    left = runs.actions_left[0][points].sum(axis=1)
    print(f"{(left == 1).sum()} of {points.sum()} choices are made, {left.mean():.2f} actions left")
    print(f"the last policy arrives with probability {lake.value(runs.last_policy()):.3f}")
    if folder is not None:
        runs.plot(folder / "certificate.png", what="certificate")
        runs.plot(folder / "actions.png", what="actions", grid=(4, 4))


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:2]))
