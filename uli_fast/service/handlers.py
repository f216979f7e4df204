"""What each route does with the study."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UNSET
from msgspec.json import encode

from uli_fast import _check
from uli_fast.errors import ArgumentError
from uli_fast.service import schemas as s
from uli_fast.service.metrics import MEDIA
from uli_fast.study import events as clock
from uli_fast.study.past import block
from uli_fast.study.replay import shown
from uli_fast.study.study import Study
from uli_fast.study.view import certified

# Content Security Policy: an answer loads nothing and stands in no frame, unless it says so.
POLICY = "default-src 'none'; frame-ancestors 'none'"

if TYPE_CHECKING:
    from uli_fast.service.app import Service
    from uli_fast.service.tokens import Caller


MOST_RECORDS = 1000  # of a page
EVENT = 500  # bytes that are recorded of a decision or an outcome besides what was sent


@dataclass(frozen=True)
class Page:
    """An answer that is no JSON of a schema: a page, a figure, plain text."""

    content: bytes
    media: str
    policy: str = POLICY  # what it may load


@dataclass(frozen=True)
class Request:
    """What a handler is given."""

    service: Service
    caller: Caller
    query: Mapping[str, str]
    body: Any  # as the route's schema has it
    size: int  # of what was sent, in bytes

    def do(self, *call: Any, events: int = 1, more: int = 0) -> Awaitable[Any]:
        """Queue up with a call that writes this many events, and more bytes than were sent."""
        return self.service.desk.do(*call, size=self.size + events * EVENT + more)


# Driving.


async def ask(request: Request) -> s.DecisionAnswer:
    """Ask for the next decision; with the same request id it is the same decision."""
    body: s.AskBody = request.body
    made = await request.do("ask", body.request_id, body.metadata, _more(body.state))
    return _decision(made)


async def ask_many(request: Request) -> s.DecisionsAnswer:
    """Ask for several decisions, in one commit."""
    body: s.AskManyBody = request.body
    limits, wanted = request.service.limits, body.requests
    n = wanted if isinstance(wanted, int) else len(wanted)
    if n > limits.decisions:
        raise ArgumentError("requests", f"at most {limits.decisions} decisions in one request")
    more = n * len(encode(body.metadata)) if isinstance(body.metadata, dict) else 0
    if more > limits.recorded:
        raise ArgumentError(
            "metadata", f"{n} times this would be more than {limits.recorded} bytes"
        )
    call = ("ask_many", wanted, body.metadata, _more(body.state))
    made = await request.do(*call, events=n, more=more)
    return s.DecisionsAnswer([_decision(one) for one in made])


async def tell(request: Request) -> None:
    """Tell the outcome of a decision; the same again changes nothing."""
    body: s.TellBody = request.body
    await request.do("tell_one", body.decision_id, _outcome(body), body.request_id)


async def tell_many(request: Request) -> None:
    """Tell the outcomes of several decisions, in one commit."""
    body: s.TellManyBody = request.body
    rows, keys = [], [one.request_id for one in body.outcomes]
    for one in body.outcomes:
        if one.states is None:
            raise ArgumentError("states", "must be states; what never came has a reason instead")
        if one.reason is UNSET:
            rows.append((one.decision_id, *_outcome(one)))
        elif one.reward is UNSET and one.states is UNSET and one.actions is UNSET:
            rows.append((one.decision_id, None, one.reason))
        else:
            raise ArgumentError("outcomes", "an outcome that came needs no reason")
    await request.do("tell_many", rows, keys, body.only_pending, events=len(rows))


async def tell_missing(request: Request) -> None:
    """Tell that an outcome will never come, and why."""
    body: s.TellMissingBody = request.body
    call = ("tell_missing", body.decision_id, body.reason, body.request_id)
    await request.do(*call)


async def tell_block(request: Request) -> None:
    """Tell counts and sums of plays that were handed out by the allocation."""
    body: s.TellBlockBody = request.body
    sums = {row.arm: (row.plays, row.total, row.missing) for row in body.sums}
    if len(sums) < len(body.sums):
        raise ArgumentError("sums", "an arm stands there twice")
    await request.do("tell_block", sums, body.block_id)


# Looking.


async def allocation(request: Request) -> s.AllocationAnswer:
    """Say how often to play each arm until the next look."""
    found = await request.service.desk.look(Study.allocation)
    return s.AllocationAnswer([s.AllocationRow(arm, n) for arm, n in found.items()])


async def recommend(request: Request) -> s.RecommendAnswer:
    """Say what looks best so far."""
    return s.RecommendAnswer(plain(await request.service.desk.look(Study.recommend)))


async def certificate(request: Request) -> s.CertificateAnswer:
    """Say what is certain about everything in play."""
    found, blocking = await request.service.desk.look(certified)
    about = found._asdict() | {"words": repr(found), "blocking": blocking or None}
    return s.CertificateAnswer(**about)


async def intervals(request: Request) -> s.IntervalsAnswer:
    """Give each arm's confidence interval."""
    found = await request.service.desk.look(Study.intervals)
    return s.IntervalsAnswer([s.IntervalRow(arm, *ends) for arm, ends in found.items()])


async def counts(request: Request) -> s.CountsAnswer:
    """Count for each arm the plays with a reward, missing and awaited."""
    found = await request.service.desk.look(Study.counts)
    return s.CountsAnswer([s.CountRow(arm, **of) for arm, of in found.items()])


async def totals(request: Request) -> s.TotalsAnswer:
    """Count all decisions, those with a reward, missing and awaited, whatever the arm."""
    found = await request.service.desk.look(Study.totals)
    return s.TotalsAnswer(*found)


async def active(request: Request) -> s.ActiveAnswer:
    """Say what is still in play."""
    return s.ActiveAnswer(plain(await request.service.desk.look(lambda study: study.active)))


