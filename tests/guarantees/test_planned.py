"""Plans with a stated best mean: the page's figures, the naive procedure's, and never more."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import betting_plan as naive
from uli_fast.errors import ArgumentError, NoGuaranteeError
from uli_fast.guarantees import betting_staying
from uli_fast.kernels import betting_elimination as kernel

LEARNER = uli.BettingElimination(0.05)
PACKAGE = Path(uli.__file__).parent


def naive_looks(last):
    looks = [0]
    while looks[-1] < last:
        looks.append(naive.look_after(looks[-1]))
    return looks


@pytest.mark.parametrize(("p", "K", "r"), [(0.92, 4, 2), (0.3, 2, 1), (0.6, 10, 3), (0.999, 3, 2)])
def test_theta_has_the_naive_band(p, K, r):
    known = betting_staying.setting(p, K, 0.05, r)
    looks = naive_looks(5000)
    band = naive.band(looks, p, K, 0.05, r)
    np.testing.assert_allclose(known.theta[:, : len(looks)], band, rtol=0, atol=1e-9)
    assert known.looks[: len(looks)] == looks
    assert known.looks[-1] >= 10**18 // (K - 1 + r)


@pytest.mark.parametrize(("p", "g", "K"), [(0.92, 0.05, 4), (0.5, 0.1, 2), (0.3, 0.29, 10)])
def test_bounds_are_the_naive_ones(p, g, K):
    """For the same bets, s and lam, at every look: all three ways to stay."""
    known, looks = betting_staying.setting(p, K, 0.05, 2), naive_looks(20_000)
    edges, m = naive.band(looks, p, K, 0.05, 2), len(looks) - 1
    for first, s, lam in ((2, 0.5, 0.3), (5, 1.2, 0.05), (8, 0.7, 0.0)):
        group = range(first, first + 3)
        odds = betting_staying.Odds(known, group, g)
        wanted = naive.log_staying(looks, edges, group, s, lam, p, g, K, 0.05)
        assert odds.staying(s, lam, m)[-1] == pytest.approx(wanted, rel=1e-9)
        rest = naive.log_rest(looks, edges, group, p, g)
        assert odds.rest[m - 1] == pytest.approx(rest, rel=1e-9)
        both = np.logaddexp(wanted, rest)
        assert odds.failing(s, lam, m)[-1] == pytest.approx(both, rel=1e-9)
    assert betting_staying.DEAD == kernel.WORTHLESS
    assert known.wanted == pytest.approx(math.log(0.05 * 0.05 / (K - 1)))


@pytest.mark.parametrize(("eps", "p", "K"), [(0.1, 0.99, 2), (0.2, 0.92, 4)])
def test_no_later_than_the_naive_procedure(eps, p, K):
    wanted = naive.rounds_until(eps, p, K, 0.05, largest=10**4)
    found = betting_staying.sweeps_until(betting_staying.setting(p, K, 0.05, 2), eps) * (K + 1)
    assert 0.96 * wanted <= found <= wanted  # as well tuned, but for two looks


TABLE = [
    (2, 0.5, (8571, 89811, 808392)),
    (2, 0.99, (2718, 11511, 52644)),
    (4, 0.9, (10245, 77925, 622465)),
    (4, 0.92, (9290, 66525, 520865)),
    (10, 0.92, (23892, 174856, 1396802)),
]


@pytest.mark.parametrize(("K", "p", "row"), TABLE)
def test_golden_rounds(K, p, row):
    """The table of docs/proofs.md, or sooner: it is cut off where F is better."""
    known, planned = betting_staying.setting(p, K, 0.05, 2), LEARNER.planned(K, p)
    for eps, wanted in zip((0.1, 0.03, 0.01), row, strict=True):
        found = betting_staying.sweeps_until(known, eps) * (K + 1)
        assert 0.96 * wanted <= found <= wanted
        F = LEARNER.guarantee(K).rounds_until(eps)
        assert planned.rounds_until(eps) == min(found, F)
    assert f"| {K} | {p} | {row[0]:,} (" in (PACKAGE.parent / "docs/proofs.md").read_text("utf-8")


def test_a_found_look_is_one_at_which_the_naive_bound_is_small():
    """What is returned is valid by the naive arithmetic, whatever was tuned."""
    p, K, eps = 0.92, 4, 0.2
    n = betting_staying.sweeps_until(betting_staying.setting(p, K, 0.05, 2), eps)
    looks = naive_looks(n)
    assert looks[-1] == n
    edges = naive.band(looks, p, K, 0.05, 2)
    assert naive.log_failure(looks, edges, p, eps, K, 0.05) <= math.log(0.05 * 0.05 / (K - 1))


def test_smaller_gaps_take_longer_down_to_the_smallest():
    planned = LEARNER.planned(4, 0.92)
    sizes = [0.95, 0.92, 0.9, 0.5, 0.3, 0.11, 0.1, 0.099, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-8]
    rounds = [planned.rounds_until(eps) for eps in sizes]
    assert rounds == sorted(rounds)
    assert rounds[:2] == [0, 0]  # no gap is above the best mean
    assert 0 < rounds[2] and 10**17 < rounds[-1] <= 10**18
    assert all(type(n) is int for n in rounds)
    F = LEARNER.guarantee(4)
    assert planned.rounds_until(1e-10) == F.rounds_until(1e-10)  # F alone reaches that far
    assert F.rounds_until(1e-4) > 3 * planned.rounds_until(1e-4)


def test_plans_are_shorter_away_from_the_middle():
    """What ``assumes`` says of a mean that is misstated."""
    for eps in (0.1, 0.03):
        for side in ((0.6, 0.7, 0.8, 0.9, 0.92, 0.99, 0.9999), (0.5, 0.4, 0.3, 0.2, 0.12)):
            found = [
                betting_staying.sweeps_until(betting_staying.setting(p, 4, 0.05, 2), eps)
                for p in side
            ]
            assert found == sorted(found, reverse=True)
            assert found[-1] < 0.6 * found[0]


def test_the_bound_falls_in_steps_that_were_fixed_in_advance():
    planned, F = LEARNER.planned(4, 0.92), LEARNER.guarantee(4)
    t = np.unique(np.geomspace(1, 10**6, 300).round())
    values = planned.bound(t)
    assert np.all(np.diff(values) <= 0)
    assert np.all(values <= F.bound(t))
    assert values[0] == planned.largest_gap == 0.92
    assert values[-1] < 0.7 * F.bound(1e6)
    steps = 2.0 ** (-np.arange(107) / 4.0)
    new = values[(values < F.bound(t)) & (values < 0.92)]
    assert new.size > 50 and np.isin(new, steps).all()
    eps = 2.0**-4
    n = planned.rounds_until(eps)
    assert n < F.rounds_until(eps)
    assert planned.bound(n) > eps == planned.bound(n + 1)
    among = planned.bound([n, n + 1, 10**6])  # later rounds do not change earlier ones
    assert among.tolist() == [planned.bound(x) for x in (n, n + 1, 10**6)]
    assert type(planned.bound(n)) is float
    assert planned.bound(10**8) < planned.bound(10**7) < eps


def test_reward_units():
    """Rewards in [-10, 30]: everything is 40 times as large, 10 less."""
    problem = uli.BernoulliBandit([26.8, 20.0, 3.0, 1.0], low=-10.0, high=30.0)
    planned, unit = LEARNER.planned(problem, 26.8), LEARNER.planned(4, 0.92)
    assert planned.rounds_until(40.0 * 0.1) == unit.rounds_until(0.1)
    assert planned.bound(5e4) == pytest.approx(40.0 * unit.bound(5e4))
    assert (planned.low, planned.high, planned.best_mean, planned.K) == (-10.0, 30.0, 26.8, 4)
    assert planned.largest_gap == pytest.approx(36.8)
    assert planned.rounds_until(1.0, problem.gaps) == planned.rounds_until(6.8 * (1 - 1e-9))
    assert planned.rounds_until(26.0, problem.gaps) == 0


def test_it_says_what_it_is():
    planned = uli.BettingElimination(0.1, 1, R=0.5).planned(3, 0.9)
    assert "if the best mean is 0.9." in repr(planned)
    assert "not a certificate" in repr(planned)
    said = " ".join(planned.assumes)
    for words in ("best mean is 0.9, exactly", "may stay for longer", "[0, 1]", "0.5-subgaussian"):
        assert words in said
    assert isinstance(planned, uli.Planned)
    assert not isinstance(planned, uli.Guarantee)
    assert planned == uli.BettingElimination(0.1, 1, R=0.5).planned(3, 0.9)
    assert LEARNER.planned(1, 0.5).rounds_until(1e-9) == 0
    assert LEARNER.planned(1, 0.5).bound(1) == 0.0


def test_nothing_that_certifies_knows_of_it():
    """Only the learner's own door and the command line import it."""
    doors = {"learners/betting_elimination.py", "cli/_plan_subjects.py", "cli/plan.py"}
    found = set()
    for path in PACKAGE.rglob("*.py"):
        names = [
            node.module or ""
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
        ]
        if any(name.endswith(("betting_plan", "betting_staying")) for name in names):
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found - {"__init__.py"} == doors
    for name in ("guarantee", "start"):
        assert "best_mean" not in getattr(LEARNER, name).__annotations__
    assert "any_mean" not in vars(LEARNER.guarantee(4))


