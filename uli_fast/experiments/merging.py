"""Merging shards into one experiment: the folder that a run of the whole would have made.

Every cell becomes one part, so that the files are the same for any number of shards, and
whatever parts they were run in.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from uli_fast import _check
from uli_fast._support.files import flush_folder, refused
from uli_fast._support.versions import versions
from uli_fast.errors import ArgumentError, ResultsError, RunsFileError, ShardsError
from uli_fast.experiments.experiment_file import ExperimentCell, ExperimentFile
from uli_fast.experiments.results import (
    Results,
    cell_folder,
    has_manifest,
    read_manifest,
    shard_of,
    write_manifest,
)
from uli_fast.experiments.shards import Shard
from uli_fast.results.parts import Store, locked, refuse_strangers
from uli_fast.results.runs import Runs

# What may be in the folder already: what a merge that was killed has left.
OWN = r"\.lock|\.merged-.*|\.manifest\.json-.*"


class _Source(NamedTuple):
    """The folder of a shard, or of a whole experiment: shard 1 of 1."""

    folder: Path
    manifest: dict[str, Any]
    shard: Shard

    @property
    def share(self) -> tuple[int, int]:
        return self.shard.share(self.manifest["replications"])


def merge(folders: Iterable[str | os.PathLike[str]], out: str | os.PathLike[str]) -> Results:
    """Join the shards of an experiment into a new folder and return its results.

    All shards must be there, once each, finished, of the same experiment file and of the versions
    that run now; otherwise a ShardsError says which is not. The shards are left as they are. The
    folder of a whole experiment is its own only shard: many small parts become one per cell.
    """
    target = _check.path("out", out)
    sources = _ordered([_source(path) for path in _paths(folders)])
    file, M = _experiment(sources), sources[0].manifest["replications"]
    for source in sources:
        _finished(source, file.cells)
    if has_manifest(target):
        raise ResultsError(f"{target} holds results already; use a new folder")
    refuse_strangers(target, OWN)
    with locked(target), refused(target):
        for left in target.glob(".merged-*"):
            shutil.rmtree(left, ignore_errors=True)
        _write(target, sources, file.cells)
        write_manifest(target, file, M)
    return Results.load(target)


def _paths(folders: Any) -> list[Path]:
    if isinstance(folders, str | bytes | os.PathLike) or not isinstance(folders, Iterable):
        raise ArgumentError("folders", f"must be a list of folders, got {folders!r}")
    paths = [_check.path("folders", folder) for folder in folders]
    if not paths:
        raise ArgumentError("folders", "must name at least one folder")
    return paths


def _source(folder: Path) -> _Source:
    manifest = read_manifest(folder)
    return _Source(folder, manifest, shard_of(manifest) or Shard(1, 1))


def _ordered(sources: Sequence[_Source]) -> list[_Source]:
    """Return the shards in order; refuse any that is missing, duplicated or split otherwise."""
    first, found = sources[0], dict[int, _Source]()
    for one in sources:
        if one.shard.of != first.shard.of:
            raise ShardsError(
                f"{one.folder} is shard {one.shard}, {first.folder} is shard {first.shard}"
            )
        if one.shard.number in found:
            there = found[one.shard.number].folder
            raise ShardsError(f"shard {one.shard} appears twice: {there} and {one.folder}")
        found[one.shard.number] = one
    n = first.shard.of
    missing = [i for i in range(1, n + 1) if i not in found] if len(found) < n else []
    if missing:
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        which = ", ".join(f"{i}/{n}" for i in missing[:10])
        raise ShardsError(f"missing: shard {which}{more}")
    return [found[i] for i in range(1, n + 1)]


def _experiment(sources: Sequence[_Source]) -> ExperimentFile:
    """Return the experiment file that all shards have in common; refuse shards of others."""
    first = sources[0]
    if first.manifest["versions"] != versions():
        raise ShardsError(f"{first.folder}: {_older(first.manifest['versions'])}")
    for one in sources[1:]:
        for key in ("replications", "versions", "study", "title", "cells"):
            if one.manifest[key] != first.manifest[key]:
                said = "are not those" if key.endswith("s") else "is not that"
                what = "experiment" if key == "study" else key  # the key of 0.5.0 and since
                raise ShardsError(f"{one.folder}: its {what} {said} of {first.folder}")
    file = ExperimentFile.parse(first.manifest["study"], first.manifest["title"])
    if [cell.id for cell in file.cells] != [cell["id"] for cell in first.manifest["cells"]]:
        raise RunsFileError(f"{first.folder}: its cells are not those of its experiment file")
    return file


def _older(made: Any) -> str:
    """Say by which other versions results were made."""
    there = made if isinstance(made, dict) else {}
    others = (x for x in versions().items() if there.get(x[0]) != x[1])
    said = ", ".join(f"made by {k} {there.get(k)}, this is {v}" for k, v in others)
    return said or "made by other versions"


def _finished(source: _Source, cells: Iterable[ExperimentCell]) -> None:
    """Refuse a shard with something missing, or with replications of other shards."""
    begin, end = source.share
    for cell in cells:
        store = Store.reading(cell_folder(source.folder, cell.id), cell.spec)
        for first, count, path in store.parts():
            if first < begin or first + count > end:
                raise ShardsError(
                    f"{path} is not of shard {source.shard}, replications {begin} to {end - 1}"
                )
        left = sum(count for _, count in store.missing(end, begin))
        if left:
            raise ShardsError(
                f"{source.folder}, shard {source.shard}, is not finished: "
                f"{left} of {end - begin} replications of {cell.id} missing; resume it"
            )


def _write(target: Path, sources: Sequence[_Source], cells: Iterable[ExperimentCell]) -> None:
    """Write the cells elsewhere in the folder, and give them their name once they are whole."""
    part = Path(tempfile.mkdtemp(prefix=".merged-", dir=target))
    try:
        for cell in cells:
            runs = (r for s in sources for r in Store(cell_folder(s.folder, cell.id)).each())
            Store.writing(part / cell.id, cell.spec).add(0, Runs.joined(list(runs)))
        part.chmod(0o755)
        part.rename(target / "cells")
        flush_folder(target)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
