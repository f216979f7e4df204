"""Who may do what: bearer tokens, of which a file has the hashes.

A line of the file is a name, a role and the hash of a token: ``ward-3 drive sha256:9f86...``.
Tokens are long and random, so a plain SHA-256 is as good as a slow one: there is nothing to guess.
The file is read again when it has changed: whoever is taken out of it is out.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from uli_fast import _check
from uli_fast._support.files import LockFile, read_regular
from uli_fast.errors import ArgumentError, StudyError

# Each may do all that those before it may. "anybody" needs no token.
ROLES = ("anybody", "counts", "read", "drive")
LOOKS = 1.0  # seconds between looks at the file
LARGEST = 2**20  # bytes of the file
TRIES, PAUSE = 200, 0.05  # of writing while somebody else is; seconds in between
_LINE = re.compile(r"([A-Za-z0-9._-]{1,64}) (counts|read|drive) sha256:([0-9a-f]{64})")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Caller(NamedTuple):
    """Somebody, by the name of a token."""

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Return whether this role is enough."""
        return ROLES.index(self.role) >= ROLES.index(role)


def hashed(token: str) -> str:
    """Return what the file has of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class Tokens:
    """The tokens of a file."""

    def __init__(self, path: str | Path) -> None:
        self._path = _check.file("token_file", path)
        self._seen, self._next = self._stamp(), 0.0
        self._known = self._read()

    def caller(self, token: str) -> Caller | None:
        """Return whose token it is; as long as it takes for a wrong one as for the right one."""
        self._look()
        given, found = hashed(token), None
        for known, caller in self._known:
            if hmac.compare_digest(known, given):
                found = caller
        return found

    def _look(self) -> None:
        """Read the file again if it has changed; one that is broken or gone lets nobody in."""
        now = time.monotonic()
        if now < self._next:
            return
        stamp = self._stamp()
        if stamp != self._seen:
            self._known, self._seen = self._read(), stamp
        self._next = now + LOOKS  # not before it was read: what is broken is looked at every time

    def _stamp(self) -> tuple[int, ...]:
        try:
            found = os.stat(self._path)
        except OSError as problem:
            raise _unreadable(self._path, problem) from None
        # Not the time that may be set as one likes alone: a copy keeps that of its source.
        return found.st_ctime_ns, found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> list[tuple[str, Caller]]:
        try:
            mode = os.stat(self._path).st_mode
            lines = read_regular(self._path, LARGEST).decode("ascii").splitlines()
        except (OSError, UnicodeError) as problem:
            raise _unreadable(self._path, problem) from None
        if os.name == "posix" and mode & 0o022:
            raise StudyError(f"{self._path}: others may write to it; chmod 600 {self._path}")
        known, names = [], set[str]()
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            match = _LINE.fullmatch(line.strip())
            if match is None or match[1] in names:
                raise StudyError(
                    f"{self._path}: line {number} is no name, role and hash of a token, "
                    "or its name stands there twice"
                )
            names.add(match[1])
            known.append((match[3], Caller(match[1], match[2])))
        if not known:
            raise StudyError(f"{self._path} holds no token; uli token makes one")
        return known


def new_token(path: str | Path, name: str, role: str) -> str:
    """Make a token, add its hash to a file that its owner alone can read, and return it."""
    target = _check.file("token_file", path)
    if _NAME.fullmatch(name) is None:
        raise ArgumentError("name", "must be 1 to 64 letters, digits, dots, dashes or underscores")
    _check.one_of("role", role, ROLES[1:])
    token = f"uli_{secrets.token_urlsafe(32)}"
    try:
        with _locked(target):
            _add(target, name, f"{name} {role} sha256:{hashed(token)}\n")
    except OSError as problem:
        raise _unreadable(target, problem) from None
    return token


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep others from adding a token between the look at the names and the new line."""
    for _ in range(TRIES):
        lock = LockFile.taken(f"{os.path.realpath(path)}-lock")
        if lock is not None:
            break
        time.sleep(PAUSE)
    else:
        raise StudyError(f"{path}: somebody else is adding a token, and does not end")
    try:
        yield
    finally:
        lock.release()


def _add(target: Path, name: str, line: str) -> None:
    begin = ""
    if target.exists():
        if any(caller.name == name for _, caller in _known(target)):
            raise ArgumentError("name", f"there is a token of {name!r} in {target} already")
        last = read_regular(target, LARGEST)[-1:]
        begin = "" if last in (b"", b"\n") else "\n"  # an editor left it out
    handle = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{begin}{line}")
        file.flush()
        os.fsync(file.fileno())


def _known(path: Path) -> list[tuple[str, Caller]]:
    return [] if path.stat().st_size == 0 else Tokens(path)._known


def _unreadable(path: Path, problem: Exception) -> StudyError:
    said = getattr(problem, "strerror", None) or "it is not plain text"
    return StudyError(f"{path} cannot be used for tokens: {said}")
