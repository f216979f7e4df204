"""The file of a race: a journal like a study's, with every score in it.

A race is decided by its scores alone. Opening its file again gives them back, and the race
goes on from there, or is over at once, with the same verdict.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from uli_fast import _check
from uli_fast._support.streams import entropy_of
from uli_fast._support.versions import versions
from uli_fast.errors import ArgumentError, StudyDivergedError, StudyError, StudyWriteError
from uli_fast.study.address import no_address
from uli_fast.study.events import Event
from uli_fast.study.faults import fault_point
from uli_fast.study.journal import Journal
from uli_fast.study.leftovers import check_remains, refused
from uli_fast.study.replay import as_study_error

# Seconds for which scores may wait for others, so that quick ones share a write to the disk.
PATIENCE = 0.2


class RaceOutcome(NamedTuple):
    """What came of one evaluation."""

    row: int  # position of the instance in the order of the race
    candidate: int
    score: float | None  # in the caller's units; None: missing
    reason: str | None = None  # why it is missing


class RaceRecord:
    """An open race file."""

    def __init__(self, path: Path, journal: Journal, last: Event) -> None:
        self.path, self._journal, self._last = path, journal, last
        self._written = last.decision or 0  # scores on the disk
        self._waiting: list[RaceOutcome] = []
        self._since = time.monotonic()
        self._stale = False  # the journal may be ahead of what is known of it

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], about: Mapping[str, Any]
    ) -> tuple[RaceRecord, dict[str, Any], list[RaceOutcome]]:
        """Begin a race in a file, or go on with the one in it.

        Returns the record, what the race is about (with the seed that it was begun with, where
        none was given), and the scores so far.
        """
        no_address("study", path)  # races are kept in files
        file = _check.file("study", path)
        fault_point()
        check_remains(file, file)
        with refused(file):
            new = not file.exists()
        if new and not file.absolute().parent.is_dir():
            raise StudyWriteError(f"{file}: there is no folder {file.absolute().parent}")
        journal = Journal(file)
        try:
            if journal.empty:
                seeded = dict(about) | {"seed": entropy_of(about["seed"])}
                journal.create({"race": seeded, "versions": versions()})
            events = iter(journal.events())
            first = next(events)
            begun = _begun(file, first)
            _check_same(begun, about)
            last, outcomes = first, list[RaceOutcome]()
            for event in events:
                with as_study_error(file, event):
                    outcomes += _read(file, event, begun, len(outcomes))
                last = event
            return cls(file, journal, last), begun, outcomes
        except BaseException:
            journal.give_up()
            raise

    def add(self, outcomes: list[RaceOutcome]) -> None:
        """Take scores, and write them if some have waited long enough."""
        self._waiting += outcomes
        if time.monotonic() - self._since >= PATIENCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits; it is on the disk when this returns."""
        if self._stale:
            self._catch_up()
        if self._waiting:
            count = self._written + len(self._waiting)
            content = {"outcomes": [list(x) for x in self._waiting]}
            self._stale = True  # until it is over, whatever refuses or interrupts it
            self._last = self._journal.add(self._last, "tell", count, None, content)
            self._written, self._waiting = count, []
            self._stale = False
        self._since = time.monotonic()

    def _catch_up(self) -> None:
        """Find out whether what was refused or interrupted is on the disk."""
        for event in self._journal.events(self._last):
            self._last = event
        count = self._last.decision or 0
        del self._waiting[: count - self._written]
        self._written, self._stale = count, False

    def close(self) -> None:
        """Write what waits, and let go of the file."""
        try:
            self.flush()
        finally:
            self._journal.close()


def _begun(path: Path, first: Event) -> dict[str, Any]:
    with as_study_error(path, first):
        content = first.content
        if isinstance(content, dict) and "learner" in content:
            raise StudyError(
                f"{path} is a study of live decisions, not a race; Study.open opens it"
            )
        if first.kind != "create" or not isinstance(content, dict) or "race" not in content:
            raise StudyError(f"{path} is damaged: it does not begin with what the race is about")
        return dict(content["race"])


def _check_same(begun: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Refuse a race other than that of the file, naming the argument that differs."""
    for name, now in about.items():
        then = begun.get(name)
        if name == "seed" and now is None:
            continue
        if then != now:
            raise ArgumentError(
                name.removesuffix("_mark"),
                f"this race was begun with {_short(then)}, not {_short(now)}"
                if not name.endswith("_mark")
                else "are not those that this race was begun with",
            )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _read(path: Path, event: Event, begun: Mapping[str, Any], before: int) -> list[RaceOutcome]:
    found = [RaceOutcome(*x) for x in event.content["outcomes"]]
    fits = event.kind == "tell" and event.decision == before + len(found)
    if not (fits and all(_is_sound(x, begun["low"], begun["high"]) for x in found)):
        raise StudyDivergedError(f"{path}: event {event.sequence} is not one of this race")
    return found


def _is_sound(x: RaceOutcome, low: float, high: float) -> bool:
    if type(x.row) is not int or type(x.candidate) is not int or min(x.row, x.candidate) < 0:
        return False
    if x.score is None:
        return isinstance(x.reason, str)
    return type(x.score) is float and x.reason is None and low <= x.score <= high
