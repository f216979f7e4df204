"""``uli run FILE.toml``: an experiment from a file, resumed and grown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from uli_fast._support.text import clean, label
from uli_fast.cli._paths import FilePath

if TYPE_CHECKING:
    from uli_fast.experiments import ExperimentFile

# How long a scheduler may take to answer.
CONNECT_SECONDS = 10


@click.command()
@click.argument("file", type=FilePath())
@click.option(
    "--out", type=FilePath(), help="Folder of results.  [default: FILE-results, FILE-shard-i-of-n]"
)
@click.option("--resume", is_flag=True, help="Go on where an earlier run ended.")
@click.option("--replications", type=int, help="Instead of the number in the file.")
@click.option("--shard", help="Only share i of n, such as 2/8; uli merge joins them.")
@click.option("--jobs", default=1, show_default=True, help="Parts at once; -1: one per core.")
@click.option("--backend", help="threading, loky (processes), dask, ray, or another of joblib's.")
@click.option("--address", help="Of the scheduler, for --backend dask or ray.")
@click.option("--keep-every", default=5.0, show_default=True, help="Seconds of work in a part.")
@click.option("--parquet", is_flag=True, help="Write runs.parquet too.")
@click.option("--check", is_flag=True, help="Check the file and stop.")
def run(
    file: Path,
    out: Path | None,
    resume: bool,
    replications: int | None,
    shard: str | None,
    jobs: int,
    backend: str | None,
    address: str | None,
    keep_every: float,
    parquet: bool,
    check: bool,
) -> None:
    """Run the experiment in FILE; results are kept as they come."""
    from rich.console import Console

    from uli_fast import experiments
    from uli_fast.experiments.results import need_parquet

    console = Console(highlight=False, markup=False)
    experiment = experiments.ExperimentFile.read(file)
    if check:
        for said in _checked(file, experiment):
            click.echo(said)
        return
    if parquet:
        need_parquet()  # before anything runs
    target = out or file.with_name(f"{file.stem}-{_results(shard)}")
    options: dict[str, Any] = {"resume": resume, "replications": replications, "shard": shard}
    with _cluster(backend, address), _interrupted(target), _warnings_as_text():
        results = experiments.run(
            experiment,
            target,
            **options,
            jobs=jobs,
            backend=None if backend == "dask" else backend,
            keep_every=keep_every,
            say=console.print,
        )
    if parquet:
        results.to_parquet(target / "runs.parquet")
    for name, comparison in results.comparisons.items():
        console.print(comparison.table(name))
    console.print(f"results: {target}   report: uli report {target}")
    if shard is not None:
        console.print(f"this is shard {shard}; when all are done: uli merge FOLDERS --out FOLDER")


def _results(shard: str | None) -> str:
    """Return the name of a folder of results."""
    if shard is None:
        return "results"
    from uli_fast import _check

    i, n = _check.shard("shard", shard)
    return f"shard-{i}-of-{n}"


def _checked(file: Path, experiment: ExperimentFile) -> Iterator[str]:
    """Say how many cells there are, what no learner plays, which cells have no F, and why."""
    n = len(experiment.cells)
    yield f"{file} is fine: {n} {'cell' if n == 1 else 'cells'}"
    if experiment.unplayed:
        yield f"played by no learner: {', '.join(map(label, experiment.unplayed))}"
    for cell in experiment.cells:
        if cell.warning is not None:
            yield cell.warning
    rivals = dict.fromkeys(label(cell.learner) for cell in experiment.cells if cell.baseline)
    if rivals:
        yield f"without F of their own, as rivals: {', '.join(rivals)}"


@contextmanager
def _warnings_as_text() -> Iterator[None]:
    """Show warnings about guarantees as lines, without where in the code they come from."""
    import warnings

    from uli_fast.errors import GuaranteeWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", GuaranteeWarning)
        others = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any) -> None:
            if issubclass(category, GuaranteeWarning):
                click.echo(clean(str(message)), err=True)
            else:
                others(message, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]  # undone with the filters
        yield


@contextmanager
def _interrupted(folder: Path) -> Iterator[None]:
    """Say what is kept when Ctrl-C ends a run."""
    from uli_fast.errors import UliError
    from uli_fast.experiments.results import kept_in

    try:
        yield
    except KeyboardInterrupt:
        try:
            kept, wanted = kept_in(folder)
        except UliError:  # nothing was begun
            raise click.Abort from None
        click.echo(f"{kept} of {wanted} kept; go on with --resume", err=True)
        raise SystemExit(130) from None


@contextmanager
def _cluster(backend: str | None, address: str | None) -> Iterator[None]:
    """Send the work to a cluster, if one is asked for."""
    if address is not None and backend not in ("dask", "ray"):
        raise click.UsageError("--address goes with --backend dask or ray")
    if backend == "ray" and address is not None:
        with _ray(address):
            yield
    elif backend == "dask":
        with _dask(address):
            yield
    else:
        yield


@contextmanager
def _ray(address: str) -> Iterator[None]:
    from uli_fast import _check
    from uli_fast.experiments import ray_tasks

    _check.backend("backend", "ray")
    _reach(address)
    with ray_tasks.cluster(address):
        yield


@contextmanager
def _dask(address: str | None) -> Iterator[None]:
    try:
        from dask.distributed import Client
    except ImportError:
        raise click.ClickException(
            "--backend dask needs: pip install 'dask[distributed]'"
        ) from None
    from joblib import parallel_config

    if address is not None:
        _reach(address)
    with Client(address, timeout=CONNECT_SECONDS), parallel_config("dask"):
        yield


def _reach(address: str) -> None:
    """Refuse an address where nobody listens, before a client hangs on to it.

    A client that could not be made leaves threads behind, which a later one may wait for.
    """
    import socket

    kind, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if kind not in ("", "tcp", "tls") or not host or not port.isdigit():
        raise click.ClickException(f"--address {address}: must be like tcp://host:port")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError):
        raise click.ClickException(
            f"--address {address}: no scheduler answers within {CONNECT_SECONDS} s"
        ) from None
