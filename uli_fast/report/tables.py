"""Summary tables for the terminal and for pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast.errors import MissingExtraError
from uli_fast.guarantees import Guarantee
from uli_fast.report.turning import ahead_from, comparable, rival_among
from uli_fast.runs import Runs

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


def reference(runs: Sequence[Runs]) -> Guarantee | None:
    """Return the tightest proved bound at the horizon, to hold learners without F against."""
    proved = [r.guarantee for r in runs if r.guarantee is not None and r.guarantee.proved]
    return min(proved, key=lambda g: float(g.bound(runs[0].horizon)), default=None)


def short_name(runs: Runs) -> str:
    """Return the learner's class, without its parameters."""
    return runs.learner.split("(")[0]


def runs_table(runs: Sequence[Runs], names: Sequence[str] | None = None) -> Table:
    """Return one line per Runs."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    first = runs[0]
    against, rival = reference(runs), rival_among(runs)
    named = list(names or [short_name(x) for x in runs])
    title = Text(f"{first.problem}\n{first.horizon:.6g} rounds, {first.replications} replications")
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    table.add_column("learner", no_wrap=True)
    for header in ("regret", "last bad", "late gap", "beyond F"):
        table.add_column(header, justify="right", no_wrap=True)
    if rival is not None and len(runs) > 1:
        table.add_column("ahead", justify="right", no_wrap=True)
    table.add_column("rounds/s", justify="right", no_wrap=True)
    for name, r in zip(named, runs, strict=True):
        turned = [] if rival is None or len(runs) < 2 else [_turned(r, runs[rival])]
        table.add_row(Text(name), *_cells(r, against), *turned, f"{r.speed:.2g}")
    table.caption = Text(_caption(runs, against, None if rival is None else named[rival]))
    table.caption_justify = "left"
    return table


def _cells(r: Runs, against: Guarantee | None) -> list[str]:
    if r.gaps is None and r.block_gaps is None:
        return ["?"] * 4
    late = r.gap_from(np.array([r.horizon // 10 + 1])).max()
    ratio, mark = r.worst_ratio, ""
    if np.isnan(ratio).any() and against is not None:
        ratio, mark = r.worst_ratio_against(against), "*"
    failures = "no F" if np.isnan(ratio).any() else f"{(ratio > 1).sum()}/{ratio.size}{mark}"
    return [
        _short(float(np.median(r.final_regret()))),
        _short(float(np.median(r.last_mistake()))),
        f"{late:.2g}",
        failures,
    ]


def _turned(r: Runs, rival: Runs) -> str:
    if not comparable(r, rival):
        return ""
    reached = ahead_from(r, rival)
    return "not yet" if reached is None else _short(reached)


def _short(x: float) -> str:
    return f"{x:.0f}" if x < 99_999 else f"{x:.1e}"


def _caption(runs: Sequence[Runs], against: Guarantee | None, rival: str | None) -> str:
    lines = [
        "regret at the horizon and last round with a gap above 0: medians over runs",
        "late gap: the largest played in the last nine tenths of the rounds",
        "beyond F: runs with a gap above F at some round",
    ]
    if rival is not None and len(runs) > 1:
        lines.append(f"ahead: recorded round from which on mean regret is no larger than {rival}'s")
    if against is not None and any(r.guarantee is None for r in runs):
        lines.append(f"* no F of its own; held against F of {against.formula}")
    deltas = sorted({r.guarantee.delta for r in runs if r.guarantee is not None})
    if deltas:
        allowed = ", ".join(f"{d:g}" for d in deltas)
        lines.append(f"a ULI learner may go beyond F in a fraction delta = {allowed} of runs")
    tv = sum(r.tv_bound for r in runs)
    if tv > 0.0:
        lines.append(f"certified blocks: total variation from the exact law at most {tv:.1e}")
    return "\n".join(lines)


def runs_frame(runs: Runs) -> pd.DataFrame:
    """Return one row per replication and recorded round."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("to_pandas needs pandas: pip install 'uli-fast[report]'") from None
    M, P = runs.replications, runs.rounds.size
    columns: dict[str, Any] = {
        "replication": np.repeat(np.arange(M), P),
        "round": np.tile(runs.rounds, M),
    }
    if runs.recorded_regret is not None:
        columns["regret"] = runs.recorded_regret.ravel()
    if runs.plays is not None:
        for a, name in enumerate(runs.names):
            columns[f"plays[{name}]"] = runs.plays[:, :, a].ravel()
    return pd.DataFrame(columns)
