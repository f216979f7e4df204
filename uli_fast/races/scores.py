"""The scores of a race: evaluated in threads, written down, read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64
from uli_fast.errors import ArgumentError, StudyDivergedError
from uli_fast.races.journal import RaceOutcome, RaceRecord

LONGEST_REASON = 1000
NO_SCORE = "evaluate returned None"


class Field(NamedTuple):
    """Who runs, on what, and how it is scored."""

    names: tuple[str, ...]
    candidates: tuple[Any, ...]
    evaluate: Callable[..., Any]
    instances: Sequence[Any]  # in the order of the race
    batched: bool
    low: float
    high: float
    problems: list[Exception]  # what evaluate raised, for whoever looks for its mistake


class Call(NamedTuple):
    """One call of evaluate: a candidate on the instances of some rows."""

    candidate: int
    rows: tuple[int, ...]


class Scores:
    """A table with a row per instance, in the order of the race, and a column per candidate."""

    def __init__(
        self, field: Field, known: Iterable[RaceOutcome], record: RaceRecord | None
    ) -> None:
        N, K = len(field.instances), len(field.names)
        self._field, self._record, self.width = field, record, field.high - field.low
        self.problems = field.problems
        self.value = np.full((N, K), np.nan)  # in [0, 1]; NaN: missing, or not evaluated
        self.raw = np.full((N, K), np.nan)  # in the caller's units
        self.done = np.zeros((N, K), np.bool_)
        self.reasons: dict[tuple[int, int], str] = {}
        self._any_score = False
        for outcome in known:
            if self._note(outcome):
                raise StudyDivergedError(
                    f"{_path(record)}: a score appears twice or belongs to no candidate"
                )
        self._old = self.done.copy()
        self._unused = int(self._old.sum())  # recorded, and not asked for yet
        # Not written before the first score: an evaluate that never works leaves no trace.
        self._held: list[RaceOutcome] = []

    def need(self, rows: range, active: B1, jobs: ThreadPoolExecutor | None) -> None:
        """Have the scores of some instances for every candidate still in the race."""
        block = slice(rows.start, rows.stop)
        wanted = ~self.done[block] & active
        self._unused -= int((self.done[block] & active & self._old[block]).sum())
        if wanted.any():
            self.check_all_used()  # before anything more is evaluated
            calls = self._calls(rows.start, wanted)
            if jobs is None:
                for call in calls:
                    self._take(_called(self._field, call))
            else:
                self._take_all([jobs.submit(_called, self._field, call) for call in calls])
            if self._record is not None:
                self._record.flush()

    def check_all_used(self) -> None:
        """Refuse a file with scores that a race with this verdict never asks for."""
        if self._unused:
            raise StudyDivergedError(f"{_path(self._record)}: its scores are not of this race")

    def ends(self, rows: range) -> tuple[F64, F64]:
        """Return scores with missing ones as 0, and as 1."""
        found = self.value[rows.start : rows.stop]
        return np.nan_to_num(found, nan=0.0), np.nan_to_num(found, nan=1.0)

    def _note(self, outcome: RaceOutcome) -> bool:
        """Enter a score; return whether it has no place."""
        row, a, score, reason = outcome
        if row >= self.done.shape[0] or a >= self.done.shape[1] or self.done[row, a]:
            return True
        self.done[row, a] = True
        if score is None:
            self.reasons[row, a] = str(reason)
        else:
            self.raw[row, a], self._any_score = score, True
            self.value[row, a] = min(1.0, max(0.0, (score - self._field.low) / self.width))
        return False

    def _calls(self, first: int, wanted: B1) -> list[Call]:
        if self._field.batched:
            columns = [(a, first + np.flatnonzero(x)) for a, x in enumerate(wanted.T)]
            return [Call(a, tuple(rows.tolist())) for a, rows in columns if rows.size]
        return [Call(int(a), (first + int(i),)) for i, a in np.argwhere(wanted)]

    def _take(self, outcomes: list[RaceOutcome]) -> None:
        for outcome in outcomes:
            self._note(outcome)
        if self._record is not None:
            self._held += outcomes
            if self._any_score:
                self._record.add(self._held)
                self._held = []

    def _take_all(self, futures: list[Future[list[RaceOutcome]]]) -> None:
        """Take what threads have evaluated, as it comes: places in the table are fixed."""
        left = set(futures)
        try:
            for future in as_completed(futures):
                left.discard(future)
                self._take(future.result())
        finally:
            # What was evaluated is paid for: it is kept, whatever ends the race.
            for future in left:
                if not future.cancel() and future.done() and future.exception() is None:
                    self._take(future.result())


def _called(field: Field, call: Call) -> list[RaceOutcome]:
    """Evaluate; what it raises makes outcomes missing, what it returns must be scores."""
    a, rows = call
    instances = [field.instances[row] for row in rows]
    try:
        result = field.evaluate(field.candidates[a], instances if field.batched else instances[0])
        found = list(result) if field.batched else [result]
    except Exception as problem:
        if not field.problems:
            field.problems.append(problem)
        reason = _said(problem)
        return [RaceOutcome(row, a, None, reason) for row in rows]
    if len(found) != len(rows):
        raise ArgumentError(
            "evaluate", f"must return {len(rows)} scores for {field.names[a]}, got {len(found)}"
        )
    return [_outcome(field, row, a, score) for row, score in zip(rows, found, strict=True)]


def _outcome(field: Field, row: int, a: int, score: Any) -> RaceOutcome:
    if score is None:
        return RaceOutcome(row, a, None, NO_SCORE)
    try:
        return RaceOutcome(row, a, _check.reward(score, field.low, field.high, "evaluate"))
    except ArgumentError as problem:
        where = f"of {field.names[a]} on instance {str(field.instances[row])[:50]!r}"
        raise type(problem)("evaluate", f"{problem.problem}, {where}") from None


def _said(problem: Exception) -> str:
    try:
        text = f"{type(problem).__name__}: {problem}"
    except Exception:  # whatever an error does when it is asked for its text
        text = type(problem).__name__
    return text[:LONGEST_REASON].encode("utf-8", "replace").decode()


def _path(record: RaceRecord | None) -> str:
    return "the race" if record is None else str(record.path)
