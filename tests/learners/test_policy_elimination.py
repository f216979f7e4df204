"""Policy elimination: exact choices, phases, estimates, and what a run remembers."""

import copy
import math
from pathlib import Path

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import policy_elimination as naive
from tests.support.draws import draws
from tests.support.policies import Shrunk, random_mdp, trace_of, trace_of_run
from uli_fast._support.streams import stream
from uli_fast.guarantees import policy_schedule
from uli_fast.guarantees.policy_schedule import Size
from uli_fast.learners._policies import policy_sets, searched_sets

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::uli_fast.errors.{name}")
    for name in ("GuaranteeWarning", "SaturationWarning")
]
FAST = ("auto", "trie", "search")
TINY = (1e-4, 1.0)


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


def test_ties_go_to_the_smallest_index():
    # Everything alike: all policies tie for ever.
    mdp = uli.TabularMDP(np.full((2, 3, 2, 3), 1 / 3), np.full((2, 3, 2), 0.5), [0.2, 0.3, 0.5])
    expected, _ = Shrunk(0.1, log_iota=0.3).naive(mdp, 200, 1)
    assert len(np.unique(expected, axis=0)) > 1
    for method in ("plain", *FAST):
        trace, _ = trace_of(Shrunk(0.1, method=method, log_iota=0.3), mdp, 200, 1)
        assert (trace == expected).all(), method


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "sizes", [(4, 2, 4), (1, 3, 6), (2, 3, 3), (3, 2, 4), (5, 2, 3), (6, 2, 2), (3, 4, 1)]
)
def test_ties_among_thousands_go_to_the_smallest_index(sizes, seed):
    from uli_fast.kernels.policy_elimination import choose_policy
    from uli_fast.learners._policies.runs import new_model

    (S, A, H), rng = sizes, np.random.default_rng(seed)
    mdp = uli.mdps.random_dense(S, A, H, seed=seed)
    left = policy_sets.PolicySet(mdp.decision_points, A)
    some = rng.random(mdp.n_policies) < 0.3
    if S > 3:  # in states 0 and 3 the smallest policies are not those of the smallest action
        some &= left.policies[:, 0, 0] != left.policies[:, 0, 3]
    left = left.kept(some)
    plain, trie = left.chooser("plain"), left.chooser("trie")
    expected, found = np.zeros((2, H, S), np.int8)
    clipped = 0
    for i in range(25):
        model = new_model(mdp)  # few different values: many ties, and at first nothing else
        model.P[:] = rng.integers(1, 3, model.P.shape) / (2.0 * S) if i else 1.0 / S
        largest = rng.choice([0.5, 1.0, 4.0])
        steps = 1 + rng.integers(1, 4)
        model.c[:] = rng.integers(1, steps, model.c.shape) / steps * largest if i else 0.5
        for s1 in range(S):
            choose_policy(plain, model, s1, expected)
            top = model.top[s1]
            clipped += top == H
            choose_policy(trie, model, s1, found)
            assert (found == expected).all() and model.top[s1] == top
    assert 0 < clipped < 25 * S


def test_a_copy_of_a_trie_chooses_as_it_does():
    from uli_fast.kernels.policy_elimination import choose_policy
    from uli_fast.learners._policies.runs import new_model

    mdp = uli.mdps.random_dense(3, 2, 4, seed=2)
    left = policy_sets.PolicySet(mdp.decision_points, mdp.n_actions)
    trie = left.kept(np.arange(mdp.n_policies) % 3 == 0).chooser("trie")
    twin, rng = copy.deepcopy(trie), np.random.default_rng(1)
    expected, found = np.zeros((2, 4, 3), np.int8)
    for _ in range(20):
        model = new_model(mdp)
        model.P[:], model.c[:] = mdp.transitions, rng.random(model.c.shape)
        choose_policy(trie, model, 0, expected)
        choose_policy(twin, model, 0, found)
        assert (found == expected).all()


