"""BettingElimination: equal to the page, skipping equal to rounds, within delta, and what it costs.

The proof is put to the test in tests/theory/test_betting.py.
"""

import numpy as np
import pytest
from scipy import stats

import uli_fast as uli
from tests.naive import betting_elimination as naive
from tests.support.coupling import (
    assert_equals_naive,
    assert_same_runs,
    random_problem,
    random_table,
    totals,
)
from uli_fast.errors import ArgumentError, GuaranteeWarning, NoGuaranteeError
from uli_fast.formulas.betting_elimination import next_look
from uli_fast.formulas.mixture import boundary, log_mix, outer_boundary
from uli_fast.guarantees import betting_looks
from uli_fast.learners import _betting

ISIS2 = uli.datasets.load("isis2")


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
def test_rounds_equals_the_page_on_the_same_draws():
    rng, fallen = np.random.default_rng(21), 0
    for seed in range(500):
        T = int(rng.integers(1, 500))
        problem = random_problem(rng, T)
        # Thirds, and equal means without noise, would have ties that only rounding breaks.
        delta, leader = float(rng.uniform(0.01, 0.9)), int(rng.choice([1, 2, 4]))
        R = float(rng.choice([0.5, 0.5, 0.2, 1.0]))
        if type(problem).__name__ == "DeterministicBandit":
            problem = uli.DeterministicBandit(np.unique(problem.means))
        learner = uli.BettingElimination(delta, leader, R)
        runs = uli.simulate(learner, problem, T, seed=seed, engine="rounds", rounds=range(1, T + 1))
        sums, K = totals(problem, seed), problem.n_arms

        def reward(a, i, sums=sums):
            return sums(a, i + 1) - sums(a, i)

        first = problem.low is not None
        if K > 1:
            assert_equals_naive(runs, naive.play(reward, K, T, delta, leader, R, first))
        fallen += int((runs.eliminated_at > 0).sum())
    assert fallen > 300


@pytest.mark.parametrize("engine", ["skip", "rounds"])
def test_products_decide_as_logarithms_do(monkeypatch, engine):
    # A margin of .01 leaves some replications to the logarithms, an infinite one leaves all.
    rng, again, fallen, missed, some = np.random.default_rng(30), [], 0, 0, 0
    start = _betting.CoinRuns._from_the_start
    monkeypatch.setattr(
        _betting.CoinRuns, "_from_the_start", lambda runs, m: again.append(m) or start(runs, m)
    )
    for seed in range(60):
        K, T = int(rng.integers(1, 12)), int(10 ** rng.uniform(1, 4.5))
        means = rng.uniform(0, 1, K) if seed % 3 else rng.uniform(0.4, 1) ** rng.uniform(0, 1, K)
        problem = uli.BernoulliBandit(means.round(1) if seed % 5 == 0 else means)
        learner = uli.BettingElimination(float(rng.uniform(0.01, 0.9)), int(rng.integers(1, 6)))
        found, times = [], []
        for margin in (_betting.MARGIN, 0.01, np.inf):
            again.clear()
            with monkeypatch.context() as patch:
                patch.setattr(_betting, "MARGIN", margin)
                found.append(uli.simulate(learner, problem, T, 8, seed=seed, engine=engine))
            times.append(len(again))
        assert_same_runs(found[0], found[1])
        assert_same_runs(found[0], found[2])
        assert (found[0].event_held == found[2].event_held).all()
        assert times[0] == 0
        assert times[2] == (8 if K > 1 and T >= K else 0)
        fallen += int((found[0].eliminated_at > 0).sum())
        missed += int((~found[0].event_held).sum())
        some += 0 < times[1] < 8
    assert fallen > 500
    assert missed > 5
    assert some > 10


@pytest.mark.parametrize("T", [10**10, 10**13, 10**16, 10**18])
def test_products_decide_as_logarithms_do_at_long_horizons(monkeypatch, T):
    learner, problem = uli.BettingElimination(0.3), uli.BernoulliBandit([0.5, 0.5, 0.4999, 0.01])
    one = uli.simulate(learner, problem, T, 5, seed=2)
    monkeypatch.setattr(_betting, "MARGIN", np.inf)
    assert_same_runs(one, uli.simulate(learner, problem, T, 5, seed=2))


