"""The results of an experiment: a folder with a manifest and the parts of every cell."""

from __future__ import annotations

import hashlib
import json
import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uli_fast import _check
from uli_fast._support.files import read_json, refused, write_text
from uli_fast._support.versions import other_format, versions
from uli_fast.errors import MissingExtraError, ResultsError, RunsFileError
from uli_fast.experiments.experiment_file import ExperimentFile
from uli_fast.experiments.shards import Shard
from uli_fast.results.comparison import Comparison
from uli_fast.results.parts import Store
from uli_fast.results.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 2


def write_manifest(
    folder: Path, file: ExperimentFile, replications: int, shard: Shard | None = None
) -> None:
    """Write what the folder holds: the experiment file itself, versions, cells."""
    cells = [
        {"id": cell.id, "problem": cell.problem, "learner": cell.learner, "spec": dict(cell.spec)}
        for cell in file.cells
    ]
    content = {
        "schema": SCHEMA,
        "title": file.title,
        "replications": replications,
        "versions": versions(),
        "study": file.text,
        "cells": cells,
    }
    if shard is not None:
        content["shard"] = list(shard)
    write_text(folder / "manifest.json", json.dumps(content, indent=1))


def cell_folder(folder: Path, cell: str) -> Path:
    """Return where the parts of a cell are kept; a link, which leads elsewhere, is refused."""
    cells = folder / "cells"
    for place in (cells, cells / cell):
        if os.path.islink(place):
            raise ResultsError(f"{place} is a symbolic link, which is not followed: remove it")
    return cells / cell


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """What a folder of results holds."""

    title: str
    replications: int
    comparisons: Mapping[str, Comparison]  # by problem
    provenance: Mapping[str, Any]
    # Replications that are not there yet, by problem and learner.
    missing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    # Numbers of the replications that are, by problem and learner.
    numbers: Mapping[str, Mapping[str, list[int]]] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Results:
        """Read a folder; anything missing, altered or of another kind is a RunsFileError.

        What the disk refuses is a ResultsError.
        """
        source = _check.path("folder", folder)
        manifest = read_manifest(source)
        M = manifest["replications"]
        found: dict[str, dict[str, Runs]] = {}
        missing: dict[str, dict[str, int]] = {}
        numbers: dict[str, dict[str, list[int]]] = {}
        for cell in manifest["cells"]:
            store = Store(cell_folder(source, cell["id"]))
            left = sum(count for _, count in store.missing(M))
            if left:
                missing.setdefault(cell["problem"], {})[cell["learner"]] = left
            if left < M:
                found.setdefault(cell["problem"], {})[cell["learner"]] = store.load(M)
                numbers.setdefault(cell["problem"], {})[cell["learner"]] = store.numbers(M)
        if not found:
            raise RunsFileError(f"{source} holds no results yet")
        provenance = {key: manifest[key] for key in ("study", "versions")}
        if "shard" in manifest:
            provenance["shard"] = str(shard_of(manifest))
        if missing:
            provenance["replications still missing"] = {
                f"{learner} on {problem}": left
                for problem, each in missing.items()
                for learner, left in each.items()
            }
        comparisons = {problem: Comparison(runs) for problem, runs in found.items()}
        return cls(manifest["title"], M, comparisons, provenance, missing, numbers)

    def __repr__(self) -> str:
        """Name the experiment and its problems; the runs are in ``comparisons``."""
        problems = reprlib.repr(list(self.comparisons))
        kept = sum(len(n) for each in self.numbers.values() for n in each.values())
        left = sum(n for each in self.missing.values() for n in each.values())
        runs = f"{kept} runs" if self.complete else f"{kept} of {kept + left} runs"
        return f"Results({self.title!r}, problems={problems}, {runs})"

    @property
    def complete(self) -> bool:
        """Whether every replication of every cell is there."""
        return not self.missing

    def digest(self) -> str:
        """Return the SHA-256 of all arrays: the same however the experiment was run."""
        total = hashlib.sha256()
        for problem, comparison in sorted(self.comparisons.items()):
            for learner, runs in sorted(comparison.runs.items()):
                total.update(f"{problem}/{learner}/{runs.digest()}\n".encode())
        return total.hexdigest()

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per problem, learner and replication."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("to_pandas needs pandas: pip install pandas") from None
        frames = []
        for problem, comparison in self.comparisons.items():
            for learner, runs in comparison.runs.items():
                columns = {
                    "problem": problem,
                    "learner": learner,
                    "replication": self.numbers[problem][learner],
                    "regret": runs.final_regret(),
                    "last_mistake": runs.last_mistake(),
                    "worst_ratio": runs.worst_ratio,
                }
                frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`to_pandas` as a Parquet file."""
        need_parquet()
        frame = self.to_pandas()
        target = _check.path("path", path)
        part = target.with_name(f".{target.name}-{os.getpid()}")
        with refused(target.parent):
            try:
                frame.to_parquet(part, index=False)
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)


def need_parquet() -> None:
    """Refuse to go on without what writes a Parquet file."""
    for name in ("pandas", "pyarrow"):
        if find_spec(name) is None:
            raise MissingExtraError(f"to_parquet needs {name}: pip install {name}")


def kept_in(folder: Path) -> tuple[int, int]:
    """Return how many replications an experiment, or its shard, has kept, and how many it wants."""
    manifest = read_manifest(folder)
    cells = manifest["cells"]
    first, end = (shard_of(manifest) or Shard(1, 1)).share(manifest["replications"])
    left = sum(n for c in cells for _, n in Store(cell_folder(folder, c["id"])).missing(end, first))
    return (end - first) * len(cells) - left, (end - first) * len(cells)


def shard_of(manifest: Mapping[str, Any]) -> Shard | None:
    """Return which shard a manifest is of, None if it is of a whole experiment."""
    return Shard(*_check.shard("shard", manifest["shard"])) if "shard" in manifest else None


def has_manifest(folder: Path) -> bool:
    """Return whether a folder holds an experiment."""
    with refused(folder):
        return (folder / "manifest.json").exists()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what an experiment's manifest says; any other file is a RunsFileError."""
    path = folder / "manifest.json"
    if not has_manifest(folder):
        raise RunsFileError(f"{folder} does not hold an experiment's results (no manifest.json)")
    manifest = read_json(path)
    try:
        if manifest["schema"] != SCHEMA:
            said = other_format("schema", manifest["schema"], SCHEMA, "run it again")
            raise RunsFileError(f"{folder} {said}")
        cells = [tuple(c[key] for key in ("id", "problem", "learner")) for c in manifest["cells"]]
        if not all(isinstance(word, str) for cell in cells for word in (*cell, manifest["title"])):
            raise TypeError
        for named in ({cell[0] for cell in cells}, {cell[1:] for cell in cells}):
            if len(named) < len(cells):
                raise RunsFileError(f"{path} names a cell twice")
        if any(Path(id).name != id or id in ("", "..") for id, _, _ in cells):
            raise RunsFileError(f"{path} names folders outside of it")
        if not isinstance(manifest["study"], str) or not isinstance(manifest["versions"], dict):
            raise TypeError
        M = _check.replications("replications", manifest["replications"])
        (shard_of(manifest) or Shard(1, 1)).share(M)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RunsFileError(f"{path} is not the manifest of an experiment") from None
    return dict(manifest)
