"""Write what tests/older keeps of a version: run it with that version installed.

python tests/older/write.py FOLDER

States of live players, and studies, each with what the version said of them afterwards: a later
version must open them and say the same. Runs and a folder of `uli run` are kept whole. All of
it becomes FOLDER.zip.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import uli_fast as uli
from uli_fast.experiments.running import run

# Earlier versions had the paper's schedule alone.
PAPER: dict[str, Any] = {"schedule": "paper"}
if not hasattr(uli.LinearElimination, "schedule"):
    PAPER = {}
WIDE = {"low": 0.0, "high": 10.0}
FREE = {"low": -math.inf, "high": math.inf}
VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
PLAYERS = {
    "se_unit": (uli.SuccessiveElimination(0.1), 3, {}),
    "se_wide": (uli.SuccessiveElimination(0.1), ["a", "b"], WIDE),
    "se_wide_r": (uli.SuccessiveElimination(0.1, R=0.3), 2, WIDE),
    "se_narrow_r": (uli.SuccessiveElimination(0.1, R=0.35), 2, {"low": 0, "high": 0.7}),
    "se_free_r": (uli.SuccessiveElimination(0.1, R=2.0), 2, FREE),
    "se_free": (uli.SuccessiveElimination(0.1), 2, FREE),
    "pe_wide_r": (uli.PhasedElimination(0.1, R=0.2), 2, WIDE),
    "ucb_wide_r": (uli.UCB(0.1, R=0.1), 3, WIDE),
    "lil_ucb_wide": (uli.LilUCB(0.1), 3, WIDE),
    "linear_free": (uli.LinearElimination(0.1, R=1.0, **PAPER), VECTORS, {}),
    "linear_wide": (
        uli.LinearElimination(0.1, R=1.0, **PAPER),
        VECTORS,
        {"low": -1.0, "high": 2.0},
    ),
    "exp3p": (uli.Exp3P(0.1), 2, {"horizon": 5000, "seed": 1}),
    "meta": (uli.MetaElimination(uli.Exp3P(), 0.1), 2, {"seed": 1}),
}
RUNS = {
    "arms": (uli.SuccessiveElimination(0.1, R=0.3), uli.BernoulliBandit([2, 5], high=10.0)),
    "gaussian": (uli.PhasedElimination(0.1, R=1.0), uli.GaussianBandit([0.0, 1.0])),
    "vectors": (uli.LinearElimination(0.1, R=1.0, **PAPER), uli.LinearBandit([0.6, 0.3], VECTORS)),
    "ball": (
        uli.SpannerElimination(0.1, R=1.0, **PAPER),
        uli.LinearBandit([0.6, 0.3], arm_set=uli.arm_sets.Ball(2)),
    ),
    "mdp": (uli.UBEV(0.1), uli.mdps.combination_lock(length=2, n_actions=2)),
}
EXPERIMENT = """
horizon = 2000
replications = 3
seed = 1
rounds = [10, 100, 2000]

[problems.wide]
type = "BernoulliBandit"
means = [2.0, 5.0]
high = 10.0

[learners.SE]
type = "SuccessiveElimination"

[learners.UCB]
type = "UCB"
"""
ROUNDS = 60


def reward(i: int, player: object) -> float:
    """Return some reward within the player's range."""
    low, high = getattr(player, "low", 0.0), getattr(player, "high", 1.0)
    share = (i * 0.6180339887) % 1.0
    return low + (high - low) * share if math.isfinite(low) else 4.0 * share - 2.0


def plain(value: float) -> float | str:
    """Return a number as JSON has it."""
    return value if math.isfinite(value) else repr(value)


def said(player: object) -> dict[str, object]:
    """Return what a player says now, and what it asks for next."""
    found: dict[str, object] = {
        "active": list(player.active),  # type: ignore[attr-defined]
        "intervals": [
            [plain(x) for x in pair]
            for pair in player.intervals().values()  # type: ignore[attr-defined]
        ],
    }
    asked = []
    for i in range(10):
        decision = player.ask()  # type: ignore[attr-defined]
        asked.append(decision.arm)
        player.tell(decision.id, reward(1000 + i, player))  # type: ignore[attr-defined]
    return found | {"next": asked}


def played(player: object) -> object:
    """Play some rounds."""
    for i in range(ROUNDS):
        decision = player.ask()  # type: ignore[attr-defined]
        player.tell(decision.id, reward(i, player))  # type: ignore[attr-defined]
    return player


def main(folder: Path) -> None:
    """Write everything."""
    (folder / "runs").mkdir(parents=True)
    states = {}
    for name, (learner, arms, more) in PLAYERS.items():
        player = played(learner.start(arms, **more))
        state = player.state()  # type: ignore[attr-defined]
        states[name] = {"state": state, "said": said(player)}
    (folder / "players.json").write_text(json.dumps(states, indent=1))
    for name in ("se_wide", "se_wide_r", "se_free", "linear_free"):
        learner, arms, more = PLAYERS[name]
        path = folder / f"{name}.db"
        with uli.Study.open(path, learner, arms=arms, seed=1, **more) as study:
            for i in range(ROUNDS):
                decision = study.ask(request_id=f"r{i}")
                study.tell(decision.id, reward(i, study._trace.player))
        Path(f"{path}-lock").unlink(missing_ok=True)
    regrets = {}
    for name, (learner, problem) in RUNS.items():
        runs = uli.simulate(learner, problem, 3000, 2, seed=1, rounds=[10, 100, 3000])
        runs.save(folder / "runs" / name)
        regrets[name] = runs.regret.tolist()
    (folder / "regrets.json").write_text(json.dumps(regrets, indent=1))
    file = folder / "experiment.toml"
    file.write_text(EXPERIMENT)
    run(file, folder / "experiment")
    (folder / "experiment" / ".lock").unlink()
    shutil.make_archive(str(folder), "zip", folder)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
