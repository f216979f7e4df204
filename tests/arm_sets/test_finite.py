"""Finite sets: the scan is exact, ties go to the first arm."""

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import InfeasibleError

Finite = uli.arm_sets.Finite


def test_equals_a_plain_scan():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        K, d = int(rng.integers(1, 30)), int(rng.integers(1, 6))
        points = rng.integers(-2, 3, (K, d)).astype(float)  # ties and duplicates abound
        V, b = rng.integers(-2, 3, (2, d)), rng.integers(-1, 4, 2)
        U = rng.integers(-1, 2, (1, d))
        eq = (U, [float(rng.integers(-1, 2))]) if rng.random() < 0.3 else None
        u = rng.integers(-2, 3, d).astype(float)
        best, first = -np.inf, None
        for i, a in enumerate(points):
            fine = all(V @ a <= b) and (eq is None or (U @ a == eq[1]).all())
            if fine and u @ a > best:
                best, first = u @ a, i
        restricted = Finite(points).restrict(eq, (V, b))
        if first is None:
            with pytest.raises(InfeasibleError, match="no arm"):
                restricted.maximize(u)
        else:
            point, bound = restricted.maximize(u)
            assert (point == points[first]).all()
            assert bound == best
            assert restricted.indices.size <= K


def test_equal_arms_give_the_first_whatever_the_rounding():
    rng = np.random.default_rng(1)
    for d in (3, 7, 20):
        arm = rng.standard_normal(d)
        points = np.vstack(
            [rng.standard_normal((50, d)) * 1e-3, np.repeat(arm[None], 1000, axis=0)]
        )
        order = rng.permutation(len(points))
        made = Finite(points[order])
        first = int(np.flatnonzero(order >= 50)[0])
        point, bound = made.maximize(arm)
        assert bound == (arm * arm).sum()
        shifted = Finite(np.where((np.arange(len(points)) == first)[:, None], 1.0, points[order]))
        assert (point == arm).all()
        assert shifted.contains(np.ones(d))


def test_rows_are_met_up_to_rounding_only():
    points = [[0.1 + 0.2, 0.0], [0.0, 1.0]]
    made = Finite(points)
    assert made.restrict(le=([[1.0, 0.0]], [0.3])).indices.tolist() == [0, 1]
    assert made.restrict(le=([[1.0, 0.0]], [0.3 - 1e-7])).indices.tolist() == [1]
    assert made.restrict(eq=([[1.0, 0.0]], [0.3])).indices.tolist() == [0]


def test_norm_and_membership():
    made = Finite([[3.0, 4.0], [0.0, 1.0]])
    assert made.largest_norm() == pytest.approx(5.0)
    assert made.contains([0.0, 1.0])
    assert not made.contains([1.5, 2.5])
    assert made.dimension == 2
    assert Finite([[1e-200, 0.0]]).largest_norm() == 1e-200


def test_calls_are_counted():
    restricted = Finite([[1.0], [2.0]]).restrict()
    for _ in range(5):
        restricted.maximize([1.0])
    assert restricted.calls == 5
    assert restricted.answers == {"closed": 5}
