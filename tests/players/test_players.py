"""Live decisions on K arms (what holds for every player: test_every_player)."""

import json
import math

import numpy as np
import pytest

import uli_fast as uli
from tests.support.signing import signed
from uli_fast.errors import (
    ArgumentError,
    NoGuaranteeError,
    StateError,
    UliError,
    UnsupportedError,
)
from uli_fast.players import revived
from uli_fast.players._saved_states import same

MEANS = np.array([0.8, 0.7, 0.3])


def table(T, seed=0):
    return (np.random.default_rng(seed).random((3, T)) < MEANS[:, None]).astype(float)


def drive(player, rewards, steps, counts=None):
    """Ask and tell at once, the i-th pull of arm a giving rewards[a, i]."""
    counts = np.zeros(3, int) if counts is None else counts
    arms = []
    for _ in range(steps):
        d = player.ask()
        player.tell(d.id, rewards[d.arm, counts[d.arm]])
        counts[d.arm] += 1
        arms.append(d.arm)
    return arms


def test_asking_ahead_goes_round_the_active_arms():
    player = uli.SuccessiveElimination(0.1).start(["a", "b", "c"])
    assert [d.arm for d in player.ask(7)] == ["a", "b", "c", "a", "b", "c", "a"]
    assert [d.id for d in player.ask(2)] == [8, 9]


def test_late_rewards_of_removed_arms_are_recorded_and_not_used():
    player = uli.SuccessiveElimination(0.5).start(2)
    ahead = player.ask(400)
    for d in ahead:
        player.tell(d.id, 1.0 - d.arm)
    assert player.active == (0,)
    settled = player.certificate().round - 1
    assert settled < 400  # later plays of arm 1 and nothing else are left out
    used = uli.SuccessiveElimination(0.5).start(2)
    while len(used.active) == 2:
        d = used.ask()
        used.tell(d.id, 1.0 - d.arm)
    assert used.arm_state.eliminated.tolist() == player.arm_state.eliminated.tolist()


def test_a_phase_waits_for_its_whole_quota_and_keeps_the_survivors_surplus():
    learner = uli.PhasedElimination(0.3)
    player = learner.start(2)
    m1, m2 = learner.quotas(2, 1000)[:2]
    quota = player.ask(2 * m1)
    assert [d.arm for d in quota] == [0] * m1 + [1] * m1
    surplus = player.ask(10)  # the quota is asked for; waiting goes round
    assert [d.arm for d in surplus] == [0, 1] * 5
    for d in quota[1:] + surplus:
        player.tell(d.id, 0.5)
    assert player.phase == 1
    player.tell(quota[0].id, 0.5)
    assert player.phase == 2
    rest = player.ask(2 * m2 - 10)
    assert [d.arm for d in rest] == [0] * (m2 - 5) + [1] * (m2 - 5)
    for d in rest:
        player.tell(d.id, 0.5)
    assert player.phase == 3


def test_optimistic_counts_include_what_is_asked_for():
    player = uli.UCB(0.1).start(3)
    arms = [d.arm for d in player.ask(30)]
    assert [arms.count(a) for a in range(3)] == [10, 10, 10]  # no reward yet: nothing to prefer


def test_ranges_are_mapped_to_the_unit_scale():
    rewards = table(1000)
    unit = uli.SuccessiveElimination(0.3).start(3)
    wide = uli.SuccessiveElimination(0.3).start(3, low=-10.0, high=30.0)
    assert drive(unit, rewards, 800) == drive(wide, 40.0 * rewards - 10.0, 800)
    for a in range(3):
        expected = [40.0 * x - 10.0 for x in unit.intervals()[a]]
        assert wide.intervals()[a] == pytest.approx(expected)
    assert wide.certificate().bound == pytest.approx(40.0 * unit.certificate().bound)


