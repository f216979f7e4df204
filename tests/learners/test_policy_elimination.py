"""Policy elimination: exact choices, phases, estimates, and the guarantee."""

import math
from pathlib import Path

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import policy_elimination as naive
from tests.support.draws import draws
from tests.support.policies import FAST, TINY, Shrunk, random_mdp, trace_of, wide_gaps
from uli_fast._support.streams import stream
from uli_fast.guarantees import policy_schedule
from uli_fast.guarantees.policy_schedule import Size
from uli_fast.learners._policies import searched_sets

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::uli_fast.errors.{name}")
    for name in ("GuaranteeWarning", "SaturationWarning")
]


def size_of(S, A, H):
    return Size(S, A, H, S * H * math.log(A))


def log_iota_of(instance):
    return 10.0 ** np.random.default_rng(instance).uniform(-2.5, -0.2)


def truth(mdp):
    return mdp.transitions, mdp.unit_rewards, mdp.initial


# Choices.


@pytest.mark.parametrize("group", range(10))
def test_every_way_of_choosing_equals_enumeration_on_the_same_draws(group, monkeypatch):
    several, eliminated = 0, 0
    for instance in range(20 * group, 20 * group + 20):
        # Half of the searches may list what is left, half may not.
        monkeypatch.setattr(searched_sets, "LISTED", 1000 * (instance % 2))
        mdp, log_iota, T = random_mdp(instance), log_iota_of(instance), 240
        expected, phases = Shrunk(0.1, log_iota=log_iota).naive(mdp, T, instance)
        visits = sum(phase.N for _, phase in phases)
        for method in ("plain", *FAST):
            learner = Shrunk(0.1, method=method, log_iota=log_iota)
            trace, run = trace_of(learner, mdp, T, instance)
            assert (trace == expected).all(), (instance, method)
            assert (run.visits == visits).all()
            assert (run.model.N3 == phases[-1][1].N3).all()
        several += len(np.unique(expected, axis=0)) > 1
        eliminated += 1 < len(phases[-1][0]) < len(phases[0][0])
    assert several == 20
    assert eliminated >= 3


