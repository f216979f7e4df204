"""``uli run FILE.toml``: a study from a file, resumed and grown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Folder of results.")
@click.option("--resume", is_flag=True, help="Go on where an earlier run ended.")
@click.option("--replications", type=int, help="Instead of the number in the file.")
@click.option("--jobs", default=1, show_default=True, help="Parts at once; -1: one per core.")
@click.option("--backend", help="Of joblib: threading, loky (processes), dask, ray.")
@click.option("--address", help="Of the scheduler, for --backend dask.")
@click.option("--keep-every", default=5.0, show_default=True, help="Seconds of work in a part.")
@click.option("--parquet", is_flag=True, help="Write runs.parquet too.")
@click.option("--check", is_flag=True, help="Check the file and stop.")
def run(
    file: Path,
    out: Path | None,
    resume: bool,
    replications: int | None,
    jobs: int,
    backend: str | None,
    address: str | None,
    keep_every: float,
    parquet: bool,
    check: bool,
) -> None:
    """Run the study in FILE; results are kept as they come."""
    from rich.console import Console

    from uli_fast import experiments

    console = Console()
    study = experiments.StudyFile.read(file)
    if check:
        cells = {f"{cell.learner} on {cell.problem}" for cell in study.cells}
        click.echo(f"{file} is fine: {len(cells)} cells")
        return
    target = out or file.with_name(f"{file.stem}-results")
    options: dict[str, Any] = {"resume": resume, "replications": replications, "jobs": jobs}
    with _cluster(backend, address):
        results = experiments.run(
            study,
            target,
            **options,
            backend=None if backend == "dask" else backend,
            keep_every=keep_every,
            say=lambda text: console.print(text, highlight=False, markup=False),
        )
    if parquet:
        results.to_parquet(target / "runs.parquet")
    for comparison in results.comparisons.values():
        console.print(comparison.table())
    console.print(f"results: {target}   report: uli report {target}", markup=False)


@contextmanager
def _cluster(backend: str | None, address: str | None) -> Iterator[None]:
    """Send joblib's work to a cluster, if one is asked for."""
    if address is not None and backend != "dask":
        raise click.UsageError("--address goes with --backend dask")
    if backend != "dask":
        yield
        return
    try:
        from dask.distributed import Client
    except ImportError:
        raise click.ClickException(
            "--backend dask needs: pip install 'dask[distributed]'"
        ) from None
    from joblib import parallel_config

    with Client(address), parallel_config("dask"):
        yield
