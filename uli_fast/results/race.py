"""What a race has shown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from uli_fast._support.html import as_shown
from uli_fast._typing import F64, I64, About, Stopped
from uli_fast.guarantees import confidence
from uli_fast.players._certificate import Certificate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table


class Standing(NamedTuple):
    """Where a candidate ended, in the caller's units."""

    name: str
    mean: float  # of the scores that came; NaN if none did
    low: float  # confidence interval of its mean, all intervals at once, at every instance
    high: float
    evaluations: int  # missing ones included
    missing: int
    dropped_at: int | None  # instances after which it was dropped
    dropped_after: int | None  # evaluations of everybody until then
    beaten_by: str | None  # who led when it was dropped


class MissingScore(NamedTuple):
    """A score that did not come."""

    candidate: str
    instance: int  # its position in what the caller gave
    reason: str


@dataclass(frozen=True, eq=False)
class Race:
    """The verdict of a race; ``uli.race`` makes it.

    What to call first: ``race.best``, ``race.verdict()``, ``race.table()``, ``race.plot()``,
    ``race["candidate"]``, ``race.certificate``.

    Attributes
    ----------
    best
        The leader of those still in the race.
    ranking
        A Standing for everybody: those still in the race, the leader first, and then those
        dropped, the last one first.
    stopped
        Why the race ended: "one left", "all left within eps" or "no instances left".
    evaluations, full
        Evaluations made, and those of all candidates on all instances.

    Examples
    --------
    >>> import uli_fast as uli
    >>> def score(who, instance):
    ...     return float(who == "good")
    >>> race = uli.race(["good", "bad"], score, list(range(100)), seed=1)
    >>> race.best, race.verdict(), race["bad"].beaten_by
    ('good', 'good is the best on this list', 'good')
    """

    best: str  # the leader of those still in the race
    ranking: tuple[Standing, ...]
    stopped: Stopped
    certificate: Certificate
    about: About
    instances: int  # seen, in their random order
    evaluations: int  # made: pairs of a candidate and an instance
    full: int  # evaluations of all candidates on all instances
    missing: tuple[MissingScore, ...]
    names: tuple[str, ...]  # of the candidates as they were given: the columns of scores
    order: I64  # (instances,) positions in what the caller gave
    scores: F64  # (instances, K), NaN where missing or not evaluated
    delta: float
    eps: float | None
    seed: int

    @property
    def active(self) -> tuple[str, ...]:
        """Those still in the race, the leader first."""
        return tuple(x.name for x in self.ranking if x.dropped_at is None)

    @property
    def saved(self) -> int:
        """The evaluations that were not needed."""
        return self.full - self.evaluations

    def __getitem__(self, name: str) -> Standing:
        for standing in self.ranking:
            if standing.name == name:
                return standing
        known = ", ".join(repr(x.name) for x in self.ranking[:20])
        raise KeyError(f"there is no {name!r}: the candidates are {known}")

    def verdict(self) -> str:
        """Say in a sentence what came out."""
        lost = f" ({len(self.missing):,} of {self.evaluations:,} scores missing)"
        return self._said() + (lost if self.missing else "")

    def _said(self) -> str:
        left = len(self.active)
        where = "on this list" if self.about == "list" else "in the population"
        if left == 1:
            return f"{self.best} is the best {where}"
        complete = self.instances * len(self.names) == self.full and not self.missing
        if self.about == "list" and complete:  # else one of them would have been dropped
            return f"{self.best} leads; it and {left - 1} more are equal {where}, up to rounding"
        within = f"within {self.certificate.bound:.3g} of the best {where}"
        return f"{self.best} leads; it and {left - 1} more are {within}"

    def table(self) -> Table:
        """Return the ranking for the terminal."""
        from uli_fast.report.races import race_table

        return race_table(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw intervals and how long everybody was in the race."""
        from uli_fast.report.races import race_figure

        return race_figure(self, path)

    def report(self, path: str | os.PathLike[str], title: str = "Race") -> Path:
        """Write one self-contained HTML page; return where it is."""
        from uli_fast.report.races import write_race

        return write_race(self, path, title)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per candidate, in the order of the ranking."""
        from uli_fast.report.races import race_frame

        return race_frame(self)

    @as_shown
    def _repr_html_(self) -> str:
        from uli_fast.report.notebook import race_html

        return race_html(self)

    def __repr__(self) -> str:
        return (
            f"Race({self.verdict()}, with probability {confidence(self.delta)}; {self.stopped} "
            f"after {self.instances} instances, {self.evaluations} evaluations of {self.full})"
        )
