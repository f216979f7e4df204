"""What calls do to a study: the player moves, and a draft holds what is to be recorded of it.

A call is checked once and becomes a step. A step moves the player and adds to the draft, or is
refused before it has touched either. The draft is then recorded, in one write, and whoever called
hears of it after that.

Steps of several calls may share a draft. Each sees what those before it did, as if that had been
recorded; if one is refused, the others go on. A step that fails halfway, as a user's own rule may,
has spoiled the player for the others: it is made again, and they are done without that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from uli_fast import _check
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    RewardRangeError,
    StudyWriteError,
    UnknownDecisionError,
    UnsupportedError,
)
from uli_fast.players._queue import plain
from uli_fast.study import events
from uli_fast.study.core import StudyCore
from uli_fast.study.events import Event, NewEvent
from uli_fast.study.replay import shown
from uli_fast.study.window import MOST_CLOSED


class Wanted(NamedTuple):
    """A decision that is asked for."""

    key: str | None  # the request
    about: dict[str, Any]  # metadata
    request: dict[str, Any]  # what the player needs to know


class Told(NamedTuple):
    """What is told of a decision."""

    kind: str  # of the event
    position: int
    content: dict[str, Any]
    new: bool


class Draft:
    """Events that are to be recorded in one write."""

    def __init__(self) -> None:
        self.entries: list[NewEvent] = []
        self.asked: dict[str, Any] = {}  # decisions by request
        self.late: dict[int, dict[str, Any]] = {}  # what came after windows, by position
        self.touched = False  # whether the step that is being done has moved the player


class Step(NamedTuple):
    """A call that was checked."""

    run: Callable[[Draft], Any]  # may be done again, if another worker was first
    keys: Sequence[str] = ()  # requests that it will look up


class StudySteps(StudyCore):
    """The part of a study that decides and learns."""

    @property
    def learner(self) -> Any:
        """What plays."""
        return self._setup.learner

    # One call, or several, in one write.

    def _alone(self, step: Step, point: str) -> Any:
        def done() -> Any:
            draft = Draft()
            if step.keys:
                self._replay.source.expect(step.keys)
            found = step.run(draft)
            self._record(draft, point)
            return found

        return self._recorded(done)

    def _done_together(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Do calls in one write; return what each returns, or what it raises."""
        failed: dict[int, Exception] = {}  # by the number of the call
        steps: dict[int, Step] = {}
        for i, (name, *args) in enumerate(calls):
            try:
                steps[i] = _PREPARED[name](self, *args)
            except Exception as problem:
                failed[i] = problem
        keys = [key for step in steps.values() for key in step.keys if "\0" not in key]

        def done() -> dict[int, Any]:
            while True:
                if keys:
                    self._replay.source.expect(keys)
                draft, spoiled = Draft(), dict[int, Exception]()
                found = {i: self._tried(step, draft, i, spoiled) for i, step in steps.items()}
                if not spoiled:
                    self._record(draft, "many")
                    return found
                failed.update(spoiled)
                for i in spoiled:
                    del steps[i]
                self._play_again()

        both = failed | self._recorded(done) if steps else failed
        return [both[i] for i in range(len(calls))]

    def _tried(self, step: Step, draft: Draft, i: int, spoiled: dict[int, Exception]) -> Any:
        """Do a step; return what it returns or raises. One that spoils the player is the last."""
        if spoiled:
            return None
        draft.touched = False
        try:
            return step.run(draft)
        except Exception as problem:
            if draft.touched:
                spoiled[i] = problem
            return problem

    def _record(self, draft: Draft, point: str) -> None:
        if draft.entries:
            for event, entry in zip(self._add(draft.entries, point), draft.entries, strict=True):
                self._replay.note(event, entry.content)
        elif self._journal is not None:
            self._journal.check()
        self._stale = False

    # Windows.

    def _close_windows(self, to_write: bool) -> None:
        """Settle what was not told in time; looks go on if that cannot be written now."""
        try:
            while self._recorded(self._closed_some):
                pass
        except StudyWriteError:
            if to_write:
                raise
            self._play_again()

    def _closed_some(self) -> bool:
        """Close windows that are over, in one write; return whether there were any."""
        at, draft = events.now(), Draft()
        over = list(islice(self._replay.over(at), MOST_CLOSED))
        if over and self._setup.window is not None:
            content = self._setup.window.closing(at)
            self._take_in((Told("closed", id - 1, content, True) for id in over), draft)
            self._record(draft, "closed")
        return bool(over)

    def _closed(self, position: int) -> list[Event]:
        """Return how the window has settled a decision, and what came later; [] if it has not."""
        if self._setup.window is None or position + 1 in self._replay.waiting:
            return []
        told = self._replay.source.told_among(position + 1, position + 1)
        return told if told and told[0].kind == "closed" else []

    def _late(self, position: int, content: dict[str, Any], draft: Draft) -> Told | None:
        """Return an outcome whose window the study has closed, and whether it is news."""
        told = self._closed(position)
        if not told:
            return None
        before = draft.late.get(position, told[1].content if told[1:] else None)
        if before is not None and before != content:
            raise ConflictingRewardError(
                "reward", f"decision {position + 1} already had {before['reward']!r}, late"
            )
        new = before is None and content["reward"] != told[0].content.get("reward")
        return Told("late", position, content, new)

    # Deciding.

    def _asking(
        self, request_id: Any = None, metadata: Any = None, more: Mapping[str, Any] | None = None
    ) -> Step:
        wanted = [self._wanted(request_id, metadata, more or {})]
        return Step(lambda draft: self._decide(wanted, draft)[0], _keys(wanted))

    def _asking_many(
        self, requests: Any, metadata: Any = None, more: Mapping[str, Any] | None = None
    ) -> Step:
        keys = _check.requests("requests", requests)
        tables = _check.metadata_of_each("metadata", metadata, len(keys))
        both = zip(keys, tables, strict=True)
        wanted = [self._wanted(key, table, more or {}) for key, table in both]
        return Step(lambda draft: self._decide(wanted, draft), _keys(wanted))

    def _wanted(
        self, request_id: Any, metadata: Mapping[str, Any] | None, more: Mapping[str, Any]
    ) -> Wanted:
        """Check what a decision is asked for with."""
        about = {**_check.json_table("metadata", {} if metadata is None else metadata), **more}
        request = self._replay.player.read_request(about)
        if more:
            about = _check.json_table("metadata", about)
        key = None if request_id is None else _check.key("request_id", request_id)
        return Wanted(key, about, request)

    def _decide(self, wanted: Sequence[Wanted], draft: Draft) -> list[Any]:
        """Make the decisions that were not made before; return all of them."""
        replay, new = self._replay, dict[Any, Wanted]()
        known = dict[Any, Any]()  # decisions by request, or by place where there is none
        names = [i if one.key is None else one.key for i, one in enumerate(wanted)]
        for name, one in zip(names, wanted, strict=True):
            before = None if one.key is None else self._asked_before(one.key, one.request, draft)
            if before is not None:
                known[name] = before
            elif new.setdefault(name, one).request != one.request:
                raise ArgumentError("requests", f"{name!r} is asked for in two ways")
        if new:
            replay.player.check_ask(len(new))
            self._stale = draft.touched = True
            made = [replay.player.ask(**one.request) for one in new.values()]
            draft.entries += map(_entry, made, new.values())
            known |= zip(new, made, strict=True)
            draft.asked |= {key: known[key] for key in new if isinstance(key, str)}
        return [known[name] for name in names]

    def _asked_before(self, key: str, request: Mapping[str, Any], draft: Draft) -> Any:
        """Return a decision again, if it was asked for, in the same way; None if it was not."""
        if key not in draft.asked:
            return self._replay.asked_before(key, request)
        self._replay.player.check_request(draft.asked[key].id - 1, request)
        return draft.asked[key]

    # Telling.

    def _telling(self, decision_id: Any, outcome: Sequence[Any], request_id: Any = None) -> Step:
        def read(draft: Draft) -> Told:
            return self._outcome(decision_id, outcome, draft)

        return self._told(decision_id, request_id, read)

    def _telling_missing(self, decision_id: Any, reason: Any, request_id: Any = None) -> Step:
        return self._told(decision_id, request_id, lambda _: self._missing(decision_id, reason))

    def _told(self, decision_id: Any, request_id: Any, read: Callable[[Draft], Told]) -> Step:
        key = None if request_id is None else _check.key("request_id", request_id)

        def run(draft: Draft) -> None:
            self._check_request(decision_id, key, draft)
            self._take_in([read(draft)], draft)

        return Step(run, [] if key is None else [key])

    def _check_request(self, decision_id: Any, key: str | None, draft: Draft) -> None:
        """Refuse a decision that was asked for with another request.

        Where an older state was put in place of a study, ids that were given are given again.
        """
        if key is None:
            return
        position, last = self._replay.position(decision_id), self._replay.last.sequence
        event = self._replay.source.asked(key)
        known = None if event is None or event.sequence > last else event.decision
        if (draft.asked[key].id if key in draft.asked else known) != position + 1:
            raise UnknownDecisionError(
                "request_id",
                f"decision {position + 1} was not asked for with {_check.shown(key)}; if an older "
                "state was put in place of the study, ask again with that request first",
            )

    def _telling_many(
        self, outcomes: Any, request_ids: Any = None, only_pending: Any = False
    ) -> Step:
        rows = _check.told("outcomes", outcomes)
        keys = _check.requests_of_each("request_ids", request_ids, len(rows))
        only = _check.flag("only_pending", only_pending)

        def run(draft: Draft) -> None:
            self._take_in(self._read_rows(rows, keys, only, draft), draft)

        return Step(run, [key for key in keys if key is not None])

    def _read_rows(
        self,
        rows: Sequence[Sequence[Any]],
        keys: Sequence[str | None],
        only_pending: bool,
        draft: Draft,
    ) -> list[Told]:
        """Check several outcomes, and which of them are news."""
        told = []
        for i, ((id, *outcome), key) in enumerate(zip(rows, keys, strict=True)):
            missing, left_out = len(outcome) == 2 and outcome[0] is None, False
            try:
                self._check_request(id, key, draft)
                position = self._replay.position(id)
                left_out = only_pending and not self._replay.player.queue.awaits(position)
                if missing:
                    read = self._missing(id, outcome[1])
                else:
                    read = self._outcome(id, outcome, draft)
            except ArgumentError as problem:
                if left_out and isinstance(problem, ConflictingRewardError):
                    continue  # it is an outcome, and another one is known
                if len(rows) > 1:
                    problem.add_note(f"in outcomes[{i}]")
                raise
            if not left_out:
                told.append(read)
        return told

    def _outcome(self, decision_id: Any, outcome: Sequence[Any], draft: Draft) -> Told:
        """Check an outcome, and whether it is news."""
        replay = self._replay
        position, names = replay.position(decision_id), replay.player.outcome_names
        if len(outcome) != len(names):
            wanted = " and ".join(names) if len(names) > 1 else f"one {names[0]}"
            raise ArgumentError("outcome", f"must be {wanted}, got {len(outcome)} values")
        if outcome[0] is None:
            id = position + 1
            way = f"tell_missing({id}, reason), or ({id}, None, reason) in tell_many"
            raise RewardRangeError(names[0], f"is None: if it never comes, {way}")
        read = replay.player.read_outcome(position, *outcome)
        content = {"reward": plain(read)}
        late = self._late(position, content, draft)
        if late is not None:
            return late
        return Told("tell", position, content, replay.player.queue.is_new(position, read))

    def _missing(self, decision_id: Any, reason: Any) -> Told:
        """Check that an outcome may be missing, and whether that is news."""
        position = self._replay.position(decision_id)
        why = _check.key("reason", reason, _check.LONGEST_REASON)
        try:
            new = self._replay.player.queue.is_new_missing(position, why)
        except ConflictingRewardError:
            if not self._closed(position):
                raise
            assert self._setup.window is not None
            raise ConflictingRewardError(
                "reason",
                f"decision {position + 1} was settled by its window: {self._setup.window.sentence}",
            ) from None
        return Told("missing", position, {"reason": why}, new)

    def _take_in(self, told: Iterable[Told], draft: Draft) -> None:
        """Let the player learn what is new."""
        new = dict[int, Told]()
        for one in told:
            if one.new and new.setdefault(one.position, one) != one:
                raise ConflictingRewardError(
                    "outcomes", f"decision {one.position + 1} has two outcomes that differ"
                )
        if new:
            self._stale = draft.touched = True
            for one in new.values():
                if one.kind == "late":
                    draft.late[one.position] = one.content
                else:
                    self._replay.take_in(one.kind, one.position, one.content)
                draft.entries.append(NewEvent(one.kind, one.position + 1, None, one.content))

    # Blocks.

    def _telling_block(self, sums: Any, block_id: Any) -> Step:
        self._with_blocks()
        _check.key("block_id", block_id)
        return Step(lambda draft: self._take_in_block(sums, block_id, draft))

    def _take_in_block(self, sums: Any, block_id: str, draft: Draft) -> None:
        player, was = self._with_blocks(), self._stale
        before, self._stale, draft.touched = len(player.blocks), True, True
        try:
            player.tell_block(sums, block_id)
        except ArgumentError:
            if len(player.blocks) == before:
                self._stale, draft.touched = was, False
            raise
        if len(player.blocks) > before:
            self._replay.moved()
            draft.entries.append(NewEvent("block", None, None, self._replay.block_content()))

    def _with_blocks(self) -> Any:
        if not hasattr(self._replay.player, "tell_block"):
            name = type(self.learner).__name__
            raise UnsupportedError(f"{name} needs its outcomes one by one, not blocks of sums")
        return self._replay.player


# What may be called together, and how it is checked.
_PREPARED: dict[str, Callable[..., Step]] = {
    "ask": StudySteps._asking,
    "ask_many": StudySteps._asking_many,
    "tell": lambda study, decision_id, *outcome: study._telling(decision_id, outcome),
    "tell_one": StudySteps._telling,
    "tell_missing": StudySteps._telling_missing,
    "tell_many": StudySteps._telling_many,
    "tell_block": StudySteps._telling_block,
}
CALLS = tuple(_PREPARED)


def _keys(wanted: Iterable[Wanted]) -> list[str]:
    return [one.key for one in wanted if one.key is not None]


def _entry(decision: Any, wanted: Wanted) -> NewEvent:
    content = shown(decision) | wanted.request | {"metadata": wanted.about}
    return NewEvent("ask", decision.id, wanted.key, content)
