"""Attempts to refute certificates in floating point: a slice of those of `make reliability`."""

import pytest

from tests.theory.near_degenerate import LEARNERS, tried


@pytest.mark.parametrize("name", LEARNERS)
def test_nothing_is_refuted_where_floating_point_has_least_to_hold_on_to(name):
    found = tried(name, 40, seed=1)
    assert found.holds(), str(found)
    assert found.counts["F"] > 20 and found.counts["live"] > 15


# The origin is off the arms' plane by a last digit.
@pytest.mark.parametrize("i", [38974, 44285, 54819, 99583])
def test_what_has_been_refuted_once_is_not_refuted_again(i):
    found = tried("LinearElimination", 1, first=i)
    assert found.holds(), str(found)
