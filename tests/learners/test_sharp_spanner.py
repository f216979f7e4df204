"""The sharp schedule of spanner elimination: the page, the event's edge, every kind of set."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import uli_fast as uli
from tests.learners.test_spanner_elimination import NAMES, TRAP, independent, random_set
from tests.naive import spanner_elimination as naive
from uli_fast._support.streams import stream
from uli_fast.guarantees.spanner_blocks import SpannerSize
from uli_fast.learners.spanner_elimination import SpannerRun

SHARP = uli.SpannerElimination


def unit(rng, d):
    v = rng.standard_normal(d)
    return v / np.linalg.norm(v)


def cloud(rng, K, d):
    arms = rng.standard_normal((K, d)) * 10.0 ** rng.uniform(-1.5, 0.0, d)
    return arms / np.linalg.norm(arms, axis=1).max()


# The page.


@pytest.mark.parametrize("seed", range(16))
def test_phases_equal_the_page(seed):
    """Arms, plays, errors and active sets, with the same noise."""
    rng = np.random.default_rng(seed)
    d, C, delta, R = 1 + seed % 4, (1.05, 1.2, 2.0)[seed % 3], (0.05, 0.9)[seed % 2], 0.5 + seed % 3
    arms, theta = cloud(rng, 25, d), 0.9 * unit(rng, d)
    if seed % 5 == 0 and d > 1:  # thin in a direction: placeholders stay for a while
        arms[:, -1] *= 1e-3
    noise = rng.standard_normal((9, d))
    phases = SHARP(delta, C, R=R).phases(uli.arm_sets.Finite(arms))
    phases.size = phases.scale = 1.0  # the longest arm has norm 1 up to rounding

    def means_of(m, played, n):
        return played @ theta + R / math.sqrt(n) * noise[m - 1, : len(played)]

    hidden = 0
    for m, (played, n, error, active) in enumerate(
        naive.sharp_play(arms, 9, delta, C, R, means_of), start=1
    ):
        oracle, _, _ = phases.active(m)
        kept = oracle.oracle.indices if m > 1 else np.arange(len(arms))
        assert kept.tolist() == np.flatnonzero(active).tolist()
        ours, plays, _ = phases.open()
        real = phases.spanner.real
        hidden += int((~real).sum())
        if real.any():
            assert ours == pytest.approx(played)
        assert plays == pytest.approx(n, rel=1e-6, abs=1)
        phases.close(ours, plays, means_of(m, ours, n) if real.any() else np.zeros(1))
        assert phases.error == pytest.approx(error, rel=1e-4)
    assert hidden or seed % 5 or d == 1


def test_golden_figures():
    until = lambda d, C: SHARP(0.05, C, R=1.0).guarantee((9, d)).rounds_until(0.1)  # noqa: E731
    assert [until(d, 1.2) for d in (2, 3, 5, 10)] == [240_430, 551_937, 1_624_725, 7_596_900]
    assert [until(d, 1.05) for d in (2, 3)] == [184_078, 422_580]
    paper = SHARP(0.05, schedule="paper", R=1.0).guarantee((9, 2))
    assert paper.rounds_until(0.1) > 250 * until(2, 1.2)


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_is_the_one_from_the_page(seed):
    rng = np.random.default_rng(seed)
    d, C, delta = int(rng.integers(1, 12)), rng.uniform(1.05, 2.0), 10 ** rng.uniform(-9, -0.1)
    R, ends = 10 ** rng.uniform(-2.0, 1.0), [0]
    bound = SHARP(delta, C, R=R).guarantee((9, d))
    for m in range(1, 12):
        Q = naive.quantile([2 * C] * d, math.log(m * (m + 1) / delta))
        ends.append(ends[-1] + d * math.ceil((R * Q / (0.95 * 0.6**m)) ** 2))
        early, late = (int(ends[-1] * (1 + sign * 1e-6)) + sign * d * m for sign in (-1, 1))
        assert bound.bound(max(1, early)) >= 2 * 0.6 ** (m - 1) * (1 - 1e-12)
        assert bound.bound(late) <= 2 * 0.6**m * (1 + 1e-12)
    assert bound.bound(1) == 2.0


# Every kind of set.


def follow(learner, problem, seed, phases, looked=()):
    """Play phases; hold each to F, to its own bound, and to what its proof says of it."""
    run = SpannerRun(learner.on(problem), stream(seed, 0), "skip", 10**18)
    inside, bound = run.phases, learner.guarantee(problem)
    best = inside.region.maximize(problem.theta)[0]
    top, d = float(problem.slope @ best), problem.dimension
    for m in range(1, phases + 1):
        oracle, _, _ = inside.active(m)
        ended = run.advance()
        blocks = [b for b in run.log.blocks if b.phase == m]
        gaps = np.array([top - problem.slope @ b.arm for b in blocks])
        assert all(g <= bound.bound(b.last) + 1e-9 for g, b in zip(gaps, blocks, strict=True))
        assert gaps.max() <= inside.gap * inside.scale + 1e-9
        assert inside.gap <= 2 * 0.6 ** (m - 1) + 1e-12  # as means are rounded
        size = SpannerSize(m, d, learner.C, learner.delta, learner.R / inside.scale)
        assert blocks[-1].last - blocks[0].first < d * size.most
        assert run.log.work[-1].oracle_calls <= 2 * d * (2 + run.log.work[-1].swaps) + 1
        if hasattr(oracle, "box"):
            for V, b in (oracle.cut, oracle.box):
                assert (V @ best <= b + 1e-9 * np.maximum(1.0, np.abs(b))).all(), "it is lost"
        if m in looked:
            ends_hold(oracle, inside, learner.C)
        if ended:
            return


def ends_hold(oracle, inside, C):
    """No coefficient of an active arm lies outside what the phase counts on, by another solver."""
    assert (inside.high - inside.low <= 2 * C * 1.05).all()
    for row, low, high in zip(inside.spanner.inverse, inside.low, inside.high, strict=True):
        length = np.linalg.norm(row)
        for sign, end in ((1.0, high), (-1.0, -low)):
            point = independent(oracle, inside.region, sign * row / length)[0]
            value = float(sign * row @ point)
            assert value <= end + 1e-6 * length
            assert value >= end - 1e-6 * length - 1e-3


def check_instance(name, d, C, seed, phases, looked):
    rng = np.random.default_rng(seed)
    region = random_set(name, d, rng)
    theta = unit(rng, d) * rng.uniform(0.3, 1.0)
    problem = uli.LinearBandit(theta, arm_set=region, sigma=1.0)
    follow(SHARP(0.05, C, R=1.0), problem, seed, phases, looked)


@pytest.mark.parametrize("name", NAMES)
def test_random_sets(name):
    for i, (d, C) in enumerate(((2, 1.2), (3, 1.05), (5, 2.0))):
        check_instance(name, d, C, i, 16, looked=(1, 2, 4, 9))


def test_a_convex_set_of_ones_own():
    check_instance("convex", 2, 1.2, 3, 6, looked=(2,))


@pytest.mark.slow
@pytest.mark.parametrize("name", (*NAMES, "convex"))
def test_three_hundred_random_sets(name):
    for i in range(4 if name == "convex" else 43):
        d, C = (2, 3, 5, 8)[i % 4], (1.05, 1.2, 2.0)[i % 3]
        check_instance(name, d, C, 100 + i, 8 if name == "convex" else 30, looked=(3, 7))


def test_runs_on_the_trap_are_short_of_regret():
    problem = uli.LinearBandit([0.5, 0.0], TRAP)
    runs = uli.simulate(SHARP(0.1, R=1.0), problem, 3 * 10**6, 20, seed=1)
    assert runs.holds.all() and runs.final_regret().max() < 300


# The edge of the event.


def edge(rng, phases, best, hidden):
    """Return errors of the columns that the event just allows, placeholders hiding so much."""
    inside = phases.spanner
    c = inside.inverse @ best
    up, down = (phases.high - c)[inside.real], (c - phases.low)[inside.real]
    e = rng.standard_normal(int(inside.real.sum())) * rng.choice([1.0, 1e-3], inside.real.sum())
    size = float((up * np.maximum(e, 0.0) + down * np.maximum(-e, 0.0)).sum())
    return e * hidden / size if size > 0.0 else e


@pytest.mark.parametrize("finite", [True, False])
def test_errors_as_large_as_the_event_allows(finite):
    """The best arm stays, and gaps come close to the bound of the phase."""
    tight = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d = 1 + seed % 3
        points = cloud(rng, 12, d)
        region = uli.arm_sets.Finite(points) if finite else uli.arm_sets.Ball(d)
        theta = unit(rng, d) * rng.choice([1.0, 0.1, 0.01])
        best = region.maximize(theta)[0]
        phases = SHARP(0.3, 1.1, R=1.0).phases(region)
        for m in range(1, 9):
            arms, n, _ = phases.open()
            worst = float((theta @ best - arms @ theta).max())
            assert worst <= phases.gap * (1 + 1e-9) + 1e-9
            assert phases.gap <= 2 * 0.6 ** (m - 1)
            tight.append(worst / phases.gap if phases.gap else 0.0)
            if not phases.spanner.real.any():
                phases.close(arms, n, np.zeros(1))
                continue
            widths, hidden = phases._widths()
            noise = phases._size.error(widths, hidden, n) - hidden
            means = (arms @ theta) / phases.scale + edge(rng, phases, best, 0.999 * noise)
            phases.close(arms, n, means * phases.scale)
            oracle, _, _ = phases.active(m + 1)
            for V, b in (oracle.cut, oracle.box):
                assert (V @ best <= b + 1e-9 * np.maximum(1.0, np.abs(b))).all()
    assert max(tight) > 0.9


def test_what_placeholders_hide_is_allowed_for():
    """A set as thin as a placeholder is long: the whole gap lies where nothing is played."""
    for m in (1, 2, 5):
        C, d = 1.2, 2
        length = SpannerSize(m, d, C, 0.3, 1.0).length
        thin = 0.45 * length
        arms = np.array([[1.0, thin], [1.0, -thin], [-1.0, 0.0]])
        theta = np.array([1e-9, 1.0]) / math.hypot(1e-9, 1.0)
        phases = SHARP(0.3, C, R=1.0).phases(uli.arm_sets.Finite(arms))
        phases.phase = m - 1
        played, n, _ = phases.open()
        assert phases.spanner.real.tolist() == [True, False]
        widths, hidden = phases._widths()
        assert hidden >= 2 * thin  # all of the gap of two arms
        noise = phases._size.error(widths, hidden, n) - hidden
        e = edge(np.random.default_rng(1), phases, arms[0], 0.999 * noise)
        phases.close(played, n, (played @ theta / phases.scale + e) * phases.scale)
        oracle, _, _ = phases.active(m + 1)
        assert 0 in oracle.oracle.indices and phases.error <= 0.6**m


def test_means_are_interpolated_and_placeholders_count_nothing():
    rng = np.random.default_rng(3)
    for d in (2, 4):
        arms = cloud(rng, 20, d)
        arms[:, 0] *= 1e-4
        phases = SHARP(0.05, R=1.0).phases(uli.arm_sets.Finite(arms))
        played, n, _ = phases.open()
        means, real = rng.standard_normal(len(played)), phases.spanner.real
        assert not real.all()
        phases.close(played, n, means)
        estimate = phases.theta / phases.size * phases.scale
        assert played @ estimate == pytest.approx(means)
        assert phases.spanner.columns[:, ~real].T @ estimate == pytest.approx(0.0, abs=1e-12)


def test_the_next_phase_keeps_to_where_coefficients_lay():
    """A point that would be good but whose coefficients were not seen is left out."""
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    phases = SHARP(0.3, 1.05, R=1.0).phases(uli.arm_sets.Finite(arms))
    played, n, _ = phases.open()
    phases.close(played, n, played @ np.array([0.1, -0.9]))
    low, high = phases.low.copy(), phases.high.copy()
    assert low == pytest.approx([0.0, 0.0], abs=1e-6) and high == pytest.approx([1.0, 1.0])
    V, b = phases._box()
    assert (V @ arms.T <= b[:, None]).all()
    assert not (V @ np.array([-0.1, 0.5]) <= b).all()
    phases.open()
    assert not (phases.low == low).all() or not (phases.high == high).all()


# Failures.


def null_run(rng, learner, region, theta, phases, draw):
    """Say whether the best arm is lost, or one beyond its bound is played."""
    inside = learner.phases(region)
    best = region.maximize(theta)[0]
    for m in range(1, phases + 1):
        arms, n, _ = inside.open()
        if (theta @ best - arms @ theta).max() > 2 * 0.6 ** (m - 1) * inside.scale:
            return True
        means = arms @ theta + draw(rng, len(arms)) / math.sqrt(n)
        inside.close(arms, n, means)
        oracle, _, _ = inside.active(m + 1)
        for V, b in (oracle.cut, oracle.box):
            if (V @ best > b + 1e-9 * np.maximum(1.0, np.abs(b))).any():
                return True
    return False


def three_points(rng, k):
    """Noise that is 1-subgaussian and as heavy at 1.8 as that allows, .153 on each side."""
    return rng.choice([-1.8, 0.0, 1.8], k, p=[0.153, 0.694, 0.153])


def test_three_points_are_subgaussian_just_so():
    u = np.linspace(0.01, 9.0, 5000)
    room = np.exp(u**2 / 2) - 0.694 - 0.306 * np.cosh(1.8 * u)
    assert room.min() >= 0.0 and (np.exp(u**2 / 2) - 0.69 - 0.31 * np.cosh(1.8 * u)).min() < 0.0


LAWS = {"gaussian": lambda rng, k: rng.standard_normal(k), "three points": three_points}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("delta", [0.3, 0.9])
def test_failures_stay_within_delta(law, delta):
    """Hardly any slope: which arm is the best, noise alone seems to say."""
    learner, lost = SHARP(delta, 1.05, R=1.0), 0
    rng = np.random.default_rng(int(10 * delta))
    runs = 400
    for r in range(runs):
        d = 1 + r % 2
        region = uli.arm_sets.Box(-np.ones(d), np.ones(d)) if r % 3 else uli.arm_sets.Ball(d)
        lost += null_run(rng, learner, region, 1e-7 * unit(rng, d), 4, LAWS[law])
    assert lost <= binom.ppf(0.999, runs, delta)
    assert delta < 0.5 or lost >= 3, "nothing was at stake"


def test_violations_stay_within_delta():
    problem = uli.LinearBandit([0.6, 0.3], np.eye(2), sigma=1.0)
    runs = uli.simulate(SHARP(0.3, R=1.0), problem, 10**7, 100, seed=3, rounds=[1])
    assert runs.guarantee.formula == "PE-spanner-sharp"
    assert (~runs.holds).sum() <= binom.ppf(0.999, 100, 0.3)


# Sizes.


def test_a_phase_with_nothing_but_placeholders_plays_its_best_arm():
    phases = SHARP(0.05, R=1.0).phases(uli.arm_sets.Finite(np.array([[1.0, 0.0], [1e-9, 0.0]])))
    phases.phase, phases.size = 0, 1e3  # both arms are shorter than a placeholder
    arms, n, _ = phases.open()
    assert len(arms) == 1 and n == phases._size.most
    phases.close(arms, n, np.ones(1))
    assert not phases.theta.any() and phases.error < 0.6
    assert phases.open()[0].shape == (1, 2) and phases.gap == phases.error


def test_an_inexact_oracle_widens_the_error_and_is_not_late():
    """Bounds that exclude little: the phase plays what F allows, and says what it knows."""

    class Loose(uli.arm_sets.Ball):
        def restrict(self, eq=None, le=None):
            inner = super().restrict(eq, le)

            class Wide:
                def maximize(self, u):
                    point, bound = inner.maximize(u)
                    return point, bound + 1.5

            return Wide()

    phases = SHARP(0.1, R=1.0).phases(Loose(2))
    for _ in range(3):
        arms, n, _ = phases.open()
        assert n == phases._size.most
        phases.close(arms, n, arms @ np.array([0.5, 0.3]))
    assert phases.error > 0.6**3 and not phases.in_time
    assert phases.in_time == (phases.error <= 0.6 ** (phases.phase - 1))
    arms, _, _ = phases.open()
    assert phases.gap >= phases.error


def test_tiny_noise_counts_as_a_thousandth():
    for R in (1e-3, 1e-9, 1e-200):
        learner = SHARP(0.05, R=R)
        assert learner.guarantee((9, 2)).rounds_until(1e-9) == (
            SHARP(0.05, R=1e-3).guarantee((9, 2)).rounds_until(1e-9)
        )
    problem = uli.LinearBandit([0.5, 0.3], arm_set=uli.arm_sets.Ball(2), sigma=1e-9)
    runs = uli.simulate(SHARP(0.05, R=1e-9), problem, 10**15, 1, seed=1)
    assert runs.holds.all()


def test_thin_sets_withdraw_f_before_it_is_false():
    """Rows of B^-1 multiply what an oracle leaves open, by 10^9 in the last phases."""
    rng, broken, withdrawn = np.random.default_rng(0), 0, 0
    for seed in range(30):
        turn = np.linalg.qr(rng.standard_normal((2, 2)))[0] if seed % 2 else np.eye(2)
        thin = uli.arm_sets.Ellipsoid([0.0, 0.0], turn @ np.diag([1.0, 1e-5]))
        theta = rng.standard_normal(2)
        theta /= np.linalg.norm(theta) * (1.0 + 1e-9)
        problem = uli.LinearBandit(theta, arm_set=thin, sigma=1e-3)
        runs = uli.simulate(uli.SpannerElimination(0.05, R=1e-3), problem, 10**12, seed=seed)
        broken += runs.worst_ratio_against(runs.guarantee)[0] > 1.0
        if runs.withdrawn[0]:
            withdrawn += 1
            assert np.isnan(runs.worst_ratio[0])
            with pytest.raises(uli.errors.NoGuaranteeError, match="withdrawn in 1 of 1"):
                assert runs.holds
        else:
            assert runs.holds[0]
    assert 0 < broken <= withdrawn < 30
