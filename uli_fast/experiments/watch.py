"""How far parts have come while they are played, and how long a slow first one will take.

A learner that cannot skip (UCB on equal arms) may take years to 10^18 rounds: that should be said
while its first replication is played, not after it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from uli_fast._support import clock
from uli_fast._support.progress import duration, percentage
from uli_fast._support.text import label

if TYPE_CHECKING:
    from uli_fast.experiments.running import Part

# Seconds of playing after which the pace of a first replication is told, and again after twice
# as many.
SLOW = 10.0
# Seconds between two reports of a part.
OFTEN = 0.2
# Seconds after which replications that are played out of sight are tried here, and for
# how long each.
UNSEEN, TRIAL = 10.0, 3.0


class PartWatch:
    """Follows the parts of an experiment as threads of this process play them.

    Another process gets a copy that says nothing. What is slow there is tried here, for a while.
    """

    def __init__(
        self, whole: int, report: Callable[[float], None], say: Callable[[str], None]
    ) -> None:
        self._whole, self._report, self._say = whole, report, say
        self._lock = threading.Lock()
        self._done = 0
        self._running: dict[tuple[str, int], float] = {}  # replications' worth, by part
        self._measured: set[str] = set()  # cells of which a replication is done
        self._here = False  # whether parts are played in this process

    def __reduce__(self) -> Any:
        return Unwatched, ()

    def follow(self, part: Part) -> Callable[[float], None]:
        """Return what the thread that plays a part tells its fraction done."""
        key, begun = (part.cell.id, part.first), clock.now()
        again, next_told = begun, SLOW
        self._here = True

        def note(fraction: float) -> None:
            nonlocal again, next_told
            now = clock.now()
            if now < again or fraction >= 1.0:
                return
            again = now + OFTEN
            with self._lock:
                self._running[key] = fraction * part.size
                self._show()
            if now - begun >= next_told and part.cell.id not in self._measured:
                next_told = 2.0 * (now - begun)
                self._tell(part, fraction, now - begun)

        return note

    def finished(self, part: Part) -> None:
        """Take note that a part is done and kept."""
        with self._lock:
            self._running.pop((part.cell.id, part.first), None)
            self._measured.add(part.cell.id)
            self._done += part.size
            self._show()

    @contextmanager
    def trying(self, parts: Sequence[Part]) -> Iterator[None]:
        """Try first replications here if they are played elsewhere and none comes back."""
        over = threading.Event()
        first = [part for part in parts if part.cell.id not in self._measured]
        threading.Thread(target=self._try, args=(first, over), daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def _try(self, parts: Sequence[Part], over: threading.Event) -> None:
        if over.wait(UNSEEN) or self._here:
            return
        for part in parts:
            if not over.is_set() and part.cell.id not in self._measured:
                found = tried(part, over)
                if found is not None and not over.is_set():
                    self._tell(part, *found, "tried here, ")

    def _show(self) -> None:
        self._report((self._done + sum(self._running.values())) / self._whole)

    def _tell(self, part: Part, fraction: float, seconds: float, how: str = "") -> None:
        if fraction > 0.0:
            cell = f"{label(part.cell.learner)} on {label(part.cell.problem)}"
            self._say(
                f"{cell}: {how}{percentage(fraction)} of a replication after {duration(seconds)}, "
                f"at this pace {duration(seconds / fraction)} for each"
            )


class Unwatched:
    """Takes the place of a Watch in another process."""

    def follow(self, part: Part) -> bool:
        """Return False: nothing is to be told."""
        return False


class _EnoughError(Exception):
    """The trial has taken its time."""


def tried(part: Part, over: threading.Event) -> tuple[float, float] | None:
    """Return the fraction of a part that is played in some seconds, and the seconds it took.

    None where it was done before, or cannot be told: what fails here will fail in the run too.
    """
    from uli_fast.experiments.running import simulated

    begun, latest = clock.now(), (0.0, 0.0)

    def note(fraction: float) -> None:
        nonlocal latest
        latest = fraction, clock.now() - begun
        if latest[1] > TRIAL or over.is_set():
            raise _EnoughError

    try:
        simulated(part._replace(size=1), note)
    except _EnoughError:
        return latest
    except Exception:
        return None
    return None
