"""Live elimination by betting: the kernel's decisions, late and missing outcomes, blocks, drift."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import uli_fast as uli
from tests.naive import betting_elimination as naive
from tests.naive.betting_live import Live
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    NoGuaranteeError,
    StateError,
    UliError,
)

FREE = {"low": -math.inf, "high": math.inf}


def restored(player):
    return uli.restore(json.loads(json.dumps(player.state())))


def random_table(rng, T):
    """Return rewards of K arms, 0/1 or fractions without ties, near-ties among them."""
    K = int(rng.integers(2, 6))
    means = rng.uniform(0.0, 1.0, K)
    if rng.random() < 0.4:
        means = 0.5 + 0.1 * (means - 0.5)
    rewards = (rng.random((K, T)) < means[:, None]).astype(float)
    if rng.random() < 0.4:
        rewards = 0.5 * rewards + 0.5 * rng.random((K, T))
    return rewards


def driven(player, rewards, T):
    counts, arms = [0] * len(rewards), []
    for _ in range(T):
        d = player.ask()
        player.tell(d.id, rewards[d.arm, counts[d.arm]])
        counts[d.arm] += 1
        arms.append(d.arm)
    return arms


def check_kernel_and_twin(instances, seed):
    rng, T = np.random.default_rng(seed), 900
    for _ in range(instances):
        rewards, r = random_table(rng, T), int(rng.integers(1, 5))
        learner, K = uli.BettingElimination(0.3, leader=r), len(rewards)
        player = learner.start(K)
        arms = driven(player, rewards, T)
        problem = uli.TableBandit(rewards, means=rewards.mean(axis=1))
        runs = uli.simulate(learner, problem, T, engine="rounds", rounds=range(1, T + 1))
        assert arms == np.diff(runs.plays[0], axis=0, prepend=0).argmax(axis=1).tolist()
        assert player.arm_state.eliminated.tolist() == runs.eliminated_at[0].tolist()
        if r == 3:  # thirds, added one by one, are rounded in other ways: ties are no ties
            continue
        twin = naive.play(lambda a, i, x=rewards: float(x[a, i]), K, T, 0.3, r)
        assert arms == twin["arms"] and player.arm_state.eliminated.tolist() == twin["eliminated"]


def test_immediate_rewards_give_the_decisions_of_kernel_and_twin():
    check_kernel_and_twin(10, seed=1)


@pytest.mark.slow
def test_immediate_rewards_give_the_decisions_of_kernel_and_twin_on_500_instances():
    check_kernel_and_twin(500, seed=2)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_unbounded_rewards_give_the_kernel_s_decisions(r):
    rng = np.random.default_rng(r)
    rewards = np.array([[5.0], [4.0], [3.0]]) + rng.normal(0.0, 2.0, (3, 1500))
    learner = uli.BettingElimination(0.3, leader=r, R=2.0)
    player = learner.start(3, **FREE)
    arms = driven(player, rewards, 1500)
    twin = naive.play(lambda a, i: float(rewards[a, i]), 3, 1500, 0.3, leader=r, R=2.0, first=False)
    assert arms == twin["arms"] and len(player.active) < 3
    c = player.certificate()
    assert c.bound >= rewards.mean(axis=1).max() - rewards.mean(axis=1)[list(c.active)].min() - 0.2


def test_a_sweep_keeps_what_it_was_begun_with():
    player = uli.BettingElimination(0.1, leader=3).start(["a", "b", "c"])
    ahead = [d.arm for d in player.ask(7)]
    assert ahead == ["a", "b", "c", "a", "b", "c", "a"]  # no look, no leader
    for id, reward in enumerate([0, 1, 0], start=1):
        player.tell(id, reward)  # the first look: b leads
    assert [d.arm for d in player.ask(9)] == ["b", "c", "a", "b", "b", "b", "c", "a", "b"]
    assert player.sweeps.epochs[-1] == (1, 0.75)
    assert player.sweeps.begun == [0] * 9 + [1] * 7


def test_outcomes_are_bet_on_with_the_theta_of_their_asking():
    rng = np.random.default_rng(2)
    player = uli.BettingElimination(0.01).start(2)
    outcomes = [float(rng.random() < 0.9) for _ in range(80)]
    for d in player.ask(80):
        player.tell(d.id, outcomes[d.id - 1])  # forty looks come, and none before the asking
    assert player._book.mark[0] == 40 and player.sweeps.epochs[-1].theta > 0.8
    for a in (0, 1):
        won = sum(outcomes[a::2])
        for g in range(int(player._book.mark[2]), 8):
            u = naive.SIZES[g]
            good = won * math.log1p(0.5 * u) + (40 - won) * math.log1p(-0.5 * u)
            assert player._book.P[a, g] == pytest.approx(good, rel=1e-9)


def adversarial(seed):
    """Play a study against somebody who sees outcomes and picks what comes, when, and what not."""
    rng = np.random.default_rng(seed)
    K, r = int(rng.integers(2, 5)), int(rng.choice([1, 2, 4]))
    means = rng.uniform(0.1, 0.9, K) if rng.random() < 0.5 else 0.5 + 0.2 * rng.random(K)
    delta, hides = float(rng.choice([0.2, 0.5])), float(rng.choice([0.0, 0.05, 0.3]))
    learner = uli.BettingElimination(delta, leader=r)
    player, live, waiting = learner.start(K), Live(means.tolist(), delta, r), []
    best, spite = int(means.argmax()), int(rng.integers(3))
    for _ in range(30):
        for d in player.ask(int(rng.integers(1, 12))):
            assert d.arm == live.ask() and d.arm in player.active
            true = float(rng.random() < means[d.arm])
            waiting.append((d.id, d.arm, true))
        # What speaks for the best arm comes last, or never.
        waiting.sort(key=lambda w: ((w[1] == best) == (w[2] == 1.0), rng.random()))
        if spite == 0:
            rng.shuffle(waiting)
        for _ in range(int(rng.integers(0, len(waiting) + 1))):
            id, arm, true = waiting.pop(0)
            id, arm = int(id), int(arm)
            against = ((arm == best) == (true == 1.0)) if spite < 2 else rng.random() < 0.5
            if against and rng.random() < hides:
                player.tell_missing(id, "hidden")
                live.tell(id - 1, None, true)
            else:
                player.tell(id, true)
                live.tell(id - 1, true, true)
        yield player, live, means


def check_adversary(studies, seed):
    broken = certified = 0
    for i in range(studies):
        for player, live, means in adversarial(seed + i):
            assert list(player.active) == live.race.active
            assert player._gap == pytest.approx(live.gap, rel=1e-9)
            if live.kept:
                assert live.best in player.active
            if live.kept and live.covered:
                c = player.certificate()
                assert c.bound >= means.max() - means[list(c.active)].min()
                assert all(lo <= means[a] <= hi for a, (lo, hi) in player.intervals().items())
                certified += c.bound < 0.5
        broken += not (live.kept and live.covered)
        assert restored(player).state() == player.state()
    assert broken <= binom.ppf(0.999, studies, 0.5)
    return certified


def test_no_false_certificate_against_an_adversary():
    assert check_adversary(25, seed=0) > 10


@pytest.mark.slow
def test_no_false_certificate_in_2500_studies_against_an_adversary():
    assert check_adversary(2500, seed=10**6) > 1000


def test_missing_outcomes_are_taken_at_their_worst():
    """One in five of the best arm's outcomes is gone, all of them ones: it stays."""
    rng, kept = np.random.default_rng(5), 0
    for _ in range(20):
        player = uli.BettingElimination(0.1).start(2)
        for _ in range(1500):
            d = player.ask()
            x = float(rng.random() < (0.5, 0.45)[d.arm])
            if d.arm == 0 and x == 1.0 and rng.random() < 0.4:
                player.tell_missing(d.id, "gone")
            else:
                player.tell(d.id, x)
        kept += 0 in player.active
        lo, hi = player.intervals()[0]
        assert hi - lo > 0.15  # as wide as a fifth of the plays allows for
        c = player.certificate()
        assert math.isinf(c.envelope) and c.bound >= 0.05 * (1 in c.active)
        assert any("missing" in sentence for sentence in c.assumes)
    assert kept == 20


