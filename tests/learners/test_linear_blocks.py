"""Sharp PE-linear: against the naive reference, its event, its bound, its degenerate cases."""

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

import uli_fast as uli
from tests.naive import linear_elimination as naive
from tests.support.coupling import assert_equals_naive
from tests.support.draws import draws
from uli_fast.errors import NoGuaranteeError
from uli_fast.guarantees import linear_blocks
from uli_fast.guarantees.linear_blocks import LinearBlocks
from uli_fast.kernels.linear import blocks as kernel
from uli_fast.learners._arms import empty_state
from uli_fast.learners._linear_blocks import new_linear_state, redesign

SHARP = uli.LinearElimination
TRAP = np.array([[1.0, 0.0], [1.0 - 1e-6, 1e-3], [0.0, 1.0]])


def unit_arms(rng, K, d):
    arms = rng.standard_normal((K, d))
    return arms / np.linalg.norm(arms, axis=1)[:, None]


def designs_of(learner, arms, R):
    """Return design(active), which gives the package's weights along one path."""
    prior = 0.2 if learner.prior_gap is None else learner.prior_gap / R
    lin = new_linear_state(arms, learner.delta, prior, learner.known_intercept)
    kept = {"active": list(range(len(arms)))}

    def design(active):
        if active != kept["active"]:
            mask = np.zeros(len(arms), bool)
            mask[active] = True
            redesign(lin, mask)
            kept["active"] = list(active)
        return lin.weights[active].tolist()

    return design


def drawer(problem, seed, shift=0.0):
    """Return reward(a) as the rounds engine draws it, less the intercept, if it is known."""
    rng = draws(seed, 0)

    def reward(a):
        if problem.noise == "gaussian":
            return problem.means[a] + problem.sigma * rng.standard_normal() + shift
        if problem.noise == "bernoulli":
            return (rng.random() < problem.means[a]) - 0.5 + shift
        half = math.sqrt(3) * problem.sigma
        return problem.means[a] + half * (2 * rng.random() - 1) + shift

    return reward


def random_instance(instance):
    """Return random arms, some of them copies, in a subspace, off the origin or tiny; and theta."""
    rng = np.random.default_rng(instance)
    K, d = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    arms = rng.standard_normal((K, d))
    kind = instance % 6
    if kind == 1 and K > 2:
        arms[-1] = arms[0]
    if kind == 2 and d > 1:
        arms[:, -1] = 1.0  # the origin is not in their plane
    if kind == 3:
        arms = np.round(arms)
    if kind == 4:
        arms = np.outer(rng.standard_normal(K), rng.standard_normal(d))
    if kind == 5:
        arms = 1e-2 * arms + 1.0
    theta = rng.standard_normal(d) * rng.uniform(0.3, 2.0)
    return arms, theta / max(np.abs(arms @ theta).max(), 0.1) * 0.5


@pytest.mark.parametrize("instance", range(48))
def test_rounds_equal_naive_on_the_same_draws(instance):
    arms, theta = random_instance(instance)
    noise = ("gaussian", "bernoulli", "uniform")[instance % 3]
    problem = uli.LinearBandit(theta, arms, sigma=0.15, noise=noise)
    R, known = (0.5 if noise == "bernoulli" else 0.26), instance % 4 != 3
    learner = SHARP(0.2, R=R, prior_gap=(None, 0.5)[instance % 2], known_intercept=known)
    T = 3000
    runs = uli.simulate(learner, problem, T, seed=instance, engine="rounds")
    expected = naive.play_sharp(
        drawer(problem, instance, shift=0.0 if known else 7.0),
        arms,
        T,
        0.2,
        designs_of(learner, arms, R),
        R,
        learner.prior_gap,
        known,
    )
    assert_equals_naive(runs, expected)


