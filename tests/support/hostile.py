"""Hostile and odd files, in a child with 2 GB (``python -m tests.support.hostile``; goal B21).

A case prepares something in a folder and returns a call that must end in an error of the package
within two seconds. All of them run one after the other in a child whose address space is limited;
its peak is printed, too. ``--quick`` leaves out most of the altered states and runs.
"""

import hashlib
import json
import math
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

LIMIT = 2 * 2**30  # bytes of address space
SECONDS = 2.0  # that a case may take
HANGS = 20  # seconds after which it is interrupted
GIGABYTE = 10**9
PROBLEM = """
[problems.two]
type = "BernoulliBandit"
means = [0.6, 0.4]
"""
LEARNER = """
[learners.SE]
type = "SuccessiveElimination"
delta = 0.1
"""
STUDY = f"horizon = 100\nreplications = 2\n{PROBLEM}{LEARNER}"
# Keys of a state that say what it is about, rather than what was learned.
ABOUT = {"schema", "learner", "labels", "range", "set", "missing", "rewards", "episodes", "arms"}
ABOUT |= {"features", "width", "intercept", "horizon", "policies", "initial_support"}
# What a state cannot know of itself: whether decisions overlapped once all is settled, and
# optimistic values, of which only the range is known.
ABOUT |= {"decision_points", "successors", "top", "overlapped"}


class Case(NamedTuple):
    name: str
    prepare: Callable[[Path], Callable[[], Any]]


def learners() -> dict[str, tuple[Any, Any]]:
    """Return a learner of every kind of player, and what it starts with."""
    import uli_fast as uli
    from tests.support.examples import LIVE

    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [-0.5, 0.5]])
    rule = uli.EliminationFramework(
        lambda n, s, a, t: a & ~((t > 40) & (n > 9) & (s < 0.3 * n)), lambda d, t: 1.0, delta=0.2
    )
    drawn = {"seed": 1, "horizon": 500}
    started = {"arms": {"arms": 4}, "vectors": {"arms": arms}}
    found = {x.row.name: (x.learner, started[x.kind] | drawn) for x in LIVE if x.kind in started}
    return found | {  # whatever is registered, and with what makes something happen early
        "SuccessiveElimination": (uli.SuccessiveElimination(0.5), {"arms": 4}),
        "PhasedElimination": (uli.PhasedElimination(0.5), {"arms": 4}),
        "BettingElimination": (uli.BettingElimination(0.5), {"arms": 4}),
        "UCB": (uli.UCB(0.1), {"arms": 4}),
        "LilUCB": (uli.LilUCB(0.1), {"arms": 4}),
        "KLUCB": (uli.KLUCB(0.1), {"arms": 4}),
        "ThompsonSampling": (uli.ThompsonSampling(0.1), {"arms": 4, "seed": 1}),
        "LinearElimination": (uli.LinearElimination(0.5, R=1.0), {"arms": arms}),
        "EliminationFramework": (rule, {"arms": 4}),
        "Exp3P": (uli.Exp3P(delta=0.1), {"arms": 4, **drawn}),
        "GeometricHedge": (uli.GeometricHedge(delta=0.1), {"arms": arms, **drawn}),
        "Scrible": (uli.Scrible(delta=0.1), {"arms": arms, **drawn}),
        "MetaElimination": (uli.MetaElimination(uli.Exp3P(), 0.1), {"arms": 4, "seed": 1}),
        "SpannerElimination": (uli.SpannerElimination(0.5, R=1.0), {"arms": uli.arm_sets.Ball(2)}),
    }


def told(kind: str, steps: int = 400) -> Any:
    """Return a player that was told some outcomes."""
    learner, about = learners()[kind]
    player, rng = learner.start(**about), random.Random(3)
    for _ in range(steps):
        decision = player.ask()
        arm = decision.arm if isinstance(decision.arm, int) else int(hash(decision.arm) % 2)
        player.tell(decision.id, float(rng.random() < (0.9, 0.5, 0.4, 0.05)[arm]))
    player.ask()
    return player


