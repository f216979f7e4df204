"""The remarks' rows: what they compute with, and that wrong constants turn them."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import uli_fast as uli
from tests.verify.spoiling import all_fail, bound_times, lil_times, times
from uli_fast.lower_bounds import se_stay
from uli_fast.verify import exact, remarks


def small_quota(phase, K, delta):
    return phase + 3


def test_a_phase_ends_as_often_as_enumerated(monkeypatch):
    monkeypatch.setattr(exact, "quota", lambda phase, K, delta: 5)
    means = np.array([0.6, 0.3])
    for phase in (1, 2, 3):
        fallen = np.zeros(2)
        for rewards in itertools.product((0, 1), repeat=10):
            table = np.array(rewards).reshape(2, 5)
            chance = np.where(table == 1, means[:, None], 1.0 - means[:, None]).prod()
            lead = table.sum(axis=1) - table.sum(axis=1)[::-1]
            fallen += chance * (-lead * 2**phase > 5)
        assert exact.phase_ends(phase, means, 0.1) == pytest.approx(fallen, abs=1e-14)


def phased_elimination(rewards, T):
    """Play PE-MAB with small quotas on a sequence of rewards; return the arms played."""
    active, arms, phase = [0, 1], [], 1
    while len(arms) < T:
        m, sums = small_quota(phase, 2, None), {}
        for a in active:
            got = rewards[len(arms) : len(arms) + m]
            arms += [a] * m
            sums[a] = sum(got)
        if len(arms) <= T:
            best = max(sums.values())
            active = [a for a in active if not Fraction(best - sums[a], m) > Fraction(1, 2**phase)]
        phase += 1
    return arms[:T]


@pytest.mark.parametrize("T", [3, 6, 8, 11, 15])
def test_expected_regret_is_that_of_all_paths(T, monkeypatch):
    monkeypatch.setattr(exact, "quota", small_quota)
    means, mean = (0.7, 0.4), 0.0
    for rewards in itertools.product((0, 1), repeat=T):
        arms = phased_elimination(rewards, T)
        chance = math.prod(
            means[a] if x else 1.0 - means[a] for a, x in zip(arms, rewards, strict=True)
        )
        mean += chance * (means[0] - means[1]) * arms.count(1)
    gone, regret = remarks.expected_regret(T, means, 0.1)
    assert regret == pytest.approx(mean, rel=1e-12)
    if T == 8:
        lost, _ = exact.phase_ends(1, means, 0.1)
        assert gone == pytest.approx(lost)


@pytest.mark.parametrize("gap", [0.9, 0.5, 0.21, 0.1])
def test_lil_mistakes_are_the_first_count_with_a_small_bonus(gap):
    n = 1
    while 2.0 * exact.lil_bonus(n, 0.1) >= gap:
        n += 1
    assert remarks.lil_mistakes(gap, 0.1) == n


def test_a_relapse_breaks_every_power():
    stay = se_stay(Fraction(1, 2), Fraction(1, 10), False)
    log2_t = remarks.relapse(stay)
    b = remarks.broken_power(0.5, log2_t)
    t = 2**log2_t
    for power, allowed in ((b * 1.001, False), (b * 0.999, True)):
        log_f = 6 * math.log(10) + 10 * math.log(math.log(t)) - power * math.log(t)
        assert (math.log(0.5) <= log_f) == allowed


def shorter_phases(m):
    """Let the kernels of PE-MAB play half of every quota."""
    begin = uli.PhasedElimination.begin

    def begin_shorter(self, on, *rest):
        return begin(self, replace(self, R=math.sqrt(0.125)).on(on.about), *rest)

    m.setattr(uli.PhasedElimination, "begin", begin_shorter)


SABOTAGES = {
    "PE quota halved": (shorter_phases, ("discussion_expected_reg",)),
    "delta kept where T grows": (
        lambda m: m.setattr(remarks, "remedy", lambda T: 0.99),
        ("discussion_expected_reg-remedy",),
    ),
    "regret bound a tenth": (
        times(uli.Guarantee, "regret", 0.1),
        ("discussion_expected_reg-remedy",),
    ),
    "lil'UCB's bonus x 1.01": (lil_times(1.01), ("ULI_stronger",)),
    "F_UPAC of lil'UCB from a fifth of its bonus": (
        times(exact, "lil_bonus", 0.2),
        ("ULI_stronger",),
    ),
    "F of SE x 0.1": (bound_times("SE-MAB", 0.1), ("ULI_stronger-no-rate",)),
    "the relapse comes at t^3": (
        lambda m: m.setattr(remarks, "relapse", lambda stay: round(3 * math.log2(stay.last_round))),
        ("ULI_stronger-no-rate",),
    ),
}


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_sabotage_is_noticed(name, monkeypatch):
    all_fail(*SABOTAGES[name], monkeypatch)
