"""The time spent playing: a clock per thread that stops while the thread compiles kernels.

The first call of a kernel compiles it, or loads it from the disk, which takes seconds and has
nothing to do with how fast a learner plays. Numba reports both, and also waiting for
another thread that compiles: they happen under its compiler lock.
"""

from __future__ import annotations

import functools
import threading
import time
from typing import Any


class _Compiling(threading.local):
    """What the current thread has spent on kernels that were not ready."""

    depth = 0  # compiling a kernel compiles what it calls
    begun = 0.0
    seconds = 0.0


_compiling = _Compiling()


def now() -> float:
    """Return seconds on the clock of this thread; only differences are meaningful."""
    _listen()
    return time.perf_counter() - _compiling.seconds


@functools.cache  # once in a process
def _listen() -> None:
    import numba
    import numpy as np
    from numba.core import entrypoints, event

    class Listener(event.Listener):  # type: ignore[misc]  # numba has no types
        def on_start(self, event: Any) -> None:
            if _compiling.depth == 0:
                _compiling.begun = time.perf_counter()
            _compiling.depth += 1

        def on_end(self, event: Any) -> None:
            _compiling.depth = max(0, _compiling.depth - 1)  # one may have begun before
            if _compiling.depth == 0:
                _compiling.seconds += time.perf_counter() - _compiling.begun

    event.register("numba:compiler_lock", Listener())
    # What the first call of any kernel does before it reaches the lock: about 50 ms.
    entrypoints.init_all()
    numba.typeof((np.zeros(1), np.random.default_rng(0)))