def policies() -> Any:
    """Return a player of policies that was told some episodes."""
    import uli_fast as uli

    mdp = uli.mdps.river_swim(3, 3).restricted()
    learner = uli.PolicyElimination(0.5, schedule=(1e-6, 1.0))
    player = learner.start(mdp.rewards, [0], decision_points=mdp.decision_points)
    rng = random.Random(0)
    for _ in range(40):
        d = player.ask(0)
        states = [0]
        for h in range(2):
            up = d.policy[h, states[-1]] == 1 and rng.random() < 0.6
            states.append(min(2, states[-1] + 1) if up else max(0, states[-1] - 1))
        player.tell(d.id, states, [int(d.policy[h, s]) for h, s in enumerate(states)])
    return player


def models() -> Any:
    """Return a player of policies for blocks of episodes that was told some."""
    import uli_fast as uli
    from tests.support.examples import wandering

    mdp, rng = uli.mdps.random_dense(3, 2, 3, seed=2), np.random.default_rng(0)
    player = uli.ModelElimination(0.5, "stochastic", first=4).start(mdp.rewards)
    for _ in range(60):
        d = player.ask()
        player.tell(d.id, *wandering(d.policy, rng))
    player.ask()
    return player


EPISODES = {"PolicyElimination": policies, "ModelElimination": models}

# What files may be.


def sparse(path: Path, gigabytes: int, head: bytes = b"") -> None:
    """Make a file that claims to be large and takes no room."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(gigabytes * GIGABYTE)


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def folder_instead(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def listening(path: Path) -> None:
    path.unlink(missing_ok=True)
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


def endless(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


def deep(path: Path) -> None:
    path.write_text('{"a":' * 10**6, encoding="utf-8")


def lists(path: Path) -> None:
    path.write_text("[" + "[]," * (20 * 10**6) + "0]", encoding="utf-8")


def digits(path: Path) -> None:
    path.write_text('{"schema": ' + "1" * 5000 + "}", encoding="utf-8")


def halves(path: Path) -> None:
    path.write_bytes(b"\xff\xfe" * 1000)


ODD = {
    "10 GB of nothing": lambda path: sparse(path, 10),
    "30 GB of nothing": lambda path: sparse(path, 30),
    "a pipe": pipe,
    "a link to a device": device,
    "a folder": folder_instead,
    "a socket": listening,
    "a link to itself": endless,
    "nested a million deep": deep,
    "twenty million lists": lists,
    "a number of 5,000 digits": digits,
    "no text": halves,
}


def results(folder: Path) -> Path:
    """Return the folder of a small experiment's results."""
    from uli_fast import experiments

    experiments.run(experiments.ExperimentFile.parse(STUDY), folder / "results", progress=False)
    return folder / "results"


def saved_runs(folder: Path, kind: str = "arms") -> Path:
    """Return the folder of saved runs."""
    import uli_fast as uli

    if kind == "arms":
        problem = uli.BernoulliBandit([0.9, 0.5, 0.1])
        runs = uli.simulate(uli.SuccessiveElimination(0.2), problem, 2000, 3, seed=4)
    elif kind == "sets":
        problem = uli.LinearBandit([0.5, 0.2], arm_set=uli.arm_sets.Ball(2))
        runs = uli.simulate(uli.SpannerElimination(0.2, R=1.0), problem, 2000, 3, seed=4)
    else:
        problem = uli.mdps.river_swim(3, 3).restricted()
        runs = uli.simulate(uli.UBEV(0.2), problem, 200, 3, seed=4)
    runs.save(folder / "runs")
    return folder / "runs"


def odd_files() -> Iterator[Case]:
    """Put something odd in the place of every file that is read."""
    for what, put in ODD.items():

        def load_runs(folder: Path, put: Any = put) -> Any:
            import uli_fast as uli

            put(saved_runs(folder) / "manifest.json")
            return lambda: uli.Runs.load(folder / "runs")

        def load_results(folder: Path, put: Any = put) -> Any:
            from uli_fast.experiments import Results

            put(results(folder) / "manifest.json")
            return lambda: Results.load(folder / "results")

        def load_part(folder: Path, put: Any = put) -> Any:
            from uli_fast.experiments import Results

            cell = next((results(folder) / "cells").iterdir())
            put(cell / "about.json")
            return lambda: Results.load(folder / "results")

        def load_array(folder: Path, put: Any = put) -> Any:
            import uli_fast as uli

            put(saved_runs(folder) / "last_play.npy")
            return lambda: uli.Runs.load(folder / "runs")

        def read_study(folder: Path, put: Any = put) -> Any:
            from uli_fast.experiments import ExperimentFile

            (folder / "study.toml").write_text(STUDY, encoding="utf-8")
            put(folder / "study.toml")
            return lambda: ExperimentFile.read(folder / "study.toml")

        yield Case(f"manifest of runs: {what}", load_runs)
        yield Case(f"manifest of an experiment: {what}", load_results)
        yield Case(f"about.json: {what}", load_part)
        yield Case(f"an array: {what}", load_array)
        yield Case(f"an experiment file: {what}", read_study)


