"""What holds for the live player of every learner in the registry."""

import copy
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import uli_fast as uli
from tests.support.examples import (
    EXAMPLES,
    LIVE,
    STARTS,
    actions_of,
    asked,
    drive,
    outcome,
    place,
    plain,
)
from uli_fast._registry import learners
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    RewardRangeError,
    UnknownDecisionError,
    UnsupportedError,
)

# Examples have phases that are too short for the proofs.
pytestmark = pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
ROUNDS, SAVED = 400, (10, 60, 150, 300)  # examples with phases close some of them in between
AHEAD = [x for x in LIVE if x.decides.ahead]


def as_json(state):
    return json.loads(json.dumps(state, allow_nan=False))


def changed(decision):
    """Return an outcome of a decision that is not what ``outcome`` says."""
    told = outcome(decision)
    if len(told) == 1:
        return (1.0 - told[0],)
    states = [*told[0][:-1], 1 - told[0][-1]]
    return states, actions_of(decision.policy, states, np.random.default_rng(0))


@pytest.mark.parametrize("example", LIVE, ids=str)
class TestSaving:
    def test_a_restored_player_goes_on_bit_for_bit(self, example):
        whole = example.start()
        decisions = drive(whole, ROUNDS)
        player, mine = example.start(), []
        for saved in SAVED:
            mine += drive(player, saved - len(mine))
            waiting = asked(player)
            again = example.restored(as_json(player.state()))
            assert again.state() == player.state() and again.pending == (waiting.id,)
            again.tell(waiting.id, *outcome(waiting))
            mine.append(waiting)
            player = again
        mine += drive(player, ROUNDS - len(mine))
        assert plain(mine) == plain(decisions)
        assert player.state() == whole.state()

    def test_the_seed_decides_where_decisions_are_drawn(self, example):
        one, two, again = (
            plain(drive(example.learner.start(**example.starting | {"seed": seed}), 60))
            for seed in (1, 2, 1)
        )
        assert one == again and (one != two) == example.row.draws

    def test_a_deep_copy_goes_on_alike_and_alone(self, example):
        player = example.start()
        drive(player, ROUNDS // 2)
        before = player.state()
        again = copy.deepcopy(player)
        decisions = drive(again, ROUNDS // 2)
        assert player.state() == before
        assert plain(drive(player, ROUNDS // 2)) == plain(decisions)
        assert again.state() == player.state()

    def test_a_state_is_a_copy(self, example):
        player = example.start()
        drive(player, 20)
        state = player.state()
        kept = as_json(state)
        drive(player, 20)
        assert as_json(state) == kept != as_json(player.state())

    def test_another_learner_s_state_is_refused(self, example):
        state = example.start().state()
        with pytest.raises(uli.errors.StateError, match="learner"):
            arms = {"arms": STARTS["set"]["arms"]} if example.kind == "set" else {}
            uli.restore(state, learner=replace(example.learner, delta=0.25), **arms)


@pytest.mark.parametrize("example", LIVE, ids=str)
class TestTelling:
    def test_the_same_again_changes_nothing(self, example):
        player = example.start()
        decision = drive(player, 5)[-1]
        before = player.state()
        player.tell(decision.id, *outcome(decision))
        assert player.state() == before

    def test_something_else_is_refused(self, example):
        player = example.start()
        decision = drive(player, 5)[-1]
        before = player.state()
        with pytest.raises(ConflictingRewardError) as caught:
            player.tell(decision.id, *changed(decision))
        assert caught.value.argument in ("reward", "states")
        with pytest.raises(ConflictingRewardError):
            player.tell_missing(decision.id, "lost")
        assert player.state() == before

    def test_missing_again_changes_nothing(self, example):
        player = example.start()
        drive(player, 5)
        decision = asked(player)
        player.tell_missing(decision.id, "lost")
        before = player.state()
        player.tell_missing(decision.id, "lost")
        assert player.state() == before
        with pytest.raises(ConflictingRewardError):
            player.tell_missing(decision.id, "found")
        with pytest.raises(ConflictingRewardError):
            player.tell(decision.id, *outcome(decision))
        assert player.state() == before
        drive(player, 5)
        assert example.restored(as_json(player.state())).state() == player.state()

    @pytest.mark.parametrize("id", [0, 7, -1, "a", None, 1.5])
    def test_unknown_decisions_change_nothing(self, example, id):
        player = example.start()
        drive(player, 5)
        decision = asked(player)
        before = player.state()
        with pytest.raises(UnknownDecisionError) as caught:
            player.tell(id, *outcome(decision))
        assert caught.value.argument == "id"
        with pytest.raises(UnknownDecisionError):
            player.tell_missing(id, "lost")
        assert player.state() == before

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "x", None, []])
    def test_what_is_no_outcome_changes_nothing(self, example, value):
        player = example.start()
        decision = asked(player)
        rest = outcome(decision)[1:]
        before = player.state()
        with pytest.raises(ArgumentError) as caught:
            player.tell(decision.id, value, *rest)
        assert caught.value.argument in ("reward", "states")
        assert rest or isinstance(caught.value, RewardRangeError)
        assert player.state() == before

    def test_rewards_outside_the_range_change_nothing(self, example):
        player = example.start()
        decision = asked(player)
        before = player.state()
        if len(outcome(decision)) > 1 or math.isinf(player.high):
            return  # episodes have no reward to tell; sets have no range here
        for reward in (player.high + 0.5, player.low - 0.1):
            with pytest.raises(RewardRangeError) as caught:
                player.tell(decision.id, reward)
            assert caught.value.argument == "reward"
        assert player.state() == before

    @pytest.mark.parametrize("reason", [None, 3, "", b"lost"])
    def test_what_is_no_reason_changes_nothing(self, example, reason):
        player = example.start()
        decision = asked(player)
        before = player.state()
        with pytest.raises(ArgumentError) as caught:
            player.tell_missing(decision.id, reason)
        assert caught.value.argument == "reason"
        assert player.state() == before


@pytest.mark.parametrize("example", AHEAD, ids=str)
class TestAskingAhead:
    def test_any_order_of_arrival_gives_the_same_bits(self, example):
        states = []
        for order in ("in order", "backwards", "shuffled"):
            player, rng = example.start(), np.random.default_rng(7)
            for _ in range(40):
                batch = asked(player, 11)
                if order == "backwards":
                    batch.reverse()
                if order == "shuffled":
                    batch = [batch[i] for i in rng.permutation(len(batch))]
                for decision in batch:
                    if decision.id % 13 == 5:
                        player.tell_missing(decision.id, "lost")
                    else:
                        player.tell(decision.id, *outcome(decision))
            states.append(player.state())
        assert states[0] == states[1] == states[2]

    def test_pending_is_what_is_awaited(self, example):
        player = example.start()
        assert player.pending == ()
        batch = asked(player, 5)
        assert [d.id for d in batch] == [1, 2, 3, 4, 5]
        player.tell(4, *outcome(batch[3]))
        player.tell_missing(2, "lost")
        assert player.pending == (1, 3, 5)
        again = example.restored(as_json(player.state()))
        for one in (player, again):
            assert one.pending == (1, 3, 5)
            for i in (0, 4, 2):
                one.tell(i + 1, *outcome(batch[i]))
            assert one.pending == ()
        assert again.state() == player.state()


CERTAIN = [x for x in LIVE if x.kind == "arms" and not x.row.draws]


@pytest.mark.parametrize("example", CERTAIN, ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_immediate_rewards_give_the_kernel_s_decisions(example, seed):
    T, means = 1500, np.array([0.8, 0.7, 0.3])
    rewards = (np.random.default_rng(seed).random((3, T)) < means[:, None]).astype(float)
    problem = uli.TableBandit(rewards, means=means)
    runs = uli.simulate(example.learner, problem, T, engine="rounds", rounds=range(1, T + 1))
    player, counts = example.start(), [0, 0, 0]
    for before, after in zip([[0] * 3, *runs.plays[0]], runs.plays[0], strict=False):
        decision = player.ask()
        a = place(decision.arm)
        assert a == int((after - before).argmax())
        player.tell(decision.id, rewards[a, counts[a]])
        counts[a] += 1


@pytest.mark.parametrize("example", [x for x in LIVE if x not in AHEAD], ids=str)
def test_a_player_that_cannot_be_asked_ahead_says_so(example):
    player = example.start()
    asked(player)
    before = player.state()
    with pytest.raises(ArgumentError) as caught:
        asked(player)
    assert caught.value.argument == "n"
    assert player.state() == before and player.pending == (1,)


@pytest.mark.parametrize("row", learners(live=False).values(), ids=lambda row: row.name)
def test_what_has_no_player_says_so(row):
    example = next(x for x in EXAMPLES if x.row is row)
    with pytest.raises(UnsupportedError, match=f"{row.name} has no live player"):
        example.start()
