"""The scores of a race: evaluated in threads, written down, read again.

A failure may be the instance's (it never works) or the scorer's (it is down). Failures in a row
say which: so they are written only once a score follows them, and too many end the race. "In a
row" is in the order in which calls are drawn, where a score that is known already counts as one
that came: neither threads nor a resume decide what an outage is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64
from uli_fast.errors import ArgumentError, EvaluateError, StudyDivergedError
from uli_fast.races.journal import RaceOutcome, RaceRecord

LONGEST_REASON = 1000
NO_SCORE = "evaluate returned None"
# Instances that an outage spans at least: one that works for nobody says nothing of the scorer.
LEAST_INSTANCES = 3


class Field(NamedTuple):
    """Who runs, on what, and how it is scored."""

    names: tuple[str, ...]
    candidates: tuple[Any, ...]
    evaluate: Callable[..., Any]
    instances: Sequence[Any]  # in the order of the race
    batched: bool
    low: float
    high: float
    retries: int = 0
    max_failures: int | None = None


class Call(NamedTuple):
    """One call of evaluate: a candidate on the instances of some rows."""

    candidate: int
    rows: tuple[int, ...]
    after_score: bool  # whether a score is known between the call drawn before and this one


class CallResult(NamedTuple):
    """What came of a call."""

    call: Call
    outcomes: list[RaceOutcome]
    problem: Exception | None

    @property
    def failed(self) -> bool:
        """Whether there is no score in it."""
        return all(x.score is None for x in self.outcomes)


class Scores:
    """A table with a row per instance, in the order of the race, and a column per candidate."""

    def __init__(
        self, field: Field, known: Iterable[RaceOutcome], record: RaceRecord | None
    ) -> None:
        N, K = len(field.instances), len(field.names)
        self._field, self._record, self.width = field, record, field.high - field.low
        self.value = np.full((N, K), np.nan)  # in [0, 1]; NaN: missing, or not evaluated
        self.raw = np.full((N, K), np.nan)  # in the caller's units
        self.done = np.zeros((N, K), np.bool_)
        self.reasons: dict[tuple[int, int], str] = {}
        # Up to this row all that is recorded is asked for; later on a score that was missing at
        # first may have sent the race another way.
        self._same_until = N
        for outcome in known:
            place = outcome[:2]
            if place in self.reasons and outcome.score is not None:
                del self.reasons[place]
                self.done[place], self._same_until = False, min(self._same_until, outcome.row)
            if self._note(outcome):
                raise StudyDivergedError(
                    f"{_path(record)}: a score appears twice or belongs to no candidate"
                )
        self._begin()
        self._missing_on_file = set(self.reasons)
        self._failed: list[CallResult] = []  # in a row, and not written

    def _begin(self) -> None:
        """Expect a race from its first instance on."""
        self._asked = np.zeros_like(self.done)
        self._old = self.done.copy()
        self._old[self._same_until + 1 :] = False
        self._unused = int(self._old.sum())  # recorded, and not asked for yet

    def ask_missing_again(self) -> bool:
        """Forget recorded scores that are missing; return whether there are any."""
        self.check_all_used()
        places = self._missing_on_file & self.reasons.keys()
        if not places:
            return False
        for place in places:
            del self.reasons[place]
            self.done[place], self._same_until = False, min(self._same_until, place[0])
        self._begin()
        return True

    def known(self, rows: range, active: B1) -> bool:
        """Use the scores of some instances; return whether every candidate in the race has one."""
        block = slice(rows.start, rows.stop)
        self._asked[block] |= active
        self._unused -= int((self.done[block] & active & self._old[block]).sum())
        complete = bool((self.done[block] | ~active).all())
        if complete and np.isfinite(self.value[block][:, active]).any():
            self._write_failed()
        return complete

    def evaluate(
        self, rows: range, active: B1, jobs: ThreadPoolExecutor | None, threads: int
    ) -> None:
        """Have the scores of some instances for every candidate still in the race."""
        self.check_all_used()  # before anything more is evaluated
        wanted = ~self.done[rows.start : rows.stop] & active
        calls, score_follows = self._calls(rows.start, wanted)
        self._came: dict[int, CallResult] = {}  # by the numbers of the calls
        self._settled = 0  # calls up to the first one that has not come
        if jobs is None:
            for number, call in enumerate(calls):
                self._take(number, _called(self._field, call))
        else:
            self._take_all(calls, jobs, 2 * threads)
        if score_follows:
            self._write_failed()
        if self._record is not None:
            self._record.flush()

    def check_all_used(self) -> None:
        """Refuse a file with scores that a race with this verdict never asks for."""
        if self._unused:
            raise StudyDivergedError(f"{_path(self._record)}: its scores are not of this race")

    def finish(self) -> None:
        """Keep to what the verdict rests on; a race without any score has none."""
        self.check_all_used()
        if not np.isfinite(self.value).any():
            raise self._down()
        self._write_failed()  # the last ones: no score will follow them
        unused = self.done & ~self._asked
        self.done[unused], self.value[unused], self.raw[unused] = False, np.nan, np.nan
        self.reasons = {place: x for place, x in self.reasons.items() if self.done[place]}

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
            self.raw[row, a] = score
            self.value[row, a] = min(1.0, max(0.0, (score - self._field.low) / self.width))
        return False

    def _calls(self, first: int, wanted: B1) -> tuple[list[Call], bool]:
        """Return calls in the order in which they are drawn, and whether a score follows them."""
        known = np.isfinite(self.value[first : first + len(wanted)])
        if self._field.batched:
            columns = [(a, np.flatnonzero(x)) for a, x in enumerate(wanted.T) if x.any()]
            about = [(a, tuple((first + rows).tolist())) for a, rows in columns]
            at = np.array([a * len(wanted) + rows[0] for a, rows in columns])
            known = known.T
        else:
            about = [(int(a), (first + int(i),)) for i, a in np.argwhere(wanted)]
            at = np.flatnonzero(wanted)
        before = np.cumsum(known)
        between = np.diff(before[at], prepend=0) > 0
        calls = [Call(*x, bool(y)) for x, y in zip(about, between, strict=True)]
        return calls, bool(before[-1] > before[at[-1]])

    def _take(self, number: int, result: CallResult) -> None:
        """Take what came of a call: scores at once, failures once it is clear what they are."""
        for outcome in result.outcomes:
            self._note(outcome)
        if not result.failed:
            self._write(result)
        self._came[number] = result
        while self._settled in self._came:
            self._settle(self._came.pop(self._settled))
            self._settled += 1

    def _settle(self, result: CallResult) -> None:
        """Take the next call in the order drawn."""
        if result.call.after_score or not result.failed:
            self._write_failed()
        if result.failed:
            self._failed.append(result)
            most = self._field.max_failures
            if most is not None and len(self._failed) >= most:
                instances = {row for x in self._failed for row in x.call.rows}
                if len(instances) >= LEAST_INSTANCES:
                    raise self._down()

    def _write_failed(self) -> None:
        """Write failures as missing scores: a score has followed them, or the race is over."""
        for result in self._failed:
            self._write(result)
        self._failed = []

    def _write(self, result: CallResult) -> None:
        if self._record is not None:
            file = self._missing_on_file
            self._record.add(
                [x for x in result.outcomes if x.score is not None or x[:2] not in file]
            )

    def _take_all(self, calls: Sequence[Call], jobs: ThreadPoolExecutor, ahead: int) -> None:
        """Have calls made in threads and take them as they come: places in the table are fixed.

        What fails while an earlier call is under way stops new ones, as they may all be to fail.
        """
        waiting, running = deque(enumerate(calls)), dict[Future[CallResult], int]()
        most = self._field.max_failures or len(calls)
        try:
            while waiting or running:
                failed = sum(x.failed for x in self._came.values())
                while waiting and len(running) < ahead and failed < most:
                    number, call = waiting.popleft()
                    running[jobs.submit(_called, self._field, call)] = number
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=running.__getitem__):
                    self._take(running.pop(future), future.result())
        finally:
            # What was evaluated is paid for: it is kept, whatever ends the race.
            for future in running:
                if not future.cancel() and future.done() and future.exception() is None:
                    result = future.result()
                    if not result.failed:
                        self._write(result)

    def _down(self) -> EvaluateError:
        """Say that evaluate does not work, and what to do."""
        scores = int(np.isfinite(self.value).sum())
        last = self._failed[-1].outcomes[-1] if self._failed else None
        reason = last.reason if last else next(iter(self.reasons.values()))
        error: Exception | None = next((x.problem for x in self._failed if x.problem), None)
        if not scores:
            said = f"has returned no score yet: {reason}; once it works, make the same call again"
            if reason == NO_SCORE:
                said = "returned None, and no score has come yet; it must return a number"
        else:
            assert last is not None
            where = _where(self._field, last.row, last.candidate)
            kept = "lost; with study= and a file they would be kept, and the same call go on"
            if self._record is not None:
                kept = f"kept in {_path(self._record)}: once it works, the same call goes on there"
            tries = self._field.retries + 1
            tried = f", each tried {tries} times" if tries > 1 else ""
            said = (
                f"gave no score in {len(self._failed)} calls in a row{tried}, on "
                f"{LEAST_INSTANCES} instances or more, last {where}: {reason}. Nothing is "
                f"recorded of these failures; the {scores} scores that came are {kept}. Where so "
                "many failures are to be expected, pass a larger max_failures, or None: they are "
                "missing scores then"
            )
        problem = EvaluateError("evaluate", said)
        problem.__cause__ = error
        return problem


def _called(field: Field, call: Call) -> CallResult:
    """Evaluate, again where no score came and retries are left."""
    found: dict[int, RaceOutcome] = {}
    problem = None
    for _ in range(1 + field.retries):
        left = [row for row in call.rows if row not in found or found[row].score is None]
        if not left:
            break
        outcomes, problem = _tried(field, call.candidate, left)
        found |= {x.row: x for x in outcomes}
    return CallResult(call, list(found.values()), problem)


def _tried(field: Field, a: int, rows: Sequence[int]) -> tuple[list[RaceOutcome], Exception | None]:
    """Evaluate once; what it raises makes outcomes missing, what it returns must be scores."""
    instances = [field.instances[row] for row in rows]
    try:
        result = field.evaluate(field.candidates[a], instances if field.batched else instances[0])
        found = list(result) if field.batched else [result]
    except Exception as problem:
        reason = _said(problem)
        return [RaceOutcome(row, a, None, reason) for row in rows], problem
    if len(found) != len(rows):
        raise ArgumentError(
            "evaluate", f"must return {len(rows)} scores for {field.names[a]}, got {len(found)}"
        )
    return [_outcome(field, row, a, score) for row, score in zip(rows, found, strict=True)], None


def _outcome(field: Field, row: int, a: int, score: Any) -> RaceOutcome:
    if score is None:
        return RaceOutcome(row, a, None, NO_SCORE)
    try:
        return RaceOutcome(row, a, _check.reward(score, field.low, field.high, "evaluate"))
    except ArgumentError as problem:
        where = _where(field, row, a)
        raise type(problem)("evaluate", f"{problem.problem}, {where}") from None


def _where(field: Field, row: int, a: int) -> str:
    return f"of {field.names[a]} on instance {repr(field.instances[row])[:50]}"


def _said(problem: Exception) -> str:
    try:
        text = f"{type(problem).__name__}: {problem}"
    except Exception:  # whatever an error does when it is asked for its text
        text = type(problem).__name__
    return text[:LONGEST_REASON].encode("utf-8", "replace").decode()


def _path(record: RaceRecord | None) -> str:
    return "the race" if record is None else str(record.path)
