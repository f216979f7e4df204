"""The rows on other bonuses: what they compute with, and that wrong constants turn them."""

from decimal import Decimal, localcontext

import pytest

from tests.verify.spoiling import all_fail, bound_times, lil_times, times
from uli_fast import lower_bounds
from uli_fast.verify import bonuses

ORDINARY = [bonus for bonus in bonuses.BONUSES.values() if not bonus.r]


@pytest.mark.parametrize("bonus", ORDINARY, ids=str)
def test_the_last_mistake_is_found_by_playing(bonus):
    gap = "0.98"
    found = bonuses.last_mistake(bonus, gap)
    assert found.round <= 10**6  # not too long to play
    rounds = bonuses.play(lambda t, n: bonus.rough(n, 0.1), 0.98, found.round + 1000)
    assert len(rounds) == found.n + 1
    assert rounds[-1] == found.round


def test_a_gap_just_below_a_bonus_is_played_late():
    bonus, ends = bonuses.BONUSES[bonuses.LIL], []
    for digits in (1, 2):
        gap = bonuses.just_below(bonus, 6, digits)
        assert 0.0 < bonus.rough(6, 0.1) - float(gap) < 10.0**-digits
        found = bonuses.last_mistake(bonus, gap)
        assert found.n == 6
        rounds = bonuses.play(lambda t, n: bonus.rough(n, 0.1), float(gap), 2 * found.round)
        assert rounds[-1] == found.round
        ends.append(found.round)
    assert ends[1] > 50 * ends[0]


@pytest.mark.parametrize("bonus", bonuses.BONUSES.values(), ids=str)
def test_bonuses_fall_and_their_heights_do_not(bonus):
    counts = [*range(1, 50), 10**3, 10**6, 10**12]
    with localcontext(prec=40):
        h = [bonus.height(n, "0.1") for n in counts]
        u = [x / n for x, n in zip(h, counts, strict=True)]
    assert h == sorted(h)
    assert u == sorted(u, reverse=True)
    for n, x in zip(counts, u, strict=True):
        assert bonus.rough(n, 0.1) ** 2 == pytest.approx(float(x))


@pytest.mark.parametrize("name", bonuses.BY_ROUND)
def test_returns_are_those_of_a_run(name):
    bonus = bonuses.BY_ROUND[name]
    rounds = bonuses.play(bonus, 0.6, 5000)
    assert rounds[1:] == [bonuses.return_round(bonus, 0.6, n) for n in range(2, len(rounds) + 1)]


def test_a_bonus_that_stays_above_the_gap_is_an_error_and_no_endless_search():
    with pytest.raises(ValueError, match="not before"):
        bonuses.return_round(lambda t, n: 1.0 / n, 2.0, 3)


def falling_height(m):
    """Make h fall like 1 / sqrt(n), which no bonus in a similar form does."""
    h = bonuses.Bonus.height
    m.setattr(bonuses.Bonus, "height", lambda self, n, delta: h(self, n, delta) / Decimal(n).sqrt())


def same_gap(m):
    """Leave the gap where it is, not ever closer to U(n)."""
    below = bonuses.just_below
    m.setattr(bonuses, "just_below", lambda bonus, n, digits: below(bonus, n, 3))


SABOTAGES = {
    "lil'UCB's bonus x 1.0001": (lil_times(1.0001), ("LB_lilUCB-none",)),
    "a gap that stays away from the bonus": (same_gap, ("LB_lilUCB-none",)),
    "a height that falls": (falling_height, ("LB_lilUCB-similar",)),
    "bonuses of the plays x 1.01": (times(bonuses.Bonus, "rough", 1.01), ("LB_lilUCB-similar",)),
    "lil'UCB solved with another bonus": (
        times(lower_bounds, "_lil_bonus", Decimal("1.001")),
        ("LB_lilUCB-similar",),
    ),
    "returns a round late": (
        lambda m: m.setattr(
            bonuses,
            "return_round",
            lambda *args, solve=bonuses.return_round: solve(*args) + 1,
        ),
        ("select_arm_opt_alg-log-t",),
    ),
    "an F that allows everything for long": (
        bound_times("SE-MAB", 1e9),
        ("select_arm_opt_alg-log-t",),
    ),
}


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_sabotage_is_noticed(name, monkeypatch):
    all_fail(*SABOTAGES[name], monkeypatch)