def test_actions_off_the_decision_points_are_not_chosen():
    mdp = uli.mdps.combination_lock(length=3, n_actions=2).restricted()
    assert mdp.n_policies < 2**mdp.decision_points.size
    expected, _ = Shrunk(0.1, log_iota=0.05).naive(mdp, 240, 2)
    for method in ("plain", *FAST):
        trace, _ = trace_of(Shrunk(0.1, method=method, log_iota=0.05), mdp, 240, 2)
        assert (trace == expected).all(), method
        assert not trace[:, ~mdp.decision_points].any()


def test_a_search_beyond_its_cap_is_an_error(monkeypatch):
    monkeypatch.setattr(searched_sets, "LISTED", 0)
    mdp = uli.mdps.random_dense(3, 2, 3, seed=2)
    learner = Shrunk(0.1, method="search", node_cap=20, log_iota=0.02)
    with pytest.raises(uli.errors.PolicySearchError, match="node_cap = 20"):
        uli.simulate(learner, mdp, 500, seed=1)


def test_a_billion_policies_are_searched_without_a_list():
    mdp = uli.mdps.river_swim(n_states=6, horizon=5)
    assert mdp.n_policies == 2**30
    with pytest.raises(uli.errors.ArgumentError, match=r"problem.*policies=1\.1e9"):
        uli.simulate(Shrunk(0.1), mdp, 500)
    learner = Shrunk(0.1, method="search", log_iota=0.01, length=400)
    runs = uli.simulate(learner, mdp, 2000, seed=1)
    assert (runs.final_plays > 0).sum() > 1
    assert len(runs.phases[0]) >= 3
    assert runs.phases[0][0].policies == mdp.n_policies


def test_more_policies_than_a_float_can_count_are_searched():
    mdp = uli.mdps.river_swim(6, 250)
    learner = Shrunk(0.1, method="search", log_iota=0.01, length=400)
    runs = uli.simulate(learner, mdp, 20, seed=1)
    assert runs.phases[0][0].policies == math.inf


@pytest.mark.parametrize(("A", "S"), [(2, 150), (3, 100), (4, 64), (16, 24)])
def test_suffixes_are_told_apart_however_many_states_there_are(A, S):
    # A key with a digit for each state would not fit into 64 bits.
    rng = np.random.default_rng(A)
    for _ in range(30):
        actions = rng.integers(0, A, (40, S)).astype(np.int8)[rng.integers(0, 40, 60)]
        flip = rng.integers(0, S, 60)
        actions[range(60), flip] = (actions[range(60), flip] + rng.integers(0, 2, 60)) % A
        suffix = rng.integers(0, 3, 60)
        first, again = policy_sets.distinct(actions, suffix)
        both = np.column_stack([actions, suffix])
        assert (both[first][again] == both).all()
        assert len(first) == len(np.unique(both, axis=0))
        assert all(first[i] == np.flatnonzero(again == i)[0] for i in range(len(first)))


def test_many_states_of_one_stage_are_chosen_as_by_enumeration():
    # Patients of 24 kinds and one of 16 treatments. Sixteen digits of 15 are 2^64 - 1.
    S, A, tied = 25, 16, np.arange(17, 21)
    P, r = np.zeros((2, S, A, S)), np.full((2, S, A), 0.2)
    P[0, 0, :, 1:] = 1.0 / (S - 1)
    P[0, 1:, :, 0] = P[1, :, :, 0] = 1.0
    r[1, :, 15] = 1.0
    r[1, tied, 14] = 0.95
    mdp = uli.TabularMDP(P, r, np.eye(S)[0]).restricted()
    listed = np.where(mdp.decision_points, 15, 0)[None].repeat(16, axis=0).astype(np.int8)
    listed[:, 1, tied] = 14 + (np.arange(16)[:, None] >> np.arange(4)[::-1] & 1)
    traces = []
    for method in ("plain", "trie"):
        learner = Shrunk(0.1, method=method, log_iota=1e-3, length=600)
        run = learner.begin(mdp, stream(1, 0), "rounds", 600, np.array([600]))
        run.active = policy_sets.PolicySet(mdp.decision_points, A, listed)
        traces.append(trace_of_run(run)[0])
    assert (traces[0] == traces[1]).all()
    assert len(np.unique(traces[0], axis=0)) == 16


