"""The meta-algorithm: against the naive reference, its schedule, its guarantee, its bases."""

import math

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import exp3p, geometric_hedge, meta_elimination
from tests.support.coupling import assert_equals_naive, assert_same_runs
from tests.support.draws import draws
from uli_fast._support.streams import stream
from uli_fast.geometry import designs
from uli_fast.learners.geometric_hedge import RHO

MODES = {"paper": (576.0, 7.0), "sharp": None}


def constants(mode, cD, least=0.0):
    """Return multiplier and threshold; kappa is rounded up a little, and at most 1/sqrt(2)."""
    if MODES[mode] is not None:
        return MODES[mode]
    kappa = (1 + 1e-6) * math.sqrt(0.5 * min(1.0, 1 / cD))
    return max(4 * (2 + 8 * kappa) ** 2, least / (2 * cD)), 1 + 4 * kappa


SMALL = "ignore::uli_fast.errors.GuaranteeWarning"


@pytest.mark.filterwarnings(SMALL)
@pytest.mark.parametrize("instance", range(40))
def test_exp3p_in_lanes_equals_naive_on_the_same_draws(instance):
    rng = np.random.default_rng(instance)
    K = int(rng.integers(2, 6))
    means = rng.uniform(0.0, 1.0, K).round(2)
    delta, constant = 0.2, 10 ** rng.uniform(-3.6, -2.6)
    mode = ("paper", "sharp")[instance % 2]
    # Every loss of a rare arm up to doubles a rounding difference: short runs only.
    T, replications = 1000, 1 + instance % 5
    learner = uli.MetaElimination(uli.Exp3P(constant=constant), delta, mode=mode)
    runs = uli.simulate(learner, uli.BernoulliBandit(means), T, replications, seed=instance)
    for r in {0, replications - 1}:
        draw = exp3p.bernoulli_draw(stream(instance, r), 1.0 - means)

        def phase(arms, T_m, delta_m, rounds, draw=draw):
            return exp3p.phase(arms, T_m, delta_m, draw, rounds)

        expected = meta_elimination.play(
            phase, lambda x: exp3p.g(K, x, constant), K, T, delta, *constants(mode, constant * K)
        )
        assert_equals_naive(runs, expected, r)


@pytest.mark.filterwarnings(SMALL)
@pytest.mark.parametrize("instance", range(12))
def test_geometric_hedge_equals_naive_on_the_same_draws(instance):
    made = np.random.default_rng(100 + instance)
    K, d = int(made.integers(2, 7)), int(made.integers(1, 4))
    arms = made.standard_normal((K, d))
    arms /= np.linalg.norm(arms, axis=1).max()
    theta = made.standard_normal(d)
    theta /= np.linalg.norm(theta)
    delta, constant, T = 0.2, 10 ** made.uniform(-3, -2), 3000
    mode = ("paper", "sharp")[instance % 2]
    learner = uli.MetaElimination(uli.GeometricHedge(constant=constant), delta, mode=mode)
    problem = uli.LinearBandit(theta, arms, noise="bernoulli")
    runs = uli.simulate(learner, problem, T, seed=instance)
    rng, inner = draws(instance), arms @ theta

    def draw(p, left):
        i, _ = exp3p.pick(p, rng.random())
        return i, 0.5 - (rng.random() < (1 + inner[left[i]]) / 2)

    def phase(left, T_m, delta_m, rounds):
        nu = designs.d_optimal(arms[left], RHO).weights
        x = designs.span_coordinates(arms[left])
        return geometric_hedge.phase(x, nu, left, T_m, delta_m, draw, rounds)

    rank = np.linalg.matrix_rank(arms)
    used = constants(mode, constant * rank)
    expected = meta_elimination.play(
        phase, lambda x: geometric_hedge.g(K, rank, x, constant), K, T, delta, *used
    )
    assert_equals_naive(runs, expected)


