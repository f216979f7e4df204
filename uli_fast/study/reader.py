"""Looking things up in an open journal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from uli_fast.errors import StudyDivergedError
from uli_fast.study.events import Event, check_link, check_own
from uli_fast.study.leftovers import refused
from uli_fast.study.snapshots import Snapshot


class SnapshotReader:
    """What every journal does with its snapshots."""

    def event(self, sequence: int) -> Event | None:
        """Return the event with a number, if there is one."""
        raise NotImplementedError

    def snapshots(self) -> list[Snapshot]:
        """Return what is kept of how things were, the latest first; none of it is checked."""
        raise NotImplementedError

    def usable(self, first: Event) -> Iterator[tuple[Event, Mapping[str, Any]]]:
        """Return the snapshots that are what was written, and the events they were made after."""
        for snapshot in self.snapshots():
            content = snapshot.read(first)
            with contextlib.suppress(StudyDivergedError):
                event = self.event(snapshot.sequence)
                if content is not None and event is not None and event.hash == content["chain"]:
                    yield event, content


class JournalReader(SnapshotReader):
    """The part of a file's journal that reads."""

    path: Path

    def _run(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        raise NotImplementedError

    def _roll_back(self) -> None:
        raise NotImplementedError

    def events(self, last: Event | None = None) -> Iterator[Event]:
        """Read all events, or those after another, checking the chain."""
        with refused(self.path):
            self._roll_back()
        page = "SELECT * FROM event WHERE sequence > ? ORDER BY sequence LIMIT 1000"
        while True:  # page by page: a cursor left open would keep the file locked
            with refused(self.path):
                rows = self._run(page, (last.sequence if last else -(2**63),))
            for row in rows:
                event = Event(*row)
                check_link(self.path, last, event)
                last = event
                yield event
            if not rows:
                return

    def event(self, sequence: int) -> Event | None:
        """Return the event with a number, if there is one."""
        return self._found("SELECT * FROM event WHERE sequence = ?", sequence)

    def expect(self, requests: Sequence[str]) -> None:
        """Look them up one by one: the file is near."""

    def asked(self, request: str) -> Event | None:
        """Return the event of a decision that was asked for with a request."""
        return self._found("SELECT * FROM event WHERE request = ?", request)

    def told(self, decision: int) -> Event | None:
        """Return the event that says what became of a decision."""
        told = "SELECT * FROM event WHERE decision = ? AND kind <> 'ask' ORDER BY sequence LIMIT 1"
        return self._found(told, decision)

    def asks(self, sequence: int, decision: int, most: int) -> list[Event]:
        """Return the events of decisions after an event and a decision, the first of them."""
        after = "SELECT * FROM event WHERE sequence > ? AND kind = 'ask' AND decision > ?"
        return self._listed(f"{after} ORDER BY sequence LIMIT ?", (sequence, decision, most))

    def told_among(self, first: int, last: int) -> list[Event]:
        """Return the events that say what became of any of these decisions, in their order."""
        among = "SELECT * FROM event WHERE decision BETWEEN ? AND ? AND kind <> 'ask'"
        return self._listed(f"{among} ORDER BY sequence", (first, last))

    def _listed(self, sql: str, values: tuple[Any, ...]) -> list[Event]:
        with refused(self.path):
            self._roll_back()
            rows = self._run(sql, values)
        return [check_own(self.path, Event(*row)) for row in rows]

    def _found(self, sql: str, value: Any) -> Event | None:
        """Look an event up; it must be what was recorded, whatever its neighbours are."""
        with refused(self.path):
            self._roll_back()
            rows = self._run(sql, (value,))
        return check_own(self.path, Event(*rows[0])) if rows else None

    def decisions(self, sequence: int) -> int:
        """Return how many decisions there were after an event."""
        last = "SELECT * FROM event WHERE sequence <= ? AND kind = 'ask' ORDER BY sequence DESC"
        event = self._found(f"{last} LIMIT 1", sequence)
        return event.decision or 0 if event else 0

    def snapshots(self) -> list[Snapshot]:
        """Return what is kept of how things were, the latest first; none of it is checked."""
        with refused(self.path):
            self._roll_back()
            rows = self._run("SELECT * FROM snapshot ORDER BY sequence DESC")
        return [Snapshot(*row) for row in rows]
