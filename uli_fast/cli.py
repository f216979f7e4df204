"""The ``uli`` command."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from uli_fast import __version__
from uli_fast.errors import UliError

if TYPE_CHECKING:
    from uli_fast.compare import Comparison
    from uli_fast.problems.arms import ArmBandit


# Of g in the demo's meta-algorithm, where 176 is proved.
SMALL_CONSTANT = 5.0


class _Commands(click.Group):
    """Shows the package's own errors as messages, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UliError as problem:
            raise click.ClickException(str(problem)) from problem


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
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

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise click.ClickException(f"--out: {problem}") from problem
    console = Console()
    facts = uli.datasets.info("isis2")
    console.print(f"[bold]{facts['title']}[/bold]\n{facts['source']}\n")
    console.print(
        "(the first run compiles the kernels, about half a minute; they are kept on disk)"
    )
    learners = {
        "SuccessiveElimination": uli.SuccessiveElimination(delta),
        "PhasedElimination": uli.PhasedElimination(delta),
        "Meta (small constant)": uli.MetaElimination(
            uli.Exp3P(constant=SMALL_CONSTANT), delta, mode="sharp"
        ),
        "UCB": uli.UCB(delta),
        "LilUCB": uli.LilUCB(delta),
    }
    trial = uli.datasets.load("isis2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", uli.errors.GuaranteeWarning)  # said in words below
        for learner in learners.values():  # so that the table's speeds are without compilation
            uli.simulate(learner, trial, 1000, min(replications, 16), seed=0)
        result = uli.compare(learners, trial, horizon, replications, seed, n_jobs=-1)
    console.print(result.table())
    console.print(
        f"Small constant: the meta-algorithm on Exp3.P, {SMALL_CONSTANT:g} where 176 is proved, "
        "so that it settles within the demo. NO GUARANTEE covers it; with the proved constant it "
        f"takes about {_settling(trial, delta):.1e} rounds.\n",
        style="yellow",
    )
    console.print(_verdict(result))
    figure = out / "gap.png"
    try:
        result.plot(figure)
        console.print(f"figure: {figure}")
    except uli.errors.MissingExtraError as problem:
        console.print(f"no figure: {problem}", markup=False)


def _settling(problem: ArmBandit, delta: float) -> int:
    """Return when the meta-algorithm with proved constants typically drops the last worse arm.

    The threshold of phase m allows a gap of threshold / rounds.
    """
    import uli_fast as uli

    learner = uli.MetaElimination(uli.Exp3P(constant=176.0), delta, mode="sharp")
    phase, total, m = learner.schedule(problem.features, None), 0, 0
    smallest = float(problem.gaps[problem.gaps > 0.0].min())
    while m == 0 or phase(m).threshold > smallest * phase(m).rounds:
        m += 1
        total += phase(m).rounds
    return total


def _verdict(result: Comparison) -> str:
    """Say in a sentence what the runs show, and nothing that they do not."""
    from uli_fast.report.tables import reference

    runs = list(result.runs.values())
    bound = reference(runs)
    assert bound is not None
    kept = all(r.holds.all() for r in runs if r.guarantee is not None)
    settled = all(
        (r.last_mistake() < r.horizon / 10).all() for r in runs if r.guarantee is not None
    )
    relapsed = any((r.worst_ratio_against(bound) > 1.0).any() for r in runs if r.baseline)
    return " ".join(
        (
            "The elimination learners stayed below F_ULI at every round of every run"
            if kept
            else "Some run of an elimination learner went beyond F_ULI",
            "and have settled on the best arm." if settled else "and have not all settled yet.",
            "The optimistic learners came back to worse arms after F_ULI had ruled that out."
            if relapsed
            else "The optimistic learners did not go beyond F_ULI.",
        )
    )


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
    from uli_fast.runs import versions

    for name, version in versions().items():
        click.echo(f"{name:10} {version}")
    click.echo(f"{'cache':10} {CACHE_FOLDER or 'none: every process compiles anew'}")
    if warm:
        begun = time.perf_counter()
        warm_up()
        click.echo(f"all kernels ready in {time.perf_counter() - begun:.1f} s")


def warm_up() -> None:
    """Run every learner once on every kind of reward law, so that all kernels are compiled."""
    import uli_fast as uli

    problems = (uli.BernoulliBandit([0.5, 0.4]), uli.GaussianBandit([0.5, 0.4], sigma=0.5))
    learners = (uli.SuccessiveElimination(), uli.PhasedElimination(), uli.UCB(), uli.LilUCB())
    for learner in learners:
        for problem in problems:
            for engine in ("skip", "rounds"):
                uli.simulate(learner, problem, 100, seed=0, engine=engine)
        player = learner.start(2)
        for _ in range(3):
            player.tell(player.ask().id, 0.5)
    framework = uli.EliminationFramework(lambda n, total, active, t: active, lambda delta, t: 1.0)
    for problem in problems:
        uli.simulate(framework, problem, 10, seed=0)
    _warm_up_adversarial()
    _warm_up_policies()


def _warm_up_policies() -> None:
    import uli_fast as uli

    mdp = uli.mdps.random_dense(2, 2, 3, seed=0)
    for method in ("auto", "plain", "trie", "search"):
        learner = uli.PolicyElimination(0.1, (1e-4, 1.0), method)
        uli.simulate(learner, mdp, 2000, seed=0)
    for rival in (uli.UCBVI(), uli.UBEV()):
        uli.simulate(rival, mdp, 100, seed=0)
    player = uli.PolicyElimination().start(mdp.rewards)
    player.ask(state=0)


def _warm_up_adversarial() -> None:
    import numpy as np

    import uli_fast as uli

    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    flat = uli.BernoulliBandit([0.5, 0.4, 0.3])
    for horizon, replications in ((10**3, 1), (10**6, 1), (10**6, 3)):
        uli.simulate(uli.Exp3P(), flat, horizon, replications, seed=0)
    uli.simulate(uli.Exp3P(), uli.BetaBandit([1.0, 2.0], [1.0, 1.0]), 1000, seed=0)
    for base in (uli.Exp3P(), uli.GeometricHedge(), uli.Scrible()):
        for noise in ("bernoulli", "gaussian"):
            problem = uli.LinearBandit([0.5, 0.2], arms, noise=noise)
            uli.simulate(base, problem, 1000, seed=0)
        player = base.start(arms, seed=0, horizon=1000)
        player.tell(player.ask().id, 0.5)
