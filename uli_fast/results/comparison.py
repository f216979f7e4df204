"""Comparison: the runs of several learners on one problem, side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uli_fast._support.versions import versions
from uli_fast._typing import Drawing
from uli_fast.results.runs import Runs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table


@dataclass(frozen=True, eq=False)
class Comparison:
    """The Runs of each learner, under its name."""

    runs: Mapping[str, Runs]

    def __getitem__(self, name: str) -> Runs:
        return self.runs[name]

    def table(self, title: str | None = None) -> Table:
        """Return a summary table for the terminal, a line per learner."""
        from uli_fast.report.tables import runs_table

        return runs_table(list(self.runs.values()), list(self.runs), title)

    def plot(self, path: str | os.PathLike[str] | None = None, what: Drawing = "gap") -> Figure:
        """Draw each learner's gap still to come under F_ULI, or its "regret".

        Of learners that have them also the "certificate" at every look, and the "actions" left;
        the others are left out there.
        """
        from uli_fast.report.figures import figure_of

        return figure_of(what, list(self.runs.values()), path, list(self.runs))

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per learner, replication and recorded round."""
        from uli_fast.report.tables import runs_frames

        return runs_frames(self.runs)

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Write one self-contained HTML page: verdict, tables, figures, data, caveats."""
        from uli_fast.report.page import write_report

        problem = next(iter(self.runs.values())).problem.split("(")[0]
        heading = f"Learners on {problem}" if title is None else title
        write_report({problem: self}, path, heading, {"versions": versions()})
