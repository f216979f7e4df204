"""Several learners on one problem, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from itertools import combinations
from typing import Any

from uli_fast import _check
from uli_fast._typing import Engine
from uli_fast.errors import ArgumentError
from uli_fast.learners._base import Learner
from uli_fast.learners._kinds import is_learner
from uli_fast.problems import kinds
from uli_fast.problems.kinds import Problem
from uli_fast.results.comparison import Comparison
from uli_fast.results.runs import Runs
from uli_fast.simulation.simulate import paired, simulate

ORDER = "compare([learner, ...], problem, horizon)"


def compare(
    learners: Iterable[Learner] | Mapping[str, Learner],
    problem: Problem,
    horizon: int,
    replications: int = 1,
    seed: int | None = None,
    *,
    engine: Engine = "auto",
    n_jobs: int = 1,
    progress: bool | Callable[[float], None] | None = None,
) -> Comparison:
    """Simulate several learners on one problem.

    Parameters
    ----------
    learners
        A sequence, named after their classes (and what differs, where a class comes up more
        than once), or a mapping from your own names.
    problem, horizon, replications, seed, engine, n_jobs, progress
        As for :func:`uli_fast.simulate`; every learner gets the same seed.

    Returns
    -------
    Comparison
        With ``table()``, ``plot()``, ``report(path)`` and the Runs of each learner.

    Examples
    --------
    >>> import uli_fast as uli
    >>> learners = [uli.BettingElimination(), uli.KLUCB()]
    >>> problem = uli.BernoulliBandit([0.7, 0.5])
    >>> comparison = uli.compare(learners, problem, horizon=10**6, replications=5, seed=1)
    >>> list(comparison.runs)
    ['BettingElimination', 'KLUCB']
    """
    named = named_learners(learners)
    for learner in named.values():  # before the first of them is run
        paired(learner, problem, _check.horizon("horizon", horizon), engine)
    results: dict[str, Runs] = {}
    for name, learner in named.items():
        results[name] = simulate(
            learner,
            problem,
            horizon,
            replications,
            seed,
            engine=engine,
            n_jobs=n_jobs,
            progress=progress,
        )
        seed = results[name].seed
    return Comparison(results)


def named_learners(
    learners: Iterable[Learner] | Mapping[str, Learner],
) -> dict[str, Learner]:
    """Return learners under their names, refusing anything else, and the same one twice."""
    if isinstance(learners, Mapping):
        named = dict(learners)
    else:
        try:
            given = list(learners)
        except TypeError:
            said = f"must be a sequence or a mapping{_meant(learners)}"
            raise ArgumentError("learners", said) from None
        if any(x == y for x, y in combinations(given, 2)):
            raise ArgumentError("learners", "holds the same learner twice")
        named = dict(zip(_names(given), given, strict=True))
    if not named:
        raise ArgumentError("learners", "must hold at least one learner")
    for name, learner in named.items():
        if not isinstance(name, str):
            raise ArgumentError("learners", f"names must be strings, got {name!r}")
        if not is_learner(learner):
            said = kinds.called(learner, ORDER)
            raise ArgumentError("learners", f"{name}: is not a learner: {said}")
    return named


def _meant(learners: Any) -> str:
    """Say what is likely to have been meant by something that is not a list of learners."""
    if kinds.is_problem(learners):
        return f", got {kinds.called(learners, ORDER)}"
    return f", got {learners!r}: put it in a list" if is_learner(learners) else ""


def _names(learners: list[Any]) -> list[str]:
    """Return the learners' names, with the parameters in which those of one name differ."""
    kinds = [x.title if is_learner(x) else type(x).__name__ for x in learners]
    names = []
    for learner, kind in zip(learners, kinds, strict=True):
        alike = [x for x, other in zip(learners, kinds, strict=True) if other == kind]
        alike = [x for x in alike if type(x) is type(learner)]
        parameters = [f.name for f in fields(learner)] if is_dataclass(learner) else []
        differing = [
            f"{name}={_short(getattr(learner, name))}"
            for name in parameters
            if any(getattr(x, name) != getattr(learner, name) for x in alike)
        ]
        names.append(f"{kind} ({', '.join(differing)})" if differing else kind)
    return [
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    ]


def _short(value: Any) -> str:
    """Return a parameter in a word: of an object its class, of a function its name."""
    if isinstance(value, int | float | str | tuple | None):
        return str(value)
    return str(getattr(value, "__name__", type(value).__name__))