def test_skipping_equals_rounds_on_a_thousand_reward_tables():
    rng, fallen = np.random.default_rng(12), 0
    for seed in range(1000):
        T = int(rng.integers(500, 6000))
        problem = random_table(rng, int(rng.integers(2, 6)), T)
        learner = uli.BettingElimination(float(rng.uniform(0.01, 0.9)), int(rng.integers(1, 5)))
        one = uli.simulate(learner, problem, T, seed=seed, engine="rounds")
        two = uli.simulate(learner, problem, T, seed=seed, engine="skip")
        assert_same_runs(one, two)
        fallen += int((one.eliminated_at > 0).sum())
    assert fallen > 1000


def test_skipping_equals_rounds_without_noise():
    rng = np.random.default_rng(14)
    for seed in range(100):
        problem = uli.DeterministicBandit(rng.uniform(0, 1, int(rng.integers(1, 6))).round(2))
        T, learner = int(rng.integers(1, 60_000)), uli.BettingElimination(0.1, 1 + seed % 3)
        one = uli.simulate(learner, problem, T, seed=seed, engine="rounds")
        two = uli.simulate(learner, problem, T, seed=seed, engine="skip")
        assert_same_runs(one, two)


@pytest.mark.parametrize(
    "problem",
    [uli.BernoulliBandit([0.5, 0.4, 0.35]), uli.GaussianBandit([0.2, 0.0, -0.1], sigma=0.5)],
    ids=["bernoulli", "gaussian"],
)
def test_skipping_has_the_law_of_rounds(problem):
    learner = uli.BettingElimination(0.2, R=0.5)
    one = uli.simulate(learner, problem, 20_000, 1500, seed=1, engine="rounds")
    two = uli.simulate(learner, problem, 20_000, 1500, seed=2, engine="skip")
    for a in (1, 2):
        found = stats.ks_2samp(one.eliminated_at[:, a], two.eliminated_at[:, a])
        assert found.pvalue > 1e-4
    assert two.tv_bound == 0.0
    for name in ("holds", "event_held"):
        n = [int((~getattr(runs, name)).sum()) for runs in (one, two)]
        assert stats.fisher_exact([n, [1500 - k for k in n]]).pvalue > 1e-4


def test_sums_of_rewards_between_zero_and_one_are_not_enough():
    # The wealth of fractions is that of their plays: it is larger than what their sums show.
    problem = uli.BetaBandit([20.0, 18.0], [20.0, 22.0])
    tosses = uli.BernoulliBandit(problem.means)
    learner = uli.BettingElimination(0.1)
    narrow = uli.simulate(learner, problem, 3000, 60, seed=1)
    wide = uli.simulate(learner, tosses, 3000, 60, seed=1)
    assert np.median(narrow.final_plays[:, 1]) < 0.5 * np.median(wide.final_plays[:, 1])


def test_a_sweep_plays_the_leader_more_often():
    runs = uli.simulate(
        uli.BettingElimination(0.05, leader=3),
        uli.DeterministicBandit([0.3, 0.6, 0.5]),
        23,
        seed=0,
        engine="rounds",
        rounds=range(1, 24),
    )
    arms = np.diff(runs.plays[0], axis=0, prepend=np.zeros((1, 3), int)).argmax(axis=1)
    assert arms.tolist() == [0, 1, 2] + [0, 1, 1, 1, 2] * 4


def test_an_eliminated_arm_is_never_played_again():
    for engine in ("rounds", "skip"):
        runs = uli.simulate(uli.BettingElimination(0.1), ISIS2, 10**5, 50, 3, engine=engine)
        gone = runs.eliminated_at > 0
        assert gone.any(axis=0)[:3].all()
        assert (runs.last_play[gone] <= runs.eliminated_at[gone]).all()


CELLS = {
    "near-tie": (uli.BernoulliBandit([0.5, 0.495]), 10**8, None),
    "rare events": (uli.BernoulliBandit([0.002, 0.0015, 0.001]), 10**9, None),
    "rates near 1": (uli.BernoulliBandit([0.99, 0.98, 0.97, 0.96]), 10**8, None),
    "ten arms": (uli.BernoulliBandit([0.5] + [0.48] * 9), 10**8, None),
    "beta": (uli.BetaBandit([2.0, 1.9], [2.0, 2.1]), 20_000, None),
    "gaussian": (uli.GaussianBandit([0.0, -0.001]), 10**10, 1.0),
}


