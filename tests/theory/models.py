"""Boxes around the rows of an MDP, straight from docs/proofs_models.md, without the package.

Stage 0 is the start node: state 0, action 0, reward 0, whose successors are the first states. Rows
are P[h][s, a] for h < H; nothing is unknown after stage H. Rewards r and the actions left are
(H + 1, S, A), boxes l and u (H, S, A, S).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

# Actions as good as each other must not be told apart by rounding.
ROUNDING = 1e-12


def kl(x, p):
    """Return the divergence of two coins, infinite where p excludes x."""
    total = 0.0
    for a, b in ((x, p), (1.0 - x, 1.0 - p)):
        if a > 0.0:
            if b <= 0.0:
                return math.inf
            total += a * math.log(a / b)
    return max(0.0, total)


def interval(x, y):
    """Return the ends of {p : kl(x, p) <= y}, by bisection, rounded outwards."""
    ends = []
    for outside in (0.0, 1.0):
        inside, far = x, outside
        if kl(x, far) <= y:
            ends.append(far)
            continue
        for _ in range(60):
            middle = (inside + far) / 2.0
            inside, far = (middle, far) if kl(x, middle) <= y else (inside, middle)
        ends.append(far)
    return ends[0], ends[1]


def box(counts, log_term):
    """Return the ends of a row's intervals after some visits; without any, 0 and 1."""
    n = counts.sum()
    if n == 0:
        return np.zeros(len(counts)), np.ones(len(counts))
    ends = [interval(k / n, log_term / n) for k in counts]
    return np.array([e[0] for e in ends]), np.array([e[1] for e in ends])


def extreme(low, high, V):
    """Return the row of a box with the largest P V: what is left goes where V is largest."""
    p, rest = low.copy(), 1.0 - low.sum()
    for s in np.argsort(-V, kind="stable"):
        give = min(high[s] - low[s], rest)
        p[s] += give
        rest -= give
    return p


def most(low, high, V):
    return float(extreme(low, high, V) @ V)


def least(low, high, V):
    return -most(low, high, -V)


def spread(width, low, high):
    """Return min over c of sum width max(high - c, c - low): a median of the middles is best."""
    middles = (low + high) / 2.0
    return min(float(width @ np.maximum(high - c, c - low)) for c in middles)


class Look(NamedTuple):
    left: np.ndarray
    b: np.ndarray  # (H + 1, S, A)
    g: np.ndarray
    wide: np.ndarray  # Qmax - Qmin: where sums of b are cut off
    lag: np.ndarray  # Vmax - Qmin: where sums of g are
    Vmax: np.ndarray  # (H + 2, S)
    Vlow: np.ndarray
    Vmin: np.ndarray
    U: float
    L: float


def look(l, u, r, left):  # noqa: E741
    """Go backwards once: drop actions, and bound values and what is open."""
    H, S, A, _ = l.shape
    left = left.copy()
    Vmax, Vlow, Vmin = np.zeros((3, H + 2, S))
    b, g, wide, lag = np.zeros((4, H + 1, S, A))
    for h in range(H, -1, -1):
        for s in range(S):
            actions = np.flatnonzero(left[h, s])
            if not actions.size:
                continue
            up, low, least_ = {}, {}, {}
            for a in actions:
                if h < H:
                    row = l[h, s, a], u[h, s, a]
                    after = [most(*row, Vmax[h + 1]), least(*row, Vlow[h + 1])]
                    after.append(least(*row, Vmin[h + 1]))
                    by_width = spread(row[1] - row[0], Vmin[h + 1], Vmax[h + 1])
                    b[h, s, a] = min(by_width, after[0] - after[2])
                else:
                    after = [0.0, 0.0, 0.0]
                up[a], low[a], least_[a] = (r[h, s, a] + x for x in after)
            Vlow[h, s] = max(low.values())
            for a in actions:
                left[h, s, a] = up[a] >= Vlow[h, s] - ROUNDING
            kept = [a for a in actions if left[h, s, a]]
            Vmax[h, s] = max(up[a] for a in kept)
            Vmin[h, s] = min(least_[a] for a in kept)
            for a in kept:
                wide[h, s, a], lag[h, s, a] = up[a] - least_[a], Vmax[h, s] - least_[a]
                others = [up[c] for c in kept if c != a]
                g[h, s, a] = max(0.0, max(others) - low[a]) if others else 0.0
    b, g = b * left, g * left
    return Look(left, b, g, wide, lag, Vmax, Vlow, Vmin, Vmax[0, 0], Vlow[0, 0])


def optimistic(reward, l, u, left, cut=None):  # noqa: E741
    """Return the largest sum of rewards over policies and plausible models, policy and model."""
    values, policy, model = inductions(reward, l, u, left, cut)
    return float(values[0, 0]), policy, model


