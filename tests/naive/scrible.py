"""SCRiBLe, straight from the page: slow, independent, round by round."""

import itertools
import math

import numpy as np
from scipy.optimize import linprog


class Polytope:
    """The hull of the arms, by trying every d of them for a facet."""

    def __init__(self, arms):
        arms = np.asarray(arms, dtype=float)
        K = len(arms)
        centred = arms - arms.mean(axis=0)
        _, spread, axes = np.linalg.svd(centred, full_matrices=False)
        self.d = d = int((spread > 1e-10 * spread[0]).sum())
        self.X = X = centred @ axes[:d].T / spread[:d] * math.sqrt(K)
        facets = []
        for corner in itertools.combinations(range(K), d):
            edges = X[list(corner[1:])] - X[corner[0]]
            if d > 1 and np.linalg.matrix_rank(edges, tol=1e-8) < d - 1:
                continue
            normal = np.linalg.svd(edges)[2][-1] if d > 1 else np.ones(1)
            for n in (normal, -normal):
                b = n @ X[corner[0]]
                known = any(np.allclose(n, m) and np.isclose(b, e) for m, e in facets)
                if (n @ X.T <= b + 1e-9).all() and not known:
                    facets.append((n, b))
        self.n = np.array([n for n, _ in facets])
        self.b = np.array([b for _, b in facets])
        self.F = len(facets)
        self.inc = np.abs(self.b[:, None] - self.n @ X.T) < 1e-8 * np.abs(X).max()
        self.vertices = [a for a in range(K) if self.is_extreme(a)]
        self.w1 = minimise(self, np.zeros(d), np.zeros(d), 1.0)
        self.s1 = self.b - self.n @ self.w1

    def is_extreme(self, a):
        """Arm a equals no earlier one and is no mean of the others."""
        same = [i for i, x in enumerate(self.X) if np.allclose(x, self.X[a], atol=1e-9)]
        if same[0] != a:
            return False
        others = np.delete(self.X, same, axis=0)
        A = np.vstack([others.T, np.ones(len(others))])
        goal = np.append(self.X[a], 1.0)
        return linprog(np.zeros(len(others)), A_eq=A, b_eq=goal).status == 2

    def decompose(self, x):
        lam = np.zeros(len(self.X))
        x, rem, mask, used = x.copy(), 1.0, list(self.vertices), set()
        while True:
            b = mask[0]
            for a in mask:  # of equally near ones the first
                near, best = (((x - self.X[i]) ** 2).sum() for i in (a, b))
                if near < best * (1 - 1e-9):
                    b = a
            if len(mask) == 1:
                lam[b] += rem
                return lam
            th, exit_facet = math.inf, None
            for f in range(self.F):
                towards = self.n[f] @ (x - self.X[b])
                if f not in used and not self.inc[f, b] and towards > 1e-15:
                    ratio = max(0.0, self.b[f] - self.n[f] @ x) / towards
                    if ratio < th:
                        th, exit_facet = ratio, f
            if exit_facet is None:
                lam[b] += rem
                return lam
            lam[b] += rem * th / (1 + th)
            rem /= 1 + th
            x += th * (x - self.X[b])
            mask = [a for a in mask if self.inc[exit_facet, a]] or [b]  # x was b, but for rounding
            used.add(exit_facet)


def minimise(P, start, slope, c):
    """Minimise c psi(z) + slope.z by Newton's method."""
    z = start.copy()
    while True:
        s = P.b - P.n @ z
        g = c * (P.n / s[:, None]).sum(axis=0) + slope
        H = c * (P.n.T / s**2) @ P.n
        move = np.linalg.solve(H, g)
        decrement = math.sqrt(max(0.0, g @ move))
        z = z - move * (1.0 if decrement < 0.25 else 1 / (1 + decrement))
        if decrement < 1e-9:
            return z


def play(arms, loss, u, v, delta, ymax, c=2.0, horizon=None):
    """Play len(u) rounds; loss(t, a) is the loss of arm a in round t, from 0."""
    P = Polytope(arms)
    K, d, F = len(P.X), P.d, P.F
    T = horizon or len(u)
    L = math.log(10 * K / delta)
    eta = min(1 / (4 * d * ymax), math.sqrt(3 * c / (8 * d * L * T)) / ymax)
    kappa = math.exp(1 / (100 * d * math.log(F * T)))
    w = P.w1.copy()
    est = np.zeros(K)
    h = np.column_stack([-P.n, P.b])
    e = np.eye(d + 1)[d]
    out = {"arm": [], "w": [], "eta": [], "est": [], "p": [], "lam": [], "clips": 0}
    for t in range(len(u)):
        s = P.b - P.n @ w
        C = np.linalg.cholesky(c * (P.n.T / s**2) @ P.n)
        Hl = c * ((h.T / s**2) @ h + F * np.outer(e, e))
        if t == 0:
            Hsum = Hl
        elif np.linalg.eigvalsh(Hl - Hsum)[-1] > 0:
            Hsum = Hsum + Hl
            eta *= kappa
        ends = [sign * np.eye(d)[i] for i in range(d) for sign in (1, -1)]
        laws = [P.decompose(w + np.linalg.solve(C.T, end)) for end in ends]
        k = int(2 * d * u[t])
        a = int(np.searchsorted(np.cumsum(laws[k]), v[t], side="right"))
        y = loss(t, a)
        for name, value in (("arm", a), ("w", w), ("eta", eta), ("lam", laws[k])):
            out[name].append(value)
        out["p"].append(np.mean(laws, axis=0))
        lh = d * y * C @ ends[k]
        est = est + y + (P.X - w) @ lh
        out["est"].append(est)
        z = minimise(P, w, eta * lh - c * (P.n / s[:, None]).sum(axis=0), c)
        low = P.s1 / T
        sz = P.b - P.n @ z
        out_of = sz < low * (1 - 1e-9)  # a point pulled back may stay where it is
        if out_of.any():
            out["clips"] += 1
            z = P.w1 + min((P.s1 - low)[out_of] / (P.s1 - sz)[out_of]) * (z - P.w1)
        w = z
    return out
