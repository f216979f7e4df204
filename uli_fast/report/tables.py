"""Summary tables for the terminal and for pandas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.errors import MissingExtraError
from uli_fast.guarantees import Guarantee
from uli_fast.report.bounds import binds_from
from uli_fast.report.checks import check, is_void, tightest, withdrawals
from uli_fast.report.turning import ahead_from, comparable, rival_among
from uli_fast.report.words import label, listed, wrapped
from uli_fast.results.runs import Runs

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

# Characters of a name: as many as leave room for the numbers beside it in 80 columns, and enough
# for a class of ours; headers are wrapped then.
LEAST_NAME, LONGEST_NAME, WIDTH = 17, 24, 80
# Learners that are spoken of one by one below the table.
MOST_NAMED = 8


def plain_table(title: str, headers: Sequence[str]) -> Table:
    """Return an empty table whose first column holds names, the others numbers."""
    from uli_fast._support.whole_table import WholeTable

    return WholeTable(title, headers)


def short_name(runs: Runs) -> str:
    """Return the learner's class, without its parameters."""
    return runs.learner.split("(")[0]


def runs_table(
    runs: Sequence[Runs], names: Sequence[str] | None = None, title: str | None = None
) -> Table:
    """Return one line per Runs, under the problem's name; 80 columns are enough."""
    from rich.text import Text

    first, rival = runs[0], rival_among(runs)
    columns = _columns(runs, rival)
    widths = [max(map(len, [header, *cells])) for header, cells in columns.items()]
    most = max(LEAST_NAME, min(LONGEST_NAME, WIDTH - sum(widths) - 2 * len(widths)))
    named = [label(name) for name in names or [short_name(x) for x in runs]]
    heading = first.problem if title is None else f"{label(title)}: {first.problem}"
    size = f"{first.horizon:.6g} {first.unit}s, {first.replications} replications"
    table = plain_table(f"{heading}\n{size}", ["learner", *columns])
    for name, *cells in zip(named, *columns.values(), strict=True):
        table.add_row(Text(wrapped(name, most)), *cells)
    table.caption = Text("\n".join(_caption(runs, named, rival)))
    return table


def _columns(runs: Sequence[Runs], rival: int | None) -> dict[str, list[str]]:
    """Return the numbers of a table, column by column: those that apply to some Runs."""
    against = tightest(runs)
    each = zip(*(_cells(r, against) for r in runs), strict=True)
    names = ("regret", "last bad", "late gap", "beyond F")
    columns = {name: list(cells) for name, cells in zip(names, each, strict=True)}
    if any(r.makes_looks for r in runs):
        columns["within"] = [_certified(r) for r in runs]
    if rival is not None and len(runs) > 1:
        columns["ahead"] = [_turned(r, runs[rival]) for r in runs]
    columns[f"{runs[0].unit}s/s"] = [_speed(r) for r in runs]
    return columns


