"""Live betting where means change: what is certified, and what is not."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import uli_fast as uli
from tests.support.betting import FREE, restored
from uli_fast.errors import NoGuaranteeError


def test_unbounded_means_that_change_are_certified_on_average():
    """Known intervals contradict each other: no half of theirs says what rounding may take."""
    player = uli.BettingElimination(0.05, R=1.0).start(2, **FREE)
    for shift in (0.0, 5.0):
        for _ in range(10):
            player.tell_block({a: (50, 50 * (shift - 0.1 * a)) for a in player.active})
    assert player.contradicted
    c = player.certificate()
    assert "one arm is a best one in every sweep" in c.assumes[0]
    assert len(c.active) == 2 and 0.1 < c.bound < 2.0
    assert player.intervals()[0] == (-math.inf, math.inf)


@pytest.mark.parametrize("by_blocks", [False, True])
def test_outcomes_too_large_for_their_sums_are_certified_neither_before_nor_after_a_restore(
    by_blocks,
):
    for size, drowned in ((10.0, False), (1e9, True)):
        player = uli.BettingElimination(0.05, R=1.0).start(2, **FREE)
        for _ in range(100):
            if by_blocks:
                player.tell_block({a: (3, 3 * size) for a in (0, 1)})
            else:
                player.tell(player.ask().id, size)
        for p in (player, restored(player)):
            if drowned:
                with pytest.raises(NoGuaranteeError, match="rounded"):
                    p.certificate()
            else:
                assert len(p.certificate().active) == 2


def with_weekdays(rng, by_blocks, delta, means=(0.5, 0.48, 0.4)):
    """Play under an effect of up to .2 that all arms share, another one every few sweeps."""
    effects = rng.uniform(-0.2, 0.2, 7)
    player = uli.BettingElimination(delta).start(len(means))
    for day in range(150 if by_blocks else 60):
        shift = effects[day % 7]
        if by_blocks:
            plays = {a: int(rng.integers(1, 60)) for a in player.active}
            sums = {a: float(rng.binomial(n, means[a] + shift)) for a, n in plays.items()}
            player.tell_block({a: (plays[a], sums[a]) for a in plays})
        else:
            for _ in range(3):  # whole sweeps
                while True:
                    d = player.ask()
                    player.tell(d.id, float(rng.random() < means[d.arm] + shift))
                    if not player.sweeps.rest:
                        break
    return player


def check_drift(runs, seed):
    rng = np.random.default_rng(seed)
    lost = sum(0 not in with_weekdays(rng, i % 2 == 0, 0.3).active for i in range(runs))
    assert lost <= binom.ppf(0.999, runs, 0.3)


def test_where_means_change_bounds_are_of_average_gaps_and_say_so():
    """Two seasons: gaps of .1 and of .02, and .4 less for everybody in the second one."""
    rng, wrong, runs = np.random.default_rng(9), 0, 40
    for _ in range(runs):
        player = uli.BettingElimination(0.3).start(2)
        for season in ((0.8, 0.78), (0.4, 0.3)):
            for _ in range(20):
                told = {a: (100, float(rng.binomial(100, season[a]))) for a in player.active}
                player.tell_block(told)
        c = player.certificate()
        if len(c.active) == 2:
            assert "averaged over the sweeps" in c.assumes[0]
            assert player.intervals() == {0: (0.0, 1.0), 1: (0.0, 1.0)}
            wrong += c.bound < 0.06
        wrong += 0 not in c.active
    assert wrong <= binom.ppf(0.999, runs, 0.3)


def test_a_common_weekday_effect_does_not_lose_the_best_arm():
    check_drift(60, seed=1)


@pytest.mark.slow
def test_a_common_weekday_effect_does_not_lose_the_best_arm_in_2000_runs():
    check_drift(2000, seed=2)


def test_a_best_arm_that_changes_is_lost_and_the_certificate_says_what_it_assumed():
    rng, lost = np.random.default_rng(3), 0
    for _ in range(20):
        player = uli.BettingElimination(0.05).start(2)
        for t in range(3000):
            means = (0.7, 0.4) if t < 600 else (0.4, 0.7)  # a swap
            d = player.ask()
            player.tell(d.id, float(rng.random() < means[d.arm]))
            if t == 700:
                c = player.certificate()
                lost += c.active == (0,) and c.bound == 0.0  # wrong since round 601
                assert "which never changes" in c.assumes[0]
        c = player.certificate()  # by now the outcomes of arm 0 have told on it
        assert "one arm is a best one in every sweep" in c.assumes[0]
        assert player.intervals() == {0: (0.0, 1.0), 1: (0.0, 1.0)}
    assert lost == 20


def test_the_bound_rises_only_where_outcomes_show_that_means_change():
    player, bounds = uli.BettingElimination(0.05).start(2), []
    for season in ((0.9, 0.9), (0.3, 0.2)):
        for _ in range(20):
            player.tell_block({a: (100, 100 * season[a]) for a in player.active})
            bounds.append((player.contradicted, player.certificate().bound))
    steady = [bound for changed, bound in bounds if not changed]
    assert steady == sorted(steady, reverse=True)
    assert max(bound for changed, bound in bounds if changed) > min(steady)
