"""``uli datasets``: the real instances that come with the package."""

from __future__ import annotations

import click


@click.command()
def datasets() -> None:
    """List the real instances that come with the package."""
    from rich.console import Console
    from rich.table import Table

    import uli_fast as uli

    table = Table("name", "arms", "means", "source")
    for name in uli.datasets.names():
        problem, facts = uli.datasets.load(name), uli.datasets.info(name)
        means = ", ".join(f"{m:.3f}" for m in problem.means)
        table.add_row(name, str(problem.n_arms), means, facts["source"])
    Console().print(table)
