"""The rows as a table of docs/paper_map.md: statement, code, tests, figure, verdict."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from uli_fast._support.files import read_regular, refused, write_text
from uli_fast.errors import ArgumentError
from uli_fast.verify import PaperCheck, VerifyRow

BEGIN, END = "<!-- uli verify: begin -->", "<!-- uli verify: end -->"
LARGEST_PAGE = 16 * 2**20  # bytes
HEAD = ("id", "statement", "code (in `uli_fast/`)", "tests", "run", "measured", "verdict")


def entry(check: PaperCheck) -> str:
    """Return the cells of a statement that do not depend on a run."""
    code, tests = (", ".join(f"`{name}`" for name in names) for names in (check.code, check.tests))
    return f"| `{check.id}` | {_cell(check.statement)} | {code} | {tests} |"


def table(checks: Sequence[PaperCheck], rows: Sequence[VerifyRow]) -> str:
    """Return the table of all statements."""
    head = f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}"
    lines = (
        f"{entry(check)} {_cell(row.ran)} | {_cell(row.measured)} | {row.verdict} |"
        for check, row in zip(checks, rows, strict=True)
    )
    return "\n".join((head, *lines))


def read_page(page: Path) -> tuple[str, str, str]:
    """Return what is before, between and after the markers of a page."""
    try:
        text = read_regular(page, LARGEST_PAGE).decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ArgumentError("write", f"{page} cannot be read: {problem}") from problem
    before, begin, rest = text.partition(BEGIN)
    between, end, after = rest.partition(END)
    if not (begin and end):
        raise ArgumentError("write", f"{page} has no lines {BEGIN} and {END}")
    return before, between, after


def try_page(page: Path) -> None:
    """Refuse a page that cannot be read, or replaced in its folder, before rows are run for it."""
    read_page(page)
    with refused(page), tempfile.TemporaryFile(dir=page.parent):
        pass


def write_page(
    page: Path, checks: Sequence[PaperCheck], rows: Sequence[VerifyRow], quick: bool
) -> None:
    """Replace the table between the markers; nothing else changes."""
    before, _, after = read_page(page)
    how = "`uli verify --quick`" if quick else "`uli verify`"
    said = f"Written by {how}: {len(rows)} statements."
    with refused(page):
        write_text(page, f"{before}{BEGIN}\n{said}\n\n{table(checks, rows)}\n{END}{after}")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")
