"""The one thread that has the study.

Whoever wants something of it queues up. The thread takes all that has queued while it was writing,
does it in one commit, and answers each after that: the more people ask, the more share a commit.

What calls will record is known roughly, in bytes, and limited: a commit ends before it is too
large, and where too much waits, who comes next is sent away. So memory stays what it is, and who
asks for little waits for a few commits at most.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from uli_fast.errors import UliError
from uli_fast.service.limits import Limits
from uli_fast.service.metrics import Metrics
from uli_fast.service.problems import RefusedError
from uli_fast.study.study import Study

log = logging.getLogger(__name__)

MOST_TOGETHER = 256  # calls of one commit
T = TypeVar("T")


class Job(NamedTuple):
    """What somebody waits for: a call that writes, or a look."""

    call: tuple[Any, ...] | None
    look: Callable[[Study], Any] | None
    future: asyncio.Future[Any]
    size: int  # bytes


class Desk:
    """Takes calls from one event loop, and makes them in its thread."""

    def __init__(self, study: Study, metrics: Metrics, limits: Limits | None = None) -> None:
        self._study, self._metrics, self._limits = study, metrics, limits or Limits()
        self._size = 0  # of all who wait for an answer
        self._next: Job | None = None  # taken from the queue, and too large for the last commit
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = False

    @property
    def waiting(self) -> int:
        """How many are in the queue."""
        return self._jobs.qsize() + (self._next is not None)

    @property
    def open(self) -> bool:
        """Whether calls are taken."""
        return self._thread is not None and self._thread.is_alive() and not self._closing

    def start(self) -> None:
        """Begin to work for the loop that is running."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="uli-desk", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Take nothing more, finish what has queued up, and end."""
        self._closing = True
        if self._thread is not None:
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)

    def do(self, *call: Any, size: int = 0) -> asyncio.Future[Any]:
        """Queue up with a call that writes, so many bytes; see ``Study.together``."""
        return self._queued(call, None, size)

    def look(self, look: Callable[[Study], T]) -> asyncio.Future[T]:
        """Queue up to look at the study; it sees all that was acknowledged before."""
        return self._queued(None, look, 0)

    def _queued(self, call: Any, look: Any, size: int) -> asyncio.Future[Any]:
        if not self.open or self._loop is None:
            raise RefusedError(503, "the service is stopping; ask it again when it is back")
        if self.waiting >= self._limits.queued:
            raise RefusedError(503, f"{self._limits.queued} are waiting already; try again")
        if self._size and self._size + size > self._limits.waiting:
            raise RefusedError(503, "too much is waiting to be recorded already; try again")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._size += size
        self._jobs.put(Job(call, look, future, size))
        return future

    # In the thread.

    def _work(self) -> None:
        last = False
        while not last:
            jobs, last = self._taken()
            writes = [job for job in jobs if job.call is not None]
            looks = [job for job in jobs if job.call is None]
            if writes:
                self._answer(writes, self._written(writes))
            for job in looks:
                assert job.look is not None
                self._answer([job], [self._seen(job.look)])

    def _taken(self) -> tuple[list[Job], bool]:
        """Wait for somebody; return all who are there and fit, and whether they are the last."""
        job, self._next = self._next or self._jobs.get(), None
        jobs, size = list[Job](), 0
        while job is not None:
            size += job.size
            if jobs and size > self._limits.together:
                self._next = job
                return jobs, False
            jobs.append(job)
            if len(jobs) == MOST_TOGETHER:
                return jobs, False
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, False
        return jobs, True

    def _written(self, jobs: list[Job]) -> list[Any]:
        began = time.perf_counter()
        try:
            found = self._study.together([job.call for job in jobs if job.call is not None])
        except Exception as problem:
            found = [problem] * len(jobs)
        self._metrics.commit(len(jobs), time.perf_counter() - began)
        return found

    def _seen(self, look: Callable[[Study], Any]) -> Any:
        try:
            return look(self._study)
        except Exception as problem:
            return problem

    def _answer(self, jobs: list[Job], found: list[Any]) -> None:
        assert self._loop is not None
        for problem in found:
            if isinstance(problem, Exception) and not isinstance(problem, UliError):
                log.error("a call failed in a way that it should not", exc_info=problem)
        try:
            self._loop.call_soon_threadsafe(self._deliver, jobs, found)
        except RuntimeError:  # the loop was closed: nobody waits any more
            log.warning("the service ended before %d calls were answered", len(jobs))

    # In the loop again.

    def _deliver(self, jobs: list[Job], found: list[Any]) -> None:
        for job, one in zip(jobs, found, strict=True):
            self._size -= job.size
            if job.future.done():  # whoever asked has gone
                continue
            if isinstance(one, StopIteration):  # of a user's own rule; no future can have it
                job.future.set_exception(RuntimeError(repr(one)))
            elif isinstance(one, Exception):
                job.future.set_exception(one)
            else:
                job.future.set_result(one)
