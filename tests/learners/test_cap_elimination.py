"""Elimination by caps: against its twin, F, units, degenerate sets, and runs over random ones."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import uli_fast as uli
from tests.naive import cap_elimination as naive
from uli_fast._support.streams import stream
from uli_fast.errors import ArgumentError, NoGuaranteeError
from uli_fast.formulas.cap_elimination import cap_eta, cap_plays
from uli_fast.learners.cap_elimination import CapPhases
from uli_fast.problems.linear import draw_mean

CAPS = uli.CapElimination


def ellipsoid(rng, d, off=1.0, thinnest=-2.0):
    """Return a set and the center and half-axes that it has."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0] * 10.0 ** rng.uniform(thinnest, 0.5, d)
    return uli.arm_sets.Ellipsoid(off * rng.standard_normal(d), Q)


def ball(rng, d, off=1.0):
    return uli.arm_sets.Ball(d, 10.0 ** rng.uniform(-1.0, 1.0), off * rng.standard_normal(d))


@pytest.mark.parametrize("engine", ["rounds", "skip"])
@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_equals_naive_on_the_same_draws(d, noise, engine):
    rng = np.random.default_rng(d)
    region = ellipsoid(rng, d, 0.1) if d % 2 else ball(rng, d, 0.1)
    chart = region.ball_map()
    axes = chart.axes * np.eye(d) if chart.axes.ndim == 0 else chart.axes
    theta = 0.3 * rng.standard_normal(d) / region.largest_norm() / math.sqrt(d)
    problem = uli.LinearBandit(theta, arm_set=region, noise=noise)
    learner = CAPS(0.1, R=1.0)
    run = learner.begin(learner.on(problem), stream(5, 0), engine, 10**18)
    phases = 2 if engine == "rounds" else 6
    for _ in range(phases):
        run.advance()
    law = problem.law(stream(5, 0), engine)
    twin = naive.play(
        chart.center,
        axes,
        1.0,
        0.1,
        1.0,
        lambda arm, n: draw_mean(problem, law, arm, -1, n, engine),
        phases,
    )
    for m, phase in enumerate(twin, start=1):
        blocks = [b for b in run.log.blocks if b.phase == m]
        assert [b.last - b.first + 1 for b in blocks] == [phase.plays] * (d + 1)
        assert np.array([b.arm for b in blocks]) == pytest.approx(phase.arms, abs=1e-9)
    assert run.phases.theta == pytest.approx(twin[-1].theta, rel=1e-6, abs=1e-9)


def test_the_bound_is_that_of_the_page():
    for d, delta, R, norm in ((1, 0.05, 1.0, None), (5, 0.1, 2.0, 0.5), (20, 0.3, 0.1, 3.0)):
        region = uli.arm_sets.Ball(d, 2.0, np.ones(d))
        bound = CAPS(delta, R=R, theta_norm=norm).guarantee(region)
        unit, largest = (R, math.inf) if norm is None else (2.0 * norm, 4.0 * norm)
        end = 0
        for m in range(1, 6):
            end += (d + 1) * naive.plays(m, d, delta, R, unit)
            for t in (end - 1, end, end + 1):
                assert bound.bound(t) == naive.bound(t, d, delta, R, unit, largest)
        assert bound.rounds_until(2.9 * 0.36**5 * unit * (1 + 1e-9)) == end
    assert CAPS(R=1.0).guarantee(uli.arm_sets.Ball(3)).constants[0].value == 2.9


def test_golden_figures():
    """F averaged near .1, delta = .1, R = 1; and that it is worth it from five dimensions on."""

    def near(learner, d):
        bound, eps = learner.guarantee(uli.arm_sets.Ball(d)), np.geomspace(0.05, 0.2, 12)
        return np.mean([bound.rounds_until(float(e)) * (e / 0.1) ** 2 for e in eps])

    found = [near(CAPS(0.1, R=1.0, theta_norm=1.0), d) for d in (5, 10, 20)]
    assert found == pytest.approx([1.6618e6, 3.8230e6, 9.6358e6], rel=1e-4)
    assert near(CAPS(0.1, R=1.0), 5) == found[0]


