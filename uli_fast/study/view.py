"""What can be asked of a study without changing it."""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from uli_fast import _check
from uli_fast._support.html import as_shown, facts
from uli_fast.errors import DelayWarning, StudyError
from uli_fast.players._certificate import Certificate
from uli_fast.study import events
from uli_fast.study.events import Event
from uli_fast.study.history import BlockRecord, History
from uli_fast.study.past import Past, page
from uli_fast.study.replay import STATUSES, Held, StudyReplay
from uli_fast.study.sentences import held_up

MOST_RECORDS = 10_000  # of a page
MANY, SHARE = 100, 0.1  # outcomes that wait of which certificates warn, of those learned from


class Totals(NamedTuple):
    """Decisions, those with a reward, missing and awaited ones, and since when the oldest is."""

    decisions: int
    reward: int
    missing: int
    pending: int
    oldest: str | None  # UTC


def certified(study: StudyView) -> tuple[Certificate, int]:
    """Return the certificate, and the decision that is to be warned of; 0 without one."""
    with study._turn():
        study._get_ready()
        replay = study._replay
        held, settled, at = replay.held, replay.player.queue.settled, events.now()
        found = replay.certificate()._replace(held=held_up(held, replay.window, at))
    if held is None or held.outcomes < max(MANY, settled * SHARE):
        return found, 0
    usual = replay.window is not None and not replay.window.is_over(held.asked, at)
    return found, 0 if usual else held.decision


def warn_of(found: Certificate, blocking: int, before: int) -> int:
    """Warn of what holds up others, unless that was done before; return which that was."""
    if blocking in (0, before):
        return before
    warnings.warn(found.held, DelayWarning, stacklevel=3)
    return blocking


