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
            while waiting.size:
                shape = shape_of(waiting.size)
                who, waiting = waiting[: shape.lanes], waiting[shape.lanes :]
                self.blocks.append(self._block(who, k, rates, slope_of(rates[1]), shape))

    def _block(
        self, who: I64, k: int, rates: tuple[float, float], slope: Slope, shape: Shape
    ) -> _Block:
        from uli_fast.kernels.exp3p import ROWS, Lanes, Seats, take_seats

        R = shape.lanes
        lanes = Lanes(
            w=aligned(k * R, np.float64),
            W=aligned(R, np.float64),
            q=aligned(k * R, np.float64),
            L=aligned(k * R, np.float64),
            n=aligned(k * R, np.int64),
            last=aligned(k * R, np.int64),
            words=aligned(4 * R, np.uint64),
            scratch=aligned(ROWS * R, np.float64),
        )
        lanes.w[:], lanes.W[:] = 1.0, k
        seats = Seats(who, self.states.active[who].nonzero()[1].reshape(-1, k))
        take_seats(lanes, seats, self.states, self.words, self.q)
        return _Block(lanes, seats, rates, slope, shape)

    def play(self, rounds: int, record: RoundRecord) -> None:
        """Play this many rounds in every block and record them."""
        from uli_fast.kernels.exp3p import leave_seats, play_seats

        for lanes, seats, rates, slope, shape in self.blocks:
            start = (int(self.states.clock[seats.who[0], 0]), self.played, rounds)
            play_seats(lanes, seats, record, self.states.n, rates, start, slope, shape)
            leave_seats(lanes, seats, self.states, self.words)
            self.states.clock[seats.who, 0] += rounds
        self.played += rounds

    def estimates(self) -> Iterator[tuple[I64, I64, F64]]:
        """Yield replications, their active arms and the loss estimates of these."""
        for lanes, seats, _, _, shape in self.blocks:
            L = lanes.L.reshape(-1, shape.lanes)[:, : seats.who.size]
            yield seats.who, seats.arms, L.T
