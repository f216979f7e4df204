"""Oracle calls, ours and other solvers'.

The slices are those of a spanner phase: one cut <theta, a> >= max - slack and the 2d
rows |B^-1 a| <= C. The directions are those that a spanner asks for, both signs. A time
is per call, the constraints prepared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bench.support.cases import Case, Run, per_round
from uli_fast.arm_sets import ArmSet, Ball, Ellipsoid, Polytope
from uli_fast.errors import OracleError

Solve = Callable[[Any], Any]
C = 1.2


class Phase(NamedTuple):
    """What an oracle is asked in one phase."""

    le: tuple[np.ndarray, np.ndarray]
    tight: tuple[np.ndarray, np.ndarray]  # the same, cut a millionth below the maximum
    directions: np.ndarray  # (calls, d), of length 1
    first: float  # the largest value in the first of them


class Question(NamedTuple):
    """A set, what is asked of it, and who answers."""

    region: Callable[[str], ArmSet]  # by back end
    given: Phase
    solvers: dict[str, Callable[[], Solve]]  # prepared by a call, ours first


def polytope_rows(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return 6d random facets around the origin, and a box."""
    G = rng.standard_normal((6 * d, d))
    G /= np.linalg.norm(G, axis=1, keepdims=True)
    h = np.append(rng.uniform(0.3, 0.6, 6 * d), np.full(2 * d, 1.0 / np.sqrt(d)))
    return np.vstack([G, np.eye(d), -np.eye(d)]), h


def spanner(ask: Callable[[np.ndarray], np.ndarray], d: int, T: float) -> tuple[Any, Any]:
    """Return a C-approximate spanner (columns) and the directions it took."""
    A, inverse, directions = np.eye(d) / np.sqrt(T), np.eye(d) * np.sqrt(T), []
    clean, i = 0, 0
    while clean < d:
        u = inverse[i] / np.linalg.norm(inverse[i])
        directions += [u, -u]
        s = max((ask(u), ask(-u)), key=lambda a: abs(inverse[i] @ a))
        if abs(inverse[i] @ s) > C * (1.0 + 1e-9):
            A[:, i] = s
            inverse, clean = np.linalg.inv(A), 0
        clean, i = clean + 1, (i + 1) % d
    return A, np.array(directions)


def phase(arm_set: ArmSet, rng: np.random.Generator) -> Phase:
    """Return the third phase of a learner: two spanners have gone before."""
    d = arm_set.dimension
    theta = rng.standard_normal(d)
    B, _ = spanner(lambda u: arm_set.maximize(u)[0], d, 1e6)
    inverse = np.linalg.inv(B)
    box = np.vstack([inverse, -inverse]), np.full(2 * d, C * (1.0 + 1e-8))
    best = arm_set.maximize(theta, le=box)[1]
    worst = -arm_set.maximize(-theta, le=box)[1]

    def below(share: float) -> tuple[np.ndarray, np.ndarray]:
        cut = best - share * (best - worst)
        return np.vstack([-theta, box[0]]), np.append(-cut, box[1])

    le = below(0.25)
    cutting = arm_set.restrict(le=le)
    _, directions = spanner(lambda u: cutting.maximize(u)[0], d, 1e7)
    return Phase(le, below(1e-6), directions, cutting.maximize(directions[0])[1])


def restricted(arm_set: ArmSet, given: Phase) -> Callable[[], Solve]:
    """Return a back end of the package, checks included."""
    return lambda: arm_set.restrict(le=given.le).maximize


def linprog(G: np.ndarray, h: np.ndarray, given: Phase) -> Solve:
    """Return scipy's linprog, which starts from scratch."""
    from scipy.optimize import linprog as solve

    A, b = np.vstack([G, given.le[0]]), np.append(h, given.le[1])
    return lambda u: solve(-u, A, b, bounds=(None, None), method="highs").x


def highs(G: np.ndarray, h: np.ndarray, given: Phase) -> Solve:
    """Return plain highspy kept warm, without checks."""
    from uli_fast.arm_sets._highs import model

    A, b = np.vstack([G, given.le[0]]), np.append(h, given.le[1])
    free = np.full(A.shape[1], np.inf)
    made = model(-free, free, A, np.full(len(A), -np.inf), b)
    columns = np.arange(A.shape[1], dtype=np.int32)

    def solve(u: np.ndarray) -> np.ndarray:
        made.changeColsCost(u.size, columns, -u)
        made.run()
        return np.array(made.getSolution().col_value)

    return solve


def clarabel(given: Phase) -> Solve:
    """Return plain Clarabel on the unit ball with update(q), without checks."""
    import clarabel as cl
    from scipy import sparse

    V, b = given.le
    m, d = V.shape
    length = np.linalg.norm(V, axis=1)
    A = sparse.csc_matrix(np.vstack([V / length[:, None], np.zeros((1, d)), -np.eye(d)]))
    settings = cl.DefaultSettings()
    settings.verbose = settings.presolve_enable = False
    cones = [cl.NonnegativeConeT(m), cl.SecondOrderConeT(d + 1)]
    right = np.concatenate([b / length, [1.0], np.zeros(d)])
    solver = cl.DefaultSolver(sparse.csc_matrix((d, d)), np.zeros(d), A, right, cones, settings)

    def solve(u: np.ndarray) -> np.ndarray:
        solver.update(q=-u)
        return np.array(solver.solve().x)

    return solve


