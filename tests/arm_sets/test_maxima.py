"""Every set, every kind of constraint, every back end: the maximum of an independent solver."""

import numpy as np
import pytest

from tests.arm_sets.cases import CONSTRAINTS, LINEAR, ROUND, missed, reference
from uli_fast.errors import ArgumentError

SETS = LINEAR | ROUND


def check(case, u, eq, le, answer, tolerance):
    """The point is feasible, its value and the bound enclose the reference."""
    point, bound = answer
    size = max(case.made.largest_norm(), 1.0) * max(np.linalg.norm(u), 1.0)
    assert case.made.contains(point, 2e-8)
    assert missed(point, eq, le) <= 2e-8 * size
    value = u @ point
    assert value <= bound <= value + 1e-6 * size
    best = reference(case, u, eq, le)
    assert best is not None
    assert value == pytest.approx(best, abs=tolerance * size)
    assert bound >= best - tolerance * size


def solve_many(family, kind, n, seed, backend="auto"):
    rng = np.random.default_rng([seed, n])
    done = 0
    # Interior-point references are worse, above all on thin slices.
    loose = 1e-9 if family in LINEAR or kind == "one_cut" else 1e-6
    if kind.startswith("thin"):
        loose = 2e-5 if family in ROUND and kind == "thin_rows" else 1e-7
    while done < n:
        d = int(rng.integers(1, 7))
        case = SETS[family](d, rng, backend)
        eq, le = CONSTRAINTS[kind](case, rng)
        restricted = case.made.restrict(eq, le)
        for u in (*rng.standard_normal((3, d)), np.zeros(d)):
            check(case, u, eq, le, restricted.maximize(u), loose)
            done += 1
        assert restricted.calls == 4
        assert sum(restricted.answers.values()) == 4
        if backend == "auto":  # the quick ways alone
            assert not restricted.rejected
            assert set(restricted.answers) <= {"closed", "kernel"}


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("family", LINEAR)
def test_linear_programs(family, kind):
    solve_many(family, kind, 12, seed=0)


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("family", ROUND)
def test_conic_programs(family, kind):
    solve_many(family, kind, 12, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("family", SETS)
def test_thousands(family, kind):
    solve_many(family, kind, 400 if family in LINEAR else 100, seed=2)


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("family", SETS)
def test_each_back_end_alone(family, kind):
    rng = np.random.default_rng(3)
    for name in SETS[family](3, rng).made.backends:
        try:
            solve_many(family, kind, 4, seed=4, backend=name)
        except ArgumentError as refused:
            assert (name, refused.argument) == ("closed", "backend")
            assert kind != "no_rows"
