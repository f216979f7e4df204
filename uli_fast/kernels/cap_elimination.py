"""Caps of the unit ball: their design, the slope from it, and how far an arm is from it.

The cap of pole u (a unit vector) and depth y holds the arms |a| <= 1 with <u, a> >= 1 - y. Depths
are kept rather than heights, which are 1 up to rounding when caps are small. A cap deeper than
1 + 1/d holds a regular simplex with a vertex at u: it is played as if it were that deep.

Rim points are v u + r z_i with v = 1 - y, r = sqrt(1 - v^2) and z a regular simplex orthogonal to
u: H (e_i - 1/d) sqrt(d / (d - 1)), H the reflection that takes (1, ..., 1) / sqrt(d) to u or -u.
"""

from __future__ import annotations

import math

from uli_fast._typing import F64
from uli_fast.kernels._jit import lean_kernel


@lean_kernel
def played_depth(y: float, d: int) -> float:
    """Return the depth of the design of a cap: at most that of the regular simplex."""
    return min(y, 1.0 + 1.0 / d)


@lean_kernel
def mirror(u: F64) -> tuple[float, float]:
    """Return s and 2 / |w|^2 of H = I - 2 w w^T / |w|^2, w = (1, ..., 1) / sqrt(d) + s u."""
    total = 0.0
    for j in range(u.shape[0]):
        total += u[j]
    along = total / math.sqrt(u.shape[0])
    return 1.0 if along >= 0.0 else -1.0, 1.0 / (1.0 + abs(along))  # |w|^2 is never small


@lean_kernel
def design(u: F64, y: float, points: F64) -> None:
    """Fill ``points`` (d + 1, d) with the pole and the d rim points of a cap."""
    d = u.shape[0]
    y = played_depth(y, d)
    v, r = 1.0 - y, math.sqrt(y * (2.0 - y))
    s, factor = mirror(u)
    q = 1.0 / math.sqrt(d)
    long = r * math.sqrt(d / (d - 1.0)) if d > 1 else 0.0
    total = 0.0
    for j in range(d):
        points[0, j] = u[j]
        total += q + s * u[j]
    for i in range(d):
        along = factor * (q + s * u[i] - total / d)
        for j in range(d):
            z = -1.0 / d - along * (q + s * u[j])
            points[i + 1, j] = v * u[j] + long * (z + 1.0 if i == j else z)


@lean_kernel
def slope(u: F64, y: float, means: F64, theta: F64) -> float:
    """Fill ``theta`` with the slope through the means of a design; return its length.

    It comes from differences of means: a constant in all of them cancels.
    """
    d = u.shape[0]
    y = played_depth(y, d)
    rim = 0.0  # what the rim is above the pole
    for i in range(d):
        rim += (means[i + 1] - means[0]) / d
    s, factor = mirror(u)
    q = 1.0 / math.sqrt(d)
    along = 0.0
    for i in range(d):
        along += factor * (q + s * u[i]) * (means[i + 1] - means[0] - rim)
    beside = math.sqrt((d - 1.0) / d / (y * (2.0 - y))) if d > 1 else 0.0
    square = 0.0
    for j in range(d):
        z = means[j + 1] - means[0] - rim - along * (q + s * u[j])
        theta[j] = beside * z - rim / y * u[j]
        square += theta[j] * theta[j]
    return math.sqrt(square)


@lean_kernel
def spread(u: F64, y: float, points: F64, i: int) -> float:
    """Return Mah(a) of a = points[i] in the design of a cap: (d + 1) |lam(a)|^2 - 1.

    points[0] is a unit vector: 1 - <u, points[0]> is |u - points[0]|^2 / 2, which rounding leaves
    alone.
    """
    d = u.shape[0]
    y = played_depth(y, d)
    below = 0.0
    for j in range(d):
        below += (u[j] - points[0, j]) ** 2 / 2.0 - u[j] * (points[i, j] - points[0, j])
    beside = 0.0
    for j in range(d):
        beside += (points[i, j] - u[j] + below * u[j]) ** 2
    height = y * d / (d + 1.0) - below  # above the middle of the design
    mah = (d + 1.0) ** 2 / (d * y * y) * height * height
    if d > 1:
        mah += (d * d - 1.0) / (d * y * (2.0 - y)) * beside
    return float(mah)


@lean_kernel
def largest_spread(u: F64, y: float, points: F64) -> float:
    """Return the largest Mah of another cap's rim points."""
    largest = 0.0
    for i in range(1, points.shape[0]):
        largest = max(largest, spread(u, y, points, i))
    return largest
