"""Finitely many arms: mask what violates a constraint, scan the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64
from uli_fast.arm_sets._bodies import lengths
from uli_fast.arm_sets._chain import Restricted, checked_direction
from uli_fast.arm_sets._set import ArmSet, frozen, shown
from uli_fast.errors import InfeasibleError

# A point may miss a row by this much, relative to the row's length and the largest arm.
MASK_TOLERANCE = 1e-9


class Finite(ArmSet):
    """The arms given, one per row.

    Of equally good arms the first is the answer, and the bound is its value: the scan
    is exact. ``Restricted.indices`` says which arms satisfy the constraints.

    Parameters
    ----------
    points
        Arms, (K, d); they may repeat.
    backend
        "auto" or "closed": there is one way.
    """

    def __init__(self, points: Any, backend: str = "auto") -> None:
        self.points = frozen(_check.matrix("points", points))
        super().__init__(self.points.shape[1], backend)

    def __repr__(self) -> str:
        return shown("Finite", [f"{len(self.points)} arms, d={self.dimension}"], self.backend)

    def largest_norm(self) -> float:
        """Return the length of the longest arm."""
        return _longest(self.points)

    def _contains(self, a: F64, tolerance: float) -> bool:
        return _shortest(self.points - a) <= tolerance * self.largest_norm()

    def _restricted(self, eq: tuple[F64, F64], le: tuple[F64, F64]) -> Scan:
        size = self.largest_norm()
        keep = np.ones(len(self.points), dtype=np.bool_)
        for V, b, both in ((*le, False), (*eq, True)):
            if b.size:
                slack = MASK_TOLERANCE * lengths(V) * size
                over = self.points @ V.T - b
                keep &= ((np.abs(over) if both else over) <= slack).all(axis=1)
        return Scan(self.points, np.flatnonzero(keep), repr(self))


class Scan(Restricted):
    """The arms that satisfy the constraints."""

    def __init__(self, points: F64, indices: Any, name: str) -> None:
        super().__init__()
        self.indices = indices
        whole = len(indices) == len(points)
        self._points = points if whole else np.ascontiguousarray(points[indices])
        self._name, self._size = name, _longest(self._points)

    def maximize(self, u: Any) -> tuple[F64, float]:
        """Return the first arm where <u, a> is largest, and its value."""
        u = checked_direction(u, self._points.shape[1])
        self.calls += 1
        if not self._points.size:
            raise InfeasibleError(f"no arm of {self._name} satisfies the constraints")
        values = self._points @ u
        # Equal arms may differ here in the last bits: near ties are compared alike.
        rounding = 1e-13 * self._size * float(np.abs(u).max()) * u.size
        near = np.flatnonzero(values >= values.max() - rounding)
        if near.size > 1:
            near = near[[(self._points[near] * u).sum(axis=1).argmax()]]
        best = self._points[near[0]]
        self.answers["closed"] += 1
        return best.copy(), float((best * u).sum())


def _longest(points: F64) -> float:
    largest = float(np.abs(points).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    return largest * float(lengths(points / largest).max())


def _shortest(points: F64) -> float:
    largest = float(np.abs(points).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    return largest * float(lengths(points / largest).min())
