"""The tables of a page: what the learners did, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from uli_fast.guarantees import Guarantee
from uli_fast.report.bounds import binds_from, has_all_gaps, known, positive_gaps
from uli_fast.report.canvas import Line
from uli_fast.report.checks import check, tightest
from uli_fast.report.figures_activity import arms_shown
from uli_fast.report.turning import ahead_from, comparable, rival_among
from uli_fast.report.words import label, number, unit
from uli_fast.runs import Runs


class Cell(NamedTuple):
    """A number in a table: as it is shown, and as it is."""

    text: str
    value: float | None = None


class Row(NamedTuple):
    """A line of a table; a learner's has its colour and pattern."""

    name: str
    cells: list[Cell]
    line: Line | None = None


class Table(NamedTuple):
    """Rows under a heading; the first column holds their names."""

    title: str
    caption: str
    header: list[str]
    rows: list[Row]


def summary_of(lines: Sequence[Line]) -> Table:
    """Return the numbers of the terminal's table."""
    runs = [line.runs for line in lines]
    against, rival, word = tightest(runs), rival_among(runs), unit(runs[0])
    header = ["learner", "regret", f"last bad {word}", "late gap", "beyond F", "gap / F"]
    caption = (
        f"Regret up to the horizon and the last {word} with a gap above 0: medians over runs. "
        f"Late gap: the largest one played in the last nine tenths of the {word}s. Beyond F: runs "
        f"with a gap above F at some {word}; untested: F excluded no gap up to the horizon, so "
        f"that no run could. Gap / F: the largest over all {word}s and runs."
    )
    columns = [_summary_cells(r, against) for r in runs]
    if rival is not None and len(runs) > 1:
        header.append("ahead at")
        caption += (
            f" Ahead at: from this recorded {word} on the mean regret is no larger than that of "
            f"{lines[rival].name}, once all worse arms are eliminated in every run."
        )
        columns = [[*x, _turned(r, runs[rival])] for x, r in zip(columns, runs, strict=True)]
    header.append(f"{word}s/s")
    caption += (
        f" {word.capitalize()}s/s: of one thread while it plays, without compiling and loading"
        " kernels."
    )
    if any(r.seconds is None for r in runs):
        caption += " \u2013: kept by an earlier version, which did not measure it."
    rows = [
        Row(line.name, [*cells, _cell(line.runs.speed)], line)
        for line, cells in zip(lines, columns, strict=True)
    ]
    return Table("Summary", caption, header, rows)


def _turned(r: Runs, rival: Runs) -> Cell:
    if not comparable(r, rival):
        return Cell("")
    reached = ahead_from(r, rival)
    return Cell("not yet") if reached is None else _cell(reached)


