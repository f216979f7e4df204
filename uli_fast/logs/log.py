"""Logs of past outcomes: a row per decision, with its arm and its reward, in order of time.

Rows are numbered from 1. A reward that is not there (an empty cell, None) is a missing outcome;
one that is not a number is a mistake, and named.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._support.files import open_regular
from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, RewardRangeError

# Bytes of a file, and arms of a log: more are probably not arms.
LARGEST_LOG, MOST_ARMS = 2**31, 10_000
LONGEST_LINE = 2**20  # characters: a file without an end of line would be read as one of them
MOST_SHOWN = 8  # columns that an error names


class Log(NamedTuple):
    """A log in memory."""

    source: str  # the file's name, or what it was given as
    labels: tuple[str, ...]
    arms: I64  # (N,) the number of each row's arm
    rewards: F64  # (N,) in reward units; NaN where the outcome is missing
    declared: bool  # whether the arms were named beforehand

    @property
    def missing(self) -> int:
        """How many outcomes are missing."""
        return int(np.isnan(self.rewards).sum())


def read_log(log: Any, arm: Any, reward: Any, arms: Any, bounds: tuple[float, float]) -> Log:
    """Return a log from a CSV file, a frame, a mapping of columns, or pairs (arm, reward)."""
    columns = (_check.text("arm", arm), _check.text("reward", reward))
    declared = None if arms is None else _declared(arms)
    if isinstance(log, str | os.PathLike):
        path = _check.file("log", log)
        return _read_file(path, columns, declared, bounds)
    if isinstance(log, Mapping) or hasattr(log, "columns"):
        source, rows = f"a {type(log).__name__}", _frame_rows(log, columns)
    elif isinstance(log, Iterable) and not isinstance(log, bytes | bytearray):
        source, rows = f"a {type(log).__name__}", _pairs(log)
    else:
        raise ArgumentError(
            "log",
            "must be the path of a CSV file, a frame, a mapping of columns or pairs "
            f"(arm, reward), got {_check.shown(log)}",
        )
    return _gathered(source, rows, columns, declared, bounds)


def _declared(arms: Any) -> tuple[str, ...]:
    labels = _check.labels("arms", arms)
    if len(labels) < 2:
        raise ArgumentError("arms", f"must be two or more, got {arms!r}")
    return tuple(map(str, labels))


def _read_file(
    path: Path, columns: tuple[str, str], declared: Any, bounds: tuple[float, float]
) -> Log:
    try:
        with open_regular(path, LARGEST_LOG) as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            rows = _file_rows(csv.reader(_lines(text), strict=True), columns, path.name)
            return _gathered(path.name, rows, columns, declared, bounds)
    except OSError as problem:
        said = problem.strerror or problem
        raise ArgumentError("log", f"{path} cannot be read: {said}") from None
    except UnicodeDecodeError:
        raise ArgumentError(
            "log", f"{path} is not text in UTF-8; a compressed file must be unpacked first"
        ) from None
    except csv.Error as problem:
        raise ArgumentError("log", f"{path} is not a CSV file: {problem}") from None


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    number = 0
    while line := text.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            said = f"line {number} has more than {LONGEST_LINE:,} characters"
            raise ArgumentError("log", f"{said}: is it a CSV file?")
        yield line


def _file_rows(
    lines: Iterator[list[str]], columns: tuple[str, str], name: str
) -> Iterator[tuple[Any, Any]]:
    """Yield the cells of both columns; an empty one is None."""
    header = [cell.strip() for cell in next(lines, [])]
    i, j = (
        _position(header, c, what, name) for c, what in zip(columns, ("arm", "reward"), strict=True)
    )
    row = 0
    for cells in lines:
        if not cells:  # an empty line
            continue
        row += 1
        if len(cells) <= max(i, j):
            said = f"row {row} has {len(cells)} cells, the header {len(header)}"
            raise ArgumentError("log", said)
        reward = cells[j].strip()
        yield cells[i].strip() or None, _parsed(reward) if reward else None


def _parsed(cell: str) -> float | str:
    """Return the number in a cell, or its text where there is none."""
    try:
        return cell if "_" in cell else float(cell)
    except ValueError:
        return cell


def _position(header: Sequence[str], column: str, argument: str, name: str) -> int:
    found = [i for i, cell in enumerate(header) if cell == column]
    if len(found) == 1:
        return found[0]
    if found:
        raise ArgumentError(argument, f"{name} has {len(found)} columns called {column!r}")
    raise _no_column(argument, column, header, name)


def _no_column(argument: str, column: str, header: Sequence[str], name: str) -> ArgumentError:
    close = difflib.get_close_matches(column, header, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    shown = ", ".join(repr(x[:80]) for x in header[:MOST_SHOWN])
    more = ", ..." if len(header) > MOST_SHOWN else ""
    return ArgumentError(
        argument, f"{name} has no column {column!r}, but {shown or 'none'}{more}.{hint}"
    )


def _frame_rows(log: Any, columns: tuple[str, str]) -> Iterator[tuple[Any, Any]]:
    header = [str(x) for x in (log.keys() if isinstance(log, Mapping) else log.columns)]
    values = []
    for column, argument in zip(columns, ("arm", "reward"), strict=True):
        _position(header, column, argument, f"the {type(log).__name__}")
        values.append(_listed(log[column], argument))
    if len(values[0]) != len(values[1]):
        raise ArgumentError(
            "log", f"has columns of different lengths: {len(values[0])} and {len(values[1])}"
        )
    return zip(*values, strict=True)


def _listed(column: Any, argument: str) -> list[Any]:
    """Return a column as a list; what pandas says is not there is None."""
    absent = column.isna() if hasattr(column, "isna") else None
    for method in ("tolist", "to_list"):
        if hasattr(column, method):
            column = getattr(column, method)()
            break
    if not isinstance(column, Sequence) or isinstance(column, str | bytes | bytearray):
        raise ArgumentError(argument, f"must name a column of values, got {_check.shown(column)}")
    if absent is None:
        return list(column)
    return [None if gone else x for x, gone in zip(column, absent, strict=True)]


def _pairs(log: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    for i, pair in enumerate(log, start=1):
        if not isinstance(pair, Sequence) or isinstance(pair, str | bytes) or len(pair) != 2:
            raise ArgumentError(
                "log", f"row {i} must be a pair (arm, reward), got {_check.shown(pair)}"
            )
        yield pair[0], pair[1]


def _gathered(
    source: str,
    rows: Iterator[tuple[Any, Any]],
    columns: tuple[str, str],
    declared: tuple[str, ...] | None,
    bounds: tuple[float, float],
) -> Log:
    """Check every row and keep it."""
    numbers = {label: a for a, label in enumerate(declared or ())}
    arms, rewards = array("q"), array("d")
    for i, (arm, reward) in enumerate(rows, start=1):
        try:
            rewards.append(_reward(reward, bounds))
        except RewardRangeError as problem:
            said = f"row {i}, column {columns[1]!r}: {problem.problem}"
            raise RewardRangeError("log", said) from None
        try:
            arms.append(_arm_number(arm, numbers, declared is not None))
        except ArgumentError as problem:
            said = f"row {i}, column {columns[0]!r}: {problem.problem}"
            raise ArgumentError("log", said) from None
    if not arms:
        raise ArgumentError("log", f"{source} has no rows")
    if len(numbers) < 2:
        only = next(iter(numbers))
        raise ArgumentError("log", f"{source} has only one arm, {only!r}: nothing can be compared")
    found = np.array(arms, np.int64), np.array(rewards, np.float64)
    if declared is None:
        return _by_name(Log(source, tuple(numbers), *found, False))
    return Log(source, tuple(numbers), *found, True)


def _by_name(log: Log) -> Log:
    """Return a log whose arms are numbered by name.

    Ties are broken by number, and which comes first in a log may depend on outcomes that
    still wait in their queues.
    """
    labels = tuple(sorted(log.labels))
    place = {label: a for a, label in enumerate(labels)}
    numbers = np.array([place[label] for label in log.labels], np.int64)
    return log._replace(labels=labels, arms=numbers[log.arms])


def _arm_number(arm: Any, numbers: dict[str, int], declared: bool) -> int:
    if isinstance(arm, int | np.integer) and not isinstance(arm, bool):
        arm = str(arm)
    if not isinstance(arm, str) or not arm:
        raise ArgumentError("arm", f"must be an arm's name, got {_check.shown(arm)}")
    found = numbers.get(arm)
    if found is not None:
        return found
    if declared:
        raise ArgumentError("arm", f"{arm[:80]!r} is not one of the arms named")
    if len(numbers) == MOST_ARMS:
        raise ArgumentError("arm", f"more than {MOST_ARMS:,} arms: is it the column of the arms?")
    return numbers.setdefault(arm, len(numbers))


def _reward(reward: Any, bounds: tuple[float, float]) -> float:
    if reward is not None:
        return _check.reward(reward, *bounds)
    if math.isinf(bounds[0]):
        raise RewardRangeError("reward", "is missing, and cannot be bounded without a range")
    return math.nan
