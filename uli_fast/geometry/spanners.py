"""Barycentric spanners: few arms that represent all, with small coefficients.

A C-approximate spanner of a set is a choice of its points such that every point is
a combination of them with coefficients in [-C, C]. Columns begin as short
placeholders, one per axis; a column is exchanged for the point of the set that has
the largest coefficient on it, as long as that exceeds C.

Deviation: after an exchange the search goes on with the next column and ends after d
clean ones in a row; the certificate is that of restarting at the first, with fewer
calls of the oracle.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64, I64
from uli_fast.errors import ArgumentError, OracleError

if TYPE_CHECKING:
    from uli_fast.kernels.spanner_elimination import SpannerColumns

# Exchanges are made above C times this, so that rounding cannot make them go on forever.
MARGIN = 1.0 + 1e-9
# A point this close to the span of the other columns, relative to the set, is in it.
NULL = 1e-7
# Length of the placeholders of ``barycentric_spanner``, relative to the set.
SHORT = 1e-6
MODES = ("soft", "paper")
LARGEST_FACTOR = 1e6


class Oracle(Protocol):
    """A set that maximises <u, a>, such as ``arm_set.restrict(...)``."""

    def maximize(self, u: F64) -> tuple[F64, float]:
        """Return a point and an upper bound on the value."""


@dataclass(frozen=True, eq=False)
class Spanner:
    """Columns that span a set with coefficients in [-C, C]."""

    columns: F64  # (d, d) points of the set, or placeholders
    real: B1  # (d,) which of them are points of the set
    inverse: F64  # (d, d) coefficients of x are inverse @ x
    log_det: float  # log |det columns|
    oracle_calls: int
    swaps: int
    reach: F64  # (d,) no point of the set has a larger coefficient, by the oracle's bounds
    numbers: I64  # (d,) of the points, where they are finitely many; else -1
    # (d,) each: coefficients of all points of the set lie between them, by the oracle's bounds.
    low: F64
    high: F64

    @property
    def arms(self) -> F64:
        """The points of the set among the columns, one per row."""
        return np.ascontiguousarray(self.columns[:, self.real].T)


def barycentric_spanner(arm_set: Any, C: float = 2.0) -> Spanner:
    """Return a C-approximate barycentric spanner of an arm set.

    Where the set spans a subspace only, ``spanner.arms`` has as many rows as that has
    dimensions: directions in which the set is thinner than 1e-7 of its size do not count.

    Parameters
    ----------
    arm_set
        An arm set, a (K, d) array, or an object with ``maximize(u, eq, le)``.
    C
        Above 1; smaller means more calls of the oracle.

    Returns
    -------
    Spanner
        ``arms`` (d, d), and ``oracle_calls``: every arm of the set is a combination of them with
        coefficients in [-C, C].

    Examples
    --------
    >>> import uli_fast as uli
    >>> box = uli.arm_sets.Box([-1, -1], [1, 2])
    >>> spanner = uli.barycentric_spanner(box, C=1.5)
    >>> print(uli.verify_spanner(spanner.arms, box) <= 1.5)
    True
    """
    from uli_fast.arm_sets import as_arm_set

    region = as_arm_set(arm_set)
    factor = check_factor(C)
    size = region.largest_norm()
    if size == 0.0:
        raise ArgumentError("arm_set", "holds nothing but the origin")
    return find_spanner(region.restrict(), region.dimension, SHORT * size, factor, "paper", size)


def verify_spanner(arms: Any, arm_set: Any, C: float | None = None) -> float:
    """Return the largest coefficient of a point of the set in the arms, by another solver.

    A spanner is C-approximate if this is at most C (1 + 1e-6). Points outside the span
    of the arms make it infinite. With ``C`` a larger coefficient is an OracleError.

    Parameters
    ----------
    arms
        The arms of a spanner, one per row.
    arm_set
        What they are to span.
    C
        The bound to hold them to, if any.

    Returns
    -------
    float
        The largest coefficient, in absolute value.

    Examples
    --------
    >>> import uli_fast as uli
    >>> print(round(uli.verify_spanner([[1.0, 0.0], [0.0, 1.0]], uli.arm_sets.Ball(2)), 6))
    1.0
    """
    from uli_fast.arm_sets import Finite, as_arm_set

    region = as_arm_set(arm_set)
    B = _check.matrix("arms", arms)
    if B.shape[1] != region.dimension:
        raise ArgumentError("arms", f"have {B.shape[1]} entries in dimension {region.dimension}")
    if not B.any():
        raise ArgumentError("arms", "must not all be zero")
    rows = np.linalg.pinv(B.T, rcond=1e-10)
    outside = np.linalg.svd(B)[2][np.linalg.matrix_rank(B, tol=1e-10 * np.abs(B).max()) :]
    if isinstance(region, Finite):
        off = float(np.abs(region.points @ outside.T).max(initial=0.0))
        largest = float(np.abs(region.points @ rows.T).max())
    else:
        other = copy.copy(region)
        if "cvxpy" in getattr(other, "backends", ()):
            other.backend = "cvxpy"
        everywhere = other.restrict()
        off = max((_reach(everywhere, u) for u in outside), default=0.0)
        largest = max(_reach(everywhere, u) for u in rows)
    if off > 1e-6 * region.largest_norm():
        largest = math.inf
    if C is not None and largest > check_factor(C) * (1.0 + 1e-6):
        raise OracleError(f"coefficients reach {largest!r}, above C = {C!r}")
    return largest


def _reach(oracle: Oracle, u: F64) -> float:
    """Return max |<u, a>|, from the points that attain it."""
    length = float(np.linalg.norm(u))
    ends = (oracle.maximize(sign * u / length)[0] for sign in (1.0, -1.0))
    return max(abs(float(u @ end)) for end in ends)


def check_factor(C: Any) -> float:
    """Return a C above 1."""
    factor = _check.number("C", C)
    if not 1.0 < factor <= LARGEST_FACTOR:
        raise ArgumentError("C", f"must be above 1 and at most {LARGEST_FACTOR:g}, got {C!r}")
    return factor


def find_spanner(
    oracle: Oracle, d: int, length: float, C: float, mode: str, size: float = 1.0
) -> Spanner:
    """Return a spanner of what an oracle ranges over.

    Parameters
    ----------
    oracle
        The set.
    d
        Dimension.
    length
        Of the placeholders.
    C
        Above 1.
    mode
        "soft": every column alike, replaced at first above 1, then above C, no rank is
        decided. "paper": a placeholder is replaced by any point outside the span of the
        other columns.
    size
        Of the set, for that test.
    """
    search = _Search(oracle, d, length, C, mode, size)
    for i in range(d):
        search.look(i, first=True)
    i = clean = 0
    while clean < d:
        clean = 1 if search.look(i, first=False) else clean + 1
        i = (i + 1) % d
    return search.result()


class _Found(NamedTuple):
    """The point with the largest |<u, a>|, and what the oracle's bounds say about all others."""

    point: F64
    number: int
    coefficient: float  # of the point, without its sign
    reach: float  # no |<u, a>| is larger
    low: float  # no <u, a> is smaller
    high: float  # or larger


