"""The maximum of <c, x> over A x <= b, from vertex to vertex, warm between directions.

The simplex method on the rows themselves: n active rows make a vertex, the inverse of
their matrix has the edges as columns. One of them with a negative multiplier is let go,
the row met first along the edge takes its place. Rows have length 1.

At first the active rows are free ones, x_j = 0, which may be left on both sides and do
not come back. If the origin misses rows, A x - t <= b with t falling from the largest
miss to 0 finds a feasible vertex.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import kernel, step

FOUND, EMPTY, ENDLESS, UNBOUNDED, SINGULAR = 0, 1, 2, 3, 4
# Multipliers above minus this, in units of |c|, count as nonnegative.
OPTIMAL = 1e-11
# Rows less steep than this along an edge are not met.
FLAT = 1e-10
# Rows may be missed by this much, so that of near ties the steepest row is taken.
HARRIS = 1e-12
# Steps shorter than this do not move; after 3n of them Bland's rule ends cycling.
STALL = 1e-13
# Origin and rows may miss each other by this much.
MISSED = 1e-9
# Pivots between two fresh inverses.
REFRESH = 60


class Vertex(NamedTuple):
    """A vertex of A x <= b, or a point with free rows on the way to one."""

    AT: F64  # (n, N) the rows, transposed
    b: F64  # (N,)
    x: F64  # (n,)
    active: I64  # (n,) active rows; below 0: free
    inverse: F64  # (n, n) of the matrix of active rows
    slack: F64  # (N,) b - A x
    age: I64  # (1,) pivots since the inverse was fresh


class Vertices(NamedTuple):
    """Vertices where maxima were found; the best of them is where the next search begins.

    All are parts of one array of numbers and one of integers: to hand a dozen arrays to
    a kernel would take longer than most searches.
    """

    AT: F64  # (n, N)
    b: F64  # (N,)
    lengths: F64  # (N,) the caller's rows are so much longer
    x: F64  # (P, n)
    inverse: F64  # (P, n, n)
    slack: F64  # (P, N)
    best: F64  # (n,) the maximiser found last
    y: F64  # (N,) multipliers of the caller's rows there
    active: I64  # (P, n)
    age: I64  # (P,)
    made: I64  # (1,) vertices so far; a new one takes the place of the oldest


class Room(NamedTuple):
    """Room for intermediate results."""

    lam: F64  # (n,) multipliers of the active rows
    square: F64  # (n,) squared lengths of the edges
    p: F64  # (n,) edge, of length 1
    w: F64  # (n,) the entering row in terms of the active ones
    slope: F64  # (N,) A p
    reach: F64  # (N,) where each row is met along p


@kernel
def new_room(vertex: Vertex) -> Room:
    """Return room for a vertex."""
    n, N = vertex.AT.shape
    return Room(np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(N), np.empty(N))


@step
def choose(vertex: Vertex, room: Room, c: F64, least: float, bland: bool) -> int:
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


@step
def first_row(vertex: Vertex, room: Room, target: int, bland: bool) -> int:
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


@step
def exchange(vertex: Vertex, room: Room, j: int, row: int) -> float:
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


@step
def edge(vertex: Vertex, room: Room, j: int, sign: float) -> None:
    """Set p to the edge that leaves the j-th active row, of length 1."""
    scale = sign / np.sqrt(room.square[j])
    for t in range(room.p.shape[0]):
        room.p[t] = scale * vertex.inverse[t, j]


@kernel
def climb(vertex: Vertex, room: Room, c: F64, target: int, most: int) -> int:
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
def settle(vertex: Vertex, room: Room) -> int:
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


@kernel
def start(vertex: Vertex, most: int) -> int:
    """Make a vertex of A x <= b; the status is EMPTY where there is none."""
    n, N = vertex.AT.shape
    worst, vertex.age[0] = 0, 0
    for j in range(n):
        vertex.active[j], vertex.x[j] = -1 - j, 0.0
        for t in range(n):
            vertex.inverse[t, j] = 1.0 if t == j else 0.0
    for i in range(N):
        vertex.slack[i] = vertex.b[i]
        if vertex.b[i] < vertex.b[worst]:
            worst = i
    if vertex.b[worst] < 0.0:
        status = meet_rows(vertex, worst, most)
        if status != FOUND:
            return int(status)
    status = settle(vertex, new_room(vertex))
    return status if status != FOUND or invert(vertex) else SINGULAR


@kernel
def meet_rows(vertex: Vertex, worst: int, most: int) -> int:
    """Find a point of A x <= b: in A x - t <= b, -t <= 0 let t fall to 0."""
    n, N = vertex.AT.shape
    AT, b, slack = np.zeros((n + 1, N + 1)), np.zeros(N + 1), np.empty(N + 1)
    inverse, active = np.zeros((n + 1, n + 1)), np.empty(n + 1, dtype=np.int64)
    x, c = np.zeros(n + 1), np.zeros(n + 1)
    x[n], c[n] = -vertex.b[worst], -1.0
    for j in range(n):
        for i in range(N):
            AT[j, i] = vertex.AT[j, i]
        inverse[j, j], active[j] = 1.0, -1 - j
        inverse[n, j] = AT[j, worst]
    inverse[n, n], active[n] = -1.0, worst
    for i in range(N + 1):
        AT[n, i] = -1.0
        b[i] = vertex.b[i] if i < N else 0.0
        slack[i] = b[i] + x[n] if i != worst else 0.0
    above = Vertex(AT, b, x, active, inverse, slack, vertex.age)
    status = climb(above, new_room(above), c, N, most)
    if status == FOUND and x[n] > MISSED:
        return EMPTY
    if status != FOUND:
        return int(status)
    at = -1
    for j in range(n + 1):
        if active[j] == N:
            at = j
    if at < 0:  # t is 0 but for rounding: its row takes the place of the row most against it
        at = 0
        for j in range(n + 1):
            if abs(inverse[n, j]) > abs(inverse[n, at]):
                at = j
        for j in range(n + 1):
            share = inverse[n, j] / inverse[n, at] if j != at else 0.0
            for t in range(n):
                inverse[t, j] -= share * inverse[t, at]
    k = 0
    for j in range(n + 1):
        if j != at:
            vertex.active[k] = active[j]
            for t in range(n):
                vertex.inverse[t, k] = inverse[t, j]
            k += 1
    for t in range(n):
        vertex.x[t] = x[t]
    for i in range(N):
        vertex.slack[i] = slack[i]
    return FOUND


@kernel
def room_for(n: int, N: int, P: int) -> tuple[int, int]:
    """Return how many numbers and integers P vertices take."""
    return n * N + 3 * N + n + P * (n + n * n + N), P * n + P + 1


@kernel
def carve(numbers: F64, integers: I64, n: int, N: int, P: int) -> Vertices:
    """Return the parts of the two arrays."""
    at = np.cumsum(np.array([n * N, N, N, P * n, P * n * n, P * N, n, N]))
    return Vertices(
        numbers[: at[0]].reshape((n, N)),
        numbers[at[0] : at[1]],
        numbers[at[1] : at[2]],
        numbers[at[2] : at[3]].reshape((P, n)),
        numbers[at[3] : at[4]].reshape((P, n, n)),
        numbers[at[4] : at[5]].reshape((P, N)),
        numbers[at[5] : at[6]],
        numbers[at[6] : at[7]],
        integers[: P * n].reshape((P, n)),
        integers[P * n : P * n + P],
        integers[P * n + P :],
    )


@step
def slot(vertices: Vertices, i: int) -> Vertex:
    """Return the i-th vertex that is kept."""
    return Vertex(
        vertices.AT,
        vertices.b,
        vertices.x[i],
        vertices.active[i],
        vertices.inverse[i],
        vertices.slack[i],
        vertices.age[i : i + 1],
    )


@step
def begin(vertices: Vertices, c: F64) -> int:
    """Copy the best of the vertices kept to the next place, and return that."""
    count, last = min(vertices.made[0], vertices.x.shape[0]), vertices.made[0] - 1
    best, nearest = -np.inf, 0
    for i in range(count):
        value = 0.0
        for t in range(c.shape[0]):
            value += c[t] * vertices.x[i, t]
        if value > best:
            best, nearest = value, i
    place = (last + 1) % vertices.x.shape[0]
    if place != nearest:
        for t in range(c.shape[0]):
            vertices.x[place, t] = vertices.x[nearest, t]
            vertices.active[place, t] = vertices.active[nearest, t]
            for j in range(c.shape[0]):
                vertices.inverse[place, t, j] = vertices.inverse[nearest, t, j]
        for i in range(vertices.b.shape[0]):
            vertices.slack[place, i] = vertices.slack[nearest, i]
        vertices.age[place] = vertices.age[nearest]
    return int(place)


@kernel
def first(numbers: F64, integers: I64, n: int, N: int, P: int, most: int) -> int:
    """Find a vertex to begin with; return the status."""
    vertices = carve(numbers, integers, n, N, P)
    vertices.made[0] = 1
    return start(slot(vertices, 0), most)


@kernel
def maximise(numbers: F64, integers: I64, n: int, N: int, P: int, c: F64, most: int) -> int:
    """Set ``best`` to the vertex where <c, x> is largest, ``y`` to the multipliers there."""
    vertices = carve(numbers, integers, n, N, P)
    vertex = slot(vertices, begin(vertices, c))
    if vertex.age[0] >= REFRESH and not invert(vertex):
        return SINGULAR
    room, age = new_room(vertex), vertex.age[0]
    status = climb(vertex, room, c, N, most)  # there is no row N
    if vertex.age[0] > age:  # a vertex that was not known
        vertices.made[0] += 1
    for t in range(n):
        vertices.best[t] = vertex.x[t]
    for i in range(N):
        vertices.y[i] = 0.0
    for j in range(n):
        row = vertex.active[j]
        vertices.y[row] = max(room.lam[j], 0.0) / vertices.lengths[row]
    return int(status)
