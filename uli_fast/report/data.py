"""The numbers behind a page, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from uli_fast._support.text import spreadsheet
from uli_fast.report.canvas import thinned
from uli_fast.report.checks import check, tightest
from uli_fast.results.runs import Runs

# Rows of a file, so that a page stays small; runs.save keeps everything.
MOST_ROWS = 10_000


class Data(NamedTuple):
    """One CSV file."""

    name: str
    about: str
    text: str
    complete: bool


def tables_of(runs: Mapping[str, Runs]) -> list[Data]:
    """Return the files of one problem: by round, by run and, where they have names, by arm."""
    about = f"regret and gap at the recorded {next(iter(runs.values())).unit}s"
    found = [
        csv_data("rounds", about, _ROUNDS, _each(_rounds, runs)),
        csv_data("runs", "one line per run", _RUNS, _runs(runs)),
        csv_data("arms", "one line per arm", _ARMS, _each(_arms, runs)),
    ]
    return [data for data in found if data.text.count("\n") > 1]


_ROUNDS = (
    "learner,round,regret_median,regret_least,regret_most,gap_ahead_median,gap_ahead_most,F"
).split(",")
_RUNS = "learner,run,regret,last_mistake,worse_plays,gap_over_F,own_F,certificate".split(",")
_ARMS = (
    "learner,arm,gap,plays_median,plays_least,plays_most,last_play,eliminated_median,eliminated_in"
).split(",")


def _rounds(name: str, r: Runs) -> Iterator[Sequence[Any]]:
    if not r.has_gaps:
        return
    at = thinned(r.rounds)
    for p, t in zip(at.tolist(), r.rounds[at].tolist(), strict=True):
        regret, ahead = r.regret[:, p], r.gap_from(np.array([t]))
        yield (
            *(name, t, np.median(regret), regret.min(), regret.max()),
            *(np.median(ahead), ahead.max()),
            "" if r.guarantee is None else r.guarantee.bound(t),
        )


def _runs(runs: Mapping[str, Runs]) -> Iterator[Sequence[Any]]:
    against = tightest(runs.values())
    for name, r in runs.items():
        if r.has_gaps:
            checked = check(r, against)
            ratio = np.full(r.replications, np.nan) if checked is None else checked.ratio
            columns = (r.final_regret(), r.last_mistake(), r.mistakes(0.0), ratio, r.certified)
            own = "" if checked is None else int(checked.own)
            for i, (*row, worst, said) in enumerate(zip(*columns, strict=True)):
                known = ["" if np.isnan(x) else x for x in (worst, said)]
                yield (name, i, *row, known[0], own, known[1])


def _arms(name: str, r: Runs) -> Iterator[Sequence[Any]]:
    names, gaps, *counts = r.arms
    for arm, gap, plays, last, when in zip(names, gaps, *(x.T for x in counts), strict=True):
        gone = when[when > 0]
        yield (
            *(name, arm, "" if np.isnan(gap) else gap),
            *(np.median(plays), plays.min(), plays.max(), last.max()),
            *(np.median(gone) if gone.size else "", gone.size),
        )


def _each(rows: Any, runs: Mapping[str, Runs]) -> Iterable[Sequence[Any]]:
    return chain.from_iterable(rows(name, r) for name, r in runs.items())


def csv_data(name: str, about: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Data:
    """Return rows as a CSV file, the first ones if there are very many."""
    rows = iter(rows)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for row in islice(rows, MOST_ROWS):
        writer.writerow([_cell(value) for value in row])
    return Data(name, about, file.getvalue(), next(rows, None) is None)


def _cell(value: Any) -> Any:
    """Keep spreadsheets from taking a name for a formula."""
    return spreadsheet(value) if isinstance(value, str) else value
