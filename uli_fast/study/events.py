"""The events of a live study: what one is, the chain of their hashes, and the table of them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from uli_fast.errors import StudyDivergedError

GENESIS = "0" * 64
SCHEMA = (
    """CREATE TABLE event (
  sequence INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  decision INTEGER,
  request TEXT UNIQUE,
  payload TEXT NOT NULL,
  time TEXT NOT NULL,
  version TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT""",
    """CREATE TRIGGER never_changed BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END""",
    """CREATE TRIGGER never_removed BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'events are never removed'); END""",
    """CREATE TRIGGER only_added BEFORE INSERT ON event
WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM event)
BEGIN SELECT RAISE(ABORT, 'events are added at the end'); END""",
)
compact = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Event(NamedTuple):
    """A line of the journal."""

    sequence: int
    kind: str
    decision: int | None
    request: str | None
    payload: str  # JSON
    time: str  # UTC
    version: str  # of the package
    previous: str  # hash of the event before
    hash: str

    @property
    def content(self) -> Any:
        """The payload."""
        return json.loads(self.payload)


def digest(event: Event) -> str:
    """Return the hash of everything in an event but its hash."""
    return hashlib.sha256(compact(event[:-1]).encode()).hexdigest()


def next_event(last: Event | None, *about: Any) -> Event:
    """Return the event that follows another, ``about`` being all fields but those of the chain."""
    sequence, previous = (last.sequence, last.hash) if last else (0, GENESIS)
    event = Event._make((sequence + 1, *about, previous, ""))
    return event._replace(hash=digest(event))


def check_link(path: Path, last: Event | None, event: Event) -> None:
    """Refuse an event that does not follow another, or is not what was recorded."""
    sequence, previous = (last.sequence, last.hash) if last else (0, GENESIS)
    if event.sequence != sequence + 1:
        raise StudyDivergedError(f"{path}: event {sequence + 1} is gone")
    try:
        intact = event.previous == previous and event.hash == digest(event)
    except (TypeError, ValueError):  # bytes where there was text
        intact = False
    if not intact:
        raise StudyDivergedError(f"{path}: event {event.sequence} is not what was recorded")
