"""Who has signed in with a browser.

A browser cannot send a token by itself. It is given a random cookie, which stands for the token
here, in memory, and nowhere else. A token that is taken out of the file ends its sessions; so does
the end of the service.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

LASTS = 12 * 3600  # seconds
MOST_SESSIONS = 1000


class Session(NamedTuple):
    """A token, and until when it is stood for."""

    token: str
    ends: float


class Sessions:
    """The browsers that are signed in."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, Session] = {}

    def begin(self, token: str) -> str:
        """Return the key of a new session; where there are too many, the oldest ends."""
        now = self._clock()
        self._known = {key: one for key, one in self._known.items() if one.ends > now}
        while len(self._known) >= MOST_SESSIONS:
            del self._known[next(iter(self._known))]
        key = secrets.token_urlsafe(32)
        self._known[key] = Session(token, now + LASTS)
        return key

    def token(self, key: str) -> str | None:
        """Return the token that a session stands for, if there is one."""
        found = self._known.get(key)
        return found.token if found is not None and found.ends > self._clock() else None

    def end(self, key: str) -> None:
        """End a session."""
        self._known.pop(key, None)


def cookie_name(scope: Mapping[str, Any]) -> str:
    """Return the name of the cookie: browsers do not tell apart the ports of a machine."""
    server = scope.get("server") or ("", 0)
    return f"uli-{server[1] or 0}"


def cookie_of(scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> str:
    """Return the key that a browser has sent, or nothing."""
    # Not http.cookies, which reads none if one of another program is not to its taste.
    for one in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, key = one.strip().partition("=")
        if name == cookie_name(scope):
            return key
    return ""


def set_cookie(scope: Mapping[str, Any], headers: Mapping[bytes, bytes], key: str) -> str:
    """Return the header that gives a browser its key; with no key, that takes it away.

    A proxy that says it speaks HTTPS is believed: the cookie is only ever guarded better by it.
    """
    https = scope.get("scheme") == "https" or headers.get(b"x-forwarded-proto") == b"https"
    secure = "; Secure" if https else ""
    lasts = LASTS if key else 0
    about = f"Path=/; Max-Age={lasts}; HttpOnly; SameSite=Strict{secure}"
    return f"{cookie_name(scope)}={key}; {about}"


def from_here(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a form was sent from a page of this service, as far as a browser says."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    if origin is None:  # no browser
        return True
    try:
        place = urlsplit(origin.decode("ascii")).netloc
    except (UnicodeDecodeError, ValueError):
        return False
    return place != "" and place == headers.get(b"host", b"").decode("latin-1")