def failures(cell, replications, delta=0.3):
    """Return how many runs break F or lose the best arm; no run may do so on its event."""
    problem, T, R = CELLS[cell]
    runs = uli.simulate(uli.BettingElimination(delta, R=R), problem, T, replications, seed=5)
    lost = runs.eliminated_at[:, 0] > 0
    assert (runs.holds & ~lost)[runs.event_held].all()
    return int((~runs.holds | lost).sum()), int((~runs.event_held).sum())


@pytest.mark.parametrize("cell", CELLS)
def test_failures_stay_within_delta(cell):
    M = 100 if cell in ("beta", "ten arms") else 400
    failed, missed = failures(cell, M)
    assert failed <= missed <= stats.binom.ppf(0.999, M, 0.9 * 0.3)
    # Some cells come close to what is allowed: there the test bites.
    least = {"near-tie": 0.05, "gaussian": 0.12}.get(cell, 0.0)
    assert failed >= least * M


@pytest.mark.slow
def test_failures_of_five_thousand_runs_stay_within_delta():
    rates = {cell: failures(cell, 5000)[0] / 5000 for cell in CELLS}
    assert max(rates.values()) <= stats.binom.ppf(0.999, 5000, 0.3) / 5000
    assert max(rates.values()) > 0.02


# Median regret and last bad round over 400 runs to 10^12 (sharp/arms.md has 186, 31, 461, 125).
PRICES = {
    "isis2": (ISIS2, 195, 1.4e4),
    "half": (uli.BernoulliBandit([0.5, 0.4]), 34, 1e3),
    "ten": (uli.BernoulliBandit([0.5] + [0.4] * 9), 480, 7e3),
    "low": (uli.BernoulliBandit([0.05, 0.04, 0.03]), 135, 3e4),
}


@pytest.mark.parametrize("name", PRICES)
def test_the_price_of_the_guarantee(name):
    problem, regret, last = PRICES[name]
    runs = uli.simulate(uli.BettingElimination(), problem, 10**12, 400, seed=1)
    assert np.median(runs.regret[:, -1]) <= regret
    assert np.median(runs.last_mistake()) <= last
    assert (runs.eliminated_at[:, problem.means.argmax()] > 0).mean() <= 0.05


@pytest.mark.parametrize(
    ("delta", "leader", "golden"),
    [
        (0.05 / 0.9, 1, (4018, 9968, 29720, 399100)),
        (0.05, 2, (4410, 12705, 33341, 411070)),
    ],
)
def test_golden_rounds_until_a_tenth(delta, leader, golden):
    learner = uli.BettingElimination(delta, leader)
    found = tuple(learner.guarantee(K).rounds_until(0.1) for K in (2, 4, 10, 100))
    assert found == golden


def test_f_is_the_page_s_table_of_looks():
    rng = np.random.default_rng(3)
    for _ in range(200):
        K, leader = int(rng.integers(2, 20)), int(rng.integers(1, 4))
        delta, R = float(rng.uniform(0.01, 0.9)), float(rng.choice([0.5, 1.0, 0.1]))
        g = uli.BettingElimination(delta, leader, R).guarantee(K)
        t = int(10 ** rng.uniform(0, 9))
        assert g.bound(t) == pytest.approx(naive.bound(t, K, delta, leader, R), rel=1e-9)


def test_f_of_unbounded_rewards():
    g = uli.BettingElimination(0.1, 2, R=2.0).guarantee(uli.GaussianBandit([0.0, -0.5, -9.0], 2.0))
    assert g.bound(1) == 9.0
    for t in (10**3, 10**6):
        assert g.bound(t) == pytest.approx(naive.bound(t, 3, 0.1, 2, 2.0, False, largest=9.0))


def test_f_falls_at_every_horizon():
    g = uli.BettingElimination(0.05).guarantee(4)
    t = np.unique(np.geomspace(1, 1e60, 4000).round())
    assert (np.diff(g.bound(t)) <= 0.0).all()
    assert 0.0 < g.bound(1e60) < 1e-28
    # at a look's first round and just before it, also where floats are coarse
    starts, _, heights = betting_looks.table(0.05, g.parameters, 10**19)
    for start, before, after in zip(starts[1:], heights, heights[1:], strict=False):
        assert g.bound(start - 1) == before or start > 2**53
        assert g.bound(start) >= after


