"""Occupancies of plausible models: as a linear programme, at random, and by the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from uli_fast._typing import B1, F64, I64


def row_of(h: int, s: int, a: int, S: int, A: int) -> int:
    """Return the number of a row; stage -1 is the start."""
    return 0 if h < 0 else 1 + (h * S + s) * A + a


class OccupancyProgram:
    """The polytope of q(h, s, a, s') over all plausible models, for an independent solver.

    Variables: q(start, s'), q(h, s, a, s') before the last stage, q(s, a) at the last. Rows:
    conservation of the flow, and low x <= q <= high x, x being the sum of a row's q.
    """

    def __init__(self, boxes: Any, left: B1) -> None:
        from scipy.sparse import coo_array

        self.shape = H, S, A = left.shape
        names: list[tuple[int, int, int, int]] = []
        ends: list[tuple[float, float]] = []
        rows: list[list[int]] = []
        for h in range(-1, H):
            nodes = [(0, 0)] if h < 0 else [(s, a) for s, a in np.argwhere(left[h]).tolist()]
            for s, a in nodes:
                i = int(boxes.home[row_of(h, s, a, S, A)]) if h < H - 1 else -1
                to = [-1] if i < 0 else boxes.to[i, : boxes.size[i]].tolist()
                rows.append(list(range(len(names), len(names) + len(to))))
                names += [(h, s, a, k) for k in to]
                ends += [(boxes.low[i, j], boxes.high[i, j]) for j in range(len(to)) if i >= 0]
                ends += [(0.0, 1.0)] * (i < 0)
        self.names, self.n = names, len(names)
        self.starts = [i for i, name in enumerate(names) if name[0] < 0]
        flow = [(0, i, 1.0) for i in self.starts]
        for i, (h, s, _, k) in enumerate(names):
            if h >= 0:
                flow.append((1 + h * S + s, i, 1.0))
            if h < H - 1:
                flow.append((1 + (h + 1) * S + k, i, -1.0))
        box = []
        for row in rows:
            for i in row:
                low, high = ends[i]
                box += [(2 * i, j, low - (i == j)) for j in row]
                box += [(2 * i + 1, j, float(i == j) - high) for j in row]

        def matrix(entries: list[tuple[int, int, float]], height: int) -> Any:
            i, j, x = zip(*entries, strict=True)
            return coo_array((x, (i, j)), shape=(height, self.n)).tocsr()

        self.flow, self.box = matrix(flow, 1 + H * S), matrix(box, 2 * self.n)

    def weights(self, R: F64) -> F64:
        """Return the coefficients of the sum of R, (H, S, A)."""
        return np.array([0.0 if h < 0 else R[h, s, a] for h, s, a, _ in self.names])

    def most(self, c: F64, least: tuple[F64, float] | None = None) -> float:
        """Return max <q, c>; least = (r, L) adds <q, r> >= L."""
        from scipy.optimize import linprog
        from scipy.sparse import vstack

        below, sides = self.box, np.zeros(2 * self.n)
        if least is not None:
            below = vstack([below, -least[0][None]]).tocsr()
            sides = np.append(sides, -least[1])
        right = np.zeros(self.flow.shape[0])
        right[0] = 1.0
        tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        found = linprog(-c, below, sides, self.flow, right, method="highs", options=tight)
        if found.status != 0:
            raise ArithmeticError(found.message)
        return -float(found.fun)


def largest(run: Any, R: F64) -> float:
    """Return the largest sum of R over policies of actions left and models, by induction."""
    from uli_fast.kernels.mdp import robust

    H, S, A = R.shape
    V, pi, free = np.zeros((H + 1, S)), np.zeros((H, S), np.int8), np.full((H, S, A), np.inf)
    return float(robust.induct(run.boxes, R, 0.0, free, run.view.left, V, pi, np.arange(S)))


def width_within(run: Any, least: float) -> float:
    """Return the largest sum of b among occupancies worth ``least`` or more."""
    from uli_fast.kernels.mdp import robust

    return float(robust.choose_within(run.boxes, run.view, spare(run.choice), least))


def width_now(run: Any) -> float:
    """Return W of the last look itself, not the smallest so far."""
    from uli_fast.kernels.mdp import robust

    view = run.view
    if run.rule.stochastic:
        return width_within(run, view.start[1] - robust.ROUNDING * view.r.shape[0])
    return float(robust.choose_widest(run.boxes, view, spare(run.choice)))


def spare(choice: Any) -> Any:
    """Return a copy of a choice, to be overwritten."""
    return type(choice)(*(part.copy() for part in choice))


def random_model(boxes: Any, rng: np.random.Generator) -> F64:
    """Return rows of the boxes, (R, w), drawn at random; corners are likely."""
    rows: F64 = boxes.low.copy()
    for i in np.flatnonzero(boxes.home == np.arange(len(boxes.home))):
        m, rest = boxes.size[i], boxes.rest[i]
        order = rng.permutation(m)
        shares = np.append(np.where(rng.random(m) < 0.7, 1.0, rng.random(m)), np.ones(m))
        for j, share in zip(np.append(order, order), shares, strict=True):
            add = min(rest, share * (boxes.high[i, j] - rows[i, j]))
            rows[i, j] += add
            rest -= add
    return rows


def passed(boxes: Any, rows: F64, pi: F64, r: F64) -> tuple[F64, float]:
    """Return the occupancy (H, S) of a policy (H, S, A) in a model, and its value."""
    H, S, A = r.shape
    x = np.zeros((H, S))

    def spread(to: F64, home: int, mass: float) -> None:
        m = boxes.size[home]
        np.add.at(to, boxes.to[home, :m], mass * rows[home, :m])

    spread(x[0], 0, 1.0)
    for h in range(H - 1):
        for s in range(S):
            for a in range(A):
                home: I64 = boxes.home[row_of(h, s, a, S, A)]
                spread(x[h + 1], int(home), x[h, s] * pi[h, s, a])
    return x, float((x[:, :, None] * pi * r).sum())
