"""The maximum of <c, x> over A x <= b, from vertex to vertex, warm between directions.

A search begins at the best of the vertices where earlier ones ended. The first vertex
is found from the origin, with all rows free; if the origin misses rows, A x - t <= b
with t falling from the largest miss to 0 finds a feasible point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import kernel, lean_step, step
from uli_fast.kernels.oracles.status import EMPTY, FOUND, SINGULAR
from uli_fast.kernels.oracles.vertex import Vertex, climb, invert, new_room, settle

# Origin and rows may miss each other by this much.
MISSED = 1e-9
# Pivots between two fresh inverses.
REFRESH = 60


class Vertices(NamedTuple):
    """Vertices where maxima were found; the best of them is where the next search begins.

    All are parts of one array of numbers and one of integers: to hand a dozen arrays to
    a kernel would take longer than most searches.
    """

    AT: F64  # (n, N)
    b: F64  # (N,)
    lengths: F64  # (N,) the caller's rows are this much longer
    x: F64  # (P, n)
    inverse: F64  # (P, n, n)
    slack: F64  # (P, N)
    best: F64  # (n,) the maximiser found last
    y: F64  # (N,) multipliers of the caller's rows there
    active: I64  # (P, n)
    age: I64  # (P,)
    made: I64  # (1,) vertices so far; a new one takes the place of the oldest


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


@lean_step
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
