"""``uli plan --patients``: trials of a given size, simulated, beside one of fixed size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from uli_fast.cli._plan_subjects import Subject


class TrialOptions(NamedTuple):
    """What was asked about trials."""

    patients: float | None
    learners: tuple[str, ...] | None
    followed: float | None
    events: str | None
    html: Path | None

    def refuse(self, unknown: bool, others: bool) -> None:
        """Refuse options that do not go together."""
        if self.patients is None:
            if any(x is not None for x in self[1:]):
                raise click.UsageError("--learners, --followed, --events, --html need --patients")
            return
        if unknown:
            raise click.UsageError("--patients needs the means: give --means or --dataset")
        if others:
            raise click.UsageError(
                "--patients does not go with --horizon, --constants, --turning-point, --best-mean"
            )

    def show(self, subject: Subject, delta: float, replications: int, seed: int) -> None:
        """Simulate, and print or write what was found."""
        from rich.console import Console

        import uli_fast as uli
        from uli_fast import _check
        from uli_fast.planning.usual import usual_learners

        assert subject.problem is not None
        horizon = _check.horizon("patients", self.patients)
        page = None if self.html is None else _check.file("html", self.html)
        _check.page("html", page)
        found = uli.operating_characteristics(
            usual_learners(delta, subject.R, self.learners),
            subject.problem,
            horizon,
            replications,
            seed,
            followed=None if self.followed is None else _check.horizon("followed", self.followed),
            alpha=delta,
            events="events" if self.events is None else self.events,
            n_jobs=-1,
        )
        console = Console()
        console.print(found.table())
        console.print()
        console.print(found.arms_table())
        if page is not None:
            found.report(page, None)
            console.print(f"page: {page}", markup=False)
