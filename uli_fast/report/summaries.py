"""The tables of a page: what the learners did, in numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import I64
from uli_fast.guarantees import Guarantee
from uli_fast.report.bounds import binds_from
from uli_fast.report.canvas import Line
from uli_fast.report.checks import ReportCheck, check, tightest
from uli_fast.report.figures_activity import arms_shown
from uli_fast.report.power import share_of_runs
from uli_fast.report.price import times
from uli_fast.report.tables import middle_certificate
from uli_fast.report.turning import ahead_from, comparable, rival_among
from uli_fast.report.words import label, number, percent
from uli_fast.results.metrics import LEVEL
from uli_fast.results.runs import Runs


class SummaryCell(NamedTuple):
    """A number in a table: as it is shown, and as it is."""

    text: str
    value: float | None = None


class SummaryRow(NamedTuple):
    """A line of a table; a learner's has its colour and pattern."""

    name: str
    cells: list[SummaryCell]
    line: Line | None = None


class SummaryTable(NamedTuple):
    """Rows under a heading; the first column holds their names."""

    title: str
    caption: str
    header: list[str]
    rows: list[SummaryRow]


def summary_of(lines: Sequence[Line]) -> SummaryTable:
    """Return the numbers of the terminal's table."""
    runs = [line.runs for line in lines]
    against, rival, word = tightest(runs), rival_among(runs), runs[0].unit
    header = ["learner", "regret", f"last bad {word}", "late gap"]
    caption = (
        f"Regret up to the horizon and the last {word} with a gap above 0: medians over runs. "
        f"Late gap: the largest one played in the last nine tenths of the {word}s."
    )
    columns = [_summary_cells(r, against) for r in runs]
    if any(r.has_gaps and check(r, against) is not None for r in runs):
        header += ["beyond F", "may be", "gap / F"]
        caption += (
            f" Beyond F: runs with a gap above F at some {word}; untested: F excluded no gap up to "
            "the horizon, so that no run could. May be: the share of all runs beyond F that these "
            f"runs still allow ({100.0 * LEVEL:g}\u00a0% interval). Gap / F: the largest over all "
            f"{word}s and runs."
        )
    else:  # nothing to hold them against
        columns = [cells[:3] for cells in columns]
    if rival is not None and len(runs) > 1:
        header.insert(2, "times the rival's")
        caption = (
            f"Times the rival's: beside {lines[rival].name}, the rival with the least regret. "
            + caption
        )
        columns = [
            [x[0], _times(r, runs[rival]), *x[1:]] for x, r in zip(columns, runs, strict=True)
        ]
    if any(r.makes_looks for r in runs):
        header.append("within")
        caption += (
            " Within: the certificate at the horizon, above which no policy that may still be "
            "played has a gap, the median over runs; none: withdrawn."
        )
        columns = [[*x, _certified(r)] for x, r in zip(columns, runs, strict=True)]
    if rival is not None and len(runs) > 1:
        header.append("ahead at")
        caption += (
            f" Ahead at: from this recorded {word} on the mean regret is no larger than that of "
            f"{lines[rival].name}, once nothing worse is left in any run."
        )
        columns = [[*x, _turned(r, runs[rival])] for x, r in zip(columns, runs, strict=True)]
    header.append(f"{word}s/s")
    caption += (
        f" {word.capitalize()}s/s: of one thread while it plays, without compiling and loading"
        " kernels."
    )
    if any(math.isnan(r.speed) for r in runs):
        caption += " \u2013: not measured."
    rows = [
        SummaryRow(line.name, [*cells, _cell(line.runs.speed)], line)
        for line, cells in zip(lines, columns, strict=True)
    ]
    return SummaryTable("Summary", caption, header, rows)


def _times(r: Runs, rival: Runs) -> SummaryCell:
    ratio = times(r, rival)
    return SummaryCell("") if ratio is None or r is rival else _cell(ratio)


def _certified(r: Runs) -> SummaryCell:
    middle = middle_certificate(r)
    if middle is None:
        return SummaryCell("")
    return SummaryCell("none") if math.isinf(middle) else _cell(middle)


def _turned(r: Runs, rival: Runs) -> SummaryCell:
    if not comparable(r, rival):
        return SummaryCell("")
    reached = ahead_from(r, rival)
    return SummaryCell("not yet") if reached is None else _cell(reached)


