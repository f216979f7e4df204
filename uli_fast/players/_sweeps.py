"""Sweeps of a betting player: the survivors in index order, the leader r times in a row.

A sweep keeps the leader and the theta of the moment it was begun, whatever looks come before its
outcomes do: they are its epoch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, I64
from uli_fast.players._saved_states import Records


class Epoch(NamedTuple):
    """What sweeps begun between two looks go by."""

    leader: int  # -1 before the first look
    theta: float


class SweepMemory(NamedTuple):
    """Which sweep every decision belongs to, and what sweeps go by."""

    epochs: Records  # one from every look on
    rest: Records  # arms of this sweep still to be asked for, the next one last
    epoch: I64  # (1,) of the sweep that was begun last
    begun: Records  # epoch of the sweep of each decision that is held
    ends: Records  # whether a decision is the last of its sweep


class Sweeps:
    """Which sweep every decision belongs to."""

    def __init__(self, r: int) -> None:
        self._r = r
        epochs = Records(int, float, make=Epoch._make)
        epochs.append(Epoch(-1, 0.5))
        self.memory = SweepMemory(
            epochs, Records(int), np.zeros(1, np.int64), Records(int), Records(int)
        )

    @property
    def epochs(self) -> Records:
        """What sweeps go by, from every look on."""
        return self.memory.epochs

    @property
    def rest(self) -> Records:
        """Arms of this sweep still to be asked for."""
        return self.memory.rest

    def next_arm(self, active: B1) -> int:
        """Return the next arm to ask for; a sweep that begins here is of the last epoch."""
        _, rest, epoch, begun, ends = self.memory
        if not rest:
            epoch[0] = len(self.epochs) - 1
            for a in np.flatnonzero(active)[::-1].tolist():
                rest.extend([a] * self.times(a))
        begun.append(epoch.item())
        arm: int = rest.pop()
        ends.append(int(not rest))
        return arm

    def times(self, a: int, epoch: int = -1) -> int:
        """Return how often an arm is in a sweep of an epoch, by default the last one."""
        return self._r if a == self.epochs[epoch].leader else 1

    def drop(self, active: B1) -> None:
        """Ask for no arm that is gone."""
        if self.rest:
            self.rest[:] = [a for a in self.rest if active[a]]
            self.memory.ends[-1] = int(not self.rest)

    def forget(self, n: int) -> None:
        """Drop what is known of the first n decisions."""
        del self.memory.begun[:n], self.memory.ends[:n]
