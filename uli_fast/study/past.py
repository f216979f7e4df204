"""What happened in a study, read from its events when somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from uli_fast.study.events import Event
from uli_fast.study.history import RECORDS, BlockRecord, DecisionRecord, EpisodeRecord, History

HELD = 20_000  # records that are kept for the next time


class Source(Protocol):
    """Where the events of a study are: its open journal, or a list of them."""

    def events(self, last: Event | None = None) -> Iterable[Event]:
        """Return all events, or those after another."""

    def event(self, sequence: int) -> Event | None:
        """Return the event with a number."""

    def expect(self, requests: Sequence[str]) -> None:
        """Hear which requests will be looked up next: one way to a server may do for all."""

    def asked(self, request: str) -> Event | None:
        """Return the event of a decision that was asked for with a request."""

    def told(self, decision: int) -> Event | None:
        """Return the event that says what became of a decision."""


class Listed:
    """Events that were read from a copy of a file."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._asked = {e.request: e for e in events if e.request is not None}

    def events(self, last: Event | None = None) -> Iterable[Event]:
        """Return all events, or those after another."""
        for i in range(last.sequence if last else 0, len(self._events)):  # a slice copies the rest
            yield self._events[i]

    def event(self, sequence: int) -> Event | None:
        """Return the event with a number."""
        return self._events[sequence - 1] if 0 < sequence <= len(self._events) else None

    def expect(self, requests: Sequence[str]) -> None:
        """Have them at hand anyway."""

    def asked(self, request: str) -> Event | None:
        """Return the event of a decision that was asked for with a request."""
        return self._asked.get(request)

    def told(self, decision: int) -> Event | None:
        """Return the event that says what became of a decision."""
        of_it = (e for e in self._events if e.decision == decision and e.kind != "ask")
        return next(of_it, None)


class Past:
    """A record of every decision and block, up to the last event that was read."""

    def __init__(self, path: Any, first: Event) -> None:
        self._path, self._first = path, first
        self._clear()

    def _clear(self) -> None:
        self._last = self._first
        self._records: list[DecisionRecord | EpisodeRecord] = []
        self._blocks: dict[int, BlockRecord] = {}  # by the number of the event

    def read(
        self, source: Source, player: Any, last: Event
    ) -> tuple[History, tuple[BlockRecord, ...]]:
        """Return all that happened; the player says what an outcome is called.

        It knows the events up to the last one; others may have been added since.
        """
        kind = RECORDS[player.outcome_names]
        for event in source.events(self._last):
            if event.sequence > last.sequence:
                break
            self._note(event, event.content, player, kind)
            self._last = event  # an interrupt before this has it noted again, in its place
        found = History(self._records, self._path, kind), tuple(self._blocks.values())
        if len(self._records) > HELD:
            self._clear()
        return found

    def _note(self, event: Event, content: Mapping[str, Any], player: Any, kind: Any) -> None:
        if event.kind == "block":
            sums = {arm: tuple(row) for arm, *row in content["sums"]}
            self._blocks[event.sequence] = BlockRecord(content["block"], event.time, sums)
            return
        assert event.decision is not None
        position = event.decision - 1
        if event.kind == "ask":
            self._records[position:] = [asked(event, content, kind)]
        else:
            found = dict[str, Any](told=event.time)
            if event.kind == "tell":
                found |= {"status": "reward"} | player.outcome(position, content["reward"])
            else:
                found |= {"status": "missing", "reason": content["reason"]}
            self._records[position] = self._records[position]._replace(**found)


def asked(event: Event, content: Mapping[str, Any], kind: Any) -> Any:
    """Return the record of a decision that has just been asked for."""
    about = (event.request, content["metadata"], event.time, "pending")
    return kind(event.decision, content["arm"], content["probability"], *about)
