"""Outcomes that never come: intervals hold whatever made them missing."""

import functools
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import uli_fast as uli
from tests.naive import missing as naive
from tests.support.signing import signed
from uli_fast.errors import (
    ConflictingRewardError,
    NoGuaranteeError,
    StateError,
)

PAPER = functools.partial(uli.LinearElimination, schedule="paper")

LEARNERS = {
    naive.successive: uli.SuccessiveElimination(0.3),
    naive.phased: uli.PhasedElimination(0.3),
}
ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [-0.5, 0.2]])


def tell(player, decision, outcome):
    if outcome is None:
        player.tell_missing(decision.id, "did not come")
    else:
        player.tell(decision.id, outcome)


def drive(player, outcome, rounds, watch=lambda: None):
    """Ask and tell at once; return the arms."""
    counts, arms = {}, []
    for _ in range(rounds):
        d = player.ask()
        i = counts.get(d.arm, 0)
        counts[d.arm] = i + 1
        tell(player, d, outcome(d.arm, i))
        arms.append(d.arm)
        watch()
    return arms


def world(means, lost, seed, size=8000):
    """Bernoulli outcomes; lost[a] = probabilities that a 0 and that a 1 go missing."""
    rng = np.random.default_rng(seed)
    means, lost = np.array(means), np.array(lost)
    X = (rng.random((len(means), size)) < means[:, None]).astype(int)
    gone = rng.random(X.shape) < np.take_along_axis(lost, X, axis=1)
    return lambda a, i: None if gone[a, i] else float(X[a, i])


@pytest.mark.parametrize("reference", LEARNERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", range(8))
def test_decisions_are_those_of_the_naive_reference(reference, seed):
    rng = np.random.default_rng(seed)
    means = rng.random(3)
    outcome = world(means, rng.random((3, 2)) * rng.choice([0.05, 0.3]), seed)
    learner = LEARNERS[reference]
    player = learner.start(3)
    arms, active = reference(outcome, 3, 1500, learner.delta)
    assert drive(player, outcome, 1500) == arms
    if reference is naive.successive:
        assert set(player.active) == active


# Good outcomes of the best arm and bad ones of the other go missing more often.
ADVERSARIAL = dict(means=[0.6, 0.5], lost=[(0.0, 0.7), (0.7, 0.0)])


@pytest.mark.parametrize("reference", LEARNERS, ids=lambda f: f.__name__)
def test_the_best_arm_stays_and_intervals_cover_whatever_is_missing(reference):
    runs, T, learner = 40, 1500, type(LEARNERS[reference])(delta=0.05)
    lost = uncovered = fooled = 0
    for seed in range(runs):
        outcome = world(**ADVERSARIAL, seed=seed)
        player = learner.start(2)
        misses, told = [], itertools.count()

        def watch(player=player, misses=misses, told=told):
            if (n := next(told)) > 100 and n % 5:
                return  # by now intervals move little from one outcome to the next
            for a, (low, high) in player.intervals().items():
                misses.append(not low <= ADVERSARIAL["means"][a] <= high)
            worst = max(0.6 - ADVERSARIAL["means"][a] for a in player.active)
            misses.append(player.certificate().bound < worst)

        drive(player, outcome, T, watch)
        lost += 0 not in player.active
        uncovered += any(misses)
        fooled += 0 not in reference(outcome, 2, T, learner.delta, complete_case=True)[1]
    # Leaving outcomes out loses the best arm.
    assert lost == 0 and uncovered <= runs * learner.delta
    assert fooled > runs / 2


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=str)
def test_few_missing_outcomes_still_let_arms_go(learner):
    outcome = world([0.9, 0.1], [(0.1, 0.1)] * 2, seed=3)
    player = learner.start(2)
    seen = []
    drive(player, outcome, 1500, lambda: seen.append(player.certificate()))
    assert player.active == (0,) and player.recommend() == 0
    certificate = player.certificate()
    assert certificate.bound == 0.0 and certificate.envelope == math.inf and certificate.proved
    assert seen[0].envelope < math.inf  # F holds until the first is missing
    assert all(c.bound >= 0.8 for c in seen if len(c.active) == 2)


