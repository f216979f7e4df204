"""A plan as one page: tables, figures, and what the numbers mean."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from uli_fast import _check
from uli_fast.report.canvas import Line
from uli_fast.report.data import csv_data
from uli_fast.report.page import download_of, render, write_page
from uli_fast.report.pictures import Picture
from uli_fast.report.planning import FIXED, arms, summary
from uli_fast.report.planning_data import frame_rows
from uli_fast.report.planning_figures import drawing, plan_lines
from uli_fast.report.svg import inline_svg
from uli_fast.report.words import label, listed, percent
from uli_fast.results.characteristics import OperatingCharacteristics

_DROPPING = (
    "The share of the trials in which all inferior arms have been dropped by then. "
    "Dotted: the patients planned for."
)
_POWER = (
    " Dashed: the chance that a trial of fixed size with as many patients calls all of them "
    "inferior."
)
_INFERIOR = (
    "Patients on inferior arms among those planned for: the mean over the trials (dot), nine "
    "tenths of the trials (bar). Dashed: equal allocation."
)


def write_plan(
    plan: OperatingCharacteristics, path: str | os.PathLike[str], title: str | None
) -> Path:
    """Write a page that needs nothing else, whole or not at all."""
    from uli_fast._support.versions import versions

    heading = f"A trial with {plan.horizon:,} patients" if title is None else title
    target, lines = _check.file("path", path), plan_lines(plan)
    _check.page("path", target)
    each = list(frame_rows(plan))
    data = csv_data("plan", "one line per learner and arm", list(each[0]), map(_row, each))
    page = render(
        "plan.html",
        title=label(_check.text("title", heading)),
        headline=headline(plan),
        sentences=list(_sentences(plan)),
        plan=plan,
        summary=summary(plan, lines),
        arms=arms(plan),
        pictures=list(_pictures(plan, lines)),
        lines=lines,
        download=download_of("trial", data),
        provenance={
            "seed": plan.seed,
            "trials of each learner": plan.replications,
            "seconds": round(plan.elapsed, 2),
            "versions": versions(),
        },
        caveats=list(_caveats(plan)),
    )
    return write_page(page, target)


def headline(plan: OperatingCharacteristics) -> str:
    """Say in a sentence which learner spares the most events."""
    avoided = {name: x.events_avoided.mean for name, x in plan.learners.items()}
    best = max(avoided, key=lambda name: avoided[name])
    return (
        f"Of {plan.horizon:,} patients {label(best)} puts "
        f"{plan[best].on_inferior.mean:,.0f} on inferior arms, equal allocation "
        f"{plan.equal_on_inferior:,.0f}: {avoided[best]:,.0f} {label(plan.events)} avoided."
    )


def _sentences(plan: OperatingCharacteristics) -> Iterator[str]:
    chances = [
        f"{label(name)} {percent(x.dropped_all.rate)}"
        for name, x in plan.learners.items()
        if x.dropped_all is not None
    ]
    if plan.fixed is not None and plan.fixed.inferior.any():
        chances.append(f"the {FIXED} {percent(plan.fixed.called_all)}")
    if chances:
        yield f"The chance to have found all inferior arms by then: {listed(chances)}."
    never = [label(name) for name, x in plan.learners.items() if not x.drops]
    if never:
        drop = "drop" if len(never) > 1 else "drops"
        yield f"{listed(never)} never {drop} an arm: any patient may be the next to get it."


def _pictures(plan: OperatingCharacteristics, lines: list[Line]) -> Iterator[Picture]:
    both = zip(lines, plan.learners_in_order, strict=True)
    dropping = [line for line, each in both if each.drops]
    if dropping and (plan.gaps > 0.0).any():
        draw, title = drawing(plan, "dropping"), "When inferior arms are dropped"
        svg = inline_svg(draw, lines, (5.2, 3.4), title, "dropping")
        said = _DROPPING + ("" if plan.fixed is None else _POWER)
        yield Picture("dropping", title, said, svg, dropping)
    draw, title = drawing(plan, "inferior"), "Patients on inferior arms"
    size = (5.2, 0.7 + 0.3 * len(lines))
    yield Picture("inferior", title, _INFERIOR, inline_svg(draw, lines, size, title, "i"), lines)


def _caveats(plan: OperatingCharacteristics) -> Iterator[str]:
    yield (
        "Everything here is about arms with these means. Arms with other means have other "
        "chances; what a learner guarantees holds for all of them."
    )
    yield (
        "Outcomes are independent and known before the next patient comes; means stay the same "
        "throughout the trial."
    )
    yield (
        f"Chances and means of learners come from {plan.replications:,} simulated trials; their "
        f"intervals are of {100 * plan.learners_in_order[0].level:g} % each, not jointly."
    )
    if plan.fixed is not None:
        yield (
            "The z test of the fixed-size trial is the textbook's: its level is approximate, its "
            "chances here are exact."
        )


def _row(values: dict[str, object]) -> list[object]:
    """Return a line of the CSV file; what does not apply is left empty."""
    return ["" if x is None else x for x in values.values()]
