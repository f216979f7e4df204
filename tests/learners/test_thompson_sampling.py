"""Thompson sampling: the law of its decisions, their probabilities, and live play."""

import json
import math

import numpy as np
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import binomtest, kstest, norm

import uli_fast as uli
from tests.naive import thompson_sampling as naive
from tests.support.signing import signed
from uli_fast.errors import NoGuaranteeError, StateError
from uli_fast.kernels.thompson_sampling import draw_coin, draw_normal
from uli_fast.players._chances import beta_chance, normal_chance


def test_expected_plays_are_those_of_all_histories():
    means, T, M = (0.7, 0.4), 8, 15_000
    runs = uli.simulate(uli.ThompsonSampling(), uli.BernoulliBandit(means), T, M, seed=1)
    plays = runs.final_plays[:, 0]
    error = plays.std() / math.sqrt(M)
    assert abs(plays.mean() - naive.expected_plays(means, T)[0]) < 4.0 * error


@pytest.mark.parametrize(
    ("n", "wins"), [((0, 0), (0, 0)), ((3, 9), (1, 6)), ((200, 12), (90, 5)), ((5000, 40), (50, 0))]
)
def test_chances_of_coins_are_exact(n, wins):
    rng, draws = np.random.default_rng(2), 20_000
    exact = naive.chance(0, n, wins)
    alpha, beta = 1.0 + np.array(wins), 1.0 + np.array(n) - np.array(wins)
    assert beta_chance(0, alpha, beta) == pytest.approx(exact, rel=1e-8, abs=1e-12)
    assert beta_chance(1, alpha, beta) == pytest.approx(1.0 - exact, rel=1e-8, abs=1e-12)
    found = sum(draw_coin(rng, np.array(n), np.array(wins)) == 0 for _ in range(draws))
    assert binomtest(found, draws, exact).pvalue > 1e-4


def test_chances_add_up_to_one():
    rng = np.random.default_rng(3)
    for _ in range(20):
        K = int(rng.integers(1, 12))
        alpha, beta = np.floor(10.0 ** rng.uniform(0, 5, (2, K)))  # as counts are
        assert sum(beta_chance(a, alpha, beta) for a in range(K)) == pytest.approx(1.0, abs=1e-9)
        mean, deviation = rng.normal(size=K), 10.0 ** rng.uniform(-4, 1, K)
        chances = [normal_chance(a, mean, deviation) for a in range(K)]
        assert sum(chances) == pytest.approx(1.0, abs=1e-9)
    exact = norm.cdf((0.3 - 0.1) / math.hypot(0.2, 1.0))
    assert normal_chance(0, np.array([0.3, 0.1]), np.array([0.2, 1.0])) == pytest.approx(exact)


def test_chances_of_posteriors_narrower_than_the_last_digit_of_their_means():
    exact = norm.cdf(1.0 / math.hypot(0.2, 1.0))
    for shift, unit in ((2.0**40, 2.0**-12), (-(2.0**90), 2.0**38), (0.0, 2.0**-900)):
        mean, deviation = shift + unit * np.array([1.0, 0.0]), unit * np.array([0.2, 1.0])
        assert normal_chance(0, mean, deviation) == pytest.approx(exact)
        assert normal_chance(1, mean, deviation) == pytest.approx(1.0 - exact)
    for thin in 10.0 ** np.arange(-40.0, -5.0):  # a step inside the posterior of arm 0
        mean, deviation = np.array([1e10, 1e10 + 2.0**-19]), np.array([1e-5, thin])
        exact = norm.cdf(2.0**-19 / math.hypot(1e-5, thin))
        assert normal_chance(1, mean, deviation) == pytest.approx(exact)
        assert normal_chance(0, mean, deviation) == pytest.approx(1.0 - exact)
    far = normal_chance(0, np.array([-1e18, 0.0]), np.array([1.0, 1e20]))
    assert far == pytest.approx(norm.cdf(-0.01))


def test_live_decisions_where_rewards_dwarf_the_noise():
    player = uli.ThompsonSampling(R=1e-6).start(2, seed=0, low=-math.inf, high=math.inf)
    for _ in range(12):
        decision = player.ask()
        assert 0.0 < decision.probability <= 1.0
        player.tell(decision.id, 1e10)


