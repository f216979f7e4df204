"""What a trial with a learner would be like: chances, patients and events, from many runs.

Every learner is played once, in all replications. Its path depends neither on the horizon nor
on what is recorded, so one run says both what has happened when the patients run out and, for
a learner that drops arms, after how many patients it would have dropped them: such runs are
followed beyond the horizon.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from uli_fast import _check
from uli_fast._support.progress import Progress, progress_bar
from uli_fast._support.streams import entropy_of
from uli_fast._typing import Engine
from uli_fast.errors import ArgumentError
from uli_fast.learners._arms import ArmLearner
from uli_fast.learners._kinds import is_arm_learner
from uli_fast.planning.fixed_trial import LARGEST_GROUP, checked_arms, fixed_trial
from uli_fast.problems.arms import ArmBandit
from uli_fast.results.characteristics import LearnerCharacteristics, OperatingCharacteristics
from uli_fast.results.metrics import LEVEL
from uli_fast.simulation.compare import named_learners
from uli_fast.simulation.runner import threads_of
from uli_fast.simulation.simulate import paired, simulate

# How far drops are followed unless asked for: a number of rounds where they can be skipped,
# where they are played one by one this many times the horizon.
FOLLOWED, TIMES = 10**9, 10


def operating_characteristics(
    learners: ArmLearner | Iterable[ArmLearner] | Mapping[str, ArmLearner],
    problem: ArmBandit,
    horizon: int,
    replications: int = 2000,
    seed: int | None = None,
    *,
    followed: int | None = None,
    alpha: float = 0.05,
    level: float = LEVEL,
    events: str = "events",
    engine: Engine = "auto",
    n_jobs: int = 1,
    progress: bool | Callable[[float], None] | None = None,
) -> OperatingCharacteristics:
    """Simulate trials with some learners, and say what a trial of this size would be like.

    A reward is a good outcome, its absence an event. The usual trial of fixed size
    (:func:`uli_fast.fixed_trial`) stands beside the learners where outcomes are good or bad and
    there are at most 10**7 patients for each arm.

    Parameters
    ----------
    learners
        One learner on finitely many arms, several, or a mapping from your own names.
    problem
        A bandit with at least two arms: the truth to plan for.
    horizon
        Number of patients.
    replications
        Trials that are simulated with each learner; trial r depends on ``seed`` and r alone.
    seed
        A whole number; None takes fresh entropy, kept in ``result.seed``.
    followed
        Up to which patient dropping is looked for, at least the horizon. By default 10**9
        where rounds can be skipped, 10 times the horizon where they are played one by one, and
        the horizon on a table of rewards.
    alpha
        Of the trial of fixed size: the chance allowed of calling the best arm inferior.
    level
        Of all intervals.
    events
        What events are called in tables and on pages: "deaths", "relapses".
    engine, n_jobs, progress
        As for :func:`uli_fast.simulate`.

    Returns
    -------
    OperatingCharacteristics
        With ``table()``, ``plot()`` and ``report(path)``.

    Examples
    --------
    >>> import uli_fast as uli
    >>> problem = uli.BernoulliBandit([0.75, 0.5])
    >>> plan = uli.operating_characteristics(
    ...     uli.BettingElimination(), problem, horizon=500, replications=200, seed=1
    ... )
    >>> said = plan["BettingElimination"]
    >>> print(said.dropped_all.rate > 0.9, said.lost_best.rate)
    True 0.0
    """
    alone: Any = [learners] if is_arm_learner(learners) else learners
    named: dict[str, Any] = named_learners(alone)
    checked_arms(problem)
    T = _check.horizon("horizon", horizon)
    if T < problem.n_arms:
        raise ArgumentError("horizon", f"must be at least {problem.n_arms}, a patient for each arm")
    M = _check.replications("replications", replications)
    entropy, level = entropy_of(_check.seed("seed", seed)), _check.in_open_unit("level", level)
    called, threads = _check.text("events", events), threads_of(_check.jobs("n_jobs", n_jobs))
    _check.in_open_unit("alpha", alpha)
    ends = {name: _end(learner, problem, T, followed, engine) for name, learner in named.items()}
    no_fixed = _no_fixed(problem, T)
    usual = fixed_trial(problem, T, alpha) if problem.binary and not no_fixed else None
    began, results = time.perf_counter(), dict[str, LearnerCharacteristics]()
    with progress_bar(progress, len(named)) as bar:
        for i, (name, learner) in enumerate(named.items()):
            runs = simulate(
                learner, problem, ends[name], M, entropy, engine, [T, ends[name]],
                threads, partial(_report, bar, i), keep_plays=True,
            )  # fmt: skip
            bar.report(i, 1.0)
            results[name] = LearnerCharacteristics(
                runs.learner,
                T,
                ends[name],
                problem.gaps,
                runs.allocation(by=T),
                None if _never_drops(learner) else runs.eliminated_at,
                problem.scale,
                level,
                runs.tv_bound,
            )
    worse, bounded = problem.gaps > 0.0, problem.high is not None
    return OperatingCharacteristics(
        repr(problem),
        problem.names,
        problem.means,
        problem.gaps,
        T,
        M,
        entropy,
        results,
        usual,
        T * float(worse.mean()),
        T * float(1.0 - problem.unit_means.mean()) if bounded else math.nan,
        called,
        time.perf_counter() - began,
        no_fixed,
    )


def _end(learner: Any, problem: ArmBandit, T: int, followed: Any, engine: str) -> int:
    """Return up to which patient a learner is simulated, refusing what cannot be."""
    if not is_arm_learner(learner):
        raise ArgumentError("learners", f"must play finitely many arms, got {learner!r}")
    last = T if followed is None else _check.horizon("followed", followed)
    if last < T:
        raise ArgumentError("followed", f"must be at least the horizon {T}, got {last}")
    _, chosen = paired(learner, problem, T, engine)
    if _never_drops(learner):
        return T
    if followed is None and not problem.runs_out:
        last = max(T, FOLLOWED) if chosen == "skip" else min(TIMES * T, _check.LARGEST_HORIZON)
    paired(learner, problem, last, engine)
    return last


def _no_fixed(problem: ArmBandit, T: int) -> str:
    """Say why there is no trial of fixed size, where there could be one with fewer patients."""
    each = T // problem.n_arms
    if not problem.binary or each <= LARGEST_GROUP:
        return ""
    return f"{each:.6g} patients on each arm; beyond {LARGEST_GROUP:,} it is not computed"


def _never_drops(learner: ArmLearner) -> bool:
    """Return whether arms stay in play for ever: rivals without a promise drop none."""
    return learner.baseline


def _report(bar: Progress, i: int, fraction: float) -> None:
    """Pass on how far one learner is; that it is done is said once, by the caller."""
    bar.report(i, min(fraction, 0.999))