class _Search:
    """The columns while they are exchanged."""

    def __init__(
        self, oracle: Oracle, d: int, length: float, C: float, mode: str, size: float
    ) -> None:
        from uli_fast.kernels.spanner_elimination import SpannerColumns, exchange

        self.exchange = exchange
        self.oracle, self.d, self.C, self.mode, self.size = oracle, d, C, mode, size
        log_det = np.array([d * math.log(length)])
        self.columns: SpannerColumns = SpannerColumns(
            length * np.eye(d), np.eye(d) / length, log_det, np.zeros(d)
        )
        self.real = np.zeros(d, np.bool_)
        self.reach = np.zeros(d)
        # Of each column: the smallest and the largest coefficient, and the row of the inverse
        # with which they were found.
        self.ends, self.rows = [(0.0, 0.0)] * d, [np.zeros(d)] * d
        self.numbers = np.full(d, -1)
        self.calls = self.swaps = 0
        self.updates = 0  # of the inverse since it was last recomputed
        # Every exchange beyond the first of a column multiplies |det| by C at least.
        self.most = 100_000 + 100 * d

    def look(self, i: int, first: bool) -> bool:
        """Search for the largest coefficient on column i; exchange if it is too large."""
        u = self.columns.inverse[i].copy()
        length = math.sqrt(float(u @ u))
        found = self._furthest(u, length)
        coefficient = found.coefficient
        self.rows[i], self.ends[i] = u, (found.low, found.high)
        if not self._exchanges(i, coefficient, coefficient / length, first):
            self.reach[i] = found.reach
            return False
        self.reach[i] = found.reach / coefficient  # on the new column
        pivot = self.exchange(*self.columns, i, found.point)
        low, high = found.low / pivot, found.high / pivot
        self.rows[i], self.ends[i] = u / pivot, (low, high) if pivot > 0.0 else (high, low)
        self.real[i], self.numbers[i] = True, found.number
        self.swaps += 1
        self.updates += 1
        if self.swaps > self.most:
            raise OracleError("a spanner was not found: the oracle's answers contradict each other")
        if self.swaps % self.d == 0 or abs(pivot) < 0.1:
            self._refresh()
        return True

    def _furthest(self, u: F64, length: float) -> _Found:
        """Return the point with the largest |<u, a>| (LI-Argmax).

        A point may fall short of what its oracle cannot exclude: no point exceeds the bound.
        """
        scan = getattr(self.oracle, "furthest", None)
        if scan is not None:
            self.calls += 2
            point, value, low, high = scan(u)
            return _Found(point, getattr(self.oracle, "number", -1), value, value, low, high)
        unit = u / length
        (one, most), (other, least) = (self.oracle.maximize(way) for way in (unit, -unit))
        self.calls += 2
        high, low = float(u.dot(one)), float(u.dot(other))
        value, opposite = abs(high), abs(low)
        point = np.ascontiguousarray(one if value >= opposite else other, np.float64)
        largest = max(value, opposite)
        high, low = max(high, length * float(most)), min(low, -length * float(least))
        reach = max(largest, length * float(most), length * float(least))
        return _Found(point, -1, largest, reach, low, high)

    def _exchanges(self, i: int, coefficient: float, distance: float, first: bool) -> bool:
        if self.mode == "soft":
            return coefficient > (1.0 if first else self.C * MARGIN)
        if distance <= NULL * self.size:
            return False
        return first or not self.real[i] or coefficient > self.C * MARGIN

    def _refresh(self) -> None:
        """Recompute the inverse and the determinant: rank-one updates drift."""
        if self.updates:
            self.columns.inverse[:] = np.linalg.inv(self.columns.A)
            self.columns.log_det[0] = np.linalg.slogdet(self.columns.A).logabsdet
            self.updates = 0

    def result(self) -> Spanner:
        self._refresh()
        c = self.columns
        # The last d looks were at the last columns, by rows that may differ in rounding.
        off = c.inverse - np.array(self.rows)
        drift = self.size * np.sqrt(np.einsum("ij,ij->i", off, off))
        low, high = np.array(self.ends).T
        return Spanner(
            c.A.copy(),
            self.real,
            c.inverse.copy(),
            float(c.log_det[0]),
            self.calls,
            self.swaps,
            self.reach,
            self.numbers,
            low - drift,
            high + drift,
        )
