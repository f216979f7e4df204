"""Live decisions on arm sets."""

import json
import math

import numpy as np
import pytest

import uli_fast as uli
from tests.support.signing import signed
from uli_fast.learners import spanner_elimination as module

THETA = np.array([0.8, -0.3])
BALL = uli.arm_sets.Ball(2)


# Little noise makes short phases in the sharp schedule.
LEARNERS = {
    "sharp": uli.SpannerElimination(0.1, R=0.1),
    "paper": uli.SpannerElimination(0.1, schedule="paper", R=1.0),
}


@pytest.fixture(params=LEARNERS)
def learner(request):
    return LEARNERS[request.param]


@pytest.fixture(autouse=True)
def short_phases(monkeypatch):
    """Phases of a few plays, to see several of them; sizes are tested elsewhere."""
    monkeypatch.setattr(
        module.SpannerElimination, "phase_size", lambda self, m, d, scale: 20.0 * 4.0**m
    )


def noisy(seed, size=20_000):
    noise = 0.01 * np.random.default_rng(seed).standard_normal(size)
    return lambda t, arm: float(np.array(arm) @ THETA + noise[t])


def drive(player, rounds, reward, begin=0):
    history = []
    for t in range(begin, begin + rounds):
        decision = player.ask()
        player.tell(decision.id, reward(t, decision.arm))
        history.append(decision.arm)
    return history


@pytest.mark.parametrize("arms", [BALL, np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])])
def test_live_play_gives_the_blocks_of_the_simulation(arms, learner):
    """Noise-free rewards: the means are the same however they are drawn."""
    problem = uli.LinearBandit(THETA, arm_set=arms, sigma=1e-13)
    runs = uli.simulate(learner, problem, 3000, seed=1)
    player = learner.start(arms)
    history = np.array(drive(player, 3000, lambda t, arm: float(np.array(arm) @ THETA)))
    for phase in runs.phases[0]:
        part = history[phase.first_round - 1 : phase.last_round]
        expected = np.repeat(phase.arms, phase.plays, axis=0)
        assert part == pytest.approx(expected, abs=1e-5)
    assert player.phase > 3


def test_a_saved_player_goes_on_as_if_nothing_had_happened(learner):
    reward = noisy(1)
    whole = drive(learner.start(BALL), 2500, reward)
    player = learner.start(BALL)
    first = drive(player, 777, reward)
    player = uli.restore(json.loads(json.dumps(player.state())), arms=BALL)
    assert player.recommend() == learner_best(learner, reward)
    assert first + drive(player, 1723, reward, 777) == whole
    with pytest.raises(uli.errors.StateError, match="arms"):
        uli.restore(player.state())
    with pytest.raises(uli.errors.StateError, match="arms"):
        uli.restore(player.state(), arms=uli.arm_sets.Ball(2, radius=2.0))
    box = learner.start(uli.arm_sets.Box([-0.3, -0.3], [1.0, 0.5]))
    with pytest.raises(uli.errors.StateError, match="extent"):
        uli.restore(box.state(), arms=uli.arm_sets.Box([-0.3, -0.3], [0.1, 0.1]))


def test_altered_states_are_refused(learner):
    player = learner.start(BALL)
    drive(player, 100, noisy(1))
    good = player.state()
    phases = {"theta": "x", "spanner": {}, "best": "x", "phase": -1, "gap": 9.0}
    if learner.schedule == "sharp":
        phases |= {"error": -1.0, "low": [0.0, 0.0], "high": [1.0]}
    counts = {"n": [-1], "asked": [-1], "lost": [1, 0], "all_lost": [1], "again": [0], "sums": []}
    parts = [("phases", x) for x in phases.items()] + [("memory", x) for x in counts.items()]
    parts += [("queue", ("settled", 10**6))]
    for part, (key, value) in parts:
        wrong = good | {part: good[part] | {key: value}}
        with pytest.raises(uli.errors.StateError):
            uli.restore(signed(wrong, arms=BALL), arms=BALL)
    with pytest.raises(uli.errors.StateError):
        uli.restore(good | {"schema": 9}, arms=BALL)


