"""The ASGI application: a request comes in, and an answer goes out.

Nothing here is global: ``Service(study)`` is an application, and others may stand beside it. Its
routes are a list; more may be given, as the page to watch does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cached_property, partial
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from uli_fast import _check
from uli_fast.errors import ArgumentError, StudyAccessError, StudyDivergedError, UliError
from uli_fast.service.desk import Desk
from uli_fast.service.handlers import POLICY, Page, Request
from uli_fast.service.limits import CLOSE, Limits, Rate, body_of, welcome
from uli_fast.service.loopback import check_host
from uli_fast.service.metrics import Metrics
from uli_fast.service.openapi import described
from uli_fast.service.problems import (
    MEDIA,
    RETRY,
    RefusedError,
    invalid,
    is_of_the_study,
    problem,
)
from uli_fast.service.routes import ROUTES, Route
from uli_fast.service.tokens import Caller, Tokens
from uli_fast.study.audit import Audit
from uli_fast.study.events import Event
from uli_fast.study.study import Study

log = logging.getLogger(__name__)

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
MOST_PARAMETERS, READ = 20, 1000  # of a request; events read at once
MOST_LEVELS = 60  # lists and tables of a body in one another: those of metadata, and around them
ANYBODY = Caller("anybody", "anybody")

Message = dict[str, Any]


class Service:
    """One study over HTTP."""

    def __init__(
        self,
        study: Study,
        tokens: Tokens | None = None,
        limits: Limits | None = None,
        routes: Sequence[Route] = (),
    ) -> None:
        """Without tokens whoever reaches it on this machine may do everything."""
        self.limits, self.metrics = limits or Limits(), Metrics()
        self.desk = Desk(study, self.metrics, self.limits)
        self.routes = (*ROUTES, *routes)
        self._tokens, self._rate = tokens, Rate(self.limits.rate)
        self._paths: dict[str, dict[str, Route]] = {}
        for route in self.routes:
            self._paths.setdefault(route.path, {})[route.method] = route
        self._readers = {
            id(route): msgspec.json.Decoder(route.body) for route in self.routes if route.body
        }
        self._writer = msgspec.json.Encoder()
        self._study, self._auditing = study, asyncio.Lock()
        self._looking: asyncio.Future[Event] | None = None

    @cached_property
    def description(self) -> bytes:
        """What OpenAPI says of it."""
        return self._writer.encode(described(self.routes, self._tokens is not None))

    async def look(self) -> None:
        """Look at the study, together with all others who want to know whether that can be done."""
        if self._looking is None or self._looking.done():
            self._looking = self.desk.look(lambda study: study.head)
        await asyncio.shield(self._looking)

    async def audit(self) -> Audit:
        """Check the whole journal in a thread of its own."""
        if self._auditing.locked():
            raise RefusedError(503, "an audit is under way", ("retry-after", "5"))
        async with self._auditing:
            events = [event async for event in self.events()]
            return await asyncio.to_thread(self._study.audited, events)

    async def events(self) -> AsyncIterator[Event]:
        """Read the whole journal, page by page: others have their turn at the desk in between."""
        head, after = (await self.desk.look(lambda study: study.head)).sequence, 0
        while after < head:
            look: Any = partial(Study.events, after=after, most=min(READ, head - after))
            page: list[Event] = await self.desk.look(look)
            if not page:
                raise StudyDivergedError(f"{self._study.path}: event {after + 1} is gone")
            for event in page:
                yield event
            after += len(page)

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Speak ASGI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        self.desk.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.desk.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Message, receive: Any, send: Any) -> None:
        began, name, caller = time.perf_counter(), "none", ANYBODY
        headers: list[tuple[str, str]] = []
        try:
            route = self._route(scope)
            name = route.path
            given = dict(scope["headers"])
            caller = self._caller(route, given, scope)
            found = await self._done(route, caller, scope, given, receive)
            status, media, policy = 200, "application/json", POLICY
            if found is None:
                status, content = 204, b""
            elif isinstance(found, Page):
                content, media, policy = found.content, found.media, found.policy
            else:
                content = self._writer.encode(found)
        except Exception as error:
            blinded = not caller.may("read")
            status, about = problem(error, blinded)
            if blinded and is_of_the_study(error):
                log.error("somebody was not told: %s", error)
            content, media, policy = self._writer.encode(about), MEDIA, POLICY
            headers = list(error.headers) if isinstance(error, RefusedError) else []
            if status in (429, 503) and not any(key == "retry-after" for key, _ in headers):
                headers.append(("retry-after", str(RETRY)))
            if not isinstance(error, UliError | RefusedError):
                log.exception("a request failed in a way that it should not")
        await self._send(send, status, content, media, policy, headers)
        seconds = time.perf_counter() - began
        self.metrics.request(scope["method"] if name != "none" else "", name, status, seconds)
        log.info("%s %s %d %s %.1f ms", scope["method"], name, status, caller.name, seconds * 1e3)

    def _route(self, scope: Message) -> Route:
        known = self._paths.get(scope["path"])
        if known is None:
            raise RefusedError(404, "there is nothing at this path", CLOSE)
        route = known.get(scope["method"])
        if route is None:
            raise RefusedError(
                405, "this path has other methods", ("allow", ", ".join(known)), CLOSE
            )
        return route

    def _caller(self, route: Route, headers: dict[bytes, bytes], scope: Message) -> Caller:
        """Return who is calling; refuse those who may not, or too often."""
        caller = ANYBODY
        if self._tokens is None:
            check_host(headers)
            address = scope.get("client") or ("",)
            caller = Caller(str(address[0]), "drive")
            if route.role != ANYBODY.role:
                welcome(scope)
        elif route.role != ANYBODY.role:
            scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
            found = self._tokens.caller(token.strip())
            if scheme.lower() != "bearer" or found is None:
                raise RefusedError(401, "a token is needed", ("www-authenticate", "Bearer"), CLOSE)
            caller = found
            welcome(scope)
            if not caller.may(route.role):
                raise StudyAccessError(f"this needs a token of role {route.role}")
        wait = self._rate.take(caller.name) if route.limited else 0.0
        if wait:
            raise RefusedError(429, "too many requests", ("retry-after", str(int(wait) + 1)))
        return caller

    async def _done(
        self,
        route: Route,
        caller: Caller,
        scope: Message,
        headers: dict[bytes, bytes],
        receive: Any,
    ) -> Any:
        """Read what was sent, and let the handler answer."""
        body, content = None, b""
        if route.body is not None:
            media = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if media != b"application/json":
                raise RefusedError(415, "the body must be application/json", CLOSE)
            content = await body_of(receive, headers, self.limits)
            try:
                body = self._readers[id(route)].decode(content)
                read = json.loads(content, object_pairs_hook=_table, parse_int=str, parse_float=str)
            except (
                msgspec.MsgspecError,
                json.JSONDecodeError,
                UnicodeDecodeError,
                RecursionError,
            ) as error:
                raise invalid(error) from None
            _check.levels("body", read, MOST_LEVELS)
        return await route.handler(Request(self, caller, _query(route, scope), body, len(content)))

    async def _send(
        self,
        send: Any,
        status: int,
        content: bytes,
        media: str,
        policy: str,
        more: Sequence[tuple[str, str]],
    ) -> None:
        headers = [*HEADERS, (b"content-security-policy", policy.encode())]
        if status != 204:
            headers.append((b"content-type", media.encode()))
            headers.append((b"content-length", str(len(content)).encode()))
        headers += [(key.encode(), value.encode()) for key, value in more]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a table of a body; a name that stands there twice means one thing or another."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ArgumentError("body", "a name stands twice in a table")
    return found


def _query(route: Route, scope: Message) -> dict[str, str]:
    """Return the parameters of a request; refuse what the route does not know."""
    if not scope["query_string"]:
        return {}
    try:
        given = parse_qsl(
            scope["query_string"].decode("ascii"),
            keep_blank_values=True,
            max_num_fields=MOST_PARAMETERS,
            errors="strict",
        )
    except ValueError:
        raise ArgumentError("query", "cannot be read") from None
    known, found = {parameter.name for parameter in route.query}, dict[str, str]()
    for name, value in given:
        if name not in known or name in found:
            raise ArgumentError("query", "holds a parameter that is unknown, or one twice")
        found[name] = value
    return found
