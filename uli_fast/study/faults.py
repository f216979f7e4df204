"""Crash tests: ``ULI_FAULT="tell-written:3"`` ends the process at the third pass of a point.

The points are ``{create,ask,tell,missing,block,many,closed,snapshot}-{begun,written,committed}``:
before the transaction, inside it, and after its commit but before the answer. ``many`` is that of
several events at once, ``closed`` that of windows; ``written`` is passed after each of them.
"""

from __future__ import annotations

import os
from collections import Counter

from uli_fast.errors import StudyError

POINTS = tuple(
    f"{kind}-{where}"
    for kind in ("create", "ask", "tell", "missing", "block", "many", "closed", "snapshot")
    for where in ("begun", "written", "committed")
)
_passes: Counter[str] = Counter()


def fault_point() -> tuple[str, int] | None:
    """Return where ULI_FAULT wants the process to end, and at which pass."""
    wanted = os.environ.get("ULI_FAULT", "")
    if not wanted:
        return None
    name, colon, times = wanted.partition(":")
    if name not in POINTS or (colon and not (times.isascii() and times.isdigit() and int(times))):
        raise StudyError(
            f"ULI_FAULT must be a point and a pass, such as {POINTS[0]}:3, got {wanted!r}"
        )
    return name, int(times or 1)


def fault(point: str) -> None:
    """End the process here, as a crash would, if ULI_FAULT says so."""
    wanted = fault_point()
    if wanted is not None and wanted[0] == point:
        _passes[point] += 1
        if _passes[point] == wanted[1]:
            os._exit(137)  # what a shell reports of SIGKILL; nothing is cleaned up