def test_an_interval_widens_by_the_share_that_is_missing():
    complete, some = (uli.SuccessiveElimination(0.1).start(2, low=-1.0, high=3.0) for _ in "ab")
    for i in range(400):
        for player in (complete, some):
            d = player.ask()
            if player is some and i % 8 < 2:
                player.tell_missing(d.id, "x")
            else:
                player.tell(d.id, -1.0 if i % 8 < 2 else 1.0)
    (a, b), (c, d) = complete.intervals()[0], some.intervals()[0]
    assert a == c and d == pytest.approx(b + 4.0 * 0.25)
    assert some.recommend() == 0


def test_optimism_counts_the_play_and_averages_what_came():
    player = uli.UCB(0.1).start(2)
    for _ in range(60):
        d = player.ask()
        tell(player, d, None if d.id % 3 == 0 else 1.0 if d.arm == 0 else 0.5)
    assert player.means().tolist() == [1.0, 0.5]
    for low, high in player.intervals().values():
        assert low < 1.0 / 2.0 < high
    with pytest.raises(NoGuaranteeError):
        player.certificate()


@pytest.mark.parametrize(
    "learner", [uli.SuccessiveElimination(0.1, R=1.0), uli.PhasedElimination(0.1, R=1.0)], ids=str
)
def test_without_a_range_nothing_is_certified(learner):
    player = learner.start(2, low=-math.inf, high=math.inf)
    first = player.ask(900)
    rng = np.random.default_rng(1)
    for d in first:
        tell(player, d, None if d.id == 5 else float(rng.normal(d.arm)))
    with pytest.raises(NoGuaranteeError, match="missing"):
        player.certificate()
    assert player.intervals()[0] == (-math.inf, math.inf)
    again = uli.restore(json.loads(json.dumps(player.state())))
    assert again.state() == player.state()
    rewards = [float(x) for x in rng.normal(size=2000)]
    for x in rewards:
        d = again.ask()
        assert player.ask() == d
        tell(player, d, x + d.arm)
        tell(again, d, x + d.arm)
    assert again.state() == player.state()
    assert player.active == (1,)


def test_a_phase_without_a_range_asks_again_and_keeps_its_quota():
    player = uli.PhasedElimination(0.3, R=1.0).start(2, low=-math.inf, high=math.inf)
    m = player.quota
    for d in player.ask(2 * m + 4):  # the last four are 0, 1, 0, 1
        tell(player, d, None if m < d.id <= m + 3 else 0.5 if d.id <= 2 * m else 100.0)
    assert player.phase == 1
    d = player.ask()
    assert d.arm == 1
    player.tell(d.id, 0.5)
    assert player.phase == 2
    # What arm 0 had beyond its quota counts for phase 2, if arm 0 is still there.
    assert player.memory.mean.tolist() == [0.5, (0.5 * (m - 2) + 200.0) / m]
    assert player.arm_state.n[0] == m + 2 * player.arm_state.active[0]