def lost(phases, theta):
    """Return whether the best arm is not in the cap."""
    size = float(np.linalg.norm(theta))
    return size > 0.0 and theta @ phases.pole / size < 1.0 - phases.depth - 1e-9


def check_run(learner, problem, chart, seed, phases=9):
    """Play phases and return whether a gap was beyond F, or the best arm was lost."""
    run = learner.begin(learner.on(problem), stream(seed, 0), "skip", 10**18)
    bound, bad = learner.guarantee(problem), False
    inner = np.asarray(
        chart.axes * problem.slope if chart.axes.ndim == 0 else problem.slope @ chart.axes
    )
    size, ground = float(np.linalg.norm(inner)), abs(float(chart.center @ problem.slope))
    for _ in range(phases):
        before = len(run.log.blocks)
        certified = min(run.phases.gap, bound.largest_gap)
        run.advance()
        played = run.log.blocks[before:]
        gaps = problem.gaps_of(np.array([b.arm for b in played]))
        room = 1e-13 * (size + ground)
        limits = [bound.bound(b.last) for b in played]
        assert certified <= max(limits) * (1.0 + 1e-12)
        bad |= bool((gaps > np.array(limits) + room).any() or (gaps > certified + room).any())
        bad |= bool(lost(run.phases, inner))
    return bad


def random_runs(first, last, delta):
    bad = 0
    for seed in range(first, last):
        rng = np.random.default_rng(seed)
        d = (1, 2, 3, 5, 8, 13, 20)[seed % 7]
        off = (0.0, 1.0, 30.0)[seed % 3]
        region = ball(rng, d, off) if seed % 2 else ellipsoid(rng, d, off)
        chart = region.ball_map()
        theta = rng.standard_normal(d) * 10.0 ** rng.uniform(-5.0, 3.0) / chart.longest
        problem = uli.LinearBandit(theta, arm_set=region)
        known = {} if seed % 5 else {"theta_norm": 1.1 * float(np.linalg.norm(theta))}
        phases = 9 if not known else 5
        bad += check_run(CAPS(delta, R=1.0, **known), problem, chart, seed, phases)
    return bad


def test_random_balls_and_ellipsoids():
    assert random_runs(0, 42, 0.3) == 0


@pytest.mark.slow
def test_three_hundred_random_balls_and_ellipsoids():
    bad = random_runs(100, 400, 0.3)
    assert bad <= binom.ppf(0.999, 300, 0.3) and bad == 0  # the bounds of noise are generous


def test_failures_stay_within_delta_when_the_best_arm_is_hardly_better():
    """theta of the size of the errors, where cuts are closest; and noise far beyond R does fail."""
    for sigma, fails in ((1.0, False), (6.0, True)):
        bad = 0
        for seed in range(200):
            rng = np.random.default_rng(seed)
            d = (1, 2, 4)[seed % 3]
            theta = rng.standard_normal(d)
            theta *= 0.36 ** rng.uniform(0.0, 3.0) / np.linalg.norm(theta)
            phases = CapPhases(CAPS(0.5, R=1.0), uli.arm_sets.Ball(d))
            gone = False
            for _ in range(4):
                arms, n, _ = phases.open()
                gaps = float(np.linalg.norm(theta)) - arms @ theta
                gone |= phases.phase > 1 and gaps.max() > phases.gap
                noise = sigma / math.sqrt(n) * rng.standard_normal(d + 1)
                phases.close(arms, n, arms @ theta + noise)
                gone |= lost(phases, theta)
            bad += gone
        assert (bad > 50) if fails else bad <= binom.ppf(0.999, 200, 0.5)
        assert fails or bad == 0


