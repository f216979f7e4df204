"""PE on arm sets: the regression of the dropped box, bounds on random sets, degenerate ones."""

import math
from functools import partial

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import spanner_elimination as naive
from uli_fast._support.streams import stream
from uli_fast.geometry.least_squares import ridge
from uli_fast.learners import spanner_elimination as module
from uli_fast.learners.spanner_elimination import SpannerRun

# The paper's pseudocode loses the best of these arms in one run of six.
TRAP = np.array([[1.0, 0.0], [1.0 - 1e-6, 1e-3], [0.0, 1.0]])
MODES = ("soft", "paper")
# The paper's schedule in both modes, and ours.
WAYS = {
    "sharp": {},
    "soft": {"schedule": "paper"},
    "paper": {"schedule": "paper", "mode": "paper"},
}
paper = partial(uli.SpannerElimination, schedule="paper")


def allowed(way, m):
    """Return G(m): no arm of phase m has a larger gap, on the event."""
    return 2 * 0.6 ** (m - 1) if way == "sharp" else 4 * 2.0**-m


def horizon_of(learner, d, phases):
    sizes = [math.ceil(learner.phase_size(m, d, 1.0) / d) for m in range(1, phases + 1)]
    return sum(d * n for n in sizes)


def lost_or_beyond(history, theta):
    gap = theta[0]  # the best arm is (1, 0), the trap's theta (.5, 0)
    for m, (arms, kept) in enumerate(history, start=1):
        if not kept or (gap - arms @ theta).max() > 4 * 2.0**-m + 1e-12:
            return True
    return False


def test_the_literal_pseudocode_fails_on_the_trap():
    theta = np.array([0.5, 0.0])
    rng = np.random.default_rng(1)
    bad = [
        lost_or_beyond(naive.play(TRAP, theta, 8, 0.1, 1.1, rng, literal=True), theta)
        for _ in range(100)
    ]
    assert np.mean(bad) >= 0.1
    good = [lost_or_beyond(naive.play(TRAP, theta, 8, 0.1, 1.1, rng), theta) for _ in range(100)]
    assert not any(good)


@pytest.mark.parametrize("way", WAYS)
def test_the_trap_is_escaped_in_four_hundred_runs(way):
    problem = uli.LinearBandit([0.5, 0.0], TRAP)
    learner = uli.SpannerElimination(0.1, C=1.1, R=1.0, **WAYS[way])
    for r in range(400):
        run = SpannerRun(learner.on(problem), stream(1, r), "skip", 10**18)
        for m in range(1, 9):
            run.advance()
            played = np.array([block.arm for block in run.log.blocks if block.phase == m])
            assert (0.5 - played @ problem.theta).max() <= allowed(way, m)
        oracle, _, _ = run.phases.active(9)
        assert oracle.maximize(np.array([1.0, 0.0]))[0][0] == 1.0


def random_set(name, d, rng):
    if name == "ball":
        return uli.arm_sets.Ball(d)
    if name == "ellipsoid":
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        return uli.arm_sets.Ellipsoid(np.zeros(d), Q * 10.0 ** rng.uniform(-2, 0, d))
    if name == "box":
        return uli.arm_sets.Box(-rng.uniform(0.1, 1, d), rng.uniform(0.1, 1, d))
    if name == "simplex":
        return uli.arm_sets.Simplex(d)
    if name == "l1":
        return uli.arm_sets.L1Ball(d)
    if name == "polytope":
        G = rng.standard_normal((4 * d, d))
        rows = np.vstack([G, np.eye(d), -np.eye(d)])
        return uli.arm_sets.Polytope(
            rows, np.concatenate([rng.uniform(0.3, 0.6, 4 * d), np.ones(2 * d)])
        )
    if name == "convex":  # a ball without a cap, as cvxpy describes it
        import cvxpy

        return uli.arm_sets.Convex(lambda x: [cvxpy.norm(x) <= 1.0, x[0] <= 0.5], d)
    points = rng.standard_normal((60, d))
    return uli.arm_sets.Finite(points / np.linalg.norm(points, axis=1, keepdims=True))


