"""The rows on concentration: tails by fractions, and constants that cannot be smaller."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import uli_fast as uli
from tests.verify.spoiling import all_fail, times
from uli_fast.verify import concentration


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 3), Fraction(1, 50)])
@pytest.mark.parametrize("T", [7, 40, 150])
def test_tails_are_those_of_fractions(T, p):
    for reach in (0.4, 3.3, 0.21 * T):
        sides = [Fraction(0), Fraction(0)]
        for s in range(T + 1):
            chance = math.comb(T, s) * p**s * (1 - p) ** (T - s)
            if abs(s - T * p) > reach:
                sides[s > T * p] += chance
        found = concentration.beyond(T, float(p), reach)
        assert found == pytest.approx([float(x) for x in sides], rel=1e-9, abs=1e-300)


def test_differences_are_those_of_all_pairs():
    T, a, b, log = 6, 0.45, 0.55, 0.2
    opposed = independent = 0.0
    reach = math.sqrt(2.0 * T * log)
    for s, k in itertools.product(range(T + 1), repeat=2):
        first, second = (math.comb(T, x) * q**x * (1 - q) ** (T - x) for x, q in ((s, a), (k, b)))
        independent += first * second * (abs(s - k - T * (a - b)) > reach)
        if k == 0:
            opposed += first * (abs(2 * s - T - T * (a - b)) > reach)
    assert concentration.opposed_stray(T, log, 1.0) == pytest.approx(opposed, rel=1e-12)
    assert concentration.independent_stray(T, log) == pytest.approx(independent, rel=1e-12)
    assert 0.0 < independent < opposed


@pytest.mark.parametrize("gap", [0.0, 2.5])
@pytest.mark.parametrize("xiv", [0.1, math.sqrt(8.0)])
def test_the_programme_has_the_value_that_adding_up_gives(xiv, gap):
    assert concentration.most_error(xiv, gap) == pytest.approx(1 + xiv + math.sqrt(0.5) + gap)


def test_the_event_just_holds_with_the_scale_of_a_run():
    (run,) = concentration.sample(1)
    scale, T = concentration.scale_of(run, True), concentration.RUN_ROUNDS
    regret = run.played - run.losses
    slack = [
        scale - (regret + 2.0 * np.abs(run.estimates - run.losses)).max(),
        scale - math.sqrt(2) * np.abs(run.losses - T * concentration.RUN_MEANS).max(),
        scale - math.sqrt(2) * abs(run.played - run.expected),
    ]
    assert min(slack) == pytest.approx(0.0, abs=1e-9)
    assert run.over.min() >= T
    assert run.losses.max() <= T


SABOTAGES = {
    "width x 0.97": (
        times(concentration, "width", 0.97),
        ("hoeffding_reward_concentration", "concentration_X"),
    ),
    "log(10 K / delta) x 0.9": (
        times(concentration, "log_term", 0.9),
        ("hoeffding_reward_concentration",),
    ),
    "g of Exp3.P / 1000": (times(uli.Exp3P, "g", 1e-3), ("concentration_X",)),
    "width of a difference x 0.97": (
        times(concentration, "difference_width", 0.97),
        ("loss_concentration",),
    ),
    "absUB with 4.5 for 5": (
        lambda m: m.setitem(concentration.ABS_UB, "printed", 4.5),
        ("absUB",),
    ),
    "absUB with 2.4 for 2.42": (
        lambda m: m.setitem(concentration.ABS_UB, "sharp", 2.4),
        ("absUB",),
    ),
    "absBound halved": (times(concentration, "abs_bound", 0.5), ("absBound",)),
}


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_smaller_constant_turns_its_row(name, monkeypatch):
    all_fail(*SABOTAGES[name], monkeypatch)


def test_a_width_that_is_too_large_is_noticed_too(monkeypatch):
    """The rows say that constants cannot be smaller: with larger ones that would be false."""
    spoil = times(concentration, "width", 1.5)
    all_fail(spoil, ("hoeffding_reward_concentration", "concentration_X"), monkeypatch)