def test_many_arms_equal_naive_too():
    """Above 64 arms blocks have the design's largest leverage."""
    arms = unit_arms(np.random.default_rng(5), 70, 2)
    problem = uli.LinearBandit([0.6, 0.3], arms, sigma=0.1)
    learner = SHARP(0.2, R=0.1)
    runs = uli.simulate(learner, problem, 1500, seed=1, engine="rounds")
    expected = naive.play_sharp(
        drawer(problem, 1), arms, 1500, 0.2, designs_of(learner, arms, 0.1), 0.1
    )
    assert_equals_naive(runs, expected)
    assert sum(x > 0 for x in expected["eliminated"]) > 20


def test_both_kinds_of_coupled_runs_drop_arms():
    """The coupling above would say little if nothing was ever dropped."""
    dropped = 0
    for instance in range(12):
        arms, theta = random_instance(instance)
        problem = uli.LinearBandit(theta, arms, sigma=0.15)
        runs = uli.simulate(SHARP(0.2, R=0.26), problem, 3000, seed=1)
        dropped += int((runs.eliminated_at > 0).sum())
    assert dropped > 20


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
def test_skipping_has_the_law_of_rounds(noise):
    arms = unit_arms(np.random.default_rng(1), 6, 3)
    problem = uli.LinearBandit([0.5, 0.2, -0.3], arms, sigma=1.0, noise=noise)
    learner = SHARP(0.1, R=1.0)
    skip = uli.simulate(learner, problem, 20_000, 300, seed=1, engine="skip")
    rounds = uli.simulate(learner, problem, 20_000, 300, seed=2, engine="rounds")
    for a in range(6):
        pair = skip.final_plays[:, a], rounds.final_plays[:, a]
        assert ks_2samp(*pair, method="asymp").pvalue > 1e-3
    assert skip.eliminated_at.any()


def test_a_path_does_not_depend_on_the_horizon_or_the_record():
    arms = unit_arms(np.random.default_rng(3), 12, 4)
    problem = uli.LinearBandit([0.4, 0.2, -0.3, 0.1], arms)
    for engine in ("skip", "rounds"):
        long = uli.simulate(SHARP(0.1, R=1.0), problem, 20_000, 3, seed=1, engine=engine)
        for T in (1, 15, 16, 17, 333, 19_999):
            short = uli.simulate(SHARP(0.1, R=1.0), problem, T, 3, seed=1, engine=engine)
            gone = np.where(long.eliminated_at <= T, long.eliminated_at, 0)
            assert (short.eliminated_at == gone).all()
            assert (short.final_plays.sum(axis=1) == T).all()


# F, golden figures.


def test_golden_figures():
    """K = 4, k = 2, delta .05, R = 1, prior gap .2 (docs/proofs_linear.md)."""
    plan = LinearBlocks(4, 2, 0.05, 0.2)
    assert plan.leverage == 8.0
    assert plan.rho == pytest.approx(100.0)
    assert float(plan.boundary(np.array([100.0]))[0]) == pytest.approx(38.73426, abs=5e-6)
    F = SHARP(0.05, R=1.0).guarantee((4, 2))
    assert F.bound(10**5) == pytest.approx(0.0619660, abs=5e-8)
    assert [F.rounds_until(eps) for eps in (0.5, 0.1, 0.01)] == [1752, 37891, 5345237]


@pytest.mark.parametrize(
    ("K", "d", "rounds"), [(20, 5, 124_498), (300, 3, 110_772), (3, 2, 25_884), (10, 9, 110_707)]
)
def test_how_long_until_every_decision_is_good(K, d, rounds):
    assert SHARP(0.05, R=1.0).guarantee((K, d)).rounds_until(0.1) == rounds


