"""Live model elimination: the simulation's decisions, blocks in advance, sound certificates."""

import json
import math
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import uli_fast as uli
from tests.support.draws import draws
from tests.support.examples import actions_of
from tests.support.models import TableSource, draw_table
from tests.support.patience import PATIENCE
from tests.support.signing import signed
from uli_fast._support.streams import stream
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    GuaranteeWarning,
    NoGuaranteeError,
    StateError,
    UnknownDecisionError,
)
from uli_fast.kernels.mdp.boxes import holds
from uli_fast.learners._policies.models import rows_of

ROOT = Path(__file__).parent.parent.parent
PLAYS = ("deterministic", "stochastic")
mdps = uli.mdps
SMALL = mdps.random_dense(2, 2, 2, seed=1)
DENSE = mdps.random_dense(3, 2, 3, seed=2)
SPARSE = mdps.random_sparse(4, 3, 3, seed=3).with_known_structure()
RIVER = mdps.river_swim(3, 4)
TREATMENT = mdps.two_stage_treatment().restricted().with_known_structure()
MIXED = mdps.random_dense(4, 3, 4, seed=1)  # on which policies do draw their actions
PROBLEMS = {
    "mixed": MIXED,
    "small": SMALL,
    "sparse and known": SPARSE,
    "river": RIVER,
    "treatment": TREATMENT,
}


def stretched(problem, low, high):
    return uli.TabularMDP(
        problem.transitions,
        low + (high - low) * problem.rewards,
        problem.initial,
        low=low,
        high=high,
        decision_points=problem.decision_points,
    )


def quick(play="deterministic", delta=0.2, **more):
    return uli.ModelElimination(delta, play, **{"growth": 0.3, "first": 4, **more})


def started(problem, learner):
    return learner.start(
        problem.rewards,
        problem.initial_support,
        low=problem.low,
        high=problem.high,
        decision_points=problem.decision_points,
        successors=problem.successors,
    )


def drawn(law, rng):
    """Draw from a law, none that it excludes."""
    return min(int((np.cumsum(law) <= rng.random()).sum()), int(np.flatnonzero(law)[-1]))


def walk(problem, policy, rng):
    """Return the states and actions of an episode."""
    states, actions = [], []
    for h in range(problem.horizon):
        law = problem.transitions[h - 1, states[-1], actions[-1]] if h else problem.initial
        states.append(drawn(law, rng))
        chosen = policy[h, states[-1]]
        actions.append(int(chosen) if policy.ndim == 2 else drawn(chosen, rng))
    return states, actions


def told_blocks(player, problem, rng, episodes):
    """Ask for whole blocks, and tell each in an order of its own; return how many were asked."""
    asked = 0
    while asked < episodes:
        room = player.room
        block = player.ask(episodes if room is None else room)
        asked += len(block)
        for i in rng.permutation(len(block)):
            player.tell(block[i].id, *walk(problem, block[i].policy, rng))
    return asked


def through_json(player):
    return uli.restore(json.loads(json.dumps(player.state(), allow_nan=False)))


def least_value(problem, left):
    """Return the smallest value of a policy of actions left."""
    V = np.zeros(problem.n_states)
    for h in reversed(range(problem.horizon)):
        V = np.where(left[h], problem.rewards[h] + problem.transitions[h] @ V, np.inf).min(axis=1)
    return float(problem.initial @ V)


