"""Calls of the optimisation oracle against other solvers, checks included on our side."""

import pytest

from bench.support.oracles import calls, failures

DIMENSIONS = pytest.mark.parametrize("d", [5, 10, 20])
SEEDS = 3


@DIMENSIONS
@pytest.mark.parametrize("rival", ["highspy", "linprog", "cvxpy", "rebuilt"])
def test_polytope(versus, d, rival):
    versus(calls("polytope", d, "kernel"), calls("polytope", d, rival), seeds=SEEDS)


@DIMENSIONS
@pytest.mark.parametrize("rival", ["clarabel", "cvxpy", "rebuilt"])
@pytest.mark.parametrize("shape", ["ball", "ellipsoid"])
def test_round(versus, shape, d, rival):
    counts = failures(shape, d, SEEDS) if rival == "clarabel" else {}
    versus(calls(shape, d, "kernel"), calls(shape, d, rival), seeds=SEEDS, counts=counts)
