"""Every step of docs/proofs_phases.md on Exp3.P's constant and the threshold 1 + 4 kappa."""

import itertools
import math

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.learners.meta_elimination import sharp_mode


def psi(y):
    return math.expm1(y) - y


def excess(gamma, K):
    """Return min over y of psi(y)/y + gamma/(K y); its derivative vanishes once."""
    low, high = 1e-12, 5.0
    for _ in range(100):
        y = (low + high) / 2.0
        # (y psi'(y) - psi(y) - gamma/K) / y^2
        low, high = (low, y) if y * math.expm1(y) - psi(y) > gamma / K else (y, high)
    return psi(high) / high + gamma / (K * high)


def rate(gamma):
    """Return x with psi(x)/x = 2 (1 - gamma)/(3 - gamma), rounded down."""
    low, high = 1e-9, 5.0
    for _ in range(100):
        x = (low + high) / 2.0
        low, high = (x, high) if psi(x) / x < 2 * (1 - gamma) / (3 - gamma) else (low, x)
    return low


def terms(left, right, K):
    """Bound [regret + 2 |dev|] / S for all gamma in [left, right]: what falls is taken at left."""
    e = excess(right, K)
    square = math.exp(2 * right / K) * ((1 + e) / 2 + 2 * right / K)
    return 2 + (1 - left) + square + (1 + e) - 2 * left + (3 - left) / rate(right)


def root(largest, K, cells=300):
    """Bound the sum of all terms for every gamma from 0 to the largest."""
    grid = [0.0, *np.geomspace(1e-7, largest, cells)]
    return max(terms(a, b, K) for a, b in itertools.pairwise(grid))


def test_the_exponential_is_below_its_parabola():
    """e^-z <= 1 - z + (z^2 / 2) e^(2 beta) for z >= -2 beta."""
    for beta in (0.0, 1e-6, 1e-3, 0.01, 0.07, 0.25):
        z = np.concatenate([np.linspace(-2 * beta, 0.0, 2001), np.linspace(0.0, 3.0, 2001)])
        assert (np.exp(-z) <= 1 - z + z**2 / 2 * math.exp(2 * beta) + 1e-15).all()
    assert math.exp(0.5) > 1 + 0.5 + 0.125 * math.exp(0.1)  # not beyond -2 beta: beta = .05


@pytest.mark.parametrize("K", [2, 3, 7])
def test_fixed_rates_bound_the_estimates(K):
    """E exp(lam Y - psi(lam b)/b^2 E Y^2) <= 1, for l_hat - l both ways and for 1/p_A - K."""
    rng = np.random.default_rng(K)
    for _ in range(300):
        gamma = 10 ** rng.uniform(-3, -0.9)
        p = (1 - gamma) * rng.dirichlet(np.full(K, 0.3)) + gamma / K
        b, x, loss = K / gamma, rng.uniform(0.1, 2.0), rng.random()
        lam = x / b
        for sign in (1.0, -1.0):
            Y = np.array([loss / p[0] - loss, -loss])
            mean = np.array([p[0], 1 - p[0]]) @ np.exp(sign * lam * Y)
            assert mean <= math.exp(psi(x) / b**2 / p[0]) * (1 + 1e-12)
        mean = p @ np.exp(lam * (1 / p - K))
        assert mean <= math.exp(psi(x) / b**2 * (1 / p).sum()) * (1 + 1e-12)
        assert K**2 - 1e-9 <= (1 / p).sum() <= K**2 / gamma * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_inequality_of_hedge_holds_on_every_path(seed):
    """Sum l(A) <= (1-gamma) sum l_tilde(k) + all terms but the random ones, with their sums."""
    rng = np.random.default_rng(seed)
    K, T, delta = int(rng.integers(2, 6)), 2000, 0.3
    L = math.log(10 * K / delta)
    gamma = math.sqrt(K * L / T)
    beta = gamma / K
    losses = rng.random((T, K)) ** rng.uniform(0.2, 5.0, K)
    lw, tilde = np.zeros(K), np.zeros(K)
    paid = over_played = over = 0.0
    for t in range(T):
        w = np.exp(lw - lw.max())
        p = (1 - gamma) * w / w.sum() + gamma / K
        a = rng.choice(K, p=p)
        step = ((np.arange(K) == a) * losses[t, a] - 2 * beta) / p
        assert (beta * step >= -2 * beta - 1e-12).all()
        lw -= beta * step
        tilde += step
        paid += losses[t, a]
        over_played += 1 / p[a]
        over += (1 / p).sum()
    square = math.exp(2 * beta) * beta / 2 * (over_played + 4 * beta**2 * over)
    right = 2 * beta * K * T + (1 - gamma) * math.log(K) / beta + square
    right += gamma / K * (over_played - 2 * beta * over)
    assert (paid <= (1 - gamma) * tilde + right).all()


