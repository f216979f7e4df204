"""Checks of paths and files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from uli_fast.errors import ArgumentError


def path(name: str, value: Any) -> Path:
    """Return a path; the empty one would be the current folder by accident."""
    try:
        given = os.fspath(value)
    except Exception:  # whatever an object raises when asked for its path
        raise ArgumentError(name, f"must be a path, got {value!r}") from None
    if not isinstance(given, str) or not given or "\0" in given:
        raise ArgumentError(name, f"must be a path that is not empty, got {value!r}")
    return Path(given)


def file(name: str, value: Any) -> Path:
    """Return the path of a file, existing or not; ~ is the home folder."""
    given = path(name, value)
    try:
        result = given.expanduser()
        folder = result.is_dir()
        special = not folder and result.exists() and not result.is_file()
    except RuntimeError:  # no such user
        raise ArgumentError(name, f"names a user without a home folder, got {value!r}") from None
    except PermissionError:
        return result  # reading it will say so
    except (OSError, ValueError) as problem:
        said = getattr(problem, "strerror", None) or problem
        short = str(given) if len(str(given)) <= 200 else f"{str(given)[:200]}..."
        raise ArgumentError(name, f"cannot be a file: {said}: {short!r}") from None
    if folder:
        raise ArgumentError(name, f"must be a file, {result} is a folder")
    if special:  # a pipe keeps whoever opens it waiting
        raise ArgumentError(name, f"must be a regular file, {result} is a device or a pipe")
    return result


def page(name: str, value: Any) -> None:
    """Refuse to write a page, which is HTML, under the name of something else."""
    suffix = Path(value).suffix if isinstance(value, str | Path) else ""
    if suffix.lower() not in ("", ".html", ".htm"):
        raise ArgumentError(name, f"must end in .html, which the page is; got {str(value)!r}")


def not_the_study(name: str, target: Path, study: Any) -> None:
    """Refuse to write over the file of a study, its log or its lock, by whatever name."""
    if not isinstance(study, Path):  # in a database, or nowhere
        return
    own = (study, *(Path(f"{os.path.realpath(study)}-{x}") for x in ("wal", "lock")))
    try:
        same = any(os.path.realpath(target) == os.path.realpath(x) for x in own)
        same = same or (target.exists() and any(x.exists() and x.samefile(target) for x in own))
    except (OSError, ValueError) as problem:
        raise ArgumentError(name, f"cannot be written: {problem}") from None
    if same:
        raise ArgumentError(name, f"must not be the study's own file, got {str(target)!r}")