def test_phases_last_as_long_as_the_paper_says():
    K, delta = 4, 0.05
    problem = uli.BernoulliBandit([0.95, 0.05, 0.35, 0.9])
    for mode in MODES:
        phase = uli.MetaElimination(delta=delta, mode=mode).schedule(np.zeros((K, 0)), None)
        c = 62 if mode == "sharp" else 361
        multiplier, threshold = constants(mode, c * K)
        for m in (1, 2, 7, 30):
            g = c * K * math.log(10 * K / (delta / (2 * m * m)))
            assert phase(m).rounds == pytest.approx(multiplier * g * 2**m, rel=1e-12, abs=1.0)
            assert phase(m).delta == delta / (2 * m * m)
            assert phase(m).threshold == pytest.approx(threshold * math.sqrt(g * phase(m).rounds))
    # The first phase lasts 415 872 K log(20 K / delta) rounds.
    first = uli.MetaElimination(delta=delta).schedule(np.zeros((K, 0)), None)(1).rounds
    assert first == math.ceil(415_872 * K * math.log(20 * K / delta))
    assert uli.MetaElimination().phase_lengths(problem.n_arms, first + 1)[0] == first


# Proved constants, on gaps where something happens: .9 and .6 must be gone by the ends
# of phases 1 and 2, .05 keeps phase 3 alive.
GAPS = np.array([0.0, 0.9, 0.6, 0.05])


def assert_eliminates_in_time(runs, learner, arms):
    lengths = learner.phase_lengths(arms, runs.horizon)
    ends = np.cumsum(lengths)
    assert runs.horizon == ends[2]
    for a, gap in enumerate(GAPS):
        at = runs.eliminated_at[:, a]
        if gap == 0.0:
            assert (at == 0).all(), "the best arm is never lost"
        elif gap < 0.1:
            assert ((at == 0) | (at == ends[2])).all(), "a small gap survives two phases"
        else:
            m_a = math.floor(math.log2(1 / gap**2)) + 1
            assert ((at > 0) & (at <= ends[m_a - 1])).all(), gap
            assert (runs.last_play[:, a] <= at).all()
    assert runs.holds.all()
    assert set(runs.eliminated_at.ravel().tolist()) <= {0, *ends.tolist()}


def whole_runs(learner, replications, seed):
    lengths = learner.phase_lengths(4, 1)
    while len(lengths) < 3:
        lengths = learner.phase_lengths(4, sum(lengths) + 1)
    problem = uli.BernoulliBandit(0.95 - GAPS)
    # One thread: sixteen runs share the lanes of a block, and cost no more than one.
    return uli.simulate(learner, problem, sum(lengths[:3]), replications, seed=seed)


def test_whole_runs_with_the_papers_constants():
    learner = uli.MetaElimination(uli.Exp3P(), 0.05)
    assert_eliminates_in_time(whole_runs(learner, 16, 20), learner, 4)


def test_whole_runs_with_the_sharp_constants():
    for constant in (None, 75):
        learner = uli.MetaElimination(uli.Exp3P(constant=constant), 0.05, mode="sharp")
        runs = whole_runs(learner, 64, 21)
        assert_eliminates_in_time(runs, learner, 4)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_three_hundred_whole_runs(mode):
    learner = uli.MetaElimination(uli.Exp3P(), 0.05, mode=mode)
    assert_eliminates_in_time(whole_runs(learner, 300, 22), learner, 4)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_whole_runs_of_geometric_hedge(mode):
    learner = uli.MetaElimination(uli.GeometricHedge(), 0.05, mode=mode)
    arms = np.array([[0.95, 0.0], [0.05, 0.0], [0.35, 0.0], [0.9, 0.0], [0.0, 0.3]])[:4]
    arms = 2 * arms - [1.0, 0.0]
    problem = uli.LinearBandit(
        [1.0, 0.0], np.column_stack([arms[:, 0], [0, 0.2, 0, 0.3]]), noise="bernoulli"
    )
    assert problem.gaps == pytest.approx(GAPS)
    lengths = learner.phase_lengths(problem.arms, 1)
    while len(lengths) < 3:
        lengths = learner.phase_lengths(problem.arms, sum(lengths) + 1)
    runs = uli.simulate(learner, problem, sum(lengths[:3]), 8, seed=23, n_jobs=2)
    assert_eliminates_in_time(runs, learner, problem.arms)


@pytest.mark.filterwarnings(SMALL)
def test_small_constants_show_elimination_and_promise_nothing():
    learner = uli.MetaElimination(uli.Exp3P(constant=5), mode="sharp")
    problem = uli.datasets.load("isis2")
    with pytest.raises(uli.errors.NoGuaranteeError, match="62"):
        learner.guarantee(problem)
    runs = uli.simulate(learner, problem, 10**18, 4, seed=1)
    best = int(problem.means.argmax())
    assert (runs.eliminated_at[:, best] == 0).all()
    assert (np.delete(runs.eliminated_at, best, axis=1) > 0).all()
    assert (runs.final_plays.sum(axis=1) == 10**18).all()
    assert runs.phases[0][-1].last_round == 10**18
    assert runs.phases[0][-1].active.sum() == 1


