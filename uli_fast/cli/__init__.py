"""The ``uli`` command: one file per subcommand."""

from __future__ import annotations

from typing import Any

import click

from uli_fast import __version__
from uli_fast._support.text import clean
from uli_fast.cli.datasets import datasets
from uli_fast.cli.demo import demo
from uli_fast.cli.doctor import doctor
from uli_fast.cli.merge import merge
from uli_fast.cli.plan import plan
from uli_fast.cli.replay import replay
from uli_fast.cli.report import report
from uli_fast.cli.run import run
from uli_fast.cli.serve import serve, token
from uli_fast.cli.study import study
from uli_fast.cli.verify import verify
from uli_fast.errors import UliError


class _Commands(click.Group):
    """Shows the package's own errors as messages, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UliError as problem:
            # Errors quote names out of files, which may hold escape sequences.
            raise click.ClickException(clean(str(problem))) from problem


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="uli")
def main() -> None:
    """Bandit learners that never go back to a bad choice."""


COMMANDS = (
    datasets,
    demo,
    doctor,
    merge,
    plan,
    replay,
    report,
    run,
    serve,
    study,
    token,
    verify,
)
for command in COMMANDS:
    main.add_command(command)
