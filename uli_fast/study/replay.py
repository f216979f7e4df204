"""What a study has been told so far: a player, and a record of every decision."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast.errors import ArgumentError, StudyDivergedError, StudyError
from uli_fast.players import revived
from uli_fast.players._arms import Decision
from uli_fast.players.policy_elimination import PolicyDecision
from uli_fast.players.spanner_elimination import VectorDecision
from uli_fast.study.events import Event
from uli_fast.study.history import RECORDS, BlockRecord, DecisionRecord, EpisodeRecord, History
from uli_fast.study.setup import Setup

ROUNDING = 1e-9


class Saved(NamedTuple):
    """What a replay was after an event, none of it shared with what it is now."""

    last: Event
    state: dict[str, Any]  # the player's
    records: list[DecisionRecord | EpisodeRecord]
    decisions: list[Decision | VectorDecision | PolicyDecision]
    requests: dict[str, int]
    blocks: list[BlockRecord]


class StudyReplay:
    """A player that has been told what a journal says, up to its last event."""

    def __init__(self, path: Path, first: Event, player: Any) -> None:
        self.path, self.last, self.player = path, first, player
        self.kind = RECORDS[player.outcome_names]
        self.records: list[DecisionRecord | EpisodeRecord] = []
        self.decisions: list[Decision | VectorDecision | PolicyDecision] = []
        self.requests: dict[str, int] = {}
        self.blocks: list[BlockRecord] = []

    def saved(self) -> Saved:
        """Return all that is known, to go on from here later."""
        records, decisions = list(self.records), list(self.decisions)
        known = (records, decisions, dict(self.requests), list(self.blocks))
        return Saved(self.last, self.player.state(), *known)

    @classmethod
    def restored(cls, path: Path, setup: Setup, saved: Saved) -> StudyReplay:
        """Return a replay as it was when it was saved."""
        arms = setup.arguments.get("arms")
        replay = cls(path, saved.last, revived(saved.state, setup.learner, arms))
        replay.records, replay.decisions = list(saved.records), list(saved.decisions)
        replay.requests, replay.blocks = dict(saved.requests), list(saved.blocks)
        return replay

    def replay(self, events: Iterable[Event]) -> None:
        """Make every decision again and compare."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when it happened
            for event in events:
                with as_study_error(self.path, event):
                    self._repeat(event, event.content)

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
            self.note_ask(event, content, _as_recorded(decision, content))
            return
        if event.kind == "block":
            self._repeat_block(event, content)
            return
        position = self.position(event.decision)
        if self.records[position].status != "pending":
            raise StudyDivergedError(f"{self.path}: decision {event.decision} is settled twice")
        if event.kind == "tell":
            self.player.tell_again(position, content["reward"])
        elif event.kind == "missing":
            self.player.tell_missing(position + 1, content["reason"])
        else:
            raise StudyDivergedError(f"{self.path}: event {event.sequence} is of no known kind")
        self.note_tell(event, content)

    def _repeat_block(self, event: Event, content: dict[str, Any]) -> None:
        id, rows = _check.key("block_id", content["block"]), content["sums"]
        sums = {arm: tuple(row) for arm, *row in rows}
        before = len(self.blocks_told)
        self.player.tell_block(sums, id)
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

    def note_block(self, event: Event, content: Mapping[str, Any]) -> None:
        """Record a block of sums."""
        sums = {arm: tuple(row) for arm, *row in content["sums"]}
        self.blocks.append(BlockRecord(content["block"], event.time, sums))
        self.last = event

    def note_ask(self, event: Event, content: Mapping[str, Any], decision: Any) -> None:
        """Record a decision."""
        if event.request is not None:
            if event.request in self.requests:
                raise StudyDivergedError(f"{self.path}: {event.request!r} has two decisions")
            self.requests[event.request] = decision.id
        self.decisions.append(decision)
        about = (event.request, content["metadata"], event.time, "pending")
        self.records.append(self.kind(decision.id, content["arm"], decision.probability, *about))
        self.last = event

    def note_tell(self, event: Event, content: Mapping[str, Any]) -> None:
        """Record what became of a decision."""
        assert event.decision is not None
        position, found = event.decision - 1, dict[str, Any](told=event.time)
        if event.kind == "tell":
            found |= {"status": "reward"} | self.player.outcome(position, content["reward"])
        else:
            found |= {"status": "missing", "reason": content["reason"]}
        self.records[position] = self.records[position]._replace(**found)
        self.last = event

    def history(self, ids: Iterable[int] | None = None) -> History:
        """Return every decision and what became of it, or those with some ids."""
        chosen = self.records if ids is None else (self.records[id - 1] for id in ids)
        return History(chosen, self.path, self.kind)

    def asked_before(self, known: int, request: Mapping[str, Any]) -> Any:
        """Return a decision again, if it was asked for in the same way."""
        self.player.check_request(known - 1, request)
        return self.decisions[known - 1]

    def position(self, decision_id: Any) -> int:
        """Return the position of a decision, from its id."""
        return _check.decision("decision_id", decision_id, len(self.records))


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


def _as_recorded(decision: Any, content: Mapping[str, Any]) -> Any:
    """Return a decision with the very numbers that were given out."""
    decision = decision._replace(probability=content["probability"])
    if isinstance(decision[1], tuple):
        return decision._replace(arm=tuple(content["arm"]))
    if isinstance(decision[1], np.ndarray) and decision[1].dtype == np.float64:
        drawn = np.array(content["arm"])
        drawn.flags.writeable = False
        return decision._replace(policy=drawn)
    return decision


@contextlib.contextmanager
def as_study_error(path: Path, event: Event) -> Iterator[None]:
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
    return {"arm": arm, "probability": decision.probability}