def test_no_guarantee_is_a_warning_in_simulate():
    learner = uli.MetaElimination(uli.Exp3P(constant=61.9))
    with pytest.warns(uli.errors.GuaranteeWarning, match="62"):
        uli.simulate(learner, uli.BernoulliBandit([0.5, 0.6]), 10, seed=0)
    for mode in MODES:
        assert uli.MetaElimination(uli.Exp3P(constant=62), mode=mode).guarantee(2).proved


def test_the_constant_of_exp3p_is_the_modes_unless_it_is_given():
    for mode, own in (("paper", 361.0), ("sharp", 62.0)):
        left_out = uli.MetaElimination(mode=mode)
        given = uli.MetaElimination(uli.Exp3P(constant=own), mode=mode)
        other = uli.MetaElimination(uli.Exp3P(constant=2 * own), mode=mode)
        phase, same, longer = (
            x.schedule(np.zeros((2, 0)), None)(3) for x in (left_out, given, other)
        )
        assert phase == same and longer.rounds > 1.5 * phase.rounds
        assert left_out.guarantee(2) == given.guarantee(2) != other.guarantee(2)
    assert uli.Exp3P().g(np.zeros((2, 0)), 0.1) == uli.Exp3P(constant=361).g(np.zeros((2, 0)), 0.1)


def test_the_first_phase_of_geometric_hedge_is_as_long_as_its_proof_asks_for():
    """10^4 d log(10 K / delta) rounds; 16 times 2 g would be less from d = 3 on.

    The smaller constant is proved for 16 times 2 g, which is 32 81 d log(.) or more.
    """
    for d in (1, 2, 3, 8):
        arms, each = np.eye(d + 1)[:, :d] + 0.1, d * math.log(10 * (d + 1) / 0.05)
        for mode in MODES:
            learner = uli.MetaElimination(uli.GeometricHedge(constant=256.0), 0.1, mode=mode)
            assert learner.schedule(arms, None)(1).rounds >= 1e4 * each
            learner = uli.MetaElimination(uli.GeometricHedge(), 0.1, mode=mode)
            assert learner.schedule(arms, None)(1).rounds >= 32.0 * 81.0 * each


@pytest.mark.parametrize(
    ("learner", "about", "eps", "rounds"),
    [
        # Largest t with F > 1 and F > 0.1 at delta = .1, as published to two digits.
        (uli.MetaElimination(delta=0.1), 2, 1.0, 4.1e7),
        (uli.MetaElimination(delta=0.1), 2, 0.1, 4.3e9),
        (uli.MetaElimination(uli.GeometricHedge(), 0.1), (4, 2), 1.0, 3.1e7),
        (uli.MetaElimination(uli.GeometricHedge(), 0.1), (4, 2), 0.1, 3.2e9),
    ],
)
def test_how_long_until_every_decision_is_good(learner, about, eps, rounds):
    assert learner.guarantee(about, form="paper").rounds_until(eps) == pytest.approx(
        rounds, rel=0.02
    )


def test_the_constants_are_those_in_use():
    paper = uli.MetaElimination(uli.Exp3P(constant=400)).guarantee(3, "paper")
    assert {c.name: c.value for c in paper.constants}["g"] == 400
    assert {c.name: c.value for c in paper.constants}["factor"] == 4608
    sharp = uli.MetaElimination(mode="sharp").guarantee(3)
    assert {c.name: c.value for c in sharp.constants}["g"] == 62
    multiplier = {c.name: c.value for c in sharp.constants}["multiplier"]
    assert multiplier == pytest.approx(constants("sharp", 62 * 3)[0])
    scaled = uli.MetaElimination(uli.GeometricHedge(), sigma=0.5).guarantee((3, 2))
    assert any("noise" in c.source for c in scaled.constants)


