"""Checks of live decisions: how many are asked for, which is meant, blocks of sums."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from uli_fast._check.arms import Labels
from uli_fast._check.numbers import number, whole
from uli_fast._check.words import key, shown
from uli_fast.errors import ArgumentError, UnknownDecisionError

MOST_DECISIONS = 10**7  # asked for at once: a list of them is returned
MOST_PLAYS = 10**15  # of a block of sums: sums of them are exact as floats
TOTALS = 1e-12  # how far sums may be off by rounding, for each outcome in them


def decisions(name: str, value: Any) -> int:
    """Return how many decisions are asked for in one call."""
    return whole(name, value, most=MOST_DECISIONS)


def decision(name: str, value: Any, asked: int, hint: str = "") -> int:
    """Return the position of a decision, from its id: one of 1..asked."""
    if isinstance(value, tuple) and hasattr(value, "id"):
        raise UnknownDecisionError(
            name, f"must be the decision's id, not the decision itself: pass {value.id}, its .id"
        )
    if isinstance(value, float | np.floating):
        raise UnknownDecisionError(
            name, f"must be a whole number, the decision's id, got {shown(value)}: tell(id, reward)"
        )
    try:
        position = whole(name, value) - 1
    except ArgumentError:
        position = asked
    if position >= asked:
        raise UnknownDecisionError(name, f"no decision {shown(value)} was asked for{hint}")
    return position


def requests(name: str, value: Any) -> list[Any]:
    """Return the keys of decisions that are asked for at once: given, or so many without one."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return [None] * decisions(name, value)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ArgumentError(name, f"must be a number, or a list of keys, got {shown(value)}")
    return list(value)


def metadata_of_each(name: str, value: Any, many: int) -> list[Any]:
    """Return a mapping for each of several decisions: one for all of them, or a list."""
    if value is None or isinstance(value, Mapping):
        return [value] * many
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ArgumentError(name, f"must be a mapping, or a list of them, got {shown(value)}")
    found = list(value)
    if len(found) != many:
        raise ArgumentError(name, f"must be one for each of {many} decisions, got {len(found)}")
    return found


def requests_of_each(name: str, value: Any, many: int) -> list[str | None]:
    """Return the request of each of several decisions; None: any."""
    if value is None:
        return [None] * many
    if isinstance(value, int | np.integer):
        raise ArgumentError(name, f"must be a list of keys, got {shown(value)}")
    found = requests(name, value)
    if len(found) != many:
        raise ArgumentError(name, f"must be one for each of {many} outcomes, got {len(found)}")
    return [None if one is None else key(name, one) for one in found]


def told(name: str, value: Any) -> list[tuple[Any, ...]]:
    """Return outcomes that are told at once: the id of a decision, and what became of it."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ArgumentError(name, f"must be a list of (decision_id, reward), got {shown(value)}")
    found = list(value)
    for one in found:
        if not isinstance(one, tuple | list) or len(one) < 2:
            raise ArgumentError(name, f"must be (decision_id, reward) each, got {shown(one)}")
    return [tuple(one) for one in found]


def cursor(name: str, value: Any) -> tuple[int, int]:
    """Return where a page begins: after a decision, and after its event if that is known."""
    text = (value or "0") if isinstance(value, str) else "?"
    match = re.fullmatch(r"([0-9]{1,18})(?:\.([0-9]{1,18}))?", text, re.ASCII)
    if match is None:
        wanted = "a decision's id, or what the last page gave"
        raise ArgumentError(name, f"must be {wanted}, got {shown(value)}")
    return int(match[1]), int(match[2] or 0)


def calls(name: str, value: Any, known: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return calls that are made at once: the name of a method, and its arguments."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ArgumentError(name, f"must be a list of (method, arguments...), got {shown(value)}")
    found = list(value)
    for one in found:
        if not isinstance(one, tuple | list) or not one or one[0] not in known:
            methods = ", ".join(known)
            raise ArgumentError(name, f"must begin with one of {methods} each, got {shown(one)}")
    return [tuple(one) for one in found]


def block(
    name: str, value: Any, labels: Labels, low: float, high: float
) -> dict[int, tuple[int, float, int]]:
    """Return plays, total and missing outcomes by the position of the arm, totals within reach."""
    if not isinstance(value, Mapping) or not value:
        raise ArgumentError(name, f"must be {{arm: (plays, total)}}, got {shown(value)}")
    known: dict[Any, int] = {label: a for a, label in enumerate(labels)}
    found: dict[int, tuple[int, float, int]] = {}
    for label, row in value.items():
        if type(label) is bool or not isinstance(label, int | str | np.integer):
            raise ArgumentError(name, f"there is no arm {shown(label)}")
        if label not in known:
            raise ArgumentError(name, f"there is no arm {shown(label)}")
        if not isinstance(row, list | tuple) or len(row) not in (2, 3):
            raise ArgumentError(
                name, f"arm {label!r} must have (plays, total) or (plays, total, missing)"
            )
        try:
            found[known[label]] = _block_row(row, low, high)
        except ArgumentError as problem:
            raise ArgumentError(name, f"of arm {label!r}, {problem}") from None
    return dict(sorted(found.items()))


def _block_row(row: Sequence[Any], low: float, high: float) -> tuple[int, float, int]:
    plays = whole("plays", row[0], most=MOST_PLAYS)
    total = number("total", row[1])
    missing = whole("missing", row[2], 0, plays) if row[2:] else 0
    came = plays - missing
    if math.isfinite(low):
        room = TOTALS * came * max(abs(low), abs(high))
        if not came * low - room <= total <= came * high + room:
            reach = f"[{came * low:g}, {came * high:g}]"
            raise ArgumentError("total", f"must be in {reach} for {came} rewards, got {total!r}")
    return plays, total, missing
