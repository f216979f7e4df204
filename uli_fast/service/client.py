"""A live study elsewhere: the methods of Study, done by a service that has it."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast.errors import ArgumentError
from uli_fast.players._arms import Decision
from uli_fast.players._certificate import Certificate
from uli_fast.players._sets import VectorDecision
from uli_fast.players.policy_elimination import PolicyDecision
from uli_fast.service import schemas as s
from uli_fast.service.wire import Wire
from uli_fast.study.history import RECORDS, BlockRecord, History
from uli_fast.study.replay import Held
from uli_fast.study.view import warn_of
from uli_fast.study.window import Window

PAGE = 1000  # records that are fetched at once


class Client:
    """A study behind ``uli serve``; threads may share it, each has a connection of its own.

    What Study returns and raises, this returns and raises. A request whose answer does not come
    is sent again, for as long as patience lasts: that is safe, as ``ask`` without a request id
    makes one of its own.

    Parameters
    ----------
    url
        Of the service, ``http://127.0.0.1:8321``; ``https://`` checks its certificate.
    token
        As ``uli token`` printed it.
    timeout
        Seconds that an answer may take.
    patience
        Seconds for which a service that cannot be reached, or is busy, is asked again; after that
        it is a StudyUnavailableError.
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 30.0, patience: float = 10.0
    ) -> None:
        self._wire = Wire(url, token, timeout, patience)
        self._warned_of = 0  # as in a Study

    # Deciding.

    def ask(
        self, request_id: str | None = None, metadata: Mapping[str, Any] | None = None, **more: Any
    ) -> Any:
        """Return the next decision, once it is on the service's disk.

        Asking again with the same ``request_id`` gives the same decision. ``metadata``, or
        further keywords, are kept with it; for policies ``state=`` is where the episode begins.
        """
        key = _key(request_id)
        body = {"request_id": key, "metadata": _table(metadata, more)}
        return _decision(self._wire.post("/v1/ask", body, s.DecisionAnswer))

    def ask_many(
        self,
        requests: int | Iterable[str | None],
        metadata: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
        **more: Any,
    ) -> list[Any]:
        """Return several decisions, once all of them are on the service's disk."""
        keys = [_key(key) for key in _check.requests("requests", requests)]
        body: dict[str, Any] = {"requests": keys}
        if metadata is not None and not isinstance(metadata, Mapping):
            tables = _check.metadata_of_each("metadata", metadata, len(keys))
            body["metadata"] = [_table(table, more) for table in tables]
        elif metadata or more:
            body["metadata"] = _table(metadata, more)
        made = self._wire.post("/v1/ask-many", body, s.DecisionsAnswer)
        return [_decision(one) for one in made.decisions]

    # Telling.

    def tell(self, decision_id: int, *outcome: Any, request_id: str | None = None) -> None:
        """Give the reward of a decision, or for policies the states and actions of its episode.

        With ``request_id``, a decision that was asked for with another one is refused.
        """
        self._wire.post("/v1/tell", _told(decision_id, outcome) | _asked_with(request_id))

    def tell_missing(self, decision_id: int, reason: str, request_id: str | None = None) -> None:
        """Say that an outcome will never come, and why; saying it again changes nothing."""
        self._wire.post("/v1/tell-missing", _missing(decision_id, reason) | _asked_with(request_id))

    def tell_many(
        self,
        outcomes: Iterable[tuple[Any, ...]],
        request_ids: Iterable[str | None] | None = None,
        only_pending: bool = False,
    ) -> None:
        """Give the outcomes of several decisions at once, all of them or none.

        With ``only_pending`` those are left out whose outcome is known already, whatever it is.
        """
        only = _check.flag("only_pending", only_pending)
        rows, given = [], _check.told("outcomes", outcomes)
        keys = _check.requests_of_each("request_ids", request_ids, len(given))
        for i, (id, *outcome) in enumerate(given):
            try:
                missing = len(outcome) == 2 and outcome[0] is None
                told = _missing(id, outcome[1]) if missing else _told(id, outcome)
                rows.append(told | _asked_with(keys[i]))
            except ArgumentError as problem:
                if len(given) > 1:
                    problem.add_note(f"in outcomes[{i}]")
                raise
        self._wire.post("/v1/tell-many", {"outcomes": rows, "only_pending": only})

    def tell_block(self, sums: Mapping[Any, tuple[Any, ...]], block_id: str) -> None:
        """Give counts and sums of plays that were handed out by ``allocation``."""
        _check.key("block_id", block_id)
        if not isinstance(sums, Mapping):
            raise ArgumentError("sums", f"must be {{arm: (plays, total)}}, got {sums!r}")
        names, rows = ("plays", "total", "missing"), []
        for arm, row in sums.items():
            if not isinstance(row, list | tuple) or len(row) not in (2, 3):
                raise ArgumentError(
                    "sums", f"arm {arm!r} must have (plays, total) or (plays, total, missing)"
                )
            rows.append({"arm": arm} | dict(zip(names, map(_number, row), strict=False)))
        self._wire.post("/v1/tell-block", {"block_id": block_id, "sums": rows})

    def allocation(self) -> dict[int | str, int]:
        """Return how often to play each arm until the next look, by anybody and in any order."""
        found = self._wire.get("/v1/allocation", s.AllocationAnswer)
        return {row.arm: row.plays for row in found.allocation}

    # Looking.

    @property
    def arms(self) -> tuple[int | str, ...]:
        """The arms; none where decisions are vectors of a set or policies."""
        return tuple(self._about().arms)

    @property
    def learner(self) -> str:
        """What plays, in words."""
        return str(self._about().learner)

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """What ``tell`` is given besides the id of a decision."""
        return tuple(self._about().outcome)

    @property
    def begun(self) -> str:
        """When the study was begun, UTC."""
        return str(self._about().begun)

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what computes, when the study was begun."""
        return dict(self._about().versions)

    def _about(self) -> s.StudyAnswer:
        found: s.StudyAnswer = self._wire.get("/v1/study", s.StudyAnswer)
        return found

    @property
    def active(self) -> Any:
        """The arms still in play; for policies how many they are, or a mask of the actions left."""
        found = self._wire.get("/v1/active", s.ActiveAnswer).active
        if isinstance(found, list) and found and isinstance(found[0], list):
            return _fixed(np.array(found, bool))
        return tuple(found) if isinstance(found, list) else found

    @property
    def room(self) -> int | None:
        """How many more decisions F allows for before outcomes are told; None: any number."""
        return self._about().room

    @property
    def window(self) -> Window | None:
        """How long outcomes may take, in ``seconds``, and what stands for one that took longer."""
        found = self._about().window
        return None if found is None else Window(found.seconds, found.then)

    @property
    def windows(self) -> dict[str, int]:
        """How many windows the study has closed by itself, and how many outcomes came later."""
        return dict(self._about().windows)

    @property
    def held(self) -> Held | None:
        """What holds up outcomes that are known: how many, which decision, asked when."""
        found = self._about().held
        return None if found is None else Held(found.outcomes, found.decision, found.asked)

    def recommend(self) -> Any:
        """Return what looks best so far among what is still in play."""
        return _arm(self._wire.get("/v1/recommend", s.RecommendAnswer).arm)

    def intervals(self) -> dict[int | str, tuple[float, float]]:
        """Return each arm's confidence interval, missing outcomes taken at their worst."""
        rows = self._wire.get("/v1/intervals", s.IntervalsAnswer).intervals
        return {row.arm: (_or(row.low, -math.inf), _or(row.high, math.inf)) for row in rows}

    def certificate(self) -> Certificate:
        """Return what is certain about every arm in play, from settled outcomes alone.

        It warns of what holds up others as that of a Study does.
        """
        c = self._wire.get("/v1/certificate", s.CertificateAnswer)
        bound, envelope = _or(c.bound, math.inf), _or(c.envelope, math.inf)
        active = tuple(c.active) if isinstance(c.active, list) else c.active
        about = (c.delta, active, c.proved, tuple(c.assumes), c.held)
        found = Certificate(c.round, bound, envelope, *about)
        self._warned_of = warn_of(found, c.blocking or 0, self._warned_of)
        return found

    def pending(self, older_than: float | timedelta | None = None) -> History:
        """Return the decisions whose outcome is awaited, or only those asked for that long ago."""
        age = None if older_than is None else _check.seconds("older_than", older_than)
        return self._records("/v1/pending", older_than=age)

    def history(self) -> History:
        """Return every decision and what became of it, read page by page."""
        return self._records("/v1/history")

    def _records(self, path: str, **query: Any) -> History:
        rows, after = list[s.RecordAnswer](), None
        kind = RECORDS[self.outcome_names]
        while True:
            found = self._wire.get(path, s.RecordsAnswer, after=after, limit=PAGE, **query)
            rows += found.records
            if found.next is None:
                return History((_record(row, kind) for row in rows), None, kind)
            after = found.next

    def history_page(self, after: str = "", most: int = 100) -> tuple[History, str]:
        """Return a page of the history, and after what the next one begins; "" after the last."""
        _check.cursor("after", after)
        most, kind = _check.whole("most", most, most=PAGE), RECORDS[self.outcome_names]
        found = self._wire.get("/v1/history", s.RecordsAnswer, after=after or None, limit=most)
        rows = (_record(row, kind) for row in found.records)
        return History(rows, None, kind), found.next or ""

    def blocks(self) -> tuple[BlockRecord, ...]:
        """Return every block of sums."""
        found = self._wire.get("/v1/blocks", s.BlocksAnswer).blocks
        return tuple(
            BlockRecord(x.id, x.told, {r.arm: (r.plays, r.total, r.missing) for r in x.sums})
            for x in found
        )

    def export(self, path: str | Path) -> None:
        """Write the history as CSV, JSON lines (.jsonl) or Parquet, by the suffix of the path."""
        self.history().export(path)

    def audit(self) -> s.AuditAnswer:
        """Have the service check the whole journal: every event, every decision."""
        found: s.AuditAnswer = self._wire.get("/v1/audit", s.AuditAnswer)
        return found

    @property
    def head(self) -> s.HeadAnswer:
        """The last event: its hash, kept elsewhere, proves later that nothing was cut off."""
        found: s.HeadAnswer = self._wire.get("/v1/head", s.HeadAnswer)
        return found

    def counts(self) -> dict[Any, dict[str, int]]:
        """Return for every arm how many plays are settled, missing and awaited, blocks included."""
        rows = self._wire.get("/v1/counts", s.CountsAnswer).counts
        return {
            row.arm: {"reward": row.reward, "missing": row.missing, "pending": row.pending}
            for row in rows
        }

    def totals(self) -> s.TotalsAnswer:
        """Return how many decisions there are and what became of them, whatever the arm."""
        found: s.TotalsAnswer = self._wire.get("/v1/totals", s.TotalsAnswer)
        return found

    def close(self) -> None:
        """Close the connections; the study stays open where it is."""
        self._wire.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._wire.url!r})"


