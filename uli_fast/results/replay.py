"""What a learner would have concluded from a log of past outcomes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, overload

from uli_fast._support.text import label
from uli_fast._typing import B1, F64, I64, AnyPath
from uli_fast.errors import NoGuaranteeError
from uli_fast.guarantees import confidence
from uli_fast.learners._arms import ArmLearner
from uli_fast.players._certificate import Certificate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table


class LogDrop(NamedTuple):
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
    """What a learner would have concluded from a log.

    What ``uli.replay`` returns.

    Examples
    --------
    >>> import uli_fast as uli
    >>> found = uli.replay(uli.BettingElimination(leader=1), [("a", 1.0), ("b", 0.0)] * 100)
    >>> found.rows, found.counts
    (200, {'a': 100, 'b': 100})
    """

    learner: ArmLearner
    source: str  # the file's name, or what the log was given as
    assignment: str  # how the arms of its rows came about: "any" or "randomized"
    arms: tuple[str, ...]
    rows: int
    counts: dict[str, int]  # rows of each arm in the log
    plays: dict[str, int]  # rows of each arm that were used
    missing: int  # rows without an outcome
    means: dict[str, float]  # of the outcomes in the log; NaN where there are none
    dropped: dict[str, LogDrop]  # in the order in which it happened
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

    @overload
    def plot(self, path: AnyPath = None, *, ax: None = None) -> Figure: ...
    @overload
    def plot(self, path: AnyPath = None, *, ax: Axes) -> Axes: ...
    def plot(self, path: AnyPath = None, *, ax: Axes | None = None) -> Figure | Axes:
        """Draw the intervals over the rows of the log.

        Return a figure, or ``ax`` if it was given to draw on.
        """
        from uli_fast.report.replay import figure_of

        shown: Figure | Axes = figure_of(self, path, ax)
        return shown

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> Path:
        """Write one self-contained HTML page; return where it is."""
        from uli_fast.report.replay import write_replay

        return write_replay(self, path, title)

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
