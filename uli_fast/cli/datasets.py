"""``uli datasets``: the real instances that come with the package."""

from __future__ import annotations

import click


@click.command()
def datasets() -> None:
    """List the real instances that come with the package."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    import uli_fast as uli

    console = Console(highlight=False)
    for name in uli.datasets.names():
        problem, facts = uli.datasets.load(name), uli.datasets.info(name)
        arms = zip(problem.names, problem.means, strict=True)
        lines = (
            ", ".join(f"{arm} {mean:.3f}" for arm, mean in arms),
            facts["source"],
            f"licence: {facts['licence']}; certainty: {facts['certainty']}",
        )
        console.print(Text.assemble((name, "bold"), f": {facts['title']}"))
        console.print(Padding(Text("\n".join(lines)), (0, 0, 1, 4)))