def test_the_table_is_the_clock_of_the_page():
    """F at round t is 2 c(J) / J, J = M_l / rbar of the looks that are over for sure."""
    K, k, delta = 7, 3, 0.1
    F = SHARP(delta, R=2.0, prior_gap=0.6).guarantee((K, k))
    support, ratio, level = 7, min(4 * (1.02 * 4 - 1), 14), math.log(6 / 0.1)
    ends, plays = [], [0]
    for _ in range(200):
        m = max(16, math.ceil(plays[-1] / 10))
        plays.append(plays[-1] + m)
        ends.append(plays[-1] + len(plays[1:]) * support)
    for t in [*range(20, 200), 1000, ends[50], ends[50] + 1, ends[150] - 1]:
        over = sum(end < t for end in ends)
        if over == 0:
            assert F.bound(t) == math.inf
            continue
        J = plays[over] / ratio
        expected = 2.0 * naive.crossing(4.0 * J, level, 4.0 * 2.0**4 / 0.6**2) / J
        assert F.bound(t) == pytest.approx(expected * (1.0 + 2e-8), rel=1e-9)


def test_bounds_fall_for_ever_and_are_finite_where_gaps_are_known():
    F = SHARP(0.05, R=1.0).guarantee((1000, 20))
    t = np.array([10.0**x for x in range(19)])
    assert (F.bound(t[1:]) <= F.bound(t[:-1])).all() and F.bound(1) == math.inf
    assert F.bound(10**100) < 1e-45
    assert F.rounds_until(1e-12) > 10**27
    assert math.isinf(F.regret(10**6))
    assert "largest_gap" not in F.parameters
    capped = SHARP(0.05, R=1.0, theta_norm=0.5).guarantee(np.eye(3))
    assert capped.largest_gap == 1.0 and math.isfinite(capped.regret(10**9))
    assert capped.regret(10**9) < 2e6
    within = uli.LinearBandit([0.3, 0.1], np.eye(2), noise="bernoulli")
    assert SHARP(0.05).guarantee(within).largest_gap == 1.0
    again = uli.Guarantee.from_dict(F.to_dict())
    assert again.bound(10**6) == F.bound(10**6)
    assert F.constants


def test_more_than_1500_arms_have_the_affine_ratio():
    assert LinearBlocks(1500, 2000, 0.1, 0.2).leverage == 3000.0
    assert LinearBlocks(1501, 2000, 0.1, 0.2).leverage == 4 * (1.02 * 2001 - 1)


