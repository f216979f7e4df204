"""How much may be sent, how fast, how often."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from uli_fast.service.problems import RefusedError

CLOSE = ("connection", "close")
MOST_CALLERS = 10_000  # of whom the rate is known


@dataclass(frozen=True)
class Limits:
    """What the service takes."""

    body: int = 2**20  # bytes
    body_seconds: float = 10.0  # until the whole body is there
    head_seconds: float = 10.0  # until the whole head is there
    answer_seconds: float = 60.0  # in which nothing of an answer is taken
    rate: float = 2000.0  # requests a second, of one token; as many at once
    connections: int = 256
    queued: int = 1024  # requests that wait for the study
    decisions: int = 10_000  # of one request
    recorded: int = 2**24  # bytes of metadata that is sent once and kept with each of them
    together: int = 2**24  # bytes that are recorded in one commit, if not by one request
    waiting: int = 2**25  # bytes that requests which wait for the study will record, or have sent


def welcome(scope: Mapping[str, Any]) -> None:
    """Let the connection of somebody who has shown a token stay where there are too many."""
    connection = scope.get("state", {}).get("connection")
    if connection is not None:  # behind another server there is none
        connection.known = True


class Rate:
    """A bucket of tokens for each caller: it fills with time, and a request takes one."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, max(rate, 1.0), clock
        self._known: dict[str, tuple[float, float]] = {}  # what is left, and when that was

    def take(self, caller: str) -> float:
        """Take a token; return 0, or in how many seconds there is one."""
        now = self._clock()
        left, when = self._known.get(caller, (self._most, now))
        left = min(self._most, left + (now - when) * self._rate)
        if len(self._known) >= MOST_CALLERS:
            self._known.clear()
        if left < 1.0:
            self._known[caller] = left, now
            return (1.0 - left) / self._rate
        self._known[caller] = left - 1.0, now
        return 0.0


async def body_of(
    receive: Callable[[], Awaitable[Any]], headers: dict[bytes, bytes], limits: Limits
) -> bytes:
    """Read a body; refuse one that is too long, before it is there, or too slow."""
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or int(declared) > limits.body:
        raise _too_long(limits.body)
    parts, size, more = list[bytes](), 0, True
    try:
        async with asyncio.timeout(limits.body_seconds):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RefusedError(400, "the connection ended before the body did", CLOSE)
                parts.append(message.get("body", b""))
                size, more = size + len(parts[-1]), message.get("more_body", False)
                if size > limits.body:
                    raise _too_long(limits.body)
    except TimeoutError:
        said = f"the body was not there within {limits.body_seconds:g} seconds"
        raise RefusedError(408, said, CLOSE) from None
    return b"".join(parts)


def _too_long(most: int) -> RefusedError:
    return RefusedError(413, f"a body may have at most {most} bytes", CLOSE)