class TestDecisions:
    def test_they_are_equal_where_they_say_the_same(self, tmp_path):
        rewards = mdps.river_swim(3, 3).rewards
        with uli.Study.open(tmp_path / "a.db", learner=quick(), rewards=rewards) as study:
            first, second, room = study.ask("one"), study.ask("two"), study.room
        with uli.Study.open(tmp_path / "a.db") as study:
            assert study.ask("one") == first and not study.ask("one") != first
            assert study.ask("two") != first and first != "one"
            assert len({first, study.ask("one"), second}) == 2
            assert study.room == room > 0

    @pytest.mark.parametrize("play", PLAYS)
    @pytest.mark.parametrize("name", PROBLEMS)
    def test_they_are_the_kernel_s_on_the_same_transitions(self, name, play):
        problem, learner, T = PROBLEMS[name], quick(play), 600
        H, S, A = problem.rewards.shape
        table = draw_table(problem, learner, T, seed=2)
        source = TableSource(table.copy(), problem, learner)
        run = learner.begin(learner.on(problem), table, "rounds", T, np.array([T]))
        player = started(problem, learner)
        for t in range(T):
            decision = player.ask()
            run.advance(1)
            policy = decision.policy
            if play == "deterministic":
                assert (policy == run.choice.one).all(), t
                policy = np.eye(A)[policy]
            else:
                h, s = np.indices((H, S))
                assert (policy.sum(axis=2) == 1.0).all()
                assert (policy[h, s, run.choice.one] == run.choice.mix).all(), t
            states, actions = [], []
            for h in range(H):
                states.append(source.next_state(h, *([states[-1], actions[-1]] if h else [0, 0])))
                chances = policy[h, states[-1]]
                sure = (chances == 1.0).any()
                action = chances.argmax() if sure else source.action(h + 1, states[-1], chances)
                actions.append(int(action))
            player.tell(decision.id, states, actions)
        log = run.look_log()
        looks = [x for x in player.memory.openings if x < T]
        assert (log.first - 1).tolist() == looks and len(looks) > 10
        same_look = len(looks) == len(player.memory.openings)
        assert not same_look or np.array_equal(player.memory.facts[:4], log.facts[-1, :4])
        assert (player._boxes.n == run.boxes.n).all()
        assert (player._boxes.seen == run.boxes.seen).all()
        assert (player.active == log.left).all() or not same_look
        mixed = [policy.max(axis=2).min() < 1.0 for policy in player._policies if policy.ndim == 3]
        assert sum(mixed) > 5 or problem is not MIXED or play == "deterministic"

    @pytest.mark.parametrize("problem", [DENSE, stretched(DENSE, -2.0, 6.0)], ids=repr)
    def test_simulate_plays_the_same_policies(self, problem):
        T, learner, rng = 400, quick(), draws(5)
        law, player, policies = problem.law(stream(5, 0)), started(problem, learner), []

        def drawn(cdf):
            return int(np.searchsorted(cdf, rng.random(), side="right"))

        for _ in range(T):
            decision = player.ask()
            states, actions = [], []
            for h in range(problem.horizon):
                cdf = law.cdf[h - 1, states[-1], actions[-1]] if h else law.start
                states.append(drawn(cdf))
                actions.append(int(decision.policy[h, states[-1]]))
            player.tell(decision.id, states, actions)
            policies.append(decision.policy)
        runs = uli.simulate(learner, problem, T, seed=5, engine="rounds")
        played, first, plays = np.unique(policies, axis=0, return_index=True, return_counts=True)
        order = first.argsort()
        assert len(played) > 5
        assert (runs.policies[0] == played[order]).all()
        assert (runs.final_plays[0] == plays[order]).all()

    @pytest.mark.parametrize("play", PLAYS)
    def test_a_block_has_one_policy_whatever_comes_in_the_meantime(self, play):
        player, rng = started(SMALL, quick(play)), np.random.default_rng(0)
        told_blocks(player, SMALL, rng, 40)
        before, room = player.state(), player.room
        block = player.ask(room)
        for decision in block[:-1]:
            player.tell(decision.id, *walk(SMALL, decision.policy, rng))
        assert player.state()["memory"]["facts"] == before["memory"]["facts"] and player.room == 0
        assert all(np.array_equal(d.policy, block[0].policy) for d in block)
        player.tell(block[-1].id, *walk(SMALL, block[-1].policy, rng))
        assert len(player.memory.openings) == len(before["memory"]["openings"]) + 1
        assert not block[0].policy.flags.writeable

    @pytest.mark.parametrize("play", PLAYS)
    def test_any_order_of_telling_gives_the_same_decisions(self, play):
        states = []
        for order in range(4):
            player, world = started(RIVER, quick(play)), np.random.default_rng(1)
            shuffle = np.random.default_rng(order)
            while len(player.queue) < 300:
                block = player.ask(min(player.room, 25))
                outcomes = [walk(RIVER, d.policy, world) for d in block]
                for i in shuffle.permutation(len(block)) if order else range(len(block)):
                    player.tell(block[i].id, *outcomes[i])
            states.append(player.state())
        assert states[0] == states[1] == states[2] == states[3]
        assert len(states[0]["memory"]["openings"]) > 10

    @pytest.mark.parametrize("pooled", [False, True])
    def test_rewards_of_one_stage_are_those_of_all(self, pooled):
        learner, rewards = quick(pooled=pooled), RIVER.rewards[0]
        short, full = learner.start(rewards, horizon=4), learner.start(RIVER.rewards)
        assert short.state() == full.state()
        mask = RIVER.transitions > 0.0
        repeated = learner.start(rewards, horizon=4, successors=mask[0])
        assert repeated.state() == learner.start(RIVER.rewards, successors=mask).state()
        assert repeated.certificate().assumes != short.certificate().assumes

    def test_once_nothing_is_left_to_decide_blocks_have_no_end(self):
        player = quick().start(np.full((2, 2, 2), 0.5))
        assert player.room is None and player.certificate().bound == 0.0
        assert len(player.ask(1000)) == 1000 and through_json(player).state() == player.state()
        assert player.certificate().envelope < math.inf