def test_a_trie_has_rows_for_initial_states_alone():
    mdp = uli.mdps.random_dense(4, 2, 3, seed=1)
    left = policy_sets.PolicySet(mdp.decision_points, 2)
    some = np.array([False, True, False, True])
    everywhere, here = left.chooser("trie"), left.chooser("trie", some)
    assert np.diff(here.row_of).tolist() == [[0, 0], [16, 16], [0, 0], [16, 16]]
    assert here.policy.size == everywhere.policy.size // 2
    rows = slice(*everywhere.row_of[1, [0, 2]])
    assert (here.policy[:32] == everywhere.policy[rows]).all()


def test_the_regret_of_all_learners_is_drawn_in_one_figure(tmp_path):
    rivals = [Shrunk(0.1), uli.UCBVI(0.1), uli.UBEV(0.1)]
    result = uli.compare(rivals, uli.mdps.river_swim(2, 2).restricted(), 3000, 2, seed=1)
    figure = result.plot(tmp_path / "regret.svg", what="regret")
    drawn = [line for line in figure.axes[0].get_lines() if line.get_label() in result.runs]
    assert len(drawn) == 3 and (tmp_path / "regret.svg").stat().st_size > 1000
    for line in drawn:
        runs = result.runs[line.get_label()]
        assert line.get_ydata()[-1] == pytest.approx(np.median(runs.final_regret()))


def test_what_is_not_known_of_estimates_is_not_claimed(monkeypatch):
    mdp = uli.mdps.random_dense(2, 2, 2, seed=3)
    listed, searched = (Shrunk(0.1, log_iota=0.05, method=x) for x in ("auto", "search"))
    assert uli.simulate(listed, mdp, 300, seed=1).event_held.dtype == bool
    runs = uli.simulate(searched, mdp, 300, seed=1)
    assert runs.event_held is None and math.isnan(runs.phases[0][0].error)
    wrong = uli.simulate(Shrunk(0.1, log_iota=1e-6, length=2), mdp, 30, replications=20, seed=1)
    assert not wrong.event_held.all()


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
    run = learner.begin(mdp, stream(seed, 0), engine, horizon, np.array([horizon]))
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


def wide_gaps(S, A, H, seed):
    """Return an MDP whose second action earns nothing: bad policies are clearly bad."""
    mdp = uli.mdps.random_dense(S, A, H, seed)
    rewards = np.where(np.arange(A) == 0, 0.6 + 0.4 * mdp.rewards, 0.05 * mdp.rewards)
    return uli.TabularMDP(mdp.transitions, rewards, np.full(S, 1.0 / S))


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


# Settled phases.


def test_a_settled_phase_is_drawn_at_once_with_the_same_law():
    mdp = wide_gaps(2, 2, 3, seed=4)
    learner, T, M = Shrunk(0.1, log_iota=0.01, length=100), 3000, 200
    slow = uli.simulate(learner, mdp, T, M, seed=1, engine="rounds")
    fast = uli.simulate(learner, mdp, T, M, seed=1, engine="skip")
    settled = np.array([phases[-1].policies == 1 for phases in fast.phases])
    assert settled.mean() > 0.5
    # Decisions do not depend on the engine, visits have the same law.
    assert (fast.last_play == slow.last_play).all()
    assert (fast.final_plays == slow.final_plays).all()
    assert (fast.visits.sum(axis=(2, 3)) == T).all()
    difference = fast.visits[settled].mean(axis=0) - slow.visits[settled].mean(axis=0)
    spread = np.sqrt(
        (fast.visits[settled].var(axis=0) + slow.visits[settled].var(axis=0)) / settled.sum()
    )
    assert (np.abs(difference) <= 4.5 * spread + 1e-9).all()
    assert (fast.visits != slow.visits).any()


def test_policies_that_differ_only_where_they_never_get_to_are_one():
    mdp = uli.mdps.combination_lock().restricted()  # two optimal policies, equal on their way
    learner = Shrunk(0.1, log_iota=0.01, length=200)
    runs = uli.simulate(learner, mdp, 10**12, seed=1)
    assert runs.phases[0][-1].policies == 2
    assert runs.final_plays.sum() == 10**12
    _, slow = trace_of(learner, mdp, 3000, 1)
    _, fast = trace_of(learner, mdp, 3000, 1, engine="skip")
    n = slow.policy_log.size[0]
    assert (slow.policy_log.last[:n] == fast.policy_log.last[:n]).all()
    assert (slow.policy_log.plays[:n] == fast.policy_log.plays[:n]).all()


