"""Sweeps of a betting player: the survivors in index order, the leader r times in a row.

A sweep keeps the leader and the theta of the moment it was begun, whatever looks come before its
outcomes do: they are its epoch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1
from uli_fast.errors import StateError


class Epoch(NamedTuple):
    """What sweeps begun between two looks go by."""

    leader: int  # -1 before the first look
    theta: float


class Sweeps:
    """Which sweep every decision belongs to."""

    def __init__(self, r: int) -> None:
        self._r = r
        self.epochs = [Epoch(-1, 0.5)]  # one from every look on
        self.rest: list[int] = []  # arms of this sweep still to be asked for, the next one last
        self._epoch = 0  # of the sweep that was begun last
        self.begun: list[int] = []  # epoch of the sweep of each decision that is held
        self.ends = bytearray()  # whether a decision is the last of its sweep

    def next_arm(self, active: B1) -> int:
        """Return the next arm to ask for; a sweep that begins here is of the last epoch."""
        if not self.rest:
            self._epoch = len(self.epochs) - 1
            arms = np.flatnonzero(active)[::-1].tolist()
            self.rest = [a for a in arms for _ in range(self.times(a))]
        self.begun.append(self._epoch)
        a = self.rest.pop()
        self.ends.append(not self.rest)
        return a

    def times(self, a: int, epoch: int = -1) -> int:
        """Return how often an arm is in a sweep of an epoch, by default the last one."""
        return self._r if a == self.epochs[epoch].leader else 1

    def drop(self, active: B1) -> None:
        """Ask for no arm that is gone."""
        if self.rest:
            self.rest = [a for a in self.rest if active[a]]
            self.ends[-1] = not self.rest

    def forget(self, n: int) -> None:
        """Drop what is known of the first n decisions."""
        del self.begun[:n], self.ends[:n]

    def copy(self, other: Sweeps) -> None:
        """Take over which sweep every decision of another player belongs to; no epochs."""
        self.rest, self._epoch = list(other.rest), other._epoch
        self.begun, self.ends = list(other.begun), bytearray(other.ends)

    def saved(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        begun = [] if not self.rest or self.begun else [self._epoch]
        return ({"epoch": begun[0]} if begun else {}) | {
            "leaders": [epoch.leader for epoch in self.epochs],
            "thetas": [epoch.theta for epoch in self.epochs],
            "asked": _as_runs(self.begun, self.ends),
            "rest": list(self.rest),
        }

    def load(self, saved: Mapping[str, Any], decisions: int) -> None:
        """Take over what ``saved`` returned for this many decisions."""
        both = zip(saved["leaders"], saved["thetas"], strict=True)
        self.epochs = [Epoch(int(leader), float(theta)) for leader, theta in both]
        self.rest = [int(a) for a in saved["rest"]]
        self.begun, self.ends = _unrolled(saved["asked"], decisions)
        last = self.begun[-1] if self.begun else saved.get("epoch", 0)
        self._epoch = _check.whole("epoch", last, 0, len(self.epochs) - 1)

    def check(self, arms: list[int], active: B1) -> None:
        """Refuse invalid sweeps: arms come in order, each once and the leader r times.

        An arm that was dropped while a sweep was asked for may lack plays in it, and never comes
        again.
        """
        if self.begun != sorted(self.begun):
            raise StateError("state", "contradicts itself: a sweep was begun before an earlier one")
        survivors = set(np.flatnonzero(active).tolist())
        first, left = 0, set(range(active.size))
        for i, end in enumerate(self.ends):
            if end or i + 1 == len(self.ends):
                sweep = arms[first : i + 1] + ([] if end else self.rest[::-1])
                spare = {a: self.times(a, self.begun[i]) - n for a, n in Counter(sweep).items()}
                whole = {a for a, n in spare.items() if n == 0}
                good = sweep == sorted(sweep) and min(spare.values()) >= 0
                if not (good and survivors <= whole and spare.keys() <= left):
                    raise StateError("state", f"contradicts itself: no sweep ends at {i + 1}")
                first, left = i + 1, whole


def _as_runs(epochs: list[int], ends: bytearray) -> list[list[int]]:
    """Return sweeps as [epoch, decisions, how many alike in a row, whether they are whole]."""
    runs: list[list[int]] = []
    first = 0
    for i, end in enumerate(ends):
        if end or i + 1 == len(ends):
            sweep = [epochs[i], i + 1 - first, 1, int(end)]
            if end and runs and runs[-1][:2] == sweep[:2]:
                runs[-1][2] += 1
            else:
                runs.append(sweep)
            first = i + 1
    return runs


def _unrolled(runs: Any, size: int) -> tuple[list[int], bytearray]:
    """Return the epochs and ends that ``_as_runs`` was given."""
    epochs: list[int] = []
    ends = bytearray()
    for epoch, length, times, whole in runs:
        many = _check.whole("asked", length) * _check.whole("asked", times)
        if len(epochs) + many > size:
            break
        epochs += [_check.whole("asked", epoch, 0)] * many
        end = _check.whole("asked", whole, 0, 1)
        ends += (bytes(length - 1) + bytes([end])) * times
    if len(epochs) != size:
        raise StateError("state", "contradicts itself: sweeps and decisions differ")
    return epochs, ends