def test_certificates_hold_and_shrink():
    for learner in (uli.SuccessiveElimination(0.3), uli.PhasedElimination(0.3)):
        player, counts = learner.start(["x", "y", "z"]), np.zeros(3, int)
        rewards, bounds = table(6000, seed=9), []
        for _ in range(6000):
            d = player.ask()
            a = "xyz".index(d.arm)
            player.tell(d.id, rewards[a, counts[a]])
            counts[a] += 1
            c = player.certificate()
            worst = max(MEANS.max() - MEANS["xyz".index(arm)] for arm in c.active)
            assert worst <= c.bound <= c.envelope
            assert (c.delta, c.proved) == (0.3, True)
            bounds.append(c.envelope)
        assert c.round == 6001
        assert (np.diff(bounds) <= 0).all() and len(set(bounds)) > 3
        assert player.recommend() == "x"
        low, high = player.intervals()["x"]
        assert 0.0 <= low < 0.8 < high <= 1.0


def test_certificates_speak_of_settled_rewards_only():
    player = uli.SuccessiveElimination(0.1).start(2)
    before = player.certificate()
    player.ask(1000)
    assert player.certificate() == before
    assert before.round == 1


def test_unbounded_rewards_are_certified_by_their_intervals():
    player = uli.SuccessiveElimination(0.1, R=1.0).start(2, low=-math.inf, high=math.inf)
    rng = np.random.default_rng(1)
    assert player.certificate().bound == math.inf
    for _ in range(2000):
        d = player.ask()
        player.tell(d.id, rng.normal([0.2, 0.0][d.arm], 1.0))
    c = player.certificate()
    assert 0.2 <= c.bound < 1.0
    assert c.bound <= c.envelope < 1.0  # 4 wd(n) asks for no largest gap once a test was made
    assert uli.restore(json.loads(json.dumps(player.state()))).certificate() == c


def test_optimistic_players_have_no_certificate():
    player = uli.LilUCB(0.1).start(2)
    with pytest.raises(NoGuaranteeError):
        player.certificate()
    with pytest.raises(UliError, match="recommend"):
        player.recommend()
    assert player.intervals() == {0: (0.0, 1.0), 1: (0.0, 1.0)}


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s.pop("queue"),
        lambda s: s.update(schema=99),
        lambda s: s["learner"].update(type="os.system"),
        lambda s: s["learner"].update(delta=2.0),
        lambda s: s["queue"]["decisions"].append(0),
        lambda s: s["queue"]["outcomes"].__setitem__(0, 7.0),
        lambda s: s["queue"]["outcomes"].__setitem__(0, None),
        lambda s: s["arms"].update(n=[1]),
        lambda s: s["arms"].update(n=["a", "b", "c"]),
        lambda s: s["queue"].update(settled=10**6),
        lambda s: s["start"].update(arms={"number": 0}),
    ],
)
def test_damaged_states_are_refused(damage):
    player = uli.SuccessiveElimination(0.3).start(3)
    drive(player, table(100), 20)
    state = json.loads(json.dumps(player.state()))
    damage(state)
    with pytest.raises(StateError):
        uli.restore(signed(state))


def test_a_state_is_whole_or_refused():
    player = uli.BettingElimination(0.3).start(3)
    drive(player, table(100), 20)
    state = json.loads(json.dumps(player.state()))
    for place, wrong in (
        (("hash",), "0" * 64),
        (("hash",), None),
        (("arms", "total", 0), 0.25 + state["arms"]["total"][0]),
        (("learner", "delta"), 0.31),
        (("queue", "seen", 3), 2),
        (("memory", "sweeps", "epochs", 0, 1), 0.25),
    ):
        other = json.loads(json.dumps(state))
        inside = other
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = wrong
        for look in (uli.restore, revived):
            with pytest.raises(StateError, match="is not whole: its hash is another"):
                look(other)
    del state["hash"]
    with pytest.raises(StateError, match="hash"):
        uli.restore(state)


