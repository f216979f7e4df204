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

from uli_fast._log import Log
from uli_fast._looks import next_look
from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, UnsupportedError
from uli_fast.players._assumptions import MEANS, MISSING, ROWS, of_spread
from uli_fast.players._base import Player
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
LOST = "whether an outcome is missing may hang on that outcome, and on that of no other row"
FOUND = "which arms the log has was settled before its first row"


def in_rows(player: Any, log: Log) -> Iterator[int]:
    """Take every row of an arm still in play (successive elimination)."""
    from uli_fast.kernels.successive_elimination import absorb_log

    units, at, look = _units(player, log), 0, 1
    about = (player.learner.delta, player._unit_noise)
    player._largest = float(np.nanmax(np.abs(log.rewards), initial=0.0))
    while at < log.arms.size and player._state.active.sum() > 1:
        to = min(look, log.arms.size)
        rows = log.arms[at:to], units[at:to]
        state, bounds, known, lost = player._state, player._bounds, player._known, player._lost
        at += int(absorb_log(state, bounds, known, lost, *rows, *about))
        look = next_look(at) if at == to else look
        yield at


def in_queues(player: Any, log: Log) -> Iterator[int]:
    """Tell every decision of the learner the next row of its arm."""
    queues = [np.flatnonzero(log.arms == a).tolist()[::-1] for a in range(len(log.labels))]
    numbers = {label: a for a, label in enumerate(player.labels)}
    rewards, state, row, used, look = log.rewards.tolist(), player._state, 0, 0, 1
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


def course_of(learner: Any, assignment: str) -> Course:
    """Return how a learner goes through a log; one that learns nothing certain is refused."""
    from uli_fast.learners.betting_elimination import BettingElimination
    from uli_fast.learners.phased_elimination import PhasedElimination
    from uli_fast.learners.successive_elimination import SuccessiveElimination

    if isinstance(learner, SuccessiveElimination):
        return in_rows
    if isinstance(learner, PhasedElimination):
        return in_queues
    if isinstance(learner, BettingElimination):
        return in_blocks if assignment == "randomized" else in_queues
    why = "it weighs its own draws by their probabilities, or goes by more than arms and rewards"
    if learner.baseline:
        why = "it promises nothing, whatever the outcomes"
    raise UnsupportedError(
        f"{type(learner).__name__} cannot be replayed: {why}. "
        "BettingElimination, SuccessiveElimination and PhasedElimination can"
    )


def faster(course: Course, player: Any, log: Log) -> Course:
    """Return the same course by sums, where rewards are 0 and 1 and the learner takes sums."""
    units = _units(player, log)
    binary = bool(((units == 0.0) | (units == 1.0) | np.isnan(units)).all())
    able = course is in_queues and hasattr(player, "tell_block") and math.isfinite(player.low)
    near = player.low <= 0.0 <= player.high  # sums of others may be rounded
    return in_allocations if able and binary and near else course


def certified(player: Any, course: Course) -> Certificate:
    """Return what is certain of every active arm; F needs the arms to have come in turn.

    Live, betting goes on where means change in step. Rows of a log are compared across time: here
    outcomes that contradict constant means leave nothing certain.
    """
    Player._refuse_contradiction(player)
    if course is in_rows:
        return cast(Certificate, player._certified(in_turn=False))
    return cast(Certificate, player.certificate())


def assumed(player: Any, log: Log, course: Course) -> tuple[str, ...]:
    """Return everything that is believed of a log and was not checked."""
    if course is in_rows:
        found: list[str] = [MEANS]
    else:
        found = [PLANNED, DRAWN] if course is in_blocks else [QUEUED, CHOSEN]
    if math.isinf(player.low) and course is not in_rows:
        found.append(SPREAD.format(R=player.learner.R))
    else:
        found.append(of_spread(player))
    if player._lost.any():
        found.append(MISSING)
        if course is not in_rows:
            found.append(LOST)
    return (*found, ROWS, *(() if log.declared else (FOUND,)))