@pytest.mark.parametrize(
    "best_mean", [0.0, 1.0, -0.1, 1.2, math.nan, math.inf, True, np.True_, "0.9", None, [0.9]]
)
def test_a_bad_mean_is_named(best_mean):
    with pytest.raises(ArgumentError) as caught:
        LEARNER.planned(4, best_mean)
    assert caught.value.argument == "best_mean"


def test_other_bad_input_is_named():
    planned, problem = LEARNER.planned(4, 0.92), uli.BernoulliBandit([0.9, 0.5], 0.0, 2.0)
    for eps in (0.0, -0.1, math.nan, "0.1"):
        with pytest.raises(ArgumentError) as caught:
            planned.rounds_until(eps)
        assert caught.value.argument == "eps"
    with pytest.raises(ArgumentError, match=r"^t: "):
        planned.bound(0)
    with pytest.raises(ArgumentError, match=r"^gaps: "):
        planned.rounds_until(0.1, [-0.2])
    with pytest.raises(ArgumentError, match=r"^about: "):
        LEARNER.planned(0, 0.92)
    with pytest.raises(ArgumentError, match=r"^best_mean: must be that of the problem, 0.9,"):
        LEARNER.planned(problem, 1.9)
    with pytest.raises(NoGuaranteeError, match="in a range"):
        uli.BettingElimination(R=1.0).planned(uli.GaussianBandit([0.9, 0.5]), 0.9)