def test_sizes_are_whole_numbers_as_f_has_them():
    for K, k in ((2, 1), (4, 2), (1000, 20)):
        plan = LinearBlocks(K, k, 0.05, 0.2)
        sizes, M = plan.sizes(), 0
        for m in sizes.tolist():
            assert m == plan.size(M) == max(plan.first, -(-M // 10))
            M += m
        assert 10**18 < M < 2**63
        ends, _ = linear_blocks.table(0.05, {"K": K, "k": k, "prior_gap": 0.2})
        clock = np.cumsum(sizes[:200]) + plan.support * np.arange(1, 201)
        assert clock.tolist() == list(ends[:200])


def test_a_large_theta_needs_no_word_but_noise_does():
    problem = uli.LinearBandit([300.0, 0.0], np.eye(2))
    assert SHARP(0.1, R=1.0).guarantee(problem).proved
    with pytest.raises(uli.errors.NoGuaranteeError, match="theta_norm = 300"):
        SHARP(0.1, R=1.0, theta_norm=5.0).guarantee(problem)
    with pytest.raises(uli.errors.NoGuaranteeError, match="R = 2"):
        SHARP(0.1, R=1.0).guarantee(uli.LinearBandit([0.5], [[1.0]], sigma=2.0))


def test_arms_that_are_almost_flat_need_a_bound_on_theta():
    """A gap could hide along a direction that counts as absent."""
    thin = np.array([[1.0, 0.0], [0.5, 1e-11], [0.0, 0.0]])
    with pytest.raises(uli.errors.NoGuaranteeError, match="theta_norm"):
        SHARP(0.1, R=1.0).guarantee(thin)
    assert SHARP(0.1, R=1.0, theta_norm=1.0).guarantee(thin).proved
    for arms in (thin[:, :1], thin * [1.0, 1e5], SETS["far line"], SETS["collinear"]):
        assert SHARP(0.1, R=1.0).guarantee(arms).proved


def test_thin_arms_are_told_apart_along_an_axis_only():
    """Elsewhere what they differ by stands in the last digits of all entries."""
    rng = np.random.default_rng(0)
    thin, turn = rng.standard_normal((8, 2)) * [1.0, 1e-8], np.array([[0.6, 0.8], [-0.8, 0.6]])
    assert SHARP(0.1, R=1.0).guarantee(thin).proved
    with pytest.raises(uli.errors.NoGuaranteeError, match="theta_norm"):
        SHARP(0.1, R=1.0).guarantee(thin @ turn)
    assert SHARP(0.1, R=1.0).guarantee((thin * [1.0, 1e3]) @ turn).proved


# Statistics.


def instances():
    """Return the eight instances of the figures in docs/proofs_linear.md."""
    r = np.random.default_rng(7)
    angles = np.array([0, 0.5, 1.3, 2.4])
    a = np.c_[np.cos(angles), np.sin(angles)]
    yield "K4 d2", a, np.array([0.8, 0.1])
    a, theta = unit_arms(r, 20, 5), r.standard_normal(5)
    yield "K20 d5", a, theta / np.linalg.norm(theta)
    a = np.array([[1, 0], [0.999, 0.04], [0.5, 0.5], [0, 1.0]])
    yield "near tie", a, np.array([0.6, 0.01])
    a = np.array([[1, 0], [1, 0], [0.6, 0.6], [0.6, 0.6], [0, 1.0], [0, 1]])
    yield "duplicates", a, np.array([0.7, 0.1])
    yield "K300 d3", unit_arms(r, 300, 3), np.array([0.5, 0.4, 0.3])
    a, theta = unit_arms(r, 4, 10), r.standard_normal(10)
    yield "K4 d10", a, theta / np.linalg.norm(theta)
    yield "trap", TRAP, np.array([0.5, 0])
    yield "MAB 10", np.eye(10), np.array([0.5, 0.45, 0.4, 0.3, 0.3, 0.2, 0.1, 0, 0, 0])


def failures(arms, theta, delta, M, T=10**6, seed=1):
    """Return runs; on the event their gaps are within F and the best arm stays."""
    problem = uli.LinearBandit(theta, arms, sigma=1.0)
    runs = uli.simulate(SHARP(delta, R=1.0), problem, T, M, seed=seed, rounds=[T])
    best = int(problem.means.argmax())
    assert (runs.worst_ratio[runs.event_held] <= 1.0).all()
    assert (runs.eliminated_at[runs.event_held, best] == 0).all()
    return runs, (runs.eliminated_at[:, best] > 0).mean()


def test_two_equal_arms_fail_almost_as_often_as_delta_allows():
    """Near the boundary: a test that is too eager would show."""
    problem = np.eye(2), np.array([1e-6, 0.0])
    runs, lost = failures(*problem, 0.3, 1500)
    broken = 1.0 - runs.event_held.mean()
    assert 0.10 < lost <= broken < 0.3
    runs, _ = failures(*problem, 0.05, 1500)
    assert 0.01 < 1.0 - runs.event_held.mean() < 0.05


def test_the_event_breaks_more_often_than_the_best_arm_is_dropped():
    """It is about every active arm, also about those that are much worse than the best."""
    arms, theta = next((a, th) for name, a, th in instances() if name == "K4 d2")
    runs, lost = failures(arms, theta, 0.3, 400, 10**4)
    assert lost == 0.0 and 0.02 < 1.0 - runs.event_held.mean() < 0.3


def test_ten_equal_arms_fail_within_delta():
    theta = np.zeros(10)
    theta[0] = 1e-5
    runs, lost = failures(np.eye(10), theta, 0.3, 400)
    assert 0.04 < lost <= 1.0 - runs.event_held.mean() < 0.3


def test_failures_stay_within_delta_on_random_arms():
    rng = np.random.default_rng(3)
    for _ in range(8):
        d = int(rng.integers(1, 6))
        theta = rng.standard_normal(d)
        runs, _ = failures(unit_arms(rng, 20, d), theta / np.linalg.norm(theta), 0.1, 40, 10**15)
        assert runs.holds.sum() >= 34
        assert runs.event_held.sum() >= 34


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.3, 0.05])
@pytest.mark.parametrize("name", [name for name, _, _ in instances()])
def test_failures_of_a_thousand_runs(name, delta):
    arms, theta = next((a, th) for n, a, th in instances() if n == name)
    runs, lost = failures(arms, theta, delta, 1000)
    broken = 1.0 - runs.event_held.mean()
    print(f"\n{name}, {delta}: best dropped {lost:.3f}, event broken {broken:.3f}", end=" ")
    print(f"regret {runs.final_regret().mean():.0f}, F kept {runs.holds.mean():.3f}")
    assert lost <= broken <= delta
    assert 1.0 - runs.holds.mean() <= delta


