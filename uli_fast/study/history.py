"""What happened in a study, decision by decision, and its export."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from uli_fast import _check
from uli_fast._support.text import spreadsheet
from uli_fast.errors import ArgumentError, MissingExtraError, StudyWriteError


class DecisionRecord(NamedTuple):
    """A decision and what became of it; times are UTC, as ISO 8601 has them."""

    id: int
    arm: Any  # number or name; a list for vectors
    probability: float | None  # None: a learner of the user's own drew, and did not say
    request_id: str | None
    metadata: dict[str, Any]
    asked: str
    status: str  # "pending", "reward" or "missing"
    reward: float | None = None
    reason: str | None = None  # why it is missing, or was not told
    told: str | None = None
    late: float | None = None  # what came after the window, and was not used


class EpisodeRecord(NamedTuple):
    """A policy and the episode that was played with it: a record, and where it led."""

    id: int
    arm: list[list[Any]]  # the policy: at each stage and state the action, or all probabilities
    probability: float
    request_id: str | None
    metadata: dict[str, Any]
    asked: str
    status: str
    reward: float | None = None  # the sum of the known rewards along the episode
    reason: str | None = None
    told: str | None = None
    late: float | None = None
    states: list[int] | None = None  # of stages 1 to H
    actions: list[int] | None = None


# By what a player is told of a decision.
RECORDS: dict[tuple[str, ...], type[DecisionRecord] | type[EpisodeRecord]] = {
    ("reward",): DecisionRecord,
    ("states", "actions"): EpisodeRecord,
}


class BlockRecord(NamedTuple):
    """Plays that came as counts and sums: of each arm plays, total and missing outcomes."""

    id: str
    told: str
    sums: dict[int | str, tuple[int, float, int]]

    @property
    def plays(self) -> int:
        """Plays of all arms."""
        return sum(plays for plays, _, _ in self.sums.values())

    @property
    def missing(self) -> int:
        """Missing outcomes of all arms."""
        return sum(missing for _, _, missing in self.sums.values())


class History(list[Any]):
    """Records, or episodes, in the order of the decisions, of the study at some place."""

    def __init__(
        self,
        records: Iterable[DecisionRecord | EpisodeRecord] = (),
        study: Any = None,
        kind: type[DecisionRecord] | type[EpisodeRecord] = DecisionRecord,
    ) -> None:
        super().__init__(records)
        self._study, self._kind = study, kind

    @property
    def columns(self) -> tuple[str, ...]:
        """The fields of each decision; for policies also ``states`` and ``actions``."""
        return self._kind._fields

    def only(self, wanted: Callable[[Any], bool]) -> History:
        """Return those that are wanted."""
        return History(filter(wanted, self), self._study, self._kind)

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row per decision."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("to_pandas needs pandas: pip install pandas") from None
        frame = pd.DataFrame([record._asdict() for record in self], columns=list(self.columns))
        for name in ("asked", "told"):
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
        return frame

    def export(self, path: str | Path) -> None:
        """Write CSV, JSON lines or Parquet, by the suffix; the file is complete or unchanged."""
        target = _check.file("path", path)
        _check.not_the_study("path", target, self._study)
        writers = {".csv": _csv, ".jsonl": _lines, ".ndjson": _lines, ".parquet": _parquet}
        if target.suffix.lower() not in writers:
            raise ArgumentError("path", f"must end in {', '.join(writers)}, got {str(path)!r}")
        data = writers[target.suffix.lower()](self)
        part = target.with_name(f".{target.name}-{os.getpid()}")
        try:
            try:
                with part.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)
        except OSError as problem:
            said = problem.strerror or problem
            raise StudyWriteError(f"{target}: {said}; what was there is intact") from problem


def _csv(history: History) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(history.columns)
    for record in history:
        writer.writerow([_cell(value) for value in record])
    return file.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    """Write lists as JSON, and keep spreadsheets from taking a name for a formula."""
    if isinstance(value, list | dict):
        return json.dumps(value)
    return spreadsheet(value) if isinstance(value, str) else value


def _lines(history: History) -> bytes:
    return "".join(json.dumps(record._asdict()) + "\n" for record in history).encode()


def _parquet(history: History) -> bytes:
    """Write columns with lists, and metadata, as JSON."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("Parquet needs pyarrow: pip install pyarrow") from None
    columns: dict[str, Any] = {}
    for name in history.columns:
        values = [getattr(record, name) for record in history]
        if name == "metadata" or any(isinstance(value, list) for value in values):
            values = [None if value is None else json.dumps(value) for value in values]
        columns[name] = pa.array(values, pa.string() if name in _TEXTS else None)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue().to_pybytes())


# Columns that may hold nothing but None, whose type could not be guessed then.
_TEXTS = ("request_id", "metadata", "asked", "status", "reason", "told", "states", "actions")
