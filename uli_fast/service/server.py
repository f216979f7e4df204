"""uvicorn, with what it lacks: an end to slow heads and to too many connections."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from uli_fast.service.app import HEADERS, Service
from uli_fast.service.handlers import POLICY
from uli_fast.service.limits import Limits
from uli_fast.service.problems import MEDIA, RETRY

if TYPE_CHECKING:
    from uli_fast.service.page import WatchedService

LONGEST_HEAD = 16 * 1024  # bytes
BACKLOG = 1024
IDLE = 75  # seconds that a connection is kept without a request
GRACE = 30  # seconds that answers may take when the service stops


class Connection(H11Protocol):
    """A connection whose head must be there in time, and of which there are not too many."""

    def __init__(self, *args: Any, limits: Limits, **more: Any) -> None:
        super().__init__(*args, **more)
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the head of a request."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            self._refuse(503, "Service Unavailable", "too many connections")
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on waiting, if that was not the whole head."""
        super().data_received(data)
        if self.transport.is_closing() or self.conn.their_state is not h11.IDLE:
            self._arrived()
        elif self.conn.trailing_data[0]:
            self._wait()
        else:  # answered already; the next one is awaited by uvicorn
            self._arrived()

    def on_response_complete(self) -> None:
        """Close a connection on which a body goes on that nobody has read: nothing ends that."""
        unread = self.conn.their_state is h11.SEND_BODY
        super().on_response_complete()
        if unread:
            self.transport.close()

    def pause_writing(self) -> None:
        """Begin to wait for somebody who does not read the answer."""
        super().pause_writing()
        wait = self._limits.answer_seconds
        self._unread = self._unread or self.loop.call_later(wait, self.transport.abort)

    def resume_writing(self) -> None:
        """Wait no more: it is being read."""
        self._read()
        super().resume_writing()

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._arrived()
        self._read()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Say that this is not HTTP."""
        self._arrived()
        self._refuse(400, "Bad Request", "this is no HTTP request that could be read")

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self._limits.head_seconds, self._give_up)

    def _arrived(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self._refuse(408, "Request Timeout", "the head of the request was not there in time")

    def _refuse(self, status: int, title: str, detail: str) -> None:
        """Answer without the application, and close."""
        content = (
            f'{{"type":"about:blank","title":"{title}","status":{status},"detail":"{detail}"}}'
        ).encode()
        lines = [f"HTTP/1.1 {status} {title}".encode()]
        lines += [key + b": " + value for key, value in HEADERS]
        lines.append(f"content-security-policy: {POLICY}".encode())
        lines.append(f"content-type: {MEDIA}\r\ncontent-length: {len(content)}".encode())
        lines.append(b"connection: close")
        if status == 503:
            lines.append(f"retry-after: {RETRY}".encode())
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + content)
        self.transport.close()


class Server(uvicorn.Server):
    """Ends when it is told to (SIGTERM, Ctrl-C), and lets its caller clean up after that."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen to signals without raising them again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heard = (signal.SIGINT, signal.SIGTERM)
        before = {one: signal.signal(one, self.handle_exit) for one in heard}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def new_server(service: Service | WatchedService, **tls: Any) -> Server:
    """Return a server for an application; ``run(sockets=...)`` runs it until it is told to end."""
    config = uvicorn.Config(
        service,
        http=partial(Connection, limits=service.limits),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        **tls,
    )
    return Server(config)


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; an OSError if it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's delay off where the protocol is given, and only there.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(BACKLOG)  # who comes before the loop runs waits, and is not turned away
    except BaseException:
        made.close()
        raise
    return made
