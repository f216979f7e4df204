"""A study's player, kept where the journal is.

The player moves first, and the journal records it: whatever refuses or interrupts the two (a full
disk, Ctrl-C) leaves a player that may be ahead. It is marked as stale before it is touched and
until it is recorded, and a stale one is made again by the next call: from what was saved of it a
while ago and the events since.

So it is with another worker's events, where a journal is shared: what it has added is taken in
before every call, and if it adds something during one, the player is made again and the call is
done once more. It waits for nobody and takes nothing back.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from uli_fast.errors import (
    OvertakenError,
    StudyDivergedError,
    StudyError,
    StudyWriteError,
    UliError,
)
from uli_fast.study.address import Address
from uli_fast.study.events import Event, NewEvent
from uli_fast.study.following import FollowedStudy
from uli_fast.study.interface import AnyJournal
from uli_fast.study.past import Past, Source
from uli_fast.study.replay import Saved, StudyReplay
from uli_fast.study.setup import Setup
from uli_fast.study.snapshots import EVENT, due, made

# A copy of all decisions is kept, in memory, after this share of events.
COPIES = 50

T = TypeVar("T")


class StudyCore(FollowedStudy):
    """The part of a study that keeps the player and the journal together."""

    def __init__(
        self, path: Path | Address, journal: AnyJournal | None, setup: Setup, trace: StudyReplay
    ) -> None:
        self.path, self._journal, self._setup, self._replay = path, journal, setup, trace
        self._lock, self._pid = threading.RLock(), os.getpid()
        self._writable = journal is not None
        self._stale = False  # the player may be ahead of the journal: make it again
        self._saved: Saved | None = None
        self._kept, self._size = 0, 0  # the event of the last snapshot, and its characters
        self._first, self._versions = trace.last, dict[str, str]()
        self._past = Past(path, self._first)
        self._course = self._reader = None  # until somebody follows it

    def _play(self, source: Source) -> None:
        """Play what is there, from a snapshot on or from the beginning."""
        if not self._go_on():
            self._replay.replay(source.events(self._first))

    def _go_on(self) -> bool:
        """Go on from a snapshot, if there is one that nothing speaks against."""
        journal, fresh = self._journal, self._replay
        if journal is None or not (self._setup.plain and fresh.player.forgets):
            return False
        for last, content in journal.usable(self._first):
            try:
                saved = fresh.read(last, content)
                replay = StudyReplay.restored(self.path, journal, self._setup, saved)
                replay.check(journal.decisions(last.sequence))
                replay.replay(journal.events(last))
            except (UliError, AttributeError, LookupError, TypeError, ValueError):
                continue  # the events will tell
            self._replay, self._saved, self._kept = replay, saved, last.sequence
            return True
        return False

    # The lock is taken by ``with`` itself, and by no context manager of ours: whatever comes
    # between the two would leave it locked.

    def _turn(self) -> Any:
        """Return the lock to wait for."""
        if os.getpid() != self._pid:  # a lock that a fork has copied may never be free
            raise StudyError(f"{self.path} was opened in another process: open it after forking")
        return self._lock

    def _get_ready(self, to_write: bool = False) -> None:
        """Have the player where the journal is."""
        if self._writable and (self._journal is None or self._journal.closing):
            raise StudyError(f"{self.path}: this study is closed")
        if to_write and self._journal is None:
            raise StudyWriteError(f"{self.path} was opened for reading")
        if self._stale:
            self._play_again()
        elif self._journal is not None and self._journal.shared:
            self._catch_up(self._journal)
        if self._journal is not None and self._replay.window is not None:
            self._close_windows(to_write)
        if self._course is not None:
            self._course.look(self._replay)
        if to_write:
            self._save()

    def _close_windows(self, to_write: bool) -> None:
        """Settle what was not told in time."""
        raise NotImplementedError

    def _add(self, entries: Sequence[NewEvent], point: str) -> list[Event]:
        assert self._journal is not None
        return self._journal.add_many(self._replay.last, entries, point)

    def _recorded(self, step: Callable[[], T]) -> T:
        """Do what adds to the journal, again if another worker was first, with its events known."""
        while True:
            last = self._replay.last
            try:
                return step()
            except OvertakenError:
                self._play_again()
                if self._replay.last.sequence <= last.sequence:  # what is in the way is no event
                    raise StudyDivergedError(
                        f"{self.path} is damaged: no event can follow event {last.sequence}"
                    ) from None
                self._hold()

    def _catch_up(self, journal: AnyJournal) -> None:
        """Take in what other workers have added."""
        self._stale = True
        self._replay.replay(journal.events(self._replay.last))
        self._stale = False

    def _hold(self) -> None:
        """Keep a copy in memory: where others are at work, the next one to be first is near."""
        player, last = self._replay.player, self._replay.last.sequence
        since = last - (self._saved.last.sequence if self._saved else 0)
        if self._setup.plain and (player.forgets or since * COPIES > last):
            self._forget()
            self._saved = self._replay.saved()

    def _forget(self) -> None:
        self._stale = True  # interrupted, it may have forgotten by half
        self._replay.player.forget()
        self._stale = False

    def _save(self) -> None:
        """Keep a copy to go on from, once there is much to catch up with."""
        replay, last = self._replay, self._replay.last
        since = last.sequence - self._kept
        if not due(since, last.sequence, self._size):
            return
        self._kept = last.sequence
        self._forget()
        if not self._setup.plain:
            return
        self._saved = saved = replay.saved()
        if not replay.player.forgets:
            self._size = EVENT * (last.sequence // COPIES)
            return
        snapshot = made(self._first, last, saved.content())
        self._size = len(snapshot.content)
        assert self._journal is not None
        with contextlib.suppress(StudyWriteError):  # what is to be recorded next will tell
            self._journal.keep(snapshot)

    def _play_again(self) -> None:
        """Make the player again: as it was saved, or from the beginning, and the events since."""
        assert self._journal is not None
        if self._saved is not None:
            replay = StudyReplay.restored(self.path, self._journal, self._setup, self._saved)
        else:
            player, window = self._setup.start(), self._setup.window
            replay = StudyReplay(self.path, self._journal, self._first, player, window)
        replay.course = self._course
        replay.replay(self._journal.events(replay.last))
        self._replay = replay
        self._stale = False
