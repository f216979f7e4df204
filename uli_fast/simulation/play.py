"""The same learners on the user's own environment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._support import clock
from uli_fast._support.progress import progress_bar
from uli_fast.errors import ArgumentError
from uli_fast.guarantees import ratio_by_round
from uli_fast.learners._arms import ArmLearner
from uli_fast.learners._kinds import is_arm_learner
from uli_fast.problems import kinds
from uli_fast.results import metrics
from uli_fast.results.played import runs_of
from uli_fast.results.runs import Runs
from uli_fast.results.tables import DecisionTable, PhaseTable
from uli_fast.simulation.simulate import rounds_to_record


def play(
    learner: ArmLearner,
    reward_fn: Callable[[Any], float],
    horizon: int,
    arms: Any,
    seed: int | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    means: Any = None,
    intercept: float | None = None,
    rounds: Iterable[int] | None = None,
    progress: bool | Callable[[float], None] | None = None,
) -> Runs:
    """Play a learner against ``reward_fn(arm) -> reward`` and return its Runs.

    Parameters
    ----------
    learner
        What plays.
    reward_fn
        Receives the arm (its name, or its number where ``arms`` is a number).
    horizon
        Number of rounds.
    arms
        Number of arms, their names, or, for learners on linear arms, a (K, d) array.
    seed
        For learners that draw random numbers.
    low, high
        The range of the rewards; ``-inf, inf`` if unbounded.
    means
        The arms' true means, if known: they give gaps, regret and the ULI check.
    intercept
        For learners on linear arms: the expected reward where <a, theta> = 0.
    rounds
        Rounds at which counts are recorded; by default about 100 log-spaced ones.
    progress
        As for :func:`uli_fast.simulate`.

    Returns
    -------
    Runs
        One replication. Without ``means`` it has no gaps, and no regret.

    Examples
    --------
    >>> import random
    >>> import uli_fast as uli
    >>> random.seed(1)
    >>> def click(page):
    ...     return float(random.random() < {"old": 0.1, "new": 0.6}[page])
    >>> runs = uli.play(uli.BettingElimination(), click, horizon=1000, arms=["old", "new"])
    >>> print(runs.plays[0, -1].argmax(), runs.eliminated_at[0, 0] > 0)
    1 True
    """
    _refuse_others(learner, reward_fn)
    T = _check.horizon("horizon", horizon)
    recorded = rounds_to_record(rounds, T)
    more: dict[str, Any] = {} if intercept is None else {"intercept": intercept}
    if more and "intercept" not in signature(learner.start).parameters:
        raise ArgumentError("intercept", f"{type(learner).__name__} takes none")
    player = learner.start(arms, seed=seed, horizon=horizon, low=low, high=high, **more)
    K = len(player.labels)
    gaps = None
    if means is not None:
        truth = _check.vector("means", means)
        _check.same_length("means", truth, K)
        _check.within("means", truth, player.low, player.high)
        gaps = truth.max() - truth
    info = player.arms_info()
    if gaps is not None:
        info = player.informed(info, truth)
    on = learner.on(info)
    guarantee = on.guarantee_if_any()
    # A user's f is followed round by round; proved ones decrease and need last plays only.
    follow_f = guarantee is not None and not guarantee.proved and gaps is not None
    worst = 0.0
    started, begun = time.perf_counter(), clock.now()
    counts = np.zeros(K, np.int64)
    last = np.zeros(K, np.int64)
    plays = np.zeros((1, recorded.size, K), np.int64)
    at = 0
    with progress_bar(progress, 1) as bar:
        for t in range(1, T + 1):
            decision = player.ask()
            player.tell(decision.id, reward_fn(decision.arm))
            a = player.labels.index(decision.arm)
            counts[a] += 1
            last[a] = t
            if t == recorded[at]:
                plays[0, at] = counts
                at = min(at + 1, recorded.size - 1)
            if follow_f and gaps is not None and guarantee is not None:
                ratio = ratio_by_round(gaps[[a]], np.array([float(t)]), guarantee)
                worst = max(worst, ratio)
            if t % 1024 == 0 or t == T:
                bar.report(0, t / T)
    spent = clock.now() - begun
    return runs_of(
        learner,
        DecisionTable(
            "arms",
            plays=counts[None],
            last=last[None],
            gaps=gaps,
            names=tuple(str(label) for label in player.labels),
            eliminated=player.arm_state.eliminated[None].copy(),
            recorded=plays,
        ),
        PhaseTable.planned(learner.quotas(on, T), learner.phase_lengths(on, T)),
        began=started,
        ratios=np.array([worst]) if follow_f else None,
        problem=getattr(reward_fn, "__name__", type(reward_fn).__name__),
        horizon=T,
        seed=_check.seed("seed", seed),
        engine="rounds",
        rounds=recorded,
        guarantee=guarantee,
        recorded_regret=None if gaps is None else metrics.regret(plays, gaps),
        seconds=np.array([spent]),
    )


def _refuse_others(learner: Any, reward_fn: Any) -> None:
    """Refuse what cannot play and what cannot be played against."""
    if not is_arm_learner(learner):
        said = _check.called(learner)
        if is_arm_learner(reward_fn):
            said += "; did you mean play(learner, reward_fn, horizon, arms)?"
        raise ArgumentError("learner", f"is not a learner for arms: {said}")
    if not callable(reward_fn):
        said = kinds.called(reward_fn, "simulate(learner, problem, horizon)")
        raise ArgumentError("reward_fn", f"must be callable, got {said}")