class TestSaving:
    @pytest.mark.parametrize("play", PLAYS)
    @pytest.mark.parametrize("name", PROBLEMS)
    def test_a_restored_player_goes_on_bit_for_bit(self, name, play):
        problem, rng = PROBLEMS[name], np.random.default_rng(4)
        player = started(problem, quick(play))
        for _ in range(8):
            told_blocks(player, problem, rng, 30)
            waiting = player.ask(3)
            again = through_json(player)
            assert again.state() == player.state() and again.pending == player.pending
            assert again.certificate() == player.certificate()
            for decision in waiting:
                outcome = walk(problem, decision.policy, rng)
                for one in (player, again):
                    one.tell(decision.id, *outcome)
            assert again.state() == player.state()
            assert (again.recommend() == player.recommend()).all()
            player = again

    def test_probabilities_are_restored_as_they_were_given_out(self):
        """Processors round in different ways: last digits are believed, others are not."""
        player, rng = started(MIXED, quick("stochastic")), np.random.default_rng(0)
        told_blocks(player, MIXED, rng, 400)
        state = json.loads(json.dumps(player.state()))
        chances = np.array(state["policies"])[..., 0]
        k, h, s = np.argwhere((chances > 0.01) & (chances < 0.99))[0]
        state["policies"][k][h][s][0] += 1e-14
        state = signed(state)
        assert uli.restore(state).state() == state
        state["policies"][k][h][s][0] += 1e-3
        with pytest.raises(StateError, match="policies"):
            uli.restore(state)

    @pytest.mark.parametrize("play", PLAYS)
    def test_states_that_contradict_themselves_are_refused(self, play):
        player, rng = started(SMALL, quick(play)), np.random.default_rng(0)
        told_blocks(player, SMALL, rng, 60)
        player.ask(2)
        good = json.loads(json.dumps(player.state()))
        assert uli.restore(good).state() == good

        def spoiled(change):
            state = json.loads(json.dumps(good))
            change(state)
            with pytest.raises(StateError):
                uli.restore(signed(state))

        spoiled(lambda x: x["memory"]["openings"].pop())
        spoiled(lambda x: x["memory"]["openings"].append(10**9))
        spoiled(lambda x: x["memory"]["openings"].__setitem__(1, x["memory"]["openings"][1] + 1))
        spoiled(lambda x: x["queue"]["decisions"].__setitem__(0, 1))
        spoiled(lambda x: x["queue"]["decisions"].append(0))
        spoiled(lambda x: x["queue"]["outcomes"].__setitem__(0, None))
        spoiled(lambda x: x["queue"]["outcomes"][0].__setitem__(0, 7))
        spoiled(lambda x: x["queue"]["outcomes"][0].__setitem__(0, -1))
        spoiled(lambda x: x["queue"]["outcomes"][0].append(0))
        spoiled(lambda x: x["queue"]["outcomes"].__setitem__(0, "ab"))
        spoiled(lambda x: x["memory"]["facts"].__setitem__(0, 0.0))
        spoiled(lambda x: x["memory"]["facts"].__setitem__(0, None))
        spoiled(lambda x: x["memory"]["facts"].__setitem__(3, math.nan))
        spoiled(lambda x: x["policies"].pop())
        spoiled(lambda x: x["queue"].update(settled=1))
        spoiled(lambda x: x["start"].update(rewards=[[0.0]]))
        spoiled(lambda x: x["start"].update(successors=[[False]]))
        spoiled(lambda x: x["queue"].update(missing=[[1, "lost"]]))
        spoiled(lambda x: x["memory"].pop("facts"))


