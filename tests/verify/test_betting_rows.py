"""The rows of our own theorem: each can fail."""

import math
from fractions import Fraction

import pytest

from tests.verify.spoiling import CHECKS, all_fail, bound_times
from uli_fast.guarantees import betting_looks
from uli_fast.learners import betting_elimination
from uli_fast.verify import betting, betting_paths

OURS = [id for id in CHECKS if id.startswith("betting-")]


def test_rows_say_that_they_are_ours():
    assert len(OURS) == 5
    assert all(CHECKS[id].statement.startswith("Ours") for id in OURS)
    more = ("KLUCB", "ThompsonSampling", "registered")  # of other modules
    pages = [id for id in CHECKS if id.startswith(("models-", "caps-", "linear-", "spanner-"))]
    others = [check.statement for id, check in CHECKS.items() if id not in (*OURS, *pages, *more)]
    assert not any(statement.startswith("Ours") for statement in others)


@pytest.fixture(autouse=True)
def afresh():
    """Forget tables of F that a sabotage has left behind."""
    yield
    betting_looks._drifts.cache_clear()
    betting_looks._table.cache_clear()


def threshold_over(factor):
    """Return a sabotage: arms are dropped at a fraction of the threshold."""

    def spoil(m):
        new_bets = betting_elimination.new_bets

        def lower(*args):
            bets = new_bets(*args)
            bets.test[0] -= math.log(factor)
            return bets

        m.setattr(betting_elimination, "new_bets", lower)

    return spoil


def other_rho(m):
    m.setattr(betting_looks, "sharpest_variance", lambda R: 50.0 * R * R)


def bets_the_other_way(m):
    f = betting.mean_factor
    m.setattr(betting, "mean_factor", lambda *args: f(*args[:4], args[4] * Fraction(-1), *args[5:]))


def paths_of_another_grid(m):
    m.setattr(betting_paths, "SIZES", 0.8 * betting_paths.SIZES)


@pytest.mark.parametrize(
    "spoil, rows",
    [
        (threshold_over(3.0), ("betting-ville",)),
        (threshold_over(8.0), ("betting-ville", "betting-ULI", "betting-drift")),
        (bound_times("BET", 0.3), ("betting-ULI", "betting-F")),
        (other_rho, ("betting-F",)),
        (bets_the_other_way, ("betting-factor",)),
        (paths_of_another_grid, ("betting-ville",)),
    ],
    ids=["third", "eighth", "F", "rho", "sign", "paths"],
)
def test_a_sabotage_turns_the_rows(spoil, rows, monkeypatch):
    all_fail(spoil, rows, monkeypatch)
