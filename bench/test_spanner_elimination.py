"""Spanners: a phase against cvxpy, our schedule against the paper's, another library's spanner."""

import pytest

from bench.support.linear import effort, finite_spanner, third_phase
from bench.support.rivals import another_library


@pytest.mark.parametrize("d", [5, 10])
@pytest.mark.parametrize("shape", ["ball", "polytope"])
def test_phase(versus, shape, d):
    mine, rival = (third_phase(shape, d, backend) for backend in ("kernel", "cvxpy"))
    versus(mine, rival, seeds=3, repeats=10, counts=effort(shape, d, 3))


@pytest.mark.parametrize("d", [5, 10])
@pytest.mark.parametrize("shape", ["ball", "polytope"])
def test_sharp_phase(versus, shape, d):
    sharp, paper = (third_phase(shape, d, schedule=schedule) for schedule in ("sharp", "paper"))
    versus(sharp, paper, seeds=3, repeats=30)


@pytest.mark.parametrize("C", [2.0, 1.2])
def test_finite_set(versus, C):
    versus(finite_spanner(1000, 20, C), repeats=20)


@pytest.mark.long
def test_finite_set_against_vowpal_wabbit(versus):
    versus(finite_spanner(1000, 20, 2.0), another_library("vowpalwabbit", "spanner"), repeats=2)