def test_ten_to_the_twelve_rounds_in_twenty_dimensions():
    rng = np.random.default_rng(0)
    theta = rng.standard_normal(20)
    problem = uli.LinearBandit(0.9 * theta / np.linalg.norm(theta), arm_set=uli.arm_sets.Ball(20))
    runs = uli.simulate(CAPS(0.1, R=1.0), problem, 10**12, 3, seed=1)
    assert runs.holds.all() and runs.worst_ratio.max() > 0.5
    assert [len(p.arms) for p in runs.phases[0][:-1]] == [21] * 9
    assert runs.phases[0][-1].last_round == 10**12
    assert all(p.oracle_calls == 0 for p in runs.phases[0])


def test_neither_center_nor_intercept_matters():
    theta = np.array([0.5, 0.2, -0.1])
    paths = []
    for center in (np.zeros(3), np.array([5.0, -3.0, 2.0])):
        phases = CapPhases(CAPS(0.1, R=1.0), uli.arm_sets.Ball(3, 2.0, center))
        rng = np.random.default_rng(1)
        for _ in range(5):
            arms, n, _ = phases.open()
            phases.close(arms, n, arms @ theta + 7.0 + rng.standard_normal(4) / math.sqrt(n))
        paths.append((arms - center, phases.gap))
    assert paths[0][0] == pytest.approx(paths[1][0], abs=1e-9)
    assert paths[0][1] == pytest.approx(paths[1][1], rel=1e-6)


def test_other_units_are_the_same_problem():
    one = uli.LinearBandit([0.5, 0.3], arm_set=uli.arm_sets.Ball(2), sigma=0.5)
    two = uli.LinearBandit([1.5, 0.9], arm_set=uli.arm_sets.Ball(2, radius=10.0), sigma=15.0)
    for first, second in (
        (CAPS(0.1, R=0.5), CAPS(0.1, R=15.0)),
        (CAPS(0.1, R=1.0, theta_norm=0.7), CAPS(0.1, R=30.0, theta_norm=2.1)),
    ):
        a, b = (uli.simulate(le, p, 10**9, 2, seed=3) for le, p in ((first, one), (second, two)))
        assert b.block_arms == pytest.approx(10 * a.block_arms, abs=1e-5)
        # At round 99 of the first phase the second of these is still 2 theta_norm.
        ours, theirs = (g.bound(10**6) for g in (first.guarantee(one), second.guarantee(two)))
        assert theirs == pytest.approx(30 * ours)


def test_the_first_phase_is_bounded_by_what_the_caller_said_alone():
    sphere, theta = uli.arm_sets.Ball(2, 3.0), [0.5, 0.3]
    free = CAPS(0.1, R=1.0).guarantee(sphere)
    assert free.bound(1) == math.inf and free.largest_gap == math.inf
    assert free.bound(free.rounds_until(10.0) + 1) == pytest.approx(2.9 * 0.36)
    assert free.regret(10) == math.inf and 0.0 < free.regret(10, [1.0]) < math.inf
    assert CAPS(0.1, R=1.0, theta_norm=0.6).guarantee(sphere).bound(1) == pytest.approx(3.6)
    coins = uli.LinearBandit(theta, arm_set=uli.arm_sets.Ball(2), noise="bernoulli")
    assert CAPS(0.1).guarantee(coins).bound(1) == 1.0
    assert CAPS(0.1, theta_norm=9.0).guarantee(coins).bound(1) == 1.0
    problem = uli.LinearBandit(theta, arm_set=sphere)
    with pytest.raises(NoGuaranteeError, match="theta_norm"):
        CAPS(0.1, R=1.0, theta_norm=0.5).guarantee(problem)
    with pytest.raises(NoGuaranteeError, match="R = 1"):
        CAPS(0.1, R=0.5).guarantee(problem)
    runs = uli.simulate(CAPS(0.1, R=1.0), problem, 10**6, 2, seed=1)
    assert runs.holds.all() and runs.guarantee.bound(1) == math.inf


