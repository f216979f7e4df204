"""``uli serve``: a live study over HTTP; ``uli token``: who may do what there."""

from __future__ import annotations

import click


@click.command()
@click.argument("file", type=click.Path())  # a string: paths have no two slashes in a row
@click.option("--name", help="Of the study, if FILE is the address of a database.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", default=8321, show_default=True, type=click.IntRange(0, 65535), help="0: any free."
)
@click.option("--token-file", type=click.Path(), help="Who may do what; uli token makes one.")
@click.option("--no-token", is_flag=True, help="Let everybody on this machine do everything.")
@click.option(
    "--rate",
    default=2000.0,
    show_default=True,
    type=click.FloatRange(0.001, 1e9),
    help="Requests a second of one token.",
)
@click.option(
    "--max-body",
    default=2**20,
    show_default=True,
    type=click.IntRange(1, 2**30),
    help="Bytes of one request.",
)
@click.option("--max-connections", default=256, show_default=True, type=click.IntRange(1, 10**5))
@click.option("--tls-cert", type=click.Path(exists=True), help="Certificates, PEM.")
@click.option("--tls-key", type=click.Path(exists=True), help="Their key, PEM.")
@click.option("--log", is_flag=True, help="Write a line for every request.")
def serve(
    file: str, rate: float, max_body: int, max_connections: int, log: bool, **more: object
) -> None:
    """Serve the study in FILE over HTTP, or the one at the address of a database."""
    from uli_fast.service.limits import Limits
    from uli_fast.service.running import Options, run

    limits = Limits(rate=rate, body=max_body, connections=max_connections)
    run(Options(file, log=log, limits=limits, **more), click.echo)  # type: ignore[arg-type]


@click.command()
@click.argument("name")
@click.option(
    "--role",
    required=True,
    type=click.Choice(["drive", "read", "counts"]),
    help="drive: everything; read: all that looks; counts: blinded, totals only, nothing by arm.",
)
@click.option("--token-file", required=True, type=click.Path())
def token(name: str, role: str, token_file: str) -> None:
    """Make a token for NAME: it is printed once, and the file keeps its hash."""
    from uli_fast.service.tokens import new_token

    click.echo(new_token(token_file, name, role))
