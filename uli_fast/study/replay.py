"""What a study has been told so far: a player, and what it is waiting for."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1
from uli_fast.errors import ArgumentError, StudyDivergedError, StudyError
from uli_fast.players import revived
from uli_fast.players._certificate import Certificate
from uli_fast.study import snapshots
from uli_fast.study.address import Address
from uli_fast.study.course import StudyCourse, active_of
from uli_fast.study.events import Event, has_reward
from uli_fast.study.history import RECORDS, DecisionRecord, EpisodeRecord, History
from uli_fast.study.past import Source, asked
from uli_fast.study.setup import Setup
from uli_fast.study.window import Window

ROUNDING = 1e-9
OLDER = "; if an older state was put in place of the study, ask again with its request first"
STATUSES = ("reward", "missing", "pending")


class Waiting(NamedTuple):
    """A decision whose outcome is awaited, and the number of the event that made it."""

    sequence: int
    record: DecisionRecord | EpisodeRecord


class Held(NamedTuple):
    """Outcomes that are known and not learned from, and the decision that they wait for."""

    outcomes: int
    decision: int
    asked: str  # UTC


class Saved(NamedTuple):
    """What a replay was after an event, none of it shared with what it is now."""

    last: Event
    state: dict[str, Any]  # the player's
    waiting: dict[int, Waiting]
    counts: dict[Any, Counter[str]]
    windows: dict[str, int]

    def content(self) -> dict[str, Any]:
        """Return all but the event as JSON has it; records are in the file already."""
        return {
            "state": self.state,
            "waiting": [[id, one.sequence] for id, one in self.waiting.items()],
            "counts": [[of[x] for x in STATUSES] for of in self.counts.values()],
            "windows": self.windows,
        }


class StudyReplay:
    """A player that has been told what a journal says, up to its last event."""

    def __init__(
        self,
        path: Path | Address,
        source: Source,
        last: Event,
        player: Any,
        window: Window | None = None,
    ) -> None:
        self.path, self.source, self.last, self.player = path, source, last, player
        self.window = window
        # How many the study has closed by itself, and how many outcomes came after that.
        self.windows = {"closed": 0, "late": 0}
        self.kind = RECORDS[player.outcome_names]
        self.waiting: dict[int, Waiting] = {}  # by the ids
        # By the arms, where they are listed: how many are pending, have a reward, are missing.
        self.counts: dict[Any, Counter[str]] = {arm: Counter() for arm in player.labels}
        # Not a method: a study that is dropped lets go of its file at once.
        player.queue.recall = partial(_recalled, path, source)
        self.course: StudyCourse | None = None  # told of all that is noted, where somebody follows
        self._moves: deque[B1] = deque()  # arms in play after each move that is not noted yet

    def saved(self) -> Saved:
        """Return all that is known, to go on from here later."""
        counts = {arm: Counter(of) for arm, of in self.counts.items()}
        waiting, windows = dict(self.waiting), dict(self.windows)
        return Saved(self.last, self.player.state(), waiting, counts, windows)

    @classmethod
    def restored(
        cls, path: Path | Address, source: Source, setup: Setup, saved: Saved
    ) -> StudyReplay:
        """Return a replay as it was when it was saved."""
        player = revived(saved.state, setup.learner, setup.arguments.get("arms"))
        replay = cls(path, source, saved.last, player, setup.window)
        replay.waiting, replay.windows = dict(saved.waiting), dict(saved.windows)
        replay.counts = {arm: Counter(of) for arm, of in saved.counts.items()}
        return replay

    def read(self, last: Event, content: Mapping[str, Any]) -> Saved:
        """Return what a snapshot holds, by the fresh player of this replay; refuse nonsense."""
        waiting = {}
        for id, sequence in content["waiting"]:
            event = self.source.event(sequence)
            if event is None or (event.kind, event.decision) != ("ask", id):
                raise StudyDivergedError(f"{self.path}: decision {id} is not awaited")
            waiting[id] = Waiting(sequence, asked(event, event.content, self.kind))
        rows = [Counter(dict(zip(STATUSES, row, strict=True))) for row in content["counts"]]
        counts = dict(zip(self.counts, rows, strict=True))
        windows = {name: _check.whole(name, content["windows"][name], 0) for name in self.windows}
        return Saved(last, content["state"], waiting, counts, windows)

    def check(self, decisions: int) -> None:
        """Refuse a restored replay that contradicts itself, or the number of decisions."""
        of_all = Counter[str]()
        for of in self.counts.values():
            of_all.update(of)
        counted = not self.counts or (
            of_all.total() == decisions and of_all["pending"] == len(self.waiting)
        )
        same = len(self.player.queue) == decisions and list(self.waiting) == list(
            self.player.pending
        )
        if not (same and counted):
            raise StudyDivergedError(f"{self.path}: a snapshot contradicts itself")

    def replay(self, events: Iterable[Event]) -> None:
        """Make every decision again and compare."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when it happened
            for event in events:
                with as_study_error(self.path, event):
                    self._repeat(event, event.content)
                if self.course is not None:
                    self.course.look(self)
                if event.sequence % snapshots.BEHIND == 0:
                    self.player.forget()

    def _repeat(self, event: Event, content: dict[str, Any]) -> None:
        if datetime.fromisoformat(event.time).utcoffset() is None:
            raise StudyDivergedError(f"{self.path}: event {event.sequence} has no time zone")
        if event.kind == "ask":
            request = {"state": content["state"]} if "state" in content else {}
            decision = self.player.ask(**request)
            found = shown(decision)
            if decision.id != event.decision or not _same(content, found):
                raise StudyDivergedError(
                    f"{self.path}: decision {event.decision} was {content.get('arm')!r}, "
                    f"and comes out as {found['arm']!r}"
                )
            self.note_ask(event, content)
            return
        if event.kind == "block":
            self._repeat_block(event, content)
            return
        position = self.position(event.decision)
        waiting = self.waiting.get(position + 1)
        if event.kind == "late":
            if waiting is not None or not self.windows["closed"]:
                raise StudyDivergedError(f"{self.path}: event {event.sequence} came in time")
            self.note_late(event, content)
            return
        if waiting is None:
            raise StudyDivergedError(f"{self.path}: decision {event.decision} is settled twice")
        if event.kind == "closed":
            if self.window is None or not self.window.closes(waiting.record.asked, content):
                raise StudyDivergedError(
                    f"{self.path}: event {event.sequence} closes no window that was over"
                )
        elif event.kind not in ("tell", "missing"):
            raise StudyDivergedError(f"{self.path}: event {event.sequence} is of no known kind")
        self.take_in(event.kind, position, content)
        self.note_tell(event, content)

    def take_in(self, kind: str, position: int, content: Mapping[str, Any]) -> None:
        """Let the player learn what became of a decision."""
        if has_reward(kind, content):
            self.player.tell_again(position, content["reward"])
        else:
            self.player.tell_missing(position + 1, content["reason"])
        self.moved()

    def moved(self) -> None:
        """Remember which arms are in play after what the player has just learned."""
        if self.course is not None:
            self._moves.append(active_of(self.player))

    def _repeat_block(self, event: Event, content: dict[str, Any]) -> None:
        id, rows = _check.key("block_id", content["block"]), content["sums"]
        sums = {arm: tuple(row) for arm, *row in rows}
        before = len(self.blocks_told)
        self.player.tell_block(sums, id)
        self.moved()
        if len(self.blocks_told) == before or self.block_content() != content:
            raise StudyDivergedError(f"{self.path}: event {event.sequence} tells a block again")
        self.note_block(event, content)

    @property
    def blocks_told(self) -> tuple[Any, ...]:
        """The blocks that the player was told."""
        found: tuple[Any, ...] = getattr(self.player, "blocks", ())
        return found

    def block_content(self) -> dict[str, Any]:
        """Return the last block that the player was told, as JSON has it."""
        block = self.blocks_told[-1]
        rows = [[self.player.labels[a], *row] for a, row in block.sums.items()]
        return {"block": block.id, "sums": rows}

    def note(self, event: Event, content: Mapping[str, Any]) -> None:
        """Record an event that the player knows."""
        noted = {"ask": self.note_ask, "block": self.note_block, "late": self.note_late}
        noted.get(event.kind, self.note_tell)(event, content)

    def note_ask(self, event: Event, content: Mapping[str, Any]) -> None:
        """Record a decision."""
        assert event.decision is not None
        self.waiting[event.decision] = Waiting(event.sequence, asked(event, content, self.kind))
        if self.counts:
            self.counts[content["arm"]]["pending"] += 1
        if self.course is not None:
            self.course.asked(event, content["arm"])
        self.last = event

    def note_block(self, event: Event, content: Mapping[str, Any]) -> None:
        """Record a block of sums."""
        if self.course is not None:
            self.course.told_block(event, content, self._moves.popleft())
        self.last = event

    def note_tell(self, event: Event, content: Mapping[str, Any]) -> None:
        """Record what became of a decision."""
        assert event.decision is not None
        gone = self.waiting.pop(event.decision)
        if self.counts:
            of = self.counts[gone.record.arm]
            of["pending"] -= 1
            of["reward" if has_reward(event.kind, content) else "missing"] += 1
        self.windows["closed"] += event.kind == "closed"
        if self.course is not None:
            self.course.told(event, gone.record.arm, content, self._moves.popleft())
        self.last = event

    def note_late(self, event: Event, content: Mapping[str, Any]) -> None:
        """Record an outcome that came after its window was closed."""
        self.windows["late"] += 1
        if self.course is not None:
            self.course.passed(event)
        self.last = event

    def over(self, at: datetime) -> Iterator[int]:
        """Return the decisions whose window is to be closed."""
        if self.window is not None:
            yield from self.window.over((one.record for one in self.waiting.values()), at)

    @property
    def held(self) -> Held | None:
        """What holds up outcomes that are known; None if nothing does."""
        queue = self.player.queue
        known = len(queue) - queue.settled - len(self.waiting)
        if not known:
            return None
        first = queue.settled + 1
        return Held(known, first, self.waiting[first].record.asked)

    def certificate(self) -> Certificate:
        """Return what is certain, and what is believed of outcomes that the window counts."""
        found: Certificate = self.player.certificate()
        if self.window is None or self.window.then is None:
            return found
        return found._replace(assumes=(*found.assumes, self.window.assumption))

    def pending(self) -> History:
        """Return the decisions whose outcome is awaited."""
        ids = self.player.pending
        return History((self.waiting[id].record for id in ids), self.path, self.kind)

    def asked_before(self, request_id: str, request: Mapping[str, Any]) -> Any:
        """Return a decision again, if it was asked for, in the same way; None if it was not."""
        event = self.source.asked(request_id)
        if event is None or event.sequence > self.last.sequence:  # not known here yet
            return None
        assert event.decision is not None
        self.player.check_request(event.decision - 1, request)
        return self.player.decision(event.decision, event.content)

    def position(self, decision_id: Any) -> int:
        """Return the position of a decision, from its id."""
        return _check.decision("decision_id", decision_id, len(self.player.queue), OLDER)


