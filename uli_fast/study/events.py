"""The events of a live study: what one is, the chain of their hashes, and the table of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
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
    # Where outcomes are found, and what players were a while ago.
    "CREATE INDEX told ON event (decision) WHERE kind <> 'ask'",
    """CREATE TABLE snapshot (
  sequence INTEGER PRIMARY KEY,
  content TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT""",
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


def has_reward(kind: str, content: Mapping[str, Any]) -> bool:
    """Return whether an event gave a decision its outcome, and not a reason why there is none."""
    return kind == "tell" or (kind == "closed" and "reward" in content)


class NewEvent(NamedTuple):
    """What an event is to record; the chain gives the rest."""

    kind: str
    decision: int | None
    request: str | None
    content: Mapping[str, Any]


def digest(event: Event) -> str:
    """Return the hash of everything in an event but its hash."""
    return hashlib.sha256(compact(event[:-1]).encode()).hexdigest()


def next_event(last: Event | None, *about: Any) -> Event:
    """Return the event that follows another, ``about`` being all fields but those of the chain."""
    sequence, previous = (last.sequence, last.hash) if last else (0, GENESIS)
    event = Event._make((sequence + 1, *about, previous, ""))
    return event._replace(hash=digest(event))


def now() -> datetime:
    """Return the time by the clock of whoever drives the study."""
    return datetime.now(UTC)


def chained(last: Event | None, entries: Iterable[NewEvent], version: str) -> list[Event]:
    """Return the events that follow another, one for each entry, all of this moment."""
    events: list[Event] = []
    time = now().isoformat(timespec="microseconds")
    for kind, decision, request, content in entries:
        last = next_event(last, kind, decision, request, compact(content), time, version)
        events.append(last)
    return events


def check_own(path: Any, event: Event) -> Event:
    """Return an event that was looked up by itself, if it is what was recorded."""
    try:
        intact = event.hash == digest(event)
    except (TypeError, ValueError):  # bytes where there was text
        intact = False
    if not intact:
        raise StudyDivergedError(f"{path}: event {event.sequence} is not what was recorded")
    return event


def check_link(path: Any, last: Event | None, event: Event) -> None:
    """Refuse an event that does not follow another, or is not what was recorded."""
    sequence, previous = (last.sequence, last.hash) if last else (0, GENESIS)
    if event.sequence != sequence + 1:
        raise StudyDivergedError(f"{path}: event {sequence + 1} is gone")
    if event.previous != previous:
        raise StudyDivergedError(f"{path}: event {event.sequence} is not what was recorded")
    check_own(path, event)