def odd_studies() -> Iterator[Case]:
    for what in ("a pipe", "a link to a device", "a folder", "a socket"):

        def look(folder: Path, what: str = what) -> Any:
            import uli_fast as uli

            ODD[what](folder / "x.study")
            return lambda: uli.Study.read(folder / "x.study")

        def begin(folder: Path, what: str = what) -> Any:
            import uli_fast as uli

            ODD[what](folder / "x.study")
            return lambda: uli.Study.open(folder / "x.study", uli.UCB(0.1), 2)

        yield Case(f"a live study to look at: {what}", look)
        yield Case(f"a live study to begin: {what}", begin)


def giants() -> Iterator[Case]:
    """Claim arrays that are larger than memory, with a manifest and headers to match."""
    for gigabytes in (4, 10, 30):

        def prepare(folder: Path, gigabytes: int = gigabytes) -> Any:
            import uli_fast as uli

            target, P = saved_runs(folder), gigabytes * GIGABYTE // 8
            shapes = {"rounds": [P], "recorded_regret": [3, P], "plays": [3, P, 3]}
            manifest = read(target)
            for name, shape in shapes.items():
                kind = "<f8" if name == "recorded_regret" else "<i8"
                about = {"descr": kind, "fortran_order": False, "shape": tuple(shape)}
                with (target / f"{name}.npy").open("wb") as file:
                    np.lib.format.write_array_header_1_0(file, about)
                    file.truncate(file.tell() + 8 * math.prod(shape))
                manifest["arrays"][name]["shape"] = shape
            sign(target, manifest)
            return lambda: uli.Runs.load(target)

        yield Case(f"arrays of {gigabytes} GB and more, signed", prepare)


# Folders that claim too much.


def parts() -> Iterator[Case]:
    def report(folder: Path) -> Any:
        from uli_fast.cli import main

        cell = next((results(folder) / "cells").iterdir())
        (cell / "part-3-1000000000000").mkdir()
        words = ["report", str(folder / "results")]
        return lambda: main.main(words, standalone_mode=False)

    def resume(folder: Path) -> Any:
        from uli_fast import experiments

        cell = next((results(folder) / "cells").iterdir())
        (cell / "part-3-1000000000000").mkdir()
        file = experiments.ExperimentFile.parse(STUDY)
        return lambda: experiments.run(file, folder / "results", resume=True, progress=False)

    def checkpoint(folder: Path) -> Any:
        import uli_fast as uli

        problem, target = uli.BernoulliBandit([0.6, 0.4]), folder / "kept"
        call = (uli.SuccessiveElimination(0.2), problem, 100, 2, 1)
        uli.simulate(*call, checkpoint=target)
        (target / "part-3-1000000000000").mkdir()
        return lambda: uli.simulate(*call, checkpoint=target)

    def cells(folder: Path) -> Any:
        from uli_fast.experiments import Results

        target = results(folder)
        manifest = read(target)
        manifest["cells"] *= 10**5
        write(target, manifest)
        return lambda: Results.load(target)

    def replications(folder: Path) -> Any:
        from uli_fast.experiments import Results

        target = results(folder)
        write(target, read(target) | {"replications": int("9" * 4000)})
        return lambda: Results.load(target)

    yield Case("a part of 10^12 replications: uli report", report)
    yield Case("a part of 10^12 replications: resumed", resume)
    yield Case("a part of 10^12 replications: a checkpoint", checkpoint)
    yield Case("a cell 10^5 times", cells)
    yield Case("10^4000 replications", replications)