def _recalled(path: Path | Address, source: Source, position: int) -> tuple[Any, str | None]:
    """Return what became of a decision that its player has forgotten."""
    event = source.told(position + 1)
    if event is None:
        raise StudyDivergedError(f"{path}: the outcome of decision {position + 1} is gone")
    content = event.content
    if has_reward(event.kind, content):
        return content["reward"], None
    return None, content.get("reason")


def _same(content: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Compare a decision with the one recorded.

    Arms and actions must be the same. Numbers that are computed, the vectors of an arm set and
    probabilities, may differ in their last digits: processors round in different ways.
    """
    arms = _close(found["arm"], content["arm"])
    return arms and _close(found["probability"], content["probability"])


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_close, a, b))
    if isinstance(a, float):
        return bool(a == b) or math.isclose(a, b, rel_tol=ROUNDING, abs_tol=1e-12)
    return bool(a == b)


@contextlib.contextmanager
def as_study_error(path: Path | Address, event: Event) -> Iterator[None]:
    """Turn what an event that makes no sense raises into a StudyError, whoever wrote it."""
    try:
        yield
    except StudyError:
        raise
    except MemoryError as problem:
        raise StudyError(f"{path}: event {event.sequence} asks for too much memory") from problem
    except ArgumentError as problem:
        if event.kind == "create":
            raise
        raise StudyDivergedError(f"{path}: event {event.sequence}: {problem}") from problem
    except (
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as problem:
        raise StudyDivergedError(f"{path}: event {event.sequence}: {problem!r}") from problem


def shown(decision: Any) -> dict[str, Any]:
    """Return a decision as JSON has it."""
    arm = decision[1]
    if isinstance(arm, np.ndarray | tuple):
        arm = np.asarray(arm).tolist()
    chance = decision.probability
    return {"arm": arm, "probability": None if math.isnan(chance) else chance}
