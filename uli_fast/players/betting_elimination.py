"""Live elimination by betting.

Decisions are asked for sweep by sweep: the survivors in index order, the leader r times in a
row. A look comes once as many whole sweeps are settled as the next look needs; until then asking
goes on with the present leader and survivors. A sweep keeps the leader and the theta of the
moment it was begun, whatever looks come before its outcomes do: whoever decides late that an
outcome is missing, knowing others, must not choose what they are bet on with.

Blocks of sums (``allocation``, ``tell_block``) take the place of sweeps: m of them, where the
survivor with the fewest plays has m. Every block ends with a look.

What is certain after a look comes from the sums themselves, missing rewards at their worst, and
never exceeds F. Missing rewards of unbounded laws are left out: the arm's own mean stands for
them, and nothing is certified any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._check import Labels
from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, ConflictingRewardError, UliError
from uli_fast.formulas.betting_elimination import log_interval, mixture_level
from uli_fast.formulas.mixture import outer_boundary
from uli_fast.guarantees import Guarantee, betting_looks
from uli_fast.learners._betting import new_bets, new_book
from uli_fast.players import _assumptions
from uli_fast.players._arms import Player
from uli_fast.players._certificate import Certificate, too_large
from uli_fast.players._saved_states import Records, load
from uli_fast.players._sweeps import Epoch, SweepMemory, Sweeps

if TYPE_CHECKING:
    from uli_fast.kernels.betting.book import Book

MARGIN = 1e-6  # of the noise of a sum, what rounding may be off by
# Parts of the book with a column for each bet, of which a state has those that are entered, and
# parts that follow from an epoch's theta.
BY_BET, OF_AN_EPOCH = ("P", "Q", "up", "down"), ("theta", "stake", "odds")


class Block(NamedTuple):
    """A block of sums, and how many decisions came before it."""

    position: int
    id: str | None
    rows: tuple[tuple[int, int, float, int], ...]  # arm, plays, total, missing

    @property
    def sums(self) -> dict[int, tuple[int, float, int]]:
        """The rows by the arms."""
        return {a: (plays, total, missing) for a, plays, total, missing in self.rows}


class BettingMemory(NamedTuple):
    """What is known beside the counts of the arms."""

    book: Book
    new: F64  # (K, 6) what came of the epoch that is being settled
    at: I64  # (1,) the epoch whose outcomes are being taken in
    whole: I64  # (1,) whole sweeps settled since the last look
    gaps: F64  # (2,) certain about every survivor: from the last look, and the least so far
    sweeps: SweepMemory
    blocks: Records


def _block(saved: Any) -> Block:
    position, id, rows = saved
    return Block(position, id, tuple((a, n, float(total), m) for a, n, total, m in rows))


@cache
def _live() -> Any:
    """Return the kernels, which are imported when they are needed: asking Python twice is slow."""
    from uli_fast.kernels.betting import live

    return live


class BettingPlayer(Player):
    """Asks sweep by sweep; drops what the leader beats at the looks."""

    widens: ClassVar[bool] = True
    allows_drift: ClassVar[bool] = True  # what is said then, and assumed, needs no constant means
    chooses_again: ClassVar[bool] = True  # which sweep a decision is in has a part in what is bet

    def __init__(self, learner: Any, labels: Labels, low: float, high: float) -> None:
        super().__init__(learner, labels, low, high)
        K, bounded = len(labels), math.isfinite(low)
        about = (learner.delta, self.unit_noise, learner.leader, bounded)
        self._bets = new_bets(K, *about)
        level = log_interval(K, learner.delta)
        self._level = (level, *((0.0, 1.0) if bounded else self._bets.test[1:].tolist()))
        self.sweeps = Sweeps(self._bets.r)
        self.memory = BettingMemory(
            new_book(K, self._bets),
            np.zeros((K, 6)),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.full(2, math.inf),
            self.sweeps.memory,
            Records(int, (str, type(None)), tuple, make=_block),
        )
        self._named: dict[str, Block] = {}  # the blocks with an id

    # Asking.

    def _choose(self) -> int:
        return self.sweeps.next_arm(self.arm_state.active)

    # Learning.

    def _take_in(self, a: int, reward: float | None) -> None:
        position = self.queue.settled - 1 - self.queue.forgotten
        epoch = self.memory.sweeps.begun[position]
        if epoch != self.memory.at[0]:
            self._enter()
            self._turn_to(epoch)
        super()._take_in(a, reward)
        if self.memory.sweeps.ends[position]:
            self._end_sweep()

    def _turn_to(self, epoch: int) -> None:
        """Set the bets for the sweeps that were begun in an epoch."""
        from uli_fast.kernels.betting.book import set_bets

        self.memory.at[0] = epoch
        set_bets(self.memory.book, self._bets, self.sweeps.epochs[epoch].theta)

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        live = _live()
        self.count(a, reward)
        self._narrow_arm(a)
        row = self.memory.new[a]
        if reward in (0.0, 1.0):
            row[live.PLAYS] += 1.0
            row[live.WINS] += reward
            return
        row[live.OTHERS] += 1.0
        row[live.SUM] += reward
        if self._bets.u.size:
            from uli_fast.kernels.betting.book import take_one

            r = float(self.sweeps.times(a, int(self.memory.at[0])))
            take_one(self.memory.book, a, r, reward)

    def _absorb_missing(self, a: int) -> None:
        from uli_fast.kernels.betting.live import MISSING

        self.count(a, 0.0)
        self._narrow_arm(a)
        self.memory.new[a, MISSING] += 1.0

    def _omit(self, a: int) -> None:
        from uli_fast.kernels.betting.live import OMITTED

        self.memory.new[a, OMITTED] += 1.0

    def _end_sweep(self) -> None:
        from uli_fast.kernels.betting.book import LOOK, SWEEPS

        self.memory.whole[0] += 1
        mark = self.memory.book.mark
        if mark[SWEEPS] + self.memory.whole[0] == mark[LOOK]:
            self._enter()
            self._look(int(self.memory.whole[0]))

    def _enter(self) -> None:
        """Enter what came of the sweeps of an epoch."""
        from uli_fast.kernels.betting.live import enter_all

        leader = self.sweeps.epochs[self.memory.at[0]].leader
        enter_all(self.memory.book, self._bets, self.arm_state.active, self.memory.new, leader)

    def _look(self, sweeps: int) -> None:
        from uli_fast.kernels.betting.book import LEADER
        from uli_fast.kernels.betting.live import look

        state = self.arm_state
        t = int(state.clock[0])
        gap = look(self.memory.book, self._bets, state.active, state.eliminated, t, sweeps)
        self.memory.whole[0] = 0
        epochs, mark = self.sweeps.epochs, self.memory.book.mark
        epochs.append(Epoch(int(mark[LEADER]), float(self.memory.book.theta[0])))
        self.memory.at[0] = len(epochs) - 1
        if not self.tally.omitted.any():
            self.memory.gaps[:] = gap, min(float(self.memory.gaps[1]), gap)
        self.sweeps.drop(state.active)

    # Blocks of sums.

    def allocation(self) -> dict[int | str, int]:
        """Return how often to play each arm until the next look, by anybody and in any order.

        Tell the counts and sums with ``tell_block``. Other numbers are fine if they do not
        depend on the outcomes of the block, and every arm in play is among them.
        """
        from uli_fast.kernels.betting.book import LOOK, SWEEPS

        self._refuse_within_sweep(None)
        mark = self.memory.book.mark
        sweeps = int(mark[LOOK] - mark[SWEEPS] - self.memory.whole[0])
        arms = np.flatnonzero(self.arm_state.active).tolist()
        return {self.labels[a]: sweeps * self.sweeps.times(a) for a in arms}

    def tell_block(self, sums: Mapping[Any, tuple[Any, ...]], block_id: str | None = None) -> None:
        """Give counts and sums of a block of plays, and look.

        Parameters
        ----------
        sums
            For every arm in play ``(plays, total)``, in reward units, or ``(plays, total,
            missing)`` where the outcomes of some of the plays will never come. The plays must
            not depend on the block's outcomes. Arms that are out of play are recorded only.
        block_id
            Telling the same block under the same id again changes nothing.
        """
        found = _check.block("sums", sums, self.labels, self.low, self.high)
        if block_id is not None and self._told_before(_check.key("block_id", block_id), found):
            return
        self._refuse_within_sweep("sums")
        self._refuse_block(found)
        rows = tuple((a, *row) for a, row in found.items())
        self._note_block(Block(len(self.queue), block_id, rows))
        self._take_block(found)

    @property
    def blocks(self) -> tuple[Block, ...]:  # type: ignore[override]
        """The blocks that were told."""
        return tuple(self.memory.blocks)

    def _told_before(self, block_id: str, sums: Mapping[int, tuple[int, float, int]]) -> bool:
        known = self._named.get(block_id)
        if known is not None and known.sums != sums:
            raise ConflictingRewardError("sums", f"block {block_id!r} was told with other sums")
        return known is not None

    def _note_block(self, block: Block) -> None:
        self.memory.blocks.append(block)
        means = (abs(total) / max(n - missing, 1) for n, total, missing in block.sums.values())
        self.tally.largest[0] = max(self.largest, *means)
        if block.id is not None:
            self._named[block.id] = block

    def _refuse_within_sweep(self, name: str | None) -> None:
        """Refuse blocks while decisions are awaited and in the middle of a sweep."""
        problem = ""
        if self.queue.waiting:
            problem = f"decision {self.pending[0]} is still awaited"
        elif self.sweeps.rest:
            problem = f"a sweep has begun: ask for {len(self.sweeps.rest)} more decisions first"
        if problem:
            raise ArgumentError(name, problem) if name else UliError(f"no allocation: {problem}")

    def _refuse_block(self, sums: Mapping[int, tuple[int, float, int]]) -> None:
        bounded = math.isfinite(self.low)
        for a in np.flatnonzero(self.arm_state.active).tolist():
            plays, _, missing = sums.get(a, (0, 0.0, 0))
            if plays - (0 if bounded else missing) < 1:
                raise ArgumentError("sums", f"must have plays of {self.labels[a]!r}, in play")
            if bounded:
                self._refuse_rounded(a, *sums[a])
        if int(self.arm_state.clock[0]) + sum(row[0] for row in sums.values()) > _check.MOST_PLAYS:
            raise ArgumentError("sums", f"are more than {_check.MOST_PLAYS} plays in all")

    def _refuse_rounded(self, a: int, plays: int, total: float, missing: int) -> None:
        """Refuse sums of a range so far from 0 that their rounding is more than a test may miss.

        Where 0 is ``far`` from the range, a float near a sum of N rewards is off by N far 2^-53,
        and so is what is subtracted. The noise of a sum is sqrt(S (N - S) / N) or more in an
        arm's own interval, and that of a few plays where S or N - S is near 0.
        """
        far = max(self.low, -self.high, 0.0)
        N = int(self.arm_state.n[a]) + plays
        S = float(self.arm_state.total[a]) + self._unit_sums(a, plays, total, missing)[1]
        noise = math.sqrt(1.0 + min(S, N - S)) * self.scale
        if 2.0 * N * far * 2.0**-53 > MARGIN * noise:
            raise ArgumentError(
                "sums",
                f"rewards between {self.low!r} and {self.high!r} have sums that are rounded by "
                "more than a test allows for: subtract a constant from all of them",
            )

    def _take_block(self, sums: Mapping[int, tuple[int, float, int]]) -> None:
        from uli_fast.kernels.betting.live import enter_block

        state, K = self.arm_state, len(self.labels)
        plays, total, missing = np.zeros(K), np.zeros(K), np.zeros(K)
        for a in np.flatnonzero(state.active).tolist():
            plays[a], total[a], missing[a] = self._unit_sums(a, *sums[a])
        if missing.any():
            self._note_missing()
        self._enter()
        self._turn_to(len(self.sweeps.epochs) - 1)
        m = int(plays[state.active].min())
        enter_block(self.memory.book, self._bets, state.active, plays, total, missing, m)
        state.n[:] += plays.astype(np.int64)
        state.total[:] += total
        self.tally.lost[:] += missing.astype(np.int64)
        state.clock[0] = state.n.sum()
        state.last[state.active] = state.clock[0]
        for a in np.flatnonzero(state.active).tolist():
            self._narrow_arm(a)
        self._look(int(self.memory.whole[0]) + m)

    def _unit_sums(self, a: int, plays: int, total: float, missing: int) -> tuple[Any, Any, Any]:
        """Return a row on the unit scale; without bounds, missing outcomes are left out."""
        came = plays - missing
        if not math.isfinite(self.low):
            self.tally.omitted[a] += missing
            return came, total, 0
        unit = (total - came * self.low) / self.scale
        return plays, min(max(unit, 0.0), float(came)), missing

    # What is certain.

    def _unit_intervals(self) -> tuple[F64, F64]:
        return self.tally.known[0], self.tally.known[1]

    def _narrow_arm(self, a: int) -> None:
        """Keep what the interval of an arm says after a play or a block."""
        state = self.arm_state
        _live().narrow(
            self.tally.known, a, state.n[a], state.total[a], self.tally.lost[a], *self._level
        )

    def intervals(self) -> dict[int | str, tuple[float, float]]:
        """Return each arm's confidence interval, cut to the declared range.

        Missing outcomes are in it at their worst. All have the whole range where some were left
        out, where R is less than the range allows for, and once the outcomes contradict means
        that never change.
        """
        if self.contradicted:
            return dict.fromkeys(self.labels, (self.low, self.high))
        return super().intervals()

    def certificate(self) -> Certificate:
        """Return what is certain about every active arm, from settled rewards alone.

        The bound never rises, unless outcomes show that means change: then it is that of the last
        look, of gaps averaged over the sweeps so far.
        """
        return super().certificate()

    def _unit_gap_bound(self) -> float:
        """Bound the gap of every survivor; on average over the sweeps so far, if means change."""
        if self.contradicted:
            return float(self.memory.gaps[0])
        return min(float(self.memory.gaps[1]), super()._unit_gap_bound())

    def _envelope(self, promise: Guarantee, t: int) -> float:
        """Return F at the latest round that the sweeps looked at so far can reach.

        Its clock counts sweeps: a block of many plays may hold few. Two arms have a smaller
        F if one of them leads from the second sweep on, which plays asked for before the first
        look and blocks need not keep to.
        """
        from uli_fast.kernels.betting.book import SWEEPS

        if self._complete is not None:
            return math.inf  # what the looks before showed is in the bound
        n, (K, r) = int(self.memory.book.mark[SWEEPS]), (len(self.labels), self._bets.r)
        assumed = betting_looks.pair_variance(float(n), K, r)
        if K == 2 and n and self.memory.book.V.sum() > assumed * (1.0 + 1e-12):
            c = self._drift(self.memory.book.V.sum())
            return float(min(promise.largest_gap, 2.0 * c / n * self.scale))
        return float(promise.bound(1 + min(t - 1, n * (K - 1 + r))))

    def _drift(self, V: float) -> float:
        """Return c: on the event no two arms' sums, of variance V, are off by as much."""
        limit, R, rho = self._bets.test
        return outer_boundary(R * R * V, mixture_level(limit, self._bets.u.size > 0), rho)

    def _refuse_rounding(self) -> None:
        """Refuse outcomes without a range whose sums are rounded by more than a test may miss.

        Ville's inequality leaves nothing of delta to spare. If means are off by a millionth of
        c(n) / n and of an interval's half, the logs of the money are off by less than 1e-3, and
        so is that of the probability to fail. A sum of A terms, entered look by look, is off by
        A 2^-52 of its size at most. Known intervals are no measure: they may not meet.
        """
        from uli_fast.kernels.betting.book import SWEEPS
        from uli_fast.kernels.betting.live import half_width

        active, n = self.arm_state.active, int(self.memory.book.mark[SWEEPS])
        if math.isfinite(self.low) or not self.arm_state.n[active].any():
            return
        level, R, rho = self._level
        least = float(half_width(float(self.arm_state.n[active].max()), R, rho, level))
        if n:
            least = min(least, self._drift(2.0 * self.memory.book.V[active].min()) / n)
        terms = self.queue.settled + len(self.memory.blocks) + 1
        if 2.0 * terms * self.largest * 2.0**-52 > MARGIN * least:
            raise too_large(self.largest)

    def _assumes(self, proved: bool) -> tuple[str, ...]:
        return _assumptions.of_sweeps(self)

    # Saving.

    def forget(self) -> None:
        """Drop the settled decisions."""
        self.sweeps.forget(self.queue.forget())

    def parts(self) -> dict[str, Any]:
        """Return all that changes, by name; of the book what is entered and of no epoch."""
        from uli_fast.kernels.betting.book import ENTERED

        g = int(self.memory.book.mark[ENTERED])
        book = {
            name: x[:, :g] if name in BY_BET else x
            for name, x in self.memory.book._asdict().items()
            if name not in OF_AN_EPOCH
        }
        return super().parts() | {"memory": self.memory._asdict() | {"book": book}}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what ``state`` returned."""
        load(self.memory.book.mark, saved["memory"]["book"]["mark"])  # how much is entered
        super().load(saved)
        self._turn_to(_check.whole("at", self.memory.at[0], 0, len(self.sweeps.epochs) - 1))
        self._named = {block.id: block for block in self.blocks if block.id is not None}

    def _repeat_block(self, block: Block) -> None:
        self.tell_block({self.labels[a]: row for a, row in block.sums.items()}, block.id)
