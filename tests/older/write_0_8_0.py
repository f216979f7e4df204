"""Write what tests/older keeps of version 0.8.0: run it with that version.

python -m tests.older.write_0_8_0 FOLDER

Players and studies of every kind in the middle of things (decisions pending, missing, told out
of order), each with what the version did next; runs of every kind; a race that was interrupted;
folders of ``uli run``, whole and in shards; a checkpoint. All of it becomes FOLDER.zip.
"""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import uli_fast as uli
from tests.older import own
from tests.older.write import PAPER
from uli_fast.experiments import merge, run

FREE = {"low": -math.inf, "high": math.inf}
NAMES = ["a", "b", "c"]
VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [-0.5, 0.5]])
LOCK = uli.mdps.river_swim(3, 3).restricted()
EXP3P = uli.Exp3P(constant=0.75)
GRID = own.Grid(7)

# Every learner with a live player: name -> learner, and what it starts with.
PLAYERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "se": (uli.SuccessiveElimination(0.5), {"arms": NAMES}),
    "se_free": (uli.SuccessiveElimination(0.5, R=2.0), {"arms": 2, **FREE}),
    "pe": (uli.PhasedElimination(0.9, R=0.1), {"arms": NAMES, "low": -1.0, "high": 3.0}),
    "betting": (uli.BettingElimination(0.5), {"arms": NAMES}),
    "betting_free": (uli.BettingElimination(0.5, leader=1, R=1.0), {"arms": 3, **FREE}),
    "ucb": (uli.UCB(0.1), {"arms": 3}),
    "lil_ucb": (uli.LilUCB(0.1), {"arms": 3}),
    "kl_ucb": (uli.KLUCB(0.1), {"arms": NAMES}),
    "thompson": (uli.ThompsonSampling(), {"arms": NAMES, "seed": 1}),
    "thompson_free": (uli.ThompsonSampling(R=1.0), {"arms": 2, "seed": 1, **FREE}),
    "rule": (uli.EliminationFramework(own.rule, own.f, delta=0.2), {"arms": 3}),
    "plain_rule": (uli.EliminationFramework(own.plain_rule, own.f, delta=0.2), {"arms": 3}),
    "leaning_rule": (uli.EliminationFramework(own.leaning_rule, own.f, delta=0.2), {"arms": 3}),
    "linear": (uli.LinearElimination(0.5, R=0.1, **PAPER), {"arms": VECTORS}),
    "spanner": (uli.SpannerElimination(0.5, R=0.1, **PAPER), {"arms": VECTORS}),
    "spanner_ball": (uli.SpannerElimination(0.5, R=0.1, **PAPER), {"arms": uli.arm_sets.Ball(2)}),
    "spanner_own": (uli.SpannerElimination(0.5, R=0.1, **PAPER), {"arms": GRID}),
    "exp3p": (uli.Exp3P(0.1), {"arms": 3, "seed": 1, "horizon": 500}),
    "hedge": (uli.GeometricHedge(0.1), {"arms": VECTORS, "seed": 1, "horizon": 500}),
    "scrible": (uli.Scrible(0.1), {"arms": VECTORS, "seed": 1, "horizon": 500}),
    "meta": (uli.MetaElimination(EXP3P, 0.9, "sharp"), {"arms": 3, "seed": 1}),
    "meta_hedge": (uli.MetaElimination(uli.GeometricHedge(), 0.1), {"arms": VECTORS, "seed": 1}),
    "own_base": (uli.MetaElimination(own.Base(), 0.9), {"arms": 3, "seed": 1}),
    "even_base": (uli.MetaElimination(own.Even(), 0.9), {"arms": 3, "seed": 1}),
    "policies": (
        uli.PolicyElimination(0.5, schedule=(1e-6, 1.0)),
        {
            "rewards": LOCK.rewards,
            "initial_support": [0],
            "decision_points": LOCK.decision_points,
        },
    ),
}
OWN_LEARNER = ("rule", "plain_rule", "leaning_rule", "own_base", "even_base")
OWN_ARMS = ("spanner_own",)
ONE_BY_ONE = ("scrible", "even_base")  # bases that need each reward before the next draw
RUNS: dict[str, tuple[Any, Any]] = {
    "se": (uli.SuccessiveElimination(0.1), uli.BernoulliBandit([2.0, 5.0, 9.0], high=10.0)),
    "pe": (uli.PhasedElimination(0.1, R=1.0), uli.GaussianBandit([0.0, 1.0])),
    "betting": (uli.BettingElimination(0.1), uli.BernoulliBandit([0.2, 0.9])),
    "thompson": (uli.ThompsonSampling(), uli.BetaBandit([1.0, 3.0], [2.0, 1.0])),
    "kl_ucb": (uli.KLUCB(0.1), uli.DeterministicBandit([0.4, 0.6])),
    "framework": (
        uli.EliminationFramework(own.rule, own.f, delta=0.2),
        uli.BernoulliBandit([0.1, 0.9]),
    ),
    "linear": (uli.LinearElimination(0.1, R=1.0, **PAPER), uli.LinearBandit([0.6, 0.3], VECTORS)),
    "lin_ucb": (uli.LinUCB(0.1, R=1.0), uli.LinearBandit([0.6, 0.3], VECTORS)),
    "meta": (uli.MetaElimination(EXP3P, 0.9, "sharp"), uli.BernoulliBandit([0.2, 0.9])),
    "scrible": (
        uli.Scrible(0.1),
        uli.LinearBandit([0.6, 0.3], VECTORS, noise="bernoulli"),
    ),
    "policies": (uli.PolicyElimination(0.5, schedule=(1e-6, 1.0)), LOCK),
    "ubev": (uli.UBEV(0.1), LOCK),
    "spanner": (
        uli.SpannerElimination(0.1, R=1.0, **PAPER),
        uli.LinearBandit([0.6, 0.3], VECTORS),
    ),
    "spanner_ball": (
        uli.SpannerElimination(0.1, R=1.0, **PAPER),
        uli.LinearBandit([0.6, 0.3], arm_set=uli.arm_sets.Ball(2)),
    ),
}
HORIZON, REPLICATIONS, AT = 3000, 2, (10, 100, 3000)
# One learner is told by its repr, the other by its mark.
CHECKPOINTS: dict[str, tuple[Any, Any]] = {
    "arms": (uli.SuccessiveElimination(0.1, R=0.5), uli.GaussianBandit([0.0, 1.0], sigma=0.5)),
    "rule": (
        uli.EliminationFramework(own.plain_rule, own.f, delta=0.2),
        uli.BernoulliBandit([0.1, 0.9]),
    ),
}
EXPERIMENT = """
horizon = 2000
replications = 4
seed = 1
rounds = [10, 2000]

[problems.wide]
type = "BernoulliBandit"
means = [2.0, 5.0]
high = 10.0

[learners.SE]
type = "SuccessiveElimination"

[learners.UCB]
type = "UCB"
"""
CANDIDATES, INSTANCES, EVALUATED = ["good", "fair", "poor"], 150, 100
ASKED, STUDIED, LATER = 64, 12, 12


