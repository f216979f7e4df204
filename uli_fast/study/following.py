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

from uli_fast.errors import StudyDivergedError, StudyError, StudyUnavailableError, UliError
from uli_fast.study.course import StudyCourse
from uli_fast.study.events import Event
from uli_fast.study.overview import Begun, Overview, overview_of
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
                self._reader = None
                self._course = self._replay.course = StudyCourse(self._replay)
                if self._course.begins > self._first.sequence:
                    fresh = StudyReplay(
                        self.path, self._replay.source, self._first, self._setup.start()
                    )
                    self._reader = PastReader(self, fresh, self._course)
                    self._reader.start()
            return self._reader

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

    def __init__(self, study: FollowedStudy, fresh: StudyReplay, course: StudyCourse) -> None:
        super().__init__(name="uli-past", daemon=True)
        # A study that is dropped lets go of its file at once.
        self._study, self._replay = weakref.ref(study), fresh
        self._end, self._counts, self._active = (
            course.begins,
            course.counts.copy(),
            course.active.copy(),
        )
        self._course = fresh.course = StudyCourse(fresh)
        self._problem: str | None = None

    def added_to(self, overview: Overview) -> Overview:
        """Return an overview with what has been read so far, which is not all of it."""
        course = self._course
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
            while self._replay.last.sequence < self._end:
                begun = time.monotonic()
                if not self._go_on():
                    return
                time.sleep(time.monotonic() - begun)
            if not self._fits():
                raise StudyDivergedError(
                    f"{self._replay.path}: event {self._end}, from which this study went on, is "
                    "not what its events lead to; audit it"
                )
            study = self._study()
            if study is not None:
                study._complete(self, self._course)
        except UliError as problem:
            self._problem = str(problem)

    def _go_on(self) -> bool:
        """Replay a page; return whether the study is there to be read."""
        study = self._study()
        if study is None:
            return False
        try:
            page = study._read_page(self._replay.last)
        except StudyUnavailableError:
            time.sleep(PAUSE)
            return True
        del study  # not held while it is replayed
        room = self._end - self._replay.last.sequence
        if not page:
            raise StudyError(f"{self._replay.path}: the past ends too early")
        self._replay.replay(page[:room])
        return True

    def _fits(self) -> bool:
        mine = self._course
        same = (mine.counts == self._counts).all() and (mine.active == self._active).all()
        return bool(same)
