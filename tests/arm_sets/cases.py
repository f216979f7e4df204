"""Random sets and constraints, and independent solvers that say what the maximum is."""

import warnings
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

import uli_fast as uli

SETS = uli.arm_sets


class Described(NamedTuple):
    """A set and the same set for the reference: G a <= h and F a = f, or cvxpy constraints."""

    made: Any
    inside: Any  # a point well inside, relatively
    linear: Any = None  # (lift, G, h, F, f): a = lift y
    conic: Any = None  # y -> list of constraints


def polytope_rows(d, rng):
    G = rng.standard_normal((4 * d, d))
    G /= np.linalg.norm(G, axis=1, keepdims=True)
    h = rng.uniform(0.3, 0.6, 4 * d)
    return np.vstack([G, np.eye(d), -np.eye(d)]), np.append(h, np.full(2 * d, 0.7))


def box(d, rng, backend="auto"):
    low = rng.uniform(-2, 0, d)
    high = low + rng.uniform(0.5, 2, d)
    made = SETS.Box(low, high, backend=backend)
    G, h = np.vstack([np.eye(d), -np.eye(d)]), np.append(high, -low)
    return Described(made, (low + high) / 2, (np.eye(d), G, h, np.zeros((0, d)), np.zeros(0)))


def simplex(d, rng, backend="auto"):
    made = SETS.Simplex(d, backend=backend)
    linear = (np.eye(d), -np.eye(d), np.zeros(d), np.ones((1, d)), np.ones(1))
    return Described(made, np.full(d, 1 / d), linear)


def l1_ball(d, rng, backend="auto"):
    radius = rng.uniform(0.1, 10)
    made = SETS.L1Ball(d, radius, backend=backend)
    lift = np.hstack([np.eye(d), -np.eye(d)])
    G, h = np.vstack([-np.eye(2 * d), np.ones((1, 2 * d))]), np.append(np.zeros(2 * d), radius)
    return Described(made, np.zeros(d), (lift, G, h, np.zeros((0, 2 * d)), np.zeros(0)))


def polytope(d, rng, backend="auto"):
    G, h = polytope_rows(d, rng)
    move = rng.standard_normal(d)
    h = h + G @ move
    made = SETS.Polytope(G, h, backend=backend)
    return Described(made, move, (np.eye(d), G, h, np.zeros((0, d)), np.zeros(0)))


def flat_polytope(d, rng, backend="auto"):
    """The simplex, its equality as two rows: degenerate everywhere."""
    G = np.vstack([-np.eye(d), np.ones((1, d)), -np.ones((1, d))])
    h = np.concatenate([np.zeros(d), [1.0, -1.0]])
    made = SETS.Polytope(G, h, backend=backend)
    return Described(made, np.full(d, 1 / d), (np.eye(d), G, h, np.zeros((0, d)), np.zeros(0)))


def cross_polytope(d, rng, backend="auto"):
    """All 2^d facets of the l1 ball: its vertices are highly degenerate."""
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1).T
    made = SETS.Polytope(signs, np.ones(len(signs)), backend=backend)
    linear = (np.eye(d), signs, np.ones(len(signs)), np.zeros((0, d)), np.zeros(0))
    return Described(made, np.zeros(d), linear)


def ball(d, rng, backend="auto"):
    radius, center = rng.uniform(0.2, 5), rng.standard_normal(d)
    made = SETS.Ball(d, radius, center, backend=backend)
    return Described(made, center, conic=lambda a: [cp.norm(a - center) <= radius])


def ellipsoid(d, rng, backend="auto"):
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0] * 10.0 ** rng.uniform(-2, 0, d)
    return _ellipsoid(rng.standard_normal(d), axes, backend)


def flat_ellipsoid(d, rng, backend="auto"):
    k = int(rng.integers(1, d + 2))
    rank = int(rng.integers(1, min(d, k) + 1))
    shape = rng.standard_normal((d, rank)) @ rng.standard_normal((rank, k))
    return _ellipsoid(rng.standard_normal(d), shape, backend)


def _ellipsoid(center, shape, backend):
    def conic(a):
        z = cp.Variable(shape.shape[1])
        return [a == center + shape @ z, cp.norm(z) <= 1]

    return Described(SETS.Ellipsoid(center, shape, backend=backend), center, conic=conic)


LINEAR = {
    "box": box,
    "simplex": simplex,
    "l1_ball": l1_ball,
    "polytope": polytope,
    "flat_polytope": flat_polytope,
    "cross_polytope": cross_polytope,
}
ROUND = {"ball": ball, "ellipsoid": ellipsoid, "flat_ellipsoid": flat_ellipsoid}


# Constraints -----------------------------------------------------------------------


def no_rows(case, rng):
    return None, None


def one_cut(case, rng, slack=None):
    """A cut like the learner's, <theta, a> >= max - slack."""
    d = case.made.dimension
    theta = rng.standard_normal(d)
    best = case.made.maximize(theta)[1]
    worst = -case.made.maximize(-theta)[1]
    share = rng.uniform(0.05, 0.9) if slack is None else slack
    return None, (-theta[None], [-(best - share * (best - worst))])