def inductions(reward, l, u, left, cut=None):  # noqa: E741
    """Return the same from every stage and state on, (H + 2, S), policy and model.

    ``cut``, (H + 1, S, A), is what no sum exceeds, wherever it begins.
    """
    H, S, A, _ = l.shape
    V, policy, model = np.zeros((H + 2, S)), np.zeros((H + 1, S, A)), np.zeros((H, S, A, S))
    for h in range(H, -1, -1):
        for s in range(S):
            values = {}
            for a in np.flatnonzero(left[h, s]):
                value = reward[h, s, a]
                if h < H:
                    model[h, s, a] = extreme(l[h, s, a], u[h, s, a], V[h + 1])
                    value += model[h, s, a] @ V[h + 1]
                values[a] = value if cut is None else min(value, cut[h, s, a])
            if values:
                best = max(values, key=values.get)
                V[h, s], policy[h, s, best] = values[best], 1.0
    return V, policy, model


def stages_left(l):  # noqa: E741
    """Return H - h at stage h: the simplest place to cut."""
    H, S, A, _ = l.shape
    return np.broadcast_to(np.arange(H, -1.0, -1.0)[:, None, None], (H + 1, S, A))


def occupancy(policy, P):
    """Return the probability of every stage, state and action, (H + 1, S, A)."""
    here = np.zeros(policy.shape[1])
    here[0] = 1.0
    found = []
    for h in range(len(policy)):
        found.append(here[:, None] * policy[h])
        if h < len(P):
            here = np.einsum("sa,sak->k", found[-1], P[h])
    return np.array(found)


def programme(b, r, l, u, left, worth):  # noqa: E741
    """Solve max <x, b> over plausible occupancies with <x, r> >= worth by HiGHS; value and x."""
    H, S, A, _ = l.shape
    nx, nq = (H + 1) * S * A, H * S * A * S
    x = np.arange(nx).reshape(H + 1, S, A)
    q = nx + np.arange(nq).reshape(H, S, A, S)
    equal, upper, sides = [], [], []

    def line(pairs):
        row = np.zeros(nx + nq)
        for i, value in pairs:
            row[i] += value
        return row

    sides_equal = [1.0]
    equal.append(line([(x[0, 0, 0], 1.0)]))
    for h in range(H):
        for s, a in np.ndindex(S, A):
            equal.append(line([(x[h, s, a], -1.0)] + [(i, 1.0) for i in q[h, s, a]]))
            sides_equal.append(0.0)
            for k in range(S):
                upper.append(line([(q[h, s, a, k], 1.0), (x[h, s, a], -u[h, s, a, k])]))
                upper.append(line([(q[h, s, a, k], -1.0), (x[h, s, a], l[h, s, a, k])]))
                sides += [0.0, 0.0]
        for k in range(S):
            into = [(i, 1.0) for i in q[h, :, :, k].ravel()]
            equal.append(line([(i, -1.0) for i in x[h + 1, k]] + into))
            sides_equal.append(0.0)
    if worth is not None:
        upper.append(line(zip(x.ravel(), -r.ravel(), strict=True)))
        sides.append(-worth)
    bounds = [(0.0, None if allowed else 0.0) for allowed in left.ravel()] + [(0.0, None)] * nq
    objective = line(zip(x.ravel(), -b.ravel(), strict=True))
    solved = linprog(objective, upper, sides, equal, sides_equal, bounds, method="highs")
    assert solved.status == 0, solved.message
    return -solved.fun, np.abs(solved.x[:nx].reshape(x.shape))  # no -0.0


def dual(b, r, l, u, left, worth):  # noqa: E741
    """Return min over lam >= 0 of the optimistic sum of b + lam r, less lam worth, by bisection."""

    def at(lam):
        _, policy, model = optimistic(b + lam * r, l, u, left)
        x = occupancy(policy, model)
        return float((x * b).sum() + lam * ((x * r).sum() - worth)), float((x * r).sum() - worth)

    value, slack = at(0.0)
    if slack >= 0.0:
        return value
    low, high = 0.0, 1.0
    while at(high)[1] < 0.0 and high < 1e9:
        low, high = high, 4.0 * high
    best = min(value, at(high)[0])
    for _ in range(80):
        middle = (low + high) / 2.0
        value, slack = at(middle)
        best = min(best, value)
        low, high = (low, middle) if slack >= 0.0 else (middle, high)
    return best


def mixed(x, fallback):
    """Return the stochastic policy of an occupancy, and another where it never comes."""
    mass = x.sum(axis=-1, keepdims=True)
    return np.where(mass > 1e-12, x / np.maximum(mass, 1e-300), fallback)