def test_an_oracle_of_ones_own_is_restored_onto_another_instance(learner):
    class Own:
        dimension = 2

        def maximize(self, u, eq=None, le=None):
            return BALL.maximize(u, eq=eq, le=le)

    reward = noisy(5)
    player = learner.start(Own())
    drive(player, 300, reward)
    again = uli.restore(json.loads(json.dumps(player.state())), arms=Own())
    assert drive(again, 200, reward, 300) == drive(player, 200, reward, 300)


def learner_best(learner, reward):
    player = learner.start(BALL)
    drive(player, 777, reward)
    return player.recommend()


def test_late_rewards_in_any_order_give_the_same_player(learner):
    reward, order = noisy(2), np.random.default_rng(3)
    players = [learner.start(BALL), learner.start(BALL)]
    for batch in range(30):
        for player, shuffled in zip(players, (False, True), strict=True):
            decisions = player.ask(50)
            for i in order.permutation(50) if shuffled else range(50):
                player.tell(decisions[i].id, reward(50 * batch + i, decisions[i].arm))
    assert players[0].state() == players[1].state()
    assert players[0].phase > 2


def test_it_closes_in_on_the_best_arm_and_says_how_close(learner):
    player = learner.start(BALL)
    drive(player, 5000, noisy(4))
    best = THETA / np.linalg.norm(THETA)
    assert np.linalg.norm(np.array(player.recommend()) - best) < 0.1
    certificate = player.certificate()
    if learner.schedule == "paper":
        assert certificate.bound == pytest.approx(4 * 2.0**-player.phase)
    else:
        assert certificate.bound <= 2 * 0.6 ** (player.phase - 1) <= certificate.envelope
    assert certificate.envelope == pytest.approx(learner.guarantee(BALL).bound(5001))
    for arm in player.arms:
        assert np.linalg.norm(THETA) - arm @ THETA <= certificate.bound


def test_what_is_asked_ahead_makes_no_certificate_better(learner):
    reward = noisy(6, 200_000)
    player = learner.start(BALL)
    quota = player.quota * len(player.arms)
    decisions = player.ask(150 * quota)
    for t, decision in enumerate(decisions):
        player.tell(decision.id, reward(t, decision.arm))
    assert player.phase == 2
    assert player.certificate().round == quota + 1
    with pytest.raises(uli.errors.NoGuaranteeError, match=f"R = {learner.R:g}"):
        learner.start(BALL, low=0.0, high=100.0).certificate()


# Missing outcomes.


def missing_every(player, k, phases, reward):
    """Drive a player whose every k-th outcome is missing, to the end of some phases."""
    i = 0
    while player.phase <= phases:
        d, i = player.ask(), i + 1
        if i % k == 0:
            player.tell_missing(d.id, "away")
        else:
            player.tell(d.id, reward(i, d.arm))


def worst(t, arm):
    """The rewards of the edge: what is told is the mean, what is missing might be anything."""
    return float(np.array(arm) @ THETA)


@pytest.mark.parametrize("k", [7, 20, 100])
def test_missing_outcomes_of_bounded_rewards_count_at_their_worst(k):
    player = uli.SpannerElimination(0.1, R=1.0).start(BALL, low=-1.0, high=1.0)
    phases = player._phases
    for m in range(1, 5):
        widths, (D, real) = phases._widths(), (phases.high - phases.low, phases.spanner.real)
        size, n, before = phases._size, player.quota, len(player.queue.missing)
        missing_every(player, k, m, worst)
        lost = len(player.queue.missing) - before
        assert lost and player.lost == len(player.queue.missing) and player.memory.again == []
        each = phases.error - size.error(*widths, n)
        assert each == pytest.approx(lost / len(D) / n * D[real].sum(), rel=0.5)  # nearly evenly
        assert phases.in_time == (phases.error <= 0.6**m)
        certificate = player.certificate()
        assert math.isinf(certificate.envelope) == (not phases.in_time)
        assert (np.linalg.norm(THETA) - player.arms @ THETA).max() <= certificate.bound
        assert certificate.bound <= min(2.0, 2.0 * phases.error * (1.0 + 1e-9))
    state = json.loads(json.dumps(player.state()))
    again = uli.restore(state, arms=BALL)
    assert again.certificate() == player.certificate() and again.state() == player.state()