def test_the_bound_is_the_papers():
    t, delta, K = 10**9, 0.05, 3
    g = 361 * K * math.log(10 * K * 2 * math.log2(t + 1) ** 2 / delta)
    bound = uli.MetaElimination(delta=delta).guarantee(K, form="paper").bound(t)
    assert bound == pytest.approx(math.sqrt(4608 * g / t))
    sharp = uli.MetaElimination(delta=delta, mode="sharp").guarantee(K, form="paper").bound(t)
    factor = 4 * constants("sharp", 62 * K)[0]
    assert sharp == pytest.approx(math.sqrt(factor * g * 62 / 361 / t))
    wide = uli.BernoulliBandit([0.0, 1.0, 2.0], low=-1.0, high=3.0)
    assert uli.MetaElimination(delta=delta).guarantee(wide, form="paper").bound(t) == pytest.approx(
        4 * bound
    )


@pytest.mark.parametrize("mode", MODES)
def test_the_phase_bound_is_below_f_at_every_round_of_the_phase(mode):
    """G(m) = 2^(-(m-1)/2) <= F(t) for all t of phase m: F falls, so at its last round."""
    for base, features in ((uli.Exp3P(), np.zeros((5, 0))), (uli.GeometricHedge(), np.eye(5))):
        learner = uli.MetaElimination(base, 0.1, mode=mode)
        for form in ("paper", "schedule"):
            guarantee = learner.guarantee((5, 5), form=form)
            end = 0
            for m in range(1, 36):
                end += learner.schedule(features, None)(m).rounds
                assert 2.0 ** (-(m - 1) / 2) <= guarantee.bound(float(end))
        assert guarantee.bound(10**9) < learner.guarantee((5, 5), form="paper").bound(10**9)


def test_unbounded_noise_needs_its_scale():
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    problem = uli.LinearBandit([0.5, 0.1], arms, sigma=0.5)
    plain = uli.MetaElimination(uli.GeometricHedge(), 0.1)
    with pytest.raises(uli.errors.NoGuaranteeError, match="bounded"):
        plain.guarantee(problem)
    with pytest.raises(uli.errors.NoGuaranteeError, match="bounded"):
        uli.MetaElimination().guarantee(uli.GaussianBandit([0.0, 1.0], sigma=0.5))
    with pytest.raises(uli.errors.NoGuaranteeError, match="subgaussian"):
        uli.MetaElimination(uli.GeometricHedge(), sigma=0.4).guarantee(problem)
    scaled = uli.MetaElimination(uli.GeometricHedge(), 0.1, sigma=0.5)
    guarantee, table = scaled.guarantee(problem, form="paper"), scaled.guarantee(problem)
    end, half, before = 0, 0.05, None
    for m in range(1, 33):
        phase = scaled.schedule(arms, None)(m)
        B = 2 * (1 + 0.5 * math.sqrt(2 * math.log(4 * m * m * phase.rounds / half)))
        assert phase.scale == pytest.approx(B)
        assert phase.delta == half / (2 * m * m)
        end += phase.rounds
        assert 2.0 ** (-(m - 1) / 2) * B <= guarantee.bound(float(end))
        # Survivors of phase m - 1, whose losses were divided by its B.
        assert table.bound(end) == pytest.approx(2.0 ** (-(m - 1) / 2) * (before or B))
        before = B
    big = uli.LinearBandit([2.0, 0.0], arms, sigma=0.5)
    with pytest.raises(uli.errors.NoGuaranteeError, match="more than 1"):
        scaled.guarantee(big)
    with pytest.raises(uli.errors.ArgumentError, match="sigma"):
        uli.MetaElimination(uli.Exp3P(), sigma=1.0)
    bounded = uli.LinearBandit([0.5, 0.1], arms, noise="bernoulli")
    with pytest.raises(uli.errors.ArgumentError, match="sigma"):
        uli.simulate(scaled, bounded, 100)


class Recorder:
    """A base for linear arms that plays them in turn and keeps the losses it is fed."""

    losses = "linear"

    def __init__(self):
        self.fed = []

    def g(self, arms, delta):
        return 0.001 * math.log(10 * len(arms) / delta)

    def start_phase(self, arms, rounds, delta):
        self.fed.append([])
        phase = UniformPhase(len(arms))
        phase.update = lambda arm, loss: self.fed[-1].append((arm, loss))
        return phase