NAMES = ("finite", "ball", "ellipsoid", "box", "simplex", "l1", "polytope")


def check_instance(name, d, C, mode, seed, horizon=10**12, looked=range(11)):
    rng = np.random.default_rng(seed)
    region = random_set(name, d, rng)
    theta = rng.standard_normal(d)
    theta *= rng.uniform(0.3, 1.0) / np.linalg.norm(theta)
    problem = uli.LinearBandit(theta, arm_set=region, sigma=0.8)
    learner = paper(0.05, C=C, mode=mode, R=1.0)
    runs = uli.simulate(learner, problem, horizon, 1, seed=seed)
    assert runs.holds.all(), "gap <= F at the last round of every block"
    size = region.largest_norm()
    for phase in runs.phases[0]:
        assert phase.gaps.max() <= 4 * 2.0**-phase.number * size * (1 + 1e-6)
        limit = d / 2 * math.log(learner.phase_size(phase.number, d, size)) / math.log(C) + d
        assert phase.swaps <= limit
        assert phase.oracle_calls <= 2 * d * (2 + phase.swaps) + 1
    spanner_is_one(learner, problem, seed, looked)


def spanner_is_one(learner, problem, seed, looked):
    """Every spanner that is looked at, on its own active set, by another solver."""
    run = SpannerRun(learner.on(problem), stream(seed, 0), "skip", 10**18)
    for i in range(11):  # 10^12 rounds and more
        oracle, _, _ = run.phases.active(run.phases.phase + 1)
        run.advance()
        if hasattr(oracle, "box"):
            best, _ = run.phases.region.maximize(problem.theta)
            for V, b in (oracle.cut, oracle.box):
                assert (V @ best <= b + 1e-7).all(), "the best arm is never lost"
        if i not in looked:
            continue
        largest = 0.0
        real = run.phases.spanner.real
        rows = run.phases.spanner.inverse if learner.mode == "soft" else None
        for row in run.phases.spanner.inverse[real] if rows is None else rows:
            length = np.linalg.norm(row)
            for sign in (1.0, -1.0):
                point, _ = independent(oracle, run.phases.region, sign * row / length)
                largest = max(largest, abs(float(row @ point)))
        assert largest <= learner.C * (1 + 1e-6)


def independent(oracle, region, u):
    """Maximise over the active set with another solver than the oracle's own.

    That is cvxpy; on the flattest slices of a ball it may not get within tolerance of its own
    bound, and then Clarabel alone has to.
    """
    import copy

    if isinstance(region, uli.arm_sets.Finite):
        keep = np.ones(len(region.points), dtype=bool)
        for V, b in (oracle.cut, oracle.box) if hasattr(oracle, "box") else ():
            keep &= (region.points @ V.T <= b + 1e-9).all(axis=1)
        point = max(region.points[keep], key=lambda a: u @ a)
        return point, float(u @ point)
    le = None
    if hasattr(oracle, "box"):
        le = tuple(map(np.concatenate, zip(oracle.cut, oracle.box, strict=True)))
    other = copy.copy(region)
    other.backend = "cvxpy"
    try:
        return other.maximize(u, le=le)
    except uli.errors.OracleError:
        if "clarabel" not in region.backends:
            raise
    other.backend = "clarabel"
    return other.maximize(u, le=le)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", MODES)
def test_random_sets(name, mode):
    for i, (d, C) in enumerate(((2, 1.2), (3, 1.05), (5, 2.0))):
        check_instance(name, d, C, mode, seed=i, looked=(0, 1, 2, 5, 10))


def test_a_convex_set_of_ones_own():
    check_instance("convex", 2, 1.2, "soft", seed=3, horizon=10**9)