def test_draws_have_the_posteriors_law():
    """Against an arm that is always the same, one arm's draws tell their distribution."""
    rng, n, total = np.random.default_rng(4), np.array([10, 10**15]), np.array([3.0, 0.0])
    for share in (0.2, 0.35, 0.5):
        total[1] = share * n[1]
        won = sum(draw_coin(rng, n, total) == 0 for _ in range(20_000))
        assert binomtest(won, 20_000, beta_law(4, 8).sf(share)).pvalue > 1e-4
        won = sum(draw_normal(rng, n, total, 0.7) == 0 for _ in range(20_000))
        assert binomtest(won, 20_000, norm(0.3, 0.7 / math.sqrt(10)).sf(share)).pvalue > 1e-4


def test_rewards_inside_the_range_are_tossed():
    """Beta rewards of mean 1/2 leave the posterior that coins of 1/2 do."""
    pairs = (uli.BetaBandit([2.0, 1.0], [2.0, 3.0]), uli.BernoulliBandit([0.5, 0.25]))
    one, two = (
        uli.simulate(uli.ThompsonSampling(), p, 300, 1500, seed=5 + i).final_plays[:, 0]
        for i, p in enumerate(pairs)
    )
    assert kstest(one, two).pvalue > 1e-3


def test_gaussian_arms():
    problem = uli.GaussianBandit([0.3, 0.0, -0.2], sigma=0.5)
    runs = uli.simulate(uli.ThompsonSampling(R=0.5), problem, 10**5, 40, seed=1, rounds=[3, 10**5])
    assert (runs.plays[:, 0] == 1).all()  # one play each
    assert 0.3 < runs.final_plays[:, 1].mean() / (0.5 * math.log(1e5) / 0.09) < 1.5


def live(learner, steps, seed=3, **start):
    player, rng = learner.start(3, seed=seed, **start), np.random.default_rng(seed)
    decisions = []
    for i in range(steps):
        decisions.append(player.ask())
        if i % 3 == 2:  # three at a time, told in another order
            for d in reversed(decisions[-3:]):
                if rng.random() < 0.1:
                    player.tell_missing(d.id, "lost")
                else:
                    player.tell(d.id, float(rng.random() * (0.9, 0.6, 0.3)[d.arm]))
    return player, decisions


@pytest.mark.parametrize("R", [None, 0.4])
def test_the_seed_decides(R):
    learner = uli.ThompsonSampling(R=R)
    _, decisions = live(learner, 100)
    assert all(0.0 < d.probability <= 1.0 for d in decisions)
    assert live(learner, 100)[1] == decisions
    assert live(learner, 100, seed=4)[1] != decisions


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s["memory"]["wins"].__setitem__(0, s["memory"]["wins"][0] - 1),
        lambda s: s["queue"]["seen"].__setitem__(50, s["queue"]["seen"][50] - 1),
        lambda s: s["start"].__setitem__("seed", 1),
        lambda s: s["memory"]["rng"]["state"].__setitem__("state", 1),
        lambda s: s["arms"]["total"].__setitem__(0, s["arms"]["total"][0] + 0.5),
    ],
    ids=["wins", "seen", "seed", "generator", "total"],
)
def test_a_changed_state_is_found_out(spoil):
    state = json.loads(json.dumps(live(uli.ThompsonSampling(), 60)[0].state()))
    spoil(state)
    with pytest.raises(StateError, match="contradicts itself"):
        uli.restore(signed(state))


def test_a_decision_s_probability_is_the_one_it_is_drawn_with():
    counts, draws = np.zeros(2), 2000
    for seed in range(draws):
        player = uli.ThompsonSampling().start(2, seed=seed)
        first = player.ask()
        assert abs(first.probability - 0.5) < 1e-6
        player.tell(first.id, 1.0)
        second = player.ask()
        again = second.arm == first.arm  # Beta(2, 1) against Beta(1, 1): 2/3
        assert abs(second.probability - (2 / 3 if again else 1 / 3)) < 1e-6
        counts[int(again)] += 1
    assert binomtest(int(counts[1]), draws, 2 / 3).pvalue > 1e-4


def test_it_promises_nothing():
    player = uli.ThompsonSampling().start(["a", "b"], seed=0)
    player.tell(player.ask().id, 0.5)
    with pytest.raises(NoGuaranteeError, match="again for ever"):
        player.certificate()
    assert player.active == ("a", "b")
    low, high = player.intervals()[player.recommend()]
    assert 0.0 <= low < 0.5 < high <= 1.0


@pytest.mark.slow
def test_mean_regrets_at_a_million_rounds():
    runs = uli.simulate(uli.ThompsonSampling(), uli.datasets.load("isis2"), 10**6, 100, seed=7)
    assert 92.0 < runs.regret[:, -1].mean() < 120.0
