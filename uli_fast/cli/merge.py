"""``uli merge FOLDER...``: the shards of an experiment as one."""

from __future__ import annotations

from pathlib import Path

import click

from uli_fast.cli._paths import FilePath


@click.command()
@click.argument("folders", type=FilePath(), nargs=-1, required=True)
@click.option("--out", type=FilePath(), required=True, help="A new folder of results.")
def merge(folders: tuple[Path, ...], out: Path) -> None:
    """Join the shards in FOLDERS, of uli run --shard, into one experiment."""
    from uli_fast import experiments
    from uli_fast.experiments.running import counted

    results = experiments.merge(folders, out)
    made = f"{counted(results.replications, 'replication')} of every cell"
    click.echo(f"{made} from {counted(len(folders), 'shard')}")
    click.echo(f"results: {out}   report: uli report {out}")
