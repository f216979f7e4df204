"""Convex sets by cvxpy: the same answers as the named sets, and sets with no other name."""

import cvxpy as cp
import numpy as np
import pytest

import uli_fast as uli
from tests.arm_sets.cases import CONSTRAINTS, LINEAR, ROUND, missed
from uli_fast.arm_sets import _columns, _cvxpy
from uli_fast.errors import ArgumentError, InfeasibleError, OracleError

SETS = uli.arm_sets


def twins(d, rng):
    center = rng.standard_normal(d)
    return [
        (SETS.Convex(lambda x: [cp.norm(x - center) <= 2], d), SETS.Ball(d, 2.0, center)),
        (SETS.Convex(lambda x: [cp.norm1(x) <= 3], d), SETS.L1Ball(d, 3.0)),
        (SETS.Convex(lambda x: [x >= 0, cp.sum(x) == 1], d), SETS.Simplex(d)),
        (SETS.Convex(lambda x: [x >= -1, x <= 1e3], d), SETS.Box(np.full(d, -1), np.full(d, 1e3))),
    ]


@pytest.mark.parametrize("d", [1, 2, 4])
def test_same_as_the_named_set(d):
    rng = np.random.default_rng(d)
    for convex, named in twins(d, rng):
        inside = np.mean([named.maximize(u)[0] for u in rng.standard_normal((30, d))], axis=0)
        V = rng.standard_normal((2, d))
        size = named.largest_norm()
        for le in (None, (V, V @ inside + 1e-3)):
            restricted = convex.restrict(le=le)
            for u in rng.standard_normal((4, d)):
                point, bound = restricted.maximize(u)
                _, expected = named.maximize(u, le=le)
                scale = size * np.linalg.norm(u)
                assert bound == pytest.approx(expected, abs=1e-6 * scale)
                assert bound >= expected - 1e-9 * scale
                assert u @ point == pytest.approx(expected, abs=1e-6 * scale)
                assert named.contains(point, 1e-7)
            assert restricted.calls == 4
        assert convex.largest_norm() >= size / d * (1 - 1e-6)
        assert convex.contains(inside)
        assert not convex.contains(inside + 2.1 * size)


def described(family, d, rng):
    """Return a named set of the cases, and the same by cvxpy."""
    case = (LINEAR | ROUND)[family](d, rng)
    if case.conic is not None:
        return case, case.conic
    lift, G, h, F, f = case.linear

    def builder(x):
        y = cp.Variable(lift.shape[1])
        return [x == lift @ y, G @ y <= h] + ([F @ y == f] if f.size else [])

    return case, builder


@pytest.mark.parametrize("backend", ["auto", "cvxpy", "columns"])
@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("family", ["ball", "flat_ellipsoid", "simplex", "l1_ball", "polytope"])
def test_all_constraints_on_all_back_ends(family, kind, backend):
    rng = np.random.default_rng(11)
    for d in (2, 5):
        case, builder = described(family, d, rng)
        eq, le = CONSTRAINTS[kind](case, rng)
        restricted = SETS.Convex(builder, d, backend=backend).restrict(eq, le)
        for u in rng.standard_normal((2, d)):
            try:
                point, bound = restricted.maximize(u)
            except OracleError:  # only this may fail, and only on thin slices
                assert (backend, kind[:4]) == ("cvxpy", "thin")
                continue
            _, expected = case.made.maximize(u, eq, le)
            scale = case.made.largest_norm() * np.linalg.norm(u)
            loose = 2e-5 if kind.startswith("thin") else 1e-6
            assert bound == pytest.approx(expected, abs=loose * scale)
            assert bound - 1e-6 * scale <= u @ point <= bound
            assert case.made.contains(point, 1e-6)
            assert missed(point, eq, le) <= 2e-8 * max(scale, 1.0)


def test_a_set_with_variables_of_its_own():
    """The image of a spectraplex: diagonals of positive matrices of trace 1."""

    def builder(x):
        M = cp.Variable((3, 3), PSD=True)
        return [cp.trace(M) == 1, x == cp.diag(M)]

    made = SETS.Convex(builder, 3)
    point, bound = made.maximize([1.0, 3.0, 2.0])
    assert point == pytest.approx([0, 1, 0], abs=1e-5)
    assert bound == pytest.approx(3.0, abs=1e-6)
    assert made.contains([0.2, 0.3, 0.5])
    assert not made.contains([0.2, 0.3, 0.6])


