"""Designs on finitely many arms, compiled: coordinates, D-optimal weights, pairs, pruning.

geometry/designs.py says what a design is and how it is improved; here arms are rows of well-scaled
coordinates, and weights are improved from those of a larger set of arms.
"""

from __future__ import annotations

import math

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import kernel

# Rows whose rest is shorter than this lie in the span of the others: far above rounding, and what
# it leaves out is bounded where it is used.
NOTHING = 1e-12
MOST_STEPS, REFRESH = 200_000, 100


@kernel
def span(rows: F64, pivots: I64, first: int) -> F64:
    """Return rows (m, r) in coordinates of as few of the ``first`` ones as span those, (m, rank).

    They are the ``pivots``, each the furthest from the span of those before; their own
    coordinates are unit vectors. Coordinates are as exact as differences of the rows are.
    """
    m, r = rows.shape
    rest, along = rows.copy(), np.zeros((m, r))
    axes, lower = np.zeros((r, r)), np.zeros((r, r))
    rank = 0
    for j in range(r):
        most, far = NOTHING * NOTHING, -1
        for a in range(first):
            square = 0.0
            for i in range(r):
                square += rest[a, i] * rest[a, i]
            if square > most:
                most, far = square, a
        if far < 0:
            break
        axis = axes[j]
        axis[:] = rest[far] / math.sqrt(most)
        for p in range(j):
            axis -= np.sum(axis * axes[p]) * axes[p]
        axis /= math.sqrt(np.sum(axis * axis))
        for a in range(m):
            y = 0.0
            for i in range(r):
                y += rest[a, i] * axis[i]
            along[a, j] = y
            for i in range(r):
                rest[a, i] -= y * axis[i]
        lower[j, : j + 1] = along[far, : j + 1]
        pivots[j] = far
        rank += 1
    return _solved(along, lower, rank)


@kernel
def _solved(along: F64, lower: F64, rank: int) -> F64:
    """Return c with c lower = along, row by row."""
    found = np.zeros((along.shape[0], rank))
    for a in range(along.shape[0]):
        for j in range(rank - 1, -1, -1):
            y = along[a, j]
            for i in range(j + 1, rank):
                y -= found[a, i] * lower[i, j]
            found[a, j] = y / lower[j, j]
    return found


@kernel
def product(A: F64, B: F64) -> F64:
    """Return A B, added up in the same order on every machine."""
    found = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for p in range(A.shape[1]):
            x = A[i, p]
            for j in range(B.shape[1]):
                found[i, j] += x * B[p, j]
    return found


@kernel
def moments(C: F64, weights: F64) -> F64:
    """Return sum of weights c c^T."""
    m, r = C.shape
    V = np.zeros((r, r))
    for a in range(m):
        if weights[a] > 0.0:
            for i in range(r):
                x = weights[a] * C[a, i]
                for j in range(i + 1):
                    V[i, j] += x * C[a, j]
    for i in range(r):
        for j in range(i):
            V[j, i] = V[i, j]
    return V


@kernel
def factor(V: F64) -> F64:
    """Return the lower Cholesky factor; NaN where V is not positive."""
    r = V.shape[0]
    L = np.zeros((r, r))
    for i in range(r):
        for j in range(i + 1):
            x = V[i, j]
            for p in range(j):
                x -= L[i, p] * L[j, p]
            L[i, j] = math.sqrt(x) if i == j else x / L[j, j]
    return L


@kernel
def inverse_of(L: F64) -> F64:
    """Return (L L^T)^-1."""
    r = L.shape[0]
    low = np.zeros((r, r))  # L^-1
    for j in range(r):
        low[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, r):
            x = 0.0
            for p in range(j, i):
                x -= L[i, p] * low[p, j]
            low[i, j] = x / L[i, i]
    found = np.zeros((r, r))
    for i in range(r):
        for j in range(i + 1):
            x = 0.0
            for p in range(i, r):
                x += low[p, i] * low[p, j]
            found[i, j] = found[j, i] = x
    return found


@kernel
def whitened(C: F64, L: F64) -> F64:
    """Return rows whose squares are c^T (L L^T)^-1 c."""
    m, r = C.shape
    B = np.empty((m, r))
    for a in range(m):
        for i in range(r):
            x = C[a, i]
            for p in range(i):
                x -= L[i, p] * B[a, p]
            B[a, i] = x / L[i, i]
    return B


@kernel
def _leverages(C: F64, nu: F64, v: F64) -> F64:
    """Fill in the leverages; return the inverse of the moments."""
    nu /= nu.sum()
    inverse = inverse_of(factor(moments(C, nu)))
    m, r = C.shape
    for a in range(m):
        v[a] = 0.0
        for i in range(r):
            x = 0.0
            for j in range(r):
                x += inverse[i, j] * C[a, j]
            v[a] += x * C[a, i]
    return inverse


@kernel
def improve(C: F64, nu: F64, tolerance: float) -> bool:
    """Improve nu until no leverage is above tolerance times the rank; say if that was reached."""
    m, r = C.shape
    v = np.empty(m)
    inverse, fresh = _leverages(C, nu, v), True
    for step in range(MOST_STEPS):
        if not fresh and (v.max() <= tolerance * r or step % REFRESH == 0):
            inverse, fresh = _leverages(C, nu, v), True
        if fresh and v.max() <= tolerance * r:
            return True
        if not np.isfinite(v.max()):
            return False
        _move(C, nu, inverse, v)
        fresh = False
    return False


