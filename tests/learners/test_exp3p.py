"""Exp3.P: lanes and rounds against the naive reference, and what its proof rests on."""

import math

import mpmath as mp
import numba
import numpy as np
import pytest
from scipy.stats import ks_2samp

import uli_fast as uli
from tests.naive import exp3p as naive
from tests.support.coupling import assert_same_runs, counts_at
from tests.support.draws import draws
from uli_fast._support import progress
from uli_fast._support.streams import stream, stream_words
from uli_fast.kernels import exp3p as kernel
from uli_fast.kernels.arms.state import RoundRecord
from uli_fast.learners._adversarial.lanes import LaneTeam
from uli_fast.learners._adversarial.phases import PlannedPhase
from uli_fast.learners._arms import empty_state
from uli_fast.simulation.outcomes import ArmOutcome


def team_of(means, seed, replications):
    words = stream_words(seed, 0, replications)
    states = empty_state(len(means), rows=(replications,))
    return LaneTeam(1.0 - np.array(means), states, words, uli.Exp3P().rates)


def play(team, rounds):
    """Play this many rounds, none of which is recorded."""
    M, K = team.states.n.shape
    counts, at = np.zeros((M, 1, K), np.int64), np.zeros((M, 1), np.int64)
    team.play(rounds, RoundRecord(np.array([10**18]), counts, at))
    assert not at.any()


def estimates_of(team):
    """Return the loss estimates of each replication's active arms, in index order."""
    return {
        int(r): estimates
        for who, _, rows in team.estimates()
        for r, estimates in zip(who, rows, strict=True)
    }


# A horizon for every polynomial by which weights grow, longest first.
HORIZONS = {
    kernel.Gentle: 500_000,
    kernel.Steady: 20_000,
    kernel.Brisk: 2_000,
    kernel.Steep: 500,
}
LONG = HORIZONS[kernel.Gentle]


@pytest.mark.parametrize("slope", HORIZONS)
@pytest.mark.parametrize("K", [2, 3, 10])
def test_every_slope_has_a_horizon(K, slope):
    eta = uli.Exp3P().rates(K, HORIZONS[slope], 0.05)[1]
    if slope is kernel.Steep and K == 10:  # which never need it
        slope, eta = kernel.Brisk, uli.Exp3P().rates(K, 1, 0.05)[1]
    assert isinstance(kernel.slope_of(eta), slope)


