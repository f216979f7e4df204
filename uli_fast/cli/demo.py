"""``uli demo``: the arms of a trial, at its own size and for ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from uli_fast.cli._paths import FilePath

if TYPE_CHECKING:
    from rich.console import Console

    from uli_fast.results.characteristics import OperatingCharacteristics
    from uli_fast.results.comparison import Comparison

TRADE_OFF = (
    "The trade-off: with probability up to {delta:g} a learner that drops arms loses the best one, "
    "and then for good, so its expected regret is linear in the end. KLUCB and ThompsonSampling "
    "cost less within a trial of this size, promise nothing, and come back to worse arms for ever."
)


@click.command()
@click.option("--horizon", default=10**12, show_default=True, help="Rounds of the long run.")
@click.option("--replications", default=20, show_default=True, help="Independent runs.")
@click.option("--trials", default=300, show_default=True, help="Trials of the real size.")
@click.option("--seed", default=1, show_default=True)
@click.option("--delta", default=0.05, show_default=True, help="Probability of failure allowed.")
@click.option("--out", type=FilePath(), default=Path("uli-demo"), show_default=True)
def demo(horizon: int, replications: int, trials: int, seed: int, delta: float, out: Path) -> None:
    """Run the ISIS-2 trial arms: at the trial's own size, and to 10^12 rounds."""
    from rich.console import Console

    import uli_fast as uli
    from uli_fast.planning.usual import usual_learners

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise click.ClickException(f"--out: {problem}") from problem
    console = Console()
    facts = uli.datasets.info("isis2")
    console.print(f"[bold]{facts['title']}[/bold]\n{facts['source']}\n")
    long = _long_learners(delta)
    _compile(console, list((usual_learners(delta) | long).values()))
    plan = _own_size(console, sum(facts["patients"]), trials, seed, delta)
    result = _long_run(console, long, horizon, replications, seed)
    console.print(TRADE_OFF.format(delta=delta), style="yellow")
    try:
        _write(result, plan, out, facts["source"])
        console.print(f"figure: {out / 'gap.png'}", markup=False)
        console.print(f"pages: {out / 'report.html'}, {out / 'trial.html'}", markup=False)
    except uli.errors.MissingExtraError as problem:
        console.print(f"no figure, no page: {problem}", markup=False)


def _compile(console: Console, learners: list[Any]) -> None:
    """Compile what learners need where nothing is kept yet, on all cores: threads take turns."""
    from joblib import Parallel, delayed

    from uli_fast.kernels._jit import CACHE_FOLDER

    if CACHE_FOLDER is None or any(CACHE_FOLDER.rglob("*.nbi")):
        return
    console.print("Compiling kernels; they are kept on disk.")
    played = Parallel(n_jobs=-1, return_as="generator_unordered")(
        delayed(_play_once)(learner) for learner in learners
    )
    for done, _ in enumerate(played, 1):
        console.print(f"Compiling kernels: {done} of {len(learners)} learners", highlight=False)
    console.print()


def _play_once(learner: Any) -> None:
    """Play for a moment what the demo plays."""
    import uli_fast as uli

    uli.simulate(learner, uli.datasets.load("isis2"), 1000, 2, seed=1)


def _long_learners(delta: float) -> dict[str, Any]:
    """Return those that can skip: playing 10^12 rounds one by one takes too long."""
    import uli_fast as uli
    from uli_fast.planning.usual import usual_learners

    able = {name: x for name, x in usual_learners(delta).items() if "skip" in x.engines}
    learners: dict[str, Any] = {name: x for name, x in able.items() if not x.baseline}
    learners["MetaElimination (sharp)"] = uli.MetaElimination(uli.Exp3P(), delta, mode="sharp")
    return learners | {name: x for name, x in able.items() if x.baseline}


def _own_size(
    console: Console, patients: int, trials: int, seed: int, delta: float
) -> OperatingCharacteristics:
    """Say what the trial would have been like with each learner, at its own size."""
    import uli_fast as uli
    from uli_fast.planning.usual import usual_learners

    console.print(f"[bold]The trial at its own size: {patients:,} patients[/bold]")
    plan = uli.operating_characteristics(
        usual_learners(delta),
        uli.datasets.load("isis2"),
        patients,
        trials,
        seed,
        followed=10**7,
        alpha=delta,
        events="deaths",
        n_jobs=-1,
    )
    console.print(plan.table())
    console.print()
    return plan


def _long_run(
    console: Console, learners: dict[str, Any], horizon: int, replications: int, seed: int
) -> Comparison:
    """Hold each learner against its promise at every round of a long run."""
    import uli_fast as uli

    console.print(f"[bold]And on: {horizon:.3g} rounds[/bold]")
    trial = uli.datasets.load("isis2")
    result = uli.compare(learners, trial, horizon, replications, seed, n_jobs=-1)
    console.print(result.table())
    for said in _closing(result):
        console.print(said, markup=False)
    return result


def _write(result: Comparison, plan: OperatingCharacteristics, out: Path, source: str) -> None:
    """Write the figure and both pages."""
    from uli_fast._support.versions import versions
    from uli_fast.report.page import write_report
    from uli_fast.report.words import number

    result.plot(out / "gap.png")
    known = {"dataset": "isis2", "source": source, "versions": versions()}
    title = f"ISIS-2: {number(next(iter(result.runs.values())).horizon)} rounds"
    write_report({"isis2": result}, out / "report.html", title, known)
    plan.report(out / "trial.html")


def _closing(result: Comparison) -> Iterator[str]:
    """Say what the page's verdict says, and who still played worse arms late in these runs."""
    from uli_fast.report.canvas import lines_of
    from uli_fast.report.checks import verdict
    from uli_fast.report.words import listed

    found = verdict(lines_of(list(result.runs.values()), list(result.runs)))
    yield f"{found.headline}."
    yield from (*found.sentences, *found.power, *found.price)
    tenth = {name: r.last_mistake().max() <= r.horizon // 10 for name, r in result.runs.items()}
    for settled, what in ((True, "only the best arm"), (False, "worse arms too")):
        names = [name for name in tenth if tenth[name] == settled]
        if names:
            yield f"In the last nine tenths of the rounds {listed(names)} played {what}."
