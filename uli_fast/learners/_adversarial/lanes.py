"""Exp3.P on Bernoulli arms: replications side by side in the lanes of a kernel.

A lane carries its own xoshiro256++ state, and what it computes depends on nothing
but its arms and its phase: lanes are regrouped in every phase, by the number of
arms they have left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uli_fast._support.memory import aligned
from uli_fast._typing import F64, I64, U64
from uli_fast.learners._adversarial.phases import PlannedPhase

if TYPE_CHECKING:
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.exp3p import Lanes, Seats, Shape, Slope


class _Block(NamedTuple):
    """Lanes that are played in one call."""

    lanes: Lanes
    seats: Seats
    rates: tuple[float, float]  # gamma, eta
    slope: Slope
    shape: Shape


class _Room:
    """The lanes of all blocks with k arms: allocating each of their arrays took as long as playing.

    Wide blocks come first, and begin on cache lines.
    """

    def __init__(self, k: int, members: int) -> None:
        from uli_fast.kernels.exp3p import ROWS, WIDE

        self.k, most = k, members + WIDE
        self.weights, self.sums = aligned(k * most, np.float64), aligned(most, np.float64)
        self.weights[:], self.sums[:] = 1.0, k
        self.losses, self.estimates = (aligned(k * most, np.float64) for _ in "ab")
        self.plays, self.last = (aligned(k * most, np.int64) for _ in "ab")
        self.words, self.scratch = aligned(4 * most, np.uint64), aligned(ROWS * WIDE, np.float64)

    def lanes(self, at: int, R: int) -> Lanes:
        """Return R lanes after the first ``at``; scratch is for one block after the other."""
        from uli_fast.kernels.exp3p import ROWS, Lanes

        per_arm = slice(self.k * at, self.k * (at + R))
        return Lanes(
            w=self.weights[per_arm],
            W=self.sums[at : at + R],
            q=self.losses[per_arm],
            L=self.estimates[per_arm],
            n=self.plays[per_arm],
            last=self.last[per_arm],
            words=self.words[4 * at : 4 * (at + R)],
            scratch=self.scratch[: ROWS * R],
        )


class LaneTeam:
    """Replications that go through the phases of Exp3.P in lockstep."""

    def __init__(
        self,
        loss_probabilities: F64,
        states: ArmState,
        words: U64,
        parameters: Callable[[int, int, float], tuple[float, float]],
    ) -> None:
        self.q, self.states, self.words, self.parameters = (
            loss_probabilities,
            states,
            words,  # (M, 4) streams
            parameters,
        )
        self.blocks: list[_Block] = []
        self.played = 0  # rounds of this phase

    def begin(self, phase: PlannedPhase) -> None:
        """Pack the replications with more than one arm into blocks."""
        from uli_fast.kernels.exp3p import shape_of, slope_of

        self.blocks, self.played = [], 0
        left = self.states.active.sum(axis=1)
        for k in sorted(set(left.tolist()) - {1}):
            rates = self.parameters(k, phase.rounds, phase.delta)
            waiting = np.flatnonzero(left == k)
            arms = self.states.active[waiting].nonzero()[1].reshape(-1, k)
            at, room = 0, _Room(k, waiting.size)
            while at < waiting.size:
                shape = shape_of(waiting.size - at)
                own = slice(at, at + shape.lanes)
                lanes = room.lanes(at, shape.lanes)
                seats = self._seat(lanes, waiting[own], arms[own])
                self.blocks.append(_Block(lanes, seats, rates, slope_of(rates[1]), shape))
                at += shape.lanes

    def _seat(self, lanes: Lanes, who: I64, arms: I64) -> Seats:
        from uli_fast.kernels.exp3p import Seats, take_seats

        seats = Seats(who, arms)
        take_seats(lanes, seats, self.states, self.words, self.q)
        return seats

    def play(self, rounds: int, record: RoundRecord) -> None:
        """Play this many rounds in every block and record them."""
        from uli_fast.kernels.exp3p import play_seats

        for lanes, seats, rates, slope, shape in self.blocks:
            start = (int(self.states.clock[seats.who[0], 0]), self.played, rounds)
            play_seats(lanes, seats, self.states, self.words, record, (rates, start), slope, shape)
        self.played += rounds

    def estimates(self) -> Iterator[tuple[I64, I64, F64]]:
        """Yield replications, their active arms and the loss estimates of these."""
        for lanes, seats, _, _, shape in self.blocks:
            L = lanes.L.reshape(-1, shape.lanes)[:, : seats.who.size]
            yield seats.who, seats.arms, L.T
