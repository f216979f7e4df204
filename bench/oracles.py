"""Oracle calls against other solvers, in one run and in turn: ``python bench/arm_sets.py``.

The slices are those of a spanner phase: one cut <theta, a> >= max - slack and the 2d
rows |B^-1 a| <= C. The directions are those that a spanner asks for, both signs. A time
is per call, the constraints prepared: the minimum over repeats, the median over seeds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from uli_fast.arm_sets import ArmSet, Ball, Polytope

Solve = Callable[[Any], Any]
DIMENSIONS = (5, 10, 20)
C = 1.2


class Phase(NamedTuple):
    """What an oracle is asked in one phase."""

    le: tuple[np.ndarray, np.ndarray]
    directions: np.ndarray  # (calls, d), of length 1


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
    cut = best - 0.25 * (best - worst)
    le = np.vstack([-theta, box[0]]), np.append(-cut, box[1])
    cutting = arm_set.restrict(le=le)
    _, directions = spanner(lambda u: cutting.maximize(u)[0], d, 1e7)
    return Phase(le, directions)


def restricted(arm_set: ArmSet, given: Phase) -> Callable[[], Solve]:
    """Return a back end of the package, checks included."""
    return lambda: arm_set.restrict(le=given.le).maximize


def linprog(G: np.ndarray, h: np.ndarray, given: Phase) -> Solve:
    """Return scipy's linprog, which starts afresh."""
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


def polytope_case(d: int, seed: int) -> tuple[Phase, dict[str, Callable[[], Solve]]]:
    """Return a polytope's phase and what prepares its solvers, by name, ours first."""
    rng = np.random.default_rng([d, seed])
    G, h = polytope_rows(d, rng)
    given = phase(Polytope(G, h), rng)
    return given, {
        "kernel": restricted(Polytope(G, h, "kernel"), given),
        "highs": restricted(Polytope(G, h, "highs"), given),
        "highspy, warm": lambda: highs(G, h, given),
        "linprog": lambda: linprog(G, h, given),
        "cvxpy, parametrised": lambda: cvxpy(lambda a: [G @ a <= h], given),
    }


def ball_case(d: int, seed: int) -> tuple[Phase, dict[str, Callable[[], Solve]]]:
    """Return a ball's phase and what prepares its solvers, by name, ours first."""
    import cvxpy as cp

    given = phase(Ball(d), np.random.default_rng([d, seed]))
    return given, {
        "kernel": restricted(Ball(d, backend="kernel"), given),
        "clarabel": restricted(Ball(d, backend="clarabel"), given),
        "Clarabel, update(q)": lambda: clarabel(given),
        "cvxpy, parametrised": lambda: cvxpy(lambda a: [cp.norm(a) <= 1], given),
    }


CASES = {"polytope": polytope_case, "ball": ball_case}


def microseconds(solve: Callable[[Any], Any], directions: np.ndarray) -> float:
    """Return the time of one call, over all directions once."""
    begin = time.perf_counter()
    for u in directions:
        solve(u)
    return (time.perf_counter() - begin) / len(directions) * 1e6


def measure(name: str, d: int, seeds: int = 3, repeats: int = 5) -> dict[str, float]:
    """Return microseconds per call by solver; all solvers take turns."""
    times: dict[str, list[float]] = {}
    for seed in range(seeds):
        given, makers = CASES[name](d, seed)
        best = dict.fromkeys(makers, np.inf)
        for _ in range(repeats):
            values = []
            for key, make in makers.items():
                # The slow ones get fewer directions: their times hardly differ.
                slow = key.startswith(("linprog", "cvxpy"))
                directions = given.directions[: 21 if slow else None]
                solve = make()  # a phase begins: nothing is known of it
                values.append(directions[0] @ _point(solve(directions[0])))
                best[key] = min(best[key], microseconds(solve, directions[1:]))
            assert np.ptp(values) < 1e-5, "they disagree"
        for key, taken in best.items():
            times.setdefault(key, []).append(taken)
    return {key: median(taken) for key, taken in times.items()}


def _point(answer: Any) -> np.ndarray:
    return answer[0] if isinstance(answer, tuple) else answer


def main() -> None:
    """Print a table of times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    for name in CASES:
        for d in DIMENSIONS:
            times = measure(name, d, given.seeds, given.repeats)
            ours = times["kernel"]
            print(f"{name}, d = {d}: kernel {ours:.1f} us per call")
            for key, taken in times.items():
                if key != "kernel":
                    print(f"    {key:22s} {taken:8.1f} us  {taken / ours:6.1f} x")


if __name__ == "__main__":
    main()