@pytest.mark.filterwarnings(SMALL)
@pytest.mark.parametrize("live", [False, True])
def test_losses_of_unbounded_rewards_are_divided_by_the_phases_bound(live):
    arms, theta, sigma = np.eye(2), np.array([0.9, -0.9]), 0.5
    base = Recorder()
    learner = uli.MetaElimination(base, 0.1, sigma=sigma)
    if live:
        player = learner.start(arms, seed=1, low=-math.inf, high=math.inf)
        for _ in range(30):
            decision = player.ask()
            player.tell(decision.id, theta[decision.arm])
    else:
        problem = uli.LinearBandit(theta, arms, sigma=1e-9)
        uli.simulate(learner, problem, 30, seed=1)
    assert len(base.fed) > 2
    for m, fed in enumerate(base.fed, start=1):
        B = learner.schedule(arms, None)(m).scale
        assert B > 2.0
        for arm, loss in fed:
            assert loss == pytest.approx(-theta[arm] / B, abs=1e-8)


def test_bounds_come_back_in_reward_units():
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    learner = uli.MetaElimination(uli.GeometricHedge(), 0.1)
    unit = learner.guarantee((3, 2)).bound(1000)
    half = math.sqrt(3) * 0.5
    uniform = uli.LinearBandit([0.5, 0.1], arms, sigma=0.5, noise="uniform")
    assert learner.guarantee(uniform).bound(1000) == pytest.approx(2 * (1 + half) * unit)
    bernoulli = uli.LinearBandit([0.5, 0.1], arms, noise="bernoulli")
    assert learner.guarantee(bernoulli).bound(1000) == pytest.approx(unit)
    # Rewards in [0, 3] with 0 where <a, theta> = 0: B = 3; with 10 there, B = 10.
    for intercept, B in ((0.0, 3.0), (10.0, 10.0)):
        player = learner.start(arms, seed=1, low=0.0, high=3.0, intercept=intercept)
        assert player.certificate().envelope == pytest.approx(
            B * learner.guarantee((3, 2)).bound(1)
        )


def test_the_scale_of_bounded_noise_is_not_taken_for_that_of_unbounded_noise():
    arms = np.eye(2)
    wide = uli.LinearBandit([0.5, 0.1], arms, sigma=5.0, noise="uniform")
    with pytest.raises(uli.errors.NoGuaranteeError, match="bounded"):
        uli.MetaElimination(uli.GeometricHedge(), 0.1, sigma=0.5).guarantee(wide)
    assert uli.MetaElimination(uli.GeometricHedge(), 0.1, sigma=0.5).guarantee((2, 2)).proved


class Slower(uli.Exp3P):
    """Another algorithm than Exp3.P, though derived from it."""

    def start_phase(self, arms, rounds, delta):
        return UniformPhase(len(arms))


@pytest.mark.filterwarnings(SMALL)
def test_a_class_derived_from_a_base_is_another_algorithm():
    learner = uli.MetaElimination(Slower(), 0.1)
    assert not learner.guarantee(3).proved
    runs = uli.simulate(learner, uli.BernoulliBandit([0.1, 0.9]), 4000, 1, seed=1)
    assert abs(runs.final_plays[0, 0] - 2000) < 300


@pytest.mark.filterwarnings(SMALL)
def test_regrouped_lanes_do_not_depend_on_their_company():
    """Phases of 10^5 rounds and more, in which members come to keep different arms."""
    learner = uli.MetaElimination(uli.Exp3P(constant=17), 0.05, mode="sharp")
    problem = uli.BernoulliBandit([0.6, 0.42, 0.424, 0.428])
    whole = uli.simulate(learner, problem, 1_500_000, 24, seed=5, rounds=[10**5, 10**6, 1_500_000])
    first = whole.eliminated_at == whole.eliminated_at[whole.eliminated_at > 0].min()
    assert len({tuple(row) for row in first.tolist()}) > 2
    for replications, n_jobs in ((1, 1), (2, 1), (7, 2), (20, 2)):
        part = uli.simulate(
            learner,
            problem,
            1_500_000,
            replications,
            seed=5,
            n_jobs=n_jobs,
            rounds=[10**5, 10**6, 1_500_000],
        )
        assert_same_runs(part, _first(whole, replications))


def _first(runs, m):
    from dataclasses import replace

    return replace(
        runs,
        **{
            name: getattr(runs, name)[:m]
            for name in ("plays", "final_plays", "last_play", "eliminated_at", "recorded_regret")
        },
    )


