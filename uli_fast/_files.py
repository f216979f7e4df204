"""Files that are whole or not there, on the disk before anybody relies on them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from uli_fast.errors import ResultsError


@contextlib.contextmanager
def refused(folder: Path) -> Iterator[None]:
    """Turn what a disk refuses into a typed error."""
    try:
        yield
    except OSError as problem:
        said = problem.strerror or problem
        raise ResultsError(f"{folder}: {said}; what was there is intact") from problem


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, and make sure that they are on the disk."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def write_text(path: Path, text: str) -> None:
    """Write a small file whole or not at all, and make sure that it is on the disk."""
    handle, part = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            flush(file)
        os.chmod(part, 0o644)
        os.replace(part, path)
        flush_folder(path.parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def flush(file: IO[Any]) -> None:
    """Wait until a file is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