def spoiled_episodes():
    """Yield what is told in place of a good episode of SPARSE, and the argument at fault."""
    yield [9, 0, 0], [0, 0, 0], "states"
    yield [0, 0], [0, 0, 0], "states"
    yield [0] * 5, [0] * 3, "states"
    yield "abc", [0, 0, 0], "states"
    yield [0.5, 0, 0], [0, 0, 0], "states"


class TestErrors:
    @pytest.mark.parametrize("play", PLAYS)
    def test_what_is_no_episode_changes_nothing(self, play):
        player, rng = started(SPARSE, quick(play)), np.random.default_rng(0)
        decision = player.ask()
        states, actions = walk(SPARSE, decision.policy, rng)
        before = player.state()
        cases = [*spoiled_episodes(), (states, actions[:-1], "actions"), (states, None, "actions")]
        cases += [(states, [*actions[:-1], 3], "actions"), (states, [-1, 0, 0], "actions")]
        for told, moved, argument in cases:
            with pytest.raises(ArgumentError) as refused:
                player.tell(decision.id, told, moved)
            assert refused.value.argument == argument
            assert player.state() == before
        with pytest.raises(UnknownDecisionError):
            player.tell(2, states, actions)
        last = SPARSE.successors[2, states[2], actions[2]]
        with pytest.raises(ArgumentError, match="after the last stage") as refused:
            player.tell(1, [*states, int(last.argmin())], actions)
        assert refused.value.argument == "states" and player.state() == before
        player.tell(1, [*states, int(last.argmax())], actions)
        follow = SPARSE.successors[1, states[1], actions[1]]
        other = [*states[:-1], int(np.flatnonzero(follow & (np.arange(4) != states[-1]))[0])]
        with pytest.raises(ConflictingRewardError):
            player.tell(1, other, [*actions[:-1], *actions_of(decision.policy[2:], other[2:], rng)])

    @pytest.mark.parametrize("pooled", [False, True])
    def test_impossible_moves_change_nothing(self, pooled):
        mask = np.ones((3, 2, 3), bool)
        mask[0, :, 2] = False  # from state 0 never to state 2
        learner = quick(pooled=pooled)
        rewards = np.random.default_rng(0).random((3, 3, 2))
        player = learner.start(rewards, [0, 1], successors=mask)
        decision = player.ask()
        before = player.state()
        for states, said in (([2, 0, 0], "initial_support"), ([0, 2, 0], "state 2 at stage 1")):
            with pytest.raises(ArgumentError, match=said) as refused:
                player.tell(1, states, actions_of(decision.policy, states, None))
            assert refused.value.argument == "states" and player.state() == before
        states = [1, 0, 2]
        with pytest.raises(ArgumentError, match="successors calls impossible after state 0"):
            player.tell(1, states, actions_of(decision.policy, states, None))
        states = [1, 2, 0]
        actions = actions_of(decision.policy, states, None)
        for told in ([*states, 2], np.array([*states, 2])):  # where the last action led
            with pytest.raises(ArgumentError, match=r"after state 0 and action") as refused:
                player.tell(1, told, actions)
            assert refused.value.argument == "states" and player.state() == before
        player.tell(1, [*states, 1], actions)
        assert player.state() != before
        assert player.queue.outcomes == [tuple(states)]  # a state after the last stage is not kept
        player.tell(1, states, actions)  # the same, then
        assert through_json(player).state() == player.state()

    def test_after_the_last_stage_its_own_mask_counts(self):
        mask = np.ones((2, 2, 2, 2), bool)
        mask[1, :, :, 1] = False
        rewards = np.random.default_rng(0).random((2, 2, 2))
        player = quick().start(rewards, successors=mask)
        actions = actions_of(player.ask().policy, [0, 1], None)
        with pytest.raises(ArgumentError, match="has state 1 after the last stage"):
            player.tell(1, [0, 1, 1], actions)
        player.tell(1, [0, 1, 0], actions)
        free = quick().start(rewards)
        free.tell(free.ask().id, [0, 1, 1], actions_of(free.policy, [0, 1], None))

    def test_actions_must_be_those_of_the_policy(self):
        player = started(SMALL, quick())
        decision = player.ask()
        wrong = [1 - int(decision.policy[0, 0]), int(decision.policy[1, 0])]
        before = player.state()
        with pytest.raises(ArgumentError, match="must be the policy's") as refused:
            player.tell(1, [0, 0], wrong)
        assert refused.value.argument == "actions" and player.state() == before

    def test_actions_that_are_never_drawn_are_refused(self):
        player, rng = started(SMALL, quick("stochastic")), np.random.default_rng(0)
        decision = player.ask()
        sure = np.argwhere(decision.policy == 0.0)
        h, s, a = sure[0]
        states, actions = [int(s), int(s)], actions_of(decision.policy, [s, s], rng)
        actions[h] = int(a)
        before = player.state()
        with pytest.raises(ArgumentError, match="never takes") as refused:
            player.tell(1, states, actions)
        assert refused.value.argument == "actions" and player.state() == before

    @pytest.mark.parametrize(
        ("argument", "given"),
        [
            ("rewards", {"rewards": SMALL}),
            ("rewards", {"rewards": np.full((2, 2, 2), 1.5)}),
            ("rewards", {"rewards": np.zeros(3)}),
            ("rewards", {"rewards": [[[math.nan]]]}),
            ("horizon", {"rewards": np.zeros((2, 2))}),
            ("horizon", {"horizon": 3}),
            ("horizon", {"horizon": 0}),
            ("horizon", {"rewards": np.zeros((2, 2)), "horizon": 10**9}),
            ("initial_support", {"initial_support": []}),
            ("initial_support", {"initial_support": [2]}),
            ("initial_support", {"initial_support": [False, False]}),
            ("decision_points", {"decision_points": [[True]]}),
            ("decision_points", {"decision_points": np.zeros((2, 2), bool)}),
            ("successors", {"successors": np.zeros((2, 2, 2), bool)}),
            ("successors", {"successors": np.ones((2, 2), bool)}),
            ("successors", {"successors": np.ones((2, 2, 2))}),
            ("low", {"low": math.nan}),
            ("high", {"high": 0.0}),
            ("seed", {"seed": -1}),
        ],
    )
    def test_starting(self, argument, given):
        with pytest.raises(ArgumentError) as refused:
            quick().start(**{"rewards": SMALL.rewards, **given})
        assert refused.value.argument == argument

    def test_masks_that_contradict_each_other(self):
        one, other = np.eye(2, dtype=bool), ~np.eye(2, dtype=bool)
        mask = np.array([np.stack([one, one], 1), np.stack([other, other], 1)] * 2)[:3]
        rewards = np.random.default_rng(0).random((3, 2, 2))
        assert quick().start(rewards, successors=mask).certificate().bound >= 0.0
        with pytest.raises(ArgumentError) as refused:
            quick(pooled=True).start(rewards, successors=mask)
        assert refused.value.argument == "successors"
        # Where actions lead to different states there is something to decide.
        apart = np.array([[[True, False], [False, True]]] * 2)
        with pytest.raises(ArgumentError) as refused:
            quick().start(
                np.full((2, 2, 2), 0.5),
                successors=apart,
                decision_points=[[False, True], [True, True]],
            )
        assert refused.value.argument == "decision_points"


