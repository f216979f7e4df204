"""What happened in a study, read from its events when somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from uli_fast.study.events import Event, has_reward
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

    def asks(self, sequence: int, decision: int, most: int) -> list[Event]:
        """Return the events of decisions after an event and a decision, the first of them."""

    def told_among(self, first: int, last: int) -> list[Event]:
        """Return the events that say what became of any of these decisions, in their order."""


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
        return next(iter(self.told_among(decision, decision)), None)

    def asks(self, sequence: int, decision: int, most: int) -> list[Event]:
        """Return the events of decisions after an event and a decision, the first of them."""
        after = (e for e in self._events[max(sequence, 0) :] if e.kind == "ask")
        return list(islice((e for e in after if (e.decision or 0) > decision), most))

    def told_among(self, first: int, last: int) -> list[Event]:
        """Return the events that say what became of any of these decisions, in their order."""
        told = (e for e in self._events if e.kind != "ask" and e.decision is not None)
        return [e for e in told if first <= (e.decision or 0) <= last]


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
            self._blocks[event.sequence] = block(event, content)
            return
        assert event.decision is not None
        position = event.decision - 1
        if event.kind == "ask":
            self._records[position:] = [asked(event, content, kind)]
        else:
            self._records[position] = settled(self._records[position], event, content, player)


def page(
    source: Source, player: Any, last: Event, after: tuple[int, int], most: int
) -> tuple[list[DecisionRecord | EpisodeRecord], tuple[int, int] | None]:
    """Return the records of decisions after one, and after which the next page begins.

    A place is the number of a decision, and that of its event if it is known, else 0. Whatever the
    length of the study, only the events of the page are read; those in between are skipped by the
    journal, if the event is not known.
    """
    decision, sequence = after
    event = source.event(sequence) if sequence else None
    if event is None or (event.kind, event.decision) != ("ask", decision):
        sequence = decision  # the first event is no decision: none comes earlier
    kind = RECORDS[player.outcome_names]
    events = [e for e in source.asks(sequence, decision, most + 1) if e.sequence <= last.sequence]
    shown, more = events[:most], len(events) > most
    if not shown:
        return [], None
    found = {e.decision: asked(e, e.content, kind) for e in shown}
    for told in source.told_among(shown[0].decision or 0, shown[-1].decision or 0):
        if told.decision in found and told.sequence <= last.sequence:
            found[told.decision] = settled(found[told.decision], told, told.content, player)
    end = (shown[-1].decision or 0, shown[-1].sequence) if more else None
    return list(found.values()), end


def settled(record: Any, event: Event, content: Mapping[str, Any], player: Any) -> Any:
    """Return the record of a decision with what became of it."""
    if event.kind == "late":
        return record._replace(late=player.outcome(record.id - 1, content["reward"])["reward"])
    found = dict[str, Any](told=event.time, status="missing", reason=content.get("reason"))
    if has_reward(event.kind, content):
        found |= {"status": "reward"} | player.outcome(record.id - 1, content["reward"])
    return record._replace(**found)


def block(event: Event, content: Mapping[str, Any]) -> BlockRecord:
    """Return the record of a block of sums."""
    sums = {arm: tuple(row) for arm, *row in content["sums"]}
    return BlockRecord(content["block"], event.time, sums)


def asked(event: Event, content: Mapping[str, Any], kind: Any) -> Any:
    """Return the record of a decision that has just been asked for."""
    about = (event.request, content["metadata"], event.time, "pending")
    return kind(event.decision, content["arm"], content["probability"], *about)
