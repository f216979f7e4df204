"""Draws of a tabular MDP from tables: the i-th visit of a row leads where its table says."""

import numpy as np
from scipy.optimize import linprog

from uli_fast.learners._policies.models import rows_of


def draw_table(problem, learner, n, seed):
    """Return what kernels read in place of a stream (kernels/model_elimination.py)."""
    rng = np.random.default_rng(seed)
    rows, law = rows_of(problem, learner.pooled), problem.law(np.zeros(4, np.uint64))
    cdf = rows.flat(law.start, law.cdf)
    H, S, _ = problem.rewards.shape
    table = np.zeros((len(rows.size) + H * S, n + 1), np.int64)
    for i, home in enumerate(rows.home):
        below = cdf[home, : rows.size[home]]
        table[i, 1:] = (rng.random(n)[:, None] >= below[:-1]).sum(axis=1)
    table[len(rows.size) :, 1:] = rng.integers(0, 2**53, (H * S, n))
    return table


class TableSource:
    """The same table, as the slow twin reads it."""

    def __init__(self, table, problem, learner):
        self.table = table
        self.shape = problem.rewards.shape
        self.rows = rows_of(problem, learner.pooled)

    def _read(self, i):
        self.table[i, 0] += 1
        return int(self.table[i, self.table[i, 0]])

    def next_state(self, h, s, a):
        _, S, A = self.shape
        i = 0 if h == 0 else 1 + ((h - 1) * S + s) * A + a
        return int(self.rows.to[self.rows.home[i], self._read(i)])

    def action(self, h, s, chances):
        one, two = np.flatnonzero(chances)
        coin = self._read(len(self.rows.size) + (h - 1) * self.shape[1] + s) * 2.0**-53
        return int(one if coin < chances[one] else two)


def played_on(problem, learner, table, engine, horizon, budget=1000):
    """Play on a table of draws; return the run."""
    run = learner.begin(learner.on(problem), table.copy(), engine, horizon, np.array([horizon]))
    while not run.advance(budget):
        pass
    return run


def told(problem, learner):
    """Return what the slow twin is told about a problem."""
    return {
        "rewards": problem.unit_rewards,
        "delta": learner.delta,
        "stochastic": learner.play == "stochastic",
        "pooled": learner.pooled,
        "growth": learner.growth,
        "first": learner.first,
        "points": problem.decision_points,
        "successors": problem.successors,
        "initial_support": problem.initial_support,
    }


class OccupancyProgram:
    """The occupancies q of all plausible models as a polytope, for an independent solver.

    Variables: q(start, s'), q(h, s, a, s') before the last stage, q(s, a) at the last; by
    numbers of their own, with rows of the box l x <= q <= u x and conservation of the flow.
    """

    def __init__(self, run, policy=None):
        boxes, view = run.boxes, run.view
        H, S, A = self.shape = view.r.shape
        self.place, equal, below = {}, [], []
        for h in range(-1, H):
            for s in range(S if h >= 0 else 1):
                for a in range(A if h >= 0 else 1):
                    if h >= 0 and not view.left[h, s, a]:
                        continue
                    for k in self._to(boxes, h, s, a):
                        self.place[h, s, a, k] = len(self.place)
        n = len(self.place)
        equal.append((self._sum(n, -1, 0, 0), 1.0))
        for h in range(H):
            for s in range(S):
                row = sum((self._sum(n, h, s, a) for a in range(A)), np.zeros(n))
                for (j, _, _, k), i in self.place.items():
                    if j == h - 1 and k == s:
                        row[i] -= 1.0
                equal.append((row, 0.0))
        for (h, s, a, k), i in self.place.items():
            if k is None:
                continue
            home = boxes.home[0 if h < 0 else 1 + (h * S + s) * A + a]
            j = boxes.to[home, : boxes.size[home]].tolist().index(k)
            x, entry = self._sum(n, h, s, a), np.eye(n)[i]
            below.append(boxes.low[home, j] * x - entry)
            below.append(entry - boxes.high[home, j] * x)
        if policy is not None:  # q(h, s, a) = pi(a | h, s) q(h, s)
            for h in range(H):
                for s in range(S):
                    total = sum((self._sum(n, h, s, a) for a in range(A)), np.zeros(n))
                    for a in range(A):
                        equal.append((self._sum(n, h, s, a) - policy[h, s, a] * total, 0.0))
        self.equal, self.below, self.n = equal, below, n

    def _to(self, boxes, h, s, a):
        H, S, A = self.shape
        if h == H - 1:
            return [None]
        home = boxes.home[0 if h < 0 else 1 + (h * S + s) * A + a]
        return boxes.to[home, : boxes.size[home]].tolist()

    def _sum(self, n, h, s, a):
        row = np.zeros(n)
        row[[i for key, i in self.place.items() if key[:3] == (h, s, a)]] = 1.0
        return row

    def weights(self, R, first=0.0):
        """Return the coefficients of the sum of R, (H, S, A), and of ``first`` at the start."""
        c = np.zeros(self.n)
        for (h, s, a, _), i in self.place.items():
            c[i] = first if h < 0 else R[h, s, a]
        return c

    def most(self, c, least=None):
        """Return max <q, c>; least = (r, L) adds <q, r> >= L."""
        below = [(row, 0.0) for row in self.below]
        if least is not None:
            below.append((-least[0], -least[1]))
        rows, sides = (np.array(x) for x in zip(*below, strict=True))
        flow, right = (np.array(x) for x in zip(*self.equal, strict=True))
        tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        sets = {"A_ub": rows, "b_ub": sides, "A_eq": flow, "b_eq": right}
        found = linprog(-c, **sets, method="highs", options=tight)
        assert found.status == 0, found.message
        return -found.fun
