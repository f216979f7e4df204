"""Closed oracles of ball, cube, simplex and cross-polytope, one cut, and the certificate.

The support function h(r) = max <r, x> over a body turns any multipliers into an upper
bound on a restricted maximum. That is the certificate: it needs no trust in a solver.
"""

from __future__ import annotations

import numpy as np

from uli_fast._typing import F64
from uli_fast.kernels._jit import kernel, lean_step
from uli_fast.kernels.oracles.status import EMPTY, ENDLESS, FOUND

# The bodies |x| <= 1; max |x_i| <= 1; x >= 0, sum x = 1; sum |x_i| <= 1.
BALL, CUBE, SIMPLEX, CROSS = 0, 1, 2, 3


@kernel
def argmax(body: int, r: F64, x: F64) -> None:
    """Set x to a maximiser of <r, x>; of equal vertices the first, of signs the plus."""
    n = r.shape[0]
    if body == CUBE:
        for i in range(n):
            x[i] = -1.0 if r[i] < 0.0 else 1.0
    elif body == BALL:
        square = 0.0
        for i in range(n):
            square += r[i] * r[i]
        scale = 1.0 / np.sqrt(square) if square > 0.0 else 0.0
        for i in range(n):
            x[i] = scale * r[i]
    else:
        best, at = -np.inf, 0
        for i in range(n):
            x[i] = 0.0
            size = abs(r[i]) if body == CROSS else r[i]
            if size > best:
                best, at = size, i
        x[at] = -1.0 if body == CROSS and r[at] < 0.0 else 1.0


@lean_step
def support(body: int, r: F64) -> float:
    """Return h(r) = max <r, x> over the body."""
    total, largest, most = 0.0, -np.inf, 0.0
    square = 0.0
    for i in range(r.shape[0]):
        size = abs(r[i])
        total += size
        square += size * size
        most = max(most, size)
        largest = max(largest, r[i])
    if body == BALL:
        return float(np.sqrt(square))
    if body == CUBE:
        return total
    return most if body == CROSS else largest


@lean_step
def violation(body: int, x: F64) -> float:
    """Return by how much x leaves the body, 0 inside."""
    total, signed, square, most, least = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(x.shape[0]):
        size = abs(x[i])
        total += size
        signed += x[i]
        square += size * size
        most = max(most, size)
        least = min(least, x[i])
    if body == SIMPLEX:
        return max(-least, abs(signed - 1.0))
    size = np.sqrt(square) if body == BALL else (most if body == CUBE else total)
    return max(size - 1.0, 0.0)


@lean_step
def inner(u: F64, v: F64) -> float:
    """Return <u, v>."""
    total = 0.0
    for j in range(u.shape[0]):
        total += u[j] * v[j]
    return total


@kernel
def certify(
    body: int, g: F64, x: F64, W: F64, b: F64, y: F64, E: F64, e: F64, z: F64
) -> tuple[float, float, float]:
    """Return by how much x misses a constraint, an upper bound on max <g, x>, and <g, x>.

    For y >= 0 (others are set to 0) and any z the bound is <y, b> + <z, e> +
    h(g - W^T y - E^T z), over x in the body with W x <= b and E x = e.
    """
    n = g.shape[0]
    missed, bound, finite = violation(body, x), 0.0, True
    rest = g.copy()
    for i in range(b.shape[0]):
        over = -b[i]
        for j in range(n):
            over += W[i, j] * x[j]
        missed = max(missed, over)
        finite = finite and np.isfinite(over) and np.isfinite(y[i])
        if y[i] > 0.0:
            bound += y[i] * b[i]
            for j in range(n):
                rest[j] -= y[i] * W[i, j]
    for i in range(e.shape[0]):
        over = -e[i]
        for j in range(n):
            over += E[i, j] * x[j]
            rest[j] -= z[i] * E[i, j]
        missed = max(missed, abs(over))
        finite = finite and np.isfinite(over)
        bound += z[i] * e[i]
    bound += support(body, rest)
    value = inner(g, x)
    if not finite or not np.isfinite(bound + value):  # comparisons would let NaN pass
        return np.inf, np.inf, value
    return missed, bound, value


@kernel
def closed(body: int, g: F64) -> F64:
    """Return a maximiser of <g, x> over the body."""
    x = np.empty(g.shape[0])
    argmax(body, g, x)
    return x


@kernel
def cut(body: int, g: F64, w: F64, b: float, most: int) -> tuple[int, F64, float]:
    """Return the status, a maximiser over the body with <w, x> <= b, and its multiplier.

    h(g - slope w) + slope b is minimised over slope >= 0: where the lines of a point
    that misses the cut and of one that keeps it cross, there is the next slope. On
    bodies with vertices this ends with the optimum, between the two points.
    """
    n = g.shape[0]
    x, other, new, r = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    argmax(body, g, x)
    over = inner(w, x) - b
    if over <= 0.0:
        return FOUND, x, 0.0
    for j in range(n):
        r[j] = -w[j]
    argmax(body, r, other)
    under = inner(w, other) - b
    if under >= 0.0:  # the cut touches the body at most; a face of it may be feasible
        return (EMPTY if under > 1e-9 else ENDLESS), other, 0.0
    for _ in range(most):
        high, low = inner(g, x), inner(g, other)
        slope = max((high - low) / (over - under), 0.0)
        for j in range(n):
            r[j] = g[j] - slope * w[j]
        argmax(body, r, new)
        missed = inner(w, new) - b
        if inner(g, new) - slope * missed <= high - slope * over + 1e-15:
            share = -under / (over - under)
            for j in range(n):
                x[j] = share * x[j] + (1.0 - share) * other[j]
            return FOUND, x, slope
        if missed > 0.0:
            x[:], over = new, missed
        else:
            other[:], under = new, missed
    return ENDLESS, x, 0.0