# What is certain.


@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize("pooled", [False, True])
def test_certificates_hold_against_the_truth(play, pooled):
    """At every look of 200 runs, the worst policy of actions left; on the event without fail."""
    problem, delta, runs, failed, broken = mdps.river_swim(3, 3), 0.3, 200, 0, 0
    learner = quick(play, delta, pooled=pooled, growth=0.5)
    P = rows_of(problem, pooled).flat(problem.initial, problem.transitions)
    best = problem.optimal_value
    for run in range(runs):
        player, rng = started(problem, learner), np.random.default_rng(run)
        held, fine, least = True, True, math.inf
        while len(player.queue) < 150:
            held = held and holds(player._boxes, P)
            certificate, (low, high) = player.certificate(), player.intervals()["best policy"]
            assert certificate.bound <= least  # it never rises
            least = certificate.bound
            worst = problem.value(player.policy)
            if play == "deterministic":
                worst = least_value(problem, player.active)
            sound = best - worst <= certificate.bound + 1e-12
            sound = sound and low - 1e-12 <= best <= high + 1e-12
            sound = sound and problem.gap(player.recommend()) <= high - low + 1e-12
            assert sound or not held
            fine = fine and sound
            told_blocks(player, problem, rng, 1)
        failed, broken = failed + (not held), broken + (not fine)
    most = stats.binom.ppf(0.999, runs, delta)
    assert broken <= failed <= most
    assert least < 0.5 * problem.horizon  # the last run has learned something


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
def test_boxes_that_are_too_small_break_it(monkeypatch):
    """The test above can fail."""
    real = uli.ModelElimination.rule

    def small(self, size):
        rule = real(self, size)
        return rule._replace(log_term=0.02 * rule.log_term)

    monkeypatch.setattr(uli.ModelElimination, "rule", small)
    problem = mdps.river_swim(3, 3)
    P = rows_of(problem, False).flat(problem.initial, problem.transitions)
    failed = 0
    for run in range(20):
        player, rng = started(problem, quick(delta=0.3)), np.random.default_rng(run)
        held = True
        while len(player.queue) < 150 and held:
            held = holds(player._boxes, P)
            told_blocks(player, problem, rng, 1)
        failed += not held
    assert failed > 15