def test_however_outcomes_go_missing_the_best_arm_stays():
    """All that would have spoken for the best arm are lost, and the error allows for it."""
    arms, theta = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.4])
    player = uli.SpannerElimination(0.1, R=1.0).start(arms, low=-1.0, high=1.0)
    while player.phase < 6:
        d = player.ask()
        mean = float(np.array(d.arm) @ theta)
        if mean == 0.5 and d.id % 2 == 0:  # half of its rewards are 1, and missing; half are 0
            player.tell_missing(d.id, "too good")
        else:
            player.tell(d.id, 0.0 if mean == 0.5 else mean)
        if player.phase > 1:
            assert [1.0, 0.0] in player.arms.tolist()
            assert player.certificate().bound >= 0.1
    naive = uli.SpannerElimination(0.1, R=1.0).start(arms, low=-1.0, high=1.0)
    while naive.phase < 6:
        d = naive.ask()
        naive.tell(d.id, float(np.array(d.arm) @ [0.0, 0.4]))
    assert [1.0, 0.0] not in naive.arms.tolist()  # what is told alone would drop it


def test_unbounded_outcomes_are_asked_for_again_and_certify_nothing():
    player = LEARNERS["sharp"].start(BALL)
    first = player.ask()
    player.tell_missing(first.id, "away")
    quota = player.quota * len(player.arms)
    drive(player, quota, noisy(1))
    assert player.phase == 2 and player.lost == 0
    with pytest.raises(uli.errors.NoGuaranteeError, match="missing"):
        player.certificate()


def test_few_missing_outcomes_cost_a_phase_and_no_more():
    """Outcomes lost in phase 1 alone: F does not hold for phase 2, and does for the later ones."""
    player = uli.SpannerElimination(0.1, R=1.0).start(BALL, low=-1.0, high=1.0)
    missing_every(player, 2, 1, worst)
    assert math.isinf(player.certificate().envelope)
    while player.phase == 2:
        d = player.ask()
        player.tell(d.id, worst(0, d.arm))
    certificate = player.certificate()
    assert certificate.bound <= certificate.envelope == pytest.approx(1.2)


def study_rounds(phases):
    """Return the rounds of the first phases on the disc, as the player plays them."""
    player, total = uli.SpannerElimination(0.1, R=1.0).start(BALL, low=-1.0, high=1.0), 0
    while player.phase <= phases:
        drive(player, 1, worst)
        total += 1
    return total


def test_a_study_of_the_sharp_schedule_is_opened_again(tmp_path):
    path, learner = tmp_path / "study.db", uli.SpannerElimination(0.1, R=1.0)
    with uli.Study.open(path, learner, BALL, low=-1.0, high=1.0) as study:
        for t in range(400):
            d = study.ask()
            if t % 9:
                study.tell(d.id, worst(t, d.arm))
            else:
                study.tell_missing(d.id, "away")
        certificate = study.certificate()
        asked = study.ask()
    with uli.Study.open(path) as study:
        assert study.learner == learner and study.certificate() == certificate
        assert [d.id for d in study.pending()] == [asked.id]
        assert certificate.round > study_rounds(1)
    with pytest.raises(uli.errors.ArgumentError, match="begun with"):
        uli.Study.open(path, LEARNERS["paper"])


def test_errors_are_typed(learner):
    player = uli.SpannerElimination(0.1, schedule=learner.schedule, R=1.0).start(
        BALL, low=-1.0, high=1.0
    )
    decision = player.ask()
    for wrong in (2.0, math.nan, "x"):
        with pytest.raises(uli.errors.RewardRangeError):
            player.tell(decision.id, wrong)
    for unknown in (0, 5, "a", True):
        with pytest.raises(uli.errors.UnknownDecisionError):
            player.tell(unknown, 0.5)
    player.tell(decision.id, 0.5)
    player.tell(decision.id, 0.5)
    with pytest.raises(uli.errors.ConflictingRewardError):
        player.tell(decision.id, 0.6)
    assert player.pending == ()
    with pytest.raises(uli.errors.ArgumentError, match="arm_set"):
        uli.SpannerElimination(R=1.0).start(3)
