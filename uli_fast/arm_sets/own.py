"""A user's own oracle as an arm set."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._support.text import without_addresses
from uli_fast._typing import F64
from uli_fast.arm_sets._bodies import lengths
from uli_fast.arm_sets._chain import GAP, Restricted, checked_direction
from uli_fast.arm_sets._rows import FEASIBLE
from uli_fast.arm_sets._set import ArmSet
from uli_fast.arm_sets.finite import Finite
from uli_fast.errors import ArgumentError, InfeasibleError, OracleError


def as_arm_set(obj: Any) -> ArmSet:
    """Return an arm set for whatever is given.

    Parameters
    ----------
    obj
        An arm set (returned as it is), a (K, d) array of arms, or any object with
        ``dimension`` and ``maximize(u, eq, le)`` that returns a point and an upper bound.
        It may also have ``largest_norm()`` and ``contains(a, tolerance)``.

    Returns
    -------
    ArmSet
        The same arms, with all that learners ask for.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.arm_sets.as_arm_set([[1.0, 0.0], [0.0, 1.0]])
    Finite(2 arms, d=2)
    """
    if isinstance(obj, ArmSet):
        return obj
    if hasattr(obj, "maximize") and hasattr(obj, "dimension"):
        return Own(obj)
    if isinstance(obj, np.ndarray | list | tuple):
        return Finite(obj)
    raise ArgumentError(
        "arm_set",
        "must be an arm set, a (K, d) array, or an object with maximize(u, eq, le) "
        f"and dimension; got {type(obj).__name__}",
    )


class Own(ArmSet):
    """A user's oracle; its answers are checked against the rows and their own bound."""

    def __init__(self, oracle: Any) -> None:
        super().__init__(_check.whole("dimension", oracle.dimension))
        self.oracle = oracle

    def __repr__(self) -> str:
        return f"as_arm_set({without_addresses(repr(self.oracle))})"

    def largest_norm(self) -> float:
        """Return what the oracle says, else the farthest corner of the bounding box."""
        return self.known_norm

    @cached_property
    def known_norm(self) -> float:
        """The largest norm, found once."""
        if hasattr(self.oracle, "largest_norm"):
            return _check.positive("largest_norm", self.oracle.largest_norm())
        whole = OwnRestricted(self, (np.zeros((0, self.dimension)), np.zeros(0)), None)
        axes = np.eye(self.dimension)
        ends = [max(whole.maximize(e)[1], whole.maximize(-e)[1]) for e in axes]
        return float(np.linalg.norm(ends))

    def _contains(self, a: F64, tolerance: float) -> bool:
        if hasattr(self.oracle, "contains"):
            return bool(self.oracle.contains(a, tolerance))
        axes, room = np.eye(self.dimension), tolerance * self.largest_norm()
        near = np.vstack([axes, -axes]), np.concatenate([a + room, room - a])
        try:
            self.restrict(le=near).maximize(axes[0])
        except InfeasibleError:
            return False
        return True

    def _restricted(self, eq: tuple[F64, F64], le: tuple[F64, F64]) -> Restricted:
        return OwnRestricted(self, eq, le)


class OwnRestricted(Restricted):
    """A user's oracle with fixed constraints."""

    def __init__(self, owner: Own, eq: tuple[F64, F64] | None, le: tuple[F64, F64] | None) -> None:
        super().__init__()
        self._owner = owner
        self._eq = eq if eq is not None and eq[1].size else None
        self._le = le if le is not None and le[1].size else None

    def maximize(self, u: Any) -> tuple[F64, float]:
        """Return the oracle's answer, checked."""
        owner = self._owner
        u = checked_direction(u, owner.dimension)
        self.calls += 1
        try:
            point, bound = owner.oracle.maximize(u, self._eq, self._le)
            point, bound = np.array(point, dtype=np.float64), float(bound)
        except (TypeError, ValueError) as problem:
            raise OracleError(f"{owner!r} did not return a point and a bound: {problem}") from None
        if point.shape != (owner.dimension,) or not np.isfinite(point).all():
            raise OracleError(f"{owner!r} returned {point!r}, not a point of R^{owner.dimension}")
        size = max(float(np.linalg.norm(point)), self._size())
        missed = max(_missed(self._le, point, False), _missed(self._eq, point, True))
        gap = (bound - float(point @ u)) / (float(np.linalg.norm(u)) * size or 1.0)
        if not (missed <= FEASIBLE * size and math.isfinite(gap) and abs(gap) <= GAP):
            self.rejected["own"] += 1
            raise OracleError(
                f"the answer of {owner!r} misses a row by {missed:.1e}, its bound by {gap:.1e}"
            )
        self.answers["own"] += 1
        return point, max(bound, float(point @ u))

    def _size(self) -> float:
        return float(vars(self._owner).get("known_norm", 0.0))  # not known yet while it is found


def _missed(rows: tuple[F64, F64] | None, point: F64, both: bool) -> float:
    """Return by how much the point misses a row of unit length."""
    if rows is None:
        return 0.0
    V, b = rows
    length = lengths(V)
    over = (V @ point - b) / np.where(length > 0.0, length, 1.0)
    return float((np.abs(over) if both else over).max(initial=0.0))
