"""The page to watch, around the service: what is not for the page goes on to it.

The page looks for news every few seconds. It is rendered at most once a second, whoever looks,
in a thread of its own, and sent only where it is not what the browser has: its tag is a hash of
what is shown, and of nothing else, so that it tells a blinded reader nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from uli_fast.errors import UliError
from uli_fast.report.watch import page
from uli_fast.service.app import Service
from uli_fast.service.limits import Rate, body_of, welcome
from uli_fast.service.loopback import check_host
from uli_fast.service.problems import RefusedError, problem
from uli_fast.service.sessions import Sessions, cookie_of, from_here, set_cookie
from uli_fast.service.tokens import Caller, Tokens
from uli_fast.study.overview import Overview
from uli_fast.study.study import Study

log = logging.getLogger(__name__)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer", with which a browser does not say where a form was sent from.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
HTML = "text/html; charset=utf-8"
ASSETS = {
    "watch.css": "text/css; charset=utf-8",
    "watch.js": "text/javascript; charset=utf-8",
}
FRESH = 1.0  # seconds until it is rendered again
TIMES, SOON = 5, 0.1  # looks at a past that is being read, and seconds between them
TRIES = 5.0  # sign-ins a second, of one address
LONGEST_FORM = 4096  # bytes


@dataclass(frozen=True)
class PageAnswer:
    """What goes back to a browser."""

    status: int
    content: bytes = b""
    media: str = HTML
    headers: tuple[tuple[str, str], ...] = ()


class Shown(NamedTuple):
    """The page as it was rendered last."""

    until: float
    name: str  # of the study
    html: str
    tag: str


class WatchedService:
    """A service, and the page to watch its study."""

    def __init__(self, service: Service, tokens: Tokens | None) -> None:
        """Without tokens whoever reaches it sees everything, as with the service."""
        self.limits = service.limits
        self._service, self._tokens = service, tokens
        self._sessions, self._tries = Sessions(), Rate(TRIES)
        self._shown: dict[bool, Shown] = {}
        self._rendering = {blinded: asyncio.Lock() for blinded in (False, True)}
        self._routes: dict[tuple[str, str], Callable[..., Any]] = {
            ("GET", "/"): self._page,
            ("GET", "/watch"): self._watch,
            ("GET", "/sign-in"): self._door,
            ("POST", "/sign-in"): self._sign_in,
            ("POST", "/sign-out"): self._sign_out,
            **{("GET", f"/static/{name}"): partial(self._asset, name) for name in ASSETS},
        }
        self._paths = {path for _, path in self._routes}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Speak ASGI."""
        if scope["type"] != "http" or scope["path"] not in self._paths:
            await self._service(scope, receive, send)
            return
        began, headers = time.perf_counter(), dict(scope["headers"])
        handler = self._routes.get((scope["method"], scope["path"]))
        try:
            if handler is None:
                allowed = ", ".join(m for m, path in self._routes if path == scope["path"])
                raise RefusedError(405, "this path has other methods", ("allow", allowed))
            if self._tokens is None:
                check_host(headers)
            answer = await handler(scope, headers, receive)
        except Exception as error:
            answer = _refusal(error)
        await _send(send, answer)
        seconds = time.perf_counter() - began
        method = scope["method"] if handler is not None else ""
        self._service.metrics.request(method, scope["path"], answer.status, seconds)
        log.info("%s %s %d %.1f ms", scope["method"], scope["path"], answer.status, seconds * 1e3)

    def _caller(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> Caller | None:
        """Return who is looking, by the session of a browser or by a token."""
        found = self._found(scope, headers)
        if found is not None:
            welcome(scope)
        return found

    def _found(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> Caller | None:
        if self._tokens is None:
            return Caller("", "drive")
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() == "bearer":
            return self._tokens.caller(token.strip())
        known = self._sessions.token(cookie_of(scope, headers))
        return None if known is None else self._tokens.caller(known)

    # What each route does.

    async def _page(self, scope: Any, headers: Mapping[bytes, bytes], receive: Any) -> PageAnswer:
        caller = self._caller(scope, headers)
        if caller is None:
            return PageAnswer(303, headers=(("location", "sign-in"),))
        shown = await self._latest(caller)
        html = page.document(shown.name, shown.html, caller.name)
        return PageAnswer(200, html.encode())

    async def _watch(self, scope: Any, headers: Mapping[bytes, bytes], receive: Any) -> PageAnswer:
        caller = self._caller(scope, headers)
        if caller is None:
            return PageAnswer(401, b"sign in again", "text/plain; charset=utf-8")
        shown = await self._latest(caller)
        tag = (("etag", shown.tag),)
        if headers.get(b"if-none-match", b"").decode("latin-1") == shown.tag:
            return PageAnswer(304, headers=tag)
        return PageAnswer(200, shown.html.encode(), headers=tag)

    async def _door(self, scope: Any, headers: Mapping[bytes, bytes], receive: Any) -> PageAnswer:
        if self._caller(scope, headers) is not None:
            return PageAnswer(303, headers=(("location", "."),))
        return PageAnswer(200, page.sign_in("Live study").encode())

    async def _sign_in(
        self, scope: Any, headers: Mapping[bytes, bytes], receive: Any
    ) -> PageAnswer:
        token = await self._form(headers, receive)
        address = str((scope.get("client") or ("",))[0])
        wait = self._tries.take(address)
        if wait:
            said = page.sign_in("Live study", "Too many attempts: wait a moment.")
            return PageAnswer(429, said.encode(), headers=(("retry-after", str(int(wait) + 1)),))
        if self._tokens is None or self._tokens.caller(token) is None:
            said = page.sign_in("Live study", "This is no token of this study.")
            return PageAnswer(401, said.encode())
        self._sessions.end(cookie_of(scope, headers))
        cookie = set_cookie(scope, headers, self._sessions.begin(token))
        return PageAnswer(303, headers=(("location", "."), ("set-cookie", cookie)))

    async def _sign_out(
        self, scope: Any, headers: Mapping[bytes, bytes], receive: Any
    ) -> PageAnswer:
        await self._form(headers, receive)
        self._sessions.end(cookie_of(scope, headers))
        gone = set_cookie(scope, headers, "")
        return PageAnswer(303, headers=(("location", "sign-in"), ("set-cookie", gone)))

    async def _form(self, headers: Mapping[bytes, bytes], receive: Any) -> str:
        """Return the token of a form that was sent from here."""
        if not from_here(headers):
            raise RefusedError(403, "this form was sent from elsewhere")
        limits = replace(self.limits, body=LONGEST_FORM)
        body = await body_of(receive, dict(headers), limits)
        try:
            fields = dict(parse_qsl(body.decode("ascii"), max_num_fields=4, errors="strict"))
        except (UnicodeDecodeError, ValueError):
            raise RefusedError(400, "this is no form") from None
        return fields.get("token", "").strip()

    async def _asset(
        self, name: str, scope: Any, headers: Mapping[bytes, bytes], receive: Any
    ) -> PageAnswer:
        content = page.asset(name)
        tag = _tag(content)
        if headers.get(b"if-none-match", b"").decode("latin-1") == tag:
            return PageAnswer(304, headers=(("etag", tag), ("cache-control", "no-cache")))
        return PageAnswer(
            200, content, ASSETS[name], headers=(("etag", tag), ("cache-control", "no-cache"))
        )

    async def _latest(self, caller: Caller) -> Shown:
        """Return what this caller may see, at most a second old."""
        blinded = _is_blinded(caller)
        async with self._rendering[blinded]:
            shown = self._shown.get(blinded)
            if shown is None or shown.until <= time.monotonic():
                found = await self._service.desk.look(_overview)
                for _ in range(0 if shown else TIMES):  # a short past is read in no time
                    if found.reading is None or found.problem is not None:
                        break
                    await asyncio.sleep(SOON)
                    found = await self._service.desk.look(_overview)
                shown = await asyncio.to_thread(_rendered, found, blinded)
                self._shown[blinded] = shown
            return shown


def _is_blinded(caller: Caller) -> bool:
    return not caller.may("read")


def _overview(study: Study) -> Overview:
    return study.overview(wait=False)


def _rendered(o: Overview, blinded: bool) -> Shown:
    html = page.blinded_fragment(o) if blinded else page.fragment(o)
    return Shown(time.monotonic() + FRESH, o.name, html, _tag(html.encode()))


def _tag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _refusal(error: Exception) -> PageAnswer:
    """Return what is said of an error; those of a study may name an arm, and are in the log."""
    status, _ = problem(error)
    text = "text/plain; charset=utf-8"
    if isinstance(error, RefusedError):
        return PageAnswer(status, error.detail.encode(), text, tuple(error.headers))
    said = "the study cannot be shown now; the log of the service says why"
    if isinstance(error, UliError):
        log.error("the page cannot be shown: %s", error)
    else:
        log.error("the page failed in a way that it should not", exc_info=error)
    return PageAnswer(status, said.encode(), text)


async def _send(send: Any, answer: PageAnswer) -> None:
    headers = {**HEADERS, "content-type": answer.media, "content-length": str(len(answer.content))}
    if answer.status == 304:
        del headers["content-type"], headers["content-length"]
    headers |= dict(answer.headers)
    pairs = [(key.encode(), value.encode("latin-1")) for key, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": pairs})
    await send({"type": "http.response.body", "body": answer.content})
