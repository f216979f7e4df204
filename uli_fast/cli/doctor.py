"""``uli doctor``: versions, compiled kernels, and what can be expected of this machine."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import click

# Seconds.
DAY = 86_400.0
# What some features need, and which.
OPTIONAL = {
    "matplotlib": "figures and reports",
    "jinja2": "reports",
    "pandas": "to_pandas",
    "pyarrow": "Parquet",
    "gymnasium": "its environments",
    "distributed": "Dask clusters",
}


@click.command()
@click.option("--warm", is_flag=True, help="Compile all kernels now.")
@click.option("--clean", is_flag=True, help="Remove compiled kernels of other versions.")
def doctor(warm: bool, clean: bool) -> None:
    """Show versions, threads, where compiled kernels are kept, and what is missing."""
    import os
    import time

    from uli_fast._support.versions import versions

    for name, version in versions().items():
        click.echo(f"{name:12} {version}")
    click.echo(f"{'threads':12} {os.cpu_count()} (n_jobs=-1 uses them all)")
    click.echo(f"{'kernels':12} {_cache()}")
    for name, needed_for in OPTIONAL.items():
        click.echo(f"{name:12} {_installed(name) or f'missing: needed for {needed_for}'}")
    if clean:
        click.echo(f"{'removed':12} {_cleaned()}")
    if warm:
        begun = time.perf_counter()
        warm_up()
        click.echo(f"all kernels ready in {time.perf_counter() - begun:.1f} s")
        click.echo(f"{'kernels':12} {_cache()}")


def _cache() -> str:
    """Say where compiled kernels are kept, and how much is there."""
    from uli_fast.kernels._jit import CACHE_FOLDER

    if CACHE_FOLDER is None:
        return "not kept: the cache folder cannot be written to, every process compiles them again"
    files = list(CACHE_FOLDER.rglob("*.nbc"))
    said = f"{CACHE_FOLDER}: writable, {len(files)} compiled, {_megabytes(CACHE_FOLDER)}"
    others = _others()
    if others:
        total = sum(map(_size, others)) / 2**20
        said += f"\n{'':12} of other versions: {len(others)} beside it, {total:.0f} MB (--clean)"
    return said


def _others() -> list[Path]:
    """Return the folders with kernels of other versions, or of other sources."""
    from uli_fast.kernels._jit import CACHE_FOLDER

    if CACHE_FOLDER is None:
        return []
    beside = sorted(CACHE_FOLDER.parent.iterdir())
    # Only what looks like ours: sixteen digits of a hash.
    named = [x for x in beside if re.fullmatch(r"[0-9a-f]{16}", x.name) and x.is_dir()]
    return [folder for folder in named if folder != CACHE_FOLDER]


def _cleaned() -> str:
    """Remove other kernels that were not written to for a day: younger ones may be in use."""
    import shutil
    import time

    old = [x for x in _others() if time.time() - _written(x) > DAY]
    size = sum(map(_size, old)) / 2**20
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)
    return f"{len(old)} folders of other versions, {size:.0f} MB; younger than a day: kept"


def _written(folder: Path) -> float:
    return max((x.stat().st_mtime for x in (folder, *folder.rglob("*"))), default=0.0)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _megabytes(folder: Path) -> str:
    return f"{_size(folder) / 2**20:.0f} MB"


def _installed(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def warm_up() -> None:
    """Run every learner once on every kind of reward law, so that all kernels are compiled."""
    _warm_up_arms()
    _warm_up_betting()
    _warm_up_races_and_logs()
    _warm_up_adversarial()
    _warm_up_linear()
    _warm_up_policies()
    _warm_up_turning_points()


def _warm_up_arms() -> None:
    import warnings
    from dataclasses import fields

    import uli_fast as uli
    from uli_fast._registry import learners

    coins, normal = uli.BernoulliBandit([0.5, 0.4]), uli.GaussianBandit([0.5, 0.4], sigma=0.5)
    sure, spread = uli.DeterministicBandit([0.5, 0.4]), uli.BetaBandit([1.0, 2.0], [1.0, 1.0])
    for row in learners(kind="arms", plain=True, tuned=False).values():
        kind = row.load()
        takes = {field.name for field in fields(kind)}
        for problem, R in ((coins, None), (sure, None), (spread, None), (normal, 0.5)):
            learner = kind(R=R) if "R" in takes else kind()
            engines: Any = learner.engines_for(problem)
            for engine in engines:
                with warnings.catch_warnings():  # of learners for rewards in a range
                    warnings.simplefilter("ignore", uli.errors.GuaranteeWarning)
                    uli.simulate(learner, problem, 100, seed=0, engine=engine)
        player = kind().start(2)
        for _ in range(3):
            player.tell(player.ask().id, 0.5)
    rule = uli.EliminationFramework(lambda n, total, active, t: active, lambda delta, t: 1.0, R=0.5)
    for problem in (coins, normal):
        uli.simulate(rule, problem, 10, seed=0)


def _warm_up_linear() -> None:
    import numpy as np

    import uli_fast as uli
    from uli_fast._registry import learners

    square = uli.arm_sets.Polytope(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4))
    for noise in ("bernoulli", "gaussian"):
        problem = uli.LinearBandit([0.5, 0.2], np.eye(2), noise=noise)
        for row in learners(kind="vectors", tuned=False).values():
            uli.simulate(row.load()(R=1.0), problem, 1000, seed=0)
    for region in (uli.arm_sets.Ball(2), square, uli.arm_sets.L1Ball(2)):
        about = uli.LinearBandit([0.5, 0.2], arm_set=region)
        for row in learners(kind="set").values():
            learner = row.load()(R=1.0)
            if learner.plays_on(region):
                uli.simulate(learner, about, 10**5, seed=0)


def _warm_up_policies() -> None:
    import warnings

    import uli_fast as uli
    from uli_fast._registry import learners

    mdp = uli.mdps.random_dense(2, 2, 3, seed=0)
    for row in learners(kind="policies").values():
        for given in row.examples:
            with warnings.catch_warnings():  # phases are too short, which is what makes it quick
                warnings.simplefilter("ignore", uli.errors.SaturationWarning)
                warnings.simplefilter("ignore", uli.errors.GuaranteeWarning)
                uli.simulate(row.load()(**given), mdp, 2000, seed=0)
        if row.live:
            player = row.load()().start(mdp.rewards)
            about = player.read_request({"state": 0})
            decision = player.ask(**about)
            states = [0] * mdp.horizon
            player.tell(decision.id, states, [int(x) for x in decision.policy[:, 0]])


def _warm_up_turning_points() -> None:
    import uli_fast as uli
    from uli_fast.planning.usual import usual_learners

    coins, normal = uli.BernoulliBandit([0.5, 0.4]), uli.GaussianBandit([0.5, 0.4], sigma=0.5)
    for problem, R in ((coins, None), (normal, 0.5)):
        rivals: list[Any] = [x for x in usual_learners(0.05, R).values() if x.baseline]
        for rival in rivals:
            uli.turning_point(uli.SuccessiveElimination(R=R), rival, problem, 10**4, 1, seed=0)


def _warm_up_betting() -> None:
    """Take blocks, missing outcomes and unbounded ones, and read intervals."""
    import uli_fast as uli

    for low, high in ((0.0, 1.0), (-math.inf, math.inf)):
        player: Any = uli.BettingElimination(R=0.5).start(2, low=low, high=high)
        for reward in (0.0, 0.5):
            player.tell(player.ask().id, reward)
        player.tell_block({arm: (plays + 2, 1.0) for arm, plays in player.allocation().items()})
        player.certificate()
        player.tell_missing(player.ask().id, "lost")
        player.tell(player.ask().id, 0.5)
        player.intervals()


def _warm_up_races_and_logs() -> None:
    """Race on a list and in a population, all scores there and one missing; replay a log."""
    import uli_fast as uli

    scores: dict[str, list[float | None]] = {"a": [0.5, 0.5], "b": [0.4, None]}
    for about in ("list", "population"):
        for last in (1, 2):
            uli.race(scores, lambda x, i: x[i], range(last), about=about, seed=0)
    log = [("a", 0.5), ("b", 0.4), ("a", 0.5), ("b", None)]
    for learner in (uli.SuccessiveElimination(), uli.BettingElimination()):
        uli.replay(learner, log)


def _warm_up_adversarial() -> None:
    import numpy as np

    import uli_fast as uli
    from uli_fast._registry import learners

    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    flat = uli.BernoulliBandit([0.5, 0.4, 0.3])
    for horizon in (10**3, 10**4, 10**6):  # steep, steady and gentle learning rates
        for replications in (1, 3):
            uli.simulate(uli.Exp3P(), flat, horizon, replications, seed=0)
    uli.simulate(uli.Exp3P(), uli.BetaBandit([1.0, 2.0], [1.0, 1.0]), 1000, seed=0)
    for row in learners(base=True).values():
        base = row.load()()
        for noise in ("bernoulli", "gaussian"):
            problem = uli.LinearBandit([0.5, 0.2], arms, noise=noise)
            uli.simulate(base, problem, 1000, seed=0)
        player = base.start(arms, seed=0, horizon=1000)
        player.tell(player.ask().id, 0.5)
