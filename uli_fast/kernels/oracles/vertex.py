"""The steps of the simplex method from one vertex of A x <= b to the next.

n active rows make a vertex, the inverse of their matrix has the edges as columns. One
of them with a negative multiplier is let go, the row met first along the edge takes its
place. Rows have length 1. Free rows, x_j = const, may be left on both sides and do not
come back: with them a search can begin anywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import kernel, lean_step
from uli_fast.kernels.oracles.status import ENDLESS, FOUND, UNBOUNDED

# Multipliers above minus this, in units of |c|, count as nonnegative.
OPTIMAL = 1e-11
# Rows less steep than this along an edge are not met.
FLAT = 1e-10
# Rows may be missed by this much, so that of near ties the steepest row is taken.
HARRIS = 1e-12
# Steps shorter than this do not move; after 3n of them Bland's rule ends cycling.
STALL = 1e-13


class Vertex(NamedTuple):
    """A vertex of A x <= b, or a point with free rows on the way to one."""

    AT: F64  # (n, N) the rows, transposed
    b: F64  # (N,)
    x: F64  # (n,)
    active: I64  # (n,) active rows; below 0: free
    inverse: F64  # (n, n) of the matrix of active rows
    slack: F64  # (N,) b - A x
    age: I64  # (1,) pivots since the inverse was fresh


class VertexRoom(NamedTuple):
    """Room for intermediate results."""

    lam: F64  # (n,) multipliers of the active rows
    square: F64  # (n,) squared lengths of the edges
    p: F64  # (n,) edge, of length 1
    w: F64  # (n,) the entering row in terms of the active ones
    slope: F64  # (N,) A p
    reach: F64  # (N,) where each row is met along p


@kernel
def new_room(vertex: Vertex) -> VertexRoom:
    """Return room for a vertex."""
    n, N = vertex.AT.shape
    return VertexRoom(np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(N), np.empty(N))


@lean_step
def choose(vertex: Vertex, room: VertexRoom, c: F64, least: float, bland: bool) -> int:
    """Return the active row to let go: the steepest edge, or the first; -1 at the optimum."""
    n, inverse = c.shape[0], vertex.inverse
    for j in range(n):
        room.lam[j] = 0.0
        room.square[j] = 0.0
    for t in range(n):
        for j in range(n):
            room.lam[j] += c[t] * inverse[t, j]
            room.square[j] += inverse[t, j] * inverse[t, j]
    best, leaving = least, -1
    for j in range(n):
        rate = room.lam[j] / np.sqrt(room.square[j])
        if vertex.active[j] < 0:
            rate = -abs(rate)
        if bland:
            if rate < least and (leaving < 0 or vertex.active[j] < vertex.active[leaving]):
                leaving = j
        elif rate < best:
            best, leaving = rate, j
    return leaving


@lean_step
def first_row(vertex: Vertex, room: VertexRoom, target: int, bland: bool) -> int:
    """Return the row met first along p; of near ties the target or the steepest; -1 if none."""
    n, N = vertex.AT.shape
    slope, slack = room.slope, vertex.slack
    for i in range(N):
        slope[i] = 0.0
    for t in range(n):
        for i in range(N):
            slope[i] += vertex.AT[t, i] * room.p[t]
    for i in range(N):  # without branches, which would be guessed wrongly half the time
        distance = (slack[i] if slack[i] > 0.0 else 0.0) + HARRIS
        room.reach[i] = distance / slope[i] if slope[i] > FLAT else np.inf
    for row in vertex.active:
        if row >= 0:
            room.reach[row] = np.inf
    reach = np.inf
    for i in range(N):
        if room.reach[i] < reach:
            reach = room.reach[i]
    row, best = -1, 0.0
    for i in range(N):
        if max(slack[i], 0.0) <= reach * slope[i] and room.reach[i] < np.inf:
            if i == target:
                return i
            if slope[i] > best:
                row, best = i, (np.inf if bland else slope[i])
    return row


@lean_step
def exchange(vertex: Vertex, room: VertexRoom, j: int, row: int) -> float:
    """Move along p until the row is met, and make it active in the j-th place."""
    n, N = vertex.AT.shape
    inverse = vertex.inverse
    length = max(vertex.slack[row], 0.0) / room.slope[row]
    for t in range(n):
        vertex.x[t] += length * room.p[t]
        room.w[t] = 0.0
    for i in range(N):
        vertex.slack[i] -= length * room.slope[i]
    for t in range(n):
        for k in range(n):
            room.w[k] += vertex.AT[t, row] * inverse[t, k]
    room.w[j] -= 1.0
    pivot = 1.0 + room.w[j]
    for t in range(n):
        share = inverse[t, j] / pivot
        for k in range(n):
            inverse[t, k] -= room.w[k] * share
    vertex.active[j] = row
    vertex.slack[row] = 0.0
    vertex.age[0] += 1
    return float(length)


@lean_step
def edge(vertex: Vertex, room: VertexRoom, j: int, sign: float) -> None:
    """Set p to the edge that leaves the j-th active row, of length 1."""
    scale = sign / np.sqrt(room.square[j])
    for t in range(room.p.shape[0]):
        room.p[t] = scale * vertex.inverse[t, j]


@kernel
def climb(vertex: Vertex, room: VertexRoom, c: F64, target: int, most: int) -> int:
    """Go from vertex to vertex until <c, x> is largest, or the target row is met."""
    n = c.shape[0]
    square, stalled = 0.0, 0
    for t in range(n):
        square += c[t] * c[t]
    least = -OPTIMAL * np.sqrt(square)
    for _ in range(most):
        bland = stalled > 3 * n
        j = choose(vertex, room, c, least, bland)
        if j < 0:
            return FOUND
        edge(vertex, room, j, 1.0 if room.lam[j] > 0.0 else -1.0)
        row = first_row(vertex, room, target, bland)
        if row < 0:
            return UNBOUNDED
        stalled = stalled + 1 if exchange(vertex, room, j, row) <= STALL else 0
        if row == target:
            return FOUND
    return ENDLESS


@kernel
def settle(vertex: Vertex, room: VertexRoom) -> int:
    """Let go of the free rows that are left, in any direction."""
    n = vertex.x.shape[0]
    for j in range(n):
        if vertex.active[j] < 0:
            room.square[j] = 0.0
            for t in range(n):
                room.square[j] += vertex.inverse[t, j] * vertex.inverse[t, j]
            edge(vertex, room, j, 1.0)
            row = first_row(vertex, room, -1, False)
            if row < 0:
                return UNBOUNDED
            exchange(vertex, room, j, row)
    return FOUND


@kernel
def invert(vertex: Vertex) -> bool:
    """Compute inverse, vertex and slacks afresh; say whether the rows are independent."""
    n, N = vertex.AT.shape
    M = np.zeros((n, 2 * n))
    for j in range(n):
        for t in range(n):
            M[j, t] = vertex.AT[t, vertex.active[j]]
        M[j, n + j] = 1.0
    for k in range(n):
        best = k
        for j in range(k + 1, n):
            if abs(M[j, k]) > abs(M[best, k]):
                best = j
        if abs(M[best, k]) < 1e-12:
            return False
        for t in range(2 * n):
            M[k, t], M[best, t] = M[best, t], M[k, t]
        scale = 1.0 / M[k, k]
        for t in range(2 * n):
            M[k, t] *= scale
        for j in range(n):
            if j != k and M[j, k] != 0.0:
                share = M[j, k]
                for t in range(2 * n):
                    M[j, t] -= share * M[k, t]
    for i in range(N):
        vertex.slack[i] = vertex.b[i]
    for t in range(n):
        vertex.x[t] = 0.0
        for j in range(n):
            vertex.inverse[t, j] = M[t, n + j]
            vertex.x[t] += M[t, n + j] * vertex.b[vertex.active[j]]
        for i in range(N):
            vertex.slack[i] -= vertex.AT[t, i] * vertex.x[t]
    for row in vertex.active:
        vertex.slack[row] = 0.0
    vertex.age[0] = 0
    return True
