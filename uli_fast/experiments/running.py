"""Running a study file: parts of replications through joblib, each kept once it is done."""

from __future__ import annotations

import functools
import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from uli_fast import _check
from uli_fast._files import refused
from uli_fast._progress import duration, follow
from uli_fast.errors import GuaranteeWarning, ResultsError
from uli_fast.experiments.build import learner_of, problem_of
from uli_fast.experiments.results import Results, has_manifest, read_manifest, write_manifest
from uli_fast.experiments.store import Store, locked, refuse_strangers
from uli_fast.experiments.study_file import Cell, StudyFile
from uli_fast.experiments.watch import Unwatched, Watch
from uli_fast.runs import Runs

# The most replications that a part may have.
LARGEST_PART = 4096
# What may be in a folder of results beside its manifest.
OWN = r"\.lock|cells|\.manifest\.json-.*|report\.html|runs\.parquet"
# Seconds between two looks of a worker process at whether its parent is there.
LOOK_SECONDS = 1.0
UNWATCHED = Unwatched()


class Part(NamedTuple):
    """Replications of a cell that are run together."""

    cell: Cell
    first: int
    size: int
    total: int  # replications of the whole study


def play(part: Part, watch: Watch | Unwatched = UNWATCHED) -> tuple[Part, Runs, float]:
    """Run a part; the work of one task, in a thread or in a process anywhere."""
    begun = time.perf_counter()
    runs = simulated(part, watch.follow(part))
    return part, runs, time.perf_counter() - begun


def simulated(part: Part, progress: bool | Callable[[float], None]) -> Runs:
    """Return the Runs of a part."""
    from uli_fast.simulate import keeps_plays, simulate

    spec = part.cell.spec
    problem = problem_of("problem", spec["problem"])
    kept = keeps_plays(problem, spec["rounds"], spec["horizon"], part.total)
    with _quiet():
        return simulate(
            learner_of("learner", spec["learner"]),
            problem,
            spec["horizon"],
            part.size,
            spec["seed"],
            spec["engine"],
            spec["rounds"],
            progress=progress,
            keep_plays=None if kept else False,
            first_replication=part.first,
        )


def play_for(parent: int, part: Part) -> tuple[Part, Runs, float]:
    """Run a part in a process of its own, which ends when its parent does."""
    _end_with(parent)
    return play(part)


@functools.cache  # once in a process
def _end_with(parent: int) -> None:
    """Watch the parent: if it is killed, nobody reads the results, and writing them never ends."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _quiet() -> Iterator[None]:
    """Say nothing of missing guarantees, said once for the cell, nor of parts given up.

    Those are what joblib warns of when a run ends early; the error says why it did.
    Filters belong to the whole process. So it is the main thread that sets them: of a worker
    process here, of the caller for threads, who need not.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuaranteeWarning)
        warnings.filterwarnings("ignore", ".*You could benefit from adjusting the input task")
        yield


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
        Instead of the number in the file, or of the larger one that was asked for before.
    jobs
        Parts that are run at once; -1 for one per core. Results are the same for any number.
    backend
        A backend of joblib: "threading" (the default), "loky" for processes, or one that is
        registered; ``joblib.parallel_config`` around the call chooses one too, as for Dask.
    keep_every
        Seconds of work that a part should hold; replications are never cut.
    progress
        As for :func:`uli_fast.simulate`.
    say
        Receives a sentence now and then, such as how long it will take.
    """
    file = study if isinstance(study, StudyFile) else StudyFile.read(study)
    asked = None if replications is None else _check.replications("replications", replications)
    workers = _check.jobs("jobs", jobs)
    keep_every = _check.positive("keep_every", keep_every)
    backend = _check.backend("backend", backend)
    target = _check.path("folder", folder)
    if not has_manifest(target):
        refuse_strangers(target, OWN)
    with locked(target):
        before = _before(target, file, resume, say)
        for cell in file.cells:
            if cell.warning is not None:
                warnings.warn(cell.warning, GuaranteeWarning, stacklevel=2)
        stores = {
            cell.id: Store.writing(target / "cells" / cell.id, cell.spec) for cell in file.cells
        }
        M = _number(file, asked, before, stores.values(), say)
        with refused(target):
            write_manifest(target, file, M)
        work = _Work(file.cells, stores, (M, workers, keep_every), backend, say)
        with _quiet(), follow(progress, 1) as bar:
            work.do(lambda fraction: bar.report(0, min(fraction, 0.999)))
    return Results.load(target)


def _before(target: Path, file: StudyFile, resume: bool, say: Callable[[str], None]) -> int:
    """Return how many replications were asked for before, 0 if this is the first time."""
    if not has_manifest(target):
        return 0
    manifest = read_manifest(target)
    if not resume:
        raise ResultsError(
            f"{target} holds results already; go on with --resume (resume=True), "
            "or use a new folder"
        )
    there, here = {c["id"] for c in manifest["cells"]}, {cell.id for cell in file.cells}
    if there != here:
        new, gone = len(here - there), len(there - here)
        say(f"the file changed: {counted(new, 'new cell')}, {gone} no longer used")
    asked: int = manifest["replications"]
    return asked


def _number(
    file: StudyFile,
    asked: int | None,
    before: int,
    stores: Iterable[Store],
    say: Callable[[str], None],
) -> int:
    """Return how many replications are wanted: never fewer than there are, unless asked for."""
    kept = max((first + n for store in stores for first, n, _ in store.parts()), default=0)
    if asked is not None:
        if asked < kept:
            say(f"{kept} are kept, {asked} shown")
        return asked
    wanted = max(file.replications, before, kept)
    if wanted > file.replications:
        say(f"{wanted} replications as before, where the file says {file.replications}")
    return wanted


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
        watch = Watch(whole, report, self.say)
        for chosen in (self._pilots(), self._pilots(slower_than=0.3), self._rest()):
            parts = list(chosen)
            # At once, also after Ctrl-C.
            with watch.trying(parts), closing(self._played(parts, watch)) as played:
                for part, runs, seconds in played:
                    self.stores[part.cell.id].add(part.first, runs)
                    self.seconds[part.cell.id] = seconds / part.size
                    watch.finished(part)

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

    def _played(self, parts: list[Part], watch: Watch) -> Generator[tuple[Part, Runs, float]]:
        from joblib import Parallel, delayed, parallel_config

        options: dict[str, Any] = {"n_jobs": self.size[1], "return_as": "generator_unordered"}
        if self.backend is None:
            tasks = (delayed(play)(x, watch) for x in parts)
            yield from Parallel(prefer="threads", **options)(tasks)
            return
        # Processes of this machine can see whether their parent is there.
        work = functools.partial(play_for, os.getpid()) if self.backend == "loky" else play
        more = () if self.backend == "loky" else (watch,)
        with parallel_config(self.backend):
            yield from Parallel(**options)(delayed(work)(x, *more) for x in parts)


def counted(n: int, what: str) -> str:
    """Return "1 cell", "2 cells"."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
