"""Certificates: as tight as the data, never rising, never false on the event."""

import functools
import json
import math

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import certificates as naive
from tests.players.telling import tell
from tests.support.signing import signed
from uli_fast.errors import NoGuaranteeError, StateError
from uli_fast.players import revived
from uli_fast.players._certificate import Certificate

PAPER = functools.partial(uli.LinearElimination, schedule="paper")

INF = {"low": -math.inf, "high": math.inf}
ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [-0.5, 0.2]])
SE, PE, LINEAR = uli.SuccessiveElimination, uli.PhasedElimination, PAPER
BLOCKS = uli.LinearElimination


def through_json(player, **more):
    return uli.restore(json.loads(json.dumps(player.state())), **more)


def said_by_intervals(player):
    """Bound the active arms' gaps by what intervals() says at this moment."""
    ends = [player.intervals()[a] for a in player.active]
    gaps = [
        high - low for i, (low, _) in enumerate(ends) for j, (_, high) in enumerate(ends) if i != j
    ]
    return max([0.0, *gaps])


def bernoulli(means, seed, lost=0.0):
    rng = np.random.default_rng(seed)
    return lambda a: None if rng.random() < lost else float(rng.random() < means[a])


# Bounds, and how they were not tight.


def test_phases_are_certified_by_their_intervals():
    """PE in phase 2 said 1.0 where its intervals said .659."""
    player, outcome = PE(0.1).start(2), bernoulli([0.6, 0.45], 3)
    while player.phase == 1:
        tell(player, outcome)
    c = player.certificate()
    assert len(c.active) == 2 and c.bound <= said_by_intervals(player) < 0.7


def test_linear_phases_are_certified_by_their_intervals():
    """PE-linear in phase 4 said .5 where its intervals said .281."""
    theta, rng = np.array([0.6, 0.55]), np.random.default_rng(1)
    player = LINEAR(0.1, R=0.5).start(np.eye(2))
    while player.phase < 4:
        tell(player, lambda a: float(theta[a] + rng.normal(0.0, 0.05)))
    c = player.certificate()
    assert len(c.active) == 2 and c.bound <= said_by_intervals(player) + 1e-12
    assert c.bound < 0.33


@pytest.mark.parametrize("R", [0.01, 0.5])
def test_phases_without_a_range_are_certified(R):
    """F needs the largest gap; survivors of phase l have at most 2 2^-l."""
    means, rng = [30.0, 30.0 - R / 20.0, -50.0], np.random.default_rng(2)
    player = PE(0.1, R=R).start(3, **INF)
    assert player.certificate().bound == player.certificate().envelope == math.inf
    while player.phase < 4:
        tell(player, lambda a: float(rng.normal(means[a], R)))
        c, phase = player.certificate(), player.phase - 1
        assert c.proved and c.envelope == math.inf
        if phase:
            assert set(c.active) == {0, 1} and R / 20.0 <= c.bound <= 2.0 * 2.0**-phase
            assert c.bound <= said_by_intervals(player)


RUNS = {
    "SE": (lambda: SE(0.3).start(3), 0.0),
    "SE, some missing": (lambda: SE(0.3).start(3), 0.1),
    "SE, R": (lambda: SE(0.3, R=0.6).start(["a", "b", "c"]), 0.05),
    "SE, unbounded": (lambda: SE(0.3, R=0.5).start(3, **INF), 0.0),
    "PE": (lambda: PE(0.3).start(3), 0.0),
    "PE, some missing": (lambda: PE(0.3).start(3), 0.1),
    "PE, unbounded": (lambda: PE(0.3, R=0.5).start(3, **INF), 0.0),
    "linear": (lambda: LINEAR(0.3, R=0.5).start(np.eye(3)), 0.0),
    "linear, some missing": (lambda: LINEAR(0.3, R=0.5).start(np.eye(3), low=0.0, high=1.0), 0.1),
    "blocks": (lambda: BLOCKS(0.3, R=0.5).start(np.eye(3)), 0.0),
    "blocks, some missing": (lambda: BLOCKS(0.3).start(np.eye(3), low=0.0, high=1.0), 0.1),
}


@pytest.mark.parametrize("case", RUNS)
def test_the_bound_never_rises_and_is_never_looser_than_the_intervals(case):
    start, lost = RUNS[case]
    player, before, seen = start(), math.inf, set()
    labels = list(player.labels)
    outcome = bernoulli([0.75, 0.6, 0.2], 5, lost)
    for _ in range(4500 if "linear" in case else 2500):
        tell(player, lambda a: outcome(labels.index(a)))
        c = player.certificate()
        assert c.bound <= min(before, said_by_intervals(player) + 1e-12, c.envelope)
        before = c.bound
        seen.add(c.bound)
    assert len(seen) > 1 and before < 0.9
    if lost:  # F was valid up to the first that is missing, and is not claimed any more
        assert c.envelope == math.inf and player.state()["tally"]["complete"][0] > 0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("learner", [SE(0.3), PE(0.3)], ids=str)
