"""The maximum of <g, x> over |x| <= 1, W x <= b, by following a path of projections.

x(tau) = argmin |x - tau g|^2 over W x <= b is piecewise linear, and its length grows
with tau: where it reaches 1 (or where nothing changes any more) is the maximum, with
multipliers. The path starts at tau = 0, in the projection of the origin, which is the
same for all g. On a piece the rows of the working set are active,

    W_k = L Q,   x = Q^T y + tau p,   L y = b_k,   p = g - Q^T Q g,
    m = tau alpha - beta,   L^T alpha = Q g,   L^T beta = y,

m the multipliers of the projection; it ends where another row becomes active or an
m_j reaches 0. Ties are left to the iteration limit: the caller has other solvers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64
from uli_fast.kernels._jit import kernel, lean_step
from uli_fast.kernels.oracles.status import EMPTY, ENDLESS, FOUND

# A row this nearly in the span of the working set is not added to it.
DEPENDENT = 1e-10
# Slices of radius below this are points; their multipliers would be infinite.
SMALLEST_RADIUS = 1e-8
# Violations of the projection below this are rounding.
ROUNDING = 1e-14


class Basis(NamedTuple):
    """The k rows of the working set and their orthonormal basis; room for one more."""

    rows: I64  # (n+1,) their indices
    Q: F64  # (n+1, n) orthonormal rows
    L: F64  # (n+1, n+1) lower triangle
    y: F64  # (n+1,) L y = b_k: the coordinates of the shortest x with W_k x = b_k


@kernel
def new_basis(n: int) -> Basis:
    """Return an empty working set."""
    return Basis(
        np.empty(n + 1, dtype=np.int64),
        np.empty((n + 1, n)),
        np.empty((n + 1, n + 1)),
        np.empty(n + 1),
    )


@lean_step
def split(basis: Basis, k: int, w: F64) -> float:
    """Split w = L[k, :k] Q + L[k, k] Q[k] by Gram and Schmidt; return L[k, k]."""
    n, Q, L = w.shape[0], basis.Q, basis.L
    for t in range(n):
        Q[k, t] = w[t]
    for r in range(k):
        L[k, r] = 0.0
    for _ in range(2):  # once is not enough
        for r in range(k):
            c = 0.0
            for t in range(n):
                c += Q[r, t] * Q[k, t]
            L[k, r] += c
            for t in range(n):
                Q[k, t] -= c * Q[r, t]
    square = 0.0
    for t in range(n):
        square += Q[k, t] * Q[k, t]
    L[k, k] = np.sqrt(square)
    if L[k, k] > DEPENDENT:
        for t in range(n):
            Q[k, t] /= L[k, k]
    return float(L[k, k])


@kernel
def append(basis: Basis, k: int, W: F64, b: F64, i: int) -> float:
    """Put row i behind the first k; return the length that is new in it."""
    length = split(basis, k, W[i])
    total = b[i]
    for r in range(k):
        total -= basis.L[k, r] * basis.y[r]
    basis.y[k] = total / length
    basis.rows[k] = i
    return length


@lean_step
def remove(basis: Basis, k: int, W: F64, b: F64, j: int) -> None:
    """Take the j-th of the first k rows away."""
    for r in range(j, k - 1):
        append(basis, r, W, b, basis.rows[r + 1])


@lean_step
def back(L: F64, k: int, right: F64, out: F64) -> None:
    """Solve L^T out = right for the leading k."""
    for j in range(k - 1, -1, -1):
        total = right[j]
        for r in range(j + 1, k):
            total -= L[r, j] * out[r]
        out[j] = total / L[j, j]


@lean_step
def foot(basis: Basis, k: int, x: F64) -> float:
    """Set x = Q^T y, the shortest point with W_k x = b_k; return its squared length."""
    square = 0.0
    for t in range(x.shape[0]):
        x[t] = 0.0
    for r in range(k):
        square += basis.y[r] * basis.y[r]
        for t in range(x.shape[0]):
            x[t] += basis.y[r] * basis.Q[r, t]
    return square


@lean_step
def most_missed(W: F64, b: F64, x: F64) -> tuple[int, float]:
    """Return the row that x misses most, -1 if none, and by how much."""
    worst, i = ROUNDING, -1
    for row in range(b.shape[0]):
        over = -b[row]
        for t in range(x.shape[0]):
            over += W[row, t] * x[t]
        if over > worst:
            worst, i = over, row
    return i, worst


@kernel
def project_origin(W: F64, b: F64, most: int) -> tuple[int, I64]:
    """Return the status and the rows active at the shortest x with W x <= b.

    The dual method of Goldfarb and Idnani: add the row that is missed most, let go of
    those whose multipliers reach 0 on the way.
    """
    n = W.shape[1]
    basis = new_basis(n)
    x, r, m = np.zeros(n), np.empty(n + 1), np.zeros(n + 1)
    k, i, entering = 0, -1, 0.0
    for _ in range(most):
        if i < 0:
            i, over = most_missed(W, b, x)
            if i < 0:
                square = foot(basis, k, x)
                return (FOUND if square <= 1.0 + 2e-9 else EMPTY), basis.rows[:k].copy()
            entering = 0.0
        length = split(basis, k, W[i])
        if k == n:
            length = 0.0
        back(basis.L, k, basis.L[k], r)
        partial, leaving = np.inf, -1
        for j in range(k):
            if r[j] > DEPENDENT and m[j] < partial * r[j]:
                partial, leaving = max(m[j], 0.0) / r[j], j
        full = over / (length * length) if length > DEPENDENT else np.inf
        if full == np.inf and leaving < 0:
            return EMPTY, basis.rows[:k].copy()
        size = min(full, partial)
        for j in range(k):
            m[j] -= size * r[j]
        entering += size
        if full <= partial:
            append(basis, k, W, b, i)
            m[k] = entering
            k, i = k + 1, -1
            foot(basis, k, x)
        else:
            over -= size * length * length
            for j in range(leaving, k - 1):
                m[j] = m[j + 1]
            remove(basis, k, W, b, leaving)
            k -= 1
    return ENDLESS, basis.rows[:k].copy()


@lean_step
def first_row(
    WT: F64, b: F64, x: F64, p: F64, active: B1, work: F64, change: float, tau: float, least: float
) -> tuple[int, float]:
    """Return the row that x + tau p meets first, -1 if none before ``change``, and where."""
    N, row = b.shape[0], -1
    slack, slope = work[0], work[1]
    for i in range(N):
        slack[i], slope[i] = b[i], 0.0
    for t in range(x.shape[0]):
        for i in range(N):
            slack[i] -= WT[t, i] * x[t]
            slope[i] += WT[t, i] * p[t]
    for i in range(N):
        if slope[i] > least and not active[i] and slack[i] < change * slope[i]:
            at = max(slack[i] / slope[i], tau)
            if at < change:
                row, change = i, at
    return row, change


@kernel
def maximise(g: F64, W: F64, WT: F64, b: F64, start: I64, most: int, x: F64, y: F64) -> int:
    """Set x to the maximiser of <g, x>, y to the multipliers of the rows; return the status.

    WT is W transposed, ``start`` the working set of ``project_origin``; |g| = 1.
    """
    N, n = W.shape
    basis, p = new_basis(n), np.empty(n)
    alpha, beta, work = np.empty(n + 1), np.empty(n + 1), np.empty((2, N))
    active = np.zeros(N, dtype=np.bool_)
    k, tau = 0, 0.0
    for i in start:
        append(basis, k, W, b, i)
        active[i] = True
        k += 1
    for _ in range(most):
        room = 1.0 - foot(basis, k, x)
        length = split(basis, k, g)  # g = alpha W + p
        scale = length if length > DEPENDENT else 1.0
        for t in range(n):
            p[t] = scale * basis.Q[k, t]
        if k == n or length < ROUNDING:
            length = 0.0
        back(basis.L, k, basis.L[k], alpha)
        back(basis.L, k, basis.y, beta)
        radius = np.sqrt(max(room, 0.0))
        end = radius / length if length > 0.0 else np.inf
        change, leaving = end, -1
        for j in range(k):
            if alpha[j] < -ROUNDING and beta[j] > change * alpha[j]:
                change, leaving = max(beta[j] / alpha[j], tau), j
        entering = -1
        if length > 0.0:
            least = DEPENDENT * length
            entering, change = first_row(WT, b, x, p, active, work, change, tau, least)
        if entering >= 0:
            if append(basis, k, W, b, entering) <= DEPENDENT:
                return ENDLESS
            active[entering] = True
            k += 1
        elif leaving >= 0:
            active[basis.rows[leaving]] = False
            remove(basis, k, W, b, leaving)
            k -= 1
        else:  # |x| = 1, or nothing changes any more
            share = length / max(radius, SMALLEST_RADIUS)  # 1 / tau
            for t in range(n):
                x[t] += (radius / length if length > 0.0 else 0.0) * p[t]
            for i in range(N):
                y[i] = 0.0
            for j in range(k):
                y[basis.rows[j]] = max(alpha[j] - share * beta[j], 0.0)
            return FOUND
        tau = change
    return ENDLESS