@pytest.mark.slow
@pytest.mark.parametrize("name", (*NAMES, "convex"))
@pytest.mark.parametrize("mode", MODES)
def test_two_hundred_random_sets(name, mode):
    for i in range(15):
        d, C = (2, 3, 5, 8)[i % 4], (1.05, 1.2, 2.0)[i % 3]
        check_instance(name, d, C, mode, seed=100 + i)


DEGENERATE = {
    "optimal arm 0": (uli.arm_sets.Box([-1.0, -1.0], [0.0, 0.0]), [0.7, 0.5]),
    "proper subspace": (np.array([[0.5, 0.5, 0.0], [0.2, -0.4, 0.0], [-0.3, 0.1, 0.0]]), [0.3] * 3),
    "face": (uli.arm_sets.Simplex(3), [0.5, 0.5, -0.5]),
    "duplicates": (np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), [0.5, 0.2]),
    "K < d": (np.array([[1.0, 0.0, 0.0], [0.0, 0.7, 0.0]]), [0.5, 0.2, 0.1]),
    "d = 1": (uli.arm_sets.Box([-0.5], [1.0]), [0.7]),
    "single arm": (np.array([[0.3, 0.4]]), [0.5, 0.5]),
    "the origin alone": (np.zeros((2, 2)), [0.5, 0.5]),
    "flat ellipsoid": (
        uli.arm_sets.Ellipsoid([0.0, 0.0, 0.0], [[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]]),
        [0.5, 0.3, 0.2],
    ),
    "redundant rows": (
        uli.arm_sets.Polytope(
            np.vstack([np.eye(2), -np.eye(2), np.eye(2), [[1.0, 1.0]]]),
            [1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 2.0],
        ),
        [0.5, 0.2],
    ),
    "nearly parallel": (np.array([[1.0, 0.0], [1.0 - 5e-13, 1e-6], [0.5, 0.0]]), [0.8, 0.1]),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("way", WAYS)
def test_degenerate_sets(name, way):
    region, theta = DEGENERATE[name]
    problem = uli.LinearBandit(theta, arm_set=region)
    learner = uli.SpannerElimination(0.05, R=1.0, **WAYS[way])
    runs = uli.simulate(learner, problem, 10**15, 2, seed=1)
    assert runs.holds.all()
    assert (runs.mistakes(0.5) < 10**15 / 10).all()
    for row in runs.phases:
        assert row[0].first_round == 1
        assert row[-1].last_round == 10**15
        size = uli.arm_sets.as_arm_set(region).largest_norm() or 1.0
        assert all(p.gaps.max() <= allowed(way, p.number) * size * (1 + 1e-6) for p in row)


@pytest.mark.parametrize("way", WAYS)
def test_finite_arms_are_counted_by_arm(way):
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    problem = uli.LinearBandit([0.5, 0.1], arms)
    learner = uli.SpannerElimination(0.05, R=1.0, **WAYS[way])
    runs = uli.simulate(learner, problem, 10**10, 3, seed=1)
    assert runs.eliminated_at is None
    assert runs.plays is None
    assert (runs.final_plays.sum(axis=1) == 10**10).all()
    assert runs.last_play.max() == 10**10
    assert runs.regret[:, -1] == pytest.approx(runs.final_plays @ problem.gaps)
    assert runs.final_regret() == pytest.approx(runs.regret[:, -1])
    other = uli.simulate(uli.LinearElimination(0.05, R=1.0), problem, 10**10, 3, seed=1)
    assert other.plays is not None


NUMBERED = {
    "random": np.random.default_rng(3).uniform(-1.0, 1.0, (40, 3)),
    "twice there": np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    "next to each other": np.array([[1.0 - 1e-15, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.5]]),
    "the origin": np.zeros((3, 2)),
}