def study_files() -> Iterator[Case]:
    values = ", ".join(str(1e-6 * i) for i in range(1, 10**4 + 1))
    sizes = ", ".join(str(1 + 1e-3 * i) for i in range(10**4))
    means = ", ".join(f"[0.5, {1e-5 * i:.5f}]" for i in range(10**4))
    key = ".".join(["a"] * 50_000)
    quoted = ".".join(['"a"'] * 50_000)
    both = f'[learners.SE]\ntype = "SuccessiveElimination"\nsweep = {{ delta = [{values}]'
    texts = {
        "5,000 digits": STUDY.replace("100", "1" * 5000, 1),
        "a number of 10^6 hexadecimal digits": STUDY.replace("100", "0x" + "f" * 10**6, 1),
        "5,000 digits deep inside": STUDY + f"sweep = {{ R = [{'1' * 5000}] }}",
        "a dotted key of 50,000 parts": f"{key} = 1\n{STUDY}",
        "a quoted key of 50,000 parts": f"{quoted} = 1\n{STUDY}",
        "a table 50,000 deep": f"{STUDY}\n[{key}]\nx = 1",
        "an inline key of 50,000 parts": f"{STUDY}\nx = {{ {key} = 1 }}",
        "lists 50,000 deep": f"{STUDY}\nx = {'[' * 50_000}",
        "a sweep of 10^4 x 10^4": f"horizon = 9\n{PROBLEM}\n{both}, R = [{sizes}] }}",
        "10^4 problems x 10^4 learners": "horizon = 9\n[problems.many]\n"
        f'type = "BernoulliBandit"\nsweep = {{ means = [{means}] }}\n{both} }}',
        "a river of 20,000 states": STUDY.replace('"BernoulliBandit"', '"mdps.river_swim"').replace(
            "means = [0.6, 0.4]", "n_states = 20_000\nhorizon = 1"
        ),
    }
    for what, text in texts.items():

        def prepare(folder: Path, text: str = text) -> Any:
            from uli_fast.experiments import ExperimentFile

            (folder / "study.toml").write_text(text, encoding="utf-8")
            return lambda: ExperimentFile.read(folder / "study.toml")

        yield Case(f"an experiment file: {what}", prepare)


def calls() -> Iterator[Case]:
    def river(folder: Path) -> Any:
        import uli_fast as uli

        return lambda: uli.mdps.river_swim(20_000, 1)

    def horizon(folder: Path) -> Any:
        import uli_fast as uli

        problem = uli.BernoulliBandit([0.6, 0.4])
        return lambda: uli.simulate(uli.UCB(0.1), problem, 10**5000, seed=-(10**5000))

    def reward(folder: Path) -> Any:
        player = told("UCB", 1)
        return lambda: player.tell(2, bytearray(b"0.5"))

    def study(folder: Path) -> Any:
        import uli_fast as uli

        live = uli.Study.open(folder / "x.study", uli.UCB(0.1), 2)
        decision = live.ask()
        return lambda: live.tell(decision.id, bytearray(b"0.5"))

    yield Case("a river of 20,000 states", river)
    yield Case("a horizon of 10^5000", horizon)
    yield Case("a bytearray as a reward", reward)
    yield Case("a bytearray as a reward of a study", study)


# Runs that were altered and signed again.


