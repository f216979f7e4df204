"""A user's own oracle: wrapped, checked, refused where it lies."""

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import InfeasibleError, OracleError

SETS = uli.arm_sets


class Mine:
    """A ball, by hand."""

    dimension = 2

    def __init__(self, damage=None):
        self.damage, self.inner = damage, SETS.Ball(2, 3.0)

    def maximize(self, u, eq, le):
        point, bound = self.inner.maximize(u, eq, le)
        if self.damage == "row":
            return point + 1e-3, bound + 1e-3 * u.sum()
        if self.damage == "bound":
            return point, bound * 1.1 + 1
        if self.damage == "low":
            return point, bound - 1
        if self.damage == "NaN":
            return point * np.nan, bound
        if self.damage == "shape":
            return point[:1], bound
        if self.damage == "no pair":
            return point[0]
        return point, bound


def test_an_own_oracle_is_an_arm_set():
    made = SETS.as_arm_set(Mine())
    assert isinstance(made, SETS.ArmSet)
    assert made.dimension == 2
    assert made.largest_norm() >= 3.0
    assert made.contains([1.0, 1.0])
    assert not made.contains([3.0, 3.0])
    le = ([[1.0, 0.0]], [0.0])
    restricted = made.restrict(le=le)
    point, bound = restricted.maximize([1.0, 1.0])
    assert point == pytest.approx([0.0, 3.0], abs=1e-7)
    assert bound == pytest.approx(3.0)
    assert restricted.calls == 1
    assert made.maximize([0.0, 0.0])[1] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(InfeasibleError):
        made.maximize([1.0, 0.0], le=([[1.0, 0.0]], [-3.1]))


@pytest.mark.parametrize("damage", ["row", "bound", "low", "NaN", "shape", "no pair"])
def test_a_lie_is_an_error(damage):
    made = SETS.as_arm_set(Mine(damage))
    with pytest.raises(OracleError, match="Mine"):
        made.maximize([1.0, 0.5], le=([[1.0, 0.0]], [0.0]))


def test_what_is_wrapped():
    box = SETS.Box([0], [1])
    assert SETS.as_arm_set(box) is box
    made = SETS.as_arm_set(np.eye(3))
    assert isinstance(made, SETS.Finite)
    assert SETS.as_arm_set([[1.0, 2.0]]).dimension == 2


def test_own_norm_and_membership_are_used():
    class Exact(Mine):
        def largest_norm(self):
            return 3.0

        def contains(self, a, tolerance):
            return bool(np.linalg.norm(a) <= 3.0 + tolerance)

    made = SETS.as_arm_set(Exact())
    assert made.largest_norm() == 3.0
    assert made.contains([3.0, 0.0])
    assert not made.contains([3.1, 0.0])
