"""Nested boxes of plausible models, straight from the page: everything anew at every look.

Stage 0 is the start node: one state, one action, no reward, next-state law mu. Stages 1 to H are
those of the MDP. A model is a table of rows (h, s, a), h = 0..H-1; what comes after stage H is
never used.
"""

import math

import numpy as np

REFRESH = 1.0199  # a box is refreshed when its count has grown by this factor
TIE = 1e-12  # relative: values that differ by less are equal, and the smallest action is taken
TOL = 1e-12  # per stage: what rounding may do to a value


def kl(x, p):
    """Return the divergence of two coins."""
    if p in (0.0, 1.0):
        return 0.0 if x == p else math.inf
    left = x * math.log(x / p) if x > 0 else 0.0
    return left + ((1 - x) * math.log((1 - x) / (1 - p)) if x < 1 else 0.0)


def interval(x, y):
    """Return the ends of {p : kl(x, p) <= y}, by bisection."""

    def end(inside, outside):
        for _ in range(200):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if kl(x, middle) <= y else (inside, middle)
        return outside

    return end(x, 0.0) if x > 0 else 0.0, end(x, 1.0) if x < 1 else 1.0


def pushed(low, high, V, order):
    """Return the row that begins with ``low`` and hands out the rest in this order."""
    P, rest = low.copy(), 1.0 - low.sum()
    for k in order:
        add = min(high[k] - low[k], max(rest, 0.0))
        P[k] += add
        rest -= add
    return P


def upmost(low, high, V):
    """Return the row of a box with the largest P V."""
    return pushed(low, high, V, sorted(range(len(V)), key=lambda k: (-V[k], k)))


def downmost(low, high, V):
    """Return the row of a box with the smallest P V."""
    return pushed(low, high, V, sorted(range(len(V)), key=lambda k: (V[k], -k)))


def spread(w, mid, half):
    """Return min over c of sum w (|mid - c| + half): the least is at one of the mids."""
    return min((w * (abs(mid - c) + half)).sum() for c in mid)