class TestCertificates:
    def test_they_come_in_reward_units(self):
        rng = np.random.default_rng(0)
        wide = stretched(SMALL, -2.0, 6.0)
        unit, other = started(SMALL, quick()), started(wide, quick())
        for _ in range(60):
            one, two = unit.ask(), other.ask()
            assert (one.policy == two.policy).all()
            episode = walk(SMALL, one.policy, rng)
            unit.tell(one.id, *episode)
            other.tell(two.id, *episode)
        a, b = unit.certificate(), other.certificate()
        assert b.bound == pytest.approx(8.0 * a.bound, rel=1e-9) and 0.0 < a.bound < 2.0
        assert b.envelope == pytest.approx(8.0 * a.envelope, rel=1e-9)
        low, high = unit.intervals()["best policy"]
        wanted = (-4.0 + 8.0 * low, -4.0 + 8.0 * high)
        assert other.intervals()["best policy"] == pytest.approx(wanted, rel=1e-9)

    def test_the_envelope_is_f_and_the_bound_never_above_it(self):
        learner = quick()
        player, rng = started(RIVER, learner), np.random.default_rng(3)
        F = learner.guarantee(RIVER)
        for _ in range(40):
            told_blocks(player, RIVER, rng, 1)
            certificate = player.certificate()
            assert certificate.round == player.queue.settled + 1
            assert certificate.envelope == F.bound(certificate.round) >= certificate.bound
            assert certificate.active == math.prod(player.active.sum(axis=2).ravel().tolist())

    def test_beyond_its_block_a_policy_plays_on_and_f_is_not_claimed(self):
        player, rng = started(SMALL, quick()), np.random.default_rng(0)
        told_blocks(player, SMALL, rng, 30)
        inside, beyond = player.ask(player.room), player.ask(5)
        assert all((d.policy == inside[0].policy).all() for d in beyond)
        within = player.certificate()
        assert within.envelope < math.inf  # what is settled was asked for in time
        for decision in (*beyond, *inside):
            player.tell(decision.id, *walk(SMALL, decision.policy, rng))
        assert player.queue.settled == len(player.queue) == player._boxes.n[0]
        for one in (player, through_json(player)):
            after = one.certificate()
            assert after.envelope == math.inf and after.bound <= within.bound
        told_blocks(player, SMALL, rng, 3000)
        later = player.certificate()
        assert later.envelope == math.inf and later.bound < 0.7 * after.bound

    def test_missing_episodes_are_not_counted_and_nothing_is_proved(self):
        player, rng = started(SMALL, quick()), np.random.default_rng(0)
        block = player.ask(player.room)
        player.tell_missing(block[0].id, "lost")
        for decision in block[1:]:
            player.tell(decision.id, *walk(SMALL, decision.policy, rng))
        assert player.room > 0 and player._boxes.n[0] == len(block) - 1  # the block is over
        for one in (player, through_json(player)):
            for asked in (one.certificate, one.intervals):
                with pytest.raises(NoGuaranteeError, match="missing"):
                    asked()
        with pytest.raises(ConflictingRewardError):
            player.tell(block[0].id, *walk(SMALL, block[0].policy, rng))

    @pytest.mark.parametrize("play", PLAYS)
    def test_an_empty_box_withdraws_it_and_play_goes_on(self, play):
        """The law changes after a while, which is assumed never to happen."""
        player, rng = started(SMALL, quick(play)), np.random.default_rng(0)

        def episode(policy, s):
            states = [0, s]
            return states, actions_of(policy, states, rng)

        warned = 0
        for t in range(4000):
            decision = player.ask()
            told = episode(decision.policy, int(t >= 300))
            if warned:
                player.tell(decision.id, *told)
                continue
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                player.tell(decision.id, *told)
            warned += len(found)
            assert all(x.category is GuaranteeWarning for x in found)
        assert warned == 1 and player.room is not None
        for one in (player, through_json(player)):
            with pytest.raises(NoGuaranteeError, match="is empty"):
                one.certificate()
            with pytest.raises(NoGuaranteeError):
                one.intervals()
            assert one.recommend().shape == (2, 2)

    @pytest.mark.parametrize("name", PROBLEMS)
    def test_what_is_recommended_is_worth_what_is_certain(self, name):
        problem, rng = PROBLEMS[name], np.random.default_rng(8)
        player = started(problem, quick())
        for _ in range(30):
            told_blocks(player, problem, rng, 20)
            low, high = player.intervals()["best policy"]
            assert low - 1e-12 <= problem.value(player.recommend()) <= high + 1e-12
        assert high - low < 0.8 * problem.horizon

    def test_numbers_of_policies_too_long_to_print(self):
        player = quick().start(np.zeros((1, 3, 2)))
        assert "active=8," in repr(player.certificate())
        rewards = np.zeros((60, 100, 4))
        rewards[-1] = np.linspace(0.0, 1.0, 100)[:, None]
        long = uli.ModelElimination(0.1).start(rewards)
        assert "active=about 1e3612," in repr(long.certificate())
        assert long.certificate().active == 4**6000


