"""Algorithm 1 around a user's rule, in Python or compiled."""

import json
import math

import numba
import numpy as np
import pytest

import uli_fast as uli
from tests.naive import elimination_framework
from tests.support.coupling import assert_equals_naive, assert_same_runs, random_problem, totals
from uli_fast.errors import ArgumentError, NoGuaranteeError, RuleError, StateError

DELTA = 0.2


def se_rule(n, total, active, t):
    """SE-MAB's own test; its first sweep is not tested."""
    K = len(n)
    keep = active.copy()
    if t <= K + 1:
        return keep
    for a in range(K):
        for j in range(K):
            if active[a] and active[j]:
                wa = math.sqrt(math.log(4 * K * n[a] ** 2 / DELTA) / (2 * n[a]))
                wj = math.sqrt(math.log(4 * K * n[j] ** 2 / DELTA) / (2 * n[j]))
                if total[j] / n[j] - wj > total[a] / n[a] + wa:
                    keep[a] = False
    return keep


def f(delta, t):
    return math.sqrt(14 * 3 * math.log(4 * 3 * t * t / delta) / t)


def odd_rule(n, total, active, t):
    """Drop the worst active arm every 50 rounds: depends on t and on the sums."""
    keep = active.copy()
    if t % 50 == 0 and active.sum() > 1:
        worst = min((total[a] / n[a], a) for a in range(len(n)) if active[a])[1]
        keep[worst] = False
    return keep


@pytest.mark.parametrize("rule", [se_rule, odd_rule])
def test_equals_naive_on_the_same_draws(rule):
    rng = np.random.default_rng(31)
    for seed in range(60):
        T = int(rng.integers(1, 500))
        problem = random_problem(rng, T)
        R = 5.0 if problem.low is None else None
        learner = uli.EliminationFramework(rule, f, 1.0, DELTA, R)
        runs = uli.simulate(learner, problem, T, seed=seed, rounds=range(1, T + 1))

        def as_list(n, sums, active, t):
            mask = np.isin(np.arange(len(n)), active)
            return np.flatnonzero(rule(np.array(n), np.array(sums), mask, t)).tolist()

        naive = elimination_framework.play(totals(problem, seed), problem.n_arms, T, as_list)
        assert_equals_naive(runs, naive)


def test_a_compiled_rule_plays_as_the_python_one():
    compiled = numba.njit(se_rule)
    for seed in range(20):
        problem = uli.BernoulliBandit([0.8, 0.6, 0.2])
        one = uli.simulate(
            uli.EliminationFramework(se_rule, f, 1.0, DELTA), problem, 2000, seed=seed
        )
        two = uli.simulate(
            uli.EliminationFramework(compiled, f, 1.0, DELTA), problem, 2000, seed=seed
        )
        assert_same_runs(one, two)
        assert one.worst_ratio == two.worst_ratio


def test_se_as_a_rule_is_se():
    problem = uli.BernoulliBandit([0.8, 0.6, 0.2])
    learner = uli.EliminationFramework(numba.njit(se_rule), f, 1.0, DELTA)
    one = uli.simulate(learner, problem, 5000, 10, seed=3)
    two = uli.simulate(uli.SuccessiveElimination(DELTA), problem, 5000, 10, seed=3, engine="rounds")
    # The rule acts before a round, so what falls at the horizon differs; nothing else does.
    assert (one.plays == two.plays).all()
    assert (one.last_play == two.last_play).all()
    printed = uli.SuccessiveElimination(DELTA).guarantee(problem, form="paper")
    assert one.worst_ratio == pytest.approx(two.worst_ratio_against(printed))
    assert one.holds.all()


def test_an_f_that_rises_is_followed_round_by_round():
    def wave(delta, t):
        return 2.0 + math.sin(t)

    T = 400
    problem = uli.BernoulliBandit([0.9, 0.1])
    learner = uli.EliminationFramework(lambda n, s, a, t: a, wave, 0.1, DELTA)
    runs = uli.simulate(learner, problem, T, seed=0)
    # Two arms in turn: arm 1 is played at even rounds.
    expected = max(0.8 / (0.1 * wave(DELTA, t)) for t in range(2, T + 1, 2))
    assert runs.worst_ratio[0] == pytest.approx(expected)
    assert not runs.holds[0]


