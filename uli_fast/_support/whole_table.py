"""Tables for the terminal that never cut a number, however narrow it is."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from io import StringIO
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

# Characters between two columns, and the least that names are wrapped to.
BETWEEN, LEAST_NAME = 2, 10
# Columns of what ``print`` shows.
PRINTED = 100


class WholeTable(Table):
    """Names in the first column, numbers in the others.

    Where the terminal is too narrow, headers and names are wrapped; then the columns are
    shown in several tables, one below the other.
    """

    def __init__(self, title: str, headers: Sequence[str]) -> None:
        super().__init__(
            title=Text(title),
            title_justify="left",
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, BETWEEN - 1, 0, 0),
        )
        for i, header in enumerate(headers):
            justify: Any = "right" if i else "left"
            self.add_column(header, justify=justify, overflow="fold")

    def __str__(self) -> str:
        """Return what a terminal would show, for ``print``."""
        text = StringIO()
        Console(width=PRINTED, file=text, color_system=None).print(self)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw as many tables as it takes."""
        names, *numbers = self.columns
        room, name = options.max_width, _longest([str(names.header), *map(str, names.cells)])
        whole = [_longest([str(x.header), *map(str, x.cells)]) for x in numbers]
        if name + sum(whole) + BETWEEN * len(whole) <= room:
            yield from super().__rich_console__(console, options)
            return
        least = [_longest([*str(x.header).split(), *map(str, x.cells)]) for x in numbers]
        if self.title:
            yield Text(str(self.title), "table.title")
        for group in _groups(least, room - min(name, LEAST_NAME)):
            left = room - sum(least[j] + BETWEEN for j in group)
            part = copy(self)
            part.title = part.caption = None  # they may be wider than a part
            part.columns = [
                replace(names, width=max(1, min(name, left))),
                *(replace(numbers[j], width=least[j]) for j in group),
            ]
            yield from Table.__rich_console__(part, console, options)
        if self.caption:
            yield Text(str(self.caption), "table.caption")


def _longest(texts: Sequence[str]) -> int:
    return max(cell_len(line) for text in texts for line in text.split("\n"))


def _groups(widths: Sequence[int], room: int) -> list[list[int]]:
    """Deal columns to tables, in order, each with as many as there is room for."""
    groups: list[list[int]] = [[]]
    for i, width in enumerate(widths):
        if groups[-1] and sum(widths[j] + BETWEEN for j in groups[-1]) + width + BETWEEN > room:
            groups.append([])
        groups[-1].append(i)
    return groups
