"""Write what tests/older keeps of mode "sharp" of version 0.7.0: run it with that version.

python tests/older/write_sharp.py FOLDER

Small constants make phases short enough for a state to hold some of them. All of it becomes
FOLDER.zip.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np

import uli_fast as uli
from tests.older.write import PAPER, reward, said

VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
SMALL, DELTA = 0.75, 0.9
PLAYERS = {
    "exp3p": (uli.MetaElimination(uli.Exp3P(constant=SMALL), DELTA, mode="sharp"), 2),
    "hedge": (uli.MetaElimination(uli.GeometricHedge(constant=0.005), 0.1, mode="sharp"), VECTORS),
    "paper": (uli.MetaElimination(uli.Exp3P(), 0.1), 2),
}
ARMS = uli.BernoulliBandit([0.9, 0.1])
LINEAR = uli.LinearBandit([0.6, 0.3], VECTORS)
RUNS = {
    "SE": (uli.SuccessiveElimination(0.1), ARMS),
    "PE": (uli.PhasedElimination(0.1), ARMS),
    "PE-linear": (uli.LinearElimination(0.1, R=1.0, **PAPER), LINEAR),
    "spanner": (uli.SpannerElimination(0.1, R=1.0, **PAPER), LINEAR),
    "meta": (uli.MetaElimination(uli.Exp3P(), 0.1), ARMS),
    "sharp": (uli.MetaElimination(uli.Exp3P(constant=176.0), 0.1, mode="sharp"), ARMS),
}
# The first phase of "exp3p" has 2,691 rounds; it would have 1,998 with the constants of 0.8.
ROUNDS = {"exp3p": 2750, "hedge": 60, "paper": 60}
AT = [1, 10, 1000, 10**6, 10**12, 10**18]


def main(folder: Path) -> None:
    """Write everything."""
    (folder / "runs").mkdir(parents=True)
    states = {}
    for name, (learner, arms) in PLAYERS.items():
        player = learner.start(arms, seed=1)
        for i in range(ROUNDS[name]):
            player.tell(player.ask().id, reward(i, player))
        state = json.loads(json.dumps(player.state()))
        states[name] = {"state": state, "phase": player.phase, "said": said(player)}
        with uli.Study.open(folder / f"{name}.db", learner, arms=arms, seed=1) as study:
            for i in range(ROUNDS[name]):
                decision = study.ask(request_id=f"r{i}")
                study.tell(decision.id, reward(i, study._trace.player))
        Path(f"{folder / name}.db-lock").unlink(missing_ok=True)
    (folder / "players.json").write_text(json.dumps(states, indent=1))
    bounds = {}
    for name, (learner, problem) in RUNS.items():
        runs = uli.simulate(learner, problem, 3000, 2, seed=1, rounds=[10, 3000])
        runs.save(folder / "runs" / name)
        bounds[name] = [runs.guarantee.bound(t) for t in AT]
    (folder / "bounds.json").write_text(json.dumps(bounds, indent=1))
    shutil.make_archive(str(folder), "zip", folder)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
