"""A client's way to the service: connections that are kept, and patience.

Every request of a client may be repeated: those that ask carry a request id, those that tell are
idempotent, the others look. So whatever gets lost on the way, the request or its answer, is sent
again for as long as patience lasts.
"""

from __future__ import annotations

import codecs
import contextlib
import http.client
import os
import socket
import ssl
import threading
import time
import weakref
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from uli_fast import __version__, _check
from uli_fast.errors import ArgumentError, StudyError, StudyUnavailableError
from uli_fast.service.problems import error_of

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds
LONGEST_ANSWER = 2**28  # bytes


# No lock is held anywhere: one that a fork has copied while it was held would never be free again.
# Python holds one while it imports, and the first address that it looks up imports this.
codecs.lookup("idna")
_wires: weakref.WeakSet[Wire] = weakref.WeakSet()
_inherited: list[Any] = []


class Wire:
    """Sends requests and reads answers, in any thread; each has a connection of its own."""

    def __init__(self, url: str, token: str | None, timeout: float, patience: float) -> None:
        self.url, self._host, self._port, tls, self._base = _address(url)
        self.context = ssl.create_default_context() if tls else None
        self._timeout = _check.positive("timeout", timeout)
        self._patience = _check.number("patience", patience)
        self._headers = {"user-agent": f"uli-fast/{__version__}", "accept": "application/json"}
        if token is not None:
            token = token.strip() if isinstance(token, str) else token  # as a file ends in a line
            if not isinstance(token, str) or not token.isascii() or not token.isprintable():
                raise ArgumentError("token", "must be a token as uli token prints it")
            self._headers["authorization"] = f"Bearer {token}"
        self._local, self._open = threading.local(), dict[int, Any]()  # by thread
        self.closed = False
        _wires.add(self)
        self._encoder = msgspec.json.Encoder(enc_hook=_plain)

    def get(self, path: str, kind: Any, **query: Any) -> Any:
        """Return the answer, as its schema has it."""
        given = {key: value for key, value in query.items() if value is not None}
        where = f"{path}?{urlencode(given, quote_via=quote)}" if given else path
        return msgspec.json.decode(self._sent("GET", where, None), type=kind)

    def post(self, path: str, body: Any, kind: Any = None) -> Any:
        """Send something; return the answer, if there is to be one."""
        answer = self._sent("POST", path, self._encoder.encode(body))
        return None if kind is None else msgspec.json.decode(answer, type=kind)

    def _sent(self, method: str, path: str, body: bytes | None) -> bytes:
        end, pause = time.monotonic() + self._patience, FIRST_PAUSE
        while True:
            wait = pause
            try:
                status, after, answer = self._once(method, path, body)
            except (OSError, http.client.HTTPException) as problem:
                self._drop()
                error: Exception = StudyUnavailableError(
                    f"{self.url} cannot be reached: {_said(problem)}; whether it was recorded "
                    "is not known: the same call again looks first"
                )
                if isinstance(problem, socket.gaierror | ssl.SSLCertVerificationError):
                    raise error from None
            else:
                if 200 <= status < 300:
                    return answer
                error = error_of(status, answer)
                if status not in (429, 503):
                    raise error
                wait = max(pause, after)
            if time.monotonic() + wait > end:
                raise error from None
            time.sleep(wait)
            pause = min(2.0 * pause, LONGEST_PAUSE)

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, float, bytes]:
        connection, headers = self._connection(), self._headers
        if body is not None:
            headers = headers | {"content-type": "application/json"}
        try:
            connection.request(method, self._base + path, body, headers)
            response = connection.getresponse()
            answer = response.read(LONGEST_ANSWER)
            if response.length:  # cut off, of which read(amount) says nothing
                raise http.client.IncompleteRead(answer, response.length)
        except BaseException:  # interrupted: what comes next would be the answer to this
            self._drop()
            raise
        if response.will_close or self.closed:  # meanwhile, by another thread
            self._drop()
        after = response.getheader("retry-after", "0")
        return response.status, float(after) if after.isdigit() else 0.0, answer

    def _connection(self) -> Any:
        """Return this thread's connection; a new one after a fork."""
        if self.closed:
            raise StudyError("this client is closed")
        made = getattr(self._local, "made", None)
        if made is None or made[0] != os.getpid():
            made = os.getpid(), self._connected()
            self._local.made = made
            self._open[threading.get_ident()] = made[1]
        return made[1]

    def _connected(self) -> http.client.HTTPConnection:
        where: Any = {"host": self._host, "port": self._port, "timeout": self._timeout}
        if self.context is None:
            return http.client.HTTPConnection(**where)
        return http.client.HTTPSConnection(**where, context=self.context)

    def _drop(self) -> None:
        made = getattr(self._local, "made", None)
        if made is not None:
            self._local.made = None
            if made[0] == os.getpid():
                made[1].close()

    def close(self) -> None:
        """Close the connections of all threads."""
        self.closed = True
        while self._open:
            with contextlib.suppress(KeyError):  # another thread closes them too
                self._open.popitem()[1].close()


def _after_fork() -> None:
    """Leave the parent's connections alone, for ever: they have locks, which nobody lets go of."""
    for wire in list(_wires):
        _inherited.append(wire._open)
        wire._open = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _address(url: Any) -> tuple[str, str, int | None, bool, str]:
    """Read an address; a name and password in it would be shown by errors: none are taken."""
    try:
        parts = urlsplit(url)
        host, port, secret = parts.hostname, parts.port, parts.username or parts.password
        url.encode("ascii")
    except (AttributeError, TypeError, ValueError):
        raise ArgumentError("url", "must be such as http://127.0.0.1:8321") from None
    wrong = secret or parts.query or parts.fragment or not url.isprintable()
    if parts.scheme not in ("http", "https") or not host or wrong or " " in url:
        raise ArgumentError("url", "must be such as http://127.0.0.1:8321")
    base = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{base}", host, port, parts.scheme == "https", base


def _said(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem) or type(problem).__name__


def _plain(value: Any) -> Any:
    """Return what NumPy has as JSON has it; the service says what is wrong with anything else."""
    found: Any = getattr(value, "tolist", value.__repr__)()
    return found