def _summary_cells(r: Runs, against: Guarantee | None) -> list[Cell]:
    if not known(r):
        return [Cell("?")] * 5
    checked = check(r, against)
    late = r.gap_from(np.array([r.horizon // 10 + 1])).max()
    own = [Cell("no F"), Cell("")]
    if checked is not None:
        mark, found = "" if checked.own else "*", checked.coverage
        worst = float(checked.ratio.max())
        idle = ", untested" if checked.tested is False else ""
        own = [
            Cell(f"{found.failures}\u00a0of\u00a0{found.runs}{idle}{mark}", found.failures),
            Cell(f"{number(worst)}{mark}", worst),
        ]
    return [
        _cell(np.median(r.final_regret())),
        _cell(np.median(r.last_mistake())),
        _cell(late),
        *own,
    ]


def details_of(lines: Sequence[Line]) -> list[Table]:
    """Return the tables that apply: when F binds, worse arms, eliminations, the last spanner."""
    found = (_binding(lines), _worse_arms(lines), _eliminations(lines), _spanner(lines))
    return [table for table in found if table is not None]


def _binding(lines: Sequence[Line]) -> Table | None:
    """Return from which round on F excludes the largest gap, and every gap."""
    shown = [x for x in lines if known(x.runs) and x.runs.guarantee and positive_gaps(x.runs).size]
    if not shown:
        return None
    rows = []
    for line in shown:
        worse, cells = positive_gaps(line.runs), []
        assert line.runs.guarantee is not None
        for gap in (float(worse.max()), float(worse.min())):
            first = binds_from(line.runs.guarantee, gap)
            cells += [_cell(gap), Cell("?") if first is None else _cell(first)]
        rows.append(Row(line.name, cells, line))
    word = unit(lines[0].runs)
    everything = all(has_all_gaps(x.runs) for x in shown)
    return Table(
        f"F binds from {word}",
        f"From which {word} on F excludes the largest gap and the smallest one above 0: before "
        "the first, no learner can go beyond F; from the second on, it allows the best only."
        + ("" if everything else " Gaps are those of what was played."),
        ["learner", "largest gap", "excluded from", "smallest gap", "excluded from"],
        rows,
    )


def _worse_arms(lines: Sequence[Line]) -> Table | None:
    """Return how often worse arms were played, where the arms have names and gaps."""
    shown = [line for line in lines if line.runs.names and known(line.runs)]
    if not shown:
        return None
    rows = []
    for line in shown:
        plays = line.runs.mistakes(0.0)
        share = float(np.median(plays)) / line.runs.horizon
        cells = [_cell(np.median(plays)), _cell(plays.min()), _cell(plays.max())]
        cells.append(Cell(f"{100.0 * share:.3g} %", share))
        rows.append(Row(line.name, cells, line))
    return Table(
        "Plays of worse arms",
        "Rounds up to the horizon in which an arm with a gap was played. In a trial these are the "
        "patients on inferior arms.",
        ["learner", "median", "least", "most", "of all rounds"],
        rows,
    )


def _eliminations(lines: Sequence[Line]) -> Table | None:
    """Return when each arm was eliminated."""
    shown = [x for x in lines if x.runs.eliminated_at is not None and not x.runs.baseline]
    if not shown or len(shown[0].runs.names) < 2:
        return None
    first, rows = shown[0].runs, []
    for a in arms_shown(first).tolist():
        gap = Cell("?") if first.gaps is None else _cell(first.gaps[a])
        when = [_elimination(line.runs, a) for line in shown]
        rows.append(Row(label(first.names[a]), [gap, *when]))
    left_out = len(first.names) - len(rows)
    return Table(
        "Eliminations",
        "The round whose reward removed the arm: median over the runs that removed it, and their "
        "number where not all did."
        + (f" {left_out} arms with larger gaps are left out." if left_out else ""),
        ["arm", "gap", *(line.name for line in shown)],
        rows,
    )


def _elimination(r: Runs, a: int) -> Cell:
    assert r.eliminated_at is not None
    when = r.eliminated_at[:, a]
    gone = when[when > 0]
    if gone.size == 0:
        return Cell("never")
    middle = float(np.median(gone))
    some = "" if gone.size == when.size else f" ({gone.size} of {when.size})"
    return Cell(number(middle) + some, middle)


def _spanner(lines: Sequence[Line]) -> Table | None:
    """Return the arms of the last phase of the first run on an arm set."""
    shown = [line for line in lines if line.runs.phase_work is not None and not line.runs.names]
    if not shown:
        return None
    phases = shown[0].runs.phases
    assert phases is not None
    last = phases[0][-1]
    rows = [
        Row(", ".join(f"{x:.3f}" for x in arm), [_cell(gap), _cell(plays)])
        for arm, gap, plays in zip(last.arms, last.gaps, last.plays, strict=True)
    ]
    return Table(
        "The last spanner",
        f"What {shown[0].name} played in phase {last.number} of its first run.",
        ["arm", "gap", "plays"],
        rows[:24],
    )


def _cell(value: Any) -> Cell:
    return Cell(number(float(value)), float(value))