@kernel
def _move(C: F64, nu: F64, inverse: F64, v: F64) -> None:
    """Move weight to the largest leverage, or away from the smallest (Wolfe and Atwood)."""
    m, r = C.shape
    most, least = 0, -1
    for a in range(m):
        if v[a] > v[most]:
            most = a
        if nu[a] > 0.0 and (least < 0 or v[a] < v[least]):
            least = a
    if v[most] - r >= r - v[least]:
        i, alpha = most, (v[most] / r - 1.0) / (v[most] - 1.0)
        weight = nu[i] * (1.0 - alpha) + alpha
    else:  # away: at most until the arm has no weight left
        i, alpha, weight = least, -nu[least] / (1.0 - nu[least]), 0.0
        if v[i] > 1.0:
            exact = (v[i] / r - 1.0) / (v[i] - 1.0)
            if exact > alpha:
                alpha, weight = exact, nu[i] * (1.0 - exact) + exact
    beta = alpha / (1.0 - alpha + alpha * v[i])
    along = np.zeros(r)
    for p in range(r):
        for j in range(r):
            along[p] += inverse[p, j] * C[i, j]
    for a in range(m):
        nu[a] *= 1.0 - alpha
        x = 0.0
        for j in range(r):
            x += C[a, j] * along[j]
        v[a] = (v[a] - beta * x * x) / (1.0 - alpha)
    nu[i] = weight
    for p in range(r):
        for j in range(r):
            inverse[p, j] = (inverse[p, j] - beta * along[p] * along[j]) / (1.0 - alpha)


@kernel
def prune(E: F64, nu: F64) -> None:
    """Keep the moments of rows (m, k + 1) on at most (k + 1) (k + 2) / 2 of them (Caratheodory).

    As the simplex method does: the moments of some rows, the basis, give those of all others. A row
    outside gives its weight to the basis until it has none left, or takes the place of one that has
    none.
    """
    on, r = np.flatnonzero(nu > 0.0), E.shape[1]
    if on.size <= r * (r + 1) // 2:
        return
    A = _squares(E, on)
    basis, rank = _eliminated(A)
    inside = np.zeros(on.size, np.bool_)
    inside[basis[:rank]] = True
    for f in np.flatnonzero(~inside):
        step, out = nu[on[f]], -1
        for i in range(rank):
            if A[i, f] < -1e-13 and nu[on[basis[i]]] < -A[i, f] * step:
                step, out = -nu[on[basis[i]]] / A[i, f], i
        for i in range(rank):
            nu[on[basis[i]]] = max(nu[on[basis[i]]] + A[i, f] * step, 0.0)
        nu[on[f]] -= step
        if out < 0:
            nu[on[f]] = 0.0
        else:
            nu[on[basis[out]]] = 0.0
            basis[out] = f
            _pivot(A, rank, out, int(f))
    nu /= nu.sum()


@kernel
def _squares(E: F64, on: I64) -> F64:
    """Return the products of coordinates, (p, rows), a column for each row."""
    r = E.shape[1]
    A = np.zeros((r * (r + 1) // 2, on.size))
    row = 0
    for i in range(r):
        for j in range(i + 1):
            for c in range(on.size):
                A[row, c] = E[on[c], i] * E[on[c], j]
            row += 1
    return A


@kernel
def _eliminated(A: F64) -> tuple[I64, int]:
    """Make unit vectors of as many columns as are independent (full pivoting); return which."""
    p, n = A.shape
    basis, rank = np.full(p, -1), 0
    for i in range(p):
        big, at, col = 1e-12, -1, -1
        for x in range(i, p):
            for j in range(n):
                if abs(A[x, j]) > big:
                    big, at, col = abs(A[x, j]), x, j
        if at < 0:
            break
        for j in range(n):
            A[i, j], A[at, j] = A[at, j], A[i, j]
        basis[i] = col
        rank += 1
        _pivot(A, p, i, col)
    return basis, rank


@kernel
def _pivot(A: F64, rows: int, i: int, col: int) -> None:
    """Make column ``col`` the unit vector of row i."""
    A[i] /= A[i, col]
    for x in range(rows):
        f = A[x, col]
        if x != i and f != 0.0:
            for j in range(A.shape[1]):
                A[x, j] -= f * A[i, j]


@kernel
def largest_pair(B: F64, nu: F64, exact: bool) -> float:
    """Return the largest |b - b'|^2 of rows, or, not exact, 4 max |b - mean|^2, which is not less.

    Rows far from the mean come first: two of them are not further apart than both distances. Of a
    singular design, whose rows are no numbers, it is infinite.
    """
    m, r = B.shape
    centre, total = np.zeros(r), nu.sum()
    for a in range(m):
        if nu[a] > 0.0:
            centre += nu[a] / total * B[a]
    far = np.empty(m)
    for a in range(m):
        x = 0.0
        for i in range(r):
            x += (B[a, i] - centre[i]) ** 2
        far[a] = math.sqrt(x)
        if not far[a] < np.inf:
            return np.inf
    if not exact:
        return float(4.0 * far.max() ** 2)
    order, best = np.argsort(-far), 0.0
    columns, apart = B[order].T.copy(), np.empty(m)  # by columns, for SIMD over the rows
    for a in range(1, m):
        until = 0
        while until < a and (far[order[a]] + far[order[until]]) ** 2 > best:
            until += 1
        if until == 0:
            break
        apart[:until] = 0.0
        for i in range(r):
            x = columns[i, a]
            for b in range(until):
                apart[b] += (columns[i, b] - x) ** 2
        for b in range(until):
            best = max(best, apart[b])
    return float(best)
