"""What ``uli plan`` plans for: arms, vectors, a ball, a trial, gaps, an MDP, and their bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

if TYPE_CHECKING:
    from uli_fast._typing import F64
    from uli_fast.guarantees import Guarantee
    from uli_fast.guarantees.betting_plan import Planned
    from uli_fast.problems.arms import ArmBandit


# The largest arm set that is planned for.
MOST_DIMENSIONS = 10_000


class Rewards(NamedTuple):
    """Their range, infinite if unbounded, and R in their units; None is half the range."""

    low: float
    high: float
    R: float | None

    def __str__(self) -> str:
        """Say what they are."""
        known = f"rewards in [{self.low:g}, {self.high:g}]"
        noise = "" if self.R is None else f", R = {self.R:g}"
        return (known if self.bounded else "unbounded rewards") + noise

    @property
    def bounded(self) -> bool:
        """Whether they have a range."""
        return math.isfinite(self.low)


class Subject(NamedTuple):
    """What is planned for."""

    title: str
    bounds: dict[str, Guarantee]
    notes: tuple[str, ...] = ()
    problem: ArmBandit | None = None  # where the gaps are known
    gaps: F64 | None = None
    R: float | None = None
    about: Any = None  # what a best mean can be stated for


def rewards(low: float | None, high: float | None, R: float | None, lowest: float) -> Rewards:
    """Read the range, [lowest, 1] by default; without one R must be given."""
    from uli_fast import _check

    bounds = _check.reward_range(lowest if low is None else low, 1.0 if high is None else high)
    given = _check.optional_noise("R", R)
    _check.noise(given, bounds)
    return Rewards(*bounds, given)


def _finite(about: Any, delta: float, R: float | None = None) -> tuple[Any, tuple[str, ...]]:
    """Return the bounds of learners on K arms, and why others have none."""
    import uli_fast as uli
    from uli_fast.planning.usual import usual_learners

    learners: dict[str, Any] = {
        name: learner for name, learner in usual_learners(delta, R).items() if not learner.baseline
    }
    learners["Meta, Exp3.P"] = uli.MetaElimination(uli.Exp3P(), delta)
    learners["Meta, Exp3.P, sharp"] = uli.MetaElimination(uli.Exp3P(), delta, mode="sharp")
    bounds, notes = dict[str, Any](), list[str]()
    for name, learner in learners.items():
        try:
            bounds[name] = learner.guarantee(about)
        except uli.errors.NoGuaranteeError as reason:
            notes.append(f"{name} has no guarantee: {reason}")
    return bounds, tuple(notes)


def planned(subject: Subject, delta: float, best_mean: float) -> Planned:
    """Return what to expect of BettingElimination if this is the best mean."""
    import uli_fast as uli

    return uli.BettingElimination(delta, R=subject.R).planned(subject.about, best_mean)


def arms(K: Any, about: Rewards, delta: float) -> Subject:
    """Plan for a number of arms of which nothing is known but the range."""
    from uli_fast import _check
    from uli_fast.guarantees import ArmsInfo

    if not about.bounded:
        raise click.UsageError("without a range a gap may have any size: give --gaps for --arms")
    scale = about.high - about.low
    # Numbers say nothing of the rewards: an R that is given is taken at its word.
    info = ArmsInfo(_check.whole("arms", K), 1.0, scale, low=about.low, high=about.high)
    bounds, notes = _finite(info, delta, about.R)
    return Subject(f"{K} arms, {about}", bounds, notes, R=about.R, about=info)


def vectors(K: Any, d: int, about: Rewards, delta: float) -> Subject:
    """Plan for arms that are vectors; all rows are about rewards in one range."""
    import uli_fast as uli
    from uli_fast import _check
    from uli_fast.guarantees import ArmsInfo

    size = _check.whole("arms", K), _check.whole("dimension", d)
    bounds, notes = _linear(size, about, delta)
    hedge = uli.GeometricHedge()
    if about.bounded:
        info = ArmsInfo(K, d=d, low=about.low, high=about.high)
        meta, sharp = (uli.MetaElimination(hedge, delta, mode=m) for m in ("paper", "sharp"))
        bounds["Meta, GeometricHedge"] = meta.guarantee(info)
        bounds["Meta, GeometricHedge, sharp"] = sharp.guarantee(info)
    else:
        notes.append("GeometricHedge: for rewards in a range, or with sigma= in Python")
    title = f"{K} arms in {d} dimensions, {about}\narms and theta of norm at most 1"
    return Subject(title, bounds, tuple(notes))


def arm_set(name: str, d: Any, about: Rewards, delta: float) -> Subject:
    """Plan for a set of arms of norm at most 1: its vertices, or the set itself."""
    from uli_fast import _check, _registry

    sets = {row.name: row for row in _registry.ARM_SETS if row.sized}
    _check.one_of("arm_set", name, tuple(sets))
    size = _check.whole("dimension", d, most=MOST_DIMENSIONS)
    side = np.full(size, size**-0.5)
    kind = sets[name].load()
    region = kind(-side, side) if name == "Box" else kind(size)
    bounds, notes = _linear(region, about, delta)
    title = f"{name} in {size} dimensions, {about}\narms and theta of norm at most 1"
    return Subject(title, bounds, tuple(notes))


def _linear(on: Any, about: Rewards, delta: float) -> tuple[dict[str, Guarantee], list[str]]:
    """Return the bounds of all learners on linear rewards, and why some have none."""
    from uli_fast import _check, _registry, errors

    _check.in_open_unit("delta", delta)
    known = {"R": _check.noise(about.R, (about.low, about.high)), "theta_norm": 1.0}
    bounds, names, notes = dict[str, Any](), list[str](), list[str]()
    for row in _registry.LEARNERS:
        kind = row.load() if row.kind in ("vectors", "set") else None
        if kind is None or kind.baseline:
            continue
        try:
            bounds[row.name] = kind(delta, **known).guarantee(on)
            if hasattr(kind, "schedule"):
                paper = kind(delta, schedule="paper", **known)
                bounds[f"{row.name}, paper"] = paper.guarantee(on)
            names.append(row.name)
        except (errors.ArgumentError, errors.NoGuaranteeError) as reason:
            if hasattr(on, "restrict"):
                notes.append(
                    f"{row.name} is not for this set: {getattr(reason, 'problem', reason)}"
                )
    same = f"{', '.join(names)}: the same for any {known['R']:g}-subgaussian noise"
    soonest = min(bounds, key=lambda name: bounds[name].rounds_until(0.1))
    return bounds, [f"{soonest} is the first to be within 0.1", same, *notes]


def decision_process(size: tuple[int, int, int], delta: float) -> Subject:
    """Plan for a tabular MDP."""
    import uli_fast as uli
    from uli_fast import _check

    for number in size:
        _check.whole("mdp", number)
    bounds = {
        "ModelElimination": uli.ModelElimination(delta).guarantee(size),
        "ModelElimination, stochastic": uli.ModelElimination(delta, "stochastic").guarantee(size),
    }
    for name in ("proved", "sharp"):
        known = uli.PolicyElimination(delta, schedule=name)
        bounds[f"PolicyElimination, {name}"] = known.guarantee(size)
    title = "{} states, {} actions, {} stages; a round is an episode".format(*size)
    return Subject(title, bounds)


def trial(dataset: str, delta: float) -> Subject:
    """Plan for a real instance."""
    import uli_fast as uli
    from uli_fast import _check

    _check.one_of("dataset", dataset, uli.datasets.names())
    problem = uli.datasets.load(dataset)
    title = uli.datasets.info(dataset)["title"]
    return Subject(title, *_finite(problem, delta), problem, problem.gaps, about=problem)


def known_means(given: Any, names: Any, about: Rewards, delta: float) -> Subject:
    """Plan for known means: rewards low or high, or Gaussian where there is no range."""
    import uli_fast as uli
    from uli_fast import _check
    from uli_fast.errors import ArgumentError

    means = _check.vector("means", given)
    if means.size < 2:
        raise ArgumentError("means", "must hold at least two, one for each arm")
    if about.bounded:
        problem: Any = uli.BernoulliBandit(means, about.low, about.high, names)
        what = f"rewards {about.low:g} or {about.high:g}"
    else:
        assert about.R is not None
        problem, what = uli.GaussianBandit(means, about.R, names), str(about)
    title = f"{problem.n_arms} arms, {what}"
    found = _finite(problem, delta, about.R)
    return Subject(title, *found, problem, problem.gaps, about.R, problem)


def gaps(given: Any, about: Rewards, delta: float) -> Subject:
    """Plan for known gaps: rewards low or high, or Gaussian where there is no range."""
    import uli_fast as uli
    from uli_fast import _check

    sizes = _check.vector("gaps", given)
    if about.bounded:
        width = about.high - about.low
        _check.within("gaps", sizes, 0.0, width)
        best = about.low + (width + sizes.max()) / 2.0
        means = [best, *(best - sizes)]
        problem: Any = uli.BernoulliBandit(means, about.low, about.high)
        what = f"rewards {about.low:g} or {about.high:g}"
    else:
        assert about.R is not None
        _check.within("gaps", sizes, 0.0, math.inf)
        problem, what = uli.GaussianBandit([0.0, *-sizes], sigma=about.R), str(about)
    title = f"{problem.n_arms} arms, {what}"
    # The gaps as given, not as rounded.
    return Subject(title, *_finite(problem, delta, about.R), problem, sizes, about.R)
