"""Whether a file that only we write to is still as we left it.

A name that leads elsewhere shows in the inode. A file that is written over in place (``cp`` of a
backup, under an open study) keeps its inode, and SQLite, which has it locked, does not look again:
it shows in the size and in the time of the last write. One look at the name tells all three.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import NamedTuple

from uli_fast._support.files import Inode


class Stamp(NamedTuple):
    """What a look at a file tells."""

    inode: Inode
    size: int
    written: int  # ns


class OwnFile:
    """A file of ours; ``left`` is None as long as it is not known how it was left."""

    def __init__(self, at: str) -> None:
        self.at = at
        self.left: Stamp | None = None

    def now(self) -> Stamp | None:
        """Look at it; None if there is nothing."""
        try:
            found = os.stat(self.at)
        except OSError:
            return None
        return Stamp((found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns)

    def changed(self, now: Stamp | None) -> bool:
        """Return whether others have written to it: to this very file, not to its name."""
        left = self.left
        if left is None or now is None:
            return False
        return now != left and now.inode == left.inode


def let_go(connection: sqlite3.Connection, file: OwnFile) -> None:
    """Close a connection, which merges the log into the file; not into what others wrote there."""
    if file.changed(file.now()):
        with contextlib.suppress(sqlite3.ProgrammingError):  # it is closed already
            connection.interrupt()  # a checkpoint stops before its first page, and the log stays
    else:
        file.left = None  # closing writes to it
    connection.close()
