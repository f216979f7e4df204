"""``uli replay``: what a log of past outcomes would have shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

LEARNERS = ("betting", "successive", "phased")


@click.command()
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--arm", required=True, metavar="COLUMN", help="The column of the arms.")
@click.option("--reward", required=True, metavar="COLUMN", help="The column of the rewards.")
@click.option("--arms", metavar="NAMES", help="The arms, as A,B,C.  [default: those of the log]")
@click.option(
    "--assignment",
    type=click.Choice(("any", "randomized")),
    default="any",
    show_default=True,
    help="How arms were assigned: by whatever had happened, or by no outcome at all.",
)
@click.option("--learner", type=click.Choice(LEARNERS), default=LEARNERS[0], show_default=True)
@click.option("--delta", default=0.05, show_default=True, help="Probability of failure allowed.")
@click.option("--leader", type=int, help="Plays of the leader in a sweep.  [default: 2]")
@click.option("--low", default=0.0, show_default=True, help="Rewards are in [low, high];")
@click.option("--high", default=1.0, show_default=True, help="-inf and inf: unbounded.")
@click.option("--R", "noise", type=float, help="R of the rewards.  [default: half the range]")
@click.option("--html", type=click.Path(path_type=Path), help="Also write it as a page.")
def replay(
    log: Path,
    arm: str,
    reward: str,
    arms: str | None,
    assignment: str,
    learner: str,
    delta: float,
    leader: int | None,
    low: float,
    high: float,
    noise: float | None,
    html: Path | None,
) -> None:
    """Say what the rows of LOG, a CSV file in order of time, would have shown.

    Which arm would have been dropped when, what is certain about those left, what is assumed.
    """
    from rich.console import Console

    import uli_fast as uli

    player = _learner(learner, delta, leader, noise)
    if html is not None and html.exists() and log.exists() and html.samefile(log):
        raise click.BadParameter("is the log itself", param_hint="--html")
    names = None if arms is None else [name.strip() for name in arms.split(",")]
    about: dict[str, Any] = {"arms": names, "low": low, "high": high, "assignment": assignment}
    found = uli.replay(player, log, arm, reward, **about)
    Console().print(found.table())
    for sentence in found.assumes:
        click.echo(f"assumed: {sentence}")
    if html is not None:
        found.report(html)
        click.echo(f"page: {html}")


def _learner(name: str, delta: float, leader: int | None, noise: float | None) -> Any:
    """Return the learner of these options."""
    import uli_fast as uli

    if name == "betting":
        return uli.BettingElimination(delta, 2 if leader is None else leader, noise)
    if leader is not None:
        raise click.UsageError("--leader goes with --learner betting")
    kind = uli.SuccessiveElimination if name == "successive" else uli.PhasedElimination
    return kind(delta, noise)
