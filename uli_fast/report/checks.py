"""Runs held against F, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from uli_fast import metrics
from uli_fast._typing import F64
from uli_fast.guarantees import Guarantee
from uli_fast.report.canvas import Line
from uli_fast.report.tables import reference
from uli_fast.report.words import listed
from uli_fast.runs import Runs


class Check(NamedTuple):
    """One learner held against F: its own, or the tightest one there is."""

    own: bool
    ratio: F64  # (M,) the largest gap / F over all rounds
    coverage: metrics.Coverage


class Verdict(NamedTuple):
    """What held and what was broken: a status, a headline, and the sentences behind it."""

    status: str  # "kept", "allowed", "broken" or "none"
    headline: str
    sentences: tuple[str, ...]


_HEADLINES = {
    "kept": "The guarantee held at every round of every run",
    "allowed": "Some runs went beyond F, as few as delta can explain",
    "broken": "F was broken more often than delta allows",
    "none": "There is no guarantee to check",
}


def known(r: Runs) -> bool:
    """Return whether the gaps of what was played are known."""
    return r.gaps is not None or r.block_gaps is not None


def positive_gaps(r: Runs) -> F64:
    """Return the gaps of the worse decisions."""
    gaps = r._known_gaps()
    worse: F64 = gaps[gaps > 0.0]
    return worse


def tightest(runs: Iterable[Runs]) -> Guarantee | None:
    """Return the tightest proved bound of those that can be checked."""
    return reference([r for r in runs if known(r)])


def check(r: Runs, against: Guarantee | None) -> Check | None:
    """Hold Runs against their own F, or else another one; None where neither can be."""
    if not known(r):
        return None
    ratio, delta, own = r.worst_ratio, r.delta, True
    if np.isnan(ratio).any():
        if against is None:
            return None
        ratio, delta, own = r.worst_ratio_against(against), against.delta, False
    return Check(own, ratio, metrics.coverage(ratio <= 1.0, delta))


def verdict(lines: Sequence[Line]) -> Verdict:
    """Say what the runs show, and nothing that they do not."""
    against = tightest(line.runs for line in lines)
    found = [(line.name, check(line.runs, against)) for line in lines]
    own = [(name, c.coverage) for name, c in found if c is not None and c.own]
    others = [(name, c.coverage) for name, c in found if c is not None and not c.own]
    sentences = [*_of_own(own), *_of_others(others, _owner(lines, against))]
    blind = [line.name for line in lines if not known(line.runs)]
    if blind:
        sentences.append(f"{listed(blind)}: the true means are unknown, so no gap can be checked.")
    status = _status([coverage for _, coverage in own])
    return Verdict(status, _HEADLINES[status], tuple(sentences))


def _status(own: Sequence[metrics.Coverage]) -> str:
    if not own:
        return "none"
    if any(c.low > c.delta for c in own):
        return "broken"
    return "allowed" if any(c.failures for c in own) else "kept"


def _of_own(own: Sequence[tuple[str, metrics.Coverage]]) -> list[str]:
    if not own:
        return ["No learner here has a guarantee that could be checked."]
    kept = [(name, c.runs) for name, c in own if c.failures == 0]
    sentences = []
    if kept:
        total = sum(runs for _, runs in kept)
        runs = "the only run" if total == 1 else f"all {total} runs"
        names = listed([name for name, _ in kept])
        sentences.append(f"{names} stayed within F at every round of {runs}.")
    for name, c in own:
        if c.failures:
            which = "more than" if c.low > c.delta else "compatible with"
            sentences.append(
                f"{name} went beyond F in {c.failures} of {c.runs} runs, {which} "
                f"delta = {c.delta:g} (95 % interval {c.low:.2g} to {c.high:.2g})."
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


def _owner(lines: Sequence[Line], against: Guarantee | None) -> str:
    """Return whose bound the tightest one is."""
    return next((line.name for line in lines if line.runs.guarantee is against), "")


def notes(lines: Sequence[Line]) -> list[str]:
    """Return what has to be known to read the summary of one problem."""
    against = tightest(line.runs for line in lines)
    found = []
    if against is not None and any(known(x.runs) and not _has_own(x.runs) for x in lines):
        owner = _owner(lines, against)
        found.append(f"* no F of its own: held against the tightest one here, that of {owner}.")
    for name, r, _ in lines:
        if not known(r):
            found.append(f"{name}: the true means are unknown, so its gaps are.")
        elif not _has_own(r) and not r.baseline:
            found.append(f"{name}: no guarantee covers its parameters on this problem.")
        elif _has_own(r) and (r.guarantee is None or not r.guarantee.proved):
            found.append(f"{name}: its F is a claim of its user, checked here and not proved.")
    tv = sum(line.runs.tv_bound for line in lines)
    if tv > 0.0:
        found.append(
            f"Rewards were drawn in certified blocks: the joint law of the runs is within {tv:.1e} "
            "of the exact one, in total variation."
        )
    return found


def _has_own(r: Runs) -> bool:
    return known(r) and not bool(np.isnan(r.worst_ratio).any())


def caveats(runs: Sequence[Runs]) -> list[str]:
    """Return what no report of this kind shows."""
    deltas = sorted({r.delta for r in runs if _has_own(r)})
    allowed = ", ".join(f"{delta:g}" for delta in deltas)
    said = [f"With probability up to delta = {allowed} a run may go beyond F."] if deltas else []
    return [
        *said,
        "The proofs are about rewards that are drawn independently from laws that never change.",
        "Here every reward is in before the next decision. With delays F speaks of settled "
        "rounds, not of decisions whose outcome is still awaited.",
        "F holds with high probability. It says nothing of the expected regret, to which the "
        "runs beyond F may add anything.",
        "An interval over few runs is wide: no failure in 20 runs is compatible with a "
        "probability of 0.17.",
    ]