def test_missing_unbounded_outcomes_leave_nothing_certain():
    player = uli.BettingElimination(0.1, R=1.0).start(2, **FREE)
    for i in range(60):
        d = player.ask()
        if i % 7 == 3:
            player.tell_missing(d.id, "gone")
        else:
            player.tell(d.id, 100.0 + d.arm)
    with pytest.raises(NoGuaranteeError):
        player.certificate()
    assert player.intervals()[0] == (-math.inf, math.inf)
    assert player.recommend() == 1 and player.active == (0, 1)  # nothing falls behind for it


# Certificates and intervals.


def test_the_certificate_is_the_smallest_of_all_that_is_known():
    rng = np.random.default_rng(3)
    for r in (1, 2):
        learner = uli.BettingElimination(0.05, leader=r)
        player, last = learner.start(3), math.inf
        promise = learner.guarantee(3)
        for _ in range(2500):
            d = player.ask()
            player.tell(d.id, float(rng.random() < (0.55, 0.5, 0.5)[d.arm]))
            c = player.certificate()
            assert c.envelope == pytest.approx(promise.bound(c.round), rel=1e-12)
            assert c.bound <= min(c.envelope, last)
            last = c.bound
            if len(c.active) > 1:
                ends = player.intervals()
                gaps = [max(ends[j][1] for j in c.active if j != a) - ends[a][0] for a in c.active]
                assert c.bound <= max(gaps) + 1e-12
                n = int(player._book.mark[0])
                assert n == 0 or c.bound <= naive.phase_bound(n, 3, 0.05, r)
        assert c.bound < 0.8 * c.envelope