def test_boundary_solves_the_mixture_and_errs_upwards():
    for v in np.geomspace(1e-3, 1e17, 60).tolist():
        for level in (0.01, 1.0, 5.0, 40.0, 700.0):
            D = boundary(v, level, 25.0)
            assert log_mix(D, v, 25.0) == pytest.approx(level, rel=1e-9, abs=1e-9)
            assert log_mix(outer_boundary(v, level, 25.0), v, 25.0) >= level
    for n in (0, 1, 49, 50, 99, 100, 12345, 10**17):
        assert next_look(n) == max(n + 1, n * 102 // 100)


def test_regret_adds_up_the_steps():
    g = uli.BettingElimination(0.1).guarantee(3)
    t = np.arange(1.0, 30_001.0)
    assert g.regret(30_000) == pytest.approx(float(np.minimum(1.0, g.bound(t)).sum()))
    gaps = [0.0, 0.1, 0.3]
    last = [int((g.bound(t) >= gap).sum()) for gap in (0.3, 0.1)]
    assert g.regret(30_000, gaps) == pytest.approx(0.3 * last[0] + 0.1 * (last[1] - last[0]))
    assert g.regret(10**12, gaps) <= g.regret(10**12)


def test_a_wider_range_is_the_same_problem():
    wide = uli.BernoulliBandit([-5.0, 3.0, 4.0], low=-10.0, high=10.0)
    unit = uli.BernoulliBandit([0.25, 0.65, 0.7])
    one = uli.simulate(uli.BettingElimination(0.1), wide, 10**5, 5, seed=1)
    two = uli.simulate(uli.BettingElimination(0.1, R=0.5), unit, 10**5, 5, seed=1)
    assert (one.final_plays == two.final_plays).all()
    assert uli.BettingElimination(0.1).guarantee(wide).bound(10**4) == pytest.approx(
        20.0 * uli.BettingElimination(0.1).guarantee(unit).bound(10**4)
    )
    far = uli.GaussianBandit([0.0, -30.0, -40.0], sigma=100.0)
    near = uli.GaussianBandit([0.0, -0.3, -0.4], sigma=1.0)
    one = uli.simulate(uli.BettingElimination(0.1, R=100.0), far, 10**5, 5, seed=1)
    two = uli.simulate(uli.BettingElimination(0.1, R=1.0), near, 10**5, 5, seed=1)
    assert (one.final_plays == two.final_plays).all()


def test_no_more_is_promised_than_is_proved():
    with pytest.raises(NoGuaranteeError, match="R"):
        uli.BettingElimination(R=0.2).guarantee(uli.BernoulliBandit([0.5, 0.4]))
    with pytest.raises(ArgumentError, match="R"):
        uli.simulate(uli.BettingElimination(), uli.GaussianBandit([0.5, 0.4]), 10)
    with pytest.warns(GuaranteeWarning):
        uli.simulate(uli.BettingElimination(R=0.2), uli.GaussianBandit([0.5, 0.4]), 10, seed=1)


def test_there_is_no_form_of_the_paper_s():
    learner = uli.BettingElimination()
    assert learner.guarantee(4, form="schedule") == learner.guarantee(4)
    with pytest.raises(ArgumentError, match="form"):
        learner.guarantee(4, form="paper")


@pytest.mark.parametrize("leader", [0, -1, 1.5, "2", True, None, 10**10, 10**25])
def test_the_leader_s_plays_are_a_whole_number(leader):
    with pytest.raises(ArgumentError, match="leader"):
        uli.BettingElimination(leader=leader)


def test_one_arm_and_equal_arms():
    runs = uli.simulate(uli.BettingElimination(), uli.BernoulliBandit([0.3]), 10**12, seed=1)
    assert runs.final_plays[0, 0] == 10**12
    runs = uli.simulate(uli.BettingElimination(), uli.BernoulliBandit([0.5] * 10), 10**18, seed=1)
    assert runs.final_plays.sum() == 10**18
    assert (runs.plays.sum(axis=2) == runs.rounds).all()