def test_the_event_breaks_where_the_noise_is_underestimated():
    arms = unit_arms(np.random.default_rng(5), 10, 2)
    problem = uli.LinearBandit([0.7, 0.1], arms, sigma=30.0)
    with pytest.warns(uli.errors.GuaranteeWarning, match="R = 1"):
        runs = uli.simulate(SHARP(0.1, R=1.0), problem, 10**5, 20, seed=1)
    assert runs.event_held.mean() < 0.5


@pytest.mark.parametrize("known", [True, False])
def test_gaps_are_within_the_certificate_and_f_at_every_look_on_the_event(known):
    rng = np.random.default_rng(11)
    for _ in range(6):
        K, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        arms, theta, seed = unit_arms(rng, K, d), rng.standard_normal(d) * 0.3, rng.integers(99)
        learner = SHARP(0.2, R=1.0, known_intercept=known)
        state = empty_state(K)
        blocks = learner.phases(learner.units(arms, (None, None), 0.0), arms, state)
        F, noise, means = learner.guarantee(arms), np.random.default_rng(seed), arms @ theta
        gaps, shift = means.max() - means, 0.0 if known else 5.0
        for _ in range(60):
            n = blocks.quotas().copy()
            state.clock[0] += n.sum()
            sums = n * (means + shift) + np.sqrt(n) * noise.standard_normal(K)
            blocks.close(sums, means)
            if state.broken[0] or state.active.sum() == 1:
                break
            worst = gaps[state.active].max()
            assert worst <= blocks.certificate() <= F.bound(int(state.clock[0]) + 1)
            assert state.active[means.argmax()]
            assert np.isfinite(blocks.values[state.active]).all() or blocks.lin.counts[2]


def test_the_realised_certificate_is_that_of_the_page():
    arms = unit_arms(np.random.default_rng(2), 5, 2)
    problem = uli.LinearBandit([0.1, 0.05], arms, sigma=1.0)
    learner, T = SHARP(0.2, R=1.0), 600
    page = naive.play_sharp(drawer(problem, 4), arms, T, 0.2, designs_of(learner, arms, 1.0))
    reward, state = drawer(problem, 4), empty_state(5)
    blocks = learner.phases(learner.units(arms, (None, None), 0.0), arms, state)
    for look in page["looks"]:
        n = blocks.quotas().tolist()
        sums = np.array([sum(reward(a) for _ in range(n[a])) for a in range(5)])
        blocks.close(sums)
        assert np.flatnonzero(state.active).tolist() == look["active"]
        said = look["certificate"] + blocks.hidden
        assert blocks.certificate() == pytest.approx(said, rel=1e-8)
        assert blocks.lin.facts[0] == pytest.approx(look["J"], rel=1e-9)
    assert len(page["looks"]) > 10


