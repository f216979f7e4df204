"""Small tables for notebooks: escaped text, no script, nothing from elsewhere, no colours.

What shows itself in a notebook gives rows of text. It never raises, as nobody asked it to be shown.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from uli_fast._support.text import label

MOST_ROWS, LONGEST_CELL = 20, 300
# Lines in the middle between black and white are seen on either.
_LINE = "1px solid rgba(128,128,128,0.4)"
_CELL = "text-align:left;vertical-align:top;padding:0.15em 1em 0.15em 0;font-weight:normal"

_Shown = TypeVar("_Shown")


def facts(title: str, rows: Iterable[tuple[str, Any]], note: str = "") -> str:
    """Return a table of names and what they are."""
    body = "".join(_row((name, value), f"{_CELL};opacity:0.7") for name, value in rows)
    return _table(title, body, note)


def grid(title: str, headers: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "") -> str:
    """Return a table with a line per row, the first ones if there are many."""
    head = "".join(f'<th style="{_CELL};opacity:0.7">{_text(x)}</th>' for x in headers)
    body = "".join(_row(row, _CELL) for row in rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        body += _row((f"and {len(rows) - MOST_ROWS} more",), _CELL)
    return _table(title, f'<tr style="border-bottom:{_LINE}">{head}</tr>{body}', note)


def listing(names: Sequence[Any], most: int = 8) -> str:
    """Return names in a line, the first ones if there are many."""
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def as_shown(make: Callable[[_Shown], str]) -> Callable[[_Shown], str]:
    """Turn a method into one that never raises: then the object's repr is shown, and the reason."""

    @functools.wraps(make)
    def show(self: _Shown) -> str:
        try:
            return make(self)
        except Exception as problem:  # whatever it is, a cell must not end in it
            return facts(type(self).__name__, [("shown as", _safe(self)), ("because", problem)])

    return show


def _table(title: str, body: str, note: str) -> str:
    line = f'<div style="opacity:0.7">{_text(note)}</div>' if note else ""
    return (
        f'<div class="uli-fast"><div style="font-weight:bold">{_text(title)}</div>'
        f'<table style="border-collapse:collapse;margin:0.3em 0">{body}</table>{line}</div>'
    )


def _row(cells: Sequence[Any], first: str) -> str:
    styles = (first, *[_CELL] * (len(cells) - 1))
    both = zip(cells, styles, strict=True)
    return "<tr>" + "".join(f'<td style="{style}">{_text(x)}</td>' for x, style in both) + "</tr>"


def _text(value: Any) -> str:
    return html.escape(label(_safe(value), LONGEST_CELL))


def _safe(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return f"a {type(value).__name__}"