@pytest.mark.parametrize("low, high", [(-2.0, 2.0), (-math.inf, math.inf)])
def test_linear_arms(low, high):
    """Bounded: covered though the largest rewards of the best arm go missing; else void."""
    theta, learner = np.array([0.8, -0.3]), PAPER(0.1, R=2.0)
    rng, covered, phases = np.random.default_rng(0), [], set()
    player = learner.start(ARMS, low=low, high=high)
    for _ in range(14_000):
        d = player.ask()
        reward = float(ARMS[d.arm] @ theta + rng.uniform(-0.5, 0.5))
        tell(player, d, None if reward > 1.0 and d.arm == 0 else reward)
        if player.phase not in phases:
            phases.add(player.phase)
            for a, (lo, hi) in player.intervals().items():
                covered.append(lo <= ARMS[a] @ theta <= hi)
            state = json.loads(json.dumps(player.state()))
            assert uli.restore(state).state() == player.state()
    assert all(covered) and max(phases) >= 3
    assert 0 in player.active
    if math.isinf(low):
        with pytest.raises(NoGuaranteeError, match="missing"):
            player.certificate()
        return
    certificate = player.certificate()
    gaps = (ARMS @ theta).max() - ARMS @ theta
    assert max(gaps[a] for a in player.active) <= certificate.bound
    assert certificate.envelope == math.inf
    assert player._phases.errors.max() > 0.0
    assert certificate.bound > 8 * 2.0**-player.phase * 0.25


def test_the_error_of_linear_estimates_is_what_the_worst_imputation_makes():
    from uli_fast.geometry.least_squares import influence, least_squares

    rng = np.random.default_rng(4)
    arms, n = rng.normal(size=(5, 2)), np.array([7, 0, 3, 9, 2])
    means, off = rng.normal(size=5), rng.random(5)
    moved = np.abs(influence(arms, n)) @ off
    worst = np.zeros(5)
    for signs in np.ndindex(*(2,) * 5):
        changed = means + off * (2 * np.array(signs) - 1)
        difference = arms @ (least_squares(arms, n, changed) - least_squares(arms, n, means))
        worst = np.maximum(worst, np.abs(difference))
    off_played = np.abs(influence(arms, n)) @ (off * (n > 0))
    assert moved == pytest.approx(off_played) and moved == pytest.approx(worst)


def through(player, *plans):
    """Play one phase; plans[a] are the outcomes of arm a: how many of each."""
    phase, left = player.phase, [[x for n, x in plan for _ in range(n)] for plan in plans]
    while player.phase == phase:
        d = player.ask()
        tell(player, d, left[d.arm].pop())
    assert not any(left)


def phased_pair():
    return uli.PhasedElimination(0.3).start(2), lambda player: player.quota


def linear_pair():
    """Orthogonal arms: the estimate of each is its own mean; rewards in [-1, 1] have slope 2."""
    player = PAPER(0.3, R=1.0).start(np.eye(2), low=-1.0, high=1.0)
    return player, lambda player: player.quotas[0]


PAIRS = pytest.mark.parametrize("pair", [phased_pair, linear_pair])


@PAIRS
@pytest.mark.parametrize("whose", [0, 1])
def test_a_phase_takes_what_is_missing_at_its_worst_and_no_worse(pair, whose):
    """All good against all bad but for what is missing: half the range decides in phase 1."""
    for extra in (-1, 0):
        player, quota = pair()
        m, low = quota(player), player.low
        # The good arm's missing as bad, the bad one's as good: the gap is range (1 - missing / m).
        missing = math.ceil(m / 2) + extra
        plans = [[(m, 1.0)], [(m, low)]]
        plans[whose] = [(m - missing, 1.0 if whose == 0 else low), (missing, None)]
        through(player, *plans)
        assert player.active == ((0,) if extra else (0, 1))


@PAIRS
def test_what_was_missing_in_one_phase_is_over_in_the_next(pair):
    for nudge, active in ((-1e-6, (0,)), (1e-6, (0, 1))):
        player, quota = pair()
        m = quota(player)
        missing = math.ceil(0.7 * m)
        through(player, [(m, 1.0)], [(m - missing, player.low), (missing, None)])
        assert player.active == (0, 1)
        m, allowed = quota(player), 0.25 if pair is phased_pair else 0.5
        through(player, [(m, 1.0)], [(m, 1.0 - allowed + nudge)])
        assert player.active == active
        for a, mean in ((0, 1.0), (1, 1.0 - allowed + nudge)):  # as wide as without any
            half = 0.125 if pair is phased_pair else 0.25
            assert player.intervals()[a] == pytest.approx((mean - half, min(mean + half, 1.0)))


