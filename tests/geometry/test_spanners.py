"""Barycentric spanners of arm sets, on their own."""

import math

import numpy as np
import pytest

import uli_fast as uli
from tests.learners.test_spanner_elimination import NAMES, random_set
from uli_fast.kernels.spanner_elimination import SpannerColumns, exchange, furthest


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("C", [1.05, 1.2, 2.0])
def test_a_spanner_spans_with_small_coefficients(name, C):
    for d in (1, 2, 4):
        region = random_set(name, d, np.random.default_rng(d))
        spanner = uli.barycentric_spanner(region, C)
        assert spanner.arms.shape == (d, d)
        assert uli.verify_spanner(spanner.arms, region, C) <= C * (1 + 1e-6)
        assert spanner.oracle_calls <= 2 * d * (2 + spanner.swaps)
        for arm in spanner.arms:
            assert region.contains(arm, 1e-7)
        det = abs(np.linalg.det(spanner.columns))
        assert spanner.log_det == pytest.approx(math.log(det))


def test_a_set_in_a_subspace():
    arms = np.array([[0.5, 0.5, 0.0], [0.2, -0.4, 0.0], [-0.3, 0.1, 0.0]])
    spanner = uli.barycentric_spanner(arms, 1.5)
    assert spanner.arms.shape == (2, 3)
    assert uli.verify_spanner(spanner.arms, arms, 1.5) <= 1.5 * (1 + 1e-6)


def test_verification_can_fail():
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert uli.verify_spanner(arms[[0, 2]], arms) == pytest.approx(1.0)
    bad = np.array([[0.1, 0.0], [0.0, 1.0]])
    assert uli.verify_spanner(bad, arms) == pytest.approx(10.0)
    with pytest.raises(uli.errors.OracleError, match="above C"):
        uli.verify_spanner(bad, arms, 2.0)
    assert math.isinf(uli.verify_spanner(arms[:1], arms))
    with pytest.raises(uli.errors.OracleError, match="above C"):
        uli.verify_spanner(arms[:1], arms, 2.0)
    ball = uli.arm_sets.Ball(2)
    assert uli.verify_spanner(bad, ball) == pytest.approx(10.0, rel=1e-6)


def test_exchanges_keep_the_inverse_and_the_determinant():
    rng = np.random.default_rng(1)
    for d in (1, 2, 5, 12):
        columns = SpannerColumns(np.eye(d), np.eye(d), np.zeros(1), np.zeros(d))
        for _ in range(40):
            s, i = rng.standard_normal(d), int(rng.integers(d))
            if abs(columns.inverse[i] @ s) < 0.1:
                continue
            coefficient = columns.inverse[i] @ s
            assert exchange(*columns, i, s) == pytest.approx(coefficient)
            assert (columns.A[:, i] == s).all()
        assert columns.inverse @ columns.A == pytest.approx(np.eye(d), abs=1e-7)
        assert columns.log_det[0] == pytest.approx(np.linalg.slogdet(columns.A).logabsdet)


def test_the_furthest_point_is_the_furthest():
    rng = np.random.default_rng(2)
    points = rng.standard_normal((50, 4))
    for _ in range(20):
        u = rng.standard_normal(4)
        arm, value, low, high = furthest(np.ascontiguousarray(points.T), u)
        assert (low, high) == pytest.approx(((points @ u).min(), (points @ u).max()))
        assert value == pytest.approx(np.abs(points @ u).max())
        assert abs(points[arm] @ u) == pytest.approx(value)


def test_bad_input():
    with pytest.raises(uli.errors.ArgumentError, match="C"):
        uli.barycentric_spanner(np.eye(2), 1.0)
    with pytest.raises(uli.errors.ArgumentError, match="arm_set"):
        uli.barycentric_spanner(np.zeros((2, 2)))
    with pytest.raises(uli.errors.ArgumentError, match="arms"):
        uli.verify_spanner(np.eye(3), np.eye(2))
