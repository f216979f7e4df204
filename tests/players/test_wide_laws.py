"""Live certificates where the law is as wide as their assumptions allow, and where it is wider.

At delta = 1/2 at most half of the runs may have a certificate or an interval that is false at
some round. With a law twice as wide as the learner was told the same count goes over: so it
would be noticed if R, sigma or the norm of theta were taken in the wrong unit or by default.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.stats import binom

import uli_fast as uli
from uli_fast.guarantees import ArmsInfo

PAPER = functools.partial(uli.LinearElimination, schedule="paper")

FREE = {"low": -math.inf, "high": math.inf}
DELTA, K = 0.5, 20
MEANS = np.linspace(0.0, 0.01, K)  # nearly tied: whatever is dropped first may be the best
SIGNED = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
ROUNDING = 1e-9


def false_now(player, means):
    """Say whether the certificate or an interval is false."""
    try:
        certificate = player.certificate()
    except uli.errors.NoGuaranteeError as withdrawn:
        assert "contradict" in str(withdrawn)
        return True
    assert certificate.proved and certificate.assumes
    worst = means.max() - min(means[a] for a in certificate.active)
    pairs = player.intervals().items()
    missed = any(not lo - ROUNDING <= means[a] <= hi + ROUNDING for a, (lo, hi) in pairs)
    return missed or worst > certificate.bound + ROUNDING


def on_arms(learner, sd, rng, rounds, every):
    """Play Gaussian arms; say whether anything certified was false."""
    player, failed = learner.start(K, **FREE), False
    for i in range(1, rounds + 1):
        decision = player.ask()
        player.tell(decision.id, rng.normal(MEANS[decision.arm], sd))
        failed = failed or (i % every == 0 and false_now(player, MEANS))
    return failed


def successive(width, rng):
    return on_arms(uli.SuccessiveElimination(DELTA, R=1.0), width, rng, 8 * K, K)


def phased(width, rng):
    learner = uli.PhasedElimination(DELTA, R=0.25)
    first = K * learner.quotas(ArmsInfo(K, low=None, high=None), 1)[0]
    return on_arms(learner, 0.25 * width, rng, first, first)


def linear(width, rng):
    means = SIGNED @ np.array([width, 0.0])
    player = PAPER(DELTA, R=1.0).start(SIGNED)
    failed = false_now(player, means)
    for _ in range(200):
        decision = player.ask()
        player.tell(decision.id, rng.normal(means[decision.arm], width))
    return failed or false_now(player, means)


def blocks(width, rng):
    """Tuned to large gaps, so that it tests early; certificates rest on the best arm's staying."""
    player, failed = uli.LinearElimination(DELTA, R=1.0, prior_gap=5.0).start(np.eye(K)), False
    for i in range(600):
        decision = player.ask()
        player.tell(decision.id, rng.normal(MEANS[decision.arm], width))
        failed = failed or (i % 100 == 0 and false_now(player, MEANS))
    return failed or MEANS.argmax() not in player.active


def spanner(width, rng):
    theta = np.array([-width, 0.0])
    player, failed = uli.SpannerElimination(DELTA, R=1.0).start(uli.arm_sets.Ball(2)), False
    for _ in range(30):
        decision, certificate = player.ask(), player.certificate()
        assert certificate.proved and certificate.assumes
        gap = width - float(theta @ np.array(decision.arm))
        failed = failed or gap > certificate.bound + ROUNDING
        player.tell(decision.id, rng.normal(width - gap, width))
    return failed


def meta(width, rng):
    means = SIGNED @ np.array([width, 0.0])
    learner = uli.MetaElimination(uli.GeometricHedge(), DELTA, sigma=1.0)
    player, failed = learner.start(SIGNED, seed=int(rng.integers(2**31)), **FREE), False
    for _ in range(20):
        certificate = player.certificate()
        assert certificate.proved and certificate.assumes
        worst = means.max() - means[list(certificate.active)].min()
        failed = failed or worst > certificate.bound + ROUNDING
        decision = player.ask()
        player.tell(decision.id, rng.normal(means[decision.arm], width))
    return failed


CASES = {
    "SuccessiveElimination": successive,
    "PhasedElimination": phased,
    "LinearElimination": blocks,
    "LinearElimination, paper": linear,
    "SpannerElimination": spanner,
    "MetaElimination": meta,
}


def check(name, runs):
    """Hold failures at the limit, and beyond it, against delta."""
    most = int(binom.ppf(0.999, runs, DELTA))
    found = {}
    for width in (1.0, 2.0):
        rng = np.random.default_rng([runs, int(width)])
        found[width] = sum(bool(CASES[name](width, rng)) for _ in range(runs))
    assert found[1.0] <= most, f"{found[1.0]} of {runs} runs had a false certificate"
    assert found[2.0] > most, f"{found[2.0]} of {runs} runs: a law twice as wide went unnoticed"


@pytest.mark.parametrize("name", CASES)
def test_certificates_hold_at_the_limit_of_what_they_assume(name):
    check(name, 50)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_thousand_certificates_hold_at_the_limit_of_what_they_assume(name):
    check(name, 1000)


BOUNDED = {
    "SuccessiveElimination": (uli.SuccessiveElimination(DELTA), K),
    "PhasedElimination": (uli.PhasedElimination(DELTA), K),
    "BettingElimination": (uli.BettingElimination(DELTA), K),
    "LinearElimination": (uli.LinearElimination(DELTA), np.eye(3)),
    "LinearElimination, paper": (PAPER(DELTA, theta_norm=5.0), np.eye(3)),
    "MetaElimination": (uli.MetaElimination(uli.Exp3P(), DELTA), K),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_what_is_wider_than_a_declared_range_is_refused(name):
    learner, arms = BOUNDED[name]
    player = learner.start(arms, low=0.0, high=10.0)
    decision = player.ask()
    for reward in (-5.0, 15.0):
        with pytest.raises(uli.errors.RewardRangeError):
            player.tell(decision.id, reward)
    player.tell(decision.id, 10.0)
    assert player.certificate().bound <= 10.0


def coins(name, rng):
    """Play fair coins on [0, 10], the widest law there; say whether anything was false."""
    learner, arms = BOUNDED[name]
    seed = {"seed": int(rng.integers(2**31))} if name == "MetaElimination" else {}
    player, size = learner.start(arms, low=0.0, high=10.0, **seed), len(np.atleast_1d(arms))
    means, failed = np.full(K if size == 1 else size, 5.0), False
    if name.startswith("LinearElimination"):
        player = learner.start(arms, low=0.0, high=10.0, intercept=5.0)
    for i in range(10 * K):
        decision = player.ask()
        player.tell(decision.id, 10.0 * float(rng.random() < 0.5))
        failed = failed or (i % K == 0 and false_now(player, means))
    return failed


@pytest.mark.parametrize("name", BOUNDED)
def test_fair_coins_are_within_every_bounded_certificate(name):
    rng = np.random.default_rng(3)
    assert sum(coins(name, rng) for _ in range(30)) <= binom.ppf(0.999, 30, DELTA)


def test_policies_whose_rewards_leave_the_range_are_refused():
    rewards = np.zeros((2, 2, 2))
    rewards[0, 0, 1] = 2.0
    with pytest.raises(uli.errors.ArgumentError, match="rewards"):
        uli.PolicyElimination(DELTA).start(rewards)
    certificate = uli.PolicyElimination(DELTA).start(rewards, high=2.0).certificate()
    assert certificate.bound >= rewards.max()  # the widest gap there can be
