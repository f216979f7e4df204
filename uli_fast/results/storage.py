"""Runs on disk: a folder with manifest.json and .npy files, whole or not there."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from uli_fast._support.files import (
    flush,
    flush_folder,
    make_folder,
    open_regular,
    read_json,
    refused,
    write_text,
)
from uli_fast._support.versions import other_format, versions
from uli_fast.errors import ArgumentError, RunsFileError
from uli_fast.guarantees import Guarantee
from uli_fast.results.soundness import LARGEST_ARRAYS, check_runs, read_arrays

SCHEMA = 2


def save(runs: Any, target: Path, part_of: Mapping[str, Any]) -> None:
    """Write runs into a new folder, all or nothing, with what they are a part of."""
    with refused(target):
        if target.exists():
            raise ArgumentError("folder", f"{target} exists already")
        make_folder(target.parent)
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            _write(runs, part, part_of)
            part.chmod(0o755)
            part.rename(target)
            flush_folder(target.parent)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def _write(runs: Any, folder: Path, part_of: Mapping[str, Any]) -> None:
    plain: dict[str, Any] = {"schema": SCHEMA, "versions": versions()}
    plain["part_of"] = dict(part_of)
    arrays: dict[str, dict[str, Any]] = {}
    for f in fields(runs):
        value = getattr(runs, f.name)
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


def load(kind: Any, source: Path) -> Any:
    """Return runs, of the class ``kind``, from a folder; refuse what is missing or altered."""
    try:
        manifest = read_json(source / "manifest.json")
        if "cells" in manifest:
            raise RunsFileError(f"{source} is an experiment: experiments.Results.load reads it")
        if manifest.pop("sha256") != _digest_of(manifest):
            raise RunsFileError(f"{source}: the manifest has been altered")
        if manifest["schema"] != SCHEMA:
            why = other_format("schema", manifest["schema"], SCHEMA, "run it again")
            raise RunsFileError(f"{source} {why}")
        values = read_arrays(source, manifest)
        for f in fields(kind):
            if f.name not in values and f.name in manifest:
                values[f.name] = manifest[f.name]
        values["names"] = tuple(values["names"])
        if values["guarantee"] is not None:
            values["guarantee"] = Guarantee.from_dict(values["guarantee"])
        runs = kind(**values)
        check_runs(runs)
        return runs
    except MemoryError:
        raise RunsFileError(f"{source} needs more memory than there is") from None
    except OSError as problem:
        said = problem.strerror or problem
        raise RunsFileError(f"{source} does not hold complete results: {said}") from problem
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as problem:
        raise RunsFileError(f"{source} does not hold complete results: {problem}") from problem


def _digest_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    with open_regular(path, LARGEST_ARRAYS) as file:  # larger ones could not be loaded
        return hashlib.file_digest(file, "sha256").hexdigest()
