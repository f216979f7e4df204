"""Operating characteristics in numbers: tables for the terminal and the page, and pandas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from uli_fast.planning.fixed_trial import LARGEST_GROUP, FixedTrial
from uli_fast.report.canvas import Line
from uli_fast.report.summaries import SummaryCell, SummaryRow, SummaryTable
from uli_fast.report.words import label, number, percent, squeezed, wrapped
from uli_fast.results.characteristics import LearnerCharacteristics, OperatingCharacteristics
from uli_fast.results.metrics import Mean, Share

if TYPE_CHECKING:
    from rich.table import Table as RichTable

# Arms that are shown one by one, those closest to the best first; to_pandas has them all.
MOST_ARMS = 12
LONGEST_NAME, LONGEST_ARM = 24, 14
FIXED = "fixed-size trial"
NEVER_DROPS = "never drops"
# Shares of runs for which patients are counted.
SHARES = (0.8, 0.9)


def summary(plan: OperatingCharacteristics, lines: Sequence[Line] = ()) -> SummaryTable:
    """Return a row per learner, and one of the usual trial."""
    header = ["learner", "all dropped", *(f"{100 * x:.0f} % by" for x in SHARES)]
    header += ["on inferior", f"{label(plan.events)} avoided", "best lost, %"]
    rows = [
        SummaryRow(
            label(name), _learner(each), next((x for x in lines if x.name == label(name)), None)
        )
        for name, each in plan.learners.items()
    ]
    if plan.fixed is not None:
        rows.append(SummaryRow(FIXED, _fixed(plan, plan.fixed)))
    return SummaryTable("Learners", " ".join(notes(plan)), header, rows)


def arms(plan: OperatingCharacteristics) -> SummaryTable:
    """Return three rows per learner, and a column per arm."""
    shown = shown_arms(plan)
    header = ["dropped", *(squeezed(label(plan.names[a]), LONGEST_ARM) for a in shown)]
    rows = [
        SummaryRow("gap", [SummaryCell(f"{plan.gaps[a]:.3g}", float(plan.gaps[a])) for a in shown])
    ]
    for name, each in plan.learners.items():
        if each.dropped is None:
            rows.append(SummaryRow(label(name), [SummaryCell(NEVER_DROPS)] * len(shown)))
            continue
        rows.append(SummaryRow(label(name), [_share(each.dropped[a]) for a in shown]))
        for share in SHARES:
            needed = each.needed(share)
            assert needed is not None
            cells = [_of_worse(plan, a, _patients(needed[a], each.followed)) for a in shown]
            rows.append(SummaryRow(f"\u00a0 {100 * share:.0f} % by", cells))
    if plan.fixed is not None:
        rows += _fixed_arms(plan, plan.fixed, shown)
    also = "" if plan.fixed is None else f" (by the {FIXED}: called inferior)"
    caption = (
        f"The chance of each arm to be dropped{also} within {plan.horizon:,} patients, and the "
        "patients by whom it has happened in 80 and 90 % of the trials."
    )
    left = len(plan.names) - len(shown)
    return SummaryTable(
        "Arms", caption + (f" {left} arms are left out." if left else ""), header, rows
    )


def shown_arms(plan: OperatingCharacteristics) -> list[int]:
    """Return the arms that are shown, in their own order: those closest to the best."""
    return sorted(np.argsort(plan.gaps, kind="stable")[:MOST_ARMS].tolist())


def notes(plan: OperatingCharacteristics) -> list[str]:
    """Say what the columns mean."""
    inferior = int((plan.gaps > 0.0).sum())
    said = [
        f"All dropped: chance that all {inferior} inferior arms are dropped within "
        f"{plan.horizon:,} patients; 80 % by, 90 % by: patients by whom they are in this share of "
        "the trials.",
        "On inferior: expected patients on inferior arms; equal allocation has "
        f"{plan.equal_on_inferior:,.0f}.",
        f"{label(plan.events).capitalize()} avoided: expected, against equal allocation"
        + ("." if np.isnan(plan.equal_events) else f", which has {plan.equal_events:,.0f}."),
        f"\u00b1: half the {100 * _level(plan):g} % interval of a mean over trials.",
        f"Best lost: chance that the best arm is dropped within {plan.horizon:,} patients, with "
        f"its exact {100 * _level(plan):g} % interval (Clopper and Pearson).",
    ]
    ends = sorted({x.followed for x in plan.learners.values() if x.drops})
    if ends:
        said.append(
            f"Trials were followed up to patient {', '.join(number(x) for x in ends)}; "
            "> says that the share was not reached by then."
        )
    if plan.fixed is not None:
        each = plan.fixed.alpha / (len(plan.names) - 1)
        said.append(
            f"Fixed-size trial: {plan.fixed.n:,} patients on each arm, one look; an arm is called "
            "inferior where the arm that did best beats it in the pooled two-proportion z test, "
            f"one-sided at {plan.fixed.alpha:g} / {len(plan.names) - 1} = {each:.3g} (Bonferroni); "
            "exact, not simulated."
        )
    elif plan.no_fixed:
        said.append(f"Fixed-size trial: none here ({plan.no_fixed}).")
    return [*said, f"{plan.replications:,} trials of each learner, seed {plan.seed}."]


def learners_table(plan: OperatingCharacteristics) -> RichTable:
    """Return the summary for the terminal."""
    title = f"{plan.problem}\n{plan.horizon:,} patients, {plan.replications:,} simulated trials"
    return _rich(summary(plan), title, notes(plan))


def arms_table(plan: OperatingCharacteristics) -> RichTable:
    """Return the chances and patients of each arm for the terminal."""
    table = arms(plan)
    return _rich(table, "", [table.caption])


def _rich(table: SummaryTable, title: str, said: Sequence[str]) -> RichTable:
    from rich.text import Text

    from uli_fast.report.tables import plain_table

    result = plain_table(title, table.header)
    for row in table.rows:
        result.add_row(Text(wrapped(row.name, LONGEST_NAME)), *(x.text for x in row.cells))
    result.caption = Text("\n".join(said))
    return result


def _level(plan: OperatingCharacteristics) -> float:
    return next(iter(plan.learners.values())).level


def _learner(each: LearnerCharacteristics) -> list[SummaryCell]:
    """Return the cells of a learner; one without inferior arms has nothing to drop."""
    cells = [SummaryCell(NEVER_DROPS), SummaryCell(""), SummaryCell("")]
    lost = SummaryCell("never")
    if each.drops:
        cells = [_share(each.dropped_all)]
        cells += [_patients(each.needed_all(x), each.followed) for x in SHARES]
        assert each.lost_best is not None
        lost = _with_interval(each.lost_best)
        if each.dropped_all is None:
            cells = [SummaryCell("\u2013")] * 3
    return [*cells, _mean(each.on_inferior), _mean(each.events_avoided), lost]


def _fixed(plan: OperatingCharacteristics, trial: FixedTrial) -> list[SummaryCell]:
    most = LARGEST_GROUP * len(plan.names)
    cells = [SummaryCell("\u2013")] * 3
    if trial.inferior.any():
        cells = [SummaryCell(percent(trial.called_all), trial.called_all)]
        cells += [_patients(trial.needed_all(x), most) for x in SHARES]
    lost = percent(trial.lost_best, 2).removesuffix("\u00a0%")
    equal = SummaryCell(f"{plan.equal_on_inferior:,.0f}", plan.equal_on_inferior)
    return [*cells, equal, SummaryCell("0", 0.0), SummaryCell(lost, trial.lost_best)]


def _of_worse(plan: OperatingCharacteristics, a: int, cell: SummaryCell) -> SummaryCell:
    """Return a cell of an inferior arm; the best one is not meant to be dropped."""
    return cell if plan.gaps[a] > 0.0 else SummaryCell("\u2013")


def _fixed_arms(
    plan: OperatingCharacteristics, trial: FixedTrial, shown: Sequence[int]
) -> Iterator[SummaryRow]:
    most = LARGEST_GROUP * trial.means.size
    yield SummaryRow(FIXED, [SummaryCell(percent(trial.called[a]), trial.called[a]) for a in shown])
    ways = (("", trial.needed), (", formula", trial.formula))
    for share in SHARES:
        for how, patients in ways:
            found = patients(share)
            cells = [_of_worse(plan, a, _patients(found[a], most)) for a in shown]
            yield SummaryRow(f"\u00a0 {100 * share:.0f} % by{how}", cells)


def _share(share: Share | None) -> SummaryCell:
    return SummaryCell("\u2013") if share is None else SummaryCell(percent(share.rate), share.rate)


def _with_interval(share: Share) -> SummaryCell:
    rate, low, high = (f"{100.0 * x:.2g}" for x in (share.rate, share.low, share.high))
    return SummaryCell(f"{rate} ({low}\u2013{high})", share.rate)


def _mean(mean: Mean) -> SummaryCell:
    half = (mean.high - mean.low) / 2.0
    around = f" \u00b1 {half:,.0f}" if half >= 0.5 else ""
    return SummaryCell(f"{round(mean.mean):,}{around}", mean.mean)


def _patients(needed: int | None, most: int) -> SummaryCell:
    if needed is None:
        return SummaryCell(f"> {number(most)}")
    return SummaryCell(f"{needed:,}" if needed < 10**7 else number(needed), float(needed))