class Uniform:
    """A base that explores evenly and learns nothing but its estimates."""

    def __init__(self, constant=1.0):
        self.constant = constant

    def g(self, arms, delta):
        return self.constant * len(arms) * math.log(10 * len(arms) / delta)

    def start_phase(self, arms, rounds, delta):
        return UniformPhase(len(arms))


class UniformPhase:
    def __init__(self, k):
        self.estimates = np.zeros(k)

    def choose(self, rng):
        return int(rng.integers(self.estimates.size)), 1.0 / self.estimates.size

    def update(self, arm, loss):
        self.estimates[arm] += loss * self.estimates.size


def test_a_users_base():
    learner = uli.MetaElimination(Uniform(0.4), 0.1)
    problem = uli.BetaBandit([8.0, 1.0, 7.0], [1.0, 8.0, 1.0])
    runs = uli.simulate(learner, problem, 20_000, 3, seed=4)
    assert (runs.eliminated_at[:, 1] > 0).all()
    assert (runs.eliminated_at[:, 0] == 0).all()
    assert not learner.guarantee(problem).proved
    assert runs.worst_ratio.shape == (3,)
    again = uli.simulate(learner, problem, 20_000, 3, seed=4, n_jobs=2)
    assert (again.plays == runs.plays).all()
    shorter = uli.simulate(learner, problem, 5_000, 1, seed=4, rounds=[1000])
    assert (shorter.final_plays.sum(axis=1) == 5000).all()
    g = learner.base.g(np.zeros((3, 0)), 0.1 / (2 * math.log2(1001) ** 2))
    closed = learner.guarantee(3, form="paper").bound(1000)
    assert closed == pytest.approx(math.sqrt(4608 * g / 1000))
    lengths = np.cumsum(learner.phase_lengths(3, 10**6)).tolist()
    for m, end in enumerate(lengths, start=1):
        assert learner.guarantee(3).bound(end) == 2.0 ** (-(m - 1) / 2)


@pytest.mark.parametrize(
    ("base", "complaint"),
    [
        (object(), "g and start_phase"),
        (Uniform, "g and start_phase"),
        (Uniform(-1.0), "base.g"),
        (type("Odd", (Uniform,), {"losses": "some"})(), "losses"),
    ],
)
def test_a_base_that_is_none(base, complaint):
    with pytest.raises(uli.errors.ArgumentError, match=complaint):
        uli.simulate(uli.MetaElimination(base), uli.BetaBandit([1, 2], [1, 1]), 100, seed=0)


def test_a_users_bound_survives_saving_as_its_ratios(tmp_path):
    learner = uli.MetaElimination(Uniform(0.6), 0.1)
    runs = uli.simulate(learner, uli.BetaBandit([8.0, 1.0], [1.0, 8.0]), 5000, 3, seed=4)
    runs.save(tmp_path / "runs")
    loaded = uli.Runs.load(tmp_path / "runs")
    assert (loaded.worst_ratio == runs.worst_ratio).all()
    assert loaded.holds.all()


WRONG = [(5, 0.5), (-1, 0.5), (0, 0.0), (0, 1.5), (0.5, 0.5), ("a", 0.5), None, (0,), (0, 0.5, 1)]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.filterwarnings(SMALL)
def test_a_base_that_chooses_nonsense(wrong):
    phase = type("Bad", (UniformPhase,), {"choose": lambda self, rng: wrong})
    base = Uniform()
    base.start_phase = lambda arms, rounds, delta: phase(len(arms))
    with pytest.raises(uli.errors.ArgumentError, match="base"):
        uli.simulate(uli.MetaElimination(base), uli.BetaBandit([1, 2], [1, 1]), 100, seed=0)


@pytest.mark.filterwarnings(SMALL)
def test_a_base_that_starts_nothing():
    base = Uniform()
    base.start_phase = lambda arms, rounds, delta: None
    with pytest.raises(uli.errors.ArgumentError, match="start_phase"):
        uli.simulate(uli.MetaElimination(base), uli.BetaBandit([1, 2], [1, 1]), 100, seed=0)
    with pytest.raises(uli.errors.ArgumentError, match="start_phase"):
        uli.MetaElimination(base).start(2)


def test_a_g_below_what_the_condition_asks_promises_nothing():
    with pytest.raises(uli.errors.NoGuaranteeError, match="log"):
        uli.MetaElimination(Uniform(0.3)).guarantee(3)


