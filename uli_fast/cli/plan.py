"""``uli plan``: what a trial may cost, before it begins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from uli_fast._typing import F64
    from uli_fast.guarantees import Guarantee
    from uli_fast.problems.arms import ArmBandit
    from uli_fast.turning_point import TurningPoint

# Rounds for the regret bound, and the most that a turning point is looked for.
HORIZON, TURNING_HORIZON = 10**6, 10**12
# Columns of numbers beside a name, in 80 characters, and the longest name.
MOST_COLUMNS, LONGEST_NAME = 5, 27


def _numbers(ctx: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Read numbers with commas or spaces between."""
    if text is None:
        return None
    try:
        return tuple(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers", ctx, option) from None


class _Subject(NamedTuple):
    """What is planned for."""

    title: str
    bounds: dict[str, Guarantee]
    problem: ArmBandit | None = None  # where the gaps are known
    gaps: F64 | None = None
    notes: tuple[str, ...] = ()


@click.command()
@click.option("--arms", type=int, help="Number of arms.")
@click.option("--dimension", type=int, help="With --arms: they are vectors of this dimension.")
@click.option("--dataset", help="A real instance (`uli datasets`).")
@click.option("--gaps", callback=_numbers, help="Gaps of the worse arms, such as 0.1,0.2.")
@click.option("--mdp", type=(int, int, int), metavar="S A H", help="States, actions, stages.")
@click.option("--delta", default=0.05, show_default=True, help="Probability of failure allowed.")
@click.option("--eps", callback=_numbers, default="0.1,0.01", show_default=True, help="Precisions.")
@click.option("--horizon", type=float, help="Rounds.  [default: 1e6; 1e12 for the turning point]")
@click.option("--constants", is_flag=True, help="Show the numbers of the bounds and their sources.")
@click.option("--turning-point", is_flag=True, help="Simulate when elimination overtakes optimism.")
@click.option("--replications", default=5, show_default=True, help="Runs for the turning point.")
@click.option("--seed", default=1, show_default=True)
def plan(
    arms: int | None,
    dimension: int | None,
    dataset: str | None,
    gaps: tuple[float, ...] | None,
    mdp: tuple[int, int, int] | None,
    delta: float,
    eps: tuple[float, ...],
    horizon: float | None,
    constants: bool,
    turning_point: bool,
    replications: int,
    seed: int,
) -> None:
    """Say after how many rounds every further decision is within eps of the best.

    Plan for a number of --arms (with --dimension: vectors), a --dataset, --gaps or an --mdp.
    """
    from rich.console import Console

    from uli_fast import _check

    if sum(x is not None for x in (arms, dataset, gaps, mdp)) != 1:
        raise click.UsageError("give one of --arms, --dataset, --gaps and --mdp")
    if dimension is not None and arms is None:
        raise click.UsageError("--dimension goes with --arms")
    if turning_point and dataset is None and gaps is None:
        raise click.UsageError("--turning-point needs the means: give --dataset or --gaps")
    if mdp is not None:
        subject = _decision_process(mdp, delta)
    elif arms is not None:
        subject = _arms(arms, delta) if dimension is None else _vectors(arms, dimension, delta)
    else:
        subject = _known(dataset, gaps, delta)
    T = _check.horizon("horizon", HORIZON if horizon is None else horizon)
    precisions = [_check.positive("eps", x) for x in _check.vector("eps", eps).tolist()]
    console = Console()
    for shown in _tables(subject, precisions, T, delta):
        console.print(shown)
    if constants:
        console.print(_constants(subject.bounds))
    if turning_point:
        assert subject.problem is not None
        T = TURNING_HORIZON if horizon is None else T
        for found in _turning_points(subject.problem, delta, T, replications, seed):
            console.print(found.table())


def _finite(about: Any, delta: float) -> dict[str, Guarantee]:
    import uli_fast as uli

    learners = {
        "SuccessiveElimination": uli.SuccessiveElimination(delta),
        "PhasedElimination": uli.PhasedElimination(delta),
        "Meta, Exp3.P": uli.MetaElimination(uli.Exp3P(), delta),
        "Meta, Exp3.P, sharp": uli.MetaElimination(uli.Exp3P(constant=176.0), delta, mode="sharp"),
    }
    return {name: learner.guarantee(about) for name, learner in learners.items()}


def _arms(K: int, delta: float) -> _Subject:
    from uli_fast import _check

    return _Subject(f"{K} arms, rewards in [0, 1]", _finite(_check.whole("arms", K), delta))


def _vectors(K: int, d: int, delta: float) -> _Subject:
    import uli_fast as uli
    from uli_fast import _check
    from uli_fast.guarantees import ArmsInfo

    size = _check.whole("arms", K), _check.whole("dimension", d)
    # Means may lie anywhere in [-1, 1]: all rows are about rewards that do, in their units.
    # The noise of such rewards is 1-subgaussian, as the first two assume.
    rewards = ArmsInfo(K, d=d, low=-1.0, high=1.0)
    hedge = uli.GeometricHedge()
    sharp = uli.MetaElimination(hedge, delta, mode="sharp")
    bounds = {
        "LinearElimination": uli.LinearElimination(delta, R=1.0).guarantee(size),
        "SpannerElimination": uli.SpannerElimination(delta, C=1.2, R=1.0).guarantee(size),
        "Meta, GeometricHedge": uli.MetaElimination(hedge, delta).guarantee(rewards),
        "Meta, GeometricHedge, sharp": sharp.guarantee(rewards),
    }
    title = f"{K} arms in {d} dimensions, rewards in [-1, 1]\narms and theta of norm at most 1"
    note = "LinearElimination, SpannerElimination: the same for any 1-subgaussian noise"
    return _Subject(title, bounds, notes=(note,))


def _decision_process(size: tuple[int, int, int], delta: float) -> _Subject:
    import uli_fast as uli
    from uli_fast import _check

    for number in size:
        _check.whole("mdp", number)
    bounds = {
        f"PolicyElimination, {name}": uli.PolicyElimination(delta, schedule=name).guarantee(size)
        for name in ("proved", "sharp")
    }
    title = "{} states, {} actions, {} stages; a round is an episode".format(*size)
    return _Subject(title, bounds)


def _known(dataset: str | None, gaps: tuple[float, ...] | None, delta: float) -> _Subject:
    import uli_fast as uli
    from uli_fast import _check

    if dataset is not None:
        _check.one_of("dataset", dataset, uli.datasets.names())
        problem = uli.datasets.load(dataset)
        title = uli.datasets.info(dataset)["title"]
        return _Subject(title, _finite(problem, delta), problem, problem.gaps)
    sizes = _check.vector("gaps", gaps)
    _check.within("gaps", sizes, 0.0, 1.0)
    best = (1.0 + sizes.max()) / 2.0
    problem = uli.BernoulliBandit([best, *(best - sizes)])
    title = f"{problem.n_arms} arms, rewards 0 or 1"
    return _Subject(title, _finite(problem, delta), problem, sizes)  # as given, not as rounded


def _tables(subject: _Subject, eps: list[float], T: int, delta: float) -> Iterator[Table | Text]:
    """Yield the numbers, in tables that fit into 80 columns, and what they mean."""
    from rich.text import Text

    from uli_fast.guarantees import confidence
    from uli_fast.report.tables import plain_table
    from uli_fast.report.words import squeezed

    bounds, gaps = subject.bounds, subject.gaps
    columns = {
        f"within {x:g}": [_rounds_until(bound, x, gaps) for bound in bounds.values()] for x in eps
    }
    lines = ["within eps: after so many rounds every decision is within eps of the best"]
    if gaps is not None and gaps.any():
        smallest = math.nextafter(float(gaps[gaps > 0.0].min()), 0.0)
        columns["best only"] = [_rounds_until(x, smallest, gaps) for x in bounds.values()]
        lines.append("best only: after so many rounds only the best arm is played")
    regret = {f"regret by {T:.6g}": [bound.regret(T, gaps) for bound in bounds.values()]}
    lines.append(f"regret: at most so much; all at once, with probability {confidence(delta)}")
    lines += subject.notes
    every = list((columns | regret).items())
    for i in range(0, len(every), MOST_COLUMNS):
        shown = every[i : i + MOST_COLUMNS]
        table = plain_table(subject.title if i == 0 else "", ["learner", *(x for x, _ in shown)])
        for name, cells in zip(bounds, zip(*(x for _, x in shown), strict=True), strict=True):
            table.add_row(Text(squeezed(name, LONGEST_NAME)), *map(_short, cells))
        yield table
    yield Text("\n".join(lines))


def _rounds_until(bound: Guarantee, eps: float, gaps: Any) -> int:
    """Return after how many rounds every decision is within eps, by all that is known."""
    return 0 if bound.largest_gap <= eps else bound.rounds_until(eps, gaps)


def _short(x: float) -> str:
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
    problem: ArmBandit, delta: float, horizon: int, replications: int, seed: int
) -> Iterator[TurningPoint]:
    import uli_fast as uli

    se, pe = uli.SuccessiveElimination(delta), uli.PhasedElimination(delta)
    for learner, rival in ((se, uli.UCB(delta)), (pe, uli.UCB(delta)), (se, uli.LilUCB(delta))):
        yield uli.turning_point(learner, rival, problem, horizon, replications, seed, n_jobs=-1)