@pytest.mark.parametrize(
    ("sizes", "T", "log_iota"),
    [
        ((3, 2, 4), 700, 0.02),
        ((4, 2, 3), 700, 0.05),
        ((2, 4, 3), 500, 0.02),
        ((4, 2, 4), 160, 0.02),
    ],
)
def test_longer_runs_on_thousands_of_policies_equal_enumeration(sizes, T, log_iota, monkeypatch):
    monkeypatch.setattr(searched_sets, "LISTED", 0)
    mdp = uli.mdps.random_dense(*sizes, seed=5)
    learner = Shrunk(0.1, log_iota=log_iota, length=T // 8)
    expected, phases = learner.naive(mdp, T, 3)
    for method in ("plain", *FAST):
        trace, run = trace_of(
            Shrunk(0.1, method=method, log_iota=log_iota, length=T // 8), mdp, T, 3
        )
        assert (trace == expected).all(), method
        assert (run.visits == sum(phase.N for _, phase in phases)).all()
    assert len(np.unique(expected, axis=0)) > 20
    left = [len(active) for active, _ in phases]
    assert left[0] == mdp.n_policies and 20 < left[-1] < 0.9 * left[0]


@pytest.mark.parametrize("schedule", ["proved", "sharp"])
def test_choices_with_the_real_bonus_equal_enumeration(schedule):
    mdp, T = uli.mdps.random_dense(2, 2, 2, seed=1), 300
    length, _ = policy_schedule.plan(schedule, size_of(2, 2, 2), 0.1, 1)
    if schedule == "proved":
        bonus = naive.paper_bonus(2, 2, policy_schedule.log_iota(size_of(2, 2, 2), length, 0.05))
    else:
        bonus = naive.sharp_bonus(2, policy_schedule.log_weissman(size_of(2, 2, 2), length, 0.05))
    expected = naive.Estimation(naive.all_policies(2, 2, 2), truth(mdp), bonus, T, draws(4))
    policies = naive.all_policies(2, 2, 2)[expected.trace]
    for method in ("plain", *FAST):
        trace, _ = trace_of(uli.PolicyElimination(0.1, schedule, method), mdp, T, 4)
        assert (trace == policies).all(), method


# Phases and estimates.


def test_phase_lengths_are_the_golden_ones():
    for (S, A, H, delta), lengths, log_iota in (
        ((2, 2, 2, 0.1), (11798944, 51617060, 220641461), 26.4339),
        ((2, 2, 1, 0.1), (245686, 1049044, 4419392), 20.4827),
        ((2, 2, 3, 0.05), (133934004, 582115223, 2475611324), 31.3481),
        ((3, 2, 2, 0.1), (28856275, 124810908, 529779960), 29.1199),
    ):
        size, learner = size_of(S, A, H), uli.PolicyElimination(delta)
        assert tuple(learner.plan(size, m).episodes for m in (1, 2, 3)) == lengths
        assert learner.plan(size, 1).bonus[1] / (2.0 * S) == pytest.approx(log_iota, abs=1e-4)
    sharp = uli.PolicyElimination(0.1, "sharp")
    lengths = tuple(sharp.plan(size_of(2, 2, 2), m).episodes for m in (1, 2, 3))
    assert lengths == (1281806, 5859437, 25671307)


@pytest.mark.parametrize("schedule", ["proved", "sharp"])
def test_a_phase_is_the_shortest_with_a_small_enough_error(schedule):
    error = policy_schedule.ERRORS[schedule]
    for size in (size_of(2, 2, 2), size_of(5, 3, 4), size_of(1, 2, 3)):
        for m in (1, 2, 7):
            T, delta_m = policy_schedule.plan(schedule, size, 0.05, m).episodes, 0.05 / (2 * m**2)
            assert error(size, T, delta_m) <= 2.0 ** (-m - 1) < error(size, T - 1, delta_m)


def test_the_page_on_mdps_says_how_much_shorter_sharp_phases_are():
    page = (Path(__file__).parents[2] / "docs" / "mdps.md").read_text(encoding="utf-8")
    first, fifth = (
        [
            round(long.episodes / short.episodes)
            for size in (size_of(2, 2, 2), size_of(4, 2, 4), size_of(10, 3, 10))
            for long, short in [
                [policy_schedule.plan(x, size, 0.1, m) for x in ("proved", "sharp")]
            ]
        ]
        for m in (1, 5)
    )
    said = "the first phase is {} times shorter for (S, A, H) = (2, 2, 2), {} times for (4, 2, 4), "
    assert said.format(*first) + f"{first[2]} times for (10, 3, 10)" in page
    assert "the fifth {}, {} and {} times".format(*fifth) in page


def test_the_errors_are_those_of_the_derivation():
    S, A, H, T, delta = 3, 2, 4, 10**6, 0.01
    log_policies = S * H * math.log(A)
    iota = math.log(10 * S * A * H * T / delta) + log_policies
    shared = (
        H / 2 * math.sqrt(2 * S * math.log(10 / delta) / T)
        + H**2 * math.sqrt((math.log(5 / delta) + log_policies) / (2 * T))
        + H**2 * math.sqrt(H * math.log(5 / delta) / (2 * T))
    )
    visits = S * A + 2 * math.sqrt(S * A * T)
    factor = H / T * (2 + 1 / H)
    proved = factor * (
        H**2 * math.sqrt(2 * S * iota) * visits + 2 / 3 * H**2 * S**2 * A * iota * (2 + math.log(T))
    )
    weissman = math.log((2**S - 2) * 5 * H * S * A * T / delta)
    sharp = factor * H**2 / 2 * math.sqrt(2 * weissman) * visits
    size = size_of(S, A, H)
    assert policy_schedule.proved_error(size, T, delta) == pytest.approx(shared + proved, rel=1e-12)
    assert policy_schedule.sharp_error(size, T, delta) == pytest.approx(shared + sharp, rel=1e-12)
    # The bonus covers what one visit, or none, leaves open.
    assert policy_schedule.plan("sharp", size, delta, 1).bonus[1] > 2.0


@pytest.mark.parametrize("m", [1, 2, 5])
def test_the_bonus_of_a_phase_has_its_own_confidence(m):
    S, A, H, delta = 3, 2, 2, 0.1
    delta_m = delta / (2 * m**2)
    for schedule in ("proved", TINY):
        T, bonus = uli.PolicyElimination(delta, schedule).plan(size_of(S, A, H), m)
        log_iota = math.log(10 * S * A * H * A ** (S * H) * T / delta_m)
        assert bonus == pytest.approx((H, 2 * S * log_iota, 2 * H * S * log_iota))
    T, bonus = uli.PolicyElimination(delta, "sharp").plan(size_of(S, A, H), m)
    log_term = math.log((2**S - 2) * 5 * H * S * A * T / delta_m)
    assert bonus == pytest.approx((H / 2, 2 * log_term, 0.0))


@pytest.mark.parametrize("constants", [(1e-3, 1.0), (0.5, 10.0)])
def test_the_papers_formula_with_constants_of_ones_own(constants):
    c1, c2 = constants
    learner = uli.PolicyElimination(0.1, (c1, c2))
    for m in (1, 3):
        scale = 4**m * 9 * 2 * 2**4
        log = math.log(c2 * scale * 2**6 / (0.1 / (2 * m**2)))
        assert learner.plan(size_of(3, 2, 2), m).episodes == math.ceil(c1 * scale * log**2)
    with pytest.raises(uli.errors.NoGuaranteeError, match="c1 and c2"):
        learner.guarantee((3, 2, 2))


def check_phases(mdp, schedule, phases, seed, engine="skip"):
    """Play whole phases and check every estimate against the truth, with the slow reference.

    Return the numbers of active policies.
    """
    learner = uli.PolicyElimination(0.1, schedule)
    horizon = sum(learner.plan(size_of(*mdp_size(mdp)), m).episodes for m in range(1, phases + 1))
    run = learner.begin(learner.on(mdp), stream(seed, 0), engine, horizon, np.array([horizon]))
    P, r, mu = truth(mdp)
    everything = naive.all_policies(*mdp_size(mdp))
    value = naive.values(everything, r, P, np.zeros_like(r)) @ mu
    gaps = value.max() - value
    best = {tuple(p.ravel()) for p in everything[gaps < 1e-12]}
    gap_of = {tuple(p.ravel()): gap for p, gap in zip(everything, gaps, strict=True)}
    counts = []
    for m in range(1, phases + 1):
        active = run.active.policies
        counts.append(len(active))
        assert best <= {tuple(p.ravel()) for p in active}
        assert max(gap_of[tuple(p.ravel())] for p in active) <= 4.0 * 2.0**-m or m == 1
        while run.phase < m or run.t < run.end:
            run.advance(1 << 24)
        model = run.model
        P_hat = model.N3 / np.maximum(model.N, 1)[..., None]
        rows = P_hat[:-1].sum(axis=3)
        assert np.isin(rows.round(9), (0.0, 1.0)).all()
        found = naive.values(active, r, P_hat, np.zeros_like(r)) @ model.starts / model.starts.sum()
        true = naive.values(active, r, P, np.zeros_like(r)) @ mu
        assert np.abs(found - true).max() <= 2.0 ** (-m - 1)
        assert run.notes[-1].error == pytest.approx(np.abs(found - true).max(), abs=1e-12)
        kept = {tuple(p.ravel()) for p in active[found.max() - found <= 2.0**-m]}
        assert kept == {tuple(p.ravel()) for p in run.active.policies}
    counts.append(len(run.active.policies))
    return counts


def mdp_size(mdp):
    return mdp.n_states, mdp.n_actions, mdp.horizon


@pytest.mark.parametrize("schedule", ["proved", "sharp"])
@pytest.mark.parametrize("seed", range(5))
def test_three_phases_of_one_stage_estimate_every_active_policy(schedule, seed):
    check_phases(uli.mdps.random_dense(2, 2, 1, seed), schedule, 3, seed, "rounds")
    counts = check_phases(wide_gaps(2, 2, 1, seed), schedule, 3, seed)
    assert counts[-1] <= counts[0] / 2


@pytest.mark.parametrize("seed", range(2))
def test_two_sharp_phases_of_two_stages_estimate_every_active_policy(seed):
    counts = check_phases(wide_gaps(2, 2, 2, seed), "sharp", 2, seed)
    assert counts[-1] < counts[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_three_proved_phases_of_two_stages_estimate_every_active_policy(seed):
    mdp = wide_gaps(2, 2, 2, seed) if seed % 2 else uli.mdps.random_dense(2, 2, 2, seed)
    counts = check_phases(mdp, "proved", 3, seed, "rounds")
    assert seed % 2 == 0 or counts[-1] <= counts[0] / 2


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 2), (2, 3, 2), (4, 2, 1), (2, 2, 3)])
def test_sharp_phases_of_other_sizes(sizes):
    for seed in range(3):
        phases = 3 if sizes in ((2, 2, 2), (4, 2, 1)) else 2
        check_phases(wide_gaps(*sizes, seed), "sharp", phases if sizes != (2, 2, 3) else 1, seed)