def test_missing_rewards_can_only_delay_a_drop():
    """Whatever the missing ones were, the drop would have come with them too."""
    arms, learner = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), SHARP(0.3, R=0.5)
    means, ends = np.array([0.9, 0.1, 0.5]), {}
    for lost in (0.0, 0.2):
        state = empty_state(3)
        blocks = learner.phases(learner.units(arms, (0.0, 1.0), 0.0), arms, state)
        ends[lost] = 0
        while ends[lost] < 200:
            n = blocks.quotas().copy()
            missing = np.floor(lost * n).astype(np.int64)
            blocks.close((n - missing) * means + 0.5 * missing, missing=missing)
            if not state.active[1]:
                break
            ends[lost] += 1
            assert (blocks.errors[state.active] > 0.0).all() == (lost > 0.0)
    assert ends[0.0] < ends[0.2] < 200


# Degenerate arms.

SETS = {
    "one arm": np.array([[1.0, 0.0]]),
    "zero arms": np.zeros((3, 2)),
    "zero among them": np.array([[0.0, 0.0], [1.0, 0.0]]),
    "twins": np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.0]]),
    "only copies": np.full((4, 2), 0.1),
    "d = 1": np.array([[1.0], [-1.0], [0.3]]),
    "K < d": np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]]),
    "collinear": np.outer([0.1, 0.2, 0.3, 0.9], [1.0, 2.0]),
    "parallel": np.array([[1.0, 0.0], [1.0 - 1e-6, 1e-6], [0.0, 1.0]]),
    "trap": TRAP,
    "far away": 1e6 + np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    "far line": 1e6 + np.outer([0.0, 1.0, 2.0], [1.0, 0.0]),
    "tiny": 1e-8 * np.eye(2),
    "tinier": 1e-90 * np.eye(3),
    "large": 1e8 * np.eye(2),
    "larger": 1e90 * np.eye(3),
    "flat": np.array([[1.0, 0.0], [0.0, 1e-7], [0.5, 1e-7], [0.2, 0.0]]),
    "many in few": np.round(np.random.default_rng(0).standard_normal((40, 2)), 1),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("known", [True, False])
def test_degenerate_arms(name, known):
    arms = SETS[name]
    spread = np.abs(arms - arms[0]).max() or 1.0
    theta = np.full(arms.shape[1], 0.5) / spread
    problem = uli.LinearBandit(theta, arms, sigma=0.5)
    learner = SHARP(0.02, R=0.5, known_intercept=known)
    runs = uli.simulate(learner, problem, 10**15, 6, seed=8)
    good = problem.gaps <= 1e-9
    assert runs.holds.all() and runs.event_held.all()
    assert (runs.eliminated_at[:, good] == 0).all(axis=1).all()
    assert (runs.final_plays.sum(axis=1) == 10**15).all()
    worse = problem.gaps > 1e-3
    assert (runs.eliminated_at[:, worse] > 0).all()


def test_arms_far_from_the_origin_are_as_good_as_any():
    """A common shift of arms and rewards changes nothing but the rounding."""
    near = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.25, 0.5]])
    theta, learner = np.array([0.5, 0.125]), SHARP(0.1, R=1.0, known_intercept=False)
    one = uli.simulate(learner, uli.LinearBandit(theta, near), 10**6, 5, seed=1)
    far = uli.simulate(learner, uli.LinearBandit(theta, near + 2.0**20), 10**6, 5, seed=1)
    assert (one.final_plays == far.final_plays).all()


