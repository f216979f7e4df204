"""A study that is followed: its course kept as it goes on, and what came before read meanwhile.

Whoever drives the study notes every event in its course (course.py). A study that was opened from
a snapshot has a past that its player has not seen. It is replayed by a player of its own, in a
thread of its own, a page of events at a time: the study is held for the reading of a page and not
for the replaying of it, and half of the time is left to others. Then the two are put together; what
the past leads to must be where the study was opened.
"""

from __future__ import annotations

import threading
import time
import weakref
from dataclasses import replace
from itertools import islice
from typing import Any

from uli_fast.errors import StudyDivergedError, StudyUnavailableError, UliError
from uli_fast.study.course import StudyCourse
from uli_fast.study.events import Event
from uli_fast.study.overview import Begun, Overview, overview_of
from uli_fast.study.past import Listed
from uli_fast.study.replay import StudyReplay
from uli_fast.study.setup import Setup
from uli_fast.study.view import StudyView

PAGE = 1000  # events that are read at once: journals read as many
PAUSE = 1.0  # seconds until a database that is away is tried again


class FollowedStudy(StudyView):
    """The part of a study that is followed."""

    path: Any
    _setup: Setup
    _first: Event
    _versions: dict[str, str]
    _course: StudyCourse | None
    _reader: PastReader | None

    def overview(self, wait: bool = True) -> Overview:
        """Return where the study stands and how it got there, all that a page shows of it.

        The first call begins to follow the study. Where it was opened from a snapshot, its past
        is read in the background; with ``wait=False`` an overview is of what was read so far.
        """
        reader = self._follow()
        if wait and reader is not None:
            reader.join()
        with self._turn():
            self._get_ready()
            course, reader = self._course, self._reader
            assert course is not None
            begun = Begun(self._setup.learner, self._first.time, dict(self._versions))
            found = overview_of(self._replay, course, begun)
        return found if reader is None else reader.added_to(found)

    def _follow(self) -> PastReader | None:
        """Begin to keep the course, again if an interrupt has spoiled it."""
        with self._turn():
            self._get_ready()
            if self._course is None or not self._course.sound:
                self._course = self._reader = None
                course = self._replay.course = StudyCourse(self._replay)
                if course.begins > self._first.sequence:
                    reader = PastReader(self, course)
                    reader.start()
                    self._reader = reader
                self._course = course  # last: what an interrupt has left by half is begun again
            return self._reader

    def _from_the_beginning(self) -> StudyReplay:
        """Return a replay of its own that has seen nothing but what the study is."""
        player, window = self._setup.start(), self._setup.window
        return StudyReplay(self.path, Listed(()), self._first, player, window)

    def _read_page(self, last: Event) -> list[Event]:
        """Return the next events after another, in the time that a page takes."""
        with self._turn():
            self._get_ready()
            return list(islice(self._replay.source.events(last), PAGE))

    def _complete(self, reader: PastReader, earlier: StudyCourse) -> None:
        """Put what came before in front of the course."""
        with self._turn():
            if self._reader is reader and self._course is not None:
                self._course.prepend(earlier)
                self._reader = None


class PastReader(threading.Thread):
    """Replays what came before a course begins."""

    def __init__(self, study: FollowedStudy, course: StudyCourse) -> None:
        super().__init__(name="uli-past", daemon=True)
        self._study = weakref.ref(study)  # one that is dropped lets go of its file at once
        self._path, self._end = study.path, course.begins
        self._counts, self._active = course.counts.copy(), course.active.copy()
        self._course: StudyCourse | None = None
        self._problem: str | None = None

    def added_to(self, overview: Overview) -> Overview:
        """Return an overview with what has been read so far, which is not all of it."""
        course = self._course
        if course is None:
            return replace(overview, reading=(1, self._end), problem=self._problem)
        return replace(
            overview,
            moments=(*course.moments[:], *overview.moments),
            drops=(*course.drops[:], *overview.drops),
            reading=(course.last, self._end),
            problem=self._problem,
        )

    def run(self) -> None:
        """Read page after page, as long as the study is open."""
        try:
            study = self._study()
            if study is None:
                return
            replay = study._from_the_beginning()
            del study
            self._course = replay.course = StudyCourse(replay)
            while replay.last.sequence < self._end:
                begun = time.monotonic()
                if not self._go_on(replay):
                    return
                time.sleep(time.monotonic() - begun)
            self._check(self._course)
            study = self._study()
            if study is not None:
                study._complete(self, self._course)
        except UliError as problem:
            self._problem = str(problem)
        except Exception as problem:  # of a user's own rule, say: the page tells
            self._problem = repr(problem)

    def _go_on(self, replay: StudyReplay) -> bool:
        """Replay a page; return whether the study is there to be read."""
        study = self._study()
        if study is None:
            return False
        try:
            page = study._read_page(replay.last)
        except StudyUnavailableError:
            time.sleep(PAUSE)
            return True
        del study  # not held while the page is replayed
        if not page:
            raise StudyDivergedError(f"{self._path}: its past is gone")
        replay.replay(page[: self._end - replay.last.sequence])
        return True

    def _check(self, course: StudyCourse) -> None:
        """Refuse a past that does not lead to where the study was opened."""
        same = (course.counts == self._counts).all() and (course.active == self._active).all()
        if not same:
            raise StudyDivergedError(
                f"{self._path}: what it was at event {self._end}, from which it went on, is not "
                "what its events lead to; audit it"
            )
