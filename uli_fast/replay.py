"""What a log of past outcomes would have shown: arms dropped, intervals, what is certain.

Nobody asked the learner when the log was made. How it can still speak of it, and what must be
assumed of the log for that, is worked out in docs/replay.md.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._log import Log, read_log
from uli_fast._names import label
from uli_fast._replaying import ASSIGNMENTS, assumed, certified, course_of, faster
from uli_fast._typing import B1, F64, I64
from uli_fast.errors import ArgumentError, NoGuaranteeError
from uli_fast.guarantees import confidence
from uli_fast.learners._arms import ArmLearner
from uli_fast.players._certificate import Certificate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table


class Drop(NamedTuple):
    """When an arm was dropped."""

    row: int  # of the log, from 1: its outcome and earlier ones decided
    plays: dict[str, int]  # rows of each arm that had been used by then


class Looks(NamedTuple):
    """What was known in the course of the log, L times."""

    rows: I64  # (L,) after which row of the log, from 1
    plays: I64  # (L, K) rows of each arm used by then
    lower: F64  # (L, K) confidence intervals, in reward units
    upper: F64  # (L, K)
    active: B1  # (L, K) arms not dropped


@dataclass(frozen=True)
class Replay:
    """What a learner would have concluded from a log."""

    learner: ArmLearner
    source: str  # the file's name, or what the log was given as
    assignment: str  # how the arms of its rows came about: "any" or "randomized"
    arms: tuple[str, ...]
    rows: int
    counts: dict[str, int]  # rows of each arm in the log
    plays: dict[str, int]  # rows of each arm that were used
    missing: int  # rows without an outcome
    means: dict[str, float]  # of the outcomes in the log; NaN where there are none
    dropped: dict[str, Drop]  # in the order in which it happened
    active: tuple[str, ...]
    best: str | None  # the active arm with the best mean of what was used; None before any
    intervals: dict[str, tuple[float, float]]
    assumes: tuple[str, ...]  # everything that is believed and was not checked
    looks: Looks = field(repr=False, compare=False)
    _certified: Certificate | str = field(repr=False)

    @property
    def certificate(self) -> Certificate:
        """What is certain of every active arm; NoGuaranteeError where outcomes contradict."""
        if isinstance(self._certified, str):
            raise NoGuaranteeError(self._certified)
        return self._certified

    @property
    def verdict(self) -> str:
        """What is certain, in a sentence; or why nothing is."""
        if isinstance(self._certified, str):
            return f"nothing is certified: {self._certified}"
        found = self._certified
        sure = f"with probability {confidence(found.delta)}, over all rows at once,"
        if len(self.active) == 1:
            return f"{sure} {label(self.active[0])} is the best arm"
        return f"{sure} every arm left is within {found.bound:.4g} of the best"

    def table(self) -> Table:
        """Return a table for the terminal: a line per arm."""
        from uli_fast.report.replay import table_of

        return table_of(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the intervals over the rows of the log."""
        from uli_fast.report.replay import figure_of

        return figure_of(self, path)

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Write one self-contained HTML page."""
        from uli_fast.report.replay import write_replay

        write_replay(self, path, title)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per look and arm."""
        from uli_fast.report.replay import frame_of

        return frame_of(self)

    def __repr__(self) -> str:
        gone = ", ".join(f"{arm!r} at row {drop.row}" for arm, drop in self.dropped.items())
        return (
            f"Replay({self.learner!r}, {self.source}, {self.rows} rows, {len(self.arms)} arms, "
            f"assignment={self.assignment!r}: dropped {gone or 'nothing'}; {self.verdict})"
        )


