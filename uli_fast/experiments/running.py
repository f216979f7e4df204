"""Running a study file: parts of replications through joblib, each kept once it is done."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from uli_fast import _check
from uli_fast._progress import follow
from uli_fast.errors import ResultsError
from uli_fast.experiments.build import learner_of, problem_of
from uli_fast.experiments.results import Results, write_manifest
from uli_fast.experiments.store import Store, locked, refused
from uli_fast.experiments.study_file import Cell, StudyFile
from uli_fast.runs import Runs

# The most replications that a part may have.
LARGEST_PART = 4096


class Part(NamedTuple):
    """Replications of a cell that are run together."""

    cell: Cell
    first: int
    size: int
    total: int  # replications of the whole study


def play(part: Part) -> tuple[Part, Runs, float]:
    """Run a part; the work of one task, in a thread or in a process anywhere."""
    from uli_fast.simulate import keeps_plays, simulate

    spec = part.cell.spec
    problem = problem_of("problem", spec["problem"])
    kept = keeps_plays(problem, spec["rounds"], spec["horizon"], part.total)
    begun = time.perf_counter()
    runs = simulate(
        learner_of("learner", spec["learner"]),
        problem,
        spec["horizon"],
        part.size,
        spec["seed"],
        spec["engine"],
        spec["rounds"],
        progress=False,
        keep_plays=None if kept else False,
        first_replication=part.first,
    )
    return part, runs, time.perf_counter() - begun


def run(
    study: StudyFile | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    resume: bool = False,
    replications: int | None = None,
    jobs: int = 1,
    backend: str | None = None,
    keep_every: float = 5.0,
    progress: bool | Callable[[float], None] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Results:
    """Run a study into a folder and return its results.

    Parameters
    ----------
    study
        A study file, or its path.
    folder
        Where results are kept. Every part is written as soon as it is done.
    resume
        Go on where an earlier run ended, also with more replications or other cells.
    replications
        Instead of the number in the file.
    jobs
        Parts that are run at once; -1 for one per core. Results are the same for any number.
    backend
        A backend of joblib: "threading" (the default), "loky" for processes, "dask", "ray".
        ``joblib.parallel_config`` around the call chooses one too.
    keep_every
        Seconds of work that a part should hold; replications are never cut.
    progress
        As for :func:`uli_fast.simulate`.
    say
        Receives a sentence now and then, such as how long it will take.
    """
    file = study if isinstance(study, StudyFile) else StudyFile.read(study)
    M = file.replications if replications is None else _check.whole("replications", replications)
    workers = _check.jobs("jobs", jobs)
    keep_every = _check.positive("keep_every", keep_every)
    target = Path(folder)
    with locked(target):
        if not resume and (target / "manifest.json").exists():
            raise ResultsError(f"{target} holds results already; resume them, or use a new folder")
        stores = {
            cell.id: Store.writing(target / "cells" / cell.id, cell.spec) for cell in file.cells
        }
        with refused(target):
            write_manifest(target, file, M)
        work = _Work(file.cells, stores, (M, workers, keep_every), backend, say)
        with follow(progress, 1) as bar:
            work.do(lambda fraction: bar.report(0, min(fraction, 0.999)))
    return Results.load(target)


@dataclass
class _Work:
    """What is still to be done, and how long parts take."""

    cells: tuple[Cell, ...]
    stores: Mapping[str, Store]  # by cell
    size: tuple[int, int, float]  # replications, parts at once, seconds of a part
    backend: str | None
    say: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)  # per replication, by cell

    def do(self, report: Callable[[float], None]) -> None:
        """Run a replication of each cell, to know how long they take, then the rest.

        The first one may have compiled a kernel: if it was slow, a second one tells.
        """
        whole = sum(n for cell in self.cells for _, n in self._missing(cell))
        if whole == 0:
            self.say("nothing is missing")
            return
        done = 0
        for parts in (self._pilots(), self._pilots(slower_than=0.3), self._rest()):
            for part, runs, seconds in self._played(list(parts)):
                self.stores[part.cell.id].add(part.first, runs)
                self.seconds[part.cell.id] = seconds / part.size
                done += part.size
                report(done / whole)

    def _missing(self, cell: Cell) -> list[tuple[int, int]]:
        return self.stores[cell.id].missing(self.size[0])

    def _pilots(self, slower_than: float = -1.0) -> Iterator[Part]:
        for cell in self.cells:
            if self.seconds.get(cell.id, 0.0) > slower_than:
                for first, _ in self._missing(cell)[:1]:
                    yield Part(cell, first, 1, self.size[0])

    def _rest(self) -> Iterator[Part]:
        M, workers, keep_every = self.size
        left = {cell: self._missing(cell) for cell in self.cells}
        each = {cell: max(self.seconds.get(cell.id, 0.0), 1e-6) for cell in self.cells}
        ahead = sum(n * each[cell] for cell, gaps in left.items() for _, n in gaps) / workers
        if ahead > 2.0:
            self.say(f"about {duration(ahead)} with jobs={workers}")
        for cell, gaps in left.items():
            fits = max(1, min(LARGEST_PART, int(keep_every / each[cell])))
            for first, n in gaps:
                fair = min(fits, math.ceil(n / workers))
                for at in range(first, first + n, fair):
                    yield Part(cell, at, min(fair, first + n - at), M)

    def _played(self, parts: list[Part]) -> Iterator[tuple[Part, Runs, float]]:
        from joblib import Parallel, delayed

        chosen: dict[str, Any] = (
            {"backend": self.backend} if self.backend else {"prefer": "threads"}
        )
        parallel = Parallel(n_jobs=self.size[1], return_as="generator_unordered", **chosen)
        yield from parallel(delayed(play)(part) for part in parts)


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