def test_units_change_nothing():
    """Arms x 10 and theta x 3 with noise x 30 is the same problem in other units."""
    arms = unit_arms(np.random.default_rng(6), 8, 3)
    theta = np.array([0.5, 0.3, 0.1])
    one = uli.LinearBandit(theta, arms, sigma=1.0)
    two = uli.LinearBandit(4 * theta, 8 * arms, sigma=32.0)
    first, second = SHARP(0.1, R=1.0), SHARP(0.1, R=32.0)
    a, b = (uli.simulate(x, p, 10**9, 5, seed=7) for x, p in ((first, one), (second, two)))
    assert (a.plays == b.plays).all()
    assert second.guarantee(two).bound(1000) == pytest.approx(32 * first.guarantee(one).bound(1000))
    tuned = SHARP(0.1, R=32.0, prior_gap=6.4)
    assert tuned.guarantee(two).bound(1000) == pytest.approx(second.guarantee(two).bound(1000))


@pytest.mark.parametrize("prior", [1e-300, 1e-3, 30.0, 1e90])
def test_any_prior_gap_is_sound(prior):
    learner = SHARP(0.3, R=1.0, prior_gap=prior)
    problem = uli.LinearBandit([0.5, 0.4], np.eye(2))
    runs = uli.simulate(learner, problem, 10**8, 100, seed=3)
    assert runs.event_held.mean() >= 0.7
    assert (runs.worst_ratio[runs.event_held] <= 1.0).all()
    assert learner.guarantee(problem).bound(10**9) < math.inf


def test_bad_input():
    for name, value in (
        ("schedule", "proved"),
        ("prior_gap", 0.0),
        ("prior_gap", math.inf),
        ("theta_norm", -1.0),
        ("known_intercept", 1),
        ("R", 0.0),
        ("delta", 1.0),
    ):
        with pytest.raises(uli.errors.ArgumentError, match=name):
            SHARP(**{name: value})
    with pytest.raises(uli.errors.ArgumentError, match="prior_gap"):
        SHARP(schedule="paper", prior_gap=0.1)
    with pytest.raises(uli.errors.ArgumentError, match="known_intercept"):
        SHARP(schedule="paper", known_intercept=False)
    with pytest.raises(uli.errors.ArgumentError, match="form"):
        SHARP(R=1.0).guarantee((4, 2), form="paper")
    with pytest.raises(uli.errors.ArgumentError, match="problem"):
        uli.simulate(SHARP(R=1.0), uli.BernoulliBandit([0.5, 0.4]), 100)
    assert SHARP(schedule="paper").theta_norm == 1.0
    assert SHARP().theta_norm is None