def replay(
    learner: ArmLearner,
    log: Any,
    arm: str = "arm",
    reward: str = "reward",
    *,
    arms: Any = None,
    low: float = 0.0,
    high: float = 1.0,
    assignment: str = "any",
) -> Replay:
    """Say what a log of past outcomes would have shown.

    Parameters
    ----------
    learner
        BettingElimination, SuccessiveElimination or PhasedElimination.
    log
        The rows in order of time: the path of a CSV file, a frame of pandas or polars, a mapping
        of columns, or pairs (arm, reward). A reward that is not there is a missing outcome.
    arm, reward
        The columns, by their names; pairs have none.
    arms
        The arms, if they are to be named beforehand; else those of the log, by name.
    low, high
        The range of the rewards; ``-inf, inf`` if unbounded, for learners with an R.
    assignment
        How the arms of the rows came about. "any": by whatever had happened before, in any way.
        "randomized": by a plan or by draws that no outcome had a part in; BettingElimination can
        then use all rows, in whatever proportion the arms come.
    """
    if not isinstance(learner, ArmLearner):
        raise ArgumentError("learner", f"is not a learner for arms: {_check.called(learner)}")
    way = _check.one_of("assignment", assignment, ASSIGNMENTS)
    course = course_of(learner, way)
    bounds = _check.reward_range(low, high)
    _check.unit_noise(learner.R, bounds)
    read = read_log(log, arm, reward, arms, bounds)
    player = learner.start(read.labels, low=bounds[0], high=bounds[1])
    looks, dropped = _Looks(read.labels), {}
    for row in faster(course, player, read)(player, read):
        for name in looks.note(player, row):
            dropped[name] = Drop(row, looks.used())
    assumes = assumed(player, read, course)
    return Replay(
        learner=learner,
        source=read.source,
        assignment=way,
        arms=read.labels,
        rows=read.arms.size,
        **_counted(read),
        plays=looks.used(),
        missing=read.missing,
        dropped=dropped,
        active=tuple(str(name) for name in player.active),
        best=str(player.recommend()) if player._came().any() else None,
        intervals={str(name): ends for name, ends in player.intervals().items()},
        assumes=assumes,
        looks=looks.arrays(),
        _certified=_certificate(player, course, assumes),
    )


class _Looks:
    """Keeps what was known, look by look."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        self._labels = labels
        self._rows: list[int] = []
        self._plays: list[I64] = []
        self._ends: list[list[tuple[float, float]]] = []
        self._active: list[B1] = []

    def note(self, player: Any, row: int) -> list[str]:
        """Keep what is known after a row; return who was dropped by it."""
        active: B1 = player._state.active.copy()
        gone = self._active[-1] & ~active if self._active else ~active
        self._rows.append(row)
        self._plays.append(player._state.n.copy())
        self._ends.append(list(player.intervals().values()))
        self._active.append(active)
        return [self._labels[a] for a in np.flatnonzero(gone)]

    def used(self) -> dict[str, int]:
        """Return how many rows of each arm have been used."""
        plays = self._plays[-1].tolist() if self._plays else [0] * len(self._labels)
        return dict(zip(self._labels, plays, strict=True))

    def arrays(self) -> Looks:
        """Return everything that was kept."""
        L, K = len(self._rows), len(self._labels)
        ends = np.array(self._ends, np.float64).reshape(L, K, 2)
        return Looks(
            np.array(self._rows, np.int64),
            np.array(self._plays, np.int64).reshape(L, K),
            ends[:, :, 0],
            ends[:, :, 1],
            np.array(self._active, np.bool_).reshape(L, K),
        )


def _counted(log: Log) -> dict[str, Any]:
    """Return the rows and the mean of each arm in the log."""
    K, came = len(log.labels), ~np.isnan(log.rewards)
    known = np.bincount(log.arms[came], minlength=K)
    sums = np.bincount(log.arms[came], log.rewards[came], minlength=K)
    means = np.where(known > 0, sums / np.maximum(known, 1), np.nan)
    counts = np.bincount(log.arms, minlength=K)
    return {
        "counts": dict(zip(log.labels, counts.tolist(), strict=True)),
        "means": dict(zip(log.labels, means.tolist(), strict=True)),
    }


def _certificate(player: Any, course: Any, assumes: tuple[str, ...]) -> Certificate | str:
    try:
        return certified(player, course)._replace(assumes=assumes)
    except NoGuaranteeError as reason:
        return str(reason)
