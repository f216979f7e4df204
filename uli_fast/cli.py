"""The ``uli`` command."""

from __future__ import annotations

from pathlib import Path

import click

from uli_fast import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="uli")
def main() -> None:
    """Bandit learners that never go back to a bad choice."""


@main.command()
@click.option("--horizon", default=10**8, show_default=True, help="Rounds (patients).")
@click.option("--replications", default=20, show_default=True, help="Independent runs.")
@click.option("--seed", default=1, show_default=True)
@click.option("--delta", default=0.05, show_default=True, help="Probability of failure allowed.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("uli-demo"), show_default=True)
def demo(horizon: int, replications: int, seed: int, delta: float, out: Path) -> None:
    """Run the ISIS-2 trial arms: elimination against optimism."""
    from rich.console import Console

    import uli_fast as uli

    console = Console()
    facts = uli.datasets.info("isis2")
    console.print(f"[bold]{facts['title']}[/bold]\n{facts['source']}\n")
    console.print("Compiling kernels on the first run (about half a minute, then kept on disk) ...")
    learners = [
        uli.SuccessiveElimination(delta),
        uli.PhasedElimination(delta),
        uli.UCB(delta),
        uli.LilUCB(delta),
    ]
    warm = uli.datasets.load("isis2")
    for learner in learners:  # so that the table's rounds per second are without compilation
        uli.simulate(learner, warm, 1000, seed=0)
    result = uli.compare(learners, warm, horizon, replications, seed, n_jobs=-1, progress=None)
    console.print(result.table())
    console.print(
        "Elimination settled on the best arm and stayed; the optimistic learners came back to "
        "worse arms\nlong after F_ULI had ruled that out (last bad round, max gap/F above 1)."
        if _relapsed(result)
        else "No learner went beyond F_ULI in these runs."
    )
    out.mkdir(parents=True, exist_ok=True)
    figure = out / "gap.png"
    try:
        result.plot(figure)
        console.print(f"figure: {figure}")
    except uli.errors.MissingExtraError as problem:
        console.print(f"no figure: {problem}")


def _relapsed(result: object) -> bool:
    from uli_fast.compare import Comparison
    from uli_fast.report.tables import reference

    assert isinstance(result, Comparison)
    runs = list(result.runs.values())
    bound = reference(runs)
    assert bound is not None
    rivals = [r for r in runs if r.guarantee is None]
    return any((r.worst_ratio_against(bound) > 1.0).any() for r in rivals)


@main.command()
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


@main.command()
@click.option("--warm", is_flag=True, help="Compile all kernels now.")
def doctor(warm: bool) -> None:
    """Show versions and where compiled kernels are kept."""
    import time

    from uli_fast.kernels._jit import CACHE_FOLDER
    from uli_fast.runs import _versions

    for name, version in _versions().items():
        click.echo(f"{name:10} {version}")
    click.echo(f"{'cache':10} {CACHE_FOLDER or 'none: every process compiles anew'}")
    if warm:
        begun = time.perf_counter()
        warm_up()
        click.echo(f"all kernels ready in {time.perf_counter() - begun:.1f} s")


def warm_up() -> None:
    """Run every learner once on every kind of reward law, so that all kernels are compiled."""
    import uli_fast as uli

    learners = (uli.SuccessiveElimination(), uli.PhasedElimination(), uli.UCB(), uli.LilUCB())
    for problem in (uli.BernoulliBandit([0.5, 0.4]), uli.DeterministicBandit([0.5, 0.4])):
        for learner in learners:
            for engine in ("skip", "rounds"):
                uli.simulate(learner, problem, 100, seed=0, engine=engine)
    for learner in learners:
        player = learner.start(2)
        for _ in range(3):
            player.tell(player.ask().id, 0.5)
