"""Paths given on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class FilePath(click.Path):
    """A path that is not empty: the empty one would be the current folder by accident."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a Path."""
        if value == "":
            self.fail("must not be empty", param, ctx)
        return super().convert(value, param, ctx)
