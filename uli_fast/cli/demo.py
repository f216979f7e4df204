"""``uli demo``: elimination against optimism on the arms of a trial."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uli_fast.cli._paths import FilePath

if TYPE_CHECKING:
    from uli_fast.compare import Comparison
    from uli_fast.problems.arms import ArmBandit

# Of g in the demo's meta-algorithm, where 176 is proved.
SMALL_CONSTANT = 5.0


@click.command()
@click.option("--horizon", default=10**12, show_default=True, help="Rounds (patients).")
@click.option("--replications", default=20, show_default=True, help="Independent runs.")
@click.option("--seed", default=1, show_default=True)
@click.option("--delta", default=0.05, show_default=True, help="Probability of failure allowed.")
@click.option("--out", type=FilePath(), default=Path("uli-demo"), show_default=True)
def demo(horizon: int, replications: int, seed: int, delta: float, out: Path) -> None:
    """Run the ISIS-2 trial arms: elimination against optimism."""
    from rich.console import Console

    import uli_fast as uli
    from uli_fast.report.page import write_report
    from uli_fast.runs import versions

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
        result = uli.compare(learners, trial, horizon, replications, seed, n_jobs=-1)
    console.print(result.table())
    console.print(
        f"Small constant: the meta-algorithm on Exp3.P, {SMALL_CONSTANT:g} where 62 is proved, "
        "so that it settles within the demo. NO GUARANTEE covers it; with the proved constant it "
        f"takes about {_settling(trial, delta):.1e} rounds.\n",
        style="yellow",
    )
    for said in _closing(result):
        console.print(said, markup=False)
    figure, page = out / "gap.png", out / "report.html"
    try:
        result.plot(figure)
        known = {"dataset": "isis2", "source": facts["source"], "versions": versions()}
        write_report({"isis2": result}, page, "ISIS-2: elimination against optimism", known)
        console.print(f"figure: {figure}\npage: {page}", markup=False)
    except uli.errors.MissingExtraError as problem:
        console.print(f"no figure, no page: {problem}", markup=False)


def _settling(problem: ArmBandit, delta: float) -> int:
    """Return when the meta-algorithm with proved constants typically drops the last worse arm.

    The threshold of phase m allows a gap of threshold / rounds.
    """
    import uli_fast as uli

    learner = uli.MetaElimination(uli.Exp3P(), delta, mode="sharp")
    phase, total, m = learner.schedule(problem.features, None), 0, 0
    smallest = float(problem.gaps[problem.gaps > 0.0].min())
    while m == 0 or phase(m).threshold > smallest * phase(m).rounds:
        m += 1
        total += phase(m).rounds
    return total


def _closing(result: Comparison) -> Iterator[str]:
    """Say what the page's verdict says, and who still played worse arms late in these runs."""
    from uli_fast.report.canvas import lines_of
    from uli_fast.report.checks import verdict
    from uli_fast.report.words import listed

    found = verdict(lines_of(list(result.runs.values()), list(result.runs)))
    yield f"{found.headline}."
    yield from found.sentences
    tenth = {name: r.last_mistake().max() <= r.horizon // 10 for name, r in result.runs.items()}
    for settled, what in ((True, "only the best arm"), (False, "worse arms too")):
        names = [name for name in tenth if tenth[name] == settled]
        if names:
            yield f"In the last nine tenths of the rounds {listed(names)} played {what}."
