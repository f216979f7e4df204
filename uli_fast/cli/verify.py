"""``uli verify``: the executable paper."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

    from uli_fast.verify import PaperCheck, VerifyRow

STYLES = {"holds": "green", "fails": "bold red", "illustration": "yellow"}


@click.command()
@click.option("--quick", is_flag=True, help="A minute instead of ten, once kernels are compiled.")
@click.option("--only", metavar="WORD", help="Only statements whose text or code has this word.")
@click.option(
    "--write",
    type=click.Path(path_type=Path),
    help="Put the rows between the markers of this page (docs/paper_map.md).",
)
def verify(quick: bool, only: str | None, write: Path | None) -> None:
    """Put every statement of the paper to the test; exit with 1 if one fails."""
    from rich.console import Console
    from rich.progress import Progress

    from uli_fast.verify import checks
    from uli_fast.verify import verify as run
    from uli_fast.verify.page import try_page, write_page

    if write is not None and only is not None:
        raise click.UsageError("--write needs all rows: leave out --only")
    if write is not None:
        try_page(write)  # before the wait, not after it
    chosen, console = checks(only), Console()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=len(chosen))

        def follow(check: PaperCheck, row: VerifyRow | None) -> None:
            bar.update(task, description=check.id)
            if row is not None:
                bar.advance(task)
                said = f"[{STYLES[row.verdict]}]{row.verdict:12}[/] {row.seconds:6.1f} s  {row.id}"
                console.print(said, highlight=False)

        rows = run(quick, only, follow)
    console.print(table_of(rows))
    console.print(summary(rows), highlight=False)
    if write is not None:
        write_page(write, chosen, rows, quick)
        console.print(f"written: {write}", markup=False, highlight=False)
    if any(row.verdict == "fails" for row in rows):
        raise SystemExit(1)


def table_of(rows: list[VerifyRow]) -> Table:
    """Return the rows for the terminal."""
    from rich.markup import escape
    from rich.table import Table

    table = Table("statement", "run", "measured", "verdict", show_lines=True)
    for row in rows:
        cells = (escape(text) for text in (row.statement, row.ran, row.measured))
        table.add_row(*cells, f"[{STYLES[row.verdict]}]{row.verdict}[/]")
    return table


def summary(rows: list[VerifyRow]) -> str:
    """Count the verdicts; illustrations prove nothing and are counted apart."""
    count = Counter(row.verdict for row in rows)
    seconds = sum(row.seconds for row in rows)
    return (
        f"{count['holds']} hold, {count['fails']} fail, {count['illustration']} illustrations, "
        f"{seconds:.0f} s"
    )
