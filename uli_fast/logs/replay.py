"""What a log of past outcomes would have shown: arms dropped, intervals, what is certain.

Nobody asked the learner when the log was made. What it can still say about it, and what must be
assumed about the log for that, is worked out in docs/replay.md. How a learner goes through the
rows is in courses.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, I64, Assignment
from uli_fast.errors import NoGuaranteeError
from uli_fast.learners._arms import ArmLearner
from uli_fast.learners._kinds import arm_learner
from uli_fast.logs.courses import ASSIGNMENTS, assumed, certified, course_of, faster
from uli_fast.logs.log import Log, read_log
from uli_fast.players._certificate import Certificate
from uli_fast.results.replay import LogDrop, Looks, Replay


def replay(
    learner: ArmLearner,
    log: Any,
    arm: str = "arm",
    reward: str = "reward",
    *,
    arms: Any = None,
    low: float = 0.0,
    high: float = 1.0,
    assignment: Assignment = "any",
) -> Replay:
    """Say what a log of past outcomes would have shown.

    Parameters
    ----------
    learner
        BettingElimination, SuccessiveElimination or PhasedElimination.
    log
        The rows in order of time: the path of a CSV file, a frame of pandas or polars, a mapping
        of columns, or pairs (arm, reward). A reward that is not there is a missing outcome.
    arm, reward
        The columns, by their names; pairs have none.
    arms
        The arms, if they are to be named beforehand; else those of the log, by name.
    low, high
        The range of the rewards; ``-inf, inf`` if unbounded, for learners with an R.
    assignment
        How the arms of the rows came about. "any": by whatever had happened before, in any way.
        "randomized": by a plan or by draws that no outcome had a part in; BettingElimination can
        then use all rows, in whatever proportion the arms come.

    Returns
    -------
    Replay
        What was dropped when, what is certain about the rest, and what that assumes.

    Examples
    --------
    >>> import uli_fast as uli
    >>> log = [("old", 0.0), ("new", 1.0)] * 200
    >>> found = uli.replay(uli.BettingElimination(leader=1), log)
    >>> found.active, found.dropped["old"].row < 100
    (('new',), True)
    """
    arm_learner("learner", learner)
    way = _check.one_of("assignment", assignment, ASSIGNMENTS)
    course = course_of(learner, way)
    bounds = _check.reward_range(low, high)
    _check.unit_noise(learner.R, bounds)
    read = read_log(log, arm, reward, arms, bounds)
    player = learner.start(read.labels, low=bounds[0], high=bounds[1])
    looks, dropped = _Looks(read.labels), {}
    for row in faster(course, player, read)(player, read):
        for name in looks.note(player, row):
            dropped[name] = LogDrop(row, looks.used())
    assumes = assumed(player, read, course)
    return Replay(
        learner=learner,
        source=read.source,
        assignment=way,
        arms=read.labels,
        rows=read.arms.size,
        **_counted(read),
        plays=looks.used(),
        missing=read.missing,
        dropped=dropped,
        active=tuple(str(name) for name in player.active),
        best=str(player.recommend()) if player.came().any() else None,
        intervals={str(name): ends for name, ends in player.intervals().items()},
        assumes=assumes,
        looks=looks.arrays(),
        _certified=_certificate(player, course, assumes),
    )


class _Looks:
    """Keeps what was known, look by look."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        self._labels = labels
        self._rows: list[int] = []
        self._plays: list[I64] = []
        self._ends: list[list[tuple[float, float]]] = []
        self._active: list[B1] = []

    def note(self, player: Any, row: int) -> list[str]:
        """Keep what is known after a row; return who was dropped by it."""
        active: B1 = player.arm_state.active.copy()
        gone = self._active[-1] & ~active if self._active else ~active
        self._rows.append(row)
        self._plays.append(player.arm_state.n.copy())
        self._ends.append(list(player.intervals().values()))
        self._active.append(active)
        return [self._labels[a] for a in np.flatnonzero(gone)]

    def used(self) -> dict[str, int]:
        """Return how many rows of each arm have been used."""
        plays = self._plays[-1].tolist() if self._plays else [0] * len(self._labels)
        return dict(zip(self._labels, plays, strict=True))

    def arrays(self) -> Looks:
        """Return everything that was kept."""
        L, K = len(self._rows), len(self._labels)
        ends = np.array(self._ends, np.float64).reshape(L, K, 2)
        return Looks(
            np.array(self._rows, np.int64),
            np.array(self._plays, np.int64).reshape(L, K),
            ends[:, :, 0],
            ends[:, :, 1],
            np.array(self._active, np.bool_).reshape(L, K),
        )


def _counted(log: Log) -> dict[str, Any]:
    """Return the rows and the mean of each arm in the log."""
    K, came = len(log.labels), ~np.isnan(log.rewards)
    known = np.bincount(log.arms[came], minlength=K)
    sums = np.bincount(log.arms[came], log.rewards[came], minlength=K)
    means = np.where(known > 0, sums / np.maximum(known, 1), np.nan)
    counts = np.bincount(log.arms, minlength=K)
    return {
        "counts": dict(zip(log.labels, counts.tolist(), strict=True)),
        "means": dict(zip(log.labels, means.tolist(), strict=True)),
    }


def _certificate(player: Any, course: Any, assumes: tuple[str, ...]) -> Certificate | str:
    try:
        return certified(player, course)._replace(assumes=assumes)
    except NoGuaranteeError as reason:
        return str(reason)
