"""What a study needs of its journal, wherever that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from uli_fast.errors import StudyWriteError
from uli_fast.study.address import Address
from uli_fast.study.events import Event, NewEvent
from uli_fast.study.leftovers import check_remains, refused
from uli_fast.study.past import Source
from uli_fast.study.snapshots import Snapshot


class AnyJournal(Source, Protocol):
    """Events that are only ever added to: a file of one's own, or a table shared with others."""

    shared: bool  # whether others may add to it meanwhile
    closing: bool  # let go of, or interrupted while it was

    @property
    def empty(self) -> bool:
        """Whether nothing has been recorded yet."""

    @property
    def closed(self) -> bool:
        """Whether nothing is held any more."""

    def create(self, content: Mapping[str, Any]) -> bool:
        """Record what the study is; return False if another worker has done so meanwhile."""

    def add_many(
        self, last: Event | None, entries: Sequence[NewEvent], point: str = "many"
    ) -> list[Event]:
        """Add events after the last one, all or none; all are on the disk when this returns.

        An OvertakenError if the last one is not the last any more: nothing was added.
        """

    def check(self) -> None:
        """Refuse to acknowledge again what is not where it was recorded."""

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the oldest."""

    def usable(self, first: Event) -> Iterator[tuple[Event, Mapping[str, Any]]]:
        """Return the snapshots that are what was written, and the events they were made after."""

    def decisions(self, sequence: int) -> int:
        """Return how many decisions there were after an event."""

    def close(self) -> None:
        """Let go of it."""

    def give_up(self) -> None:
        """Let go of what could not be opened, and leave nothing of a failed beginning."""


def open_journal(place: Path | Address) -> AnyJournal:
    """Open a journal to write to."""
    if isinstance(place, Address):
        from uli_fast.study.postgres import PostgresJournal

        return PostgresJournal(place)
    from uli_fast.study.journal import Journal

    return Journal(place)


def read_journal(place: Path | Address) -> tuple[list[Event], list[Snapshot]]:
    """Read all events and snapshots without touching anything, even while others write."""
    if isinstance(place, Address):
        from uli_fast.study import postgres

        return postgres.read_journal(place)
    from uli_fast.study import journal

    return journal.read_journal(place)


def no_file_yet(place: Path | Address) -> bool:
    """Return whether a study would be begun in a new file; refuse a place where none can be."""
    if isinstance(place, Address):
        return False  # its journal knows
    check_remains(place, place)
    with refused(place):
        new = not place.exists()
    if new and not place.absolute().parent.is_dir():
        raise StudyWriteError(f"{place}: there is no folder {place.absolute().parent}")
    return new
