"""What lies on the disk where a study is to be opened, and what of it is refused."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from stat import S_ISREG

from uli_fast.errors import StudyError, StudyLockedError, StudyWriteError
from uli_fast.study.events import Event, digest
from uli_fast.study.wal_check import damage, pages_committed

HEADER = 100  # bytes with which every SQLite file begins
OTHER_TIME = (
    "from another time, as when one of two is restored: put back the file that the log was "
    "written with, or move the log away to go on from the file alone"
)
# In the names of errors that are about writing.
_REFUSED = ("FULL", "READONLY", "CANTOPEN", "WRITE", "FSYNC", "TRUNCATE")


def log_of(path: Path) -> str:
    """Return where SQLite keeps the log of a file."""
    return f"{os.path.realpath(path)}-wal"  # SQLite follows links


def size_of(path: str | Path) -> int:
    """Return the size of a file, 0 where there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def check_remains(path: Path, named: Path) -> None:
    """Refuse what SQLite would take for the beginning of a new study: it would write over it.

    It deletes a log without its file, too. A beginning that was killed leaves no log.
    """
    check_no_journal(path, named)
    check_regular(Path(log_of(path)))
    log, size = size_of(log_of(path)), size_of(path)
    if log and size < HEADER:
        raise StudyError(
            f"{named} is damaged: its log, {named.name}-wal, is there, but the file is gone or "
            "empty; nothing was changed"
        )
    if 0 < size < HEADER:
        raise StudyError(f"{named} is damaged or not a study: it has {size} bytes")


def check_no_journal(path: Path, named: Path) -> None:
    """Refuse a rollback journal, which is never a study's own.

    SQLite would write its pages over the study, and delete any file whose name it holds.
    """
    if os.path.lexists(f"{os.path.realpath(path)}-journal"):
        raise StudyError(
            f"{named}: a rollback journal lies beside it, {named.name}-journal. It is not the "
            "study's own, which has none: another file of this name left it, or somebody put it "
            "there. Nothing was changed; move it away and open the study again"
        )


def check_regular(file: Path) -> None:
    """Refuse a pipe, a device or a folder in place of a file: reading might never end."""
    try:
        mode = file.stat().st_mode
    except OSError:
        return
    if not S_ISREG(mode):
        raise StudyError(f"{file} is not a regular file")


def check_one_name(path: Path, named: Path) -> None:
    """Refuse a file with a second name: its log, and so its last events, belong to one of them."""
    try:
        names = os.stat(path).st_nlink
    except OSError:
        return
    if names > 1:
        raise StudyError(
            f"{named} has {names} names (hard links), and the log of a study belongs to one of "
            f"them: keep the name that {named.name}-wal would go with, and make copies instead"
        )


def check_log(log: str, named: Path) -> None:
    """Refuse a log of which SQLite would silently pass over more than a torn end."""
    found = damage(log)
    if found:
        raise StudyError(
            f"{named} is damaged: in its log, {named.name}-wal, {found}; nothing was changed"
        )


def check_together(
    copy: Path, named: Path, pages: int, last: int, hash_of: Callable[[int], str | None]
) -> None:
    """Refuse a file and a log of different times; given what they are, taken together.

    Whatever a crash leaves, the last commit says how many pages there are, as does the first page;
    and what a checkpoint has brought to the file is in the log as well.
    """
    committed, alone = pages_committed(f"{copy}-wal"), _last_in_file(copy)
    if committed not in (0, pages):
        said = f"the log was written for a file of {committed} pages, and this one has {pages}"
    elif alone and alone.sequence > last:
        said = f"the file goes on to event {alone.sequence}, and with its log to event {last} only"
    elif alone and hash_of(alone.sequence) != alone.hash:
        said = f"with its log, event {alone.sequence} is not the one that the file has"
    else:
        return
    raise StudyError(
        f"{named} and its log, {named.name}-wal, do not belong together: {said}; nothing was "
        f"changed. One of them is {OTHER_TIME}"
    )


def _last_in_file(copy: Path) -> Event | None:
    """Return the last event in a file without its log; None if it cannot be read so.

    A checkpoint that was cut short leaves a file that makes sense with its log only: what is not
    an event with its hash is nothing that was recorded.
    """
    try:
        address = f"{copy.absolute().as_uri()}?mode=ro&immutable=1"  # no log is looked for
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            last = "SELECT * FROM event ORDER BY sequence DESC LIMIT 1"
            event = Event(*connection.execute(last).fetchone())
            return event if digest(event) == event.hash else None
    except (sqlite3.Error, TypeError, ValueError):
        return None


def sealed(path: Path) -> bool:
    """Return whether a file is marked read-only, even for those who may write to any."""
    try:
        return not path.stat().st_mode & 0o222
    except OSError:
        return False


@contextlib.contextmanager
def refused(path: Path, writing: bool = False) -> Iterator[None]:
    """Turn what SQLite or the disk refuses into a typed error."""
    try:
        yield
    except sqlite3.Error as problem:
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            # SQLite does not tell a lock that is taken from a file system that has none.
            raise StudyLockedError(
                f"{path} is open in another process or study, or on a file system without locks"
            ) from problem
        name = getattr(problem, "sqlite_errorname", "SQLite")  # SQLITE_IOERR_WRITE, for one
        said = f"{problem} ({name})"
        if writing or any(word in name for word in _REFUSED):
            raise StudyWriteError(
                f"{path} cannot be written: {said}; all that was acknowledged is in it"
            ) from problem
        raise StudyError(f"{path} is damaged or cannot be read: {said}") from problem
    except UnicodeError as problem:  # SQLite quotes a garbled schema in its message
        raise StudyError(f"{path} is damaged: {problem}") from problem
    except OSError as problem:
        kind = StudyWriteError if writing else StudyError
        raise kind(f"{path}: {problem.strerror or problem}") from problem
