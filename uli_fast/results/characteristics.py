"""What the runs of learners say of a trial: chances, patients and events."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

from uli_fast import _check
from uli_fast._support.html import as_shown
from uli_fast._typing import B1, F64, I64, AnyPath, PlanDrawing
from uli_fast.results import metrics
from uli_fast.results.metrics import LEVEL, Mean, Share

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from uli_fast.planning.fixed_trial import FixedTrial

# When an arm is dropped that is not.
NEVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, eq=False)
class LearnerCharacteristics:
    """What the runs of one learner say; M runs, K arms.

    Attributes
    ----------
    plays
        Patients on each arm by the horizon, (M, K).
    dropped_at
        The patient whose outcome removed each arm, 0 if none up to ``followed``, (M, K); None
        for a learner that never drops an arm.
    unit
        The reward lost by one event: the width of the range; 1 for unbounded rewards.
    """

    learner: str
    horizon: int
    followed: int  # up to this patient dropping was looked for
    gaps: F64
    plays: I64
    dropped_at: I64 | None
    unit: float = 1.0
    level: float = LEVEL  # of the intervals
    tv_bound: float = 0.0

    @property
    def drops(self) -> bool:
        """Whether the learner ever drops an arm."""
        return self.dropped_at is not None

    @property
    def dropped(self) -> tuple[Share, ...] | None:
        """The chance of each arm to be dropped by the horizon, (K,)."""
        if self.dropped_at is None:
            return None
        return tuple(self._by(each, self.horizon) for each in _when(self.dropped_at).T)

    @property
    def dropped_all(self) -> Share | None:
        """The chance that every inferior arm is dropped by the horizon."""
        when = self.all_dropped_at
        return None if when is None else self._by(when, self.horizon)

    @property
    def lost_best(self) -> Share | None:
        """The chance that the best arm (of several: every one) is dropped by the horizon."""
        when = self._lost_at()
        return None if when is None else self._by(when, self.horizon)

    @property
    def lost_best_followed(self) -> Share | None:
        """The chance that the best arm is dropped by the patient ``followed``."""
        when = self._lost_at()
        return None if when is None else self._by(when, self.followed)

    @property
    def on_inferior(self) -> Mean:
        """Patients on inferior arms by the horizon, expected."""
        return metrics.mean_of(metrics.on_inferior(self.plays, self.gaps), self.level)

    @property
    def events_avoided(self) -> Mean:
        """Events by the horizon that equal allocation would have had on top, expected."""
        return metrics.mean_of(self._avoided(), self.level)

    def needed(self, share: float) -> tuple[int | None, ...] | None:
        """Return the patients by whom each arm was dropped in this share of all runs.

        None for an arm that was dropped in fewer runs up to ``followed``; None instead of a
        tuple for a learner that never drops.
        """
        wanted = _check.in_open_unit("share", share)
        if self.dropped_at is None:
            return None
        return tuple(_reached(each, wanted) for each in _when(self.dropped_at).T)

    def needed_all(self, share: float) -> int | None:
        """Return the patients by whom all inferior arms were dropped in this share of runs."""
        wanted = _check.in_open_unit("share", share)
        when = self.all_dropped_at
        return None if when is None else _reached(when, wanted)

    def _avoided(self) -> F64:
        """Return the events avoided in each run, (M,)."""
        return metrics.events_avoided(self.plays, self.gaps) / self.unit

    @property
    def all_dropped_at(self) -> I64 | None:
        """The patient whose outcome removed the last inferior arm, (M,); NEVER if one is left."""
        worse = self.gaps > 0.0
        if self.dropped_at is None or not worse.any():
            return None
        when: I64 = _when(self.dropped_at)[:, worse].max(axis=1)
        return when

    def _lost_at(self) -> I64 | None:
        if self.dropped_at is None:
            return None
        when: I64 = _when(self.dropped_at)[:, self.gaps == 0.0].max(axis=1)
        return when

    def _by(self, when: I64, patients: int) -> Share:
        happened: B1 = when <= patients
        return metrics.share_of(happened, self.level)


@dataclass(frozen=True, eq=False)
class OperatingCharacteristics:
    """Learners, and the usual trial of fixed size, on one problem, for a number of patients.

    Attributes
    ----------
    learners
        The LearnerCharacteristics of each learner, under its name; ``result[name]`` is one.
    fixed
        The usual trial with as many patients; None unless outcomes are good or bad, and where
        there are too many patients (``no_fixed`` says so).
    equal_on_inferior, equal_events
        Patients on inferior arms, and expected events, under equal allocation; events are NaN
        for unbounded rewards.

    Examples
    --------
    >>> import uli_fast as uli
    >>> problem = uli.BernoulliBandit([0.75, 0.5])
    >>> plan = uli.operating_characteristics(uli.KLUCB(), problem, 200, replications=50, seed=1)
    >>> plan["KLUCB"].drops, plan.fixed.n
    (False, 100)
    """

    problem: str
    names: tuple[str, ...]
    means: F64
    gaps: F64
    horizon: int
    replications: int
    seed: int
    learners: Mapping[str, LearnerCharacteristics]
    fixed: FixedTrial | None
    equal_on_inferior: float
    equal_events: float
    events: str = "events"  # what events are called
    elapsed: float = 0.0  # seconds
    no_fixed: str = ""  # why there is no trial of fixed size, though outcomes are good or bad

    @property
    def learners_in_order(self) -> list[LearnerCharacteristics]:
        """What is said of each learner, without its name."""
        return list(self.learners.values())

    def __getitem__(self, name: str) -> LearnerCharacteristics:
        return self.learners[name]

    def table(self) -> Table:
        """Return a table for the terminal, a line per learner."""
        from uli_fast.report.planning import learners_table

        return learners_table(self)

    def arms_table(self) -> Table:
        """Return a table for the terminal, a line per learner and a column per arm."""
        from uli_fast.report.planning import arms_table

        return arms_table(self)

    @overload
    def plot(
        self, path: AnyPath = None, what: PlanDrawing = "dropping", *, ax: None = None
    ) -> Figure: ...
    @overload
    def plot(self, path: AnyPath = None, what: PlanDrawing = "dropping", *, ax: Axes) -> Axes: ...
    def plot(
        self, path: AnyPath = None, what: PlanDrawing = "dropping", *, ax: Axes | None = None
    ) -> Figure | Axes:
        """Draw when inferior arms are dropped, or how many patients they get ("inferior").

        Return a figure, or ``ax`` if it was given to draw on.
        """
        from uli_fast.report.planning_figures import figure_of_plan

        shown: Figure | Axes = figure_of_plan(self, what, path, ax)
        return shown

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> Path:
        """Write one self-contained HTML page: tables, figures, what the numbers mean.

        Return where it is.
        """
        from uli_fast.report.planning_page import write_plan

        return write_plan(self, path, title)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per learner (and the fixed-size trial) and arm."""
        from uli_fast.report.planning_data import plan_frame

        return plan_frame(self)

    @as_shown
    def _repr_html_(self) -> str:
        from uli_fast.report.notebook import plan_html

        return plan_html(self)

    def __repr__(self) -> str:
        return (
            f"OperatingCharacteristics({', '.join(self.learners)} on {self.problem}, "
            f"horizon={self.horizon}, replications={self.replications}, seed={self.seed})"
        )


def _when(dropped_at: I64) -> I64:
    """Return the rounds of removal, NEVER where there is none."""
    when: I64 = np.where(dropped_at > 0, dropped_at, NEVER)
    return when


def _reached(when: I64, share: float) -> int | None:
    """Return the least number of patients by whom something had happened in a share of runs."""
    runs = math.ceil(share * when.size - 1e-9)  # 0.9 * 10 is nine runs, however it is rounded
    least = int(np.sort(when)[max(runs, 1) - 1])
    return None if least == NEVER else least
