"""Copies of a study's file and its log, made while another process may be writing to them."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

from uli_fast.study.leftovers import check_regular, log_of

LOG_HEADER = 32  # bytes with which every log of SQLite begins


def epoch(path: Path) -> Any:
    """Return what stays the same for as long as a file and its log may be copied one by one.

    With a log, that is its header. The log only grows, and what a checkpoint writes to the file
    is in it until SQLite starts it again, under another header: until then any state of the file
    with any later state of the log is what was committed by then. A frame that is copied in part
    does not have its checksum, and ends the log. Without a log nothing may be written at all.
    """
    stamps = _stamps(path)
    with contextlib.suppress(FileNotFoundError), open(log_of(path), "rb") as log:
        header = log.read(LOG_HEADER)
        if len(header) == LOG_HEADER:
            return stamps[path][0], os.fstat(log.fileno()).st_ino, header
    return stamps


def copied(path: Path, copy: Path) -> None:
    """Copy a file and then its log: whatever is in the file by a checkpoint must be in the log."""
    for file, suffix in zip(_stamps(path), ("", "-wal"), strict=False):
        shutil.copyfile(file, f"{copy}{suffix}")


def _stamps(path: Path) -> dict[Path, tuple[int, int, int]]:
    """Return what changes when the file or its log is written to."""
    stamps = {}
    for file in (path, Path(log_of(path))):
        try:
            stat = file.stat()
        except FileNotFoundError:
            if file is path:
                raise
            continue
        check_regular(file)
        stamps[file] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    return stamps