# Players.


def share(i: int) -> float:
    """Return a number in [0, 1) that looks drawn."""
    return zlib.crc32(f"reward {i}".encode()) / 2**32


def outcome(decision: Any, player: Any) -> tuple[Any, ...]:
    """Return what comes of a decision, as ``tell`` takes it."""
    if hasattr(decision, "policy"):
        states = [0]
        for h in range(2):
            up = decision.policy[h, states[-1]] == 1 and share(3 * decision.id + h) < 0.6
            states.append(min(2, states[-1] + 1) if up else max(0, states[-1] - 1))
        return states, [int(decision.policy[h, s]) for h, s in enumerate(states)]
    good = {0: 0.9, "a": 0.9, 1: 0.5, "b": 0.5}
    won = share(decision.id) < good.get(decision.arm if np.isscalar(decision.arm) else 1, 0.1)
    low, high = getattr(player, "low", 0.0), getattr(player, "high", 1.0)
    return (high if won else low,) if math.isfinite(low) else (0.5 * won + share(-decision.id),)


def ask(player: Any) -> Any:
    """Ask; policies need to know where the episode begins."""
    policies = isinstance(player.learner, uli.PolicyElimination)
    return player.ask(**({"state": 0} if policies else {}))


def drive(player: Any, name: str, asked: int) -> Any:
    """Ask by fours and tell in another order; some are missing, one is still awaited."""
    bounded = "free" not in name and "linear" not in name and "spanner" not in name
    order = (0,) if name in ONE_BY_ONE else (3, 0, 2, 1)
    for i in range(0, asked, len(order)):
        decisions = [ask(player) for _ in order]
        last = i + len(order) >= asked and len(order) > 1
        for j in order[:-1] if last else order:
            if bounded and (i + j) % 23 == 7:
                player.tell_missing(decisions[j].id, "moved away")
            else:
                player.tell(decisions[j].id, *outcome(decisions[j], player))
    return player


