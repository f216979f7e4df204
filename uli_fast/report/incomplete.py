"""What a page says about an experiment that is not complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from uli_fast.report.checks import Verdict
from uli_fast.report.words import label, listed
from uli_fast.results.runs import Runs


class MissingSummary(NamedTuple):
    """A headline, and the sentences behind it."""

    headline: str
    sentences: tuple[str, ...]


def incomplete(
    sections: Mapping[str, Mapping[str, Runs]], missing: Mapping[str, Mapping[str, int]]
) -> MissingSummary | None:
    """Say how many runs are in, and where there are none; None where all are."""
    left = sum(sum(each.values()) for each in missing.values())
    if left == 0:
        return None
    kept = sum(r.replications for runs in sections.values() for r in runs.values())
    empty = [
        f"{label(learner)} on {label(problem)}"
        for problem, each in missing.items()
        for learner in each
        if learner not in sections.get(problem, {})
    ]
    sentences = ["What follows is about the runs that are in."]
    if empty:
        sentences.append(f"Without any run yet: {listed(empty, most=20)}.")
    return MissingSummary(_count(kept, kept + left), tuple(sentences))


def with_missing(verdict: Verdict, runs: Mapping[str, Runs], missing: Mapping[str, int]) -> Verdict:
    """Return a verdict that says how many of its runs are in."""
    left = sum(missing.values())
    if left == 0:
        return verdict
    kept = sum(r.replications for r in runs.values())
    said = f"{_count(kept, kept + left)}."
    return verdict._replace(
        headline=f"{verdict.headline} so far", sentences=(said, *verdict.sentences)
    )


def _count(kept: int, wanted: int) -> str:
    return f"Incomplete: {kept} of {wanted} runs are in"