def cvxpy(describe: Callable[[Any], list[Any]], given: Phase) -> Solve:
    """Return cvxpy with the direction as a parameter."""
    import cvxpy as cp

    d = given.directions.shape[1]
    a, u = cp.Variable(d), cp.Parameter(d)
    constraints = [*describe(a), given.le[0] @ a <= given.le[1]]
    problem = cp.Problem(cp.Maximize(u @ a), constraints)

    def solve(direction: np.ndarray) -> Any:
        u.value = direction
        problem.solve(solver=cp.CLARABEL)
        return a.value

    return solve


def rebuilt(describe: Callable[[Any], list[Any]], given: Phase) -> Solve:
    """Return cvxpy as it is first written: a new problem for every call."""
    import cvxpy as cp

    def solve(direction: np.ndarray) -> Any:
        a = cp.Variable(direction.size)
        constraints = [*describe(a), given.le[0] @ a <= given.le[1]]
        cp.Problem(cp.Maximize(direction @ a), constraints).solve(solver=cp.CLARABEL)
        return a.value

    return solve


def polytope_case(d: int, seed: int) -> Question:
    rng = np.random.default_rng([d, seed])
    G, h = polytope_rows(d, rng)
    given = phase(Polytope(G, h), rng)
    region = functools.partial(Polytope, G, h)
    solvers = {
        "kernel": restricted(region("kernel"), given),
        "highspy": lambda: highs(G, h, given),
        "linprog": lambda: linprog(G, h, given),
        "cvxpy": lambda: cvxpy(lambda a: [G @ a <= h], given),
        "rebuilt": lambda: rebuilt(lambda a: [G @ a <= h], given),
    }
    return Question(region, given, solvers)


def ball_case(d: int, seed: int) -> Question:
    given = phase(Ball(d), np.random.default_rng([d, seed]))
    return _round(lambda backend: Ball(d, backend=backend), given, given, lambda solve: solve)


def ellipsoid_case(d: int, seed: int) -> Question:
    """Half-axes of .3 to 1 in random directions, around a point near the origin.

    The rivals are given the unit ball that it is an image of, where they are faster.
    """
    rng = np.random.default_rng([d, seed])
    shape = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.linspace(0.3, 1.0, d)
    center = 0.2 / np.sqrt(d) * rng.standard_normal(d)
    region = functools.partial(Ellipsoid, center, shape)
    given = phase(region("auto"), rng)
    V, b = given.le
    on_ball = given._replace(le=(V @ shape, b - V @ center))
    return _round(
        region, given, on_ball, lambda solve: lambda u: center + shape @ solve(shape.T @ u)
    )


def _round(
    region: Callable[[str], ArmSet],
    given: Phase,
    on_ball: Phase,
    image: Callable[[Solve], Solve],
) -> Question:
    import cvxpy as cp

    def describe(a: Any) -> list[Any]:
        return [cp.norm(a) <= 1]

    solvers = {
        "kernel": restricted(region("kernel"), given),
        "clarabel": lambda: image(clarabel(on_ball)),
        "cvxpy": lambda: image(cvxpy(describe, on_ball)),
        "rebuilt": lambda: image(rebuilt(describe, on_ball)),
    }
    return Question(region, given, solvers)


CASES = {"polytope": polytope_case, "ball": ball_case, "ellipsoid": ellipsoid_case}


# Directions of a phase that a run asks for, after the first; every phase has as many.
CALLS = 17


@functools.cache
def _prepared(name: str, d: int, seed: int) -> Question:
    return CASES[name](d, seed)


def calls(name: str, d: int, solver: str) -> Case:
    """Return calls of a solver, per call; a phase has begun and its first call is made."""

    def prepare(seed: int) -> Run:
        _, given, solvers = _prepared(name, d, seed)
        solve, directions = solvers[solver](), given.directions[: CALLS + 1]
        assert len(directions) == CALLS + 1
        first = directions[0] @ _point(solve(directions[0]))
        assert abs(first - given.first) < 1e-5, "they disagree"

        def run() -> None:
            for u in directions[1:]:
                solve(u)

        return run

    return per_round(Case(prepare), CALLS)


def _point(answer: Any) -> np.ndarray:
    return answer[0] if isinstance(answer, tuple) else answer


def failures(name: str, d: int, seeds: int) -> dict[str, tuple[float, float]]:
    """Count calls without a verified answer; none is allowed.

    By the set as it is, and by the kernel's fallback alone; on the slices that are timed, and
    where the cut leaves next to nothing.
    """
    counts = {}
    for backend, who in (("auto", "calls"), ("clarabel", "calls of the fallback")):
        asked = failed = 0
        for seed in range(seeds):
            region, given, _ = _prepared(name, d, seed)
            for le in (given.le, given.tight):
                solve = region(backend).restrict(le=le).maximize
                for u in given.directions:
                    asked += 1
                    try:
                        solve(u)
                    except OracleError:
                        failed += 1
        counts[f"{who} that fail, of {asked}"] = failed, 0
    return counts
