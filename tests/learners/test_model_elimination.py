"""Elimination of actions by nested boxes of plausible models."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import uli_fast as uli
from tests.naive.model_elimination import Twin
from tests.support.models import OccupancyProgram, TableSource, draw_table, played_on, told
from uli_fast.errors import ArgumentError, GuaranteeWarning
from uli_fast.kernels.mdp.visit_bounds import block_length, reach

PLAYS = ("deterministic", "stochastic")
mdps = uli.mdps


def coin_mdp(seed=0, S=3, A=2, H=3):
    """Return an MDP with rewards 0 and 1, and ties."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.5), (H, S, A))
    return uli.TabularMDP(P, rng.integers(0, 2, (H, S, A)).astype(float), rng.dirichlet(np.ones(S)))


def steady(seed=0, S=3, A=2, H=4):
    """Return an MDP whose law does not change with the stage, some of it known."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.4), (S, A))
    P[0, 0] = np.eye(S)[1]
    return uli.TabularMDP(P, rng.random((H, S, A)), horizon=H).with_known_structure()


PROBLEMS = {
    "dense": mdps.random_dense(2, 2, 2, seed=1),
    "dense (3, 2, 3)": mdps.random_dense(3, 2, 3, seed=2),
    "rewards 0 and 1": coin_mdp(),
    "treatment": mdps.two_stage_treatment().restricted(),
    "river": mdps.river_swim(3, 4).restricted(),
    "lock": mdps.combination_lock(3, 2).restricted(),
    "sparse and known": mdps.random_sparse(4, 3, 3, seed=3).with_known_structure(),
    "one stage": mdps.random_dense(3, 2, 1, seed=0),
    "steady": steady(),
}
POOLED = ("river", "lock", "one stage", "steady")
CASES = [(name, play, False) for name in PROBLEMS for play in PLAYS]
CASES += [(name, play, True) for name in POOLED for play in PLAYS]


def learner_of(play, pooled, **more):
    return uli.ModelElimination(0.2, play, pooled, **{"growth": 0.3, "first": 4, **more})


@pytest.mark.parametrize(("name", "play", "pooled"), CASES)
def test_equals_naive_on_the_same_draws(name, play, pooled):
    problem, learner, T = PROBLEMS[name], learner_of(play, pooled), 500
    table = draw_table(problem, learner, T, seed=1)
    twin = Twin(TableSource(table.copy(), problem, learner), **told(problem, learner))
    looks = twin.play(T)
    run = played_on(problem, learner, table, "skip", T)
    log = run.look_log()
    assert log.first.tolist() == [look[0] for look in looks]
    assert np.allclose(log.facts[:, :4], [look[1:5] for look in looks], atol=1e-11, rtol=0)
    assert (run.visits == twin.visits).all()
    assert (log.dropped == twin.dropped).all() and (log.left == twin.left[1:]).all()
    assert len(looks) > 8 or problem.horizon == 1


@pytest.mark.parametrize(("name", "play", "pooled"), CASES)
def test_skipping_equals_rounds_visit_by_visit(name, play, pooled):
    problem, learner, T = PROBLEMS[name], learner_of(play, pooled, growth=0.1), 4000
    for seed in range(3):
        table = draw_table(problem, learner, T, seed)
        skip, rounds = (
            played_on(problem, learner, table, engine, T, budget)
            for engine, budget in (("skip", 3), ("rounds", 7))
        )
        for a, b in zip(skip.look_log(), rounds.look_log(), strict=True):
            assert np.array_equal(a, b)
        assert (skip.visits == rounds.visits).all()
        for a, b in zip(skip.boxes[:-1], rounds.boxes[:-1], strict=True):  # the last is room
            assert np.array_equal(a, b)
        for name in ("plays", "last", "gap", "regret"):
            assert (getattr(skip.policy_log, name) == getattr(rounds.policy_log, name)).all()


@pytest.mark.parametrize("play", PLAYS)
def test_skipping_and_rounds_have_the_same_law(play):
    problem, learner = mdps.random_dense(3, 2, 3, seed=4), learner_of(play, False)
    skip, rounds = (
        uli.simulate(learner, problem, 300, 1500, seed=seed, engine=engine)
        for seed, engine in ((1, "skip"), (2, "rounds"))
    )
    compared = 0
    for h in range(3):
        for s in range(3):
            for a in range(2):
                x, y = skip.visits[:, h, s, a], rounds.visits[:, h, s, a]
                if x.std() > 0:
                    compared += 1
                    assert stats.ks_2samp(x, y).pvalue > 1e-4
    assert compared >= 10
    ends = [(runs.look_first > 0).sum(axis=1) for runs in (skip, rounds)]
    assert stats.ks_2samp(*ends).pvalue > 1e-4
    assert stats.ks_2samp(skip.regret[:, -1], rounds.regret[:, -1]).pvalue > 1e-4


def blocks_of(problem, play, n=12, seed=0, T=10**6, pooled=False):
    """Yield a run after each of its first n looks."""
    learner = learner_of(play, pooled)
    words = np.random.default_rng(seed).integers(1, 2**63, 4).astype(np.uint64)
    run = learner.begin(learner.on(problem), words, "skip", T, np.array([T]))
    for _ in range(n):
        over = run.advance(1)
        yield run
        if over:
            return


def chances(choice):
    """Return a policy as probabilities, (H, S, A)."""
    H, S, A = choice.R.shape
    pi = np.zeros((H, S, A))
    for h in range(H):
        for s in range(S):
            pi[h, s, choice.one[h, s]] += choice.mix[h, s]
            pi[h, s, choice.two[h, s]] += 1.0 - choice.mix[h, s]
    return pi


@pytest.mark.parametrize(
    "problem",
    [*(mdps.random_dense(3, 2, 3, seed=s) for s in range(3)), *(coin_mdp(s) for s in range(5))],
    ids=str,
)
def test_inductions_agree_with_a_linear_programme(problem):
    """W of both algorithms and C2, on boxes as they come; twice with L = U."""
    from uli_fast.kernels.mdp.robust import choose_within, induct

    tight = binding = 0
    for run in blocks_of(problem, "stochastic", 10):
        view, choice = run.view, run.choice
        program = OccupancyProgram(run)
        b, r = program.weights(view.b, view.start[3]), program.weights(view.r)
        upper, sure = program.most(r), view.start[1]
        assert upper == pytest.approx(view.start[0], abs=1e-9)
        for least in (sure, 0.5 * (sure + upper), upper):
            least -= 3e-12
            exact = program.most(b, (r, least))
            W = choose_within(run.boxes, view, choice, least)
            pi = chances(choice)
            mixed = OccupancyProgram(run, pi)
            tight += upper - least < 1e-9
            binding += exact < program.most(b) - 1e-9
            # Constraints that are met up to rounding may be worth a little to either.
            assert W == pytest.approx(exact, abs=2e-6) and W >= exact - 2e-6
            assert mixed.most(b, (r, least - 1e-7)) >= W - 2e-6
        free = np.full(view.r.shape, np.inf)
        V, policy = np.zeros_like(choice.V), np.zeros_like(choice.one)
        order = np.arange(view.r.shape[1])
        for R, first in ((view.b, view.start[3]), (view.g, 0.0)):
            most = induct(run.boxes, R, first, free, view.left, V, policy, order)
            assert most == pytest.approx(program.most(program.weights(R, first)), abs=1e-9)
    assert tight >= 8 and binding >= 3


@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize("name", ["dense (3, 2, 3)", "rewards 0 and 1", "sparse and known"])
def test_visit_bounds_are_those_of_a_linear_programme(name, play):
    problem = PROBLEMS[name]
    H, S, A = problem.rewards.shape
    order, checked = np.arange(S), 0
    for run in blocks_of(problem, play, 6, seed=2):
        program = OccupancyProgram(run, chances(run.choice))
        exact = np.zeros((H, S))
        run.choice.x[0] = 1.0  # nothing is known of the visits of earlier stages
        for h in range(H):
            for s in range(S):
                at = np.zeros((H, S, A))
                at[h, s] = 1.0
                exact[h, s] = program.most(program.weights(at))
                ours = reach(run.boxes, run.choice, h, s, 0.0, order)
                assert ours == pytest.approx(exact[h, s], abs=1e-9)
        pi, n, K = chances(run.choice), run.boxes.n, math.inf
        if run.boxes.size[0] > 1:
            K = 0.3 * n[0] + 4
        for h in range(H - 1):
            for s in range(S):
                for a in range(A):
                    row = 1 + (h * S + s) * A + a
                    x = exact[h, s] * pi[h, s, a]
                    if x > 1e-9 and run.boxes.size[row] > 1:
                        K = min(K, (0.3 * n[row] + 4) / x)
        ours = block_length(run.boxes, run.choice, 0.3, 4.0, order)
        assert ours == math.floor(K * (1 + 1e-9))
        checked += K < 10**6
    assert checked >= 4


@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_everything_is_monotone(name, play):
    before = None
    for run in blocks_of(PROBLEMS[name], play, 60, seed=3):
        view = run.view
        now = [view.start.copy(), view.V.copy(), np.where(view.left, view.b, 0.0), view.left.copy()]
        if before is not None:
            slack = 1e-13
            assert now[0][0] <= before[0][0] + slack and now[0][1] >= before[0][1] - slack
            assert (now[1][0] <= before[1][0] + slack).all()
            assert (now[1][1] >= before[1][1] - slack).all()
            assert (now[2] <= before[2] + slack).all() and (now[3] <= before[3]).all()
        before = now
    log = run.look_log()
    certificate, width, upper, lower, _ = np.diff(log.facts, axis=0).T
    assert max(certificate.max(initial=0), width.max(initial=0), upper.max(initial=0)) <= 0.0
    assert lower.min(initial=0) >= 0.0


@pytest.mark.parametrize("name", ["dense", "dense (3, 2, 3)", "river", "sparse and known"])
def test_widths_of_rows_bound_how_values_differ(name):
    """|V' - V''| <= <q', b> for any two plausible models and any policy of actions left."""
    problem, rng = PROBLEMS[name], np.random.default_rng(5)
    H, S, A = problem.rewards.shape
    closest = 0.0
    for run in blocks_of(problem, "deterministic", 25, seed=4):
        view, boxes = run.view, run.boxes
        for _ in range(20):
            pi = view.left * rng.dirichlet(np.ones(A), (H, S)) ** 4
            pi /= pi.sum(axis=2, keepdims=True)
            one, two = random_model(boxes, rng), random_model(boxes, rng)
            x, value = passed(boxes, one, pi, view.r)
            _, other = passed(boxes, two, pi, view.r)
            doubt = view.start[3] + (x[:, :, None] * pi * view.b).sum()
            assert abs(value - other) <= doubt + 1e-12
            closest = max(closest, abs(value - other) / doubt)
    assert closest > 0.1


def random_model(boxes, rng):
    """Return rows of the boxes, (R, w), drawn at random; corners are likely."""
    rows = np.zeros_like(boxes.low)
    for i in np.flatnonzero(boxes.home == np.arange(len(boxes.home))):
        m = boxes.size[i]
        rows[i, :m], rest = boxes.low[i, :m], boxes.rest[i]
        for j in rng.permutation(m):
            share = 1.0 if rng.random() < 0.7 else rng.random()
            add = min(rest, share * (boxes.high[i, j] - boxes.low[i, j]))
            rows[i, j] += add
            rest -= add
        for j in range(m):  # what is left goes where there is room
            add = min(rest, boxes.high[i, j] - rows[i, j])
            rows[i, j] += add
            rest -= add
    return rows


def passed(boxes, rows, pi, r):
    """Return the occupancy (H, S) of a policy in a model, and its value."""
    H, S, A = r.shape
    x = np.zeros((H, S))
    np.add.at(x[0], boxes.to[0, : boxes.size[0]], rows[0, : boxes.size[0]])
    for h in range(H - 1):
        for s in range(S):
            for a in range(A):
                i = boxes.home[1 + (h * S + s) * A + a]
                m = boxes.size[i]
                np.add.at(x[h + 1], boxes.to[i, :m], x[h, s] * pi[h, s, a] * rows[i, :m])
    return x, float((x[:, :, None] * pi * r).sum())


SIX = {
    "(2, 2, 1)": (mdps.random_dense(2, 2, 1, seed=1), 300),
    "(2, 2, 3)": (mdps.random_dense(2, 2, 3, seed=1), 300),
    "lock": (mdps.combination_lock(3, 2).restricted(), 300),
    "river": (mdps.river_swim(3, 4).restricted(), 300),
    "treatment": (mdps.two_stage_treatment().restricted(), 300),
    "(10, 3, 10)": (mdps.random_dense(10, 3, 10, seed=1), 10),
}


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize("delta", [0.1, 0.3])
@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize("name", SIX)
def test_failures_stay_within_delta(name, play, delta):
    """The event, the certificate and F; on the event nothing is ever broken."""
    problem, M = SIX[name]
    runs = uli.simulate(uli.ModelElimination(delta, play), problem, 10**5, M, seed=7)
    most = stats.binom.ppf(0.999, M, delta)
    assert (~runs.event_held).sum() <= most and (~runs.holds).sum() <= most
    held, room = runs.event_held, 1e-12 * problem.horizon
    said, _, upper, lower, gap = np.moveaxis(runs.look_facts[held], 2, 0)
    best = problem.optimal_value
    used = runs.look_first[held] > 0
    assert (gap <= said + room)[used].all()
    assert (upper >= best - room)[used].all() and (lower <= best + room)[used].all()
    assert (runs.empty_at[held] == 0).all() and runs.holds[held].all()
    # Optimal actions are left wherever one can come by.
    policy = problem.optimal_policy
    H, S = policy.shape
    left = runs.actions_left[held][:, np.arange(H)[:, None], np.arange(S), policy]
    assert left.all()


@dataclass(frozen=True)
class Careless(uli.ModelElimination):
    """One whose boxes are far too small: as if delta were close to 2 M."""

    def rule(self, size):
        return super().rule(size)._replace(log_term=0.1)


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize("name", ["(2, 2, 3)", "treatment"])
def test_boxes_that_are_too_small_fail(name, play):
    problem, _ = SIX[name]
    runs = uli.simulate(Careless(0.1, play), problem, 10**5, 100, seed=7)
    assert (~runs.event_held).mean() > 0.5


def test_empty_boxes_withdraw_the_certificate_and_the_run_goes_on():
    problem, _ = SIX["treatment"]
    with pytest.warns(GuaranteeWarning, match="empty"):
        runs = uli.simulate(Careless(0.1), problem, 10**5, 30, seed=1)
    empty = runs.empty_at > 0
    assert empty.any() and not runs.event_held[empty].any()
    later = runs.rounds >= runs.empty_at[:, None]
    assert (np.isnan(runs.certificates) == (later & empty[:, None])).all()
    assert (runs.visits.sum(axis=(2, 3)) == 10**5).all() and np.isfinite(runs.regret).all()


def test_one_stage_plays_the_best_actions():
    problem = PROBLEMS["one stage"]
    for play in PLAYS:
        runs = uli.simulate(uli.ModelElimination(0.1, play), problem, 10**9, 3, seed=0)
        assert (runs.regret == 0.0).all() and (runs.certificates == 0.0).all()
        assert (runs.look_first == 1).all() and runs.holds.all()


@pytest.mark.parametrize("play", PLAYS)
def test_looks_stay_few_on_a_chain(play):
    """All actions lead to state 0: looks grow linearly with H, not exponentially."""
    looks = []
    for H in (3, 5, 7, 9, 11):
        P, r = np.zeros((4, 2, 4)), np.tile([0.4, 0.6], (4, 1))
        P[:, :, 0] = 1.0
        r[1:] = [0.5, 0.2]
        problem = uli.TabularMDP(P, r, horizon=H)
        runs = uli.simulate(uli.ModelElimination(0.1, play), problem, 10**4, seed=0)
        looks.append(int((runs.look_first > 0).sum()))
    assert max(looks) <= 200, looks


def test_certificates_come_in_reward_units():
    plain = mdps.random_dense(2, 2, 3, seed=1)
    scaled = uli.TabularMDP(
        plain.transitions, 10.0 * plain.rewards - 4.0, plain.initial, low=-4.0, high=6.0
    )
    one, ten = (
        uli.simulate(uli.ModelElimination(0.1), p, 10**4, 3, seed=1) for p in (plain, scaled)
    )
    assert np.allclose(ten.certificates, 10.0 * one.certificates)
    assert np.allclose(ten.look_facts[0, 0, 2:4], 10.0 * one.look_facts[0, 0, 2:4] - 12.0)
    assert np.allclose(ten.played_gaps, 10.0 * one.played_gaps)
    assert np.allclose(ten.regret, 10.0 * one.regret)


def test_what_is_known_helps():
    river = mdps.river_swim(3, 4).restricted()
    told, untold = (
        uli.simulate(uli.ModelElimination(0.1), p, 10**5, 10, seed=1)
        for p in (river.with_known_structure(), river)
    )
    assert told.regret[:, -1].mean() < 0.8 * untold.regret[:, -1].mean()
    pooled = uli.simulate(uli.ModelElimination(0.1, pooled=True), river, 10**5, 10, seed=1)
    assert pooled.regret[:, -1].mean() < untold.regret[:, -1].mean()


def test_policies_and_actions_on_record():
    problem = mdps.random_dense(3, 2, 3, seed=2)
    runs = uli.simulate(uli.ModelElimination(0.1), problem, 10**6, 4, seed=1)
    for r in range(4):
        D = (runs.final_plays[r] > 0).sum()
        gaps = [problem.gap(policy) for policy in runs.policies[r, :D]]
        assert np.allclose(runs.gaps[r, :D], gaps, atol=1e-12)
        for e in range(D):  # a dropped action is never played again
            on = np.take_along_axis(runs.actions_dropped[r], runs.policies[r, e][:, :, None], 2)
            assert runs.last_play[r, e] < on[on > 0].min(initial=2 * 10**6)
    assert ((runs.actions_dropped > 0) ^ runs.actions_left).all()
    assert runs.actions_left.any(axis=3).all()
    mixed = uli.simulate(uli.ModelElimination(0.1, "stochastic"), problem, 10**6, 4, seed=1)
    assert mixed.policies is None and (mixed.final_plays.sum(axis=1) == 10**6).all()


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("delta", 0.0),
            ("delta", "x"),
            ("play", "Q"),
            ("play", None),
            ("pooled", 1),
            ("growth", 0.0),
            ("growth", math.inf),
            ("first", 0),
            ("first", 1.5),
        ],
    )
    def test_parameters(self, name, value):
        with pytest.raises(ArgumentError) as caught:
            uli.ModelElimination(**{name: value})
        assert caught.value.argument == name

    def test_pooling_what_changes_with_the_stage(self):
        with pytest.raises(ArgumentError) as caught:
            uli.simulate(uli.ModelElimination(pooled=True), PROBLEMS["dense (3, 2, 3)"], 10)
        assert caught.value.argument == "pooled"


def test_pooled_visits_that_cannot_be_counted_are_refused():
    lake = uli.mdps.river_swim(2, 20)
    with pytest.raises(uli.errors.HorizonTooLargeError, match="pooled"):
        uli.simulate(uli.ModelElimination(0.1, pooled=True), lake, 10**18, seed=0)


def test_what_rounding_leaves_open_is_not_said_to_be_certain():
    """Actions that differ by less than rounding may both be played."""
    for play in PLAYS:
        player = uli.ModelElimination(0.1, play).start([[[0, 0.5]]], low=0, high=1e12)
        assert player.certificate().bound >= 0.5, play
