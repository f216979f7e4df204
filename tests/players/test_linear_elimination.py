"""Live decisions of PE-linear."""

import functools
import math

import numpy as np
import pytest

import uli_fast as uli

PAPER = functools.partial(uli.LinearElimination, schedule="paper")

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [-0.5, 0.2]])
THETA = np.array([0.8, -0.3])


def noisy(seed, size=60_000):
    noise = 0.2 * np.random.default_rng(seed).standard_normal(size)
    return lambda t, a: float(ARMS[a] @ THETA + noise[t])


def drive(player, rounds, reward, begin=0):
    history = []
    for t in range(begin, begin + rounds):
        decision = player.ask()
        player.tell(decision.id, reward(t, decision.arm))
        history.append(decision.arm)
    return history


def test_live_play_gives_the_decisions_of_the_kernel():
    """Noise-free rewards: the sums are the same however they are drawn."""
    learner = PAPER(0.1, R=0.2)
    problem = uli.LinearBandit(THETA, ARMS, sigma=1e-12)
    player = learner.start(ARMS)
    arms = drive(player, 6000, lambda t, a: float(ARMS[a] @ THETA))
    runs = uli.simulate(learner, problem, 6000, seed=1, engine="rounds")
    assert np.bincount(arms, minlength=4).tolist() == runs.final_plays[0].tolist()
    assert player.arm_state.eliminated.tolist() == runs.eliminated_at[0].tolist()
    assert len(player.active) < 4


def test_what_is_asked_beyond_a_phase_counts_for_the_next():
    learner = PAPER(0.1, R=0.2)
    player, reward = learner.start(ARMS), noisy(4)
    first = sum(player.quotas.values())
    decisions = player.ask(first + 40)
    for t, decision in enumerate(decisions):
        player.tell(decision.id, reward(t, decision.arm))
    assert player.phase == 2
    ahead = np.bincount([d.arm for d in decisions[first:]], minlength=4)
    assert player.memory.settled.tolist() == np.where(player.arm_state.active, ahead, 0).tolist()
    left = sum(max(0, q - s) for q, s in zip(player.quotas.values(), ahead, strict=True))
    drive(player, left, reward, first + 40)
    assert player.phase == 3


def test_what_is_asked_far_ahead_is_not_learned_from_and_does_not_disturb():
    learner, reward = PAPER(0.1, R=0.2), noisy(6)
    player = learner.start(ARMS)
    first = sum(player.quotas.values())
    decisions = player.ask(first + 15_000)
    for t, decision in enumerate(decisions):
        player.tell(decision.id, reward(t, decision.arm))
    closed = player.phase
    assert player.certificate().round <= first + sum(player.quotas.values()) + 15_000
    needed = sum(player.quotas.values()) - int(
        np.minimum(player.memory.settled, list(player.quotas.values())).sum()
    )
    drive(player, needed, reward, first + 15_000)
    assert player.phase == closed + 1
    second = sum(player.quotas.values())
    drive(player, second, reward, 30_000)
    assert player.phase == closed + 2


def test_true_means_can_void_a_claim_of_linearity():
    learner = PAPER(0.1, R=0.5)
    with pytest.warns(uli.errors.GuaranteeWarning, match="not linear"):
        uli.play(learner, lambda a: 0.5, 50, ARMS, means=[0.1, 0.9, 0.2, 0.9], intercept=0.5)
    with pytest.warns(uli.errors.GuaranteeWarning, match="theta_norm"):
        wide = PAPER(0.1, R=9.0)
        uli.play(wide, lambda a: 0.5, 50, ARMS, low=-9, high=9, means=ARMS @ [3.0, 0.0])


def test_intervals_and_certificate():
    learner = PAPER(0.1, R=0.2)
    player = learner.start(ARMS)
    drive(player, 4000, noisy(5))
    certificate = player.certificate()
    t = certificate.round
    assert certificate.envelope == pytest.approx(learner.guarantee(ARMS).bound(t))
    largest = np.linalg.norm(ARMS, axis=1).max()
    assert certificate.bound <= 8 * 2.0**-player.phase * largest * (1 + 1e-12)
    for a in player.active:
        low, high = player.intervals()[a]
        assert low <= ARMS[a] @ THETA <= high
        assert high - low == pytest.approx(2 * 2.0 ** (1 - player.phase) * largest)
    assert player.recommend() == 0


def test_bounded_rewards_have_their_own_r():
    player = PAPER(0.1, R=0.5).start(ARMS, low=0.0, high=1.0, intercept=0.5)
    decision = player.ask()
    with pytest.raises(uli.errors.RewardRangeError):
        player.tell(decision.id, 1.5)
    player.tell(decision.id, 1.0)
    assert player.certificate().bound <= 1.0
    with pytest.raises(uli.errors.NoGuaranteeError, match=r"R = 0\.4"):
        PAPER(0.1, R=0.4).start(ARMS, low=0.0, high=1.0).certificate()
    with pytest.raises(uli.errors.ArgumentError, match="arms"):
        PAPER(R=1.0).start(3)
    assert math.isinf(PAPER(R=1.0).start(ARMS).high)