@pytest.mark.parametrize("name", NUMBERED)
@pytest.mark.parametrize("way", WAYS)
def test_arms_keep_their_numbers(name, way):
    """The row that the oracle answered with is the one that counts, and of equal ones the first."""
    arms = NUMBERED[name]
    problem = uli.LinearBandit(np.full(arms.shape[1], 0.3), arms)
    learner = uli.SpannerElimination(0.1, R=1.0, **WAYS[way])
    run = SpannerRun(learner.on(problem), stream(1, 0), "skip", 10**12)
    while not run.advance():
        pass
    first = {arm.tobytes(): a for a, arm in reversed(list(enumerate(arms)))}
    assert run.log.blocks and {b.number for b in run.log.blocks} <= set(first.values())
    for block in run.log.blocks:
        assert block.number == first[block.arm.tobytes()]


@pytest.mark.parametrize("way", WAYS)
def test_same_path_for_any_company_horizon_and_rounds(way):
    problem = uli.LinearBandit([0.5, 0.1, 0.2], arm_set=uli.arm_sets.Ball(3), noise="bernoulli")
    learner = uli.SpannerElimination(0.05, R=1.0, **WAYS[way])
    one = uli.simulate(learner, problem, 10**9, 4, seed=2)
    two = uli.simulate(learner, problem, 10**9, 6, seed=2, n_jobs=2, rounds=[5, 10**6])
    assert (one.block_arms == two.block_arms[:4, : one.block_arms.shape[1]]).all()
    long = uli.simulate(learner, problem, 10**11, 4, seed=2, rounds=one.rounds)
    assert long.regret == pytest.approx(one.regret, rel=1e-12)
    assert (long.block_arms[:, : one.block_arms.shape[1]] == one.block_arms).all()


def test_rounds_and_skip_agree_in_law():
    from scipy.stats import ks_2samp

    arms = np.array([[1.0, 0.0], [0.0, 1.0]])
    problem = uli.LinearBandit([0.5, -0.3], arms, sigma=1.0)
    learner = paper(0.2, C=1.01, R=1.0)
    theta = {}
    for engine, seed in (("skip", 1), ("rounds", 2)):
        values = []
        for r in range(200):
            run = SpannerRun(learner.on(problem), stream(seed, r), engine, 10**18)
            run.advance()
            values.append(run.phases.theta[0])
        theta[engine] = values
    assert ks_2samp(theta["skip"], theta["rounds"]).pvalue > 1e-3
    uniform = uli.LinearBandit([0.5, -0.3], arms, noise="uniform")
    assert uli.simulate(learner, uniform, 10**5, seed=1).engine == "rounds"
    with pytest.raises(uli.errors.EngineError):
        uli.simulate(learner, uniform, 10**5, seed=1, engine="skip")


@pytest.mark.parametrize("way", ["sharp", "soft"])
def test_save_load_table_and_plot(tmp_path, way):
    problem = uli.LinearBandit([0.5, 0.1], arm_set=uli.arm_sets.Ball(2))
    learner = uli.SpannerElimination(0.1, R=1.0, **WAYS[way])
    result = uli.compare([learner], problem, 10**9, 2, seed=1)
    runs = result["SpannerElimination"]
    result.table()
    result.plot(tmp_path / "gap.png")
    runs.to_pandas()
    runs.save(tmp_path / "runs")
    loaded = uli.Runs.load(tmp_path / "runs")
    assert (loaded.worst_ratio == runs.worst_ratio).all()
    assert loaded.last_play is None
    assert (loaded.phases[1][2].arms == runs.phases[1][2].arms).all()
    assert (loaded.regret == runs.regret).all()
    assert loaded.mistakes(0.01).tolist() == runs.mistakes(0.01).tolist()