def test_a_g_that_rises_in_delta_promises_nothing():
    base = Uniform()
    base.g = lambda arms, delta: 1e4 * (1.0 + delta)
    with pytest.raises(uli.errors.NoGuaranteeError, match="falls"):
        uli.MetaElimination(base, 0.5).guarantee(3)


def test_a_users_g_is_asked_about_the_arms_themselves():
    class Wide(Uniform):
        losses = "linear"

        def g(self, arms, delta):
            return 10 * arms.shape[1] * math.log(10 * len(arms) / delta)

    learner, arms = uli.MetaElimination(Wide(), 0.1), np.eye(3)
    expected = learner.guarantee(arms).bound(1)
    assert (
        learner.guarantee(uli.LinearBandit([0.1] * 3, arms, noise="bernoulli")).bound(1) == expected
    )
    assert learner.start(arms, seed=1).certificate().envelope == expected
    with pytest.raises(uli.errors.ArgumentError, match="about"):
        learner.guarantee((3, 3))


def test_a_g_that_grows_too_fast_promises_nothing():
    base = Uniform()
    base.g = lambda arms, delta: math.exp(min(1.0 / delta, 200.0))
    with pytest.raises(uli.errors.NoGuaranteeError, match="decrease"):
        uli.MetaElimination(base, 0.5).guarantee(3)


def test_bad_parameters():
    for wrong in (0.0, -1.0, math.nan, "361"):
        with pytest.raises(uli.errors.ArgumentError, match="constant"):
            uli.Exp3P(constant=wrong)
    with pytest.raises(uli.errors.ArgumentError, match="mode"):
        uli.MetaElimination(mode="quick")
    with pytest.raises(uli.errors.ArgumentError, match="delta"):
        uli.MetaElimination(delta=1.0)
    with pytest.raises(uli.errors.ArgumentError, match="sigma"):
        uli.MetaElimination(uli.GeometricHedge(), sigma=-1.0)
    with pytest.raises(uli.errors.ArgumentError, match="about"):
        uli.MetaElimination(uli.GeometricHedge()).guarantee(4)
    with pytest.raises(uli.errors.ArgumentError, match="about"):
        uli.MetaElimination().guarantee([[1, 2], [3]])
    with pytest.raises(uli.errors.ArgumentError, match="arms"):
        uli.MetaElimination().start([[1, 2], [3]])
    with pytest.raises(uli.errors.ArgumentError, match="delta"):
        uli.MetaElimination(delta=5e-324)


def test_compare_runs_them_side_by_side():
    learners = [uli.MetaElimination(), uli.Exp3P(), uli.SuccessiveElimination()]
    result = uli.compare(learners, uli.BernoulliBandit([0.3, 0.7]), 5000, 4, seed=1)
    assert list(result.runs) == ["MetaElimination", "Exp3P", "SuccessiveElimination"]
    result.table()
    twice = [uli.MetaElimination(), uli.MetaElimination(mode="sharp"), uli.UCB()]
    named = uli.compare(twice, uli.BernoulliBandit([0.3, 0.7]), 100, 2, seed=1)
    assert list(named.runs) == [
        "MetaElimination (mode=paper)",
        "MetaElimination (mode=sharp)",
        "UCB",
    ]


@pytest.mark.filterwarnings(SMALL)
def test_a_void_promise_is_said_to_be_one_and_marked_as_on_the_page():
    from rich.console import Console

    from uli_fast.report.canvas import lines_of
    from uli_fast.report.summaries import summary_of

    void = uli.MetaElimination(uli.Exp3P(constant=5))
    learners = [void, uli.SuccessiveElimination(), uli.UCB()]
    result = uli.compare(learners, uli.BernoulliBandit([0.3, 0.7]), 5000, 2, seed=1)
    console = Console(record=True, width=120)
    console.print(result.table())
    lines = {line.split()[0]: line for line in console.export_text().splitlines() if line.strip()}
    assert "/2*" in lines["UCB"]
    assert "no guarantee covers the parameters" in lines["MetaElimination:"]
    row = summary_of(lines_of(list(result.runs.values()), ["Meta", "SE", "UCB"])).rows[0]
    (failed,) = (cell.text for cell in row.cells if "of" in cell.text)
    assert failed.replace("\u00a0of\u00a0", "/") in lines["MetaElimination"].split()
    assert failed.endswith("*")
