"""The one runner: groups of replications on threads, in chunks, with progress.

A learner's ``begin`` gives a batch of replications; ``advance`` moves them on, in one compiled
call where the algorithm has a kernel. What a replication does depends on the seed and its number
alone: not on its group, the threads or the chunks.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, Protocol, TypeVar

import numpy as np

from uli_fast._support.progress import ChunkBudget, Progress
from uli_fast._support.streams import stream_words
from uli_fast._typing import I64, U64

Task = TypeVar("Task")

# Replications that are begun together: what a call from Python costs is shared by so many.
LARGEST_GROUP = 256
# Groups per thread, so that none waits long for the last one; but kernels with lanes play this
# many replications side by side in the time of a few.
GROUPS_EACH, LANES = 4, 16


class Batch(Protocol):
    """Replications in progress."""

    def advance(self, budget: int) -> bool:
        """Play on for about ``budget`` steps and say whether all have reached the horizon."""

    @property
    def played(self) -> I64:
        """Rounds played by each; the last block may go beyond the horizon."""


class Outcome(Protocol):
    """Begins batches of one kind of learner, and keeps what they made."""

    horizon: int
    first_budget: int
    largest_group: int  # replications that may be begun together

    def begin(self, group: range, words: U64) -> Any:
        """Allocate the replications of a group, one stream each."""

    def check(self, group: range, batch: Any) -> None:
        """Refuse to go on after a chunk, if something ran out."""

    def keep(self, group: range, batch: Any, seconds: float) -> None:
        """Keep what a finished batch made; seconds are those of one replication."""


def play_all(outcome: Outcome, M: int, seed: tuple[int, int], threads: int, bar: Progress) -> None:
    """Play M replications; the seed comes with the number of the first one.

    Ctrl-C and errors stop all threads after their current chunks.
    """
    words = stream_words(seed[0], seed[1], M)
    groups, budgets = list(enumerate(cut(M, threads, outcome.largest_group))), threading.local()
    bar.tasks = len(groups)

    def play(task: tuple[int, range], stop: threading.Event) -> None:
        number, group = task
        pace = ChunkBudget(getattr(budgets, "last", outcome.first_budget))
        batch = outcome.begin(group, words[group.start : group.stop])
        done = False
        while not done and not stop.is_set():
            done = pace.chunk(batch.advance)
            outcome.check(group, batch)
            bar.report(number, 1.0 if done else fraction(batch.played, outcome.horizon))
        if done:
            outcome.keep(group, batch, pace.seconds / len(group))
        budgets.last = pace.budget

    run_on_threads(groups, threads, play)


def threads_of(n_jobs: int) -> int:
    """Return a number of threads: one per core for -1."""
    return os.cpu_count() or 1 if n_jobs == -1 else n_jobs


def cut(M: int, threads: int, largest: int) -> list[range]:
    """Cut replications into groups of ``largest`` at most."""
    few = M if threads == 1 else math.ceil(M / (GROUPS_EACH * threads))
    size = min(max(few, min(LANES, M // threads)), largest, LARGEST_GROUP)
    return [range(r, min(r + size, M)) for r in range(0, M, size)]


def fraction(played: I64, horizon: int) -> float:
    """Return how much of a group is done, below 1."""
    return min(float(np.minimum(played / horizon, 1.0).mean()), math.nextafter(1.0, 0.0))


def run_on_threads(
    tasks: Sequence[Task], threads: int, play: Callable[[Task, threading.Event], None]
) -> None:
    """Play tasks on threads; Ctrl-C and errors stop the others after their current chunk."""
    stop = threading.Event()
    if threads == 1:
        for one in tasks:
            play(one, stop)
        return
    queue, lock = iter(tasks), threading.Lock()

    def work() -> None:
        while not stop.is_set():
            with lock:
                task = next(queue, None)
            if task is None:
                return
            play(task, stop)

    with ThreadPoolExecutor(threads) as pool:
        futures: list[Future[None]] = [pool.submit(work) for _ in range(threads)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
        for future in futures:
            future.result()
