"""Runs, comparisons and races as they are shown in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from uli_fast._support.html import facts, grid
from uli_fast.guarantees import Guarantee
from uli_fast.report.checks import ReportCheck, check, is_void, tightest
from uli_fast.report.planning import summary as summary_of_plan
from uli_fast.report.races import HEADERS, cells, summary
from uli_fast.report.words import label, number
from uli_fast.results.runs import Runs

if TYPE_CHECKING:
    from uli_fast.results.characteristics import OperatingCharacteristics
    from uli_fast.results.race import Race


def runs_html(runs: Runs) -> str:
    """Return what a user wants to know of Runs first."""
    word = runs.unit
    rows = [
        ("problem", runs.problem),
        (f"{word}s", f"{number(runs.horizon)}, {runs.replications} replications"),
        ("regret", _regret(runs)),
        (f"last {word} with a gap", _last(runs)),
        ("guarantee", _kept(runs, runs.guarantee)),
        ("where it stands", _standing(runs)),
    ]
    return facts(runs.learner, rows, f"seed {runs.seed}, engine {runs.engine}")


def comparison_html(named: Mapping[str, Runs]) -> str:
    """Return a line per learner."""
    runs = list(named.values())
    first, against = runs[0], tightest(runs)
    headers = ["learner", "regret", f"last {first.unit} with a gap", "guarantee"]
    rows = [[label(name), _regret(r), _last(r), _kept(r, against)] for name, r in named.items()]
    title = f"{first.problem}: {number(first.horizon)} {first.unit}s"
    return grid(title, headers, rows, f"{first.replications} replications; medians over them")


def plan_html(plan: OperatingCharacteristics) -> str:
    """Return a line per learner, and one of the usual trial."""
    found = summary_of_plan(plan)
    rows = [[row.name, *(cell.text for cell in row.cells)] for row in found.rows]
    title = f"{plan.problem}: a trial with {plan.horizon:,} patients"
    return grid(title, found.header, rows, f"{plan.replications:,} trials of each learner")


def race_html(race: Race) -> str:
    """Return the ranking."""
    rows = [[label(x.name), *cells(race, x)] for x in race.ranking]
    return grid(label(race.verdict(), 200), ["candidate", *HEADERS], rows, "; ".join(summary(race)))


def _regret(r: Runs) -> str:
    if not r.has_gaps:
        return "unknown: the means are"
    found = r.final_regret()
    if found.size == 1:
        return number(float(found[0]))
    low, middle, high = (float(x) for x in (found.min(), np.median(found), found.max()))
    return f"{number(middle)} ({number(low)} to {number(high)})"


def _last(r: Runs) -> str:
    return number(float(np.median(r.last_mistake()))) if r.has_gaps else "unknown"


def _kept(r: Runs, against: Guarantee | None) -> str:
    said = _said(r, check(r, against))
    return f"{said}; {r.withdrawal}" if r.withdrawal else said


def _said(r: Runs, found: ReportCheck | None) -> str:
    if found is None:
        return "covers no such parameters" if r.has_gaps and is_void(r) else "none"
    counted = found.coverage
    whose = "its own F" if found.own else "the tightest F of the others"
    if r.guarantee is not None and not r.guarantee.proved:
        whose = "the F that its user claims"
    if found.tested is False:
        return f"untested: {whose} excludes no gap up to the horizon"
    kept = f"{whose} held in {counted.runs - counted.failures} of {counted.of_runs}"
    return kept if not found.own else f"{kept}, delta = {r.delta:g}"


def _standing(r: Runs) -> str:
    if not r.has_gaps:
        return "unknown"
    if not r.eliminates:
        return "it drops nothing: any choice may come back"
    count = int(r.settled.sum())
    return f"settled in {count} of {r.replications} runs: there no worse choice can follow"