def test_sixty_two_is_proved_for_the_phases_of_the_meta_algorithm():
    """gamma^2 is at most 1 / (2 multiplier c): the first phase is the shortest."""
    for K in (2, 3, 4, 6, 10, 30, 100, 10**6):
        multiplier = sharp_mode(62.0 * K, 1.0).multiplier
        assert root(1 / math.sqrt(2 * 62.0 * multiplier), K) ** 2 <= 62.0
    # More arms make every term smaller, and no multiplier is below 16.
    assert root(1 / math.sqrt(2 * 62.0 * 16.0), 100) ** 2 <= 62.0
    assert uli.Exp3P.proved_constant == 62.0


def test_seventy_five_is_proved_from_fifty_k_l_rounds_on():
    assert root(1 / math.sqrt(50.0), 2) ** 2 <= 75.0
    assert terms(*[1 / math.sqrt(50.0)] * 2, 2) == pytest.approx(8.202, abs=1e-3)
    assert terms(*[1 / math.sqrt(3750.0)] * 2, 2) == pytest.approx(7.847, abs=1e-3)


def test_two_arms_are_the_worst_case():
    for gamma in (1e-6, 1e-3, 0.018, 0.1414):
        values = [terms(gamma, gamma, K) for K in (2, 3, 5, 20, 1000)]
        assert values == sorted(values, reverse=True)


def test_a_smaller_constant_would_not_do():
    """With 58 the terms do not fit, however long the phase."""
    assert terms(1e-9, 1e-9, 2) ** 2 > 58.5


def test_failures_add_up_to_delta():
    """Two sides and K arms of l_hat, once 1 / p_A: 3/5 at most; and two times 1/5 for losses."""
    for K in (2, 3, 100):
        assert 2 * K / (10 * K) + 1 / (10 * K) <= 3 / 5
        assert 2 * K / (10 * K) == pytest.approx(1 / 5)  # of all arms, by Hoeffding
    assert math.pi**2 / 12 < 1.0  # the sum of 1 / (2 m^2)


@pytest.mark.parametrize("cD", [1.0, 2.0, 124.0, 512.0, 1e5])
def test_worst_estimates_keep_the_best_arm_and_lose_the_others(cD):
    """All sign patterns of what the event allows, in units of sqrt(g T)."""
    mode, kappa = sharp_mode(cD, 1.0), 1 / math.sqrt(2 * cD)
    reach = math.sqrt(mode.multiplier)  # T gap / sqrt(g T) at gap 2^(-m/2)
    for gap in (0.0, 0.3 * reach, reach * (1 + 1e-9)):
        # |dev_a| <= 1/2 + kappa + T gap_a / 2, and losses are within kappa of their means.
        worst_best = (0.5 + kappa) + kappa
        best_other = gap - (0.5 + kappa + gap / 2) - kappa
        assert worst_best - best_other <= mode.threshold - gap / 2 + 1e-12
        if gap > reach:
            assert best_other - worst_best > mode.threshold
    assert mode.threshold == pytest.approx(1 + 4 * kappa, rel=1e-5)
    assert 16.0 <= mode.multiplier <= 234.6


def test_the_certificate_of_a_phase_uses_the_same_deviation():
    learner = uli.MetaElimination(mode="sharp")
    phase = learner.schedule(np.zeros((2, 0)), None)(1)
    spread = 0.3 * phase.threshold
    found = learner.survivors_gap(phase, np.array([spread, 0.0]))
    assert found == pytest.approx(2 * 1.3 * phase.threshold / phase.rounds) and found < 2**-0.5
    most = learner.survivors_gap(phase, np.array([phase.threshold, 0.0]))
    assert most <= 2**-0.5
