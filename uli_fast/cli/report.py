"""``uli report DIR``: the results of an experiment as one page."""

from __future__ import annotations

from pathlib import Path

import click

from uli_fast.cli._paths import FilePath


@click.command()
@click.argument("folder", type=FilePath())
@click.option("--out", type=FilePath(), help="The page; by default in FOLDER.")
def report(folder: Path, out: Path | None) -> None:
    """Write the results in FOLDER as one HTML page that needs nothing else."""
    from uli_fast.experiments import Results
    from uli_fast.report.incomplete import incomplete
    from uli_fast.report.page import write_report

    results = Results.load(folder)
    page = out or folder / "report.html"
    write_report(results.comparisons, page, results.title, results.provenance, results.missing)
    said = incomplete({name: c.runs for name, c in results.comparisons.items()}, results.missing)
    if said is not None:
        click.echo(" ".join((f"{said.headline}.", *said.sentences)), err=True)
    click.echo(f"report: {page}")