def go_on(player: Any) -> list[Any]:
    """Go on one by one; return what is asked for."""
    found = []
    for _ in range(LATER):
        decision = ask(player)
        found.append(plain(decision.policy if hasattr(decision, "policy") else decision.arm))
        player.tell(decision.id, *outcome(decision, player))
    return found


def said(player: Any) -> dict[str, Any]:
    """Return what a player or a study says now; for what it refuses, the kind of error."""
    found: dict[str, Any] = {}
    for name, call in {
        "active": lambda: player.active,
        "recommend": lambda: player.recommend(),
        "intervals": lambda: list(player.intervals().values()),
        "certificate": lambda: player.certificate()[:6],
    }.items():
        try:
            found[name] = plain(call())
        except uli.errors.UliError as problem:
            found[name] = type(problem).__name__
    return found


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back."""
    if isinstance(value, tuple | list | np.ndarray):
        return [plain(x) for x in value]
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def started(name: str) -> Any:
    """Start a player."""
    learner, arguments = PLAYERS[name]
    return learner.start(**arguments)


def write_players(folder: Path) -> None:
    """Write a state of every player, what it says, and what it does next."""
    states = {}
    for name in PLAYERS:
        player = drive(started(name), name, ASKED)
        state = json.loads(json.dumps(player.state()))
        states[name] = {"state": state, "said": said(player), "next": go_on(player)}
    player = started("betting")
    tell_blocks(player)
    states["blocks"] = {
        "state": json.loads(json.dumps(player.state())),
        "said": said(player),
        "next": go_on(player),
    }
    (folder / "players.json").write_text(json.dumps(states))


def tell_blocks(player: Any) -> None:
    """Tell blocks of sums, with decisions between them."""
    player.tell_block({"a": (60, 50.0), "b": (50, 20.0, 5), "c": (50, 2.0)}, "monday")
    go_on(player)
    player.tell_block({arm: (40, 10.0) for arm in player.active}, "tuesday")


# Studies.


def write_studies(folder: Path) -> None:
    """Write a study with every player, and what it says and does next."""
    (folder / "studies").mkdir()
    found = {}
    for name, (learner, arguments) in PLAYERS.items():
        path = folder / "studies" / f"{name}.db"
        with uli.Study.open(path, learner, **arguments) as study:
            drive(study, name, STUDIED)
        found[name] = later(path, learner, arguments.get("arms"))
    path = folder / "studies" / "blocks.db"
    learner, arguments = PLAYERS["betting"]
    with uli.Study.open(path, learner, **arguments) as study:
        for i in range(3):
            study.tell(study.ask(f"patient-{i}", {"ward": i}).id, 1.0)
        tell_blocks(study)
    found["blocks"] = later(path, None, None)
    (folder / "studies.json").write_text(json.dumps(found))


def later(path: Path, learner: Any, arms: Any) -> dict[str, Any]:
    """Return what a copy of a study says, and does next."""
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    with uli.Study.open(copy, learner, arms=arms) as study:
        found = {"said": said(study), "next": go_on(study)}
    for left in path.parent.glob("*.copy*"):
        left.unlink()
    path.with_name(f"{path.name}-lock").unlink(missing_ok=True)
    return found


# Runs, races, experiments.


def simulated(name: str) -> Any:
    """Return runs."""
    learner, problem = RUNS[name]
    return uli.simulate(learner, problem, HORIZON, REPLICATIONS, seed=1, rounds=AT)


def facts(runs: Any) -> dict[str, Any]:
    """Return what tells runs apart."""
    found = {"regret": plain(runs.regret), "worst_ratio": plain(runs.worst_ratio)}
    for name in ("last_play", "eliminated_at", "block_last"):
        value = getattr(runs, name, None)
        found[name] = None if value is None else plain(value)
    return found


def write_runs(folder: Path) -> None:
    """Write runs of every kind."""
    found = {}
    for name in RUNS:
        runs = simulated(name)
        runs.save(folder / "runs" / name)
        found[name] = facts(runs)
    (folder / "runs.json").write_text(json.dumps(found))


def score(candidate: str, instance: int) -> float:
    """Return what a candidate has on an instance: a number, or an error now and then."""
    x = zlib.crc32(f"{instance}-{candidate}".encode())
    if x % 31 == 0:
        raise ConnectionError(f"lost {instance}")
    return float(x % 100 < {"good": 80, "fair": 62, "poor": 30}[candidate])


def race(path: Path | None, stop_after: int = 10**9) -> tuple[Any, int]:
    """Run a race, interrupted after some evaluations; return how many it took."""
    done = 0

    def evaluate(candidate: str, instance: int) -> float:
        nonlocal done
        if done == stop_after:
            raise KeyboardInterrupt
        done += 1
        return score(candidate, instance)

    items = list(range(INSTANCES))
    return uli.race(CANDIDATES, evaluate, items, 0.1, batch=4, seed=11, study=path), done


def verdict(found: Any) -> list[Any]:
    """Return what a race has found."""
    return plain([found.best, found.ranking, found.evaluations, found.certificate[:6]])


def write_race(folder: Path) -> None:
    """Write the file of a race that was interrupted, and the verdict it would have had."""
    (folder / "race.json").write_text(json.dumps(verdict(race(None)[0])))
    path = folder / "race.db"
    with contextlib.suppress(KeyboardInterrupt):
        race(path, EVALUATED)
    path.with_name("race.db-lock").unlink(missing_ok=True)


def checkpointed(name: str, folder: Path, replications: int) -> Any:
    """Return runs that a folder keeps."""
    learner, problem = CHECKPOINTS[name]
    return uli.simulate(
        learner, problem, 500, replications, seed=1, rounds=(10, 500), checkpoint=folder
    )


def write_experiments(folder: Path) -> None:
    """Write folders of ``uli run``, shards of it, and checkpoints."""
    file = folder / "experiment.toml"
    file.write_text(EXPERIMENT)
    run(file, folder / "experiment", replications=1, progress=False)
    shards = [folder / f"shard-{i}" for i in (1, 2)]
    for i, shard in enumerate(shards, start=1):
        run(file, shard, shard=(i, 2), replications=2, progress=False)
    merge(shards, folder / "merged")
    for name in CHECKPOINTS:
        checkpointed(name, folder / "checkpoints" / name, 1)
    for left in folder.rglob(".lock"):
        left.unlink()


def marked() -> dict[str, Any]:
    """Return what users' objects may hold of the package: its public classes and modules."""
    public = [uli, *(getattr(uli, x) for x in sorted(uli.__all__) if x in MODULES)]
    found: dict[str, Any] = {}
    for module in public:
        of = "" if module is uli else f"{module.__name__.rpartition('.')[2]}."
        found[of or "uli_fast"] = module
        for name in dict.fromkeys([*getattr(module, "__all__", ()), *vars(module)]):
            value = getattr(module, name)
            if isinstance(value, type) and value.__module__.startswith("uli_fast"):
                found[of + name] = value
    return found


MODULES = ("arm_sets", "datasets", "designs", "errors", "lower_bounds", "mdps")


def main(folder: Path) -> None:
    """Write everything."""
    from uli_fast._support.fingerprint import fingerprint

    folder.mkdir(parents=True)
    write_players(folder)
    write_studies(folder)
    write_runs(folder)
    write_race(folder)
    write_experiments(folder)
    marks = {name: fingerprint(value) for name, value in marked().items()}
    (folder / "marks.json").write_text(json.dumps(marks, indent=1))
    shutil.make_archive(str(folder), "zip", folder)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
