"""The journal of a live study in PostgreSQL, to which any number of workers may add.

Nobody holds a lock. A worker adds the event after the last one that it knows, in a statement that
is a whole transaction. If another has been first, the number is taken (primary key), nothing is
added, and the worker reads what is new before it decides again. So every event was decided on with
all earlier ones known, as if one worker had done it all.

When the connection breaks during a write, the event is there or not. The same event is then added
once more through a new connection: it finds its number free, or taken by itself, which the random
number of the write tells, or by another. If there is no new connection to be had, the caller hears
that the database is not there, and the next call begins by reading what is.

Every read begins with the last event that is known. If that is not there any more, as after a
restored backup or a failover that lost commits, nothing goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from uli_fast import __version__
from uli_fast._support.versions import other_format
from uli_fast.errors import (
    ArgumentError,
    OvertakenError,
    StudyDivergedError,
    StudyError,
    StudyUnavailableError,
    StudyWriteError,
)
from uli_fast.study import postgres_schema as sql
from uli_fast.study import snapshots
from uli_fast.study.address import Address, driver
from uli_fast.study.events import Event, NewEvent, chained, check_link, check_own
from uli_fast.study.faults import fault
from uli_fast.study.reader import SnapshotReader
from uli_fast.study.snapshots import KEPT, Snapshot

ROWS = 1000  # read at once
# SQLSTATEs of a server that goes away, is not ready, or has no connection left; of a missing table.
GONE = ("08", "57", "533")
NO_TABLE = ("42P01", "3F000")


class PostgresJournal(SnapshotReader):
    """The events of one study, and a connection for as long as that lasts."""

    shared = True

    def __init__(self, address: Address, to_write: bool = True) -> None:
        self.path, self._to_write = address, to_write
        self._psycopg = driver()
        self._connection: Any = None
        self._end: weakref.finalize[..., PostgresJournal] | None = None
        self._there = False  # whether the table is
        self._known: Event | None = None  # the last one that was there
        self._asked: dict[str | None, Event | None] = {}  # what was looked up last, by request
        self._alone = False  # whether it is read in one transaction, which cannot be mended
        self.closing = False
        self._connected()

    # Reading.

    @property
    def empty(self) -> bool:
        """Whether nothing of this study has been recorded yet."""
        return not self._connected_and_there() or not self._read(sql.BEGUN, (self.path.name,))

    def events(self, last: Event | None = None) -> Iterator[Event]:
        """Read all events, or those after another, checking the chain."""
        more = True
        while more:
            first = last.sequence if last else 1
            rows = self._read(sql.PAGE, (self.path.name, first, ROWS + 1))
            more = len(rows) > ROWS
            page = list(map(Event._make, rows))
            if last is not None and page[:1] != [last]:
                raise self._lost(last)
            for event in page[1:] if last else page:
                check_link(self.path, last, event)
                self._note(event)
                last = event
                yield event
        if self._known is not None and (last is None or last.sequence < self._known.sequence):
            raise self._lost(self._known)

    def _note(self, event: Event) -> None:
        """Remember the last event that was there; refuse another in its place."""
        if event.request in self._asked:
            self._asked[event.request] = event
        if self._known is None or event.sequence > self._known.sequence:
            self._known = event
        elif event.sequence == self._known.sequence and event != self._known:
            raise self._lost(self._known)

    def _lost(self, known: Event) -> StudyDivergedError:
        return StudyDivergedError(
            f"{self.path}: event {known.sequence}, which was recorded, is not there any more: "
            "an older state of the database was put in its place"
        )

    def event(self, sequence: int) -> Event | None:
        """Return the event with a number, if there is one."""
        return self._found(sql.EVENT, sequence)

    def expect(self, requests: Sequence[str]) -> None:
        """Look requests up, all at once, of which it is not known whether they are there.

        One that was not there is not there until its event is read.
        """
        if any("\0" in request for request in requests):
            raise ArgumentError("request_id", "must not hold the character NUL in PostgreSQL")
        self._asked = {key: self._asked[key] for key in requests if key in self._asked}
        new = [key for key in dict.fromkeys(requests) if key not in self._asked]
        if new:
            hashes = [hashlib.sha256(key.encode()).digest() for key in new]
            rows = self._read(sql.ASKED, (self.path.name, hashes))
            self._asked |= dict.fromkeys(new)
            self._asked |= {e.request: check_own(self.path, e) for e in map(Event._make, rows)}

    def asked(self, request: str) -> Event | None:
        """Return the event of a decision that was asked for with a request."""
        if request not in self._asked:
            self.expect([request])
        return self._asked.get(request)

    def told(self, decision: int) -> Event | None:
        """Return the event that says what became of a decision."""
        return self._found(sql.TOLD, decision)

    def asks(self, sequence: int, decision: int, most: int) -> list[Event]:
        """Return the events of decisions after an event and a decision, the first of them."""
        return self._listed(sql.ASKS, sequence, decision, most)

    def told_among(self, first: int, last: int) -> list[Event]:
        """Return the events that say what became of any of these decisions, in their order."""
        return self._listed(sql.TOLD_AMONG, first, last)

    def _listed(self, statement: str, *values: Any) -> list[Event]:
        rows = self._read(statement, (self.path.name, *values))
        return [check_own(self.path, Event._make(row)) for row in rows]

    def decisions(self, sequence: int) -> int:
        """Return how many decisions there were after an event."""
        event = self._found(sql.LAST_ASK, sequence)
        return event.decision or 0 if event else 0

    def _found(self, statement: str, *values: Any) -> Event | None:
        """Look an event up; it must be what was recorded, whatever its neighbours are."""
        rows = self._read(statement, (self.path.name, *values))
        return check_own(self.path, Event._make(rows[0])) if rows else None

    def snapshots(self) -> list[Snapshot]:
        """Return what is kept of how things were, the latest first; none of it is checked."""
        return list(map(Snapshot._make, self._read(sql.SNAPSHOTS, (self.path.name,))))

    def at_one_moment(self) -> tuple[list[Event], list[Snapshot]]:
        """Read everything in one transaction that cannot write."""
        if not self._connected_and_there():
            return [], []
        connection, self._alone = self._connected(), True
        connection.isolation_level = self._psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        with self._refused(), connection.transaction():
            return list(self.events()), self.snapshots()

    # Adding.

    def create(self, content: Mapping[str, Any]) -> bool:
        """Record what the study is; return False if another worker has done so meanwhile."""
        if not self._connected_and_there():
            self._make_table()
        try:
            self.add_many(None, [NewEvent("create", None, None, content)], "create")
        except OvertakenError:
            return False
        return True

    def add_many(
        self, last: Event | None, entries: Sequence[NewEvent], point: str = "many"
    ) -> list[Event]:
        """Add events after the last one, all or none; all are durable when this returns.

        ``point`` is what crash tests call it; "written" is passed before they are sent.
        """
        events = chained(last, entries, __version__)
        self._check_storable(events)
        fault(f"{point}-begun")
        for _ in events:
            fault(f"{point}-written")
        self._add(events, uuid.uuid4())
        for event in events:
            self._note(event)
        fault(f"{point}-committed")
        return events

    def _add(self, events: Sequence[Event], append: uuid.UUID) -> None:
        unknown = False  # whether it may be there although nobody said so
        try:
            added = self._insert(events, append)
        except StudyUnavailableError:
            unknown, added = True, self._insert(events, append)
        if not added:
            key = (self.path.name, events[-1].sequence, append)
            if not (unknown and self._read(sql.MINE, key)):
                raise OvertakenError(f"{self.path}: another worker was first")

    def _insert(self, events: Sequence[Event], append: uuid.UUID) -> bool:
        """Return whether the events were added; if not, a number or request id was taken."""
        one = len(events) == 1
        values = events[0] if one else [list(column) for column in zip(*events, strict=True)]
        statement = sql.ADD_ONE if one else sql.ADD_MANY
        try:
            cursor = self._execute(statement, (self.path.name, append, *values), writing=True)
        except OvertakenError:
            return False
        return bool(cursor.rowcount == len(events))

    def _check_storable(self, events: Sequence[Event]) -> None:
        for event in events:
            if len(event.payload) > sql.LONGEST:
                raise StudyWriteError(
                    f"{self.path}: an event has more than {sql.LONGEST} characters"
                )

    def check(self) -> None:
        """Every call has read on already, from where it was."""

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the oldest, unless others have kept one of late."""
        if len(snapshot.content) > sql.LONGEST:
            return
        fault("snapshot-begun")
        about = {"study": self.path.name, "apart": snapshots.BEHIND // 2, "kept": KEPT}
        self._execute(sql.KEEP, about | snapshot._asdict(), writing=True)
        fault("snapshot-written")
        self._execute(sql.PRUNE, about, writing=True)
        fault("snapshot-committed")

    def _make_table(self) -> None:
        """Make it, unless another worker that begins at the same moment has."""
        connection = self._connected()
        with self._refused(writing=True), connection.transaction():
            connection.execute(sql.ADVISORY_LOCK, (sql.LOCK,))
            if not connection.execute(sql.EXISTS).fetchone()[0]:
                for statement in sql.SCHEMA:
                    connection.execute(statement)
        self._look()

    # The connection.

    def _read(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        """Run a query; one that a server's restart has cut off, once more."""
        try:
            return list(self._execute(statement, values).fetchall())
        except StudyUnavailableError:
            if self._alone:
                raise
            return list(self._execute(statement, values).fetchall())

    def _execute(self, statement: str, values: Any, writing: bool = False) -> Any:
        connection = self._connected()
        with self._refused(writing):
            return connection.execute(statement, values)

    def _connected(self) -> Any:
        """Return the connection, a new one if there is none."""
        if self._connection is None or self._connection.closed:
            self._drop()
            try:
                with self._refused():
                    made = self._psycopg.connect(**self.path.parameters, autocommit=True)
                    self._connection = made
                    self._end = weakref.finalize(self, _closed, made, os.getpid())
                    self._end.atexit = False
                    made.execute(sql.SESSION)
                self._look()
            except BaseException:  # the next call would take it for one that is set up
                self._drop()
                raise
        return self._connection

    def _connected_and_there(self) -> bool:
        """Return whether the table is there, looking again if it was not."""
        self._connected()
        if not self._there:
            self._look()
        return self._there

    def _look(self) -> None:
        """Refuse a server that would lose commits, and a table that is not ours."""
        with self._refused():
            found = self._connection.execute(sql.LOOK).fetchone()
            durable, fsync, encoding, standby, format_, self._there, *shape = found
        try:
            self._check_server(durable, fsync, encoding, standby)
            if self._there:
                self._check_format(format_)
            if self._there and shape != [sql.COLUMNS, sql.KEYS, sql.TRIGGERS]:
                raise StudyError(
                    f"{self.path} is damaged: columns, keys or triggers of its table were changed"
                )
        except StudyError:
            self._drop()
            raise

    def _check_format(self, called: str | None) -> None:
        number = (called or "").removeprefix(sql.CALLED)
        if called != f"{sql.CALLED}{sql.FORMAT}":
            found = int(number) if number.isdecimal() else called
            said = other_format("format", found, sql.FORMAT, "begin a study in another database")
            raise StudyError(f"{self.path}: its table {said}")

    def _check_server(self, durable: str, fsync: str, encoding: str, standby: bool) -> None:
        if encoding != "UTF8":
            raise StudyError(f"{self.path}: the database must be in UTF8, not {encoding}")
        if not self._to_write:
            return
        if standby:
            raise StudyWriteError(f"{self.path}: this server is a standby; Study.read looks at it")
        if durable == "off" or fsync == "off":
            setting = "synchronous_commit" if durable == "off" else "fsync"
            raise StudyError(
                f"{self.path}: {setting} is off, so this server forgets what it has confirmed "
                "when it crashes; a study needs it on"
            )

    @contextlib.contextmanager
    def _refused(self, writing: bool = False) -> Iterator[None]:
        """Turn what the server refuses into a typed error; let go of a broken connection."""
        try:
            yield
        except self._psycopg.Error as problem:
            self._raise(problem, writing)
        except BaseException:  # interrupted: nobody knows what the connection is waiting for
            self._drop()
            raise

    def _raise(self, problem: Any, writing: bool) -> NoReturn:
        psycopg, code, said = self._psycopg, problem.sqlstate or "", self.path.safe(problem)
        problem.args = (said,)  # it is the context of what is raised here
        if writing and isinstance(problem, psycopg.errors.UniqueViolation):
            raise OvertakenError(f"{self.path}: another worker was first") from None
        unsaid = not code and isinstance(problem, psycopg.OperationalError | psycopg.InterfaceError)
        if unsaid or code.startswith(GONE) or getattr(self._connection, "closed", True):
            self._drop()
            raise StudyUnavailableError(
                f"{self.path} cannot be reached: {said}; all that was acknowledged is in it"
            ) from None
        if code == sql.UNCHAINED:
            raise StudyDivergedError(
                f"{self.path}: the last event is not the one that was recorded: {said}"
            ) from None
        if writing:
            raise StudyWriteError(
                f"{self.path} cannot be written: {said}; all that was acknowledged is in it"
            ) from None
        if code in NO_TABLE:
            raise StudyError(f"{self.path} is damaged: its table is gone") from None
        raise StudyError(f"{self.path} cannot be read: {said}") from None

    def _drop(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            _closed(self._connection, os.getpid())
        if self._end is not None:
            self._end.detach()
        self._connection = None

    def close(self) -> None:
        """Let go of the database."""
        self.closing = True
        self._drop()

    give_up = close

    @property
    def closed(self) -> bool:
        """Whether nothing is held any more."""
        return self._connection is None


def _closed(connection: Any, pid: int) -> None:
    """Close a connection; never one that a fork has copied: the server would end the parent's."""
    if os.getpid() == pid:
        with contextlib.suppress(Exception):  # it was to go anyway
            connection.close()


def read_journal(address: Address) -> tuple[list[Event], list[Snapshot]]:
    """Read all events and snapshots as they are at one moment, and change nothing."""
    journal = PostgresJournal(address, to_write=False)
    try:
        return journal.at_one_moment()
    finally:
        journal.close()