def test_f_s_clock_is_that_of_settled_sweeps():
    player = uli.BettingElimination(0.05).start(2)
    ahead = player.ask(5000)
    assert player.certificate().bound == player.certificate().envelope == 1.0
    for d in ahead[:2000]:
        player.tell(d.id, 0.5)
    c = player.certificate()
    # No sweep had a leader: the variance is 2 n, and F of two arms would be too small.
    n = int(player._book.mark[0])
    v = 0.25 * 2 * n
    wide = 2.0 * naive.root(v, math.log(2.0 / 0.045), 25.0) / n
    assert n <= 1000 and c.envelope == pytest.approx(wide, rel=1e-9)
    assert c.envelope > 1.05 * uli.BettingElimination(0.05).guarantee(2).bound(3 * n + 1)


@pytest.mark.parametrize("N", [1, 2, 7, 100, 12345])
def test_intervals_are_beta_binomial(N):
    from uli_fast.kernels.betting.live import beta_binomial

    for S, missing in {(0, 0), (N, 0), (N // 2, 0), (N // 3, N // 4), (0.37 * N, 0)}:
        ends = beta_binomial(float(N), float(S), float(missing), math.log(3 / 0.005))
        lower, upper = naive.interval(S, S + missing, N, 3, 0.005)
        assert ends[0] <= lower and ends[1] >= upper  # outward
        assert ends == pytest.approx([lower, upper], rel=1e-6, abs=1.0 / (360.0 * N**3))


@pytest.mark.parametrize("p", [0.5, 0.9, 1e-6, 1.0])
def test_intervals_of_huge_blocks_neither_cancel_nor_vanish(p):
    from mpmath import mp, mpf

    from uli_fast.kernels.betting.live import beta_binomial

    N = 10**15
    S, level = int(p * N), math.log(2 / 0.005)
    ends = beta_binomial(float(N), float(S), 0.0, level)
    mp.dps = 60

    def inside(x):
        kt = mp.log(mp.beta(S + mpf("0.5"), N - S + mpf("0.5")) / mp.pi)
        likely = S * mp.log(x) + (0 if S == N else (N - S) * mp.log(1 - x))
        return kt - likely <= level

    for end, sign in zip(ends, (-1, 1), strict=True):
        d = mpf(end) - mpf(S) / N
        if end < 1.0:
            assert not inside(mpf(end)), "an end lies inside"
        nearly = "0.98" if p == 1.0 else "0.9999"  # a float's last digit is not far from that
        assert inside(mpf(S) / N + d * mpf(nearly)), "an interval is too wide"
        assert d * sign >= 0


def test_intervals_share_a_tenth_of_delta():
    player = uli.BettingElimination(0.2).start(3, low=-1.0, high=3.0)
    player.tell_block({0: (90, 60.0), 1: (50, 20.0, 4), 2: (70, 0.0)})
    rows = [((60 + 90) / 4, 0, 90), ((20 + 46) / 4, 4, 50), (70 / 4, 0, 70)]
    for a, (S, missing, N) in enumerate(rows):
        wanted = naive.interval(S, S + missing, N, 3, 0.1 * 0.2)
        assert player.intervals()[a] == pytest.approx([4 * x - 1 for x in wanted], rel=1e-6)
    free = uli.BettingElimination(0.2, R=2.0).start(2, **FREE)
    free.tell_block({0: (90, 60.0), 1: (50, 20.0)})
    v, rho = 4.0 * 90, 400.0
    half = math.sqrt((v + rho) * (2 * math.log(2 / 0.02) + math.log(1 + v / rho))) / 90
    assert free.intervals()[0] == pytest.approx((60 / 90 - half, 60 / 90 + half))


def test_intervals_hold_at_all_times_and_their_union_over_arms_too():
    runs = failed = 0
    rng = np.random.default_rng(8)
    means = np.array([0.5, 0.5, 0.5, 0.5])
    for _ in range(150):
        player, bad = uli.BettingElimination(0.9, leader=1).start(4), False
        for _ in range(12):
            plays = player.allocation()
            told = {a: (4 * m, float(rng.binomial(4 * m, means[a]))) for a, m in plays.items()}
            player.tell_block(told)
            bad |= any(not lo <= means[a] <= hi for a, (lo, hi) in player.intervals().items())
        runs, failed = runs + 1, failed + bad
    assert failed <= binom.ppf(0.999, runs, 0.09)


# Blocks of sums.


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
            a, b = getattr(one._book, name), getattr(other._book, name)
            assert a[list(one.active)] == pytest.approx(b[list(one.active)], rel=1e-9, abs=1e-9)
        assert one._gap == pytest.approx(other._gap, rel=1e-9)


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
        assert player._book.mark[0] == race.bets.n and player._book.mark[1] == j
        assert player._book.theta[0] == pytest.approx(race.bets.theta)
        assert player._book.M[j] == pytest.approx(race.bets.low[j])
        assert player._book.V[j] == pytest.approx(race.bets.V[j])
        for a in race.active:
            alive = slice(player._book.mark[2], player._book.mark[3])
            assert player._book.P[a, alive] == pytest.approx(race.bets.P[a][alive], abs=1e-9)


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
    assert wide._book.M == pytest.approx(unit._book.M)
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


FAR = {"low": 1e12, "high": 1e12 + 1.0}


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


def test_interval_ends_are_rounded_outward():
    from fractions import Fraction

    player = uli.BettingElimination(0.1).start(2, **FAR)
    for _ in range(300):
        d = player.ask()
        player.tell(d.id, 1e12 + 0.5)
    low, width = Fraction(player.low), Fraction(player.high) - Fraction(player.low)
    for a, (lower, upper) in player.intervals().items():
        known = [Fraction(float(x)) for x in player.known[:, a]]
        assert Fraction(lower) <= low + width * known[0]
        assert Fraction(upper) >= low + width * known[1]


# Drift.


def test_unbounded_means_that_change_are_certified_on_average():
    """Known intervals contradict each other: no half of theirs says what rounding may take."""
    player = uli.BettingElimination(0.05, R=1.0).start(2, **FREE)
    for shift in (0.0, 5.0):
        for _ in range(10):
            player.tell_block({a: (50, 50 * (shift - 0.1 * a)) for a in player.active})
    assert player.contradicted
    c = player.certificate()
    assert "one arm is a best one in every sweep" in c.assumes[0]
    assert len(c.active) == 2 and 0.1 < c.bound < 2.0
    assert player.intervals()[0] == (-math.inf, math.inf)


@pytest.mark.parametrize("by_blocks", [False, True])
def test_outcomes_too_large_for_their_sums_are_certified_neither_before_nor_after_a_restore(
    by_blocks,
):
    for size, drowned in ((10.0, False), (1e9, True)):
        player = uli.BettingElimination(0.05, R=1.0).start(2, **FREE)
        for _ in range(100):
            if by_blocks:
                player.tell_block({a: (3, 3 * size) for a in (0, 1)})
            else:
                player.tell(player.ask().id, size)
        for p in (player, restored(player)):
            if drowned:
                with pytest.raises(NoGuaranteeError, match="rounded"):
                    p.certificate()
            else:
                assert len(p.certificate().active) == 2


def with_weekdays(rng, by_blocks, delta, means=(0.5, 0.48, 0.4)):
    """Play under an effect of up to .2 that all arms share, another one every few sweeps."""
    effects = rng.uniform(-0.2, 0.2, 7)
    player = uli.BettingElimination(delta).start(len(means))
    for day in range(150 if by_blocks else 60):
        shift = effects[day % 7]
        if by_blocks:
            plays = {a: int(rng.integers(1, 60)) for a in player.active}
            sums = {a: float(rng.binomial(n, means[a] + shift)) for a, n in plays.items()}
            player.tell_block({a: (plays[a], sums[a]) for a in plays})
        else:
            for _ in range(3):  # whole sweeps
                while True:
                    d = player.ask()
                    player.tell(d.id, float(rng.random() < means[d.arm] + shift))
                    if not player.sweeps.rest:
                        break
    return player


def check_drift(runs, seed):
    rng = np.random.default_rng(seed)
    lost = sum(0 not in with_weekdays(rng, i % 2 == 0, 0.3).active for i in range(runs))
    assert lost <= binom.ppf(0.999, runs, 0.3)


def test_where_means_change_bounds_are_of_average_gaps_and_say_so():
    """Two seasons: gaps of .1 and of .02, and .4 less for everybody in the second one."""
    rng, wrong, runs = np.random.default_rng(9), 0, 40
    for _ in range(runs):
        player = uli.BettingElimination(0.3).start(2)
        for season in ((0.8, 0.78), (0.4, 0.3)):
            for _ in range(20):
                told = {a: (100, float(rng.binomial(100, season[a]))) for a in player.active}
                player.tell_block(told)
        c = player.certificate()
        if len(c.active) == 2:
            assert "averaged over the sweeps" in c.assumes[0]
            assert player.intervals() == {0: (0.0, 1.0), 1: (0.0, 1.0)}
            wrong += c.bound < 0.06
        wrong += 0 not in c.active
    assert wrong <= binom.ppf(0.999, runs, 0.3)


def test_a_common_weekday_effect_does_not_lose_the_best_arm():
    check_drift(60, seed=1)


@pytest.mark.slow
def test_a_common_weekday_effect_does_not_lose_the_best_arm_in_2000_runs():
    check_drift(2000, seed=2)


def test_a_best_arm_that_changes_is_lost_and_the_certificate_says_what_it_assumed():
    rng, lost = np.random.default_rng(3), 0
    for _ in range(20):
        player = uli.BettingElimination(0.05).start(2)
        for t in range(3000):
            means = (0.7, 0.4) if t < 600 else (0.4, 0.7)  # a swap
            d = player.ask()
            player.tell(d.id, float(rng.random() < means[d.arm]))
            if t == 700:
                c = player.certificate()
                lost += c.active == (0,) and c.bound == 0.0  # wrong since round 601
                assert "which never changes" in c.assumes[0]
        c = player.certificate()  # by now the outcomes of arm 0 have told on it
        assert "one arm is a best one in every sweep" in c.assumes[0]
        assert player.intervals() == {0: (0.0, 1.0), 1: (0.0, 1.0)}
    assert lost == 20


def test_the_bound_rises_only_where_outcomes_show_that_means_change():
    player, bounds = uli.BettingElimination(0.05).start(2), []
    for season in ((0.9, 0.9), (0.3, 0.2)):
        for _ in range(20):
            player.tell_block({a: (100, 100 * season[a]) for a in player.active})
            bounds.append((player.contradicted, player.certificate().bound))
    steady = [bound for changed, bound in bounds if not changed]
    assert steady == sorted(steady, reverse=True)
    assert max(bound for changed, bound in bounds if changed) > min(steady)


# States.


def test_a_sweep_that_lost_its_old_leader_can_be_restored():
    """Arm 0 was asked for once of its two plays when it was dropped: the other never came."""
    player = uli.BettingElimination(0.1).start(2)
    for d, reward in zip(player.ask(2), (1.0, 0.0), strict=True):
        player.tell(d.id, reward)
    for d in player.ask(181):
        player.tell(d.id, float(d.arm == 1))
        if player.active == (1,):
            break
    assert player.queue.decisions[-3:] == [0, 1, 0] and player.sweeps.rest == [1]
    again = restored(player)
    assert again.state() == player.state() and again.ask(4) == player.ask(4)
    for play in (5, 179):  # only the sweep that was being asked for may lack one of its plays
        short = restored(player)
        arms, sweeps = short.queue.decisions, short.sweeps
        assert arms[play] == 0
        del arms[play], sweeps.begun[play], sweeps.ends[play]
        with pytest.raises(StateError, match="no sweep"):
            sweeps.check(arms, short.arm_state.active)


def test_states_that_outcomes_do_not_lead_to_are_refused():
    rng = np.random.default_rng(1)
    player = uli.BettingElimination(0.3).start(3)
    for d in player.ask(20):
        player.tell(d.id, float(rng.random() < 0.5))
    while player.sweeps.rest:
        player.tell(player.ask().id, 1.0)
    player.tell_block({0: (5, 3.0), 1: (4, 1.0), 2: (4, 2.0, 1)}, "x")
    for d in player.ask(8):
        player.tell(d.id, rng.random())
    waiting = player.ask(2)
    good = json.loads(json.dumps(player.state()))
    again = uli.restore(good)
    for d in waiting:
        for p in (again, player):
            p.tell(d.id, 0.25)
    assert again.state() == player.state() and again.ask(5) == player.ask(5)

    def changed(change):
        state = json.loads(json.dumps(good))
        change(state["extra"])
        return state

    for change in (
        lambda x: x["book"]["M"].__setitem__(0, 99.0),
        lambda x: x["book"]["P"][0].__setitem__(2, 9.0),
        lambda x: x["book"]["mark"].__setitem__(0, 500),
        lambda x: x.__setitem__("gap", 1e-3),
        lambda x: x.__setitem__("sweeps", 7),
        lambda x: x["thetas"].__setitem__(-1, 0.9),
        lambda x: x["leaders"].__setitem__(-1, 1 - x["leaders"][-1]),
        lambda x: x["asked"][0].__setitem__(1, 2),
        lambda x: x["asked"].pop(),
        lambda x: x["blocks"][0][2][0].__setitem__(2, 4.0),
        lambda x: x["blocks"].append(x["blocks"][0]),
        lambda x: x["blocks"].clear(),
        lambda x: x["rest"].append(0),
        lambda x: x["new"][0].__setitem__(0, 3.0),
    ):
        with pytest.raises(StateError):
            uli.restore(changed(change))