def visits_at_most(policy, l, u):  # noqa: E741
    """Return the largest probability of each stage and state over plausible models, (H + 1, S)."""
    H, S, A, _ = l.shape
    found = np.zeros((H + 1, S))
    found[0, 0] = 1.0
    for stage in range(1, H + 1):
        for target in range(S):
            V = np.eye(S)[target]
            for h in range(stage - 1, -1, -1):
                V = np.array(
                    [
                        sum(
                            policy[h, s, a] * most(l[h, s, a], u[h, s, a], V)
                            for a in range(A)
                            if policy[h, s, a] > 0.0
                        )
                        for s in range(S)
                    ]
                )
            found[stage, target] = V[0]
    return found


class Truth(NamedTuple):
    """An MDP with a start node."""

    P: np.ndarray
    r: np.ndarray
    left: np.ndarray  # all actions; at the start node one

    @property
    def rows(self):
        H, S, A, _ = self.P.shape
        return (H - 1) * S * A + 1

    def value(self, policy):
        return float((occupancy(policy, self.P) * self.r).sum())

    def values(self, policy):
        """Return the policy's value from every stage and state on, (H + 2, S)."""
        H, S = self.P.shape[:2]
        V = np.zeros((H + 2, S))
        for h in range(H, -1, -1):
            Q = self.r[h] + (self.P[h] @ V[h + 1] if h < H else 0.0)
            V[h] = (policy[h] * Q).sum(axis=-1)
        return V

    def best(self):
        H, S = self.P.shape[:2]
        V = np.zeros(S)
        for h in range(H, -1, -1):
            Q = self.r[h] + (self.P[h] @ V if h < H else 0.0)
            V = np.where(self.left[h], Q, -np.inf).max(axis=-1)
            V[~self.left[h].any(axis=-1)] = 0.0
        return float(V[0])


def random_truth(rng, S, A, H, rewards="continuous", concentration=0.5):
    P = rng.dirichlet(np.full(S, concentration), (H, S, A))
    r = np.zeros((H + 1, S, A))
    r[1:] = rng.random((H, S, A)) if rewards == "continuous" else rng.integers(0, 2, (H, S, A))
    left = np.ones((H + 1, S, A), bool)
    left[0] = False
    left[0, 0, 0] = True
    return Truth(P, r, left)


def lam(n, entries, delta):
    """Return Lambda(n)."""
    return math.log(2.0 * math.sqrt(n) * entries / (0.9 * delta))


class Boxes:
    """Counts and the running intersection of their boxes; pooled: stages share their counts."""

    def __init__(self, truth, delta, pooled=False):
        self.truth, self.delta, self.pooled = truth, delta, pooled
        shape = truth.P.shape
        self.counts = np.zeros(shape, np.int64)
        self.boxed = np.zeros(shape[:3], np.int64)  # visits at the last renewal
        self.l, self.u = np.zeros(shape), np.ones(shape)

    @property
    def seen(self):
        """Counts as the boxes know them: every stage after the start has those of all."""
        if not self.pooled:
            return self.counts
        shared = self.counts[1:].sum(axis=0, keepdims=True)
        return np.concatenate([self.counts[:1], np.repeat(shared, len(self.counts) - 1, axis=0)])

    @property
    def entries(self):
        H, S, A, _ = self.truth.P.shape
        stages = 1 if self.pooled else H - 1
        return (S if S > 2 else 1) * (stages * S * A + 1)

    def renew(self):
        seen = self.seen
        n = seen.sum(axis=-1)
        for h, s, a in np.argwhere((n > 0) & (n >= 1.02 * self.boxed)):
            low, high = box(seen[h, s, a], lam(n[h, s, a], self.entries, self.delta))
            self.l[h, s, a] = np.maximum(self.l[h, s, a], low)
            self.u[h, s, a] = np.minimum(self.u[h, s, a], high)
            self.boxed[h, s, a] = n[h, s, a]

    @property
    def hold(self):
        used = self.truth.left[:-1]
        inside = (self.l <= self.truth.P) & (self.truth.P <= self.u)
        return bool(inside[used].all())

    def draw(self, rng, policy, K):
        """Play K episodes of a policy: visits are a chain of multinomials."""
        H, S = self.counts.shape[:2]
        here = np.zeros(S, np.int64)
        here[0] = K
        for h in range(H):
            there = np.zeros(S, np.int64)
            for s in np.flatnonzero(here):
                split = rng.multinomial(here[s], policy[h, s] / policy[h, s].sum())
                for a in np.flatnonzero(split):
                    after = rng.multinomial(split[a], self.truth.P[h, s, a])
                    self.counts[h, s, a] += after
                    there += after
            here = there