class Twin:
    """One run; ``source`` draws: next_state(h, s, a) and coin(h, s)."""

    def __init__(
        self,
        source,
        rewards,
        delta,
        stochastic=False,
        pooled=False,
        growth=0.1,
        first=16,
        points=None,
        successors=None,
        initial_support=None,
    ):
        H, S, A = rewards.shape
        self.H, self.S, self.A, self.source = H, S, A, source
        self.delta, self.stochastic, self.pooled = delta, stochastic, pooled
        self.growth, self.first = growth, first
        self.r = np.concatenate([np.zeros((1, S, A)), rewards])
        self.left = np.zeros((H + 1, S, A), bool)
        self.left[0, 0, 0] = True
        self.left[1:, :, 0] = True
        if points is None:
            points = np.ones((H, S), bool)
        self.left[1:][points] = True
        mask = np.ones((H + 1, S, A, S), bool)
        if initial_support is not None:
            mask[0, 0, 0] = initial_support
        if successors is not None:
            mask[1:] = successors
        if pooled and H > 1:
            mask[1:H] = mask[1:H].all(axis=0)
        self.rows = [
            (h, s, a) for h in range(H) for s in range(S) for a in range(A) if self.left[h, s, a]
        ]
        self.boxes = {self.home(row): mask[row] for row in self.rows}
        here, reached = {0}, set()
        for h in range(H):
            rows = [row for row in self.rows if row[0] == h and row[1] in here]
            reached |= {self.home(row) for row in rows}
            here = {int(k) for row in rows for k in np.flatnonzero(self.boxes[self.home(row)])}
        sizes = [int(self.boxes[k].sum()) for k in reached]
        self.M = max(1, sum(m if m >= 3 else m - 1 for m in sizes))
        self.unknown = {row: self.boxes[self.home(row)].sum() > 1 for row in self.rows}
        self.high = {k: m.astype(float) for k, m in self.boxes.items()}
        self.low = {k: m * float(m.sum() == 1) for k, m in self.boxes.items()}
        self.n = dict.fromkeys(self.boxes, 0)
        self.seen = {k: np.zeros(S, int) for k in self.boxes}
        self.refreshed = dict.fromkeys(self.boxes, 0)
        self.visits = np.zeros((H, S, A), int)
        self.dropped = np.zeros((H, S, A), int)
        self.t, self.U, self.L, self.W, self.C = 0, math.inf, -math.inf, math.inf, float(H)
        self.empty = False

    def home(self, row):
        """Return the row whose box this one has."""
        h, s, a = row
        return (1, s, a) if self.pooled and h > 0 else row

    def box(self, h, s, a):
        k = self.home((h, s, a))
        return self.low[k], self.high[k]

    def refresh(self):
        """Lemma 1: intersect the boxes with the intervals of today."""
        for k, n in self.n.items():
            if n == 0 or n < REFRESH * self.refreshed[k] or self.boxes[k].sum() < 2:
                continue
            y = (math.log(2 * self.M / (0.9 * self.delta)) + 0.5 * math.log(n)) / n
            low, high = self.low[k].copy(), self.high[k].copy()
            for s in np.flatnonzero(self.boxes[k]):
                ends = interval(self.seen[k][s] / n, y)
                low[s], high[s] = max(low[s], ends[0]), min(high[s], ends[1])
            self.refreshed[k] = n
            if (low > high).any() or low.sum() > 1 + TOL or high.sum() < 1 - TOL:
                self.empty = True  # the event has failed: the row stays as it was
            else:
                self.low[k], self.high[k] = low, high

    def bounds(self):
        """Section 3: one backward pass."""
        H, S, A = self.H, self.S, self.A
        shape = (H + 1, S, A)
        Qmax, Qlow, Qmin, b, g = (np.zeros(shape) for _ in range(5))
        Vmax, Vlow, Vmin = (np.zeros((H + 2, S)) for _ in range(3))
        for h in range(H, -1, -1):
            mid, half = (Vmax[h + 1] + Vmin[h + 1]) / 2, (Vmax[h + 1] - Vmin[h + 1]) / 2
            for s in range(S if h else 1):
                here = np.flatnonzero(self.left[h, s])
                for a in here:
                    up = down = least = 0.0
                    if h < H:
                        low, high = self.box(h, s, a)
                        up = upmost(low, high, Vmax[h + 1]) @ Vmax[h + 1]
                        down = downmost(low, high, Vlow[h + 1]) @ Vlow[h + 1]
                        least = downmost(low, high, Vmin[h + 1]) @ Vmin[h + 1]
                    Qmax[h, s, a] = self.r[h, s, a] + up
                    Qlow[h, s, a] = self.r[h, s, a] + down
                    Qmin[h, s, a] = self.r[h, s, a] + least
                    if h < H:
                        cost = spread(high - low, mid, half)
                        b[h, s, a] = min(cost, Qmax[h, s, a] - Qmin[h, s, a])
                Vlow[h, s] = Qlow[h, s, here].max()
                for a in here:
                    if Qmax[h, s, a] < Vlow[h, s] - TOL * H:
                        self.left[h, s, a] = False
                        self.dropped[h - 1, s, a] = self.t + 1
                here = np.flatnonzero(self.left[h, s])
                Vmax[h, s], Vmin[h, s] = Qmax[h, s, here].max(), Qmin[h, s, here].min()
                for a in here:
                    others = [Qmax[h, s, c] for c in here if c != a]
                    g[h, s, a] = max([0.0] + [x - Qlow[h, s, a] for x in others])
        return Qmax, Qmin, Vmax, Vlow, b, g

    def induct(self, R, cap):
        """Return max over models and policies of the sum of R, capped row by row."""
        H, S = self.H, self.S
        V, pi = np.zeros((H + 2, S)), np.zeros((H + 1, S), int)
        for h in range(H, -1, -1):
            for s in range(S if h else 1):
                q = {}
                for a in np.flatnonzero(self.left[h, s]):
                    q[a] = R[h, s, a]
                    if h < H:
                        q[a] += upmost(*self.box(h, s, a), V[h + 1]) @ V[h + 1]
                    q[a] = min(q[a], cap[h, s, a])
                V[h, s] = max(q.values())
                pi[h, s] = min(a for a, x in q.items() if x >= V[h, s] * (1 - TIE))
        return V, pi

    def occupancy(self, V, pi):
        """Return how often each state is passed through in the model of an induction."""
        x = np.zeros((self.H + 1, self.S))
        x[0, 0] = 1.0
        for h in range(self.H):
            for s in range(self.S if h else 1):
                row = upmost(*self.box(h, s, pi[h, s]), V[h + 1])
                x[h + 1] += x[h, s] * row
        return x

    def inner(self, x, pi, R):
        return sum(x[h, s] * R[h, s, pi[h, s]] for h in range(self.H + 1) for s in range(self.S))

    def constrained(self, b):
        """Algorithm L: max <q, b> over the q with <q, r> >= L, by its dual; (W, pi)."""
        none, r, L = np.full_like(b, np.inf), self.r, self.L - TOL * self.H

        def best(R):
            V, pi = self.induct(R, none)
            x = self.occupancy(V, pi)
            return V[0, 0], pi, x, self.inner(x, pi, r), self.inner(x, pi, b)

        W, pi2, x2, r2, b2 = best(b)
        if r2 >= L:
            return W, self.mixed(pi2, x2, pi2, x2, 1.0)
        _, pi1, x1, r1, b1 = best(r)
        low, high = 0.0, (b2 - b1) / max(r1 - L, TOL * self.H)
        for i in range(120):
            if r1 - r2 <= 1e-13 or b2 <= b1:
                break
            lam = (b2 - b1) / (r1 - r2)
            value = b1 + lam * (r1 - L)
            if i >= 20:  # the secants take too long
                lam = (low + high) / 2
            top, pi3, x3, r3, b3 = best(b + lam * r)
            W = min(W, top - lam * L)
            said = top - lam * L if i < 20 else W
            if said <= value + 1e-9 * value + min(1e-13 * (1 + lam), 5e-10) * self.H:
                break
            if r3 >= L:
                pi1, x1, r1, b1, high = pi3, x3, r3, b3, lam
            else:
                pi2, x2, r2, b2, low = pi3, x3, r3, b3, lam
        alpha = min(1.0, max(0.0, (L - r2) / (r1 - r2))) if r1 - r2 > 1e-13 else 0.0
        return W, self.mixed(pi1, x1, pi2, x2, alpha)

    def mixed(self, pi1, x1, pi2, x2, alpha):
        """Return the probabilities of actions of a mixture of occupancies."""
        pi = np.zeros((self.H + 1, self.S, self.A))
        for h in range(self.H + 1):
            for s in range(self.S):
                m1, m2 = alpha * x1[h, s], (1 - alpha) * x2[h, s]
                share = m1 / (m1 + m2) if m1 + m2 > 0 else 1.0
                pi[h, s, pi1[h, s]] += share
                pi[h, s, pi2[h, s]] += 1 - share
        return pi

    def reach(self, pi, h, s):
        """Return max over models of the probability that stage h is in state s."""
        f = np.eye(self.S)[s]
        for j in range(h - 1, -1, -1):
            f = np.array(
                [
                    sum(
                        pi[j, x, a] * (upmost(*self.box(j, x, a), f) @ f)
                        for a in np.flatnonzero(pi[j, x])
                    )
                    for x in range(self.S if j else 1)
                ]
            )
        return f[0] if h else 1.0

    def length(self, pi):
        """Return how many episodes the block has."""
        K = math.inf
        for h, s, a in self.rows:
            if pi[h, s, a] > 0 and self.unknown[h, s, a]:
                x = self.reach(pi, h, s) * pi[h, s, a]
                n = self.n[self.home((h, s, a))]
                if x > 0:
                    K = min(K, (self.growth * n + self.first) / x)
        return K if K == math.inf else math.floor(K * (1 + TIE))

    def look(self):
        """Refresh, drop actions, certify, choose a policy; return it and its block's length."""
        self.refresh()
        Qmax, Qmin, Vmax, Vlow, b, g = self.bounds()
        self.U, self.L = min(self.U, Vmax[0, 0]), max(self.L, Vlow[0, 0])
        lag = Vmax[:-1, :, None] - Qmin
        C2 = self.induct(g, lag)[0][0, 0]
        self.C = min(self.C, C2)
        if self.stochastic:
            W, pi = self.constrained(b)
            self.W = min(self.W, W)
            self.C = min(self.C, self.U - self.L + self.W)
        else:
            V, policy = self.induct(b, Qmax - Qmin)
            self.W = min(self.W, V[0, 0])
            pi = np.zeros((self.H + 1, self.S, self.A))
            np.put_along_axis(pi, policy[..., None], 1.0, -1)
        return pi, self.length(pi) if C2 > 0 else math.inf

    def episode(self, pi):
        """Play one episode."""
        s = 0
        for h in range(self.H + 1):
            actions = np.flatnonzero(pi[h, s])
            a = int(actions[0])
            if len(actions) > 1:
                a = self.source.action(h, s, pi[h, s])
            if h > 0:
                self.visits[h - 1, s, a] += 1
            if h < self.H:
                to, k = self.source.next_state(h, s, a), self.home((h, s, a))
                self.n[k] += 1
                self.seen[k][to] += 1
                s = to

    def play(self, horizon):
        """Play to the horizon; return what each look said."""
        looks = []
        while self.t < horizon:
            pi, K = self.look()
            looks.append((self.t + 1, self.C, self.W, self.U, self.L, pi[1:]))
            for _ in range(min(K, horizon - self.t)):
                self.episode(pi)
                self.t += 1
        return looks