def _cells(r: Runs, against: Guarantee | None) -> list[str]:
    if not r.has_gaps:
        return ["?"] * 4
    late = r.gap_from(np.array([r.horizon // 10 + 1])).max()
    checked, failures = check(r, against), "no F"
    if checked is not None:
        count = f"{checked.coverage.failures}/{checked.coverage.runs}"
        failures = "untested" if checked.tested is False else count
        failures += "" if checked.own else "*"
    return [
        _short(float(np.median(r.final_regret()))),
        _short(float(np.median(r.last_mistake()))),
        f"{late:.2g}",
        failures,
    ]


def _lost(eliminated_at: I64, gaps: F64) -> int:
    """Return how many runs have lost every best arm for good."""
    return int((eliminated_at[:, gaps == 0.0] > 0).all(axis=1).sum())


def _certified(r: Runs) -> str:
    middle = middle_certificate(r)
    if middle is None:
        return ""
    return "none" if math.isinf(middle) else f"{middle:.2g}"


def middle_certificate(r: Runs) -> float | None:
    """Return the median certificate at the horizon, None without any; infinite: withdrawn."""
    if not r.makes_looks:
        return None
    return float(np.median(np.where(np.isnan(r.certified), np.inf, r.certified)))


def _turned(r: Runs, rival: Runs) -> str:
    if not comparable(r, rival):
        return ""
    reached = ahead_from(r, rival)
    return "not yet" if reached is None else _short(reached)


def _speed(r: Runs) -> str:
    return "?" if math.isnan(r.speed) else f"{r.speed:.2g}"


def _short(x: float) -> str:
    return f"{x:.0f}" if x < 99_999 else f"{x:.1e}"


def _caption(runs: Sequence[Runs], named: Sequence[str], rival: int | None) -> list[str]:
    against, word = tightest(runs), runs[0].unit
    lines = [
        f"regret at the horizon and last {word} with a gap above 0: medians over runs",
        f"late gap: the largest played in the last nine tenths of the {word}s",
        f"beyond F: runs with a gap above F at some {word}",
    ]
    if any(r.makes_looks for r in runs):
        lines.append(
            "within: the certificate: no policy that may be played has a larger gap; median"
        )
    known = zip(named, runs, strict=True)
    means = [f"{n} {_short(float(r.final_regret().mean()))}" for n, r in known if r.has_gaps]
    if means:
        lines.append(f"mean regret: {_few(means)}")
    able = ((n, r.decision_table) for n, r in zip(named, runs, strict=True) if not r.baseline)
    gone = ((n, x.eliminated, x.gaps) for n, x in able)
    lost = [
        f"{name} {_lost(eliminated, gaps)}/{len(eliminated)}"
        for name, eliminated, gaps in gone
        if eliminated is not None and gaps is not None
    ]
    if lost:
        lines.append(f"runs that lost the best arm: {_few(lost)}")
    found = [check(r, against) for r in runs]
    if any(c is not None and c.tested is False for c in found):
        lines.append("untested: F excluded no gap up to the horizon, so that no run could")
    lines += _starts(runs, named)
    if rival is not None and len(runs) > 1:
        whose = f"no larger than {named[rival]}'s"
        lines.append(f"ahead: recorded {word} from which on mean regret is {whose}")
    if any(c is not None and not c.own for c in found):
        owner = next(name for name, r in zip(named, runs, strict=True) if r.guarantee is against)
        lines.append(f"* no F of its own; held against that of {owner}, the tightest")
    void = [n for n, r in zip(named, runs, strict=True) if r.has_gaps and is_void(r)]
    if void:
        lines.append(f"{listed(void)}: no guarantee covers the parameters on this problem")
    lines += withdrawals(zip(named, runs, strict=True))
    lines.append(f"{word}s/s: of one thread while it plays, without compiling and loading")
    deltas = sorted({r.guarantee.delta for r in runs if r.guarantee is not None})
    if deltas:
        allowed = ", ".join(f"{d:g}" for d in deltas)
        lines.append(f"a ULI learner may go beyond F in a fraction delta = {allowed} of runs")
    tv = sum(r.tv_bound for r in runs)
    if tv > 0.0:
        lines.append(f"certified blocks: total variation from the exact law at most {tv:.1e}")
    return lines


def _starts(runs: Sequence[Runs], named: Sequence[str]) -> list[str]:
    """Say from which round on each F excludes the largest gap, and every gap."""
    found = []
    for name, r in zip(named, runs, strict=True):
        if r.has_gaps and r.guarantee is not None and r.worse_gaps.size:
            gaps = r.worse_gaps
            first, every = (binds_from(r.guarantee, float(x)) for x in (gaps.max(), gaps.min()))
            when = ["?" if t is None else _short(t) for t in (first, every)]
            found.append(f"{name} {when[0]}, {when[1]}")
    head = f"F excludes the largest gap, every gap from {runs[0].unit}: "
    return [head + _few(found)] if found else []


def _few(found: list[str]) -> str:
    """Name the first of many, and say how many more there are."""
    more = len(found) - MOST_NAMED
    return "; ".join(found[:MOST_NAMED] + ([f"{more} others"] if more > 0 else []))


def runs_frames(runs: Mapping[str, Runs]) -> pd.DataFrame:
    """Return one row per learner, replication and recorded round."""
    frames = {name: runs_frame(each) for name, each in runs.items()}
    import pandas as pd

    return pd.concat(frames, names=["learner", None]).reset_index("learner").reset_index(drop=True)


def runs_frame(runs: Runs) -> pd.DataFrame:
    """Return one row per replication and recorded round."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("to_pandas needs pandas: pip install pandas") from None
    M, P = runs.replications, runs.rounds.size
    columns: dict[str, Any] = {
        "replication": np.repeat(np.arange(M), P),
        "round": np.tile(runs.rounds, M),
    }
    if runs.has_regret:
        columns["regret"] = runs.regret.ravel()
    if runs.makes_looks:
        columns["certificate"] = runs.certificates.ravel()
    for name, plays in runs.plays_by_arm.items():
        columns[f"plays[{name}]"] = plays.ravel()
    return pd.DataFrame(columns)
