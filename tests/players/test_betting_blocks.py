"""Blocks of sums told to live betting."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import uli_fast as uli
from tests.naive import betting_elimination as naive
from tests.support.betting import FAR, FREE, restored
from uli_fast.errors import ArgumentError, ConflictingRewardError, UliError


def in_servers(rng, player, means, servers=3):
    """Hand out an allocation by servers that do not talk, unbalanced, and gather the sums."""
    gathered = {arm: [0, 0.0] for arm in player.allocation()}
    for _ in range(servers):
        for arm, plays in player.allocation().items():
            n = int(rng.integers(0, 3 * plays + 1)) + (1 if not gathered[arm][0] else 0)
            gathered[arm][0] += n
            gathered[arm][1] += float(rng.binomial(n, means[arm]))
    return {arm: tuple(row) for arm, row in gathered.items()}


def check_blocks(runs, seed, delta=0.3):
    rng, lost, wrong = np.random.default_rng(seed), 0, 0
    for i in range(runs):
        means = [(0.5, 0.48), (0.05, 0.045, 0.03), (0.9, 0.88, 0.89, 0.5)][i % 3]
        player = uli.BettingElimination(delta, leader=1 + i % 3).start(len(means))
        for _ in range(40):
            player.tell_block(in_servers(rng, player, means))
        lost += 0 not in player.active
        c = player.certificate()
        wrong += c.bound < max(means) - min(means[a] for a in c.active)
    limit = binom.ppf(0.999, runs, delta)
    assert lost <= limit and wrong <= limit


def test_failures_with_unbalanced_blocks_stay_within_delta():
    check_blocks(60, seed=1)


@pytest.mark.slow
def test_failures_with_unbalanced_blocks_of_2000_runs_stay_within_delta():
    check_blocks(2000, seed=2)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_a_block_equals_the_same_plays_one_by_one(r):
    rng = np.random.default_rng(r)
    one, other = (uli.BettingElimination(0.2, leader=r).start(3) for _ in "ab")
    for _ in range(130):
        plays = one.allocation()
        assert other.allocation() == plays
        rewards = {a: (rng.random(m) < (0.6, 0.5, 0.55)[a]).astype(float) for a, m in plays.items()}
        one.tell_block({a: (len(x), float(x.sum())) for a, x in rewards.items()})
        left = {a: x.tolist() for a, x in rewards.items()}
        for _ in range(sum(plays.values())):
            d = other.ask()
            other.tell(d.id, left[d.arm].pop())
        assert one.active == other.active
        for name in ("P", "Q", "M", "V", "S", "N"):
            a, b = getattr(one.memory.book, name), getattr(other.memory.book, name)
            assert a[list(one.active)] == pytest.approx(b[list(one.active)], rel=1e-9, abs=1e-9)
        assert one.memory.gaps[1] == pytest.approx(other.memory.gaps[1], rel=1e-9)


def test_a_block_equals_the_twin_s():
    rng = np.random.default_rng(11)
    player, race = uli.BettingElimination(0.2).start(3), naive.Race(3, 0.2)
    for _ in range(25):
        told = {a: (int(rng.integers(1, 40)), 0.0) for a in player.active}
        told = {a: (n, float(rng.binomial(n, 0.4 + 0.05 * a))) for a, (n, _) in told.items()}
        player.tell_block(told)
        race.block_of_sums(told)
        assert list(player.active) == race.active
        j = race.leader
        assert player.memory.book.mark[0] == race.bets.n and player.memory.book.mark[1] == j
        assert player.memory.book.theta[0] == pytest.approx(race.bets.theta)
        assert player.memory.book.M[j] == pytest.approx(race.bets.low[j])
        assert player.memory.book.V[j] == pytest.approx(race.bets.V[j])
        for a in race.active:
            alive = slice(player.memory.book.mark[2], player.memory.book.mark[3])
            assert player.memory.book.P[a, alive] == pytest.approx(race.bets.P[a][alive], abs=1e-9)


def test_f_of_unbalanced_blocks_counts_sweeps_not_plays():
    learner = uli.BettingElimination(0.05)
    player = learner.start(3)
    player.tell_block({0: (10**6, 5e5), 1: (10, 5.0), 2: (10, 5.0)})
    c = player.certificate()
    assert c.round == 10**6 + 21
    assert c.envelope == learner.guarantee(3).bound(10 * 4 + 1) == 1.0


def test_missing_outcomes_of_blocks_are_taken_at_their_worst():
    player = uli.BettingElimination(0.1).start(2)
    player.tell_block({0: (1000, 300.0, 400), 1: (1000, 600.0)})
    assert player.active == (0, 1)  # arm 0 may have had 700
    c = player.certificate()
    assert c.bound >= 0.3 and math.isinf(c.envelope)
    lo, hi = player.intervals()[0]
    assert lo < 0.3 and hi > 0.7
    assert restored(player).state() == player.state()


def test_blocks_and_decisions_take_turns():
    player = uli.BettingElimination(0.1).start(["a", "b"])
    d = player.ask()
    with pytest.raises(ArgumentError, match="awaited") as caught:
        player.tell_block({"a": (1, 1.0), "b": (1, 0.0)})
    assert caught.value.argument == "sums"
    player.tell(d.id, 1.0)
    with pytest.raises(ArgumentError, match="sweep"):
        player.tell_block({"a": (1, 1.0), "b": (1, 0.0)})
    with pytest.raises(UliError, match="sweep"):
        player.allocation()
    player.tell(player.ask().id, 0.0)
    assert player.allocation() == {"a": 2, "b": 1}
    player.tell_block({"a": (2, 1.0), "b": (1, 0.0)}, "monday")
    assert [d.arm for d in player.ask(3)] == ["a", "a", "b"]
    assert restored(player).state() == player.state()


def test_a_block_told_twice_counts_once():
    player = uli.BettingElimination(0.1).start(2)
    player.tell_block({0: (10, 5.0), 1: (10, 4.0)}, "monday")
    before = player.state()
    player.tell_block({1: (10, 4), 0: (10.0, 5.0, 0)}, "monday")
    assert player.state() == before
    with pytest.raises(ConflictingRewardError) as caught:
        player.tell_block({0: (10, 5.0), 1: (10, 5.0)}, "monday")
    assert caught.value.argument == "sums" and player.state() == before
    player.tell_block({0: (10, 5.0), 1: (10, 4.0)}, "tuesday")
    player.tell_block({0: (10, 5.0), 1: (10, 4.0)})
    assert player.certificate().round == 61


def test_arms_out_of_play_are_recorded_and_not_used():
    player = uli.BettingElimination(0.1).start(3)
    player.tell_block({0: (500, 450.0), 1: (500, 50.0), 2: (500, 440.0)})
    assert player.active == (0, 2)
    counts = player.arm_state.n.tolist()
    player.tell_block({0: (5, 5.0), 1: (7, 7.0), 2: (5, 0.0)})
    assert player.arm_state.n.tolist() == [counts[0] + 5, counts[1], counts[2] + 5]
    assert restored(player).state() == player.state()


GOOD = {"a": (10, 5.0), "b": (10, 5.0)}


BAD_SUMS = {
    "no mapping": [("a", 10, 5.0)],
    "nothing": {},
    "unknown arm": GOOD | {"z": (1, 1.0)},
    "a number for a name": {0: (10, 5.0), 1: (10, 5.0)},
    "bool for an arm": {True: (10, 5.0)},
    "an arm without plays": {"a": (10, 5.0)},
    "zero plays": GOOD | {"b": (0, 0.0)},
    "negative plays": GOOD | {"b": (-1, 0.0)},
    "fraction of a play": GOOD | {"b": (10.5, 5.0)},
    "bool plays": GOOD | {"b": (True, 1.0)},
    "text": GOOD | {"b": ("10", 5.0)},
    "nan": GOOD | {"b": (10, math.nan)},
    "inf": GOOD | {"b": (10, math.inf)},
    "total above": GOOD | {"b": (10, 10.01)},
    "total below": GOOD | {"b": (10, -0.01)},
    "None": GOOD | {"b": (10, None)},
    "too long": GOOD | {"b": (10, 5.0, 0, 0)},
    "too short": GOOD | {"b": (10,)},
    "no row": GOOD | {"b": 10},
    "missing above plays": GOOD | {"b": (10, 5.0, 11)},
    "missing that came": GOOD | {"b": (10, 5.0, 6)},
    "missing fraction": GOOD | {"b": (10, 5.0, 0.5)},
    "too many": GOOD | {"b": (10**15 + 1, 5.0)},
    "too many in all": {"a": (10**15, 5.0), "b": (10**15, 5.0)},
}


@pytest.mark.parametrize("case", BAD_SUMS)
def test_bad_sums_change_nothing(case):
    player = uli.BettingElimination(0.1).start(["a", "b"])
    player.tell_block(GOOD, "first")
    before = player.state()
    with pytest.raises(ArgumentError) as caught:
        player.tell_block(BAD_SUMS[case], "second")
    assert caught.value.argument == "sums" and player.state() == before


@pytest.mark.parametrize("block_id", [3, "", "x" * 1001, b"x", True])
def test_bad_block_ids_change_nothing(block_id):
    player = uli.BettingElimination(0.1).start(["a", "b"])
    before = player.state()
    with pytest.raises(ArgumentError) as caught:
        player.tell_block(GOOD, block_id)
    assert caught.value.argument == "block_id" and player.state() == before


def test_totals_are_in_reward_units():
    unit, wide = uli.BettingElimination(0.1).start(2), uli.BettingElimination(0.1)
    wide = wide.start(2, low=-10.0, high=30.0)
    unit.tell_block({0: (100, 60.0), 1: (100, 35.0, 5)})
    wide.tell_block({0: (100, 40.0 * 60 - 1000.0), 1: (100, 40.0 * 35 - 950.0, 5)})
    assert wide.memory.book.M == pytest.approx(unit.memory.book.M)
    assert wide.certificate().bound == pytest.approx(40.0 * unit.certificate().bound)
    with pytest.raises(ArgumentError, match=r"\[-1000, 3000\]"):
        wide.tell_block({0: (100, 3001.0), 1: (100, 0.0)})


def test_unbounded_blocks_use_sums_alone():
    rng = np.random.default_rng(4)
    player = uli.BettingElimination(0.1, R=2.0).start(2, **FREE)
    for _ in range(30):
        told = {a: (50, float(rng.normal(10.0 - a, 2.0, 50).sum())) for a in player.active}
        player.tell_block(told)
    assert player.active == (0,) and player.certificate().bound == 0.0
    lo, hi = player.intervals()[0]
    assert lo < 10.0 < hi and hi - lo < 1.5


def test_blocks_told_in_the_order_of_their_outcomes_lose_the_best_arm():
    """What speaks for the worse arm comes first: the order was chosen, and ``assumes`` says so."""
    rng, lost = np.random.default_rng(7), 0
    for _ in range(10):
        player = uli.BettingElimination(0.05).start(2)
        pairs = (rng.random((400, 2)) < (0.55, 0.5)).astype(float).tolist()
        for x, y in sorted(pairs, key=lambda pair: pair[0] - pair[1]):
            player.tell_block({a: (1, (x, y)[a]) for a in player.active})
        c = player.certificate()
        lost += c.active == (1,)
        assert any("put in order by outcomes" in sentence for sentence in c.assumes)
    assert lost == 10


def test_sums_of_a_range_far_from_0_are_refused_once_rounding_tells():
    player = uli.BettingElimination(0.1).start(2, **FAR)
    before = player.state()
    with pytest.raises(ArgumentError, match="rounded") as caught:
        player.tell_block({0: (1000, 1000 * 1e12), 1: (1000, 1000 * 1e12 + 500.0)})
    assert caught.value.argument == "sums" and player.state() == before
    for _ in range(200):  # plays one by one lose nothing
        d = player.ask()
        player.tell(d.id, 1e12 + d.arm)
    assert player.active == (1,)


@pytest.mark.parametrize("low", [1e3, 1e6, -1e6 - 1.0])
def test_blocks_of_a_range_far_from_0_add_up_to_what_is_refused(low):
    """The sums are off by what 2^-53 of them is: every block must stay far below the noise."""
    player, told = uli.BettingElimination(0.1).start(2, low=low, high=low + 1.0), 0
    with pytest.raises(ArgumentError, match="rounded"):
        for n in (10 ** (3 + i // 3) for i in range(38)):
            player.tell_block({a: (n, n * low + n // 2) for a in (0, 1)})
            told += n
    noise = math.sqrt(told / 2.0)
    assert 1e-8 * noise < told * abs(low) * 2.0**-52 <= 1e-6 * noise


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 1.0), (-1e12, 1.0)])
def test_ranges_around_0_take_blocks_of_any_size(ends):
    player = uli.BettingElimination(0.1).start(2, low=ends[0], high=ends[1])
    player.tell_block({a: (10**14, 10**14 * ends[1]) for a in (0, 1)})
    assert player.active == (0, 1)


@pytest.mark.parametrize("block_id", ["inf", "-inf", "nan"])
def test_a_block_may_have_the_name_of_a_number(block_id):
    player = uli.BettingElimination(0.1).start(2)
    player.tell_block({0: (10, 5.0), 1: (10, 6.0)}, block_id=block_id)
    again = uli.restore(json.loads(json.dumps(player.state())))
    assert again.state() == player.state() and again.blocks[0].id == block_id