def test_its_guarantee_is_a_claim():
    guarantee = uli.EliminationFramework(se_rule, f, 2.0, DELTA).guarantee(3)
    assert not guarantee.proved
    assert guarantee.bound(100) == pytest.approx(2 * f(DELTA, 100))
    last = guarantee.rounds_until(0.5)
    assert guarantee.bound(last) > 0.5 >= guarantee.bound(last + 1)
    with pytest.raises(NoGuaranteeError):
        guarantee.regret(100)
    with pytest.raises(NoGuaranteeError, match="does not fall"):
        uli.EliminationFramework(se_rule, lambda d, t: 1.0).guarantee(3).rounds_until(0.5)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_rule_that_keeps_nobody(compiled):
    def nobody(n, total, active, t):
        return np.zeros(len(n), np.bool_)

    rule = numba.njit(nobody) if compiled else nobody
    with pytest.raises(RuleError, match="round 3"):
        uli.simulate(uli.EliminationFramework(rule, f), uli.BernoulliBandit([0.5, 0.4]), 100)


def test_a_rule_that_returns_something_else():
    for rule in (lambda n, s, a, t: [1, 0], lambda n, s, a, t: None, lambda n, s, a, t: a[:1]):
        with pytest.raises(RuleError, match="mask"):
            uli.simulate(uli.EliminationFramework(rule, f), uli.BernoulliBandit([0.5, 0.4]), 100)


def test_skipping_is_refused():
    with pytest.raises(ArgumentError, match="round by round"):
        uli.simulate(
            uli.EliminationFramework(se_rule, f), uli.BernoulliBandit([0.5]), 10, engine="skip"
        )


def test_live_play_gives_the_same_decisions():
    learner = uli.EliminationFramework(odd_rule, f, 1.0, DELTA)
    rewards = (np.random.default_rng(2).random((3, 400)) < 0.5).astype(float)
    player, counts, arms = learner.start(3), np.zeros(3, int), []
    for _ in range(400):
        d = player.ask()
        player.tell(d.id, rewards[d.arm, counts[d.arm]])
        counts[d.arm] += 1
        arms.append(d.arm)
    runs = uli.simulate(
        learner, uli.TableBandit(rewards, means=[0.5] * 3), 400, rounds=range(1, 401)
    )
    assert arms == np.diff(runs.plays[0], axis=0, prepend=0).argmax(axis=1).tolist()
    assert not player.certificate().proved
    state = json.loads(json.dumps(player.state()))
    with pytest.raises(StateError, match="code of your own"):
        uli.restore(state)
    assert uli.restore(state, learner=learner).state() == player.state()


def test_play_follows_f_round_by_round_too():
    def wave(delta, t):
        return 2.0 + math.sin(t)

    learner = uli.EliminationFramework(lambda n, s, a, t: a, wave, 0.1, DELTA)
    runs = uli.play(learner, lambda arm: 0.5, 400, 2, means=[0.9, 0.1])
    expected = max(0.8 / (0.1 * wave(DELTA, t)) for t in range(2, 401, 2))
    assert runs.worst_ratio[0] == pytest.approx(expected)


def test_an_f_that_is_not_a_bound():
    problem = uli.BernoulliBandit([0.9, 0.1])

    def run(f):
        learner = uli.EliminationFramework(lambda n, s, a, t: a, f)
        return uli.simulate(learner, problem, 100, seed=0)

    assert run(lambda delta, t: -1.0).worst_ratio[0] == math.inf
    assert not run(lambda delta, t: 0.0).holds[0]
    with pytest.raises(RuleError, match="NaN at round 2"):
        run(lambda delta, t: math.nan)
    for nothing in (None, "x"):
        with pytest.raises(RuleError, match=f"f must return a number, got {nothing!r}"):
            run(lambda delta, t, nothing=nothing: nothing)


def test_a_compiled_rule_is_held_to_the_same_contract():
    @numba.njit
    def short(n, total, active, t):
        return active[:1]

    @numba.njit
    def meddling(n, total, active, t):
        n[0] += 5
        active[1] = False
        return np.ones(len(n), np.bool_)

    @numba.njit
    def nonsense(n, total, active, t):
        return "keep"

    @numba.njit
    def scores(n, total, active, t):
        return total

    problem = uli.BernoulliBandit([0.5, 0.4])
    for rule in (short, nonsense, scores):
        with pytest.raises(RuleError, match="rule"):
            uli.simulate(uli.EliminationFramework(rule, f), problem, 100, seed=0)
    runs = uli.simulate(uli.EliminationFramework(meddling, f), problem, 100, seed=0)
    assert runs.final_plays.tolist() == [[50, 50]]


def test_a_rule_that_fails_leaves_a_live_player_as_it_was():
    def failing(n, total, active, t):
        return np.zeros(len(n), np.bool_)

    player = uli.EliminationFramework(failing, f).start(2)
    for _ in range(1):
        d = player.ask()
        player.tell(d.id, 0.5)
    d = player.ask()
    before = player.state()
    with pytest.raises(RuleError):
        player.tell(d.id, 0.5)
    assert player.state() == before
    assert player.pending == (d.id,)
