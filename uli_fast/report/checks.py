"""Runs held against F, and what a page says about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64
from uli_fast.guarantees import Guarantee
from uli_fast.report.bounds import (
    binds_from,
    reference,
    tested,
)
from uli_fast.report.canvas import Line
from uli_fast.report.power import power
from uli_fast.report.price import price
from uli_fast.report.words import listed, number, percent
from uli_fast.results import metrics
from uli_fast.results.runs import Runs


class ReportCheck(NamedTuple):
    """One learner held against F: its own, or the tightest one there is."""

    own: bool
    ratio: F64  # (M,) the largest gap / F over all rounds, NaN where F was withdrawn
    coverage: metrics.Coverage
    tested: bool | None  # whether F excluded any gap up to the horizon, None where F is lost


class Verdict(NamedTuple):
    """What held and what was broken: a status, a headline, and the sentences behind it."""

    status: str  # "kept", "allowed", "broken", "untested" or "none"
    headline: str
    sentences: tuple[str, ...]
    power: tuple[str, ...] = ()  # how much that shows
    price: tuple[str, ...] = ()  # what it cost


_HEADLINES = {
    "kept": "The guarantee held at every {round} of every run{whose}",
    "allowed": "Some runs went beyond F, as few as delta can explain",
    "broken": "F was broken more often than delta allows",
    "none": "There is no guarantee to check",
}


def tightest(runs: Iterable[Runs]) -> Guarantee | None:
    """Return the tightest proved bound of those that can be checked."""
    return reference([r for r in runs if r.has_gaps])


def check(r: Runs, against: Guarantee | None) -> ReportCheck | None:
    """Hold Runs against their own F, or else another one; None where neither can be."""
    if not r.has_gaps:
        return None
    ratio, delta, own, bound = r.worst_ratio, r.delta, True, r.guarantee
    if not _has_own(r):
        if against is None:
            return None
        ratio, delta, own, bound = r.worst_ratio_against(against), against.delta, False, against
    kept = metrics.kept(ratio[~np.isnan(ratio)])
    told = not kept.all() or tested(r, bound)
    found = metrics.coverage(kept, delta, withdrawn=ratio.size - kept.size)
    return ReportCheck(own, ratio, found, told)


def verdict(lines: Sequence[Line]) -> Verdict:
    """Say what the runs show, and nothing that they do not."""
    against = tightest(line.runs for line in lines)
    found = [(line, check(line.runs, against)) for line in lines]
    checked = [(line, c) for line, c in found if c is not None]
    own = [(line.name, c.coverage) for line, c in checked if c.own and c.tested]
    others = [(line.name, c.coverage) for line, c in checked if not c.own and c.tested]
    idle = [(line, c) for line, c in checked if c.own and not c.tested]
    word = lines[0].runs.unit
    sentences = [*_of_own(own, word), *_of_others(others, _owner(lines, against)), *_of_idle(idle)]
    if not own and not idle:
        sentences.insert(0, "No learner here has a guarantee that could be checked.")
    blind = [line.name for line in lines if not line.runs.has_gaps]
    if blind:
        sentences.append(f"{listed(blind)}: the true means are unknown, so no gap can be checked.")
    sentences += withdrawals([(line.name, line.runs) for line in lines])
    status = _status([coverage for _, coverage in own], bool(idle))
    some = any(line.runs.has_gaps and not _has_own(line.runs) for line in lines)
    whose = " of the learners that have one" if some else ""
    whose += ", where it was not withdrawn" if any(c.withdrawn for _, c in own) else ""
    headline = _headline(status, [line.runs for line, _ in idle]).format(round=word, whose=whose)
    proved = all(is_proved(line.runs) for line, c in checked if c.own and c.tested)
    said = tuple(power(own, proved)), tuple(price(lines))
    return Verdict(status, headline, tuple(sentences), *said)


def _status(own: Sequence[metrics.Coverage], idle: bool) -> str:
    if not own:
        return "untested" if idle else "none"
    if any(c.low > c.delta for c in own):
        return "broken"
    return "allowed" if any(c.failures for c in own) else "kept"


def _headline(status: str, idle: Sequence[Runs]) -> str:
    if status == "untested":
        if not any(r.worse_gaps.size for r in idle):
            return "No choice here has a gap: nothing was tested"
        if any(tested(r, r.guarantee) is None for r in idle):
            return "It is not known whether F excluded any gap: nothing can be said"
        which = "possible" if all(r.has_all_gaps for r in idle) else "known"
        return f"F was above every {which} gap up to the horizon: nothing was tested"
    if status == "kept" and idle:
        return _HEADLINES["kept"] + ", where it was tested"
    return _HEADLINES[status]


def _of_own(own: Sequence[tuple[str, metrics.Coverage]], word: str) -> list[str]:
    kept = [(name, c) for name, c in own if c.failures == 0]
    sentences = []
    if kept:
        total = sum(c.runs for _, c in kept)
        runs = "the only run" if total == 1 else f"all {total} runs"
        runs += " that kept F" if any(c.withdrawn for _, c in kept) else ""
        names = listed([name for name, _ in kept])
        sentences.append(f"{names} stayed within F at every {word} of {runs}.")
    for name, c in own:
        if c.failures:
            which = "more than" if c.low > c.delta else "compatible with"
            sentences.append(
                f"{name} went beyond F in {c.failures} of {c.of_runs}, {which} "
                f"delta = {c.delta:g} ({c.percent} interval {percent(c.low)} to {percent(c.high)})."
            )
    return sentences


def _of_others(others: Sequence[tuple[str, metrics.Coverage]], owner: str) -> list[str]:
    kept = [f"{name}*" for name, c in others if c.failures == 0]
    broke = [f"{name}* ({c.failures} of {c.runs} runs)" for name, c in others if c.failures]
    return [
        f"{listed(names)} {'has' if len(names) == 1 else 'have'} no F and {what} that of {owner}."
        for names, what in ((broke, "went beyond"), (kept, "stayed within"))
        if names
    ]


def _of_idle(idle: Sequence[tuple[Line, ReportCheck]]) -> list[str]:
    """Say whose F excluded nothing, and when it would."""
    sentences = []
    lost = [line.name for line, c in idle if c.tested is None]
    if lost:
        sentences.append(
            f"{listed(lost)}: the F of its user is not kept with the runs, so it is not known "
            "whether it excluded any gap."
        )
    slow = [line for line, c in idle if c.tested is False and line.runs.worse_gaps.size]
    if slow:
        sentences.append(f"Not tested: {listed([_start(line) for line in slow])}.")
    return sentences


def _start(line: Line) -> str:
    r = line.runs
    assert r.guarantee is not None
    first = binds_from(r.guarantee, float(r.worse_gaps.max()))
    when = "never, as far as is known" if first is None else f"from {r.unit} {number(first)} on"
    return f"{line.name} (F excludes the largest gap {when})"


def _owner(lines: Sequence[Line], against: Guarantee | None) -> str:
    """Return whose bound the tightest one is."""
    return next((line.name for line in lines if line.runs.guarantee is against), "")


def notes(lines: Sequence[Line]) -> list[str]:
    """Return what has to be known to read the summary of one problem."""
    against = tightest(line.runs for line in lines)
    found = []
    if against is not None and any(x.runs.has_gaps and not _has_own(x.runs) for x in lines):
        owner = _owner(lines, against)
        found.append(f"* no F of its own: held against the tightest one here, that of {owner}.")
    for name, r in ((line.name, line.runs) for line in lines):
        if not r.has_gaps:
            found.append(f"{name}: the true means are unknown, so its gaps are.")
        elif is_void(r):
            found.append(f"{name}: no guarantee covers its parameters on this problem.")
        elif _has_own(r) and not is_proved(r):
            found.append(f"{name}: its F is a claim of its user, checked here and not proved.")
    tv = sum(line.runs.tv_bound for line in lines)
    if tv > 0.0:
        found.append(
            "Rewards were drawn in certified blocks: the joint law of the runs is within "
            f"{number(tv)} of the exact one, in total variation."
        )
    return found


def withdrawals(named: Iterable[tuple[str, Runs]]) -> list[str]:
    """Say whose F was withdrawn, in how many runs and why: nothing is counted there."""
    return [f"{name}: {r.withdrawal}." for name, r in named if r.withdrawal]


def is_void(r: Runs) -> bool:
    """Return whether a learner that might have F has none here; one withdrawn covered it."""
    return not _has_own(r) and not r.baseline and not r.withdrawal


def is_proved(r: Runs) -> bool:
    """Return whether its F is proved; a user's claim is not, and is lost with saved runs."""
    return r.guarantee is not None and r.guarantee.proved


def _has_own(r: Runs) -> bool:
    if not r.has_gaps or not r.claimed.any():
        return False
    return not bool(np.isnan(r.worst_ratio[r.claimed]).any())


def caveats(runs: Sequence[Runs]) -> list[str]:
    """Return what no report of this kind shows."""
    checked = [r for r in runs if _has_own(r)]
    deltas = sorted({r.delta for r in checked})
    allowed = ", ".join(f"{delta:g}" for delta in deltas)
    said = [f"With probability up to delta = {allowed} a run may go beyond F."] if deltas else []
    return [
        *said,
        "The proofs are about rewards that are drawn independently from laws that never change.",
        "Here every reward is in before the next decision. With delays F speaks of settled "
        "rounds, not of decisions whose outcome is still awaited.",
        "F holds with high probability. It says nothing of the expected regret, to which the "
        "runs beyond F may add anything.",
    ]
