"""How a learner goes through a log that others made (docs/replay.md).

Each way below yields the number of the row after which something is known: an interval is
narrower, an arm is dropped. The learner's player does the arithmetic.

* ``in_rows`` takes the rows as they come: confidence intervals that hold at all times at once do
  not ask who chose the arms.
* ``in_queues`` lets the learner choose: an arm's next outcome is the first row of that arm that
  was not used. Which rows there are may depend on outcomes in any way. ``in_allocations`` is the
  same by sums, from look to look.
* ``in_blocks`` uses every row, by counts and sums from look to look. The counts must not depend on
  outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from uli_fast._registry import LEARNERS
from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, UnsupportedError
from uli_fast.formulas.betting_elimination import next_look
from uli_fast.learners._arms import ArmLearner
from uli_fast.logs.log import Log
from uli_fast.players._assumptions import MEANS, MISSING, ROWS, of_spread
from uli_fast.players._certificate import Certificate

Course = Callable[[Any, Log], Iterator[int]]
ASSIGNMENTS = ("any", "randomized")

WHY_MISSING = "no outcome in the log"
# What stands for MEANS, whose order is that of the log.
QUEUED = (
    "given the earlier outcomes of its arm, and whatever other arms gave before it or after, an "
    "outcome has its arm's mean, which never changes"
)
CHOSEN = (
    "arms were chosen by what came earlier in the log, in any way, and by nothing else that "
    "foretells an outcome"
)
PLANNED = (
    "given the arms of all rows and all earlier outcomes, an outcome has its arm's mean, which "
    "never changes"
)
DRAWN = "arms were assigned by a plan or by draws that no outcome had a part in"
SPREAD = "given the same, an outcome is R-subgaussian around its mean with R = {R:g}"
LOST = "whether an outcome is missing may depend on that outcome, but not on that of any other row"
FOUND = "which arms the log has was settled before its first row"


def in_rows(player: Any, log: Log) -> Iterator[int]:
    """Take every row of an arm still in play (successive elimination)."""
    units, at, look = _units(player, log), 0, 1
    player.tally.largest[0] = np.nanmax(np.abs(log.rewards), initial=0.0)
    while at < log.arms.size and player.arm_state.active.sum() > 1:
        to = min(look, log.arms.size)
        at += player.absorb_log(log.arms[at:to], units[at:to])
        look = next_look(at) if at == to else look
        yield at


def in_queues(player: Any, log: Log) -> Iterator[int]:
    """Tell every decision of the learner the next row of its arm."""
    queues = [np.flatnonzero(log.arms == a).tolist()[::-1] for a in range(len(log.labels))]
    numbers = {label: a for a, label in enumerate(player.labels)}
    rewards, state, row, used, look = log.rewards.tolist(), player.arm_state, 0, 0, 1
    left = int(state.active.sum())
    while left > 1:
        decision = player.ask()
        queue = queues[numbers[decision.arm]]
        if not queue:
            if used:
                yield row
            return
        i = queue.pop()
        row, used = max(row, i + 1), used + 1
        if rewards[i] == rewards[i]:
            player.tell(decision.id, rewards[i])
        else:
            player.tell_missing(decision.id, WHY_MISSING)
        before, left = left, int(state.active.sum())
        if used == look or left < before:
            look = next_look(used) if used == look else look
            yield row


def in_allocations(player: Any, log: Log) -> Iterator[int]:
    """Do what ``in_queues`` does from look to look: rewards 0 and 1 need no more than sums."""
    queues, row = _Queues(log), 0
    while len(player.active) > 1:
        plays = player.allocation()
        if not all(queues.has(arm, n) for arm, n in plays.items()):
            return
        row = max(row, *(queues.row(arm, n) for arm, n in plays.items()))
        player.tell_block({arm: queues.taken(arm, n) for arm, n in plays.items()})
        yield row


def in_blocks(player: Any, log: Log) -> Iterator[int]:
    """Take all rows up to the one that gives every survivor enough plays for the next look."""
    queues = _Queues(log)
    while len(player.active) > 1:
        need, arms = min(player.allocation().values()), player.active
        if not all(queues.has(arm, need) for arm in arms):
            return
        row = max(queues.row(arm, need) for arm in arms)
        sums = {arm: queues.taken(arm, queues.until(arm, row)) for arm in arms}
        try:
            player.tell_block(sums)
        except ArgumentError as problem:  # of a range too far from 0, which the caller gave
            raise ArgumentError("low", problem.problem) from None
        yield row


class _Queues:
    """The rows of each arm that were not used."""

    def __init__(self, log: Log) -> None:
        order = np.argsort(log.arms, kind="stable")
        ends = np.cumsum(np.bincount(log.arms, minlength=len(log.labels)))
        rows = np.split(order, ends[:-1])
        self._rows: dict[Any, I64] = dict(zip(log.labels, rows, strict=True))
        self._at = dict.fromkeys(log.labels, 0)
        self._rewards = log.rewards

    def has(self, arm: Any, n: int) -> bool:
        """Return whether n rows of an arm are left."""
        return bool(self._at[arm] + n <= self._rows[arm].size)

    def row(self, arm: Any, n: int) -> int:
        """Return the number of the n-th row of an arm from here, from 1."""
        return int(self._rows[arm][self._at[arm] + n - 1]) + 1

    def until(self, arm: Any, row: int) -> int:
        """Return how many rows of an arm are left up to a row of the log."""
        return int(np.searchsorted(self._rows[arm], row)) - self._at[arm]

    def taken(self, arm: Any, n: int) -> tuple[int, float, int]:
        """Use n rows of an arm; return their number, their sum and how many have no outcome."""
        at = self._at[arm]
        self._at[arm] = at + n
        rewards = self._rewards[self._rows[arm][at : at + n]]
        return n, float(np.nansum(rewards)), int(np.isnan(rewards).sum())


def _units(player: Any, log: Log) -> F64:
    if np.isinf(player.low):
        return log.rewards
    return np.asarray((log.rewards - player.low) / (player.high - player.low))


COURSES: dict[str, Course] = {"rows": in_rows, "queues": in_queues, "blocks": in_blocks}


def course_of(learner: ArmLearner, assignment: str) -> Course:
    """Return how a learner goes through a log; one that learns nothing certain is refused."""
    if learner.reads_logs:
        return COURSES[learner.reads_logs[assignment]]
    why = "it weighs its own draws by their probabilities, or goes by more than arms and rewards"
    if learner.baseline:
        why = "it promises nothing, whatever the outcomes"
    able = [row.name for row in LEARNERS if row.load().reads_logs]
    raise UnsupportedError(
        f"{type(learner).__name__} cannot be replayed: {why}. "
        f"{', '.join(able[:-1])} and {able[-1]} can"
    )


def faster(course: Course, player: Any, log: Log) -> Course:
    """Return the same course by sums, where rewards are 0 and 1 and the learner takes sums."""
    units = _units(player, log)
    binary = bool(((units == 0.0) | (units == 1.0) | np.isnan(units)).all())
    able = course is in_queues and hasattr(player, "tell_block") and math.isfinite(player.low)
    near = player.low <= 0.0 <= player.high  # sums of others may be rounded
    return in_allocations if able and binary and near else course


def certified(player: Any, course: Course) -> Certificate:
    """Return what is certain about every active arm; F needs the arms to have come in turn.

    Live, betting goes on where means change in step. Rows of a log are compared across time: here
    outcomes that contradict constant means leave nothing certain.
    """
    player.refuse_contradiction()
    if course is in_rows:
        return cast(Certificate, player.certified(in_turn=False))
    return cast(Certificate, player.certificate())


def assumed(player: Any, log: Log, course: Course) -> tuple[str, ...]:
    """Return everything that is believed about a log and was not checked."""
    if course is in_rows:
        found: list[str] = [MEANS]
    else:
        found = [PLANNED, DRAWN] if course is in_blocks else [QUEUED, CHOSEN]
    if math.isinf(player.low) and course is not in_rows:
        found.append(SPREAD.format(R=player.learner.R))
    else:
        found.append(of_spread(player))
    if player.lost:
        found.append(MISSING)
        if course is not in_rows:
            found.append(LOST)
    return (*found, ROWS, *(() if log.declared else (FOUND,)))
