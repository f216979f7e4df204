"""The two-armed lower-bound instances: golden values, simulation, an independent solution."""

import math
from fractions import Fraction

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import successive_elimination, ucb
from tests.naive.lil_ucb import last_bad_round
from uli_fast import lower_bounds
from uli_fast.errors import ArgumentError

GOLDEN = {
    0.5: 72_349,
    0.1: 1_366_653_593,
    0.03: 1_997_664_498_265,
    0.01: 2_361_339_012_660_748,
    0.003: 2_858_005_036_562_436_398,
    0.001: 5_868_908_346_009_196_909_267,
}


@pytest.mark.parametrize("gap", GOLDEN)
def test_golden_last_plays_of_lil_ucb(gap):
    assert lower_bounds.lil_ucb_last_play(gap, 0.1) == GOLDEN[gap]
    assert lower_bounds.lil_ucb_last_play(np.float64(gap), Fraction(1, 10)) == GOLDEN[gap]


def test_the_counts_behind_the_first_golden_value():
    bound = lower_bounds.lil_ucb_lower_bound(0.5, 0.1)
    assert (bound.n, bound.x, bound.last_play) == (20, 72_349 - 21, 72_349)
    problem = uli.DeterministicBandit([1.0, 0.5])
    runs = uli.simulate(uli.LilUCB(0.1), problem, 10**6, seed=0)
    assert runs.final_plays[0, 1] == 21
    assert runs.last_play[0, 1] == 72_349


def test_equals_an_independent_solution_and_keeps_every_bound():
    rng, least = np.random.default_rng(0), math.inf
    for _ in range(60):
        gap = round(float(np.exp(rng.uniform(math.log(1e-4), math.log(0.6)))), 6)
        delta = round(float(rng.uniform(0.001, 0.999)), 4)
        bound = lower_bounds.lil_ucb_lower_bound(gap, delta)
        assert bound.last_play == last_bad_round(str(gap), str(delta))
        assert bound.count_holds
        assert bound.theorem_holds
        assert bound.cubic_holds
        least = min(least, bound.x / (4 * bound.n**3))
    assert 1.0 <= least < 2.0


def test_a_bound_that_fails_is_said_to_fail():
    bound = lower_bounds.LilLowerBound(Fraction(1, 10), Fraction(1, 10), 500, 10**6)
    assert not bound.count_holds
    assert not bound.cubic_holds
    tenth = Fraction(1, 10)
    c = math.log(math.log(math.log(60) * 100)) + math.log(60)
    least, enough = math.floor(c * 100), math.floor(c**2 / 3 * 10**4) + 1
    assert lower_bounds.LilLowerBound(tenth, tenth, least, 1).count_holds
    assert not lower_bounds.LilLowerBound(tenth, tenth, least - 1, 1).count_holds
    assert lower_bounds.LilLowerBound(tenth, tenth, 500, enough - 501).theorem_holds
    assert not lower_bounds.LilLowerBound(tenth, tenth, 500, enough - 502).theorem_holds


def test_golden_play_rounds_of_ucb():
    assert lower_bounds.ucb_play_rounds(0.5, 0.1, [110, 111]) == [312_111, 346_493]
    assert lower_bounds.ucb_play_rounds(0.1, 0.1, [4215]) == [365_219_331]


@pytest.mark.parametrize(("gap", "delta"), [(0.5, 0.1), (0.05, 0.3), (0.9, 0.9)])
def test_ucb_play_rounds_equal_the_naive_learner(gap, delta):
    means = (0.95, round(0.95 - gap, 2))
    arms = ucb.play(lambda a, n: n * means[a], 2, 3000, delta)["arms"]
    played = [t for t, a in enumerate(arms, start=1) if a == 1]
    numbers = range(1, len(played) + 1)
    assert lower_bounds.ucb_play_rounds(gap, delta, numbers) == played


def test_ucb_comes_back_for_ever_ever_more_rarely():
    plays = [10, 10**2, 10**3, 10**4]
    rounds = lower_bounds.ucb_play_rounds(0.3, 0.1, plays)
    assert rounds == sorted(rounds)
    assert rounds[-1] > 10**190
    # N_2 grows like 2 log t / gap^2
    slope = (plays[3] - plays[2]) / (math.log(rounds[3]) - math.log(rounds[2]))
    assert slope == pytest.approx(2 / 0.3**2, rel=0.05)


def test_the_last_of_very_many_rounds_is_exact():
    """One round earlier the index is still below, in arithmetic of its own."""
    import mpmath as mp

    (t,) = lower_bounds.ucb_play_rounds(0.3, 0.1, [10**4])
    with mp.workdps(600):
        n = mp.mpf(10**4 - 1)

        def lead(t):
            bonus = mp.sqrt(mp.log(20 * mp.mpf(t) ** 2))
            return bonus * (1 / mp.sqrt(n) - 1 / mp.sqrt(t - 1 - n))

        assert lead(t - 1) < mp.mpf("0.3") < lead(t)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(("gap", "delta"), [("0.5", "0.1"), ("0.8", "0.9"), ("0.3", "0.5")])
def test_successive_elimination_stays_as_long_as_the_naive_learner(gap, delta, first):
    means = [0.9, 0.9 - float(gap)]
    means = means[::-1] if first else means
    done = successive_elimination.play(lambda a, n: n * means[a], 2, 2000, float(delta))
    stay = lower_bounds.se_stay(Fraction(gap), Fraction(delta), first)
    worse = 0 if first else 1
    assert stay == (done["n"][worse], done["eliminated"][worse])


@pytest.mark.parametrize("gap", ["0.5", "0.2", "0.07"])
def test_phased_elimination_stays_as_long_as_simulated(gap):
    learner, problem = uli.PhasedElimination(0.1), uli.DeterministicBandit([1, 1 - float(gap)])
    runs = uli.simulate(learner, problem, 10**6, seed=0)
    stay = lower_bounds.pe_stay(Fraction(gap), Fraction(1, 10), Fraction(1, 2))
    assert stay == (runs.final_plays[0, 1], runs.eliminated_at[0, 1])


def test_numbers_are_read_as_written():
    assert lower_bounds.as_written(0.1) == Fraction(1, 10)
    assert lower_bounds.as_written(np.float64(1e-7)) == Fraction(1, 10**7)


@pytest.mark.parametrize("call", [lower_bounds.lil_ucb_last_play, lower_bounds.lil_ucb_lower_bound])
def test_bad_input_names_the_argument(call):
    for gap in (0.0, 1.0, math.nan, "x", None):
        with pytest.raises(ArgumentError, match="gap"):
            call(gap, 0.1)
    with pytest.raises(ArgumentError, match="delta"):
        call(0.1, 0)


def test_bad_plays():
    for plays in ([0], [1.5], [10**9]):
        with pytest.raises(ArgumentError, match="plays"):
            lower_bounds.ucb_play_rounds(0.5, 0.1, plays)
    with pytest.raises(ArgumentError, match="gap"):
        lower_bounds.ucb_play_rounds(2.0, 0.1, [1])
