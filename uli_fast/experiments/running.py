"""Running an experiment file: parts of replications through joblib, each kept once it is done."""

from __future__ import annotations

import functools
import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from uli_fast import _check
from uli_fast._support.files import refused
from uli_fast._support.progress import duration, progress_bar
from uli_fast._support.versions import versions
from uli_fast.errors import GuaranteeWarning, ResultsError
from uli_fast.experiments import ray_tasks
from uli_fast.experiments.build import learner_of, problem_of
from uli_fast.experiments.experiment_file import ExperimentCell, ExperimentFile
from uli_fast.experiments.results import (
    Results,
    cell_folder,
    has_manifest,
    read_manifest,
    shard_of,
    write_manifest,
)
from uli_fast.experiments.shards import Shard
from uli_fast.experiments.watch import PartWatch, Unwatched
from uli_fast.results.parts import Store, locked, refuse_strangers
from uli_fast.results.runs import Runs
from uli_fast.simulation.runner import threads_of

# The most replications that a part may have.
LARGEST_PART = 4096
# What may be in a folder of results besides its manifest.
OWN = r"\.lock|cells|\.manifest\.json-.*|report\.html|runs\.parquet"
# Seconds between two looks of a worker process at whether its parent is there.
LOOK_SECONDS = 1.0
UNWATCHED = Unwatched()


class Part(NamedTuple):
    """Replications of a cell that are run together."""

    cell: ExperimentCell
    first: int
    size: int
    total: int  # replications of the whole experiment


def play(part: Part, watch: PartWatch | Unwatched = UNWATCHED) -> tuple[Part, Runs, float]:
    """Run a part; the work of one task, in a thread or in a process anywhere."""
    begun = time.perf_counter()
    runs = simulated(part, watch.follow(part))
    return part, runs, time.perf_counter() - begun


def simulated(part: Part, progress: bool | Callable[[float], None]) -> Runs:
    """Return the Runs of a part."""
    from uli_fast.simulation.simulate import keeps_plays, rounds_to_record, simulate

    spec = part.cell.spec
    problem = problem_of("problem", spec["problem"])
    recorded = rounds_to_record(spec["rounds"], spec["horizon"])
    kept = keeps_plays(getattr(problem, "n_arms", 0), recorded.size, part.total)
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


def play_as(
    expected: Mapping[str, str], watch: PartWatch | Unwatched, part: Part
) -> tuple[Part, Runs, float]:
    """Run a part somewhere else, if the versions there are those of the process that asks."""
    here = versions()
    if here != expected:
        others = (
            f"{k} {v}, not {expected.get(k)}" for k, v in here.items() if v != expected.get(k)
        )
        raise ResultsError(f"a worker has {' and '.join(others)}: results are not mixed")
    return play(part, watch)


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
    """Silence warnings about missing guarantees, given once per cell, and about parts given up.

    Joblib warns of the latter when a run ends early; the error says why it did.
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
    experiment: ExperimentFile | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    resume: bool = False,
    replications: int | None = None,
    shard: str | tuple[int, int] | None = None,
    jobs: int = 1,
    backend: str | None = None,
    keep_every: float = 5.0,
    progress: bool | Callable[[float], None] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Results:
    """Run an experiment into a folder and return its results.

    Parameters
    ----------
    experiment
        An experiment file, or its path.
    folder
        Where results are kept. Every part is written as soon as it is done.
    resume
        Go on where an earlier run ended, also with more replications or other cells.
    replications
        Instead of the number in the file, or of the larger one that was asked for before.
    shard
        Run one of n shares of the replications, "2/8" or (2, 8), into a folder of its own;
        :func:`merge` joins them.
    jobs
        Parts that are run at once; -1 for one per core. Results are the same for any number.
    backend
        A backend of joblib: "threading" (the default), "loky" for processes, or one that is
        registered; ``joblib.parallel_config`` around the call chooses one too, as for Dask.
        Or "ray": tasks of the Ray that is connected, or of one started here for the run.
    keep_every
        Seconds of work that a part should hold; replications are never cut.
    progress
        As for :func:`uli_fast.simulate`.
    say
        Receives a sentence now and then, such as how long it will take.
    """
    if isinstance(experiment, ExperimentFile):
        file = experiment
    else:
        file = ExperimentFile.read(experiment)
    asked = None if replications is None else _check.replications("replications", replications)
    workers = threads_of(_check.jobs("jobs", jobs))
    keep_every = _check.positive("keep_every", keep_every)
    backend = _check.backend("backend", backend)
    target = _check.path("folder", folder)
    mine = None if shard is None else Shard(*_check.shard("shard", shard))
    if not has_manifest(target):
        _share(mine, asked or file.replications)
        refuse_strangers(target, OWN)
    with locked(target):
        before = _before(target, file, resume, mine, say)
        for cell in file.cells:
            if cell.warning is not None:
                warnings.warn(cell.warning, GuaranteeWarning, stacklevel=2)
        stores = {
            cell.id: Store.writing(cell_folder(target, cell.id), cell.spec) for cell in file.cells
        }
        if mine is None:
            M = _number(file, asked, before, stores.values(), say)
        else:
            M = _settled(target, file, asked, before, say)
        with refused(target):
            write_manifest(target, file, M, mine)
        work = _Work(file.cells, stores, (M, workers, keep_every), backend, say, _share(mine, M))
        with _quiet(), progress_bar(progress, 1) as bar:
            work.do(lambda fraction: bar.report(0, min(fraction, 0.999)))
    return Results.load(target)


def _share(shard: Shard | None, replications: int) -> tuple[int, int]:
    """Return the first replication to run and the one after the last."""
    return (0, replications) if shard is None else shard.share(replications)


def _before(
    target: Path,
    file: ExperimentFile,
    resume: bool,
    shard: Shard | None,
    say: Callable[[str], None],
) -> int:
    """Return how many replications were asked for before, 0 if this is the first time."""
    if not has_manifest(target):
        return 0
    manifest = read_manifest(target)
    if not resume:
        raise ResultsError(
            f"{target} holds results already; go on with --resume (resume=True), "
            "or use a new folder"
        )
    if shard_of(manifest) != shard:
        raise ResultsError(
            f"{target} holds {_called(shard_of(manifest))}, not {_called(shard)}; "
            "use the folder of that one"
        )
    there, here = {c["id"] for c in manifest["cells"]}, {cell.id for cell in file.cells}
    if there != here:
        new, gone = len(here - there), len(there - here)
        say(f"the file changed: {counted(new, 'new cell')}, {gone} no longer used")
    asked: int = manifest["replications"]
    return asked


def _number(
    file: ExperimentFile,
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


def _called(shard: Shard | None) -> str:
    return "a whole experiment" if shard is None else f"shard {shard}"


def _settled(
    target: Path, file: ExperimentFile, asked: int | None, before: int, say: Callable[[str], None]
) -> int:
    """Return how many replications a sharded experiment has; another number means other shares."""
    wanted = asked or before or file.replications
    if before and wanted != before:
        raise ResultsError(
            f"{target} holds a share of {before} replications, not of {wanted}; shards do not "
            "grow: merge them and go on with the whole, or use new folders"
        )
    if asked is None and wanted != file.replications:
        say(f"{wanted} replications as before, where the file says {file.replications}")
    return wanted


@dataclass
class _Work:
    """What is still to be done, and how long parts take."""

    cells: tuple[ExperimentCell, ...]
    stores: Mapping[str, Store]  # by cell
    size: tuple[int, int, float]  # replications, parts at once, seconds of a part
    backend: str | None
    say: Callable[[str], None]
    share: tuple[int, int]  # the first replication and the one after the last
    seconds: dict[str, float] = field(default_factory=dict)  # per replication, by cell

    def do(self, report: Callable[[float], None]) -> None:
        """Run a replication of each cell, to know how long they take, then the rest.

        The first one may have compiled a kernel: if it was slow, a second one tells.
        """
        whole = sum(n for cell in self.cells for _, n in self._missing(cell))
        if whole == 0:
            self.say("nothing is missing")
            return
        watch = PartWatch(whole, report, self.say)
        with self._workers():
            for chosen in (self._pilots(), self._pilots(slower_than=0.3), self._rest()):
                self._keep(list(chosen), watch)

    def _keep(self, parts: list[Part], watch: PartWatch) -> None:
        """Play parts and keep each once it is done, at once, also after Ctrl-C."""
        with watch.trying(parts), closing(self._played(parts, watch)) as played:
            for part, runs, seconds in played:
                self.stores[part.cell.id].add(part.first, runs)
                self.seconds[part.cell.id] = seconds / part.size
                watch.finished(part)

    def _workers(self) -> AbstractContextManager[None]:
        """Return what has to run meanwhile."""
        return (
            ray_tasks.connected(self.size[1], self.say) if self.backend == "ray" else nullcontext()
        )

    def _missing(self, cell: ExperimentCell) -> list[tuple[int, int]]:
        first, end = self.share
        return self.stores[cell.id].missing(end, first)

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

    def _played(self, parts: list[Part], watch: PartWatch) -> Generator[tuple[Part, Runs, float]]:
        from joblib import parallel_config

        jobs = self.size[1]
        if self.backend == "ray":
            work = functools.partial(play_as, versions(), UNWATCHED)
            yield from ray_tasks.played(work, parts, jobs)
        elif self.backend == "loky":
            # Processes of this machine can see whether their parent is there.
            with parallel_config(self.backend):
                yield from _spread(functools.partial(play_for, os.getpid()), parts, jobs)
        else:
            with parallel_config(self.backend) if self.backend else nullcontext():
                yield from _spread(functools.partial(play_as, versions(), watch), parts, jobs)


def _spread(
    work: Callable[[Part], tuple[Part, Runs, float]], parts: list[Part], jobs: int
) -> Generator[tuple[Part, Runs, float]]:
    """Do the work with joblib: on the backend that is active, or on threads.

    A backend without a generator gives lists only: it gets a part for each worker at a time, so
    that they can be kept.
    """
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    active, _ = get_active_backend(prefer="threads")
    if getattr(active, "supports_return_generator", False):
        parallel = Parallel(jobs, prefer="threads", return_as="generator_unordered")
        yield from parallel(delayed(work)(x) for x in parts)
        return
    with Parallel(jobs, prefer="threads") as parallel:
        for at in range(0, len(parts), jobs):
            yield from parallel(delayed(work)(x) for x in parts[at : at + jobs])


def counted(n: int, what: str) -> str:
    """Return "1 cell", "2 cells"."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