async def about(request: Request) -> s.StudyAnswer:
    """Say what the study is."""
    return await request.service.desk.look(_about)


def _about(study: Study) -> s.StudyAnswer:
    window, held = study.window, study.held
    return s.StudyAnswer(
        repr(study.learner),
        list(study.arms),
        list(study.outcome_names),
        study.begun,
        study.versions,
        study.room,
        None if window is None else s.WindowAnswer(*window),
        study.windows,
        None if held is None else s.HeldAnswer(*held),
    )


async def head(request: Request) -> s.HeadAnswer:
    """Name the last event."""
    last = await request.service.desk.look(lambda study: study.head)
    return s.HeadAnswer(last.sequence, last.hash, last.time)


async def pending(request: Request) -> s.RecordsAnswer:
    """List the decisions whose outcome is awaited, page by page."""
    query, age = request.query, request.query.get("older_than")
    (after, _), most = _check.cursor("after", query.get("after", "")), _limit(query)
    seconds = None if age is None else _seconds(age)
    found = await request.service.desk.look(lambda study: study.pending(seconds))
    rows = list(islice((x for x in found if x.id > after), most + 1))
    return s.RecordsAnswer(_records(rows[:most]), str(rows[most - 1].id) if rows[most:] else None)


async def history(request: Request) -> s.RecordsAnswer:
    """List every decision and what became of it, page by page."""
    after, most = request.query.get("after", ""), _limit(request.query)
    look: Any = lambda study: study.history_page(after, most)  # noqa: E731
    rows, end = await request.service.desk.look(look)
    return s.RecordsAnswer(_records(rows), end or None)


async def blocks(request: Request) -> s.BlocksAnswer:
    """List every block of sums; others need not wait for it."""
    events = [event async for event in request.service.events() if event.kind == "block"]
    found = [block(event, event.content) for event in events]
    return s.BlocksAnswer(
        [
            s.BlockAnswer(x.id, x.told, [s.SumsAnswer(arm, *row) for arm, row in x.sums.items()])
            for x in found
        ]
    )


async def audit(request: Request) -> s.AuditAnswer:
    """Check the whole journal: every event, every decision; others need not wait for it."""
    found = await request.service.audit()
    lines = [s.ArmLineAnswer(*line) for line in found.arms]
    drops = [
        s.DropAnswer(x.time, x.sequence, x.decision, list(x.arms), x.left) for x in found.drops
    ]
    return s.AuditAnswer(
        found.events,
        found.head,
        found.begun,
        found.last,
        found.versions,
        len(found.history),
        dict(found.statuses),
        dict(found.reasons),
        lines,
        drops,
        found.certificate,
        found.recommended,
        list(found.assumes),
        found.held,
    )


async def metrics(request: Request) -> Page:
    """Give counters and histograms as Prometheus reads them."""
    found = await request.service.desk.look(_gauges)
    text = request.service.metrics.text(queue_length=request.service.desk.waiting, **found)
    return Page(text.encode(), MEDIA)


async def description(request: Request) -> Page:
    """Describe this service as OpenAPI does."""
    return Page(request.service.description, "application/json")


async def live(request: Request) -> s.HealthAnswer:
    """Say that the process is there."""
    return s.HealthAnswer("ok")


async def ready(request: Request) -> s.HealthAnswer:
    """Say that the study can be reached."""
    await request.service.look()
    return s.HealthAnswer("ok")


def _gauges(study: Study) -> dict[str, int]:
    """Return what stands at a number in a study."""
    held, windows = study.held, study.windows
    since = clock.now() if held is None else datetime.fromisoformat(held.asked)
    return {
        "events": study.head.sequence,
        "decisions_awaited": study.awaited,
        "outcomes_held": 0 if held is None else held.outcomes,
        "held_by_decision": 0 if held is None else held.decision,
        "held_seconds": max(int((clock.now() - since).total_seconds()), 0),
        "windows_closed": windows["closed"],
        "outcomes_late": windows["late"],
    }


def _limit(query: Mapping[str, str]) -> int:
    given = query.get("limit", "100")
    if re.fullmatch("[0-9]{1,9}", given) is None or not 1 <= int(given) <= MOST_RECORDS:
        raise ArgumentError("limit", f"must be 1 to {MOST_RECORDS}")
    return int(given)


def _seconds(given: str) -> float:
    if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,2})?", given, re.ASCII) is None:
        raise ArgumentError("older_than", "must be seconds")
    return float(given)


def _records(rows: Iterable[Any]) -> list[s.RecordAnswer]:
    return [s.RecordAnswer(*row) for row in rows]


def plain(value: Any) -> Any:
    """Return arms, policies and masks as JSON has them."""
    if isinstance(value, np.ndarray | tuple):
        return np.asarray(value).tolist() if not _labels(value) else list(value)
    return value


def _labels(value: Any) -> bool:
    return isinstance(value, tuple) and any(isinstance(x, str) for x in value)


def _decision(made: Any) -> s.DecisionAnswer:
    found = shown(made)
    return s.DecisionAnswer(made.id, found["arm"], found["probability"])


def _more(state: int | None) -> dict[str, int]:
    return {} if state is None else {"state": state}


def _outcome(body: s.TellBody) -> tuple[Any, ...]:
    """Return what is told, as ``Study.tell`` has it: a reward, or states and actions."""
    if isinstance(body.reward, bool):
        raise ArgumentError("reward", f"must be a number, got {body.reward}")
    episode = [x for x in (body.states, body.actions) if x is not UNSET]
    if body.reward is not UNSET and not episode:
        return (body.reward,)
    if body.reward is UNSET and len(episode) == 2:
        return tuple(episode)
    raise ArgumentError("outcome", "must be a reward, or states and actions")