def _record(row: s.RecordAnswer, kind: Any) -> Any:
    return kind(*(getattr(row, name) for name in kind._fields))


def _key(request_id: Any) -> str:
    if request_id is None:
        return f"client-{uuid.uuid4().hex}"
    return _check.key("request_id", request_id)


def _asked_with(request_id: Any) -> dict[str, str]:
    return {} if request_id is None else {"request_id": _check.key("request_id", request_id)}


def _table(metadata: Any, more: Mapping[str, Any]) -> dict[str, Any]:
    found = {**_check.json_table("metadata", {} if metadata is None else metadata), **more}
    if isinstance(found.get("state"), np.integer):
        found["state"] = int(found["state"])
    return _check.json_table("metadata", found) if more else found


def _told(decision_id: Any, outcome: Sequence[Any]) -> dict[str, Any]:
    if len(outcome) == 1:
        reward = _number(outcome[0])
        if isinstance(reward, bool | np.bool_):
            reward = float(reward)  # as a study takes it; in JSON it is no number
        return {"decision_id": decision_id, "reward": reward}
    if len(outcome) != 2:
        raise ArgumentError("outcome", f"must be what became of it, got {len(outcome)} values")
    return {"decision_id": decision_id, "states": outcome[0], "actions": outcome[1]}


def _missing(decision_id: Any, reason: Any) -> dict[str, Any]:
    why = _check.key("reason", reason, _check.LONGEST_REASON)
    return {"decision_id": decision_id, "reason": why}


def _number(value: Any) -> Any:
    """Return what JSON can hold; what is not finite would be null, and is sent as words instead."""
    finite = not isinstance(value, float | np.floating) or math.isfinite(value)
    return value if finite else str(value)


def _decision(made: s.DecisionAnswer) -> Any:
    arm = made.arm
    if not isinstance(arm, list):
        return Decision(made.id, arm, made.probability)
    kind = PolicyDecision if arm and isinstance(arm[0], list) else VectorDecision
    return kind(made.id, _arm(arm), made.probability)


def _arm(arm: Any) -> Any:
    """Return an arm as decisions have it: vectors are tuples, policies arrays."""
    if not isinstance(arm, list):
        return arm
    if not (arm and isinstance(arm[0], list)):
        return tuple(arm)
    drawn = bool(arm[0]) and isinstance(arm[0][0], list)
    return _fixed(np.array(arm, np.float64 if drawn else np.int8))


def _fixed(array: Any) -> Any:
    array.flags.writeable = False
    return array


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
