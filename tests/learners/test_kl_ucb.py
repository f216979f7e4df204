"""KL-UCB: its index, its decisions, its blocks, and what its regret comes to."""

import math

import mpmath as mp
import numpy as np
import pytest

import uli_fast as uli
from tests.naive import kl_ucb
from tests.support.coupling import assert_equals_naive, assert_same_runs, random_problem, totals
from tests.support.odd_means import odd_problem
from tests.support.skipping import skip_at_once
from uli_fast._support.streams import stream_words
from uli_fast.errors import ArgumentError, EngineError, NoGuaranteeError
from uli_fast.kernels.arms.kl import fall, rise, shrinkage
from uli_fast.kernels.arms.state import RoundRecord
from uli_fast.kernels.kl_ucb import height_of, index_of


def exactly(p, q):
    p, q = mp.mpf(p), mp.mpf(q)
    left = p * mp.log(p / q) if p > 0 else mp.mpf(0)
    return left + ((1 - p) * mp.log((1 - p) / (1 - q)) if p < 1 else 0)


def cases(rng):
    for _ in range(400):
        n = int(10 ** rng.uniform(0, rng.choice([3, 12, 18])))
        part = rng.random() if rng.random() < 0.5 else 10 ** -rng.uniform(0, 8)
        part = 1 - part if rng.random() < 0.3 else part
        yield int(n * part) / n, math.log(10 ** rng.uniform(0.3, 18)) / n


def test_both_ends_of_a_divergence_are_exact_to_the_last_digits():
    with mp.workdps(50):
        for m, y in cases(np.random.default_rng(1)):
            slack = mp.mpf(3e-16)
            q = mp.mpf(m) + mp.mpf(rise(m, 1.0 - m, y, False))
            if m < 1 and q - slack > m:
                assert exactly(m, q - slack) <= y
            assert q + slack >= 1 or exactly(m, q + slack) >= y
            if 0 < m < 1:
                low = mp.mpf(m) - mp.mpf(fall(m, 1.0 - m, y))
                if low < m - slack:
                    assert exactly(max(low + slack, 0), m) <= y
                assert low - slack <= 0 or exactly(low - slack, m) >= y


def by_shrinkage(w, z):
    """Return kl(1 - w, 1 - w exp(-z))."""
    w = mp.mpf(w)
    return (1 - w) * mp.log((1 - w) / (1 - w * mp.exp(-z))) + w * z


def test_what_is_left_to_one_is_exact_however_little_it_is():
    rng = np.random.default_rng(2)
    with mp.workdps(60):
        for _ in range(400):
            n = 10 ** rng.uniform(0, 18)
            w = 10 ** -rng.uniform(0, 17)
            m, y = 1.0 - w, math.log(10 ** rng.uniform(0.3, 18)) / n
            z = mp.mpf(shrinkage(m, w, y, rise(m, w, y, False)))
            slack = mp.mpf(2e-15) * (1 + z)
            assert z < slack or by_shrinkage(w, z - slack) <= y
            assert by_shrinkage(w, z + slack) >= y


def test_heights_grow_with_the_mean_and_the_level():
    means = [0.0, 1e-9, 0.3, 0.99, 0.998, 0.9985, 0.999, 0.9995, 1 - 1e-6, 1 - 1e-12, 1.0]
    for n in (1.0, 30.0, 1e4, 1e9):
        levels = np.linspace(1e-3, 40.0, 300) / n
        heights = np.array([[height_of(m, 1.0 - m, y) for y in levels] for m in means])
        value, slope = heights[..., 0], heights[..., 1]
        assert (np.diff(value[:-1], axis=0) > 0).all() and (value[-1] == np.inf).all()
        rises = np.diff(value[:-1], axis=1)
        assert (rises > 0).all()
        assert (rises <= slope[:-1, :-1] * np.diff(levels) + 4e-15 * value[:-1, 1:]).all()


@pytest.mark.parametrize("mean", [0.0, 1e-9, 0.3, 1.0, 1.0 + 1e-16, -1e-17])
def test_indices_stay_in_the_range(mean):
    for n in (1.0, 10.0, 1e17):
        assert max(mean, 0.0) <= index_of(mean, n, 40.0) <= 1.0
    assert index_of(1.0, 5.0, 3.0) == 1.0
    assert index_of(0.0, 5.0, 3.0) == pytest.approx(-math.expm1(-0.6), rel=1e-15)


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
def test_rounds_equals_naive_on_the_same_draws():
    rng = np.random.default_rng(11)
    for seed in range(60):
        T = int(rng.integers(1, 500))
        problem = random_problem(rng, T, ("bernoulli", "beta", "deterministic", "table"))
        runs = uli.simulate(
            uli.KLUCB(), problem, T, seed=seed, engine="rounds", rounds=range(1, T + 1)
        )
        assert_equals_naive(runs, kl_ucb.play(totals(problem, seed), problem.n_arms, T))


def test_rounds_equals_naive_next_to_0_and_1():
    rng = np.random.default_rng(12)
    for seed in range(60):
        T = int(rng.integers(10, 400))
        problem = odd_problem(rng, T)
        runs = uli.simulate(
            uli.KLUCB(), problem, T, seed=seed, engine="rounds", rounds=range(1, T + 1)
        )
        assert_equals_naive(runs, kl_ucb.play(totals(problem, seed), problem.n_arms, T))


