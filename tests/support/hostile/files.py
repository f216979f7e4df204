"""Odd files in the place of every file that is read, folders that claim too much, calls."""

import math
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.hostile.case import Case
from tests.support.hostile.runs import read, saved_runs, sign, write
from tests.support.hostile.states import told

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