def spanner_rows(case, rng, slack=None):
    """The cut and |B^-1 a| <= C for arms a of the set as columns of B."""
    d = case.made.dimension
    _, (V, b) = one_cut(case, rng, slack)
    arms = np.array([case.made.maximize(u)[0] for u in rng.standard_normal((d, d))])
    arms = arms + 1e-2 * rng.standard_normal((d, d))
    inverse = np.linalg.inv(arms.T)
    room = 1.1 * max(1.0, np.abs(inverse @ case.made.maximize(V[0] * -1.0)[0]).max())
    return None, (np.vstack([V, inverse, -inverse]), np.append(b, np.full(2 * d, room)))


def thin_cut(case, rng):
    return one_cut(case, rng, slack=1e-6)


def thin_rows(case, rng):
    return spanner_rows(case, rng, slack=1e-6)


def equalities(case, rng):
    d = case.made.dimension
    k = int(rng.integers(1, max(d, 2)))
    U = rng.standard_normal((k, d))
    return (U, U @ case.inside), None


def equalities_and_rows(case, rng):
    eq, _ = equalities(case, rng)
    V = rng.standard_normal((3, case.made.dimension))
    return eq, (V, V @ case.inside + rng.uniform(1e-6, 0.3, 3))


def redundant_rows(case, rng):
    """Rows that repeat, up to length and rounding, and some that cannot bind."""
    V = rng.standard_normal((2, case.made.dimension))
    b = V @ case.inside + rng.uniform(0.0, 0.2, 2)
    U = rng.standard_normal((1, case.made.dimension))
    V = np.vstack([V, 3.0 * V, 1e-3 * V, V])
    b = np.concatenate([b, 3.0 * b, 1e-3 * b, b + 1e3])
    return (np.vstack([U, -2.0 * U]), np.append(U @ case.inside, -2.0 * U @ case.inside)), (V, b)


CONSTRAINTS = {
    f.__name__: f
    for f in (
        no_rows,
        one_cut,
        spanner_rows,
        thin_cut,
        thin_rows,
        equalities,
        equalities_and_rows,
        redundant_rows,
    )
}


# References ------------------------------------------------------------------------


def reference(case, u, eq, le):
    """Return the maximum by scipy's linprog or by cvxpy, None if there is no point."""
    if case.linear is not None:
        return _by_linprog(case.linear, u, eq, le)
    if eq is None and le is not None and len(le[1]) == 1:
        return _by_duality(case.made, u, np.asarray(le[0])[0], float(le[1][0]))
    a = cp.Variable(u.size)
    constraints = case.conic(a)
    if eq is not None:
        constraints.append(np.asarray(eq[0]) @ a == np.asarray(eq[1]))
    if le is not None:
        constraints.append(np.asarray(le[0]) @ a <= np.asarray(le[1]))
    problem = cp.Problem(cp.Maximize(u @ a), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thin slices are solved inaccurately
        problem.solve(solver=cp.CLARABEL)
    return problem.value if problem.status.startswith("optimal") else None


def _by_duality(made, u, v, b):
    """Return min over s >= 0 of max <u - s v, a> + s b over a ball or ellipsoid.

    Interior-point methods are too inaccurate for thin caps.
    """
    shape = made.shape if hasattr(made, "shape") else made.radius * np.eye(u.size)
    inner, outer, room = u @ shape, v @ shape, b - v @ made.center

    def dual(log_s):
        s = np.exp(log_s)
        return np.linalg.norm(inner - s * outer) + s * room

    ends = np.linspace(-40, 40, 401)
    at = int(np.argmin([dual(s) for s in ends]))
    low, high = ends[max(at - 1, 0)], ends[min(at + 1, 400)]
    for _ in range(120):  # by thirds
        first, second = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, second) if dual(first) <= dual(second) else (first, high)
    return u @ made.center + min(dual(low), np.linalg.norm(inner))


def _by_linprog(linear, u, eq, le):
    lift, G, h, F, f = linear
    if le is not None:
        G, h = np.vstack([G, np.asarray(le[0]) @ lift]), np.append(h, le[1])
    if eq is not None:
        F, f = np.vstack([F, np.asarray(eq[0]) @ lift]), np.append(f, eq[1])
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    done = linprog(-u @ lift, G, h, F if f.size else None, f if f.size else None, (None, None),
                   method="highs", options=options)  # fmt: skip
    return -done.fun if done.status == 0 else None


def missed(a, eq, le):
    """Return by how much a point misses a row of unit length."""
    worst = 0.0
    for rows, both in ((eq, True), (le, False)):
        if rows is not None:
            V, b = np.asarray(rows[0], float), np.asarray(rows[1], float)
            over = (V @ a - b) / np.linalg.norm(V, axis=1)
            worst = max(worst, float((np.abs(over) if both else over).max()))
    return worst
