"""``uli plan``: what a trial may cost, before it begins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from uli_fast.cli._paths import FilePath
from uli_fast.cli._plan_trial import TrialOptions

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from uli_fast.cli._plan_subjects import Subject
    from uli_fast.guarantees import Guarantee
    from uli_fast.guarantees.betting_plan import Planned
    from uli_fast.simulation.turning_point import TurningPoint

# Rounds for the regret bound, and the most that a turning point is looked for.
HORIZON, TURNING_HORIZON = 10**6, 10**12
# Columns of numbers beside a name, in 80 characters, and the longest name.
MOST_COLUMNS, LONGEST_NAME = 5, 27


def _numbers(ctx: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Read numbers separated by commas or spaces."""
    if text is None:
        return None
    try:
        return tuple(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers", ctx, option) from None


def _words(ctx: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Read names separated by commas."""
    return None if text is None else tuple(word.strip() for word in text.split(","))


@click.command()
@click.option("--arms", type=int, help="Number of arms.")
@click.option("--dimension", type=int, help="With --arms, --arm-set: of the vectors.")
@click.option("--arm-set", help="With --dimension: Ball, Box, L1Ball or Simplex.")
@click.option("--dataset", help="A real instance (`uli datasets`).")
@click.option("--gaps", callback=_numbers, help="Gaps of the worse arms, such as 0.1,0.2.")
@click.option("--means", callback=_numbers, help="Means of all arms, such as .92,.896,.868.")
@click.option("--names", callback=_words, help="With --means: what the arms are called.")
@click.option("--mdp", type=(int, int, int), metavar="S A H", help="States, actions, stages.")
@click.option("--low", type=float, help="Rewards are in [low, high]; -inf and inf: unbounded.")
@click.option("--high", type=float, help="[default: 0 and 1; of vectors -1 and 1]")
@click.option("--R", "noise", type=float, help="R of the rewards.  [default: half the range]")
@click.option("--delta", default=0.05, show_default=True, help="Probability of failure allowed.")
@click.option("--eps", callback=_numbers, default="0.1,0.01", show_default=True, help="Precisions.")
@click.option("--best-mean", type=float, help="Also plan for BettingElimination if it is this.")
@click.option("--horizon", type=float, help="Rounds.  [default: 1e6; 1e12 for the turning point]")
@click.option("--constants", is_flag=True, help="Show the numbers of the bounds and their sources.")
@click.option("--turning-point", is_flag=True, help="Simulate when elimination overtakes optimism.")
@click.option("--replications", type=int, help="Runs.  [default: 5; 2000 with --patients]")
@click.option("--seed", default=1, show_default=True)
@click.option("--patients", type=float, help="Simulate trials of this size: what would happen.")
@click.option("--learners", callback=_words, help="With --patients: which, such as UCB,LilUCB.")
@click.option("--followed", type=float, help="With --patients: look for drops up to this one.")
@click.option("--events", help="With --patients: what bad outcomes are called.  [default: events]")
@click.option("--html", type=FilePath(), metavar="PAGE", help="With --patients: write a page.")
def plan(
    arms: int | None,
    dimension: int | None,
    arm_set: str | None,
    dataset: str | None,
    gaps: tuple[float, ...] | None,
    means: tuple[float, ...] | None,
    names: tuple[str, ...] | None,
    mdp: tuple[int, int, int] | None,
    low: float | None,
    high: float | None,
    noise: float | None,
    delta: float,
    eps: tuple[float, ...],
    best_mean: float | None,
    horizon: float | None,
    constants: bool,
    turning_point: bool,
    replications: int | None,
    seed: int,
    patients: float | None,
    learners: tuple[str, ...] | None,
    followed: float | None,
    events: str | None,
    html: Path | None,
) -> None:
    """Say after how many rounds every further decision is within eps of the best.

    Plan for a number of --arms (with --dimension: vectors), an --arm-set, a --dataset, --gaps,
    --means or an --mdp. With --patients, for --means or a --dataset: simulate trials of this size
    with every learner, and compare them with a trial of fixed size.
    """
    from rich.console import Console

    from uli_fast import _check
    from uli_fast.cli import _plan_subjects as subjects

    if sum(x is not None for x in (arms, arm_set, dataset, gaps, means, mdp)) != 1:
        given = "--arms, --arm-set, --dataset, --gaps, --means and --mdp"
        raise click.UsageError(f"give one of {given}")
    if (dimension is not None and arms is None) != (arm_set is not None):
        raise click.UsageError("--dimension goes with --arms or --arm-set, which needs it")
    if turning_point and dataset is None and gaps is None and means is None:
        raise click.UsageError("--turning-point needs the means: give --dataset, --gaps or --means")
    unknown = arms is None and arm_set is None and gaps is None and means is None
    if unknown and (low, high, noise) != (None, None, None):
        raise click.UsageError("--low, --high and --R go with --arms, --arm-set, --gaps or --means")
    if names is not None and means is None:
        raise click.UsageError("--names goes with --means")
    others_than_arms = (dimension, mdp, gaps)
    if best_mean is not None and any(x is not None for x in others_than_arms):
        raise click.UsageError("--best-mean goes with --arms, --means or --dataset")
    asked = TrialOptions(patients, learners, followed, events, html)
    others = bool(horizon or constants or turning_point or best_mean is not None)
    asked.refuse(dataset is None and means is None, others)
    rewards = subjects.rewards(low, high, noise, 0.0 if dimension is None else -1.0)
    if mdp is not None:
        subject = subjects.decision_process(mdp, delta)
    elif dataset is not None:
        subject = subjects.trial(dataset, delta)
    elif means is not None:
        subject = subjects.known_means(means, names, rewards, delta)
    elif gaps is not None:
        subject = subjects.gaps(gaps, rewards, delta)
    elif arm_set is not None:
        subject = subjects.arm_set(arm_set, dimension, rewards, delta)
    elif dimension is not None:
        subject = subjects.vectors(arms, dimension, rewards, delta)
    else:
        subject = subjects.arms(arms, rewards, delta)
    if patients is not None:
        asked.show(subject, delta, 2000 if replications is None else replications, seed)
        return
    T = _check.horizon("horizon", HORIZON if horizon is None else horizon)
    precisions = [_check.positive("eps", x) for x in _check.vector("eps", eps).tolist()]
    console = Console()
    planned = None if best_mean is None else subjects.planned(subject, delta, best_mean)
    for shown in _tables(subject, precisions, T, delta, planned):
        console.print(shown)
    if constants:
        console.print(_constants(subject.bounds))
    if turning_point:
        T = TURNING_HORIZON if horizon is None else T
        runs = 5 if replications is None else replications
        for found in _turning_points(subject, delta, T, runs, seed):
            console.print(found.table())


def _tables(
    subject: Subject, eps: list[float], T: int, delta: float, planned: Planned | None
) -> Iterator[Table | Text]:
    """Yield the numbers, in tables that fit into 80 columns, and what they mean."""
    from rich.text import Text

    from uli_fast.guarantees import confidence
    from uli_fast.report.tables import plain_table
    from uli_fast.report.words import wrapped

    bounds, gaps = subject.bounds, subject.gaps
    names = [wrapped(name, LONGEST_NAME) for name in bounds]
    every: list[Guarantee | Planned] = [*bounds.values()]
    if planned is not None:
        names.append(f"BettingElimination,\nif the best mean is {planned.best_mean:g}")
        every.append(planned)
    columns = {f"within {x:g}": [_rounds_until(bound, x, gaps) for bound in every] for x in eps}
    lines = ["within eps: after this many rounds every decision is within eps of the best"]
    if gaps is not None and gaps.any():
        smallest = math.nextafter(float(gaps[gaps > 0.0].min()), 0.0)
        columns["best only"] = [_rounds_until(x, smallest, gaps) for x in every]
        lines.append("best only: after this many rounds only the best arm is played")
    sums = [bound.regret(T, gaps) for bound in bounds.values()]
    regret = {f"regret by {T:.6g}": sums + [math.nan] * (planned is not None)}
    lines.append(f"regret: at most this much; all at once, with probability {confidence(delta)}")
    lines += subject.notes
    if planned is not None:
        lines += [f"the last row is a plan, not a guarantee; by itself {confidence(delta)}, if"]
        lines += [f"- {sentence}" for sentence in planned.assumes]
    cells = list((columns | regret).items())
    for i in range(0, len(cells), MOST_COLUMNS):
        shown = cells[i : i + MOST_COLUMNS]
        table = plain_table(subject.title if i == 0 else "", ["learner", *(x for x, _ in shown)])
        for name, row in zip(names, zip(*(x for _, x in shown), strict=True), strict=True):
            table.add_row(Text(name), *map(_short, row))
        yield table
    yield Text("\n".join(lines))


def _rounds_until(bound: Guarantee | Planned, eps: float, gaps: Any) -> int:
    """Return after how many rounds every decision is within eps, by all that is known."""
    return 0 if bound.largest_gap <= eps else bound.rounds_until(eps, gaps)


def _short(x: float) -> str:
    if math.isnan(x):
        return "\u2013"
    return f"{x:.0f}" if x < 99_999 else f"{x:.2e}"


def _constants(bounds: dict[str, Guarantee]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for header in ("learner", "constant", "value", "source"):
        table.add_column(header, no_wrap=header == "value", overflow="fold")
    for name, bound in bounds.items():
        for i, constant in enumerate(bound.constants):
            cells = (name if i == 0 else "", constant.name, f"{constant.value:g}", constant.source)
            table.add_row(*map(Text, cells))
    return table


def _turning_points(
    subject: Subject, delta: float, horizon: int, replications: int, seed: int
) -> Iterator[TurningPoint]:
    import uli_fast as uli

    assert subject.problem is not None
    about = (subject.problem, horizon, replications, seed)
    se, pe = (kind(delta, subject.R) for kind in (uli.SuccessiveElimination, uli.PhasedElimination))
    ucb, lil = uli.UCB(delta, subject.R), uli.LilUCB(delta, subject.R)
    kl = uli.KLUCB(delta, subject.R if subject.problem.low is None else None)  # else of coins
    bet = uli.BettingElimination(delta, R=subject.R)
    for learner, rival in ((bet, ucb), (bet, kl), (bet, lil), (se, ucb), (pe, ucb), (se, lil)):
        yield uli.turning_point(learner, rival, *about, n_jobs=-1)
