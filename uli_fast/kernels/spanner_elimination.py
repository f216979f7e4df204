"""LI-Argmax: columns of a spanner, exchanged one at a time.

The coefficients of a point x in the columns of A are A^-1 x; det(x, A_-i) / det A is
the i-th of them. Exchanging column i for s multiplies det A by that coefficient
(matrix determinant lemma) and changes A^-1 by a rank-one term.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64
from uli_fast.kernels._jit import kernel


class SpannerColumns(NamedTuple):
    """A square matrix with its inverse and the logarithm of its determinant."""

    A: F64  # (d, d)
    inverse: F64  # (d, d)
    log_det: F64  # (1,) log |det A|
    w: F64  # (d,) coefficients of the incoming column


@kernel
def exchange(A: F64, inverse: F64, log_det: F64, w: F64, i: int, s: F64) -> float:
    """Put s in the place of column i; return its coefficient before.

    Takes the arrays of Columns one by one: a tuple of them costs more than the work.
    """
    d = s.shape[0]
    for j in range(d):
        w[j] = 0.0
        for k in range(d):
            w[j] += inverse[j, k] * s[k]
        A[j, i] = s[j]
    pivot = w[i]
    for k in range(d):
        inverse[i, k] /= pivot
    for j in range(d):
        if j != i:
            for k in range(d):
                inverse[j, k] -= w[j] * inverse[i, k]
    log_det[0] += math.log(abs(pivot))
    return float(pivot)


@kernel
def is_within(rows: F64, limits: F64, x: F64) -> bool:
    """Say whether every <row, x> is at most its limit."""
    for j in range(rows.shape[0]):
        y = 0.0
        for k in range(x.shape[0]):
            y += rows[j, k] * x[k]
        if not y <= limits[j]:
            return False
    return True


@kernel
def furthest(points: F64, u: F64) -> tuple[int, float, float, float]:
    """Return the point with the largest |<u, x>|, that value, and both ends of <u, x>.

    This is LI-Argmax on a finite set.

    Points are columns, (d, K), so that the loops over them are SIMD.
    """
    d, K = points.shape
    values = np.zeros(K)
    for j in range(d):
        for a in range(K):
            values[a] += u[j] * points[j, a]
    best, arm = -1.0, 0
    low, high = np.inf, -np.inf
    for a in range(K):
        low, high = min(low, values[a]), max(high, values[a])
        if abs(values[a]) > best:
            best, arm = abs(values[a]), a
    return arm, best, low, high