# The guarantee.


@pytest.mark.parametrize("schedule", ["proved", "sharp"])
def test_the_bound_is_a_step_per_phase(schedule):
    learner = uli.PolicyElimination(0.1, schedule)
    guarantee = learner.guarantee((2, 2, 2))
    ends = np.cumsum([learner.plan(size_of(2, 2, 2), m).episodes for m in range(1, 5)])
    assert guarantee.bound(1) == guarantee.bound(ends[0]) == 2.0
    for m in (2, 3, 4):
        assert guarantee.bound(ends[m - 2] + 1) == guarantee.bound(ends[m - 1]) == 4.0 * 2.0**-m
    assert guarantee.rounds_until(0.5) == ends[1]
    assert guarantee.rounds_until(1.0) == ends[0]
    assert guarantee.rounds_until(3.0) == 0
    T = int(ends[2]) - 5
    steps = ends[0] * 2.0 + (ends[1] - ends[0]) * 1.0 + (T - ends[1]) * 0.5
    assert guarantee.regret(T) == pytest.approx(float(steps))
    charged = ends[1] * 0.6 + (T - ends[1]) * 0.3
    assert guarantee.regret(T, gaps=[0.6, 0.3, 0.0]) == pytest.approx(float(charged))
    assert uli.Guarantee.from_dict(guarantee.to_dict()).bound(ends[2]) == 0.5
    assert guarantee.constants