def test_no_slope_at_all_is_the_whole_ball():
    phases = CapPhases(CAPS(0.1, R=1.0), uli.arm_sets.Ball(3))
    arms, n, _ = phases.open()
    phases.close(arms, n, np.full(4, 0.7))
    assert phases.depth == math.inf and phases.gap == pytest.approx(2.9 * 0.36)
    again, _, _ = phases.open()
    assert again.tolist() == arms.tolist()
    problem = uli.LinearBandit([0.0, 0.0], arm_set=uli.arm_sets.Ball(2))
    runs = uli.simulate(CAPS(0.1, R=1.0), problem, 10**12, 2, seed=1)
    assert (runs.regret == 0.0).all() and runs.holds.all()


FLAT = {
    "interval": (uli.arm_sets.Ball(1, 2.0, [3.0]), [0.7], 1),
    "flat": (
        uli.arm_sets.Ellipsoid([1.0, 0.0, 0.0], [[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]]),
        [0.5, 0.3, 9.0],
        2,
    ),
    "wide": (uli.arm_sets.Ellipsoid([0.0, 0.0], [[1.0, 0.0, 0.5], [0.0, 0.5, 0.1]]), [0.5, 0.3], 2),
    "segment": (uli.arm_sets.Ellipsoid([0.0, 1.0], [[1.0, 2.0], [1.0, 2.0]]), [0.5, 0.3], 1),
}


@pytest.mark.parametrize("name", FLAT)
def test_flat_sets_are_balls_of_a_smaller_dimension(name):
    region, theta, k = FLAT[name]
    problem = uli.LinearBandit(theta, arm_set=region)
    runs = uli.simulate(CAPS(0.05, R=1.0), problem, 10**12, 2, seed=1)
    assert runs.holds.all() and (runs.mistakes(0.1) < 10**7).all()
    assert runs.guarantee.parameters["d"] == k
    for phase in runs.phases[0][:-1]:
        assert len(phase.arms) == k + 1
        assert all(region.contains(arm) for arm in phase.arms)


@pytest.mark.parametrize("name", FLAT)
def test_a_ball_map_has_the_set_as_its_image(name):
    region, _, k = FLAT[name]
    chart, rng = region.ball_map(), np.random.default_rng(0)
    for _ in range(20):
        u = rng.standard_normal(region.dimension)
        _, top = region.maximize(u)
        reach = np.linalg.norm(u * chart.axes if chart.axes.ndim == 0 else u @ chart.axes)
        assert u @ chart.center + reach == pytest.approx(top, rel=1e-9)
    assert chart.longest == pytest.approx(region.largest_norm() - np.linalg.norm(chart.center))
    assert chart.dimension == k


def test_what_is_realised_is_often_below_what_is_proved():
    phases, below = CapPhases(CAPS(0.1, R=1.0), uli.arm_sets.Ball(3)), []
    theta, rng = np.array([0.05, 0.02, 0.0]), np.random.default_rng(2)
    for _ in range(8):
        arms, n, _ = phases.open()
        phases.close(arms, n, arms @ theta + rng.standard_normal(4) / math.sqrt(n))
        below.append(phases.gap / (2.9 * 0.36**phases.phase))
    assert max(below) <= 1.0 + 1e-12 and min(below) < 0.9


def test_plays_grow_without_overflow():
    for R in (1e-9, 1.0, 1e9):
        plays = [cap_plays(m, 5, 0.05, R) for m in range(1, 200)]
        assert plays[0] >= 1 and plays == sorted(plays)
    assert (
        CAPS(R=1e90, theta_norm=1e-90).resolved((None, None)).phase_plays(3, 2, 1e-90) == 4 * 10**18
    )
    assert cap_eta(10**6) > 0.0
    assert CAPS(R=1.0, theta_norm=1e-90).guarantee(uli.arm_sets.Ball(2)).bound(10**18) == 2e-90


