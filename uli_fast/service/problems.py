"""Errors as application/problem+json (RFC 9457), and back.

``type`` is made of the name of the error's class and stays what it is. ``argument`` is the one at
fault, ``detail`` says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from uli_fast import errors
from uli_fast._support.text import clean
from uli_fast.errors import ArgumentError, StudyError, UliError

MEDIA = "application/problem+json"
PREFIX = "urn:uli-fast:problem:"
# The first class of an error that stands here decides.
STATUSES: dict[type[BaseException], int] = {
    errors.UnknownDecisionError: 404,
    errors.ConflictingRewardError: 409,
    errors.ArgumentError: 422,
    errors.NoGuaranteeError: 409,
    errors.UnsupportedError: 409,
    errors.StudyAccessError: 403,
    errors.StudyDivergedError: 500,
    errors.OracleError: 500,
    errors.RuleError: 500,
    errors.DesignError: 500,
    errors.PolicySearchError: 500,
    errors.StudyError: 503,
    errors.MissingExtraError: 500,
    errors.UliError: 409,
}
RETRY = 1  # seconds, of 503 and 429
LONGEST = 2000  # characters of what an error says


class RefusedError(Exception):
    """A request that never reached the study."""

    def __init__(self, status: int, detail: str, *headers: tuple[str, str]) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


def type_of(error: type[BaseException]) -> str:
    """Return the type of a problem."""
    words = re.findall("[A-Z]+(?=[A-Z]|$)|[A-Z][a-z0-9]*", error.__name__.removesuffix("Error"))
    return PREFIX + "-".join(words).lower()


def status_of(error: BaseException) -> int:
    """Return the status of an answer that tells of an error."""
    return next((STATUSES[one] for one in type(error).__mro__ if one in STATUSES), 500)


def problem(error: BaseException, blinded: bool = False) -> tuple[int, dict[str, Any]]:
    """Return the status and content of the answer that tells of an error, without its stack.

    What an error of the study says may name an arm, a file or a machine: who is blinded hears only
    of what kind it is.
    """
    if isinstance(error, RefusedError):
        title = HTTPStatus(error.status).phrase
        return error.status, _content("about:blank", title, error.status, error.detail)
    status = status_of(error)
    if not isinstance(error, UliError):
        detail = "something went wrong in the service; its log says what"
        return 500, _content("about:blank", "Internal Server Error", 500, detail)
    name = type(error).__name__
    if blinded and is_of_the_study(error):
        detail = "the study cannot be read now; the log of the service says why"
        return status, _content(type_of(type(error)), name, status, detail)
    if isinstance(error, ArgumentError):
        found = _content(type_of(type(error)), name, status, error.problem)
        found["argument"] = error.argument
    else:
        found = _content(type_of(type(error)), name, status, str(error))
    if notes := getattr(error, "__notes__", None):
        found["notes"] = [clean(note)[:LONGEST] for note in notes]
    return status, found


def is_of_the_study(error: BaseException) -> bool:
    """Return whether an error is the study's own, and not about a request or who sent it."""
    about_a_request = isinstance(error, ArgumentError | errors.StudyAccessError)
    return isinstance(error, UliError) and not about_a_request


def _content(type_: str, title: str, status: int, detail: str) -> dict[str, Any]:
    about = {"type": type_, "title": title, "status": status}
    return about | {"detail": clean(detail)[:LONGEST]}


def invalid(error: Exception) -> ArgumentError:
    """Return what is wrong with a body that is no JSON, or not as its schema says."""
    said, _, path = str(error).partition(" - at `$")
    names = re.findall(r"\.([A-Za-z_]\w*)", path)
    unknown = re.match("Object contains unknown field `(.*)`$|Object missing required", said)
    if not names:
        missing = re.search("field `(.*?)`", said)
        name = missing[1] if unknown and missing else "body"
        return ArgumentError(name, f"{said[:1].lower()}{said[1:]}")
    return ArgumentError(names[0], f"{said[:1].lower()}{said[1:]}")


def error_of(status: int, body: bytes) -> Exception:
    """Return the error that an answer tells of, as its class says."""
    try:
        found: Mapping[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        found = {}
    detail = str(found.get("detail") or f"the service answered {status}")
    kinds = {type_of(x): x for x in vars(errors).values() if _is_error(x)}
    kind = kinds.get(str(found.get("type")))
    if kind is None:
        kind = errors.StudyUnavailableError if status in (429, 503) else StudyError
    error: Exception
    if issubclass(kind, ArgumentError):
        error = kind(str(found.get("argument")), detail)
    elif status in (401, 403):
        error = errors.StudyAccessError(detail)
    else:
        error = kind(detail)
    for note in found.get("notes", ()):
        error.add_note(str(note))
    return error


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, UliError)