def test_ties_go_to_the_smallest_index():
    runs = uli.simulate(uli.KLUCB(), uli.DeterministicBandit([0.5] * 3), 3000, rounds=range(1, 99))
    assert (np.diff(runs.plays[0, 2::3], axis=0) == 1).all()  # one play each in turn
    for problem in (uli.DeterministicBandit([1.0, 1.0]), uli.BernoulliBandit([1.0, 1.0])):
        runs = uli.simulate(uli.KLUCB(), problem, 10**12, seed=0)
        assert runs.final_plays[0].tolist() == [10**12 - 1, 1]


def test_decisions_do_not_depend_on_delta_and_intervals_do():
    problem = uli.BernoulliBandit([0.6, 0.5])
    one, two = (uli.simulate(uli.KLUCB(d), problem, 10**4, seed=1) for d in (0.01, 0.9))
    assert_same_runs(one, two)
    wide, narrow = (uli.KLUCB(d).start(2) for d in (0.01, 0.9))
    for player in (wide, narrow):
        for _ in range(40):
            d = player.ask()
            player.tell(d.id, float(d.id % 3 > 0))
    for a in range(2):
        assert wide.intervals()[a][0] < narrow.intervals()[a][0] < narrow.intervals()[a][1]
        assert narrow.intervals()[a][1] < wide.intervals()[a][1]


def test_given_noise_it_is_the_index_of_gaussians():
    problem = uli.GaussianBandit([0.3, 0.0, -0.2], sigma=0.5)
    with pytest.raises(ArgumentError, match="R: must be given"):
        uli.simulate(uli.KLUCB(), problem, 10)
    runs = uli.simulate(uli.KLUCB(R=0.5), problem, 10**8, 20, seed=1)
    assert runs.engine == "skip" and 0.0 < runs.tv_bound < 1e-10
    # 2 R^2 log T / gap^2 plays, by and large
    assert 0.6 < runs.final_plays[:, 1].mean() / (0.5 * math.log(1e8) / 0.09) < 1.4


def path(engine, means, table, T):
    """Return counts at some rounds and last plays on coins that are known beforehand."""
    problem = uli.BernoulliBandit(means)
    known = problem.law(stream_words(0, 0, 1), "skip")._replace(prefix=table)
    rounds = np.unique(np.geomspace(1, T, 60).astype(np.int64))
    record = RoundRecord(
        rounds, np.zeros((1, rounds.size, len(means)), np.int64), np.zeros((1, 1), np.int64)
    )
    on = uli.KLUCB().on(problem)
    run = on.learner.begin(on, known, record, engine, T)
    while not run.advance(1 << 10):
        pass
    return record.plays.tolist(), run.states.last.tolist()


@pytest.mark.parametrize(
    "means", [[0.9, 0.8, 0.85], [0.05, 0.04, 0.03], [0.5, 0.5], [1.0, 0.5], [0.0, 0.0, 0.001]]
)
@pytest.mark.parametrize("early", [True, False], ids=["late", "at once"])
def test_lines_equal_rounds_on_known_coins(means, early, monkeypatch):
    rng, T = np.random.default_rng(3), 40_000
    if not early:
        skip_at_once(monkeypatch)
    for _ in range(8):
        table = np.zeros((len(means), T + 1), np.int32)
        np.cumsum(rng.random((len(means), T)) < np.array(means)[:, None], axis=1, out=table[:, 1:])
        assert path("skip", means, table, T) == path("rounds", means, table, T)


def test_intervals_hold_as_often_as_they_say():
    rng, missed = np.random.default_rng(5), 0
    for _ in range(300):
        player = uli.KLUCB(0.3).start(2)
        for _ in range(60):
            d = player.ask()
            player.tell(d.id, float(rng.random() < (0.5, 0.3)[d.arm]))
        found = player.intervals()
        missed += any(
            not lo <= p <= hi for p, (lo, hi) in zip((0.5, 0.3), found.values(), strict=True)
        )
    assert missed <= 10  # 2 delta / 60 = .01 each


def test_there_is_no_guarantee_and_no_block_of_beta_rewards():
    with pytest.raises(NoGuaranteeError, match="comes back"):
        uli.KLUCB().guarantee(3)
    with pytest.raises(EngineError):
        uli.simulate(uli.KLUCB(), uli.BetaBandit([1, 2], [2, 1]), 100, engine="skip")


@pytest.mark.slow
def test_mean_regrets_at_a_million_rounds():
    """Of the figures that BettingElimination is held against: 197, 60, 584, 152."""
    wanted = {
        (0.5, 0.4): (56.0, 68.0),
        (0.5, *[0.4] * 9): (545.0, 595.0),
        (0.05, 0.04, 0.03): (136.0, 158.0),
    }
    for means, (low, high) in wanted.items():
        runs = uli.simulate(uli.KLUCB(), uli.BernoulliBandit(means), 10**6, 400, seed=7)
        assert low < runs.regret[:, -1].mean() < high
    runs = uli.simulate(uli.KLUCB(), uli.datasets.load("isis2"), 10**6, 400, seed=7)
    assert 184.0 < runs.regret[:, -1].mean() < 204.0