def test_the_bound():
    d, C, delta, t = 3, 1.2, 0.1, 10**8
    ball = uli.arm_sets.Ball(d)
    bound = paper(delta, C, R=1.0).guarantee(ball, form="paper").bound(t)
    log_term = math.log(4 * d**3 * (t + 1) ** 2 / delta)
    assert bound == pytest.approx(math.sqrt(32768 * C**4 * d**3 * log_term / (3 * t)))
    # Published to two digits: F > 1 until 4.7e6, F > .1 until 5.9e8 at d = 2, C = 1.1.
    known = paper(0.1, 1.1, R=1.0).guarantee((100, 2), form="paper")
    assert known.rounds_until(1.0) == pytest.approx(4.7e6, rel=0.02)
    assert known.rounds_until(0.1) == pytest.approx(5.9e8, rel=0.02)
    noisy = paper(delta, C, R=3.0).guarantee(ball, form="paper").bound(t)
    assert noisy == pytest.approx(3 * bound)


@pytest.mark.parametrize("way", ["sharp", "soft"])
def test_other_units_are_the_same_problem(way):
    one = uli.LinearBandit([0.5, 0.3], arm_set=uli.arm_sets.Ball(2), sigma=0.5)
    two = uli.LinearBandit([1.5, 0.9], arm_set=uli.arm_sets.Ball(2, radius=10.0), sigma=15.0)
    first = uli.SpannerElimination(0.1, R=1.0, **WAYS[way])
    second = uli.SpannerElimination(0.1, R=30.0, theta_norm=3.0, **WAYS[way])
    a, b = (uli.simulate(le, p, 10**9, 2, seed=3) for le, p in ((first, one), (second, two)))
    assert b.block_arms == pytest.approx(10 * a.block_arms, abs=1e-5)
    assert second.guarantee(two).bound(99) == pytest.approx(30 * first.guarantee(one).bound(99))
    with pytest.raises(uli.errors.NoGuaranteeError, match="theta_norm"):
        first.guarantee(uli.LinearBandit([1.5, 0.9], arm_set=uli.arm_sets.Ball(2)))
    with pytest.raises(uli.errors.NoGuaranteeError, match="R = 2"):
        first.guarantee(uli.LinearBandit([0.5, 0.3], arm_set=uli.arm_sets.Ball(2), sigma=2.0))


@pytest.mark.parametrize("way", ["sharp", "soft"])
def test_an_oracle_that_lies_about_its_size_is_found_out(way):
    class Liar:
        dimension = 2

        def largest_norm(self):
            return 0.01

        def maximize(self, u, eq=None, le=None):
            return uli.arm_sets.Ball(2).maximize(u, eq=eq, le=le)

    problem = uli.LinearBandit([0.5, 0.1], arm_set=Liar())
    learner = uli.SpannerElimination(R=100.0, theta_norm=100.0, **WAYS[way])
    with pytest.raises(uli.errors.OracleError, match="largest_norm"):
        uli.simulate(learner, problem, 10**6, seed=1)


def test_a_nearly_flat_set_keeps_its_best_arm_in_both_modes():
    """The best arm is 5e-8 off the span of the other: what one test lets pass, all must."""
    arms = np.array([[-1.0, 0.0], [0.9, 5e-8]])
    for way in WAYS.values():
        runs = uli.simulate(
            uli.SpannerElimination(0.05, R=1.0, **way),
            uli.LinearBandit([1.0, 0.0], arms),
            10**12,
            3,
            seed=1,
        )
        assert runs.holds.all()
        assert (runs.last_play[:, 1] == 10**12).all()


def test_phases_last_as_long_as_the_paper_says():
    for C, d, m, delta, R in ((1.2, 3, 1, 0.05, 1.0), (2.0, 5, 4, 0.1, 0.3), (1.1, 2, 2, 0.1, 3.0)):
        T = 256 * C**4 * d**3 * 4**m * math.log(d**3 * 4**m / delta) * max(1.0, R * R)
        learner = paper(delta, C, R=R)
        assert learner.phase_size(m, d, 1.0) == pytest.approx(T)
        phases = module.SpannerPhases(learner, uli.arm_sets.Ball(d))
        for _ in range(m):
            arms, n, _ = phases.open()
            phases.close(arms, n, np.zeros(len(arms)))
        assert n == math.ceil(T / d)
        assert len(arms) == d


