"""The usual trial: its chances equal enumeration, its sizes the textbook's up to discreteness."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, norm

import uli_fast as uli
from uli_fast.errors import ArgumentError
from uli_fast.planning.fixed_trial import needed_successes


def beats(S, s, n, z):
    """The pooled two-proportion z test, as it is written in textbooks."""
    p = (S + s) / (2 * n)
    return S > s and (S - s) / n > z * math.sqrt(p * (1 - p) * 2 / n)


def enumerated(means, n, alpha):
    """Return the chances to call each arm, all inferior arms and all best arms inferior."""
    z, K = norm.isf(alpha / (len(means) - 1)), len(means)
    best = [mean == max(means) for mean in means]
    called, everything, lost = np.zeros(K), 0.0, 0.0
    for outcome in itertools.product(range(n + 1), repeat=K):
        chance = math.prod(binom.pmf(s, n, p) for s, p in zip(outcome, means, strict=True))
        verdict = [beats(max(outcome), s, n, z) for s in outcome]
        called += chance * np.array(verdict)
        everything += chance * all(v for v, b in zip(verdict, best, strict=True) if not b)
        lost += chance * all(v for v, b in zip(verdict, best, strict=True) if b)
    return called, everything, lost


@pytest.mark.parametrize(
    ("means", "n", "alpha"),
    [
        ([0.7, 0.4], 25, 0.05),
        ([0.4, 0.8, 0.5], 12, 0.2),
        ([0.6, 0.6, 0.2], 12, 0.3),
        ([0.1, 0.9, 1.0, 0.9], 5, 0.3),
        ([0.5, 0.5], 10, 0.1),
    ],
)
def test_chances_equal_enumeration(means, n, alpha):
    trial = uli.fixed_trial(uli.BernoulliBandit(means), n * len(means), alpha)
    called, everything, lost = enumerated(means, n, alpha)
    assert trial.called == pytest.approx(called, abs=1e-11)
    assert trial.lost_best == pytest.approx(lost, abs=1e-11)
    if len(set(means)) > 1:
        assert trial.called_all == pytest.approx(everything, abs=1e-11)
    else:
        assert math.isnan(trial.called_all)
        assert trial.needed_all(0.8) is None
        assert trial.needed(0.8) == (None, None)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("z", [-0.5, 0.0, 0.3, 1.645, 2.4])
def test_the_least_winning_count_is_that_of_the_test(n, z):
    found = needed_successes(np.arange(n + 1.0), n, z)
    for s in range(n + 1):
        won = [S for S in range(n + 1) if beats(S, s, n, z)]
        assert won == list(range(int(found[s]), n + 1))


def test_power_of_two_arms_by_double_sums_and_by_formula():
    """Exactly by binomial sums over both arms; the textbook's size is close, and not the same."""
    p1, p2, n = 0.6, 0.5, 300
    problem = uli.BernoulliBandit([p1, p2])
    trial = uli.fixed_trial(problem, 2 * n)
    z = norm.isf(0.05)
    s = np.arange(n + 1)
    p = (s[:, None] + s) / (2 * n)
    with np.errstate(invalid="ignore"):
        won = (s[:, None] - s) / n > z * np.sqrt(p * (1 - p) * 2 / n)
    exact = (won * binom.pmf(s, n, p1)[:, None] * binom.pmf(s, n, p2)).sum()
    assert trial.called_all == pytest.approx(exact, abs=1e-12)
    assert trial.called[1] == pytest.approx(exact, abs=1e-12)
    pbar = (p1 + p2) / 2
    top = z * math.sqrt(2 * pbar * (1 - pbar)) + norm.ppf(0.8) * math.sqrt(p1 * 0.4 + p2 * 0.5)
    assert trial.formula(0.8) == (None, 2 * math.ceil((top / 0.1) ** 2))
    two_sided = uli.fixed_trial(problem, 2 * n, alpha=0.025)  # 388 per arm in every textbook
    assert two_sided.formula(0.8) == (None, 2 * 388)
    (_, needed) = trial.needed(0.8)
    assert needed == trial.needed_all(0.8)
    assert abs(needed - trial.formula(0.8)[1]) <= 0.03 * needed


@pytest.mark.parametrize("power", [0.5, 0.8, 0.9, 0.99])
def test_sizes_reach_their_power_and_one_fewer_misses_it(power):
    problem = uli.BernoulliBandit([0.92, 0.896, 0.868])
    trial = uli.fixed_trial(problem, 3000)
    for a, patients in enumerate(trial.needed(power)):
        if a == 0:
            assert patients is None
            continue
        assert uli.fixed_trial(problem, patients).called[a] >= power
        assert uli.fixed_trial(problem, patients - 3).called[a] < power
    together = trial.needed_all(power)
    assert trial.power_all(together // 3) >= power > trial.power_all(together // 3 - 1)


def test_the_best_arm_is_called_inferior_at_most_as_often_as_allowed():
    """Bonferroni over the others: near alpha where all are equal, and hardly ever elsewhere."""
    equal = uli.fixed_trial(uli.BernoulliBandit([0.5] * 4), 4000, 0.05)
    assert 0.03 < equal.called[0] < 0.055
    assert equal.lost_best == 0.0  # one of the best arms is always left
    near = uli.fixed_trial(uli.BernoulliBandit([0.5, 0.4999, 0.4999, 0.4999]), 4000, 0.05)
    assert 0.03 < near.lost_best < 0.055


def test_two_close_arms_are_too_far_to_be_looked_for():
    trial = uli.fixed_trial(uli.BernoulliBandit([0.5, 0.49999]), 1000)
    assert trial.needed(0.8) == (None, None)
    assert trial.formula(0.8)[1] > 10**10


BAD = {
    "one arm": (lambda: uli.fixed_trial(uli.BernoulliBandit([0.5]), 10), "problem"),
    "no problem": (lambda: uli.fixed_trial([0.5, 0.4], 10), "problem"),
    "Gaussian": (lambda: uli.fixed_trial(uli.GaussianBandit([0.5, 0.4]), 10), "problem"),
    "few": (lambda: uli.fixed_trial(uli.BernoulliBandit([0.5, 0.4]), 1), "patients"),
    "none": (lambda: uli.fixed_trial(uli.BernoulliBandit([0.5, 0.4]), 0), "patients"),
    "too many": (lambda: uli.fixed_trial(uli.BernoulliBandit([0.5, 0.4]), 2e7 + 2), "patients"),
    "far too many": (lambda: uli.fixed_trial(uli.BernoulliBandit([0.5, 0.4]), 1e18), "patients"),
    "alpha": (lambda: uli.fixed_trial(uli.BernoulliBandit([0.5, 0.4]), 10, 1.0), "alpha"),
    "power": (lambda: uli.fixed_trial(uli.BernoulliBandit([0.5, 0.4]), 10).needed(1), "power"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_argument(case):
    call, argument = BAD[case]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument
