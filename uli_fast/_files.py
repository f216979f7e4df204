"""What a disk refuses, as a typed error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from uli_fast.errors import ResultsError


@contextlib.contextmanager
def refused(folder: Path) -> Iterator[None]:
    """Turn what a disk refuses into a typed error."""
    try:
        yield
    except OSError as problem:
        said = problem.strerror or problem
        raise ResultsError(f"{folder}: {said}; what was there is intact") from problem
