"""Several problems at a glance: one verdict over all of them, and one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from uli_fast.report.canvas import Line
from uli_fast.report.checks import Verdict, check, is_proved, tightest
from uli_fast.report.power import fewest
from uli_fast.report.price import times
from uli_fast.report.turning import middle_regret, rival_among
from uli_fast.report.words import number

# Problems side by side; the next ones follow below, so that paper is wide enough.
MOST_ACROSS = 5


class OverviewHead(NamedTuple):
    """A problem, as the head of a column: its section's number, name and verdict."""

    number: int
    name: str
    status: str
    word: str


class OverviewCell(NamedTuple):
    """A learner on a problem: regret, beside the rival's, and how often F was broken."""

    regret: str
    value: float | None
    beside: str
    failures: str


class OverviewRow(NamedTuple):
    """A learner on several problems."""

    line: Line
    cells: list[OverviewCell]


class OverviewTable(NamedTuple):
    """Learners (rows) on problems (columns)."""

    heads: list[OverviewHead]
    rows: list[OverviewRow]


_WORDS = {
    "kept": "held",
    "allowed": "broken, within delta",
    "broken": "broken",
    "untested": "not tested",
    "none": "no guarantee",
}


def overviews_of(
    problems: Sequence[tuple[str, Sequence[Line], Verdict]],
) -> list[OverviewTable]:
    """Return one table of all learners on all problems; of many problems a few at a time."""
    names = {line.name: line for _, lines, _ in problems for line in lines}
    found = []
    for first in range(0, len(problems), MOST_ACROSS):
        some = problems[first : first + MOST_ACROSS]
        heads = [
            OverviewHead(first + i, name, verdict.status, _WORDS[verdict.status])
            for i, (name, _, verdict) in enumerate(some, start=1)
        ]
        columns = [_column(lines) for _, lines, _ in some]
        rows = [
            OverviewRow(line, [column.get(name, _NOTHING) for column in columns])
            for name, line in names.items()
            if any(name in column for column in columns)
        ]
        found.append(OverviewTable(heads, rows))
    return found


_NOTHING = OverviewCell("", None, "", "not run")


def _column(lines: Sequence[Line]) -> Mapping[str, OverviewCell]:
    runs = [line.runs for line in lines]
    against, at = tightest(runs), rival_among(runs)
    found = {}
    for line in lines:
        r = line.runs
        if not (r.has_gaps and r.has_regret):
            found[line.name] = OverviewCell("?", None, "", "means unknown")
            continue
        ratio = None if at is None or r is runs[at] else times(r, runs[at])
        beside = "" if ratio is None else f"{number(float(f'{ratio:.2g}'))}\u00a0times"
        checked = check(r, against)
        if checked is None or not checked.own:
            failures = "F withdrawn" if r.withdrawal else "no promise"
        elif not checked.tested:
            failures = "F not tested"
        else:
            c = checked.coverage
            failures = f"{c.failures}\u00a0of\u00a0{c.runs} beyond F"
            failures += f", withdrawn in {c.withdrawn}" if c.withdrawn else ""
        middle = middle_regret(r)
        found[line.name] = OverviewCell(number(middle), middle, beside, failures)
    return found


def overall(verdicts: Sequence[Verdict], lines: Sequence[Sequence[Line]]) -> Verdict:
    """Say in one headline what the verdicts say together, the worst of them first."""
    count = Counter(verdict.status for verdict in verdicts)
    n = len(verdicts)
    parts = [
        words.format(_of(count[status], n))
        for status, words in (
            ("broken", "F was broken more often than delta allows on {}"),
            ("allowed", "some runs went beyond F, as few as delta can explain, on {}"),
            ("kept", "the guarantee held at every round of every run on {}"),
            ("untested", "nothing was tested on {}"),
            ("none", "there is no guarantee to check on {}"),
        )
        if count[status]
    ]
    status = next(s for s in ("broken", "allowed", "kept", "untested", "none") if count[s])
    text = "; ".join(parts)
    if any(line.runs.withdrawal for each in lines for line in each):
        text += "; F was withdrawn in some runs"
    tested = [
        (line, c.coverage)
        for each in lines
        for line in each
        if (c := check(line.runs, None)) is not None and c.own and c.tested
    ]
    proved = all(is_proved(line.runs) for line, _ in tested)
    said = fewest([(line.name, found) for line, found in tested], proved)
    return Verdict(status, text[0].upper() + text[1:], (), tuple(said))


def _of(some: int, n: int) -> str:
    return f"all {n} problems" if some == n else f"{some} of {n} problems"