@pytest.mark.parametrize("value", [math.nan, math.inf, "nan", "-inf", "x", True, None, 10**30, []])
def test_a_part_of_a_state_fits_or_is_refused(value):
    player = uli.PhasedElimination(0.3).start(3)
    drive(player, table(100), 20)
    state = json.loads(json.dumps(player.state()))
    for part, name in (("arms", "n"), ("arms", "total"), ("memory", "missing"), ("tally", "known")):
        wrong = json.loads(json.dumps(state))
        wrong[part][name][0] = value
        with pytest.raises(StateError):
            uli.restore(signed(wrong))


def test_states_that_are_no_mapping_are_refused():
    for state in (None, [], "state"):
        with pytest.raises(StateError):
            uli.restore(state)


def test_a_width_that_is_too_narrow_for_the_range_has_no_certificate():
    with pytest.raises(NoGuaranteeError, match="subgaussian"):
        uli.SuccessiveElimination(0.1, R=0.05).start(2).certificate()


def test_names_that_look_like_numbers_stay_names():
    player = uli.UCB(0.1).start(["0", "1"])
    assert player.ask().arm == "0"
    assert uli.restore(json.loads(json.dumps(player.state()))).labels == ("0", "1")
    assert uli.UCB(0.1).start(2).ask().arm == 0


def test_a_state_is_not_restored_into_another_learner():
    state = uli.SuccessiveElimination(0.3).start(2).state()
    for learner in (uli.UCB(0.3), "x"):
        with pytest.raises(StateError, match="learner"):
            uli.restore(state, learner=learner)


MDP, BALL = uli.mdps.combination_lock(length=2, n_actions=2), uli.arm_sets.Ball(2)
POLICIES, SPANNERS = uli.PolicyElimination(0.1, "sharp"), uli.SpannerElimination(0.1, R=1.0)


@pytest.mark.parametrize(
    "words, call",
    [
        ("intervals: PolicyElimination", lambda: POLICIES.start(MDP.rewards).intervals()),
        ("intervals: SpannerElimination", lambda: SPANNERS.start(BALL).intervals()),
        ("active: SpannerElimination", lambda: SPANNERS.start(BALL).active),
    ],
)
def test_what_there_is_not_is_a_typed_error(words, call):
    with pytest.raises(UnsupportedError, match=words):
        call()


def test_players_say_what_they_are():
    arms = uli.SuccessiveElimination(0.3).start(["a", "b", "c"])
    policies = POLICIES.start(MDP.rewards)
    players = {
        "3 arms": arms,
        "Ball(2, radius=1)": SPANNERS.start(BALL),
        f"{policies.active} policies": policies,
    }
    for what, player in players.items():
        about = {"state": 0} if player is policies else {}
        first, _, third = (player.ask(**about) for _ in range(3))
        player.tell_missing(third.id, "lost")
        name = f"{type(player).__name__}({player.learner!r}"
        assert repr(player) == f"{name}, {what}, 3 asked, 1 settled)"
        player.tell_missing(first.id, "lost")
        assert repr(player).endswith("3 asked, 2 settled)")
    assert repr(uli.restore(arms.state())) == repr(arms)


def test_an_mdp_in_place_of_its_rewards_is_told_so():
    with pytest.raises(ArgumentError, match=r"got TabularMDP.*mdp\.rewards") as caught:
        POLICIES.start(MDP)
    assert caught.value.argument == "rewards"


@pytest.mark.parametrize("name", ["known", "complete"])
def test_a_state_without_what_was_known_is_refused(name):
    state = uli.SuccessiveElimination(0.1).start(2).state()
    del state["tally"][name]
    with pytest.raises(uli.errors.StateError, match=name):
        uli.restore(state)


@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_hides_none_that_is_wrong(odd):
    """A state has words for those that may be infinite."""
    player = uli.BettingElimination(0.1).start(2)
    for _ in range(40):
        player.tell(player.ask().id, 1.0)
    state = player.state()
    for at in (0, 1):
        gaps = [0.0, 0.0]
        gaps[at] = odd
        with pytest.raises(StateError, match="not finite"):
            uli.restore(signed({**state, "memory": state["memory"] | {"gaps": gaps}}))
    assert not same([odd, 0.0], [0.7, 0.8]) and not same([0.7, 0.8], [odd, 0.0])
