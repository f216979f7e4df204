"""What a type checker tells users of the package."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.patience import PATIENCE

ROOT = Path(__file__).parent.parent

RIGHT = """
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import uli_fast as uli
from uli_fast.players import Decision, PolicyDecision, VectorDecision

problem = uli.BernoulliBandit([0.5, 0.4])
learner = uli.SuccessiveElimination(0.05)
runs = uli.simulate(learner, problem, 1000, engine="skip")
assert_type(runs, uli.Runs)
assert_type(runs.coverage().level, float)
runs.plot(what="regret")
uli.compare([learner], problem, 1000, engine="rounds")
uli.MetaElimination(mode="sharp")
player = learner.start(["a", "b"])
assert_type(player.ask(), Decision)
assert_type(player.ask(3), list[Decision])
assert_type(player.ask().arm, int | str)
player.tell(player.ask().id, 1.0)
points = uli.SpannerElimination(0.05, mode="soft", R=1.0).start(np.eye(2))
assert_type(points.ask(), VectorDecision)
assert_type(points.ask(2), list[VectorDecision])
assert_type(points.ask().arm, tuple[float, ...])
episodes = uli.PolicyElimination(0.1, "sharp").start(np.zeros((1, 2, 2)))
assert_type(episodes.ask(0), PolicyDecision)
promise = learner.guarantee(problem)
assert_type(promise, uli.Guarantee)
assert_type(promise.rounds_until(0.1), int)
assert_type(promise.regret(1000), float)
plan = uli.operating_characteristics([learner], problem, 1000)
assert_type(plan, uli.OperatingCharacteristics)
plan.plot(what="inferior")
race = uli.race(["a", "b"], lambda candidate, instance: 1.0, [1, 2, 3])
assert_type(race, uli.Race)
assert_type(race.best, str)
assert_type(race.certificate.bound, float)
found = uli.compare({"mine": learner}, problem, 1000)
assert_type(found, uli.Comparison)
assert_type(found["mine"], uli.Runs)
assert_type(found[0].regret, NDArray[np.float64])
assert_type(list(found), list[str])
assert_type(runs.holds, NDArray[np.bool_])
assert_type(runs.last_mistake(), NDArray[np.int64])
assert_type(runs.worst_ratio, NDArray[np.float64])
assert_type(len(runs), int)
assert_type(player.certificate().bound, float)
assert_type(player.active, tuple[int | str, ...])
assert_type(player.recommend(), int | str)


class Mine:
    def __init__(self, K: int, rng: np.random.Generator) -> None:
        self.K = K

    def choose(self, t: int) -> int:
        return t % self.K

    def update(self, arm: int, reward: float) -> None: ...


own = uli.OwnLearner(Mine, claim=lambda K, delta, t: 1.0)
assert_type(uli.simulate(own, problem, 10), uli.Runs)
assert_type(own.start(2).ask(), Decision)
uli.ModelElimination(play="stochastic")
uli.LinearElimination(schedule="paper")
uli.SpannerElimination(schedule="sharp", mode="soft", R=1.0)
uli.PolicyElimination(method="trie")
study = uli.Study.open("study")
assert_type(study.ask("patient 1"), Decision | VectorDecision)
assert_type(study.ask("patient 1", state=0), PolicyDecision)
"""

WRONG = """
import uli_fast as uli

problem, learner = uli.BernoulliBandit([0.5, 0.4]), uli.SuccessiveElimination(0.05)
player = learner.start(2)
uli.simulate(learner, problem, 1000, engine="fast")
uli.compare([learner], problem, 1000, engine="fast")
uli.MetaElimination(mode="fast")
uli.SpannerElimination(mode="fast", R=1.0)
uli.PolicyElimination(0.1, "fast")
uli.simulate(learner, problem, 1000).plot(what="gaps")
player.tell(player.ask(), 1.0)
player.ask(2).arm
player.ask().policy
uli.simulate(problem, learner, 1000)
uli.ModelElimination(play="slow")
uli.LinearElimination(schedule="slow")
uli.SpannerElimination(schedule="slow", R=1.0)
uli.PolicyElimination(method="slow")
uli.compare([learner], problem, 10)[0.5]
uli.OwnLearner(3)
uli.race([1, 2], 3, [1, 2, 3])
uli.replay(learner, "log.csv", assignment="chance")
"""


def said_of(folder, script):
    """What mypy says of a script, line by line; its cache is kept with that of the package."""
    file = folder / "script.py"
    file.write_text(script)
    cache = ROOT / ".mypy_cache" / "users"
    told = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), "script.py"]
    env = os.environ | {"MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        told, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    assert found.stderr == "" and found.returncode in (0, 1), found
    return [line for line in found.stdout.splitlines() if "error:" in line]


def test_decisions_engines_and_modes_are_what_they_are(tmp_path):
    assert said_of(tmp_path, RIGHT) == []


def test_every_slip_is_found(tmp_path):
    lines = [int(said.split(":")[1]) for said in said_of(tmp_path, WRONG)]
    first = WRONG.split("\n").index('uli.simulate(learner, problem, 1000, engine="fast")') + 1
    assert sorted(set(lines)) == list(range(first, first + 18))
