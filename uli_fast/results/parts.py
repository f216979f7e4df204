"""Parts of a batch of replications on disk: written whole or not at all, joined when read.

A part is a folder of Runs under the number of its first replication. What a replication is
depends on its number alone, so that parts of any size make the same whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from uli_fast._check import MOST_REPLICATIONS
from uli_fast._support.files import lock, make_folder, open_lock, read_json, refused, write_text
from uli_fast._support.versions import versions
from uli_fast.errors import ResultsError, RunsFileError
from uli_fast.results.runs import Runs

PART = re.compile(r"part-(\d+)-(\d+)")


class Store:
    """The parts of one batch; ``identity`` is what all of them must have in common."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def writing(cls, folder: Path, identity: Mapping[str, Any]) -> Store:
        """Create the folder, or check that it holds parts of the same."""
        store = cls(folder)
        store.create({"identity": dict(identity), "versions": versions()})
        return store

    @classmethod
    def reading(cls, folder: Path, identity: Mapping[str, Any]) -> Store:
        """Check that a folder holds parts of this, of the versions that run now."""
        store = cls(folder)
        store.must_agree({"identity": dict(identity), "versions": versions()})
        return store

    def create(self, about_now: dict[str, Any]) -> None:
        """Write what the folder holds, or check that it holds the same."""
        with refused(self.folder):
            make_folder(self.folder)
            for left in self.folder.glob(".part-*"):  # of a process that was killed
                shutil.rmtree(left, ignore_errors=True)
            for file in self.folder.glob(".about.json-*"):
                file.unlink(missing_ok=True)
            about = self.folder / "about.json"
            if not about.exists():
                write_text(about, json.dumps(about_now, indent=1, sort_keys=True))
                return
        self.must_agree(about_now)

    def must_agree(self, about_now: dict[str, Any]) -> None:
        """Refuse a folder of other results."""
        there = read_json(self.folder / "about.json")
        here = json.loads(json.dumps(about_now))
        if there != here:
            difference = " and ".join(_differences(there, here))
            raise ResultsError(f"{self.folder} holds other results: {difference}; use a new folder")

    def parts(self) -> list[tuple[int, int, Path]]:
        """Return first replication, number and folder of every part, in order."""
        found = []
        with refused(self.folder):
            paths = list(self.folder.iterdir()) if self.folder.is_dir() else []
        for path in paths:
            name = PART.fullmatch(path.name)
            if name:
                found.append((int(name[1]), int(name[2]), path))
                if found[-1][0] + found[-1][1] > MOST_REPLICATIONS or not found[-1][1]:
                    raise ResultsError(f"{path} is not a part: there are fewer; remove it")
        found.sort()
        for (a, n, path), (b, _, _) in itertools.pairwise(found):
            if a + n > b:
                raise ResultsError(f"{path} overlaps the next part; remove one of them")
        return found

    def missing(self, end: int, begin: int = 0) -> list[tuple[int, int]]:
        """Return first replication and number of what is still to be run before the end."""
        gaps, at = [], begin
        for first, count, _ in self.parts():
            if first > at:
                gaps.append((at, min(first, end) - at))
            at = max(at, first + count)
        if at < end:
            gaps.append((at, end - at))
        return [(first, count) for first, count in gaps if count > 0]

    def add(self, first: int, runs: Runs) -> None:
        """Write a part."""
        runs.save_part(self.folder / f"part-{first}-{runs.replications}", self._part_of(first))

    def _part_of(self, first: int) -> dict[str, Any]:
        """Return what a part is bound to: the batch, and the number of its first replication."""
        about = read_json(self.folder / "about.json")
        text = json.dumps(about, sort_keys=True)
        return {"batch": hashlib.sha256(text.encode()).hexdigest(), "first": first}

    def numbers(self, replications: int) -> list[int]:
        """Return the numbers of the replications that are there, in order."""
        return [
            n
            for first, count, _ in self.parts()
            for n in range(first, min(first + count, replications))
        ]

    def load(self, replications: int | None = None) -> Runs:
        """Return all parts as one, in the order of replications, or the first of them."""
        parts = self.parts()
        if replications is not None:  # parts beyond belong to a larger experiment
            parts = [part for part in parts if part[0] < replications]
        if not parts:
            raise RunsFileError(f"{self.folder} holds no results yet")
        joined = self._joined([self._part(*part) for part in parts])
        if replications is None:
            return joined
        first, count, _ = parts[-1]
        return joined.first(joined.replications - max(0, first + count - replications))

    def _joined(self, parts: list[Runs]) -> Runs:
        """Join parts that belong together: what is the same for all replications is."""
        for part in parts[1:]:
            about = ("names", "horizon", "seed", "engine")
            same = all(getattr(part, name) == getattr(parts[0], name) for name in about)
            if not same or not np.array_equal(part.rounds, parts[0].rounds):
                raise RunsFileError(f"{self.folder} holds parts of different runs")
        try:
            return Runs.joined(parts)
        except ValueError:
            raise RunsFileError(f"{self.folder} holds parts of different shapes") from None
        except MemoryError:
            raise RunsFileError(f"{self.folder} needs more memory than there is") from None

    def each(self) -> list[Runs]:
        """Return all parts, in order."""
        return [self._part(*part) for part in self.parts()]

    def _part(self, first: int, count: int, path: Path) -> Runs:
        expected = self._part_of(first)
        try:
            runs = Runs.load(path)
            part_of = read_json(path / "manifest.json").get("part_of")
            if part_of != expected or runs.replications != count:
                raise RunsFileError(f"{path} is a part of something else")
            return runs
        except RunsFileError as problem:
            raise RunsFileError(
                f"{problem}; to have these replications run again, remove {path} and resume"
            ) from None


def refuse_strangers(folder: Path, own: str) -> None:
    """Refuse a folder that is in use for something else; ``own`` matches what may be there."""
    with refused(folder):
        if not folder.is_dir():
            return
        others = sorted(x.name for x in folder.iterdir() if not re.fullmatch(own, x.name))
    if others:
        raise ResultsError(
            f"{folder} holds something else ({others[0]!r}); use a new folder or an empty one"
        )


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder of results."""
    with refused(folder):
        make_folder(folder)
        handle = open_lock(folder / ".lock")
    try:
        with refused(folder):
            mine = lock(handle)
        if not mine:
            raise ResultsError(f"{folder} is being written to by another process")
        yield
    finally:
        os.close(handle)


def _differences(there: Any, here: Mapping[str, Any]) -> Iterator[str]:
    """Say where two descriptions differ."""
    for key in ("identity", "versions"):
        a, b = there.get(key) if isinstance(there, dict) else None, here[key]
        if not isinstance(a, dict):
            a = {}
        for name in sorted({*a, *b}):
            if a.get(name) != b.get(name):
                shown = name.removesuffix("_mark")
                if shown == name:
                    yield f"{name} was {_short(a.get(name))}, is {_short(b.get(name))}"
                elif a.get(shown) == b.get(shown):  # what a reader knows it by is the same
                    yield (
                        f"the code of the {shown}, or its state, differs (of an object what "
                        "__getstate__ returns counts)"
                    )


def _short(value: Any) -> str:
    if value is None or value == {}:
        return "none"
    found = value
    if isinstance(value, dict):
        found = ", ".join(f"{k} {x}" for k, x in sorted(value.items()))
    return str(found)[:100]
