"""What a study was after an event, kept in its file so that opening need not begin at the first.

A snapshot saves time and is never the truth: that is in the events. It is used if nothing speaks
against it, and what follows it is played again as ever. Otherwise the one before is tried, and
then all events are played. It is used if

- its hash is that of its content, with which it holds the version of the package, the hash of the
  first event (what the study is about) and that of the event it was made after;
- these are what they are here and now;
- the player can be restored from it, and holds together;
- the events after it come out the same.

Whoever can write the file can write a snapshot with the right hash, as they could write a whole
journal. ``Study.audit`` plays all events again and compares the player with every snapshot.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from uli_fast import __version__
from uli_fast.players._saved_states import same
from uli_fast.study.events import Event, compact

KEPT = 2  # the last one may be what is wrong
# A snapshot is made after this many events, or this share of all of them, and no sooner than the
# events since are as long as itself: files grow by no more than the last two, writes by no more
# than half.
BEHIND, SHARE, EVENT = 1000, 200, 250


class Snapshot(NamedTuple):
    """A row of the table."""

    sequence: int  # of the event after which it was made
    content: str  # JSON
    hash: str

    def read(self, first: Event) -> Mapping[str, Any] | None:
        """Return the content, if it is what was written by this version for this study."""
        try:
            if self.hash != _digest(self.sequence, self.content):
                return None
            found = json.loads(self.content)
        except (AttributeError, TypeError, ValueError, RecursionError):
            return None
        known = {"version": __version__, "study": first.hash}
        if not isinstance(found, dict) or any(found.get(k) != x for k, x in known.items()):
            return None
        return found


def check(snapshot: Snapshot, first: Event, last: Event, content: Mapping[str, Any]) -> bool:
    """Return whether a snapshot is what its events lead to, or of another version."""
    found = snapshot.read(first)
    if found is None:
        intact = snapshot.hash == _digest(snapshot.sequence, snapshot.content)
        return intact and _version(snapshot.content) != __version__
    # The state's own hash is of every digit: the last ones may be those of another processor.
    mine, theirs = ({**x, "state": {**x["state"], "hash": ""}} for x in (content, found))
    return found["chain"] == last.hash and all(same(theirs[k], x) for k, x in mine.items())


def _version(content: str) -> Any:
    found = json.loads(content)
    return found.get("version") if isinstance(found, dict) else __version__


def made(first: Event, last: Event, content: Mapping[str, Any]) -> Snapshot:
    """Return what is known after the last event of a study that began with the first."""
    about = {"version": __version__, "study": first.hash, "chain": last.hash}
    text = compact(about | dict(content))
    return Snapshot(last.sequence, text, _digest(last.sequence, text))


def due(since: int, events: int, size: int) -> bool:
    """Return whether to make one: events since the last, events in all, characters of the last."""
    return since >= max(BEHIND, events // SHARE, size // EVENT)


def _digest(sequence: int, content: str) -> str:
    return hashlib.sha256(f"{sequence}\n{content}".encode()).hexdigest()