# Studies.

CHILD = """
import os, signal, sys
import numpy as np
import uli_fast as uli
from tests.players.test_model_elimination import RIVER, quick, walk

path, play, kills, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
learner = quick(play)
with uli.Study.open(path, learner, rewards=RIVER.rewards) as study:
    done = 0
    while len(study.history()) < last:
        for d in [study.ask() for _ in range(7)]:
            study.tell(d.id, *walk(RIVER, d.policy, np.random.default_rng(d.id)))
            done += 1
            if done == kills:
                os.kill(os.getpid(), signal.SIGKILL)
"""


def child(path, play, kills, last):
    arguments = [str(path), play, str(kills), str(last)]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *arguments], cwd=ROOT, timeout=PATIENCE, check=False
    )
    return done.returncode


@pytest.mark.parametrize("play", PLAYS)
def test_a_study_that_is_killed_goes_on(tmp_path, play):
    path = tmp_path / "trial.db"
    assert child(path, play, 17, 84) < 0
    with uli.Study.open(path) as study:
        assert len(study.history()) == 21 and len(study.pending()) == 4
        for record in study.pending():
            policy = np.array(record.arm)
            study.tell(record.id, *walk(RIVER, policy, np.random.default_rng(record.id)))
    assert child(path, play, 30, 84) < 0
    with uli.Study.open(path) as study:
        for record in study.pending():
            policy = np.array(record.arm)
            study.tell(record.id, *walk(RIVER, policy, np.random.default_rng(record.id)))
    assert child(path, play, 0, 84) == 0
    player = quick(play).start(RIVER.rewards)
    while len(player.queue) < 84:
        for d in player.ask(7):
            player.tell(d.id, *walk(RIVER, d.policy, np.random.default_rng(d.id)))
    with uli.Study.read(path) as study:
        assert study._replay.player.state() == player.state()
        assert study.certificate() == player.certificate()
        assert (study.active == player.active).all()
        assert (study.recommend() == player.recommend()).all()
        row = study.history()[5]
        policy = player._policies[player.queue.decisions[5]]
        assert row.arm == policy.tolist() and row.states == list(player.queue.outcomes[5][:4])
        assert row.actions == walk(RIVER, policy, np.random.default_rng(6))[1]
        assert row.reward == RIVER.rewards[range(4), row.states, row.actions].sum()
    audit = uli.Study.audit(path)
    assert (
        len(audit.history) == 84
        and "no policy that may still be played is worse" in audit.certificate
    )