def test_wrong_sets_are_typed_errors():
    for arms in (np.eye(2), uli.arm_sets.Box([0.0], [1.0]), uli.arm_sets.Simplex(3)):
        with pytest.raises(ArgumentError, match="SpannerElimination") as caught:
            CAPS(R=1.0).start(arms)
        assert caught.value.argument == "arms"
    for problem in (
        uli.LinearBandit([0.5, 0.1], np.eye(2)),
        uli.LinearBandit([0.5, 0.1], arm_set=uli.arm_sets.L1Ball(2)),
    ):
        with pytest.raises(ArgumentError, match="Ellipsoid") as caught:
            uli.simulate(CAPS(R=1.0), problem, 10)
        assert caught.value.argument == "problem"
        with pytest.raises(ArgumentError, match="Ellipsoid") as caught:
            CAPS(R=1.0).guarantee(problem)
        assert caught.value.argument == "about"
    with pytest.raises(ArgumentError, match="single point"):
        CAPS(R=1.0).start(uli.arm_sets.Ellipsoid([1.0, 2.0], np.zeros((2, 2))))
    for about in (None, 3, (10, 2), "ball"):
        with pytest.raises(ArgumentError, match="about"):
            CAPS(R=1.0).guarantee(about)
    with pytest.raises(ArgumentError, match="R"):
        CAPS().guarantee(uli.arm_sets.Ball(2))
    with pytest.raises(ArgumentError, match="theta_norm"):
        CAPS(theta_norm=0.0)


def test_save_load_table_and_plot(tmp_path):
    """F is infinite in the first phase: files and pictures can do with that."""
    problem = uli.LinearBandit([0.5, 0.1], arm_set=uli.arm_sets.Ball(2))
    result = uli.compare([CAPS(0.1, R=1.0)], problem, 10**9, 2, seed=1)
    runs = result["CapElimination"]
    result.table()
    result.plot(tmp_path / "gap.png")
    runs.save(tmp_path / "runs")
    loaded = uli.Runs.load(tmp_path / "runs")
    assert (loaded.worst_ratio == runs.worst_ratio).all() and loaded.guarantee == runs.guarantee


def test_means_along_a_half_axis_that_is_rounding_are_refused():
    """It is left out of the ball, and a long theta would have its whole gap there."""
    flat, learner = uli.arm_sets.Ellipsoid([0.0, 0.0], [[1.0, 0.0], [0.0, 1e-17]]), CAPS(0.1, R=1.0)
    with pytest.raises(uli.errors.NoGuaranteeError, match="half-axis"):
        learner.guarantee(uli.LinearBandit([0.0, 1e18], arm_set=flat))
    assert learner.guarantee(uli.LinearBandit([1.0, 1.0], arm_set=flat)).proved
    thin = uli.arm_sets.Ellipsoid([0.0, 0.0], [[1.0, 0.0], [0.0, 1e-12]])
    assert learner.guarantee(uli.LinearBandit([0.0, 1e13], arm_set=thin)).parameters["d"] == 2


@pytest.mark.parametrize("length", [1.0, 1e4, 1e12])
def test_a_theta_too_long_for_its_digits_withdraws_f(length):
    """The last digit of an arm is worth 1e-16 |theta|: F must not fall below it."""
    ball = uli.arm_sets.Ellipsoid([1.0, -2.0], [[1.0, 0.3], [0.2, 0.5]])
    problem = uli.LinearBandit([0.6 * length, 0.8 * length], arm_set=ball, sigma=1e-6)
    learner = uli.CapElimination(0.05, R=1.0)
    runs = uli.simulate(learner, problem, 10**12, seed=1)
    assert bool(runs.withdrawn[0]) == (length > 1e9)
    phases, best = CapPhases(learner, ball), problem.optimal_value
    for _ in range(10):
        arms, n, _ = phases.open()
        assert (best - arms @ problem.theta <= phases.gap).all()
        phases.close(arms, n, arms @ problem.theta)
    assert phases.in_time == (length < 1e9) and phases.gap < math.inf