def test_a_single_policy_has_no_gap():
    mdp = uli.TabularMDP(np.ones((1, 1, 1, 1)), np.ones((1, 1, 1)))
    runs = uli.simulate(uli.PolicyElimination(), mdp, 10**12, seed=1)
    assert runs.worst_ratio[0] == 0.0
    assert uli.PolicyElimination().guarantee(mdp).bound(1) == 0.0


def test_fewer_decision_points_make_shorter_phases():
    mdp = uli.mdps.river_swim()
    learner = uli.PolicyElimination(0.1)
    whole, less = learner.guarantee(mdp), learner.guarantee(mdp.restricted())
    assert less.rounds_until(0.5) < whole.rounds_until(0.5)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: uli.PolicyElimination(0.0), "delta"),
        (lambda: uli.PolicyElimination(schedule="short"), "schedule"),
        (lambda: uli.PolicyElimination(schedule=(1.0,)), "schedule"),
        (lambda: uli.PolicyElimination(schedule=(1.0, 0.0)), "schedule"),
        (lambda: uli.PolicyElimination(schedule=(math.nan, 1.0)), "schedule"),
        (lambda: uli.PolicyElimination(schedule=(5e-324, 5e-324)), "schedule"),
        (lambda: uli.PolicyElimination(method="guess"), "method"),
        (lambda: uli.PolicyElimination(node_cap=0), "node_cap"),
        (lambda: uli.PolicyElimination().guarantee((2, 2)), "about"),
        (lambda: uli.PolicyElimination().guarantee((2, 0, 2)), "about"),
        (lambda: uli.PolicyElimination().guarantee("MDP"), "about"),
        (lambda: uli.PolicyElimination().guarantee((10**400, 2, 2)), "about"),
        (lambda: uli.simulate(uli.PolicyElimination(), uli.BernoulliBandit([0.5]), 10), "problem"),
        (lambda: uli.simulate(uli.UCB(), uli.mdps.river_swim(), 10), "problem"),
        (
            lambda: uli.simulate(uli.UBEV(), uli.mdps.river_swim(), 10, keep_plays=True),
            "keep_plays",
        ),
        (lambda: uli.compare([uli.UBEV(), uli.UCB()], uli.mdps.river_swim(), 10**15), "problem"),
        (
            lambda: uli.simulate(uli.PolicyElimination(), uli.mdps.river_swim(5, 5), 10),
            "problem",
        ),
    ],
)
def test_bad_input_is_a_typed_error(make, argument):
    with pytest.raises(uli.errors.ArgumentError) as refused:
        make()
    assert refused.value.argument == argument
