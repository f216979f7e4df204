"""Simulation: checks what is asked for; the only place that chooses an engine."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from uli_fast import _check
from uli_fast._support.progress import progress_bar
from uli_fast._support.streams import entropy_of
from uli_fast._typing import I64, Engine, Played
from uli_fast.errors import ArgumentError, EngineError
from uli_fast.learners._arms import ArmLearner
from uli_fast.learners._base import Learner
from uli_fast.learners._policies.runs import PolicyLearner
from uli_fast.learners._sets import SetLearner
from uli_fast.learners._setting import LearnerSetting
from uli_fast.problems import kinds
from uli_fast.problems.arms import ArmBandit
from uli_fast.problems.kinds import Problem
from uli_fast.problems.linear import LinearBandit
from uli_fast.problems.tabular_mdp import TabularMDP
from uli_fast.results.runs import Runs
from uli_fast.simulation.outcomes import ArmOutcome, PolicyOutcome, RunPlan, SetOutcome
from uli_fast.simulation.runner import play_all, threads_of

# Counts at the recorded rounds are kept up to this size, unless asked for.
LARGEST_PLAYS = 256 * 2**20


def simulate(
    learner: Learner,
    problem: Problem,
    horizon: int,
    replications: int = 1,
    seed: int | None = None,
    engine: Engine = "auto",
    rounds: Iterable[int] | None = None,
    n_jobs: int = 1,
    progress: bool | Callable[[float], None] | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_plays: bool | None = None,
    first_replication: int = 0,
) -> Runs:
    """Play a learner against a problem and return what happened.

    Parameters
    ----------
    learner, problem
        What plays, and against what.
    horizon
        Number of rounds (of episodes, on a TabularMDP), up to 10**18.
    replications
        Number of independent runs; run r depends on ``seed`` and r alone.
    seed
        A whole number; None takes fresh entropy, kept in ``runs.seed``.
    engine
        "skip" jumps over rounds whose decisions are certain, exactly in law;
        "rounds" plays them one by one; "auto" skips where it can.
    rounds
        Rounds at which counts and regret are recorded; by default about 100
        log-spaced ones. Metrics over all rounds do not depend on them.
    n_jobs
        Threads; -1 for one per core. The result is the same for any number.
    progress
        None shows a bar on an interactive terminal after a second, True always,
        False never; a function receives the fraction done.
    checkpoint
        A folder in which finished replications are kept every few seconds: the same call
        again goes on from there, and one with more replications adds to them.
    keep_plays
        Whether to keep the counts at the recorded rounds; None keeps them up to
        256 MB.
    first_replication
        The number of the first replication, to add to earlier runs with the same seed.

    Returns
    -------
    Runs
        Counts and regret at the recorded rounds; the check of the guarantee and last plays over
        all of them.

    Examples
    --------
    >>> import uli_fast as uli
    >>> problem = uli.BernoulliBandit([0.62, 0.60, 0.50])
    >>> learner = uli.BettingElimination(delta=0.05)
    >>> runs = uli.simulate(learner, problem, horizon=10**12, replications=50, seed=1)
    >>> runs.coverage().failures  # runs that broke F at any of 10^12 rounds
    0
    >>> runs.plays.shape  # replications, recorded rounds, arms
    (50, 98, 3)
    """
    if checkpoint is not None:
        from uli_fast.simulation.checkpoints import simulate_kept

        asked = (learner, problem, horizon, replications, seed, engine, rounds)
        return simulate_kept(checkpoint, asked, n_jobs, progress, keep_plays, first_replication)
    T = _check.horizon("horizon", horizon)
    M = _check.replications("replications", replications)
    entropy = entropy_of(_check.seed("seed", seed))
    recorded = rounds_to_record(rounds, T)
    offset = _check.whole("first_replication", first_replication, least=0)
    threads = min(threads_of(_check.jobs("n_jobs", n_jobs)), M)
    on, chosen = paired(learner, problem, T, engine)
    if keep_plays and not isinstance(learner, ArmLearner):
        raise ArgumentError("keep_plays", "is for learners on finitely many arms")
    guarantee = on.guarantee_if_any()
    plan = RunPlan(on, T, chosen, M, recorded, entropy, repr(problem))
    outcome: Any
    if isinstance(learner, SetLearner):
        outcome = SetOutcome(plan)
    elif isinstance(learner, PolicyLearner):
        outcome = PolicyOutcome(plan)
    else:
        if keep_plays is None:
            keep_plays = keeps_plays(plan.on.arms.K, recorded.size, M)
        outcome = ArmOutcome(plan, bool(keep_plays))
    with progress_bar(progress, M) as bar:
        play_all(outcome, M, (entropy, offset), threads, bar)
    runs: Runs = outcome.runs(guarantee)
    return runs


def paired(learner: Any, problem: Any, horizon: int, engine: str) -> tuple[LearnerSetting, Played]:
    """Return a learner on a problem, and the engine; refuse what cannot be played."""
    for kind, played_on, what in (
        (SetLearner, LinearBandit, "a LinearBandit"),
        (PolicyLearner, TabularMDP, "a TabularMDP"),
        (ArmLearner, ArmBandit, "a bandit with finitely many arms"),
    ):
        if isinstance(learner, kind):
            problem = learner.reduced(problem)
            if not isinstance(problem, played_on):
                raise ArgumentError("problem", f"is not {what}: {problem!r}")
            break
    else:
        said = kinds.called(learner, "simulate(learner, problem, horizon)")
        raise ArgumentError("learner", f"is not a learner: {said}")
    if isinstance(problem, ArmBandit):
        problem.check_horizon(horizon)
    player: Learner = learner  # of a kind that plays this problem
    on = player.on(problem)
    player.check(on, horizon)
    return on, chosen_engine(on, engine)


def chosen_engine(on: LearnerSetting, engine: str) -> Played:
    """Return the engine that was asked for, for "auto" the preferred one; refuse others."""
    available = on.learner.engines_for(on.about)
    if engine == "auto" or engine in available:
        return cast(Played, available[0] if engine == "auto" else engine)
    _check.engine(engine)
    why_not = f"{type(on.about).__name__} has no law for the sum of many rewards"
    if "skip" not in on.learner.engines:
        why_not = f"{type(on.learner).__name__} is played round by round only"
    raise EngineError("engine", f"{engine!r} is not available: {why_not}")


def rounds_to_record(rounds: Iterable[int] | None, horizon: int) -> I64:
    """Return the rounds that were asked for, or some 100 log-spaced ones."""
    if rounds is None:
        return np.array(_log_spaced(horizon), dtype=np.int64)
    return _check.recorded_rounds("rounds", rounds, horizon)


@functools.lru_cache(64)
def _log_spaced(last: int) -> tuple[int, ...]:
    """Return rounds up to the last; it takes as long as a short run, and horizons come again."""
    spaced = {round(math.exp(x)) for x in np.linspace(0.0, math.log(last), 100)}
    return tuple(sorted({min(max(r, 1), last) for r in spaced} | {1, last}))


def keeps_plays(arms: int, recorded: int, replications: int) -> bool:
    """Return whether counts of so many arms at so many rounds are kept unless asked for."""
    return 8 * replications * recorded * arms <= LARGEST_PLAYS