def _summary_cells(r: Runs, against: Guarantee | None) -> list[SummaryCell]:
    if not r.has_gaps:
        return [SummaryCell("?")] * 6
    checked = check(r, against)
    late = r.gap_from(np.array([r.horizon // 10 + 1])).max()
    own = [SummaryCell("no F"), SummaryCell(""), SummaryCell("")]
    if checked is not None:
        mark, found = "" if checked.own else "*", checked.coverage
        worst = float(np.nanmax(checked.ratio))
        idle = ", untested" if checked.tested is False else ""
        own = [
            SummaryCell(f"{found.failures}\u00a0of\u00a0{found.runs}{idle}{mark}", found.failures),
            _allowed(checked),
            SummaryCell(f"{number(worst)}{mark}", worst),
        ]
    return [
        _cell(np.median(r.final_regret())),
        _cell(np.median(r.last_mistake())),
        _cell(late),
        *own,
    ]


def _allowed(checked: ReportCheck) -> SummaryCell:
    """Return the largest probability of a failure that the runs allow, of learners with F."""
    if not checked.own or not checked.tested:
        return SummaryCell("")
    high = checked.coverage.high
    return SummaryCell(f"up to {share_of_runs(high)}", high)


def details_of(lines: Sequence[Line]) -> list[SummaryTable]:
    """Return the tables that apply: when F binds, worse arms, eliminations, the last spanner."""
    found = (_binding(lines), _worse_arms(lines), _eliminations(lines), _spanner(lines))
    return [table for table in found if table is not None]


def _binding(lines: Sequence[Line]) -> SummaryTable | None:
    """Return from which round on F excludes the largest gap, and every gap."""
    able = [x for x in lines if x.runs.has_gaps and x.runs.worse_gaps.size]
    shown = [(x, F) for x in able if (F := x.runs.guarantee)]
    if not shown:
        return None
    rows = []
    for line, F in shown:
        worse, cells = line.runs.worse_gaps, []
        for gap in (float(worse.max()), float(worse.min())):
            first = binds_from(F, gap)
            cells += [_cell(gap), SummaryCell("?") if first is None else _cell(first)]
        rows.append(SummaryRow(line.name, cells, line))
    word = lines[0].runs.unit
    everything = all(line.runs.has_all_gaps for line, _ in shown)
    return SummaryTable(
        f"F binds from {word}",
        f"From which {word} on F excludes the largest gap and the smallest one above 0: before "
        "the first, no learner can go beyond F; from the second on, it allows the best only."
        + ("" if everything else " Gaps are those of what was played."),
        ["learner", "largest gap", "excluded from", "smallest gap", "excluded from"],
        rows,
    )


def _worse_arms(lines: Sequence[Line]) -> SummaryTable | None:
    """Return how often worse arms were played, where the arms have names and gaps."""
    shown = [line for line in lines if line.runs.names and line.runs.has_gaps]
    if not shown:
        return None
    rows = []
    for line in shown:
        plays = line.runs.mistakes(0.0)
        share = float(np.median(plays)) / line.runs.horizon
        cells = [_cell(np.median(plays)), _cell(plays.min()), _cell(plays.max())]
        cells.append(SummaryCell(percent(share, 2), share))
        rows.append(SummaryRow(line.name, cells, line))
    return SummaryTable(
        "Plays of worse arms",
        "Rounds up to the horizon in which an arm with a gap was played. In a trial these are the "
        "patients on inferior arms.",
        ["learner", "median", "least", "most", "of all rounds"],
        rows,
    )


def _eliminations(lines: Sequence[Line]) -> SummaryTable | None:
    """Return when each arm was eliminated."""
    shown = [line for line in lines if line.runs.eliminates_arms]
    if not shown or len(shown[0].runs.names) < 2:
        return None
    arms, rows = shown[0].runs.arms, []
    for a in arms_shown(arms).tolist():
        gap = SummaryCell("?") if math.isnan(arms.gaps[a]) else _cell(arms.gaps[a])
        when = [_elimination(line.runs.arms.eliminated[:, a]) for line in shown]
        rows.append(SummaryRow(label(arms.names[a]), [gap, *when]))
    left_out = len(arms.names) - len(rows)
    return SummaryTable(
        "Eliminations",
        "The round whose reward removed the arm: median over the runs that removed it, and their "
        "number where not all did."
        + (f" {left_out} arms with larger gaps are left out." if left_out else ""),
        ["arm", "gap", *(line.name for line in shown)],
        rows,
    )


def _elimination(when: I64) -> SummaryCell:
    gone = when[when > 0]
    if gone.size == 0:
        return SummaryCell("never")
    middle = float(np.median(gone))
    some = "" if gone.size == when.size else f" ({gone.size} of {when.size})"
    return SummaryCell(number(middle) + some, middle)


def _spanner(lines: Sequence[Line]) -> SummaryTable | None:
    """Return the arms of the last phase of the first run on an arm set."""
    found = [(line, phases) for line in lines if (phases := line.runs.spanners())]
    if not found:
        return None
    line, phases = found[0]
    last = phases[-1]
    rows = [
        SummaryRow(", ".join(f"{x:.3f}" for x in arm), [_cell(gap), _cell(plays)])
        for arm, gap, plays in zip(last.arms, last.gaps, last.plays, strict=True)
    ]
    return SummaryTable(
        "The last spanner",
        f"What {line.name} played in phase {last.number} of its first run.",
        ["arm", "gap", "plays"],
        rows[:24],
    )


def _cell(value: Any) -> SummaryCell:
    return SummaryCell(number(float(value)), float(value))
