"""uvicorn, with what it lacks: an end to slow heads and to too many connections."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
import threading
from collections.abc import Iterator
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
BACKLOG, AT_ONCE = 1024, 64  # that wait to be taken in, and are before any of them is looked at
FAREWELL = 2.0  # seconds in which the end of an encrypted connection must be answered
IDLE = 75  # seconds that a connection is kept without a request
GRACE = 30  # seconds that answers may take when the service stops


class Guests:
    """Whoever is connected. Where there are too many, the stranger who came first has to go.

    A stranger is a connection on which nobody has shown a token yet: who has one is served,
    however many others connect, say nothing, and stay, unless more than there is place for come
    before its head does.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._here: dict[Connection | Handshake, None] = {}

    def come(self, one: Connection | Handshake) -> bool:
        """Take somebody in; return False if there is no place, and nobody who has to go."""
        while len(self._here) >= self._most:
            stranger = next((x for x in self._here if not x.known), None)
            if stranger is None:
                return False
            self.leave(stranger)
            stranger.transport.abort()
        self._here[one] = None
        return True

    def leave(self, one: Connection | Handshake) -> None:
        """Make room."""
        self._here.pop(one, None)

    def __contains__(self, one: Connection | Handshake) -> bool:
        return one in self._here


class Handshake(asyncio.Protocol):
    """A connection that is not encrypted yet. It takes a place from the first moment on."""

    known = False

    def __init__(
        self, guests: Guests, tls: ssl.SSLContext, limits: Limits, connection: Connection
    ) -> None:
        self._guests, self._tls, self._limits = guests, tls, limits
        self._connection, self._early = connection, b""
        self._shaking: asyncio.Task[None] | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to shake hands, if there is a place."""
        self.transport = transport
        transport.pause_reading()  # nothing is read before TLS does
        if self._guests.come(self):
            self._shaking = asyncio.get_running_loop().create_task(self._shake())
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Keep what came together with the end of the handshake."""
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room."""
        self._guests.leave(self)

    async def _shake(self) -> None:
        encrypted: Any = None  # as asyncio says of a connection that was cut off
        with contextlib.suppress(OSError):  # too late, or no TLS: there is no way to answer
            encrypted = await asyncio.get_running_loop().start_tls(
                self.transport,
                self,
                self._tls,
                server_side=True,
                ssl_handshake_timeout=self._limits.head_seconds,
                ssl_shutdown_timeout=FAREWELL,
            )
        stays = self in self._guests
        self._guests.leave(self)
        if encrypted is None or not stays:
            self.transport.abort()
            return
        encrypted.set_protocol(self._connection)
        self._connection.connection_made(encrypted)
        if self._early:
            self._connection.data_received(self._early)


class Connection(H11Protocol):
    """A connection whose head must be there in time, and of which there are not too many."""

    def __init__(self, *args: Any, limits: Limits, guests: Guests, **more: Any) -> None:
        super().__init__(*args, **more)
        self._limits, self._guests = limits, guests
        self.known = False  # whether somebody has shown a token; the application says so
        self.app_state = {**self.app_state, "connection": self}
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the head of a request."""
        super().connection_made(transport)
        if self._guests.come(self):
            self._wait()
        else:
            self._refuse(503, "Service Unavailable", "too many connections")

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
        """Close a connection on which it is not certain where the next request begins.

        A body that nobody has read goes on, and nothing ends that; or its length is said twice,
        of which something in between may have believed the other.
        """
        unread = self.conn.their_state is h11.SEND_BODY
        if unread or {b"content-length", b"transfer-encoding"} <= dict(self.headers).keys():
            self.transport.close()
        super().on_response_complete()

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
        """Wait no more, and make room."""
        self._guests.leave(self)
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

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; asyncio takes one number for how many may wait and how many it takes at once."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(BACKLOG)

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


def new_server(service: Service | WatchedService, tls: ssl.SSLContext | None = None) -> Server:
    """Return a server for an application; ``run(sockets=...)`` runs it until it is told to end."""
    limits, guests = service.limits, Guests(service.limits.connections)

    def connected(**more: Any) -> asyncio.Protocol:
        made = Connection(limits=limits, guests=guests, **more)
        return made if tls is None else Handshake(guests, tls, limits, made)

    config = uvicorn.Config(
        service,
        http=connected,  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        backlog=AT_ONCE,
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
