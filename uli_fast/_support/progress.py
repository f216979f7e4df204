"""Long work in chunks of about a second, and a bar that appears when the wait is worth one."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from uli_fast._support import clock

# Seconds before a bar appears.
PATIENCE = 1.0
# A chunk of a kernel takes between these two times, in seconds, once the budget has settled.
SHORT_CHUNK, LONG_CHUNK = 0.25, 1.0
# A learner that stops at the end of each phase may never be slow enough to stop this growing.
LARGEST_BUDGET = 1 << 40


class ChunkBudget:
    """Finds the steps of a kernel that take about half a second, and adds up what they take."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.seconds = 0.0

    def chunk(self, advance: Callable[[int], bool]) -> bool:
        """Let a run advance by the budget; return whether it says that it is done."""
        begun = clock.now()
        done = advance(self.budget)
        spent = clock.now() - begun
        self.seconds += spent
        if spent > LONG_CHUNK:
            self.budget = max(1, self.budget // 2)
        elif spent < SHORT_CHUNK and not done:
            self.budget = min(2 * self.budget, LARGEST_BUDGET)
        return done


class Progress:
    """Collects the fraction done of each task and passes the mean on."""

    def __init__(self, tasks: int, show: Callable[[float], None] | None) -> None:
        self.tasks = tasks
        self._show = show
        self._done = 0
        self._running: dict[int, float] = {}
        self._lock = threading.Lock()

    def report(self, task: int, fraction: float) -> None:
        """Take note that a task is done to a fraction."""
        if self._show is None:
            return
        with self._lock:
            if fraction >= 1.0:
                self._running.pop(task, None)
                self._done += 1
            else:
                self._running[task] = fraction
            self._show((self._done + sum(self._running.values())) / self.tasks)


@contextmanager
def progress_bar(progress: bool | Callable[[float], None] | None, tasks: int) -> Iterator[Progress]:
    """Yield a Progress: a bar, a user's function, or nothing."""
    if callable(progress):
        yield Progress(tasks, progress)
    elif progress or (progress is None and sys.stderr is not None and sys.stderr.isatty()):
        bar = _Bar(0.0 if progress else PATIENCE)
        try:
            with _told_of_compiling(bar):
                yield Progress(tasks, bar.show)
        finally:
            bar.close()
    else:
        yield Progress(tasks, None)


@contextmanager
def _told_of_compiling(bar: _Bar) -> Iterator[None]:
    """Let a bar say so while kernels are compiled."""
    from numba.core import event

    class CompileListener(event.Listener):  # type: ignore[misc]
        depth = 0  # kernels compile those they call

        def on_start(self, event: object) -> None:
            self.depth += 1
            bar.do("compiling")

        def on_end(self, event: object) -> None:
            self.depth -= 1
            bar.do("compiling" if self.depth else "simulating")

    with event.install_listener("numba:compile", CompileListener()):
        yield


class _Bar:
    """A rich progress bar on stderr, begun after a while."""

    def __init__(self, patience: float) -> None:
        self._visible_from = time.monotonic() + patience
        self._bar: object | None = None
        self._doing, self._fraction = "simulating", 0.0

    def show(self, fraction: float) -> None:
        """Show how much is done."""
        self._fraction = fraction
        self._draw()

    def do(self, doing: str) -> None:
        """Show what is done."""
        if doing != self._doing or self._bar is None:
            self._doing = doing
            self._draw()

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        if self._bar is None and time.monotonic() >= self._visible_from:
            columns = (
                TextColumn("{task.fields[doing]}"),
                BarColumn(),
                TextColumn("{task.description}"),
            )
            console = Console(stderr=True)
            self._bar = RichProgress(*columns, console=console, transient=console.is_terminal)
            self._task = self._bar.add_task("", total=1.0, doing=self._doing)
            self._bar.start()
        if isinstance(self._bar, RichProgress):
            left, fraction = self._bar.tasks[0].time_remaining, self._fraction
            said = percentage(fraction) + ("" if left is None else f", {duration(left)} left")
            done = {"completed": fraction, "description": said, "doing": self._doing}
            self._bar.update(self._task, **done)  # type: ignore[arg-type]

    def close(self) -> None:
        from rich.progress import Progress as RichProgress

        if isinstance(self._bar, RichProgress):
            self._bar.stop()


def percentage(fraction: float) -> str:
    """Return a fraction as a percentage; a tiny one is never shown as 0."""
    percent = 100.0 * fraction
    return f"{percent:.0f} %" if percent >= 1.0 or percent == 0.0 else f"{percent:.2g} %"


def duration(seconds: float) -> str:
    """Return a time in words, up to centuries."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    if hours < 48:
        return f"{hours:.1f} h"
    return f"{hours / 24:.0f} days" if hours < 24 * 730 else f"{hours / 8766:,.0f} years"