def test_equalities_and_infeasible_slices():
    made = SETS.Convex(lambda x: [cp.norm(x) <= 1], 2)
    point, bound = made.maximize([1.0, 0.0], eq=([[0.0, 1.0]], [0.6]))
    assert point == pytest.approx([0.8, 0.6], abs=1e-6)
    assert bound == pytest.approx(0.8, abs=1e-6)
    with pytest.raises(InfeasibleError, match="Convex"):
        made.maximize([1.0, 0.0], le=([[1.0, 0.0]], [-1.01]))
    assert made.maximize([0.0, 0.0])[1] == pytest.approx(0.0, abs=1e-9)


def test_a_broken_solver_is_replaced_and_counted(monkeypatch):
    made = SETS.Convex(lambda x: [cp.norm(x) <= 1], 3)
    le, u = ([[0.0, 0.0, 1.0]], [-0.6]), np.array([1.0, 2.0, 2.0])
    solve = _cvxpy.Cvxpy.solve

    def broken(self, g):
        answer = solve(self, g)
        return answer._replace(x=0.9 * answer.x) if self._rows.b.size else answer

    monkeypatch.setattr(_cvxpy.Cvxpy, "solve", broken)
    restricted = made.restrict(le=le)
    assert restricted.maximize(u)[1] == pytest.approx(0.8 * np.sqrt(5) - 1.2, abs=1e-6)
    assert restricted.rejected == {"cvxpy": 1}
    assert restricted.answers == {"columns": 1}
    monkeypatch.setattr(_columns, "MOST_POINTS", 2)
    with pytest.raises(OracleError, match=r"cvxpy: .*columns: "):
        made.maximize(u, le=le)


def test_a_point_outside_the_set_is_refused(monkeypatch):
    made = SETS.Convex(lambda x: [cp.norm(x) <= 1, x[0] >= -5], 3)
    solve = _cvxpy.Conic.solve

    def outside(self, u, tolerance):
        status, solution, raw, data = solve(self, u, tolerance)
        solution.primal_vars[self.y.id] *= 1.00001
        return status, solution, raw, data

    monkeypatch.setattr(_cvxpy.Conic, "solve", outside)
    with pytest.raises(OracleError, match=r"misses a row by 1\.0e-05"):
        made.maximize([1.0, 2.0, 3.0])


def test_points_that_are_not_needed_are_forgotten():
    made = SETS.Convex(lambda x: [cp.norm(x) <= 1], 3, backend="columns")
    restricted = made.restrict(le=([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [-0.3, 0.1]))
    named = SETS.Ball(3).restrict(le=([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [-0.3, 0.1]))
    for u in np.random.default_rng(12).standard_normal((60, 3)):
        assert restricted.maximize(u)[1] == pytest.approx(named.maximize(u)[1], abs=1e-6)
    assert restricted.answers == {"columns": 60}


@pytest.mark.parametrize("backend", ["auto", "cvxpy", "columns"])
def test_rows_that_leave_nothing(backend):
    made = SETS.Convex(lambda x: [cp.norm(x) <= 1], 2, backend=backend)
    V = np.array([[1.0, 0.0], [-1.0, 0.0]])
    for eq, le in ((None, (V, [-0.1, 0.0])), (([[1.0, 1.0]], [1.5]), None)):
        restricted = made.restrict(eq, le)
        for _ in range(2):
            with pytest.raises(InfeasibleError):
                restricted.maximize([1.0, 0.0])


BAD = {
    "empty": lambda: SETS.Convex(lambda x: [x >= 1, x <= 0], 2),
    "unbounded": lambda: SETS.Convex(lambda x: [x >= 1], 2),
    "half unbounded": lambda: SETS.Convex(lambda x: [x[0] >= 0, x[0] <= 1, x[1] <= 2], 2),
    "no constraints": lambda: SETS.Convex(lambda x: [], 2),
    "not a list": lambda: SETS.Convex(lambda x: cp.norm(x) <= 1, 2),
    "not a constraint": lambda: SETS.Convex(lambda x: [True], 2),
    "not convex": lambda: SETS.Convex(lambda x: [cp.norm(x) >= 1], 2),
    "not callable": lambda: SETS.Convex([1], 2),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_builders(case):
    with pytest.raises(ArgumentError) as caught:
        BAD[case]()
    assert caught.value.argument == "builder"


def test_bad_dimension_and_back_end():
    for call, argument in (
        (lambda: SETS.Convex(lambda x: [cp.norm(x) <= 1], 0), "d"),
        (lambda: SETS.Convex(lambda x: [cp.norm(x) <= 1], 2, backend="highs"), "backend"),
    ):
        with pytest.raises(ArgumentError) as caught:
            call()
        assert caught.value.argument == argument