def test_the_bound_is_that_of_the_naive_reference(learner, seed):
    rng = np.random.default_rng(seed)
    reference = naive.successive if isinstance(learner, SE) else naive.phased
    outcome = bernoulli(rng.random(3), seed, rng.choice([0.0, 0.02, 0.2]))
    player, history = learner.start(3), []
    for t in range(1, 1200):
        history.append(tell(player, outcome))
        if t % 149 == 0:
            bound, active = reference(history, 3, learner.delta)
            assert set(player.active) == active
            assert player.certificate().bound == pytest.approx(bound, abs=1e-12)


def test_earlier_intervals_count():
    """A mean that first seems higher: what the intervals have in common is less than each."""
    player = SE(0.3).start(2)
    for i in range(3000):
        tell(player, lambda a, i=i: float(i // 2 % 3 > 0 if i < 400 else i // 2 % 2))
    c = player.certificate()
    assert c.bound < 0.98 * said_by_intervals(player)
    later = SE(0.3).start(2)
    later.load(player.state())
    later.tally.known[:] = [[0.0], [1.0]]  # had they been forgotten
    later._narrow()
    assert later.certificate().bound == pytest.approx(said_by_intervals(player))


def test_an_arm_is_compared_with_the_others():
    """Nothing is known of arm 1: it may be as good as 1 or as bad as 0, but not both."""
    player = SE(0.3).start(2)
    for _ in range(800):
        tell(player, lambda a: 0.5 if a == 0 else None)
    (low, high), unknown = player.intervals().values()
    assert unknown == (0.0, 1.0)
    bound = player.certificate().bound
    assert bound == pytest.approx(max(1.0 - low, high - 0.0)) and bound < 0.7


def test_f_of_before_the_first_missing_outcome_stays():
    """What F said of the arms that were active then is true of those that are left."""
    player = SE(0.3).start(2)
    for _ in range(500):
        tell(player, lambda a: 0.5)
    player.tally.known[:] = [[0.0], [1.0]]  # as if intervals were not to be had
    F = player.certificate().envelope
    assert player.certificate().bound == F < 1.0
    player.tell_missing(player.ask().id, "gone")
    player.tally.known[:] = [[0.0], [1.0]]
    c = player.certificate()
    assert c.envelope == math.inf and c.bound == F


def test_estimated_losses_tighten_the_bound_of_a_phase():
    """A phase cut short; its threshold and length are such that estimates say more than G."""
    learner = uli.MetaElimination(uli.Exp3P(), 0.1)
    player = learner.start(2, seed=1, low=0.0, high=4.0)
    player._plan = player._plan._replace(rounds=400, threshold=70.0)  # sqrt(g T) = 10
    for i in range(400):
        assert player.phase == 1
        tell(player, lambda a, i=i: float(i % 5))
    assert player.phase == 2 and len(player.active) == 2
    bound = player.certificate().bound
    assert 4.0 * 2.0 * 3.83 * 10.0 / 400 <= bound < 4.0 * 2.0**-0.5
    again = revived(json.loads(json.dumps(player.state())))  # no outcomes lead to such a phase
    assert again.certificate() == player.certificate() and again.state() == player.state()
    for wrong in (-1.0, math.nan, "x"):
        state = player.state()
        state["memory"]["least"] = [wrong]
        with pytest.raises(StateError):
            revived(signed(state))


def test_a_single_arm_of_a_set_is_the_best(monkeypatch):
    """Two arms far apart: from phase 3 on one is active, though the sets need not be nested."""
    size = lambda self, m, d, scale: 20.0 * 4.0**m  # noqa: E731
    monkeypatch.setattr(uli.SpannerElimination, "phase_size", size)
    arms, theta = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.9, -0.3])
    player, seen = uli.SpannerElimination(0.1, schedule="paper", R=1.0).start(arms), {}
    while player.phase < 5:
        c = player.certificate()
        assert c.bound <= 4.0 * 2.0**-player.phase and c.bound <= c.envelope
        assert max(0.9 - np.array(arm) @ theta for arm in player.arms) <= c.bound
        seen[player.phase] = c.bound
        again = through_json(player, arms=arms)
        assert again.certificate() == c and again.state() == player.state()
        for _ in range(player.quota * len(player.arms)):
            tell(player, lambda arm: float(np.array(arm) @ theta))
    assert seen[1] == 2.0 and seen[4] == 0.0
    for wrong in (-1.0, 1.0, math.nan, None, "x"):
        state = player.state()
        state["phases"]["gap"] = wrong
        with pytest.raises(StateError):
            uli.restore(signed(state, arms=arms), arms=arms)


