"""The executable paper: every statement has a row that runs it and says whether it holds.

A row names its statement by the paper's label, runs something that can be waited for, and
compares the figure with what the statement allows, as corrected in docs/errata.md. Where a
bound says nothing at rounds that can be played, the row tests what the proof rests on in its
place: the phase bound G, the nice event, the invariants. Most proofs are generous, so rows
look for what is sharp: events whose probability can be computed, an adversary that does the
worst the event allows, identities that hold to the last digit.

Rows whose statement begins with "Ours" are about our own proofs (docs/proofs.md,
docs/proofs_models.md, docs/proofs_linear.md, docs/proofs_sets.md, docs/proofs_caps.md), not about
the paper.

An *illustration* shows a figure and proves nothing; it fails if the figure is not there.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from uli_fast.errors import ArgumentError, GuaranteeWarning, SaturationWarning

HOLDS, FAILS, ILLUSTRATION = "holds", "fails", "illustration"
THEMES = (
    "bandits",
    "remarks",
    "lower_bounds",
    "bonuses",
    "adversarial",
    "meta",
    "concentration",
    "linear",
    "linear_blocks",
    "spanners",
    "sharp_spanners",
    "caps",
    "policies",
    "policy_runs",
    "models",
    "betting",
    "rivals",
    "registered",
)


class VerifyRow(NamedTuple):
    """What came of a check."""

    id: str
    statement: str
    ran: str
    measured: str
    verdict: str  # "holds", "fails" or "illustration"
    seconds: float


class VerifyOutcome(NamedTuple):
    """What a check ran, what it measured, and whether that is what the statement says."""

    ran: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class PaperCheck:
    """A statement of the paper, where it is in the code, and what puts it to the test."""

    id: str
    statement: str  # the paper's labels, and what is claimed
    code: tuple[str, ...]  # file or file::name, within uli_fast/
    tests: tuple[str, ...]  # file or file::test
    run: Callable[[bool], VerifyOutcome]  # of ``quick``
    illustration: bool = False

    def row(self, quick: bool = True) -> VerifyRow:
        """Run the check; what cannot be computed has failed."""
        begun = time.perf_counter()
        with warnings.catch_warnings():
            for expected in (GuaranteeWarning, SaturationWarning):
                warnings.simplefilter("ignore", expected)
            try:
                ran, measured, holds = self.run(quick)
            except Exception as problem:
                ran, measured, holds = "", f"{type(problem).__name__}: {problem}", False
        verdict = FAILS if not holds else ILLUSTRATION if self.illustration else HOLDS
        seconds = time.perf_counter() - begun
        return VerifyRow(self.id, self.statement, ran, measured, verdict, seconds)


_CHECKS: dict[str, PaperCheck] = {}


def check(
    id: str, code: tuple[str, ...], tests: tuple[str, ...], illustration: bool = False
) -> Callable[[Callable[[bool], VerifyOutcome]], Callable[[bool], VerifyOutcome]]:
    """Register a function of ``quick`` as the check of the statement in its docstring."""

    def register(run: Callable[[bool], VerifyOutcome]) -> Callable[[bool], VerifyOutcome]:
        statement = " ".join((run.__doc__ or "").split())
        _CHECKS[id] = PaperCheck(id, statement.rstrip("."), code, tests, run, illustration)
        return run

    return register


def checks(only: str | None = None) -> list[PaperCheck]:
    """Return the checks, or those whose id, statement or code contains a word."""
    for theme in THEMES:
        import_module(f"uli_fast.verify.{theme}")
    every = sorted(_CHECKS.values(), key=lambda c: THEMES.index(c.run.__module__.split(".")[-1]))
    if only is None:
        return every
    word = only.lower()
    chosen = [c for c in every if word in " ".join((c.id, c.statement, *c.code)).lower()]
    if not chosen:
        raise ArgumentError("only", f"no statement contains {only!r}")
    return chosen


def verify(
    quick: bool = True,
    only: str | None = None,
    progress: Callable[[PaperCheck, VerifyRow | None], None] | None = None,
) -> list[VerifyRow]:
    """Put the paper's statements to the test and return a row for each.

    Parameters
    ----------
    quick
        A minute in all; otherwise about ten, with more and longer runs. Both are seeded:
        the figures are the same every time.
    only
        Only statements whose id, text or code contains this word.
    progress
        Called with each check before it runs, and again with its row.
    """
    rows: list[VerifyRow] = []
    for each in checks(only):
        if progress is not None:
            progress(each, None)
        rows.append(each.row(quick))
        if progress is not None:
            progress(each, rows[-1])
    return rows