@PAIRS
def test_the_gap_bound_knows_of_what_is_missing(pair):
    """The plain bound of the phase would be too small: the interval of arm 1 is wider."""
    player, quota = pair()
    middle = (player.low + player.high) / 2.0
    through(player, [(quota(player), middle)], [(quota(player), middle)])
    m = quota(player)
    missing = round(0.4 * m)
    through(player, [(m, middle)], [(m - missing, middle), (missing, None)])
    (a, b), (c, d) = player.intervals().values()
    bound = player.certificate().bound
    plain = 0.5 if pair is phased_pair else 1.0
    assert d - c == pytest.approx(plain / 2 + (player.high - player.low) * missing / m)
    # The phase before had nothing missing, and what it said still holds: twice as wide.
    c, d = max(c, middle - plain / 2), min(d, middle + plain / 2)
    assert bound == pytest.approx(max(d - a, b - c)) and bound > plain / 2


def test_a_missing_outcome_beyond_the_quota_counts_in_the_next_phase():
    player = uli.PhasedElimination(0.3).start(2)
    m = player.quota
    for _ in range(m):
        player.absorb(0, 1.0)
    player._absorb_missing(0)
    assert (
        player.phase_start.missing.tolist() == [0, 0] and str(player.memory.early) == "[(0, nan)]"
    )
    for _ in range(m):
        player.absorb(1, 1.0)
    assert player.phase == 2 and player.memory.missing.tolist() == [0.0, 0.0]
    assert player.phase_start.missing.tolist() == [1, 0]
    assert player.arm_state.n.tolist() == [m + 1, m]


def others():
    meta = uli.MetaElimination(uli.Exp3P(constant=0.01), 0.1, mode="sharp")
    yield meta, lambda: meta.start(3, seed=1)
    yield "Exp3P", lambda: uli.Exp3P(0.1).start(3, seed=1, horizon=2000)
    hedge = uli.GeometricHedge(0.1)
    yield "Hedge", lambda: hedge.start(ARMS, seed=1, horizon=200_000, low=-2.0, high=2.0)
    rule = uli.EliminationFramework(lambda n, total, active, t: active, lambda delta, t: 1.0)
    yield "framework", lambda: rule.start(3)


@pytest.mark.parametrize("start", [s for _, s in others()], ids=[str(n)[:9] for n, _ in others()])
def test_other_learners_leave_it_out_and_say_so(start):
    player = start()
    rng = np.random.default_rng(0)
    for _ in range(300):
        d = player.ask()
        tell(player, d, None if rng.random() < 0.2 else float(rng.random()))
    with pytest.raises(NoGuaranteeError):
        player.certificate()
    if not isinstance(player.learner, uli.EliminationFramework):
        again = uli.restore(json.loads(json.dumps(player.state())))
        assert again.state() == player.state()
        assert [again.ask() for _ in range(5)] == [player.ask() for _ in range(5)]


def test_a_missing_loss_changes_no_weight_and_another_takes_its_place():
    learner = uli.MetaElimination(uli.Exp3P(constant=0.01), 0.1, mode="sharp")
    player = learner.start(3, seed=1)
    d = player.ask()
    before = player._base.save()["lw"]
    player.tell_missing(d.id, "x")
    assert player._base.save()["lw"] == before
    rounds = player._plan.rounds
    for _ in range(rounds - 1):
        player.tell(player.ask().id, 0.5)
    assert player.phase == 1
    player.tell(player.ask().id, 0.5)
    assert player.phase == 2
    with pytest.raises(NoGuaranteeError, match="missing"):
        player.certificate()