# Contradictions.


@pytest.mark.parametrize("learner", [SE(0.05), PE(0.05), LINEAR(0.05)], ids=str)
def test_outcomes_that_no_means_explain_certify_nothing(learner):
    """A mean that changes (assumed not to) leaves intervals that do not meet."""
    arms = np.eye(2) if isinstance(learner, uli.LinearElimination) else 2
    player = learner.start(arms, low=0.0, high=1.0)
    contradicted = False
    for i in range(60_000):
        tell(player, lambda a, i=i: 0.9 if i < 3000 else 0.0)
        if not contradicted:
            try:
                player.certificate()
            except NoGuaranteeError as reason:
                assert "contradict" in str(reason)
                contradicted = True
                break
    assert contradicted
    tell(player, lambda a: 0.9)
    for one in (player, through_json(player)):
        with pytest.raises(NoGuaranteeError, match="contradict"):
            one.certificate()


# States and studies.


@pytest.mark.parametrize("case", RUNS)
def test_what_was_known_survives_a_round_trip_bit_for_bit(case):
    start, lost = RUNS[case]
    player = start()
    labels = list(player.labels)
    outcome = bernoulli([0.75, 0.6, 0.2], 6, lost)
    for t in range(1500):
        tell(player, lambda a: outcome(labels.index(a)))
        if t % 300 == 299:
            again = through_json(player)
            assert again.certificate() == player.certificate()
            assert again.state() == player.state()
            player = again


@pytest.mark.parametrize("learner", [SE(0.3), PE(0.3)], ids=str)
def test_a_study_opened_again_says_the_same(learner, tmp_path):
    outcome, bounds = bernoulli([0.8, 0.3], 4, 0.05), []
    for _ in range(4):
        with uli.Study.open(tmp_path / "x.db", learner, 2) as study:
            if bounds:
                assert study.certificate() == bounds[-1]
            for _ in range(60):
                tell(study, outcome)
            bounds.append(study.certificate())
    assert uli.Study.read(tmp_path / "x.db").certificate() == bounds[-1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"known": [[0.0] * 3]},
        {"known": [[0.0] * 2, [1.0] * 3]},
        {"known": [[0.0] * 3, [1.0] * 3, [1.0] * 3]},
        {"known": [[math.nan] * 3, [1.0] * 3]},
        {"known": [["a"] * 3, [1.0] * 3]},
        {"known": 3},
        {"complete": -1},
        {"complete": 5},
        {"complete": "x"},
    ],
    ids=str,
)
def test_what_was_known_is_checked(wrong):
    player = SE(0.3).start(3)
    for _ in range(30):
        tell(player, lambda a: 0.5)
    with pytest.raises(StateError):
        uli.restore({**player.state(), **wrong})


# What it says of itself.


def test_a_certificate_prints_what_it_means_and_its_unit():
    player = SE(0.05).start(["old", "new"], low=0.0, high=40.0)
    assert repr(player.certificate()).startswith(
        "Certificate(with probability 0.95, over all rounds at once, every active arm is within "
        "40 (reward units) of the best; round=1, envelope="
    )
    assert "active=('old', 'new')" in repr(player.certificate())
    assert "nothing is known yet" in repr(SE(0.05, R=0.5).start(2, **INF).certificate())
    assert "active=50," in repr(SE(0.05).start(50).certificate())
    policies = uli.PolicyElimination(0.1).start([[[0.0, 1.0]]])
    one = Certificate(9, 0.0, 1.0, 0.05, ("drug",), True)
    assert one.sentence.endswith("at once, drug is the best: no arm is better")
    assert one._replace(active=(2,)).sentence.endswith(
        "at once, arm 2 is the best: no arm is better"
    )
    assert one._replace(proved=False).sentence.endswith("better, by the learner's own claim")
    assert "drug" not in one._replace(bound=0.1).sentence  # never more than the bound says
    assert "every policy that may still be played is within 1 (reward units)" in repr(
        policies.certificate()
    )
    points = uli.SpannerElimination(0.1, R=1.0).start(uli.arm_sets.Ball(2))
    assert "every arm of this phase is within 2 (reward units)" in repr(points.certificate())
    rule = uli.EliminationFramework(lambda n, total, active, t: active, lambda delta, t: 0.5)
    assert "of the best, by the learner's own claim;" in repr(rule.start(2).certificate())


def test_a_users_claim_is_held_against_its_own_round_only():
    """An f of 0 at round 1 says nothing of later rounds."""
    rule = uli.EliminationFramework(
        lambda n, total, active, t: active, lambda delta, t: math.sqrt(math.log(t) / t)
    )
    player = rule.start(2)
    for t in range(1, 30):
        assert player.certificate().bound == pytest.approx(min(1.0, math.sqrt(math.log(t) / t)))
        tell(player, lambda a: 0.5)
