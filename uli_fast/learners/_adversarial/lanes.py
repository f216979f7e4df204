"""Exp3.P on Bernoulli arms: replications side by side in the lanes of a kernel.

A lane carries its own xoshiro256++ state, and what it computes depends on nothing
but its arms and its phase: lanes are regrouped in every phase, by the number of
arms they have left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uli_fast._support.memory import aligned
from uli_fast._typing import F64, I64, U64
from uli_fast.learners._adversarial.phases import PlannedPhase

if TYPE_CHECKING:
    from collections.abc import Callable

    from uli_fast.kernels.arms.state import ArmState
    from uli_fast.kernels.exp3p import Lanes, Shape, Slope


class _Block(NamedTuple):
    """Lanes that are played in one call."""

    lanes: Lanes
    shape: Shape
    slope: Slope
    gamma: float
    eta: float
    who: list[int]  # members
    arms: I64  # (k, members) their active arms


class LaneTeam:
    """Replications that go through the phases of Exp3.P in lockstep."""

    def __init__(
        self,
        loss_probabilities: F64,
        members: list[ArmState],
        words: U64,
        parameters: Callable[[int, int, float], tuple[float, float]],
    ) -> None:
        self.q, self.members, self.words, self.parameters = (
            loss_probabilities,
            members,
            words,  # (members, 4) states of the generators
            parameters,
        )
        self.blocks: list[_Block] = []
        self.played = 0  # rounds of this phase

    def begin(self, phase: PlannedPhase) -> None:
        """Pack the members with more than one arm into blocks."""
        from uli_fast.kernels.exp3p import shape_of, slope_of

        self.blocks, self.played = [], 0
        left = np.array([int(member.active.sum()) for member in self.members])
        for k in sorted(set(left.tolist()) - {1}):
            gamma, eta = self.parameters(k, phase.rounds, phase.delta)
            waiting = np.flatnonzero(left == k).tolist()
            while waiting:
                shape = shape_of(len(waiting))
                who, waiting = waiting[: shape.lanes], waiting[shape.lanes :]
                self.blocks.append(self._block(shape, slope_of(eta), gamma, eta, who))

    def _block(
        self, shape: Shape, slope: Slope, gamma: float, eta: float, who: list[int]
    ) -> _Block:
        from uli_fast.kernels.exp3p import ROWS, Lanes

        arms = np.stack([np.flatnonzero(self.members[i].active) for i in who], axis=1)
        k, R = arms.shape[0], shape.lanes
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
        lanes.words[:] = 1  # lanes without a member run along and are ignored
        for r, i in enumerate(who):
            lanes.q[r::R] = self.q[arms[:, r]]
            lanes.n[r::R] = self.members[i].n[arms[:, r]]
            lanes.last[r::R] = self.members[i].last[arms[:, r]]
            lanes.words[r::R] = self.words[i]
        return _Block(lanes, shape, slope, gamma, eta, who, arms)

    def play(self, rounds: int) -> None:
        """Play this many rounds in every block."""
        from uli_fast.kernels.exp3p import play_lanes

        t = int(self.members[0].clock[0])
        for lanes, shape, slope, gamma, eta, who, arms in self.blocks:
            play_lanes(lanes, gamma, eta, t, self.played, rounds, slope, shape)
            R = shape.lanes
            for r, i in enumerate(who):
                self.members[i].n[arms[:, r]] = lanes.n[r::R]
                self.members[i].last[arms[:, r]] = lanes.last[r::R]
                self.words[i] = lanes.words[r::R]
        self.played += rounds

    def estimates(self, i: int) -> F64:
        """Return the loss estimates of member i's active arms."""
        for block in self.blocks:
            if i in block.who:
                return block.lanes.L[block.who.index(i) :: block.shape.lanes]
        raise IndexError(i)