# At the shortest gamma is 1/2, as large as it gets.
@pytest.mark.parametrize("tuned_to", [10, 100, 500, 20_000, 10**6, 10**9])
@pytest.mark.parametrize("K", [2, 3, 10])
@pytest.mark.parametrize("replications", [1, 20])
def test_lanes_follow_the_naive_reference(K, replications, tuned_to):
    means = np.linspace(0.2, 0.8, K)
    team = team_of(means, 5, replications)
    team.begin(PlannedPhase(tuned_to, 0.05, math.inf, 1.0))
    rounds = 700
    for chunk in (1, 255, 300, rounds - 556):
        play(team, chunk)
    assert (team.states.clock[:, 0] == rounds).all()
    for r in sorted({0, replications // 2, replications - 1}):
        draw = naive.bernoulli_draw(stream(5, r), 1.0 - means)
        played, estimates, log_w = naive.phase(list(range(K)), tuned_to, 0.05, draw, rounds)
        counts = counts_at(played, K, [rounds])[0]
        assert team.states.n[r].tolist() == counts.tolist()
        for a in range(K):
            where = [t for t, arm in enumerate(played, start=1) if arm == a]
            assert team.states.last[r, a] == (where[-1] if where else 0)
        assert estimates_of(team)[r] == pytest.approx(estimates, rel=1e-9)
        block = next(b for b in team.blocks if r in b.seats.who)
        w = np.log(block.lanes.w[block.seats.who.tolist().index(r) :: block.shape.lanes])
        assert w - w[0] == pytest.approx(np.array(log_w) - log_w[0], abs=1e-10)


@pytest.mark.parametrize("T", HORIZONS.values())
@pytest.mark.parametrize("means", [[0.5, 0.45, 0.3], [0.7, 0.2], [0.5] * 10])
def test_a_lane_does_not_depend_on_its_company(means, T):
    problem = uli.BernoulliBandit(means)
    whole = uli.simulate(uli.Exp3P(), problem, T, 40, seed=3)
    for replications, n_jobs in ((1, 1), (2, 1), (3, 2), (16, 1), (17, 2), (39, 2)):
        part = uli.simulate(uli.Exp3P(), problem, T, replications, seed=3, n_jobs=n_jobs)
        assert (part.plays == whole.plays[:replications]).all()
        assert (part.last_play == whole.last_play[:replications]).all()


@pytest.mark.parametrize("tuned_to", HORIZONS.values())
def test_members_with_different_arms_share_a_block(tuned_to):
    """After an elimination lanes of one block play different arms: each has its own q, n, last."""
    means = np.array([0.9, 0.2, 0.6, 0.4])
    left = [(0, 1), (1, 2), (0, 3), (2, 3), (1, 3)] * 4 + [(0, 1, 2), (1, 2, 3)] * 3 + [(2,)]
    team = team_of(means, 6, len(left))
    team.states.active[:] = False
    for active, arms in zip(team.states.active, left, strict=True):
        active[list(arms)] = True
    team.states.n[:] = [5, 6, 7, 8]
    team.states.last[:] = [1, 2, 3, 4]
    team.states.clock[:, 0] = 26
    team.begin(PlannedPhase(tuned_to, 0.05, math.inf, 1.0))
    assert any(isinstance(block.shape, kernel.Wide) for block in team.blocks)
    play(team, 400)
    for r, arms in enumerate(left[:-1]):
        draw = naive.bernoulli_draw(stream(6, r), 1.0 - means)
        played, estimates, _ = naive.phase(list(arms), tuned_to, 0.05, draw, 400)
        counts = np.array([5, 6, 7, 8]) + counts_at(played, 4, [400])[0]
        assert team.states.n[r].tolist() == counts.tolist()
        for a in arms:
            where = [t for t, arm in enumerate(played, start=27) if arm == a]
            assert team.states.last[r, a] == (where[-1] if where else a + 1)
        assert estimates_of(team)[r] == pytest.approx(estimates, rel=1e-9)
    assert team.states.n[-1].tolist() == [5, 6, 7, 8]


@pytest.mark.parametrize("T", HORIZONS.values())
def test_a_path_does_not_depend_on_chunks_or_recorded_rounds(monkeypatch, T):
    problem = uli.BernoulliBandit([0.5, 0.45, 0.3])
    one = uli.simulate(uli.Exp3P(), problem, T, 5, seed=4)
    other = uli.simulate(uli.Exp3P(), problem, T, 5, seed=4, rounds=[7, T // 3])
    assert (one.final_plays == other.final_plays).all()
    assert (one.last_play == other.last_play).all()
    monkeypatch.setattr(ArmOutcome, "FIRST_STEPS", min(1000, T // 2))
    monkeypatch.setattr(progress, "SHORT_CHUNK", 0.0)
    assert_same_runs(one, uli.simulate(uli.Exp3P(), problem, T, 5, seed=4))


PROBLEMS = {
    "beta": uli.BetaBandit([1.0, 2.0, 1.0], [1.0, 1.0, 3.0]),
    "deterministic": uli.DeterministicBandit([0.2, 0.9]),
    "table": uli.TableBandit(
        (np.random.default_rng(0).random((3, 500)) < 0.5) * 1.0, means=[0.5, 0.5, 0.5]
    ),
    "range": uli.BetaBandit([1.0, 2.0], [1.0, 1.0], low=-2.0, high=3.0),
}


def reward_draw(problem, rng):
    """Return draw(p, arms): a uniform for the arm, then its reward from the same generator."""
    n = [0] * problem.n_arms

    def reward(a):
        n[a] += 1
        if isinstance(problem, uli.DeterministicBandit):
            return problem.unit_means[a]
        if isinstance(problem, uli.TableBandit):
            return problem._prefix[a, n[a]] - problem._prefix[a, n[a] - 1]
        return rng.beta(problem.alpha[a], problem.beta[a])

    def draw(p, arms):
        i, _ = naive.pick(p, rng.random())
        return i, 1.0 - reward(arms[i])

    return draw


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("replication", range(3))
def test_rounds_equal_naive_on_the_same_draws(name, replication):
    problem, T, delta = PROBLEMS[name], 500, 0.2
    runs = uli.simulate(uli.Exp3P(delta), problem, T, replication + 1, seed=6)
    draw = reward_draw(problem, draws(6, replication))
    played, _, _ = naive.phase(list(range(problem.n_arms)), T, delta, draw)
    expected = counts_at(played, problem.n_arms, runs.rounds)
    assert (runs.plays[replication] == expected).all()


@pytest.mark.parametrize("tuned_to", HORIZONS.values())
def test_lanes_and_the_reference_agree_in_distribution(tuned_to):
    """A reference vectorised over seeds, with its own draws; both tuned to one horizon."""
    K, T, delta, seeds = 3, min(tuned_to, 20_000), 0.1, 400
    means = np.array([0.6, 0.5, 0.45])
    gamma = math.sqrt(K * math.log(10 * K / delta) / tuned_to)
    eta = beta = gamma / K
    rng = np.random.default_rng(8)
    log_w, n = np.zeros((seeds, K)), np.zeros((seeds, K))
    estimates = np.zeros((seeds, K))
    row = np.arange(seeds)
    for _ in range(T):
        w = np.exp(log_w - log_w.max(axis=1, keepdims=True))
        p = (1 - gamma) * w / w.sum(axis=1, keepdims=True) + gamma / K
        arm = np.minimum((rng.random((seeds, 1)) >= p.cumsum(axis=1)).sum(axis=1), K - 1)
        loss = rng.random(seeds) >= means[arm]
        l_hat = np.zeros((seeds, K))
        l_hat[row, arm] = loss / p[row, arm]
        estimates += l_hat
        log_w -= eta * (l_hat - 2 * beta / p)
        n[row, arm] += 1
    team = team_of(means, 9, seeds)
    team.begin(PlannedPhase(tuned_to, delta, math.inf, 1.0))
    assert isinstance(team.blocks[0].shape, kernel.Wide)
    play(team, T)
    found = estimates_of(team)
    for a in range(K):
        assert ks_2samp(team.states.n[:, a], n[:, a]).pvalue > 1e-3
        ours = [found[r][a] for r in range(seeds)]
        assert ks_2samp(ours, estimates[:, a]).pvalue > 1e-3


@pytest.mark.parametrize("T", HORIZONS.values())
def test_lanes_and_rounds_agree_in_distribution_over_whole_runs(T):
    means, seeds = [0.6, 0.5, 0.55, 0.4], 200
    slope = kernel.slope_of(uli.Exp3P().rates(4, T, 0.05)[1])
    T = min(T, 220_000)  # long enough for the gentlest
    assert kernel.slope_of(uli.Exp3P().rates(4, T, 0.05)[1]) == slope
    lanes = uli.simulate(uli.Exp3P(), uli.BernoulliBandit(means), T, seeds, seed=10)
    solo = uli.Exp3P()
    counts = []
    problem = uli.BernoulliBandit(means)
    for r in range(seeds):
        state = empty_state(4, np.int64)
        phase = solo.start_phase(np.zeros((4, 0)), T, 0.05)
        law = problem.law(stream(11, r), "rounds")
        phase.play(law, np.arange(4), state, 1.0, 1.0, T)
        counts.append(state.n)
    for a in range(4):
        assert ks_2samp(lanes.final_plays[:, a], np.array(counts)[:, a]).pvalue > 1e-3


def stepped(rounds, K=4, T=5000, seed=1):
    """Yield the phase after each draw, with the arm drawn and its loss."""
    rng = np.random.default_rng(seed)
    phase = uli.Exp3P(0.1).start_phase(np.zeros((K, 0)), T, 0.1)
    for _ in range(rounds):
        arm, probability = phase.choose(rng)
        yield phase, arm, probability, float(rng.random())


def test_invariants_of_the_proof():
    K = 4
    for phase, arm, probability, loss in stepped(2000):
        state, p = phase.state, phase.p.copy()
        beta = state.eta
        assert probability == p[arm]
        assert p.sum() == pytest.approx(1.0)
        assert (p >= state.gamma / K).all()
        before = state.lw.copy()
        phase.update(arm, loss)
        l_tilde = -(state.lw - before) / state.eta
        assert (state.eta * l_tilde >= -2 * beta - 1e-12).all()
        assert p @ l_tilde == pytest.approx(loss - 2 * beta * K, abs=1e-9)


def test_estimates_are_unbiased_by_enumeration():
    losses = np.array([0.1, 0.9, 0.4, 0.0])
    for phase, _, _, _ in stepped(50):
        p, L, lw = phase.p.copy(), phase.state.L.copy(), phase.state.lw.copy()
        mean = np.zeros(4)
        for a in range(4):
            phase.state.L[:], phase.state.lw[:] = 0.0, lw
            phase.update(a, losses[a])
            mean += p[a] * phase.state.L
        assert mean == pytest.approx(losses, abs=1e-12)
        phase.state.L[:], phase.state.lw[:] = L, lw
        phase.update(0, losses[0])


def condition_ratio(n, estimates, losses, T, delta):
    """Return max_a [regret_a + 2 |dev_a|] / sqrt(K T log(10 K / delta)), by expected losses."""
    K = len(losses)
    regret = n @ losses - T * losses
    deviation = np.abs(estimates - T * losses)
    return (regret + 2 * deviation).max() / math.sqrt(K * T * math.log(10 * K / delta))


@pytest.mark.parametrize("gaps", [(0.0, 0.0), (0.0, 0.1, 0.1, 0.4), (0.0,) * 4, (0.0, 0.02, 0.9)])
def test_the_condition_holds_with_room_on_long_runs(gaps):
    """Lanes at T = 10^6; c = 62 is proved, so the ratio must stay below sqrt(62)."""
    losses, T, delta = 0.05 + np.array(gaps), 10**6, 0.05
    team = team_of(1.0 - losses, 12, 16)
    team.begin(PlannedPhase(T, delta, math.inf, 1.0))
    play(team, T)
    for r, estimates in estimates_of(team).items():
        ratio = condition_ratio(team.states.n[r], estimates, losses, T, delta)
        assert ratio <= math.sqrt(62)
        assert ratio < 4.0  # observed: at most 2.2


def test_the_condition_can_fail():
    """A learner that does not learn breaks it: the check is not vacuous."""
    losses, T, delta = np.array([0.1, 0.9]), 10**6, 0.05
    team = team_of(1.0 - losses, 13, 16)
    team.parameters = lambda k, rounds, delta: (0.5, 1e-12)
    team.begin(PlannedPhase(T, delta, math.inf, 1.0))
    play(team, T)
    ratios = [
        condition_ratio(team.states.n[r], estimates, losses, T, delta)
        for r, estimates in estimates_of(team).items()
    ]
    assert max(ratios) > math.sqrt(176)


@pytest.mark.parametrize("slope", HORIZONS)
def test_a_polynomial_is_cut_off_below_the_last_bit(slope):
    """In exact arithmetic it errs most at the end of its range, by less than 2^-54."""
    with mp.workprec(200):
        y = mp.mpf(slope().largest)
        assert abs(kernel.POLYNOMIALS[slope](None, mp.mpf(1), y) / mp.exp(y) - 1) <= 2.0**-54


@pytest.mark.parametrize("slope", HORIZONS)
def test_growth_is_as_good_as_exp_where_it_is_used(slope):
    grow = numba.njit(lambda y: kernel.grown(slope(), 1.0, y))
    with mp.workprec(100):
        for y in np.linspace(0.0, slope().largest, 1001):
            assert abs(grow(y) / mp.exp(y) - 1) <= 2.0**-52


def test_decay_is_as_good_as_exp_where_it_is_used():
    """Exponents eta / p from 1, where p = gamma / K, down to eta."""
    eta, wide = 0.01, kernel.Wide()
    decay = numba.njit(lambda b: kernel.decay(b, eta, wide))
    with mp.workprec(100):
        for p in np.geomspace(eta, 1.0, 64 * wide.lanes).reshape(64, wide.lanes):
            b = np.zeros((kernel.ROWS, wide.lanes))
            b[kernel.P] = p
            decay(b.ravel())
            for x, e in zip(eta * (1.0 / p), b[kernel.EXP], strict=True):
                assert abs(e / mp.exp(-x) - 1) <= 4 * 2.0**-52


def test_bonuses_stay_within_the_range_of_their_polynomial():
    """Two arms and gamma = 1/2 have the largest exponents, 2 eta = 1/2."""
    for K in range(2, 60):
        for T in np.geomspace(1, 10**9, 91):
            eta = uli.Exp3P().rates(K, int(T), 0.05)[1]
            assert 2.0 * eta <= kernel.slope_of(eta).largest


def test_it_needs_a_horizon_long_enough():
    K, delta = 5, 0.05
    least = 4 * K * math.log(10 * K / delta)
    problem = uli.BernoulliBandit(np.linspace(0.1, 0.9, K))
    uli.simulate(uli.Exp3P(delta), problem, math.ceil(least), seed=0)
    for refused in (math.floor(least), 1):
        with pytest.raises(uli.errors.ArgumentError, match="horizon"):
            uli.simulate(uli.Exp3P(delta), problem, refused, seed=0)
        with pytest.raises(uli.errors.ArgumentError, match="horizon"):
            uli.Exp3P(delta).start(K, horizon=refused)
    with pytest.raises(uli.errors.ArgumentError, match="horizon"):
        uli.Exp3P(delta).start(K)


def test_it_has_no_guarantee_alone_and_does_not_warn():
    with pytest.raises(uli.errors.NoGuaranteeError, match="explores"):
        uli.Exp3P().guarantee(3)
    runs = uli.simulate(uli.Exp3P(), uli.BernoulliBandit([0.4, 0.6]), 1000, seed=0)
    assert np.isnan(runs.worst_ratio).all()
    assert runs.phases is None


def test_a_single_arm_costs_nothing():
    runs = uli.simulate(uli.Exp3P(), uli.BernoulliBandit([0.4]), 10**18, 3, seed=0)
    assert (runs.final_plays == 10**18).all()


def test_gaussian_rewards_are_played_unclipped():
    problem = uli.GaussianBandit([0.2, 0.6], sigma=2.0)
    runs = uli.simulate(uli.Exp3P(), problem, 5000, 2, seed=1)
    assert runs.final_plays.sum(axis=1).tolist() == [5000, 5000]
