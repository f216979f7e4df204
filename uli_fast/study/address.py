"""Where a study is: a file, or a name in a PostgreSQL database.

An address may hold a password. It is given to libpq and to nobody else: what is shown of an
address, in errors, logs and on pages, is the host, the port and the database alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from uli_fast import _check
from uli_fast.errors import ArgumentError, MissingExtraError

SCHEMES = ("postgresql://", "postgres://")
# What somebody means as an address, however it is spelt, even with a slash lost in a Path.
ADDRESS = re.compile(r"(postgres(ql)?[+:]|[a-z][a-z0-9+.-]+:/)", re.IGNORECASE)
LONGEST_NAME = 200
SECRETS = ("password", "sslpassword")
# What is asked of libpq unless the address says otherwise: seconds to connect, and to find out
# that a server has gone without a word.
DEFAULTS = {
    "application_name": "uli_fast",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}


class Address:
    """A study in a database."""

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self._parameters = _parameters(url)
        self._secrets = [self._parameters[x] for x in SECRETS if self._parameters.get(x)]

    def __str__(self) -> str:
        known = self._parameters
        host, port = known.get("host") or known.get("hostaddr", ""), known.get("port")
        where = f"/{known.get('dbname', '')}" + (f"?host={host}" if host.startswith("/") else "")
        if not host.startswith("/"):
            where = f"{host}:{port}{where}" if port else f"{host}{where}"
        return f"study {self.name!r} in {SCHEMES[0]}{where}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def parameters(self) -> dict[str, str]:
        """What libpq is told, the password included."""
        return DEFAULTS | self._parameters

    def safe(self, said: object) -> str:
        """Return what somebody said without the password in it, on one line."""
        text = " ".join(str(said).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def located(path: Any, name: Any) -> Path | Address:
    """Return where a study is; a name goes with a database, and with nothing else."""
    if isinstance(path, str) and path.startswith(SCHEMES):
        if name is None:
            raise ArgumentError("name", "must be given: a database may hold many studies")
        given = _check.key("name", name, LONGEST_NAME)
        if "\0" in given:
            raise ArgumentError("name", "must not hold the character NUL")
        return Address(path, given)
    no_address("path", path)
    if name is not None:
        raise ArgumentError("name", "is for studies in a database: a file holds one study")
    return _check.file("path", path)


def no_address(argument: str, path: Any) -> None:
    """Refuse an address where a file is meant, which errors would name, password and all."""
    if not isinstance(path, str | Path) or not ADDRESS.match(str(path)):
        return
    if str(path).lower().startswith("http"):
        raise ArgumentError(argument, "must be a file; uli.Client has the studies of a service")
    wanted = "a string if it is an address" if isinstance(path, Path) else "a file"
    known = " or ".join(SCHEMES)
    raise ArgumentError(
        argument, f"must be {wanted}, and addresses begin with {known}; not repeated here"
    )


def driver() -> Any:
    """Return psycopg."""
    try:
        import psycopg
    except ImportError as problem:
        raise MissingExtraError(
            f"studies in PostgreSQL need psycopg: pip install 'psycopg[binary]' ({problem})"
        ) from None
    return psycopg


def _parameters(url: str) -> dict[str, str]:
    """Read an address as libpq does.

    libpq quotes what it does not understand, which may be a part of the password; and a password
    with @ or / in it may be taken for a host or a database. So nothing is quoted here.
    """
    psycopg = driver()
    found: dict[str, Any] | None = None
    try:
        found = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        pass  # raised below, so that what was quoted is not even its context
    if found is None or not _sound(found):
        raise ArgumentError(
            "path",
            "is not an address such as postgresql://user@host:5432/database (not repeated here, "
            "as it may hold a password; in one, write / @ : ? % as %2F %40 %3A %3F %25)",
        )
    return {key: str(value) for key, value in found.items() if value is not None}


def _sound(found: dict[str, Any]) -> bool:
    ports = str(found.get("port") or "1").split(",")
    places = f"{found.get('host') or ''}{found.get('hostaddr') or ''}{found.get('dbname') or ''}"
    return all(port.isascii() and port.isdigit() for port in ports) and "@" not in places