def test_a_set_is_settled_where_its_policies_agree_on_their_way():
    mdp = uli.TabularMDP(np.full((2, 2, 2, 2), 0.5), np.zeros((2, 2, 2)), [1.0, 0.0])
    leads, here = mdp.transitions > 0.0, mdp.initial > 0.0
    first, other = np.zeros((2, 2), np.int8), np.zeros((2, 2), np.int8)
    for h, s, initial, settled in ((0, 1, here, True), (0, 1, ~here, False), (1, 1, here, False)):
        other[:] = 0
        other[h, s] = 1
        chosen = policy_sets.PolicySet(mdp.decision_points, 2, np.stack([first, other]))
        assert (chosen.settled(initial, leads) is not None) == settled
    leads = leads.copy()
    leads[0, 0, :, 1] = False  # now state 1 is out of reach
    assert (chosen.settled(here, leads) == first).all()


def test_a_block_of_episodes_adds_to_the_recorded_regret():
    from uli_fast.kernels.mdp.policy_log import enter_block
    from uli_fast.learners._policies.runs import new_policy_log

    mdp = wide_gaps(2, 2, 2, seed=1)
    bad, best = np.ones((2, 2), np.int8), np.array(mdp.optimal_policy)
    policy_log = new_policy_log(mdp, np.array([3, 10, 12, 30]))
    for pi, t, n in ((bad, 0, 10), (best, 10, 5), (bad, 15, 5), (best, 20, 20)):
        enter_block(policy_log, pi, t, n)
    assert policy_log.regret == pytest.approx(mdp.gap(bad) * np.array([3, 10, 10, 15]))
    assert policy_log.last[:2].tolist() == [20, 40] and policy_log.plays[:2].tolist() == [15, 25]


def test_a_full_ledger_makes_room_for_a_settled_policy():
    mdp = uli.TabularMDP(np.ones((1, 1, 1, 1)), np.ones((1, 1, 1)))
    learner = uli.PolicyElimination(0.1)
    run = learner.begin(mdp, stream(1, 0), "skip", 1000, np.array([1000]))
    run.policy_log.size[0] = full = len(run.policy_log.policy)
    run.policy_log.policy[:, 0, 0] = np.arange(1, full + 1)  # others that were played before
    assert run.advance(1)
    assert len(run.policy_log.policy) > full and run.policy_log.plays[full] == 1000


def test_episodes_drawn_at_once_have_the_moments_of_episodes():
    from uli_fast.kernels.mdp.episodes import draw_episodes
    from uli_fast.learners._policies.runs import new_model

    mdp = uli.mdps.random_dense(3, 2, 3, seed=8)
    pi = np.array(mdp.optimal_policy)
    n, M = 50, 4000
    law = mdp.law(stream(3, 0))
    starts, moves = np.zeros((M, 3)), np.zeros((M, 3, 3, 3))
    for i in range(M):
        model = new_model(mdp)
        draw_episodes(law, model, pi, n)
        assert model.N.sum() == 3 * n and model.N3[:2].sum() == 2 * n
        starts[i] = model.starts
        moves[i] = model.N3[np.arange(3)[:, None], np.arange(3), pi]
    occupancy = [mdp.initial]
    for h in range(2):
        here = mdp.transitions[h, np.arange(3), pi[h]]
        joint = occupancy[-1][:, None] * here
        occupancy.append(joint.sum(axis=0))
        error = np.abs(moves[:, h].mean(axis=0) - n * joint)
        assert (error <= 4.5 * np.sqrt(n * joint * (1 - joint) / M) + 1e-9).all()
        assert moves[:, h].var(axis=0) == pytest.approx(n * joint * (1 - joint), rel=0.15, abs=0.05)
    assert starts.mean(axis=0) == pytest.approx(n * mdp.initial, abs=0.3)