class StudyView:
    """The part of a study that looks; calls wait for each other, and for those that write."""

    _replay: StudyReplay
    _past: Past
    _warned_of = 0  # the decision that a warning has named last

    def _turn(self) -> Any:
        """Return the lock to wait for."""
        raise NotImplementedError

    def _get_ready(self, to_write: bool = False) -> None:
        """Have the player where the journal is."""
        raise NotImplementedError

    @as_shown
    def _repr_html_(self) -> str:
        now: list[tuple[str, str]] = []
        with self._turn():
            try:
                self._get_ready()
            except StudyError as problem:  # closed, or its database is away
                now.append(("now", f"{problem}; below is what was known last"))
            player = self._replay.player
            rows = [*now, ("learner", repr(player.learner)), *player.facts()]
        return facts(f"Study {self._replay.path}", rows)

    @property
    def arms(self) -> tuple[int | str, ...]:
        """The arms; none where decisions are vectors of a set or policies."""
        return tuple(self._replay.player.labels)

    @property
    def active(self) -> Any:
        """The arms still in play; for policies how many they are, or a mask of the actions left."""
        with self._turn():
            self._get_ready()
            return self._replay.player.active

    @property
    def room(self) -> int | None:
        """How many more decisions F allows for before outcomes are told; None: any number."""
        with self._turn():
            self._get_ready()
            room: int | None = self._replay.player.room
            return room

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """What ``tell`` is given besides the id of a decision."""
        return tuple(self._replay.player.outcome_names)

    @property
    def head(self) -> Event:
        """The last event: its hash, kept elsewhere, proves later that nothing was cut off."""
        with self._turn():
            self._get_ready()
            return self._replay.last

    @property
    def awaited(self) -> int:
        """How many decisions have no outcome yet."""
        with self._turn():
            self._get_ready()
            return len(self._replay.waiting)

    def recommend(self) -> Any:
        """Return what looks best so far among what is still in play."""
        with self._turn():
            self._get_ready()
            return self._replay.player.recommend()

    def intervals(self) -> dict[int | str, tuple[float, float]]:
        """Return each arm's confidence interval, missing outcomes taken at their worst."""
        with self._turn():
            self._get_ready()
            found: dict[int | str, tuple[float, float]] = self._replay.player.intervals()
            return found

    def certificate(self) -> Certificate:
        """Return what is certain about every arm in play, from settled outcomes alone.

        Its ``held`` names what other outcomes wait for. A DelayWarning does, too, once for each
        decision, where 100 and a tenth of all that it rests on wait, for longer than a window.
        """
        found, blocking = certified(self)
        self._warned_of = warn_of(found, blocking, self._warned_of)
        return found

    @property
    def held(self) -> Held | None:
        """What holds up outcomes that are known: how many, which decision, asked when."""
        with self._turn():
            self._get_ready()
            return self._replay.held

    @property
    def windows(self) -> dict[str, int]:
        """How many windows the study has closed by itself, and how many outcomes came later."""
        with self._turn():
            self._get_ready()
            return dict(self._replay.windows)

    def pending(self, older_than: float | timedelta | None = None) -> History:
        """Return the decisions whose outcome is awaited, or only those asked for that long ago."""
        with self._turn():
            self._get_ready()
            waiting = self._replay.pending()
        if older_than is None:
            return waiting
        since = events.now() - timedelta(seconds=_check.seconds("older_than", older_than))
        return waiting.only(lambda record: datetime.fromisoformat(record.asked) <= since)

    def history(self) -> History:
        """Return every decision and what became of it."""
        return self._happened()[0]

    def history_page(self, after: str = "", most: int = 100) -> tuple[History, str]:
        """Return a page of the history, and after what the next one begins; "" after the last.

        ``after`` is the id of a decision, or what the last page gave. Only the page is read.
        """
        place = _check.cursor("after", after)
        most = _check.whole("most", most, most=MOST_RECORDS)
        with self._turn():
            self._get_ready()
            replay = self._replay
            found, end = page(replay.source, replay.player, replay.last, place, most)
        records = History(found, replay.path, replay.kind)
        return records, "" if end is None else "{}.{}".format(*end)

    def events(self, after: int = 0, most: int = 1000) -> list[Event]:
        """Return the events after a number, as they were recorded, the first of them."""
        after, most = _check.whole("after", after, 0), _check.whole("most", most)
        with self._turn():
            self._get_ready()
            source = self._replay.source
            last = source.event(after) if after else None
            if after and last is None:
                return []
            return list(islice(source.events(last), most))

    def blocks(self) -> tuple[BlockRecord, ...]:
        """Return every block of sums."""
        return self._happened()[1]

    def _happened(self) -> tuple[History, tuple[BlockRecord, ...]]:
        with self._turn():
            self._get_ready()
            replay = self._replay
            return self._past.read(replay.source, replay.player, replay.last)

    def export(self, path: str | Path) -> None:
        """Write the history as CSV, JSON lines (.jsonl) or Parquet, by the suffix of the path."""
        self.history().export(path)

    def totals(self) -> Totals:
        """Return how many decisions there are and what became of them, whatever the arm.

        Plays that came in blocks are not among them: how many they are follows the number of arms
        in play, which those who are to see totals only should not be able to tell.
        """
        with self._turn():
            self._get_ready()
            queue, waiting = self._replay.player.queue, self._replay.waiting
            decisions, missing, pending = len(queue), queue.told_missing, len(waiting)
            first = next(iter(waiting.values()), None)
            oldest = None if first is None else first.record.asked
            return Totals(decisions, decisions - missing - pending, missing, pending, oldest)

    def counts(self) -> dict[Any, dict[str, int]]:
        """Return for every arm how many plays are settled, missing and awaited, blocks included."""
        with self._turn():
            self._get_ready()
            player, known = self._replay.player, self._replay.counts
            found = {arm: {x: of[x] for x in STATUSES} for arm, of in known.items()}
            for block in self._replay.blocks_told:
                for a, (plays, _, missing) in block.sums.items():
                    found[player.labels[a]]["reward"] += plays - missing
                    found[player.labels[a]]["missing"] += missing
        if not known:
            for record in self.history():
                of = found.setdefault(str(record.arm), dict.fromkeys(STATUSES, 0))
                of[record.status] += 1
        return found