def test_a_study_is_opened_again_with_what_it_began_with(tmp_path):
    path, learner = tmp_path / "trial.db", quick()
    mask = (RIVER.transitions > 0.0)[0]
    about = {"rewards": RIVER.rewards[0], "horizon": 4, "successors": mask, "initial_support": [0]}
    with uli.Study.open(path, learner, **about) as study:
        decision = study.ask("a")
        assert "successors" in str(study.certificate().assumes)
        with pytest.raises(ArgumentError) as refused:
            study.tell(decision.id, [0, 2, 2, 2], [int(decision.policy[0, 0]), 0, 0, 0])
        assert refused.value.argument in ("states", "actions")
    with uli.Study.open(path, learner, **about) as study:
        assert (study.ask("a").policy == decision.policy).all()
    for name, other in (("successors", ~np.zeros_like(mask)), ("horizon", 5)):
        with pytest.raises(ArgumentError) as refused:
            uli.Study.open(path, learner, **about | {name: other})
        assert refused.value.argument in (name, "rewards")


def test_a_certificate_speaks_of_decisions_after_its_look():
    """What was asked for beyond a block has the policy of the look before."""
    problem, rng = mdps.river_swim(3, 3), np.random.default_rng(0)
    player = started(problem, quick())
    block = player.ask(player.room)
    beyond = player.ask(3)
    assert player.certificate().round == 1
    for d in block:
        player.tell(d.id, *walk(problem, d.policy, rng))
    assert player.certificate().round == beyond[-1].id + 1 == player.ask().id
