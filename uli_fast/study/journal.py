"""The journal of a live study: one SQLite file, to which events are only ever added.

Every event carries the hash of the one before, so that nothing can be changed or taken out
unnoticed. One connection holds an exclusive lock for as long as the study is open; an event is
on the disk (WAL, synchronous=FULL) before whoever asked for it hears of it. A killed process
leaves nothing to wait for: the operating system drops its locks, and SQLite drops what was not
committed.

SQLite's lock goes when the process closes any handle of the file, as a copy made by the driving
program does. A lock file beside it, ``-lock``, has a lock that stays.

SQLite's lock and the log belong to the file, not to its name: whoever moves, replaces or deletes
it under an open study makes its next write fail, and nothing is acknowledged that the name does
not lead to. So does whoever writes to the file in place (watch.py): SQLite writes to it in
checkpoints alone, which are made here, one at a time, so that every other change is somebody
else's. The log is then neither merged nor deleted. A connection that a fork has copied is never
closed in the child, which would take the log away from the parent.

Closing merges the log into the file and deletes it, and SQLite deletes a log without a file. So a
log that a killed process left is first judged (wal_check.py) and read with a copy of its file:
what is refused is left as it was, and may be mended. A study begins in the file itself, not in a
log: a log that holds anything belongs to one that has begun. Neither does a log belong to a second
name of the file (a hard link), under which its last events would be missing.

The file appears whole, under its name, with its first event and made for a log. So a rollback
journal (``-journal``) is never a study's own. SQLite would play it back, and delete whatever file
it names: none is let near it.

Nothing that is kept in memory about the file outlives a write that was refused or interrupted:
it is marked as unknown before the write, and looked up afterwards.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from uli_fast import __version__
from uli_fast._support.files import Inode, LockFile, write_whole
from uli_fast._support.files import inode as _inode
from uli_fast._support.versions import other_format
from uli_fast.errors import StudyError, StudyLockedError, StudyWriteError
from uli_fast.study.copies import copied, epoch
from uli_fast.study.events import GENESIS, SCHEMA, Event, NewEvent, chained, digest
from uli_fast.study.faults import fault
from uli_fast.study.leftovers import (
    OTHER_TIME,
    check_log,
    check_no_journal,
    check_one_name,
    check_remains,
    check_together,
    log_of,
    refused,
    sealed,
    size_of,
)
from uli_fast.study.reader import JournalReader
from uli_fast.study.snapshots import KEPT, Snapshot
from uli_fast.study.sqlite_file import (
    APPLICATION,
    FORMAT,
    INSERT,
    LONGEST,
    connected,
    first_state,
)
from uli_fast.study.wal_check import damage
from uli_fast.study.watch import OwnFile, Stamp, let_go

__all__ = ["GENESIS", "SCHEMA", "Event", "Journal", "digest", "read_events"]

PAGE = 4096  # bytes, as SQLite makes them
CHECKPOINT = 1000  # pages of the log, about, after which they are merged into the file
TRIES, PAUSE = 20, 0.05  # of reading a file that is being written to; seconds in between
# Files that were open in this process's parent when it was forked.
_inherited: set[Inode] = set()
_journals: weakref.WeakSet[Journal] = weakref.WeakSet()


class Journal(JournalReader):
    """The open file."""

    shared = False  # nobody else can add to it

    def __init__(self, path: Path, named: Path | None = None) -> None:
        self.path = named or path  # in errors
        self._connection: sqlite3.Connection | None = None
        self._end: weakref.finalize[..., Journal] | None = None
        self._lock: LockFile | None = None
        self.closing = False  # let go of, or interrupted while it was
        self._mine = False  # whether it is this study's to take away: locked, and was not there
        self._at = os.path.abspath(path)  # the working folder may change
        self._log = log_of(path)
        # As they were after our last write; unknown if that may have failed.
        self._file, self._log_file = OwnFile(self._at), OwnFile(self._log)
        self._pages = 0  # written to the log since the last checkpoint, about
        self._lost = ""  # what others have done to the file, for good
        self._key, self._log_key = _inode(self._at), _inode(self._log)
        self._made = self._key is None  # by this very opening; nobody else's if it is empty
        _journals.add(self)
        try:
            self._open(path, copied=named is not None)
        except BaseException:
            self._let_go()
            raise

    def _open(self, path: Path, copied: bool) -> None:
        if self._key in _inherited:
            raise StudyLockedError(
                f"{self.path} was open when this process was forked: open it after forking"
            )
        if self._key is not None and (sealed(path) or not os.access(path, os.W_OK)):
            raise StudyWriteError(f"{self.path} is read-only; Study.read looks at it")
        with refused(self.path, writing=True):
            self._lock = LockFile.taken(f"{os.path.realpath(path)}-lock")
        if self._lock is None:
            raise StudyLockedError(f"{self.path} is open in another process or study")
        check_one_name(path, self.path)
        check_remains(path, self.path)
        with refused(self.path):
            if not copied and size_of(self._log):
                self._check_with_log(path)
            if size_of(path):
                self._connect(path)
            else:  # SQLite would begin to write
                self._mine = self._made

    def _look(self) -> None:
        """Remember which files these are, and how the log was found."""
        self._key, self._log_key = _inode(self._at), _inode(self._log)
        # What a killed process left in the log, beyond its end, could look like damage later.
        self._log_file.left = None if size_of(self._log) else self._log_file.now()

    def _check_with_log(self, path: Path) -> None:
        """Refuse what SQLite would silently cut down, before it touches it."""
        check_log(self._log, self.path)
        # Beside the file: there is room for it, if anywhere, and a place that can be written to.
        beside = Path(self._at).parent
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=beside) as folder:
            copy = Path(folder) / "study"
            copied(path, copy)
            if not _is_sound(copy, self.path):
                raise StudyError(
                    f"{self.path} is damaged: its log, {self.path.name}-wal, is there, but no "
                    "study that it could belong to; nothing was changed"
                )

    def _connect(self, path: Path) -> None:
        self._file.left = self._file.now()  # before it is read
        self._connection = connected(path)
        # A journal that is dropped would otherwise be closed at garbage collection: too late.
        self._end = weakref.finalize(self, let_go, self._connection, self._file)
        self._prepare()
        self._look()

    def _prepare(self) -> None:
        """Take the lock, refuse a file that is something else, and make every commit durable."""
        run = self._run
        run("PRAGMA trusted_schema=OFF")
        run("PRAGMA cell_size_check=ON")
        run("PRAGMA locking_mode=EXCLUSIVE")  # before the first read: no shared memory is used
        run("BEGIN EXCLUSIVE")
        application, tables = (
            run("PRAGMA application_id")[0][0],
            run("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"),
        )
        number = run("PRAGMA user_version")[0][0]
        run("COMMIT")
        if (application, number, tables) == (0, 0, []):
            return  # create() begins a study here
        if application != APPLICATION:
            raise StudyError(f"{self.path} is not a study")
        if number != FORMAT:
            said = other_format("format", number, FORMAT, "begin a new study under another path")
            raise StudyError(f"{self.path} {said}")
        if sorted(sql for (sql,) in tables) != sorted(SCHEMA):
            raise StudyError(f"{self.path} is damaged: its tables are not those of a study")
        found = run("PRAGMA integrity_check(1)")[0][0]
        if found != "ok":
            said = found.removeprefix("*** in database main ***\n").replace("\n", "; ")
            raise StudyError(f"{self.path} is damaged: {said}")
        self._use_log()

    def _use_log(self) -> None:
        if self._run("PRAGMA journal_mode=WAL")[0][0] != "wal":
            raise StudyError(f"{self.path}: this file system cannot hold a write-ahead log")
        self._run("PRAGMA synchronous=FULL")
        self._run("PRAGMA fullfsync=ON")  # macOS: fsync alone does not reach the disk
        self._run("PRAGMA wal_autocheckpoint=0")  # ours are made between two looks at the file

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the oldest."""
        if len(snapshot.content) > LONGEST // 2:
            return
        with self._writing("snapshot", [snapshot.content]):
            self._run("INSERT OR REPLACE INTO snapshot VALUES (?,?,?)", snapshot)
            last = f"SELECT sequence FROM snapshot ORDER BY sequence DESC LIMIT {KEPT}"
            self._run(f"DELETE FROM snapshot WHERE sequence NOT IN ({last})")
            fault("snapshot-written")

    @property
    def empty(self) -> bool:
        """Whether nothing has been recorded yet: a new file, or one whose creator was killed."""
        with refused(self.path):
            return self._end is None or not self._run("SELECT 1 FROM sqlite_master LIMIT 1")

    def extent(self) -> tuple[int, int]:
        """Return how many pages there are, and the number of the last event."""
        with refused(self.path):
            last = 0 if self.empty else self._run("SELECT max(sequence) FROM event")[0][0]
            return self._run("PRAGMA page_count")[0][0], last or 0

    def hash_of(self, sequence: int) -> str | None:
        """Return the hash of an event, None if there is no such event."""
        with refused(self.path):
            found = self._run("SELECT hash FROM event WHERE sequence = ?", (sequence,))
            return found[0][0] if found else None

    def create(self, content: Mapping[str, Any]) -> bool:
        """Put a file in place of the empty one: with its tables, and what the study is."""
        fault("create-begun")
        self._check_place()
        (event,) = chained(None, [NewEvent("create", None, None, content)], __version__)
        with refused(self.path, writing=True):
            whole = first_state(event)
            fault("create-written")
            self._disconnect()
            os.close(os.open(self._at, os.O_WRONLY | os.O_CREAT, 0o644))  # for its rights
            write_whole(Path(os.path.realpath(self._at)), whole, os.stat(self._at).st_mode & 0o777)
            self._connect(Path(self._at))
        fault("create-committed")
        return True  # nobody else was first: the file is locked

    def add(self, last: Event, *entry: Any) -> Event:
        """Add an event after the last one; it is on the disk when this returns."""
        event = NewEvent(*entry)
        return self.add_many(last, [event], event.kind)[0]

    def add_many(
        self, last: Event | None, entries: Sequence[NewEvent], point: str = "many"
    ) -> list[Event]:
        """Add events after the last one, all or none; all are on the disk when this returns.

        ``point`` is what crash tests call it.
        """
        events = chained(last, entries, __version__)
        with self._writing(point, [event.payload for event in events]):
            for event in events:
                self._run(INSERT, event)
                fault(f"{point}-written")
        return events

    @contextlib.contextmanager
    def _writing(self, point: str, texts: Sequence[str]) -> Iterator[None]:
        """Commit rows with these texts, all or none; they are on the disk when this ends."""
        fault(f"{point}-begun")
        self._check_log(self._check_place())
        self._log_file.left = None  # unknown until this is over, whatever refuses or interrupts it
        with refused(self.path, writing=True):
            try:
                self._run("BEGIN IMMEDIATE")
                yield
                self._run("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # the first error is what matters
                    self._roll_back()
                raise
        self._log_file.left = self._check_place()  # it may have happened meanwhile
        self._pages += 1 + sum(2 + len(text) // PAGE for text in texts)
        if self._pages >= CHECKPOINT:
            self._merge("PASSIVE")
        fault(f"{point}-committed")

    def _roll_back(self) -> None:
        if self._connected().in_transaction:
            self._connected().rollback()

    def _check_log(self, now: Stamp | None) -> None:
        """Refuse to go on where others write, too; after a failed write, start the log again.

        What a failed write has left in it, beyond its end, could look like damage.
        """
        if self._log_file.left is None:
            with contextlib.suppress(sqlite3.Error):  # the write will tell
                self._roll_back()
            self._merge("TRUNCATE")
        elif now != self._log_file.left:
            raise StudyWriteError(
                f"{self.path}: somebody else has written to its log while it was open; "
                "the new event was not recorded"
            )

    def _merge(self, how: str) -> None:
        """Write what is in the log to the file; if that fails, the log has it."""
        self._file.left = None
        try:
            with contextlib.suppress(sqlite3.Error):
                self._run(f"PRAGMA wal_checkpoint({how})")
                self._pages = 0
        finally:
            self._file.left = self._file.now()

    def close(self) -> None:
        """Let go of the file; an error if its name does not lead to it any more."""
        try:
            if not self.closing:
                self._check_place()
        finally:
            self.closing = True  # from here on the log may be gone
            self._let_go()

    @property
    def closed(self) -> bool:
        """Whether nothing of the file is held any more."""
        return self._lock is None

    def _let_go(self) -> None:
        """Close and unlock; what was interrupted may be done again."""
        try:
            self._disconnect()
        finally:
            if self._lock is not None and self._connection is None:
                self._lock.release()
                self._lock = None

    def _disconnect(self) -> None:
        if self._connection is not None:
            with refused(self.path):
                # SQLite leaves the log alone if the file is not where it was.
                let_go(self._connection, self._file)
            if self._end is not None:
                self._end.detach()
            self._connection = None

    def give_up(self) -> None:
        """Let go of a file that could not be opened, and leave nothing of a failed beginning."""
        self._remove()
        with contextlib.suppress(StudyError):  # what made it fail matters more
            self.close()

    def _remove(self) -> None:
        if self._mine:  # while it is locked: nobody else has begun to use it
            # The file last: a log without one would look like a study that was lost.
            for name in (self._log, self._at):
                with contextlib.suppress(OSError):
                    os.unlink(name)

    def check(self) -> None:
        """Refuse to acknowledge again what is not where it was recorded."""
        self._check_place()

    def _check_place(self) -> Stamp | None:
        """Refuse to go on with a file that is not, or not wholly, what and where it was left.

        Return how the log is now.
        """
        file, log = self._file.now(), self._log_file.now()
        if self._log_key is None and log is not None:
            self._log_key = log.inode  # it is made by the first write
        keys = (x and x.inode for x in (file, log))
        if (*keys,) != (self._key, self._log_key) or not (self._lock and self._lock.there):
            raise StudyWriteError(
                f"{self.path}: the file, its log or its lock was moved, replaced or deleted while "
                "it was open; the new event was not recorded"
            )
        if self._file.changed(file):
            self._lose()
        if self._lost:
            raise StudyWriteError(self._lost)
        return log

    def _lose(self) -> None:
        """Keep away from a file that others have written to, and from its log."""
        self._lost = (
            f"{self.path}: somebody else has written to the file, or copied another over it, while "
            "it was open; nothing is recorded any more. What was acknowledged since it was opened "
            f"may be in its log alone, {self.path.name}-wal, which was left as it is: close the "
            "study, keep a copy of both, and put back a file that goes with the log, or a backup "
            "without it"
        )
        self._disconnect()

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StudyWriteError(self._lost or f"{self.path} is closed")
        return self._connection

    def _run(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return self._connected().execute(sql, values).fetchall()


def _after_fork() -> None:
    """Leave the parent's connections alone, for ever.

    Closing one, as the interpreter would at its end, would write back and delete the log that the
    parent is writing to. A reference too many keeps them from ever being closed.
    """
    for journal in list(_journals):
        if journal._lock is not None:
            journal._lock.leave()
        if journal._end is not None:
            journal._end.detach()
        if journal._connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(journal._connection))
            if journal._key is not None:
                _inherited.add(journal._key)
    _journals.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def read_events(path: Path) -> list[Event]:
    """Read the events of a journal without touching it."""
    return read_journal(path)[0]


def read_journal(path: Path) -> tuple[list[Event], list[Snapshot]]:
    """Read events and snapshots without touching the file, even while it is in use: from a copy.

    Not in a process that has it open itself: closing a second handle on the file would drop the
    lock of the first.
    """
    if _open_here(_inode(str(path))):
        raise StudyLockedError(f"{path} is open in this process: ask the study itself")
    check_one_name(path, path)
    check_no_journal(path, path)
    damaged = ""
    for _ in range(TRIES):
        whole = False
        try:
            with tempfile.TemporaryDirectory() as folder:
                copy, before = Path(folder) / "study", epoch(path)
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile: its log is gone
                    copied(path, copy)
                    whole = epoch(path) == before
                # Frames may be written while others are copied: damage is there the next time.
                last, damaged = damaged, damage(f"{copy}-wal") if size_of(f"{copy}-wal") else ""
                if damaged and damaged == last:
                    check_log(f"{copy}-wal", path)
                if whole and not damaged:
                    return _read_copy(copy, path)
        except OSError as problem:
            where = tempfile.tempdir or "a folder for temporary files"
            raise StudyError(
                f"{path} cannot be read: {problem.strerror or problem}; that is done from a copy "
                f"in {where} (TMPDIR says where)"
            ) from problem
        time.sleep(PAUSE)
    raise StudyLockedError(f"{path} changes all the time: try again")


def _open_here(key: Inode | None) -> bool:
    """Return whether a file is open in this process."""
    return any(j._key == key and j._connection is not None for j in list(_journals))


def _is_sound(copy: Path, path: Path) -> bool:
    """Return whether there is a study in a copy; refuse a damaged one, as opening would."""
    with _opened(copy, path) as journal:
        first = None if journal.empty else next(iter(journal.events()), None)
        if first is not None:
            last, _ = next(journal.usable(first), (first, None))
            for _ in journal.events(last):
                pass
        return first is not None


def _read_copy(copy: Path, path: Path) -> tuple[list[Event], list[Snapshot]]:
    with _opened(copy, path) as journal:
        return ([], []) if journal.empty else (list(journal.events()), journal.snapshots())


@contextlib.contextmanager
def _opened(copy: Path, path: Path) -> Iterator[Journal]:
    with_log = size_of(f"{copy}-wal") > 0
    try:
        with contextlib.closing(Journal(copy, path)) as journal:
            if with_log:
                check_together(copy, path, *journal.extent(), journal.hash_of)
            if not journal.empty:
                journal._run("PRAGMA synchronous=OFF")  # of a copy that is thrown away
            yield journal
    except StudyError as problem:
        if with_log and f"{path} is damaged" in str(problem):
            said = f"{problem}. It or its log, {path.name}-wal, may be {OTHER_TIME}"
            raise StudyError(said) from problem
        raise
