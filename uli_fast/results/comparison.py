"""Comparison: the runs of several learners on one problem, side by side."""

from __future__ import annotations

import os
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

from uli_fast._support.html import as_shown
from uli_fast._support.versions import versions
from uli_fast._typing import AnyPath, Drawing
from uli_fast.results.runs import Runs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table


@dataclass(frozen=True, eq=False)
class Comparison:
    """The Runs of several learners on one problem, side by side; ``uli.compare`` makes it.

    ``comparison["UCB"]`` or ``comparison[0]`` is one learner's Runs. Iterating gives the names, as
    of a dict; ``items()`` gives both.

    Attributes
    ----------
    runs
        The Runs of each learner, under its name.

    Examples
    --------
    >>> import uli_fast as uli
    >>> learners = [uli.BettingElimination(0.05), uli.UCB(0.05)]
    >>> found = uli.compare(learners, uli.BernoulliBandit([0.7, 0.5]), 10_000, 20, seed=1)
    >>> list(found), len(found), "UCB" in found
    (['BettingElimination', 'UCB'], 2, True)
    >>> found["UCB"].horizon
    10000
    """

    runs: Mapping[str, Runs]

    def __getitem__(self, name: str | int) -> Runs:
        if isinstance(name, str) and name in self.runs:
            return self.runs[name]
        if isinstance(name, int | np.integer) and not isinstance(name, bool):
            return list(self.runs.values())[name]
        known = ", ".join(map(repr, self.runs))
        raise KeyError(f"there is no {name!r}: the learners are {known}")

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.runs

    def keys(self) -> KeysView[str]:
        """Return the learners' names."""
        return self.runs.keys()

    def values(self) -> ValuesView[Runs]:
        """Return the Runs."""
        return self.runs.values()

    def items(self) -> ItemsView[str, Runs]:
        """Return names and Runs."""
        return self.runs.items()

    def __str__(self) -> str:
        """Return its table."""
        return str(self.table())

    @as_shown
    def _repr_html_(self) -> str:
        from uli_fast.report.notebook import comparison_html

        return comparison_html(self.runs)

    def table(self, title: str | None = None) -> Table:
        """Return a summary table for the terminal, a line per learner."""
        from uli_fast.report.tables import runs_table

        return runs_table(list(self.runs.values()), list(self.runs), title)

    @overload
    def plot(self, path: AnyPath = None, what: Drawing = "gap", *, ax: None = None) -> Figure: ...
    @overload
    def plot(self, path: AnyPath = None, what: Drawing = "gap", *, ax: Axes) -> Axes: ...
    def plot(
        self, path: AnyPath = None, what: Drawing = "gap", *, ax: Axes | None = None
    ) -> Figure | Axes:
        """Draw each learner's gap still to come under F_ULI, or its "regret".

        Of learners that have them also the "certificate" at every look, and the "actions" left;
        the others are left out there. Return a figure, or ``ax`` if it was given to draw on.
        """
        from uli_fast.report.figures import figure_of

        runs, names = list(self.runs.values()), list(self.runs)
        shown: Figure | Axes = figure_of(what, runs, path, names, ax=ax)
        return shown

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per learner, replication and recorded round."""
        from uli_fast.report.tables import runs_frames

        return runs_frames(self.runs)

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> Path:
        """Write one self-contained HTML page: verdict, tables, figures, data, caveats.

        Return where it is.
        """
        from uli_fast.report.page import write_report

        problem = next(iter(self.runs.values())).problem.split("(")[0]
        heading = f"Learners on {problem}" if title is None else title
        return write_report({problem: self}, path, heading, {"versions": versions()})