def read(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found


def write(folder: Path, manifest: dict[str, Any]) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def sign(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest with the hash that it should have."""
    manifest.pop("sha256", None)
    text = json.dumps(manifest, sort_keys=True)
    write(folder, manifest | {"sha256": hashlib.sha256(text.encode()).hexdigest()})


def altered(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change an array, or a word, and sign everything again."""
    manifest, path = read(folder), folder / f"{name}.npy"
    if name not in manifest["arrays"]:
        sign(folder, manifest | {name: change(manifest.get(name))})
        return
    values = np.ascontiguousarray(change(np.load(path)))
    np.save(path, values)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    about = {"sha256": digest, "dtype": str(values.dtype), "shape": list(values.shape)}
    sign(folder, manifest | {"arrays": manifest["arrays"] | {name: about}})


def put(value: Any, *where: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array = array.copy()
        array[where or (-1,) * array.ndim] = value
        return array

    return change


ALTERED: tuple[tuple[str, str, str, Callable[[Any], Any]], ...] = (
    ("arms", "plays", "negative", put(-1)),
    ("arms", "final_plays", "negative", put(-1)),
    ("arms", "recorded_regret", "NaN", put(math.nan)),
    ("arms", "recorded_regret", "infinite", put(math.inf)),
    ("arms", "recorded_regret", "falling", put(-5.0)),
    ("arms", "recorded_regret", "not that of the plays", lambda x: 2.0 * x),
    ("arms", "plays", "of another shape", lambda x: x[:, :, :2]),
    ("arms", "last_play", "of another shape", lambda x: x[:1]),
    ("arms", "last_play", "flat", lambda x: x.ravel()),
    ("arms", "last_play", "beyond the horizon", put(2001)),
    ("arms", "last_play", "of another kind", lambda x: x.astype(float)),
    ("arms", "event_held", "numbers", lambda x: x.astype(np.int64)),
    ("arms", "eliminated_at", "before the last play", put(1, 0, 0)),
    ("arms", "rounds", "not in order", lambda x: x[::-1]),
    ("arms", "gaps", "NaN", put(math.nan)),
    ("arms", "gaps", "negative", put(-0.5)),
    ("arms", "gaps", "too many", lambda x: np.append(x, 0.0)),
    ("arms", "plays", "fewer with time", lambda x: x[:, ::-1]),
    ("arms", "final_plays", "more than the horizon", lambda x: x + 1),
    ("arms", "final_plays", "none", lambda x: x[:0]),
    ("arms", "horizon", "a word", lambda x: "long"),
    ("arms", "horizon", "of 4,000 digits", lambda x: int("9" * 4000)),
    ("arms", "names", "numbers", lambda x: [1, 2, 3]),
    ("arms", "elapsed", "NaN", lambda x: math.nan),
    ("arms", "delta", "a list", lambda x: []),
    ("arms", "tv_bound", "negative", lambda x: -1.0),
    ("arms", "guarantee", "unknown", lambda x: x | {"formula": "X"}),
    ("arms", "guarantee", "of K = 0", lambda x: x | {"parameters": x["parameters"] | {"K": 0}}),
    ("arms", "guarantee", "of delta = 2", lambda x: x | {"delta": 2.0}),
    ("sets", "block_gaps", "NaN", put(math.nan, 0, 0)),
    ("sets", "block_first", "negative", put(-5, 0, 0)),
    ("sets", "block_last", "beyond the horizon", put(2001, 0, 0)),
    ("sets", "block_arms", "NaN", put(math.nan, 0, 0, 0)),
    ("sets", "block_phase", "of another shape", lambda x: x[:1]),
    ("sets", "phase_work", "negative", put(-1.0)),
    ("sets", "recorded_regret", "NaN", put(math.nan)),
    ("policies", "final_plays", "negative", put(-1, 0, 0)),
    ("policies", "visits", "negative", put(-1, 0, 0, 0, 0)),
    ("policies", "gaps", "NaN", put(math.nan, 0, 0)),
    ("policies", "recorded_regret", "NaN", put(math.nan)),
    ("policies", "policies", "of another shape", lambda x: x[:, :, :1]),
    ("policies", "last_play", "beyond the horizon", put(10**6, 0, 0)),
)


def signed_again(quick: bool) -> Iterator[Case]:
    for kind, name, what, change in ALTERED:
        if quick and kind != "arms":
            continue

        def prepare(folder: Path, kind: str = kind, name: str = name, change: Any = change) -> Any:
            import uli_fast as uli

            target = saved_runs(folder, kind)
            uli.Runs.load(target)
            altered(target, name, change)
            return lambda: uli.Runs.load(target)

        yield Case(f"runs of {kind}, signed again: {name} {what}", prepare)


# States that were altered.


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where numbers and marks are in a state."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ABOUT:
                yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    elif isinstance(value, int | float):
        yield path


def changed(state: Any, path: tuple[Any, ...], how: str) -> Any:
    """Return a copy of a state with one number or mark changed."""
    copy = json.loads(json.dumps(state))
    at = copy
    for key in path[:-1]:
        at = at[key]
    old = at[path[-1]]
    if how == "NaN":
        at[path[-1]] = math.nan
    elif isinstance(old, bool):
        at[path[-1]] = not old
    else:
        at[path[-1]] = old + (1 if isinstance(old, int) else 0.25 + abs(old))
    return copy


def places(state: Any, most: int) -> list[tuple[Any, ...]]:
    """Return some places of a state to change, of every array at least one."""
    rng, groups = random.Random(7), dict[Any, list[Any]]()
    for path in leaves(state):
        groups.setdefault(tuple(x for x in path if isinstance(x, str)), []).append(path)
    return [path for group in groups.values() for path in rng.sample(group, min(most, len(group)))]


def states(quick: bool) -> Iterator[Case]:
    for kind in (*learners(), *EPISODES):

        def prepare(folder: Path, kind: str = kind) -> Any:
            return lambda: every_change(kind, 1 if quick else 4)

        yield Case(f"a state of {kind}", prepare)


def every_change(kind: str, most: int) -> None:
    """Change a state in many places; raise the last error if each of them is refused in time."""
    import uli_fast as uli
    from uli_fast.errors import StateError, UliError

    signal.alarm(0)  # kernels may have to be compiled before the first change
    warnings.simplefilter("ignore")  # of phases that are far too short to mean anything
    player = EPISODES[kind]() if kind in EPISODES else told(kind)
    state = json.loads(json.dumps(player.state()))
    more: dict[str, Any] = {}
    if kind == "EliminationFramework":
        more["learner"] = player.learner
    if kind == "SpannerElimination":
        more["arms"] = uli.arm_sets.Ball(2)
    assert uli.restore(state, **more).state() == state
    last: UliError | None = None
    for path in places(state, most):
        if kind == "EliminationFramework" and "eliminated" in path:
            continue  # when it dropped an arm between two plays is known to the rule alone
        for how in ("NaN", "other"):
            begun = clock()
            signal.alarm(HANGS)  # for each of them
            try:
                uli.restore(changed(state, path, how), **more)
            except StateError as problem:
                last = problem
            else:
                raise AssertionError(f"{path} {how}: accepted")
            assert clock() - begun < SECONDS, path
            COUNTED["states"] += 1
    assert last is not None
    raise last


COUNTED = {"states": 0}


def cases(quick: bool) -> Iterator[Case]:
    yield from odd_files()
    yield from odd_studies()
    yield from giants()
    yield from parts()
    yield from study_files()
    yield from calls()
    yield from signed_again(quick)
    yield from states(quick)


clock = time.perf_counter


class Hanging(BaseException):
    """A case took far too long."""


def interrupted(*_: Any) -> None:
    raise Hanging


def outcome(case: Case) -> tuple[float, str | None]:
    """Run a case; return its seconds, and what is wrong if anything is."""
    from uli_fast.errors import UliError

    with tempfile.TemporaryDirectory() as folder:
        call = case.prepare(Path(folder))
        begun = clock()
        signal.alarm(HANGS)
        try:
            call()
            problem: str | None = "was accepted"
        except (UliError, click.ClickException):
            problem = None
        except (Exception, Hanging) as other:
            problem = f"ended in {other!r:.300}"
        finally:
            signal.alarm(0)
        return clock() - begun, problem


def child(quick: bool) -> int:
    """Run all cases under the limit; print what came out."""
    global clock
    import uli_fast.study.study  # noqa: F401  (what is imported later counts against a case)

    if quick:  # beside other tests: seconds of this process; what waits is interrupted anyway
        clock = time.process_time
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    signal.signal(signal.SIGALRM, interrupted)
    wrong, slowest, total = [], (0.0, ""), 0
    for case in cases(quick):
        print(f"... {case.name}", file=sys.stderr, flush=True)
        seconds, problem = outcome(case)
        of_many = case.name.startswith("a state of")  # each of them is timed on its own
        if problem is None and seconds > SECONDS and not of_many:
            problem = f"took {seconds:.1f} s"
        if problem is not None:
            wrong.append(f"WRONG {case.name}: {problem}")
        if not of_many:
            slowest = max(slowest, (seconds, case.name))
        total += not of_many
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(*wrong, sep="\n")
    print(
        f"{total} odd files and calls, {COUNTED['states']} altered states: {len(wrong)} wrong; "
        f"slowest {slowest[0]:.2f} s ({slowest[1]}), peak {peak:.2f} GB of 2"
    )
    return int(bool(wrong))


def run(quick: bool, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run the cases in a child; one that cannot be interrupted ends with it."""
    words = ["-m", "tests.support.hostile", "--child", *(["--quick"] if quick else [])]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return subprocess.run(
        [sys.executable, *words],
        cwd=Path(__file__).parents[2],
        env=os.environ | threads,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


if __name__ == "__main__":
    if "--child" in sys.argv:
        sys.exit(child("--quick" in sys.argv))
    done = run("--quick" in sys.argv, 1200.0)
    print(done.stdout, done.stderr[-2000:] if done.returncode else "", sep="", end="")
    sys.exit(done.returncode)