def test_the_estimate_is_ridge_regression():
    rng = np.random.default_rng(1)
    for n in (1, 7, 10**6):
        arms, means = rng.standard_normal((3, 4)) / 3, rng.standard_normal(3)
        V = np.eye(4) + n * arms.T @ arms
        assert ridge(arms, n, means) == pytest.approx(np.linalg.solve(V, n * arms.T @ means))


def test_placeholders_are_as_short_as_the_proof_asks():
    phases = module.SpannerPhases(paper(0.05, R=1.0), uli.arm_sets.Finite([[1.0, 0.0]]))
    phases.open()
    T = phases.learner.phase_size(1, 2, 1.0)
    column = phases.spanner.columns[:, ~phases.spanner.real]
    assert np.linalg.norm(column) == pytest.approx(1 / math.sqrt(T))


@pytest.mark.parametrize("m", [2, 5])
def test_the_active_set_is_cut_where_it_should_be(m):
    """Arms on a segment towards the best one: those within 2^(1-m) of it stay."""
    steps = np.linspace(0.0, 1.0, 2001)
    arms = np.column_stack([steps, np.zeros_like(steps)])
    arms = np.vstack([arms, [[0.0, 1.0], [0.0, -1.0]]])
    phases = module.SpannerPhases(paper(0.05, R=1.0), uli.arm_sets.Finite(arms))
    phases.open()
    phases.theta = np.array([1.0, 0.0])
    oracle, best, _ = phases.active(m)
    assert best.tolist() == [1.0, 0.0]
    lowest, _ = oracle.maximize(np.array([-1.0, 0.0]))
    assert lowest[0] == pytest.approx(1.0 - 2.0 ** (1 - m), abs=1e-3)


def test_problems_can_be_copied():
    import copy

    for problem in (
        uli.LinearBandit([0.5, 0.1], np.eye(2)),
        uli.LinearBandit([0.5, 0.1], arm_set=uli.arm_sets.Ball(2)),
    ):
        assert repr(copy.deepcopy(problem)) == repr(problem)
        assert repr(copy.copy(problem)) == repr(problem)


def test_bad_input():
    ball = uli.arm_sets.Ball(2)
    for wrong in (1.0, 0.5, math.nan, "2", 1e100):
        with pytest.raises(uli.errors.ArgumentError, match="C"):
            paper(C=wrong, R=1.0)
    for wrong in ({"mode": "hard"}, {"mode": "paper"}, {"schedule": "paper", "mode": "hard"}):
        with pytest.raises(uli.errors.ArgumentError, match="mode"):
            uli.SpannerElimination(R=1.0, **wrong)
    with pytest.raises(uli.errors.ArgumentError, match="schedule"):
        uli.SpannerElimination(schedule="soft", R=1.0)
    with pytest.raises(uli.errors.ArgumentError, match="form"):
        uli.SpannerElimination(R=1.0).guarantee(ball, form="paper")
    with pytest.raises(uli.errors.ArgumentError, match="theta"):
        uli.LinearBandit([1.0, 0.0, 0.0], arm_set=ball)
    with pytest.raises(uli.errors.ArgumentError, match="theta"):
        uli.LinearBandit([2.0, 0.0], arm_set=ball, noise="bernoulli")
    with pytest.raises(uli.errors.ArgumentError, match="arms"):
        uli.LinearBandit([1.0, 0.0])
    with pytest.raises(uli.errors.ArgumentError, match="problem"):
        uli.simulate(paper(R=1.0), uli.BernoulliBandit([0.5]), 10)
    with pytest.raises(uli.errors.ArgumentError, match="problem"):
        uli.simulate(uli.UCB(), uli.LinearBandit([0.5, 0.1], arm_set=ball), 10)
