"""Convex sets by cvxpy: the same answers as the named sets, and sets with no other name."""

import cvxpy as cp
import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import ArgumentError, InfeasibleError

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
