"""Finitely many arms: mask what violates a constraint, scan the rest."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64
from uli_fast.arm_sets._bodies import lengths
from uli_fast.arm_sets._chain import Restricted, checked_direction
from uli_fast.arm_sets._set import ArmSet, frozen, shown
from uli_fast.errors import InfeasibleError

# Arms may miss inequalities and equalities by this much, relative to the row and the longest arm.
# No solver is involved: inequalities are met up to rounding.
ROUNDING, EQUALITY_TOLERANCE = 1e-12, 1e-9


class Finite(ArmSet):
    """The arms given, one per row.

    Of equally good arms the first is the answer, and the bound is its value: the scan
    is exact. ``Restricted.indices`` says which arms satisfy the constraints.

    Parameters
    ----------
    points
        Arms, (K, d); they may repeat.
    backend
        "auto" or "closed": there is only one way.

    Examples
    --------
    >>> import uli_fast as uli
    >>> arms = uli.arm_sets.Finite([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    >>> point, bound = arms.maximize([1.0, 1.0])
    >>> print(point, bound)
    [0.7 0.7] 1.4
    """

    finite: ClassVar[bool] = True
    proves: ClassVar[bool] = True
    own: ClassVar[bool] = False

    def __init__(self, points: Any, backend: str = "auto") -> None:
        self.points = frozen(_check.matrix("points", points))
        super().__init__(self.points.shape[1], backend)
        self._longest = _longest(self.points)

    def __repr__(self) -> str:
        return shown("Finite", [f"{len(self.points)} arms, d={self.dimension}"], self.backend)

    def largest_norm(self) -> float:
        """Return the length of the longest arm."""
        return self._longest

    def _vertices(self, limit: int) -> F64:
        return self.points

    def _contains(self, a: F64, tolerance: float) -> bool:
        return _shortest(self.points - a) <= tolerance * self.largest_norm()

    def _restricted(self, eq: tuple[F64, F64], le: tuple[F64, F64]) -> Scan:
        keep = np.ones(len(self.points), dtype=np.bool_)
        if le[1].size:
            room = ROUNDING * (lengths(le[0]) * self._longest + np.abs(le[1]))
            keep &= (self.points @ le[0].T <= le[1] + room).all(axis=1)
        if eq[1].size:
            room = EQUALITY_TOLERANCE * (lengths(eq[0]) * self._longest)
            keep &= (np.abs(self.points @ eq[0].T - eq[1]) <= room).all(axis=1)
        return Scan(self.points, np.flatnonzero(keep), self._longest, repr(self))


class Scan(Restricted):
    """The arms that satisfy the constraints."""

    def __init__(self, points: F64, indices: I64, size: float, name: str) -> None:
        super().__init__()
        self.indices = indices
        whole = len(indices) == len(points)
        self._points = points if whole else np.ascontiguousarray(points[indices])
        self._name, self._size = name, size
        self._columns: F64 | None = None

    def furthest(self, u: F64) -> tuple[F64, float, float, float]:
        """Return the arm with the largest |<u, a>|, that value, and both ends of <u, a>."""
        if self._columns is None:
            from uli_fast.kernels.spanner_elimination import furthest

            if not self._points.size:
                raise InfeasibleError(f"no arm of {self._name} satisfies the constraints")
            self._columns, self._furthest = np.ascontiguousarray(self._points.T), furthest
        self.calls += 2
        arm, value, low, high = self._furthest(self._columns, u)
        self.number = int(self.indices[arm])
        return self._points[arm].copy(), float(value), float(low), float(high)

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
        best, self.number = self._points[near[0]], int(self.indices[near[0]])
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