def test_arm_sets_ask_again(monkeypatch):
    from uli_fast.learners import spanner_elimination as module

    monkeypatch.setattr(
        module.SpannerElimination, "phase_size", lambda self, m, d, scale: 20.0 * 4.0**m
    )
    player = uli.SpannerElimination(0.1, R=1.0).start(uli.arm_sets.Ball(2))
    arms = player.arms.tolist()
    quota = player.ask(player.quota * len(arms))
    for d in quota:
        tell(player, d, None if d.id in (1, 3) else 0.1)
    assert player.phase == 1 and player.pending == ()
    state = json.loads(json.dumps(player.state()))
    player = uli.restore(state, arms=uli.arm_sets.Ball(2))
    assert player.state() == state
    with pytest.raises(NoGuaranteeError, match="missing"):
        player.certificate()
    for _ in range(2):
        d = player.ask()
        assert list(d.arm) == arms[0]
        player.tell(d.id, 0.1)
    assert player.phase == 2
    with pytest.raises(ConflictingRewardError):
        player.tell(1, 0.5)


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
def test_policies_leave_it_out():
    mdp = uli.mdps.combination_lock(length=2, n_actions=2)
    learner = uli.PolicyElimination(0.1, (1e-4, 1.0))
    player = learner.start(mdp.rewards)
    rng = np.random.default_rng(0)
    for t in range(player.quota + 2):
        assert player.phase == 1
        d = player.ask(state=0)
        if t in (2, 5):
            player.tell_missing(d.id, "lost")
            player.tell_missing(d.id, "lost")
            with pytest.raises(ConflictingRewardError, match="states"):
                player.tell(d.id, *walk(d.policy, rng))
            continue
        player.tell(d.id, *walk(d.policy, rng))
    assert player.phase == 2
    with pytest.raises(NoGuaranteeError, match="missing"):
        player.certificate()
    state = json.loads(json.dumps(player.state()))
    assert uli.restore(state).state() == state


def walk(policy, rng):
    H, S = policy.shape
    states = [0, *rng.integers(S, size=H - 1).tolist()]
    return states, [int(policy[h, s]) for h, s in enumerate(states)]


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from(list(LEARNERS.values())))
def test_any_order_of_arrival_gives_the_same_bits(seed, learner):
    rng = np.random.default_rng(seed)
    outcome, states = world([0.7, 0.5, 0.2], [(0.2, 0.2)] * 3, seed), []
    for shuffled in (False, True):
        player, counts = learner.start(3), [0, 0, 0]
        for _ in range(8):
            told = []
            for d in player.ask(20):
                told.append((d, outcome(d.arm, counts[d.arm])))
                counts[d.arm] += 1
            for i in rng.permutation(20) if shuffled else range(20):
                tell(player, *told[i])
        states.append(player.state())
    assert states[0] == states[1]
    again = uli.restore(json.loads(json.dumps(states[0])))
    assert again.state() == states[0] and again.intervals() == player.intervals()


def test_wrong_states_are_refused():
    player = uli.PhasedElimination(0.3).start(2)
    drive(player, lambda a, i: float(i % 2), 50)
    state = player.state()
    for wrong in (
        {"queue": state["queue"] | {"missing": [[1, "x"]]}},
        {"queue": state["queue"] | {"missing": [[99, "x"]]}},
        {"queue": state["queue"] | {"missing": [[1]]}},
        {"tally": state["tally"] | {"lost": [5, 0]}},
        {"tally": state["tally"] | {"lost": [-1, 1]}},
        {"tally": state["tally"] | {"omitted": [1, 0]}},
    ):
        with pytest.raises(StateError):
            uli.restore(signed({**state, **wrong}))


def test_no_mean_is_shown_that_its_interval_excludes():
    """Where bad outcomes are missing for being bad, the others' mean is none of the arm's."""
    player = uli.BettingElimination(0.3).start(1)
    for i in range(600):
        tell(player, player.ask(), None if i > 200 and i % 2 else float(i > 200 or i % 4 == 0))
    ((low, high),) = player.intervals().values()
    came = player.arm_state.total[0] / player.came()[0]
    assert came > high > low and math.isnan(player.means()[0])