@pytest.mark.parametrize("known_intercept", [True, False])
def test_what_rounding_hides_is_in_f(known_intercept):
    """Three arms differ by 1e-10 of the spread: they are told apart, and F has 1e-8 of it more."""
    problem = uli.LinearBandit([1000.0], [[-1e7], [0.0], [0.0005], [0.001]])
    learner = uli.LinearElimination(0.05, R=1.0, known_intercept=known_intercept)
    runs = uli.simulate(learner, problem, 10**7, 5, seed=1)
    assert runs.holds.all() and (runs.last_mistake(0.1) < 10**5).all()
    assert learner.guarantee(problem).bound(10**12) > 1.0
    near = uli.LinearBandit([0.5, 0.2], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    plain = learner.guarantee((3, 2)).bound(10**6)
    assert learner.guarantee(near).bound(10**6) == pytest.approx(plain, rel=1e-4)


NEAR = [[-5e-10, 5e-10], [-5e-11, 7e-11], [-5e-11, 4e-11], [-2e-11, 2e-11]]


@pytest.mark.parametrize("near", [NEAR, [[-5e-10, 5e-10], [0.0, 0.0]]])
def test_near_copies_do_not_break_f(near):
    """One decision on ranks for designs and least squares; an arm 4 R worse is dropped in time."""
    arms = np.array([[-1, 1], [0, 1], [-0.01, 0], *near])
    problem = uli.LinearBandit([1.0, -1.0], arms, sigma=0.0025)
    runs = uli.simulate(SHARP(0.05, R=0.0025), problem, 10**12, 50, seed=1)
    assert runs.holds.all() and not runs.withdrawn.any() and runs.event_held.mean() > 0.9
    assert runs.final_plays[:, 2].max() < 10**4


def test_the_event_is_no_false_alarm_where_gaps_are_far_above_the_noise():
    problem = uli.LinearBandit([1e14, -3e13], unit_arms(np.random.default_rng(3), 6, 2), sigma=1e-9)
    for known in (True, False):
        runs = uli.simulate(SHARP(0.05, R=1.0, known_intercept=known), problem, 10**6, 50, seed=2)
        assert runs.event_held.all()


def test_the_event_is_no_false_alarm_where_means_are_far_above_the_noise():
    """Their last digits are above R, and lie on no plane: they are what rewards are drawn from."""
    arms = [
        [-58331.63889296592, -29884.6872657327, 254131.7498296907],
        [-58331.56535066768, -29884.527774799637, 254131.75592789007],
        [-58331.00637310921, -29884.244902990307, 254129.31184032705],
        [-58330.92917169371, -29884.16055784281, 254129.09788226162],
        [-58330.08665973264, -29883.85944449003, 254125.06158450074],
        [-58330.86753126191, -29884.158108266736, 254128.75178137046],
    ]
    theta = [-7.8047595970602234e10, 3.6978297959275261e10, -1.3624853060574158e10]
    problem = uli.LinearBandit(theta, arms, sigma=2e-12)
    runs = uli.simulate(SHARP(0.05, R=2e-3), problem, 10**4, 3, seed=1)
    assert runs.event_held.all() and runs.holds.all()


def test_equal_means_have_a_guarantee():
    """Whatever their size: rounding of means is no gap along a direction that arms lack."""
    rng = np.random.default_rng(0)
    for theta in (0.0, 1e9):
        for noise in ("gaussian", "bernoulli", "uniform"):
            arms = np.column_stack([np.full(5, 1.0 / 3.0), rng.standard_normal((5, 2))])
            slope = [theta if noise == "gaussian" else 0.3 * (theta > 0.0), 0.0, 0.0]
            problem = uli.LinearBandit(slope, arms, noise=noise)
            for known in (True, False):
                learner = SHARP(0.05, R=2.0, known_intercept=known)
                assert learner.guarantee(problem).proved
                assert uli.simulate(learner, problem, 1000, 3, seed=1).holds.all()


def test_runs_whose_f_is_withdrawn_say_so(monkeypatch):
    """F counts on looks that are worth something: where they are not, nothing is claimed."""
    problem, learner = uli.LinearBandit([0.5, 0.2], np.eye(2)), SHARP(0.1, R=1.0)
    assert not uli.simulate(learner, problem, 10**4, 4, seed=1).withdrawn.any()

    def hiding(*about):
        lin = new_linear_state(*about)
        lin.facts[kernel.BIAS] = 1e-6  # of the largest gap
        return lin

    monkeypatch.setattr("uli_fast.learners.linear_elimination.new_linear_state", hiding)
    runs = uli.simulate(learner, problem, 10**4, 4, seed=1)
    assert (runs.withdrawn == 17).all() and np.isnan(runs.worst_ratio).all()  # a block ends at 16
    with pytest.raises(NoGuaranteeError, match=r"withdrawn in 4 of 4 .* from round 17 on"):
        assert runs.holds.all()
    ended, began = (uli.simulate(learner, problem, T, 4, seed=1) for T in (16, 17))
    assert not ended.withdrawn.any() and ended.holds.all() and (began.withdrawn == 17).all()
    assert uli.Runs.joined([runs, runs]).withdrawn.size == 8 and runs.first(2).withdrawn.size == 2


def test_means_along_a_flat_direction_are_refused():
    thin = uli.LinearBandit([0.0, 1e16], [[0.0, 0.0], [1.0, 0.0], [1.0, 1e-15]])
    with pytest.raises(NoGuaranteeError, match="hardly"):
        uli.LinearElimination(0.05, R=1.0).guarantee(thin)
