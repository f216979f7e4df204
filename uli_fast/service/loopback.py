"""Whether something is this machine itself, which is all that is let in without a token.

A browser on this machine can be led here by a page from elsewhere, whose name is made to mean
127.0.0.1 (DNS rebinding). It then says that name, and is refused.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from uli_fast.service.limits import CLOSE
from uli_fast.service.problems import RefusedError


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, as only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(headers: Mapping[bytes, bytes]) -> None:
    """Refuse who was led here by another name than this machine's."""
    said = headers.get(b"host", b"").decode("latin-1").lower()
    name = said if said.endswith("]") else said.rsplit(":", 1)[0]
    if not is_loopback(name.strip("[]")):
        raise RefusedError(403, "without tokens this service is for this machine alone", CLOSE)
