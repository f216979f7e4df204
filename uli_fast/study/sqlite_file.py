"""The SQLite file of a study: how it is told from others, opened, and begun."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from uli_fast.errors import StudyError
from uli_fast.study.events import SCHEMA, Event

APPLICATION = 0x756C6931  # "uli1" in the header tells a study from other SQLite files
FORMAT = 3  # other versions refuse it by this number
LONGEST = 2**24  # bytes of a row, so that a hostile file cannot take all memory
INSERT = f"INSERT INTO event VALUES ({','.join('?' * len(Event._fields))})"


def connected(path: Path | str) -> sqlite3.Connection:
    """Open a file, or ":memory:", without reading it yet."""
    if sqlite3.sqlite_version_info < (3, 37):
        raise StudyError(f"SQLite {sqlite3.sqlite_version} has no strict tables: 3.37 is needed")
    # Transactions are explicit, and a lock that is taken is an answer, not a reason to wait.
    connection = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    return connection


def first_state(event: Event) -> bytes:
    """Return the file of a study that has one event, and is made for a log."""
    with contextlib.closing(connected(":memory:")) as connection:
        run = connection.execute
        for statement in SCHEMA:
            run(statement)
        run(f"PRAGMA application_id={APPLICATION}")
        run(f"PRAGMA user_version={FORMAT}")
        run(INSERT, event)
        whole = bytearray(connection.serialize())
    whole[18:20] = b"\2\2"  # sqlite.org/fileformat2.html, section 1.3.3: to be used with a log
    return bytes(whole)
