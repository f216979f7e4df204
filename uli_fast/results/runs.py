"""Runs: what happened, exactly. storage.py keeps it on disk."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from inspect import Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from uli_fast import _check
from uli_fast._support.html import as_shown
from uli_fast._typing import B1, F64, I64, AnyPath, Drawing
from uli_fast.errors import (
    NoGuaranteeError,
    UnsupportedError,
)
from uli_fast.guarantees import WITHDRAWN, Guarantee
from uli_fast.results import metrics, storage
from uli_fast.results.record import RunRecord
from uli_fast.results.tables import stacked

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

# The policies played are kept up to this size.
LARGEST_POLICIES = 256 * 2**20


class Runs(RunRecord):
    """What happened in the replications of a learner on a problem.

    ``uli.simulate`` and ``uli.play`` make it, and ``Runs.load`` reads it. What to call first:

    - ``runs.table()``, ``runs.plot()``, ``runs.report("page.html")`` to look at it;
    - ``runs.regret``, ``runs.plays``, ``runs.rounds``, ``runs.to_pandas()`` for the numbers;
    - ``runs.holds``, ``runs.worst_ratio``, ``runs.coverage()`` for the guarantee, which is checked
      at every round and not at the recorded ones only;
    - ``runs.last_mistake()``, ``runs.mistakes(eps)``, ``runs.eliminated_at`` for when it settled;
    - ``runs.save(folder)`` to keep it.

    Arrays have M replications, P recorded rounds and K arms; ``len(runs)`` is M.

    Attributes
    ----------
    rounds, regret, plays
        Recorded rounds (P,), regret (M, P) and counts (M, P, K) up to and including them.
    final_plays, last_play, eliminated_at, gaps
        Counts at the horizon, last round and round of removal of every arm, (M, K); its
        gap, (K,). On tabular MDPs the decisions are policies: all but the removal are
        (M, D), for the D policies that were played, filled up with zeros.
    policies, visits
        On tabular MDPs: those policies, (M, D, H, S), and the visits (M, H, S, A).
    look_first, look_facts
        Where plausible models are looked at from time to time: the first episode after each
        look, (M, looks), and what it said, (M, looks, 5): the certificate (of all policies
        that may be played, NaN once it is withdrawn), the width of the values still possible, the
        largest and the surely attainable value, and the gap of the policy that was played.
    actions_left, actions_dropped, empty_at
        There too: which actions are left at the horizon and the first episode without each
        dropped one (0: never), (M, H, S, A); the first episode at which no model was plausible
        any more (0: never), (M,).
    withdrawn
        Where rounding may withdraw F: the round from which on it is not claimed, 0 if it is, (M,).
    phases, event_held
        Phase by phase, where the learner has phases; whether all estimates were good enough:
        every interval or phase estimate that was made by the horizon held its mean. Its law
        is the same in both engines.

    Examples
    --------
    >>> import uli_fast as uli
    >>> problem = uli.BernoulliBandit([0.7, 0.5])
    >>> runs = uli.simulate(uli.BettingElimination(0.05), problem, 10**6, 20, seed=1)
    >>> len(runs), runs.regret.shape[0], runs.final_plays.shape
    (20, 20, (20, 2))
    >>> bool(runs.holds.all())
    True
    """

    # It is made by those above. The constructor takes all the names of a record, as it always
    # did, and would be the first screen of help(Runs).
    __signature__ = Signature()

    @property
    def speed(self) -> float:
        """Rounds per second of playing, of one thread; NaN where that was not measured.

        Compiling kernels, loading them and the set-up of a run are not in it, so that it is the
        same for a first call and a second one, for one thread and many.
        """
        if self.seconds is None:
            return math.nan
        return self.horizon * self.replications / max(float(self.seconds.sum()), 1e-9)

    @cached_property
    def worst_ratio(self) -> F64:
        """The largest gap_t / F(delta, t) over every round t, (M,).

        NaN without F, and where it was withdrawn.
        """
        if self.ratios is not None:
            return self.ratios
        worst = metrics.worst_ratio(self.made().last, self.known_gaps(), self.guarantee)
        if self.withdrawn is not None:
            worst[self.withdrawn > 0] = np.nan
        return worst

    @property
    def holds(self) -> B1:
        """Whether every round's gap stayed within F, (M,); refused where F was withdrawn.

        That is ``worst_ratio <= 1``, with room for the rounding of a ratio that is 1 (2^-50).
        """
        if self.withdrawal:
            raise NoGuaranteeError(f"{self.withdrawal}. worst_ratio and coverage() have the others")
        return self._kept()

    @property
    def withdrawal(self) -> str:
        """In how many runs F was withdrawn, from which round on and why; "" where it was not."""
        if self.withdrawn is None or self.claimed.all():
            return ""
        rounds = self.withdrawn[~self.claimed]
        return (
            f"F was withdrawn in {rounds.size} of {self.replications} runs, from {self.unit} "
            f"{rounds.min():,} on: {WITHDRAWN}"
        )

    def _kept(self) -> B1:
        """Return whether F held in each of the runs in which it was not withdrawn."""
        ratio = self.worst_ratio[self.claimed]
        if np.isnan(ratio).any():
            other = "uli.BettingElimination()" if self.names else "learner"
            raise NoGuaranteeError(
                f"{self.learner} has no F_ULI here: hold it against that of another learner, "
                f"runs.worst_ratio_against({other}.guarantee(problem))"
            )
        return metrics.kept(ratio)

    def worst_ratio_against(self, guarantee: Guarantee) -> F64:
        """Return the largest gap_t / F(t) over every round t against a decreasing bound."""
        return metrics.worst_ratio(self.made().last, self.known_gaps(), guarantee)

    def mistakes(self, eps: float) -> I64:
        """Return N_eps, the number of plays with a gap above eps, (M,)."""
        eps = _check.number("eps", eps)
        return metrics.mistakes(self.made().plays, self.known_gaps(), eps)

    def last_mistake(self, eps: float = 0.0) -> I64:
        """Return the last round with a gap above eps, 0 if none, (M,)."""
        eps = _check.number("eps", eps)
        return metrics.last_mistake(self.made().last, self.known_gaps(), eps)

    def gap_from(self, rounds: I64) -> F64:
        """Return the largest gap played at or after each of the rounds, (M, P)."""
        return metrics.gap_from(self.made().last, self.known_gaps(), rounds)

    @property
    def certificates(self) -> F64:
        """What bounds the gaps of all that may be played at the recorded rounds, (M, P).

        NaN where it was withdrawn, because what was seen contradicts itself.
        """
        return self._looked_up(0)

    @property
    def played_gaps(self) -> F64:
        """The gap of what was played at the recorded rounds, (M, P), where looks are recorded."""
        return self._looked_up(4)

    def _looked_up(self, fact: int) -> F64:
        return metrics.at_looks(self.looks.first, self.looks.facts[:, :, fact], self.rounds)

    def on_inferior(self, by: int | None = None) -> I64:
        """Return the plays of arms with a gap, by the horizon or by a recorded round, (M,).

        Where rounds are patients: those who were given an inferior arm.
        """
        return metrics.on_inferior(*self._allocation(by))

    def events_avoided(self, by: int | None = None) -> F64:
        """Return the expected events avoided against equal allocation, (M,).

        With rewards 1 (a good outcome) and 0 (an event); for other rewards, the expected reward
        gained. ``by`` is a recorded round, by default the horizon.
        """
        return metrics.events_avoided(*self._allocation(by))

    def _allocation(self, by: int | None) -> tuple[I64, F64]:
        """Return the plays of every arm by a round, (M, K), and the gaps, (K,)."""
        gaps = self.known_gaps()
        if gaps.ndim != 1:
            raise UnsupportedError("equal allocation is among finitely many arms")
        return self.allocation(by), gaps

    def final_regret(self) -> F64:
        """Return the pseudo-regret at the horizon, (M,)."""
        total: F64 = (self.made().plays * self.known_gaps()).sum(axis=1)
        return total

    def coverage(self, level: float = metrics.LEVEL) -> metrics.Coverage:
        """Count the replications that broke the guarantee, against delta.

        ``level`` is that of the interval of the probability of a failure. Where F was withdrawn it
        counts those that kept it, and says how many did not; refused where none kept it.
        """
        level = _check.in_open_unit("level", level)
        held = self._kept() if self.claimed.any() else self.holds
        return metrics.coverage(held, self.delta, level, int((~self.claimed).sum()))

    def table(self) -> Table:
        """Return a summary table for the terminal."""
        from uli_fast.report.tables import runs_table

        return runs_table([self])

    @overload
    def plot(
        self,
        path: AnyPath = None,
        what: Drawing = "gap",
        grid: tuple[int, int] | None = None,
        *,
        ax: None = None,
    ) -> Figure: ...
    @overload
    def plot(
        self,
        path: AnyPath = None,
        what: Drawing = "gap",
        grid: tuple[int, int] | None = None,
        *,
        ax: Axes,
    ) -> Axes: ...
    def plot(
        self,
        path: AnyPath = None,
        what: Drawing = "gap",
        grid: tuple[int, int] | None = None,
        *,
        ax: Axes | None = None,
    ) -> Figure | Axes:
        """Draw the gap still to come under F, or the "regret", on log-log axes.

        Of ModelElimination also the "certificate" at every look, and how many "actions" are left
        in each state of each stage; with ``grid``, (rows, columns), as maps of a grid world.
        Return a figure, or ``ax`` if it was given to draw on.
        """
        from uli_fast.report.figures import figure_of

        shown: Figure | Axes = figure_of(what, [self], path, grid=grid, ax=ax)
        return shown

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> Path:
        """Write one self-contained HTML page: verdict, tables, figures, data, caveats.

        Return where it is.
        """
        from uli_fast.results.comparison import Comparison

        return Comparison({self.learner.split("(")[0]: self}).report(path, title)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per replication and recorded round."""
        from uli_fast.report.tables import runs_frame

        return runs_frame(self)

    def __len__(self) -> int:
        return self.replications

    def __bool__(self) -> bool:
        return True

    @as_shown
    def _repr_html_(self) -> str:
        from uli_fast.report.notebook import runs_html

        return runs_html(self)

    def __repr__(self) -> str:
        return (
            f"Runs({self.learner} on {self.problem}, horizon={self.horizon:.6g}, "
            f"replications={self.replications}, engine={self.engine!r})"
        )

    @classmethod
    def joined(cls, parts: Sequence[Runs]) -> Runs:
        """Return runs of the same learner on the same problem as one, in the given order."""
        first = parts[0]
        values = {f.name: getattr(first, f.name) for f in fields(cls)}
        for name in first.row_names():
            arrays = [getattr(part, name) for part in parts]
            whole = all(array is not None for array in arrays)
            values[name] = stacked(arrays) if whole else None
        size = 0 if values["policies"] is None else values["policies"].size
        if size > LARGEST_POLICIES:
            values["policies"] = None
        spent = [part.tv_spent for part in parts]
        if any(array is not None for array in spent):
            zeros = (np.zeros(part.replications) for part in parts)
            pairs = zip(spent, zeros, strict=True)
            values["tv_spent"] = np.concatenate([z if x is None else x for x, z in pairs])
            values["tv_bound"] = float(values["tv_spent"].sum())
        values["elapsed"] = math.fsum(part.elapsed for part in parts)
        return cls(**values)

    def first(self, replications: int) -> Runs:
        """Return the first replications alone."""
        if replications >= self.replications:
            return self
        rows = {
            name: getattr(self, name)[:replications]
            for name in self.row_names()
            if getattr(self, name) is not None
        }
        if self.tv_spent is not None:
            spent = self.tv_spent[:replications]
            rows |= {"tv_spent": spent, "tv_bound": float(spent.sum())}
        return replace(self, **rows)

    def digest(self) -> str:
        """Return the SHA-256 of everything but the time that it took."""
        total = hashlib.sha256()
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name == "phase_work" and value is not None:
                value = value[:, :, :2]  # not its seconds
            if f.name in ("elapsed", "seconds"):
                continue
            if isinstance(value, np.ndarray):
                total.update(f"{f.name} {value.dtype} {value.shape}".encode())
                total.update(np.ascontiguousarray(value).tobytes())
            else:
                total.update(f"{f.name} {value!r}".encode())
        return total.hexdigest()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write manifest.json and .npy files into a new folder, all or nothing."""
        self.save_part(folder, {})

    def save_part(self, folder: str | os.PathLike[str], part_of: Mapping[str, Any]) -> None:
        """Write as ``save`` does, with what these runs are a part of."""
        storage.save(self, _check.path("folder", folder), part_of)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Runs:
        """Read what ``save`` wrote; anything missing or altered is a RunsFileError.

        A user's own bound is not kept: its worst ratios are, the function is not.
        """
        runs: Runs = storage.load(cls, _check.path("folder", folder))
        return runs
