"""Calls of the optimisation oracle against other solvers, checks included on our side."""

import pytest
from oracles import calls

DIMENSIONS = pytest.mark.parametrize("d", [5, 10, 20])


@DIMENSIONS
@pytest.mark.parametrize("rival", ["highspy", "linprog", "cvxpy", "rebuilt"])
def test_polytope(versus, d, rival):
    versus(calls("polytope", d, "kernel"), calls("polytope", d, rival), seeds=3)


@DIMENSIONS
@pytest.mark.parametrize("rival", ["clarabel", "cvxpy", "rebuilt"])
def test_ball(versus, d, rival):
    versus(calls("ball", d, "kernel"), calls("ball", d, rival), seeds=3)