def test_a_settled_learner_plays_a_quadrillion_episodes():
    mdp = wide_gaps(2, 2, 1, seed=1)
    runs = uli.simulate(uli.PolicyElimination(0.1), mdp, 10**15, replications=3, seed=1)
    assert runs.holds.all()
    assert (runs.final_plays.sum(axis=1) == 10**15).all()
    assert (runs.visits.sum(axis=(2, 3)) == 10**15).all()
    assert (runs.last_mistake() < 10**7).all()
    assert len(runs.phases[0]) > 10
    assert all(phase.error <= 2.0 ** (-phase.number - 1) for phase in runs.phases[0][:-1])
    assert runs.event_held.all()


# What a run remembers.


def simulate(mdp, T, M=1, **more):
    return uli.simulate(Shrunk(0.1, log_iota=0.05), mdp, T, M, **more)


def test_runs_hold_what_the_trace_says():
    mdp, T = uli.mdps.random_dense(3, 2, 3, seed=6), 900
    trace, run = trace_of(Shrunk(0.1, log_iota=0.05), mdp, T, 7)
    runs = simulate(mdp, T, seed=7, engine="rounds", rounds=range(1, T + 1))
    gaps = np.array([mdp.gap(pi) for pi in trace])
    assert runs.regret[0] == pytest.approx(np.cumsum(gaps), abs=1e-9)
    assert runs.final_regret()[0] == pytest.approx(gaps.sum())
    assert runs.mistakes(0.1)[0] == (gaps > 0.1).sum()
    assert runs.last_mistake(0.1)[0] == 1 + np.flatnonzero(gaps > 0.1).max()
    assert runs.gap_from(np.array([1, 400]))[0] == pytest.approx([gaps.max(), gaps[399:].max()])
    played = {tuple(p.ravel()): i for i, p in enumerate(runs.policies[0])}
    assert len(played) == len(np.unique(trace, axis=0)) > 64  # the policy_log has grown
    for t, pi in enumerate(trace, start=1):
        assert runs.last_play[0, played[tuple(pi.ravel())]] >= t
    assert (runs.visits[0] == run.visits).all()
    bound = uli.PolicyElimination(0.1).guarantee(mdp)
    ratios = gaps / bound.bound(np.arange(1.0, T + 1))
    assert runs.worst_ratio_against(bound)[0] == pytest.approx(ratios.max())
    assert np.isnan(runs.worst_ratio).all()


def test_gaps_and_regret_come_in_reward_units():
    mdp = uli.mdps.random_dense(2, 2, 2, seed=3)
    scaled = uli.TabularMDP(
        mdp.transitions, 10.0 + 5.0 * mdp.rewards, mdp.initial, low=10.0, high=15.0
    )
    plain, other = simulate(mdp, 300, seed=1), simulate(scaled, 300, seed=1)
    assert other.regret == pytest.approx(5.0 * plain.regret)
    assert other.gaps == pytest.approx(5.0 * plain.gaps)
    assert other.phases[0][0].error == pytest.approx(5.0 * plain.phases[0][0].error)
    guarantee = uli.PolicyElimination(0.1).guarantee(scaled)
    assert guarantee.bound(1) == 10.0


def test_rounding_is_no_gap():
    P = uli.mdps.random_dense(3, 2, 3, seed=4).transitions
    mdp = uli.TabularMDP(P, np.full((3, 3, 2), 0.1), [0.2, 0.3, 0.5])  # all policies earn 0.3
    runs = simulate(mdp, 500, seed=1)
    assert (runs.final_plays > 0).sum() > 20
    assert not runs.gaps.any() and not runs.regret.any()
    assert runs.last_mistake()[0] == 0


def test_the_event_is_that_every_estimate_was_good_enough():
    mdp = uli.mdps.random_dense(2, 2, 2, seed=1)
    runs = simulate(mdp, 1000, 60, seed=1)
    expected = [all(not p.error > 2.0 ** (-p.number - 1) for p in phases) for phases in runs.phases]
    assert runs.event_held.tolist() == expected
    assert 0 < sum(expected) < 60


