"""Runs: what happened, exactly, and how it is kept on disk."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast import _check, metrics
from uli_fast._files import (
    flush,
    flush_folder,
    make_folder,
    open_regular,
    read_json,
    refused,
    write_text,
)
from uli_fast._runs_file import LARGEST_ARRAYS, check_runs, read_arrays
from uli_fast._typing import B1, F64, I8, I64, Drawing, Played
from uli_fast.errors import (
    ArgumentError,
    NoGuaranteeError,
    RunsFileError,
    UliError,
    UnsupportedError,
)
from uli_fast.guarantees import Guarantee

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table

SCHEMA = 1
# The policies played are kept up to this size.
LARGEST_POLICIES = 256 * 2**20
# Arrays with one row per replication; gaps too, where they are those of the policies played.
PER_REPLICATION = (
    "plays",
    "final_plays",
    "last_play",
    "eliminated_at",
    "recorded_regret",
    "event_held",
    "ratios",
    "block_phase",
    "block_first",
    "block_last",
    "block_gaps",
    "block_arms",
    "phase_work",
    "policies",
    "visits",
    "phase_rounds",
    "phase_facts",
    "seconds",
)


@dataclass(eq=False)
class Runs:
    """M replications of a learner on a problem, P recorded rounds, K arms.

    Everything the uniform last-iterate guarantee asks of a run is here, over all
    rounds and not over the recorded ones only.

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
    phases, event_held
        Phase by phase, where the learner has phases; whether all estimates were good enough:
        every interval or phase estimate that was made by the horizon held its mean. Its law
        is the same in both engines.
    """

    learner: str
    problem: str
    names: tuple[str, ...]
    horizon: int
    seed: int | None
    engine: Played
    gaps: F64 | None  # (K,), or (M, D) of the policies played; None where the truth is unknown
    rounds: I64  # (P,)
    plays: I64 | None  # (M, P, K) counts up to and including each recorded round
    final_plays: I64 | None  # (M, K) counts at the horizon
    last_play: I64 | None  # (M, K) last round each arm was played, 0 if never
    eliminated_at: I64 | None  # (M, K) the round whose reward removed the arm, 0 if never
    recorded_regret: F64 | None = None  # (M, P)
    guarantee: Guarantee | None = None
    baseline: bool = False  # a rival without a promise, held against the bounds of others
    event_held: B1 | None = None  # (M,) all confidence intervals held
    ratios: F64 | None = None  # (M,) worst ratio where F was followed round by round
    quotas: I64 | None = None  # plays per arm in phase 1, 2, ...
    phase_lengths: I64 | None = None  # rounds of phase 1, 2, ..., where they are fixed
    # On arm sets: blocks of rounds in which one arm is played, filled up with zeros.
    block_phase: I64 | None = None  # (M, B)
    block_first: I64 | None = None  # (M, B)
    block_last: I64 | None = None  # (M, B)
    block_gaps: F64 | None = None  # (M, B)
    block_arms: F64 | None = None  # (M, B, d)
    phase_work: F64 | None = None  # (M, phases, 3) oracle calls, swaps, seconds
    # On tabular MDPs, where the decisions are the D policies played, filled up with zeros.
    policies: I8 | None = None  # (M, D, H, S)
    visits: I64 | None = None  # (M, H, S, A)
    phase_rounds: I64 | None = None  # (M, phases, 2) first and last episode
    phase_facts: F64 | None = None  # (M, phases, 3) active policies, largest error, saturation
    delta: float = math.nan  # of the learner
    tv_bound: float = 0.0  # distance of the joint law of the runs from the exact one
    tv_spent: F64 | None = None  # (M,) of it, where it is positive
    elapsed: float = 0.0  # seconds, from the call to the result
    seconds: F64 | None = None  # (M,) of playing; None in files of versions before 0.7

    @property
    def replications(self) -> int:
        """Number of replications M."""
        return int(self._decisions()[0].shape[0])

    @property
    def speed(self) -> float:
        """Rounds per second of playing, of one thread; NaN where that was not measured.

        Compiling kernels, loading them and the set-up of a run are not in it, so that it is the
        same for a first call and a second one, for one thread and many.
        """
        if self.seconds is None:
            return math.nan
        return self.horizon * self.replications / max(float(self.seconds.sum()), 1e-9)

    @property
    def regret(self) -> F64:
        """Pseudo-regret at the recorded rounds, (M, P)."""
        if self.recorded_regret is None:
            raise UliError("the arms' means are unknown, so there is no regret; pass means=")
        return self.recorded_regret

    @cached_property
    def worst_ratio(self) -> F64:
        """The largest gap_t / F(delta, t) over every round t, (M,); NaN without F."""
        if self.ratios is not None:
            return self.ratios
        last, _ = self._decisions()
        return metrics.worst_ratio(last, self._known_gaps(), self.guarantee)

    @property
    def holds(self) -> B1:
        """Whether every round's gap stayed within F, (M,)."""
        if np.isnan(self.worst_ratio).any():
            raise NoGuaranteeError(
                f"{self.learner} has no F_ULI here; use worst_ratio_against(another guarantee)"
            )
        return self.worst_ratio <= 1.0

    def worst_ratio_against(self, guarantee: Guarantee) -> F64:
        """Return the largest gap_t / F(t) over every round t against a decreasing bound."""
        return metrics.worst_ratio(self._decisions()[0], self._known_gaps(), guarantee)

    def mistakes(self, eps: float) -> I64:
        """Return N_eps, the number of plays with a gap above eps, (M,)."""
        eps = _check.number("eps", eps)
        return metrics.mistakes(self._decisions()[1], self._known_gaps(), eps)

    def last_mistake(self, eps: float = 0.0) -> I64:
        """Return the last round with a gap above eps, 0 if none, (M,)."""
        eps = _check.number("eps", eps)
        return metrics.last_mistake(self._decisions()[0], self._known_gaps(), eps)

    def gap_from(self, rounds: I64) -> F64:
        """Return the largest gap played at or after each of the rounds, (M, P)."""
        return metrics.gap_from(self._decisions()[0], self._known_gaps(), rounds)

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
        gaps = self._known_gaps()
        if self.final_plays is None or gaps.ndim != 1:
            raise UnsupportedError("equal allocation is among finitely many arms")
        if by is None or by == self.horizon:
            return self.final_plays, gaps
        if self.plays is None or by not in self.rounds:
            raise ArgumentError("by", f"must be a round whose plays were recorded, got {by!r}")
        return self.plays[:, int(np.searchsorted(self.rounds, by))], gaps

    def final_regret(self) -> F64:
        """Return the pseudo-regret at the horizon, (M,)."""
        total: F64 = (self._decisions()[1] * self._known_gaps()).sum(axis=1)
        return total

    def coverage(self, level: float = metrics.LEVEL) -> metrics.Coverage:
        """Count the replications that broke the guarantee, against delta.

        ``level`` is that of the interval of the probability of a failure.
        """
        return metrics.coverage(self.holds, self.delta, _check.in_open_unit("level", level))

    @property
    def phases(self) -> list[list[Any]] | None:
        """Phase by phase for each replication, where the learner has phases."""
        if self.phase_rounds is not None:
            assert self.phase_facts is not None
            pairs = zip(self.phase_rounds, self.phase_facts, strict=True)
            return [metrics.policy_phases(*pair) for pair in pairs]
        if self.block_phase is not None:
            blocks = (self.block_first, self.block_last, self.block_gaps, self.block_arms)
            assert self.phase_work is not None
            each = zip(self.block_phase, *blocks, self.phase_work, strict=True)  # type: ignore[arg-type]
            return [metrics.set_phases(*one) for one in each]
        if self.eliminated_at is None:
            return None
        if self.quotas is not None:
            return [metrics.phases(row, self.quotas, self.horizon) for row in self.eliminated_at]
        if self.phase_lengths is None:
            return None
        lengths = self.phase_lengths
        return [metrics.fixed_phases(row, lengths, self.horizon) for row in self.eliminated_at]

    def table(self) -> Table:
        """Return a summary table for the terminal."""
        from uli_fast.report.tables import runs_table

        return runs_table([self])

    def plot(self, path: str | os.PathLike[str] | None = None, what: Drawing = "gap") -> Figure:
        """Draw the gap still to come under F, or the "regret", on log-log axes."""
        from uli_fast.report.figures import figure_of

        return figure_of(what, [self], path)

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Write one self-contained HTML page: verdict, tables, figures, data, caveats."""
        from uli_fast.compare import Comparison

        Comparison({self.learner.split("(")[0]: self}).report(path, title)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per replication and recorded round."""
        from uli_fast.report.tables import runs_frame

        return runs_frame(self)

    def _decisions(self) -> tuple[I64, I64]:
        """Return the last round and the plays of each decision, arms or blocks, (M, D)."""
        if self.block_last is not None:
            assert self.block_first is not None
            return self.block_last, np.where(
                self.block_last > 0, self.block_last - self.block_first + 1, 0
            )
        assert self.last_play is not None
        assert self.final_plays is not None
        return self.last_play, self.final_plays

    def _known_gaps(self) -> F64:
        if self.block_gaps is not None:
            return self.block_gaps
        if self.gaps is None:
            raise UliError("the arms' means are unknown, so there are no gaps; pass means=")
        return self.gaps

    def __repr__(self) -> str:
        return (
            f"Runs({self.learner} on {self.problem}, horizon={self.horizon:.6g}, "
            f"replications={self.replications}, engine={self.engine!r})"
        )

    def _rows(self) -> tuple[str, ...]:
        """Return the names of the arrays with one row per replication."""
        own_gaps = self.gaps is not None and self.gaps.ndim == 2
        return (*PER_REPLICATION, "gaps") if own_gaps else PER_REPLICATION

    @classmethod
    def joined(cls, parts: Sequence[Runs]) -> Runs:
        """Return runs of the same learner on the same problem as one, in the given order."""
        first = parts[0]
        values = {f.name: getattr(first, f.name) for f in fields(cls)}
        for name in first._rows():
            arrays = [getattr(part, name) for part in parts]
            whole = all(array is not None for array in arrays)
            values[name] = _stacked(arrays) if whole else None
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
            for name in self._rows()
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
        target = _check.path("folder", folder)
        with refused(target):
            if target.exists():
                raise ArgumentError("folder", f"{target} exists already")
            make_folder(target.parent)
            part = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
            try:
                self._write(part, part_of)
                part.chmod(0o755)
                part.rename(target)
                flush_folder(target.parent)
            except BaseException:
                shutil.rmtree(part, ignore_errors=True)
                raise

    def _write(self, folder: Path, part_of: Mapping[str, Any]) -> None:
        plain: dict[str, Any] = {"schema": SCHEMA, "versions": versions()}
        plain["part_of"] = dict(part_of)
        arrays: dict[str, dict[str, Any]] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                path = folder / f"{f.name}.npy"
                with path.open("wb") as file:
                    np.save(file, value, allow_pickle=False)
                    flush(file)
                arrays[f.name] = {
                    "sha256": _digest(path),
                    "dtype": str(value.dtype),
                    "shape": list(value.shape),
                }
            elif isinstance(value, Guarantee):
                plain[f.name] = value.to_dict() if value.proved else None
            else:
                plain[f.name] = value
        content = plain | {"arrays": arrays}
        text = json.dumps(content | {"sha256": _digest_of(content)}, indent=1)
        write_text(folder / "manifest.json", text)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Runs:
        """Read what ``save`` wrote; anything missing or altered is a RunsFileError.

        A user's own bound is not kept: its worst ratios are, the function is not.
        """
        source = _check.path("folder", folder)
        try:
            manifest = read_json(source / "manifest.json")
            if "cells" in manifest:
                raise RunsFileError(f"{source} is a study: experiments.Results.load reads it")
            if manifest.pop("sha256") != _digest_of(manifest):
                raise RunsFileError(f"{source}: the manifest has been altered")
            if manifest["schema"] != SCHEMA:
                raise RunsFileError(f"{source} has schema {manifest['schema']}, not {SCHEMA}")
            values = read_arrays(source, manifest)
            for f in fields(cls):
                if f.name not in values and f.name in manifest:
                    values[f.name] = manifest[f.name]
            values["names"] = tuple(values["names"])
            if values["guarantee"] is not None:
                values["guarantee"] = Guarantee.from_dict(values["guarantee"])
            runs = cls(**values)
            check_runs(runs)
            return runs
        except MemoryError:
            raise RunsFileError(f"{source} needs more memory than there is") from None
        except OSError as problem:
            said = problem.strerror or problem
            raise RunsFileError(f"{source} does not hold complete results: {said}") from problem
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as problem:
            raise RunsFileError(f"{source} does not hold complete results: {problem}") from problem


def _stacked(arrays: Sequence[Any]) -> Any:
    """Return arrays below each other, the shorter ones filled up with zeros."""
    shape = tuple(max(sizes) for sizes in zip(*(a.shape[1:] for a in arrays), strict=True))
    result = np.zeros((sum(len(a) for a in arrays), *shape), arrays[0].dtype)
    at = 0
    for array in arrays:
        result[(slice(at, at + len(array)), *map(slice, array.shape[1:]))] = array
        at += len(array)
    return result


def versions() -> dict[str, str]:
    """Return the versions that shape a result."""
    import sys

    import numba
    import scipy

    import uli_fast

    return {
        "uli_fast": uli_fast.__version__,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scipy": scipy.__version__,
    }


def _digest_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    with open_regular(path, LARGEST_ARRAYS) as file:  # larger ones could not be loaded
        return hashlib.file_digest(file, "sha256").hexdigest()