@pytest.mark.parametrize("method", ["auto", "plain", "trie"])
def test_the_same_seed_gives_the_same_bits(method):
    mdp = uli.mdps.random_dense(3, 2, 2, seed=1)
    learner = Shrunk(0.1, method=method, log_iota=0.05)
    runs = uli.simulate(learner, mdp, 700, 6, seed=5)
    threads = uli.simulate(learner, mdp, 700, 6, seed=5, n_jobs=2, rounds=[3, 700])
    fewer = uli.simulate(learner, mdp, 700, 3, seed=5)
    assert (runs.last_play == threads.last_play).all()
    assert (runs.visits == threads.visits).all()
    assert (runs.regret[:, -1] == threads.regret[:, -1]).all()
    D = fewer.last_play.shape[1]
    assert (runs.last_play[:3, :D] == fewer.last_play).all()
    assert (runs.visits[:3] == fewer.visits).all()


def test_a_longer_horizon_continues_the_same_path():
    mdp = uli.mdps.random_dense(2, 2, 3, seed=1)
    long, _ = trace_of(Shrunk(0.1), mdp, 500, 2)
    short, _ = trace_of(Shrunk(0.1), mdp, 130, 2)
    assert (long[:130] == short).all()


def test_runs_are_saved_and_loaded(tmp_path):
    mdp = uli.mdps.two_stage_treatment()
    runs = simulate(mdp, 400, 2, seed=3)
    runs.save(tmp_path / "runs")
    again = uli.Runs.load(tmp_path / "runs")
    assert (again.policies == runs.policies).all() and (again.visits == runs.visits).all()
    assert again.phases[0][0] == runs.phases[0][0]
    assert (again.regret == runs.regret).all()
    runs.table()
    runs.to_pandas()


def test_a_proved_run_keeps_its_guarantee_and_says_so(tmp_path):
    mdp = wide_gaps(2, 2, 1, seed=2)
    runs = uli.simulate(uli.PolicyElimination(0.1, "sharp"), mdp, 10**6, 8, seed=1)
    assert runs.holds.all() and runs.event_held.all()
    assert runs.coverage().failures == 0
    runs.save(tmp_path / "runs")
    assert uli.Runs.load(tmp_path / "runs").holds.all()
    runs.plot(tmp_path / "gap.png")


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


def test_short_phases_that_end_saturated_warn():
    mdp = uli.mdps.random_dense(2, 2, 2, seed=1)
    with pytest.warns(uli.errors.SaturationWarning, match="phase 1 ended saturated.*100%"):
        uli.simulate(uli.PolicyElimination(0.1, TINY), mdp, 1000, seed=1)


def test_a_phase_that_is_mostly_unsaturated_does_not_warn(recwarn):
    mdp = uli.mdps.random_dense(3, 2, 2, seed=1)
    runs = uli.simulate(Shrunk(0.1, log_iota=0.05), mdp, 50, seed=4)
    assert 0.1 < runs.phases[0][0].saturated < 0.9
    assert any(w.category is uli.errors.SaturationWarning for w in recwarn)
    recwarn.clear()
    runs = uli.simulate(Shrunk(0.1, log_iota=1e-4), mdp, 50, seed=5)
    assert runs.phases[0][0].saturated <= 0.1
    assert not any(w.category is uli.errors.SaturationWarning for w in recwarn)


# Problems with many policies.


def test_frozen_lake_prints_its_policies_and_runs_where_they_fit():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("FrozenLake-v1")
    learner = Shrunk(0.1, log_iota=0.01, length=200)
    assert repr(uli.TabularMDP.from_gymnasium(env, horizon=4)).endswith("policies=262144)")
    far = uli.TabularMDP.from_gymnasium(env, horizon=8)
    with pytest.raises(uli.errors.ArgumentError, match=r"problem: FrozenLake.*policies.*2,097,152"):
        uli.simulate(learner, far, 100)
    near = uli.TabularMDP.from_gymnasium(env, horizon=3)
    runs = uli.simulate(learner, near, 2000, 2, seed=1)
    assert (runs.final_plays.sum(axis=1) == 2000).all()


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
