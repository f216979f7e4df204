"""Where a certificate could have been false: thin arms, short oracles, huge outcomes, copies."""

from __future__ import annotations

import math

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.arm_sets import as_arm_set
from uli_fast.errors import NoGuaranteeError

FREE = {"low": -math.inf, "high": math.inf}


@pytest.mark.parametrize("arms", [[[1.0, 0.0], [1.0, 1e-11]], [[2e10, 0.0], [2e10, 1.0]]])
def test_arms_that_are_nearly_flat_are_not_certified(arms):
    """Both arms count as one, and theta may be long enough to make them differ by 1."""
    learner = uli.MetaElimination(uli.GeometricHedge(), 0.5)
    with pytest.raises(NoGuaranteeError, match="thinner"):
        learner.guarantee(np.array(arms))
    with pytest.raises(NoGuaranteeError, match="thinner"):
        learner.start(arms, seed=1).certificate()
    assert learner.guarantee(np.array([[1.0, 0.0], [2.0, 0.0]])).proved  # flat, exactly
    assert learner.guarantee(np.array([[1.0, 0.0], [1.0, 1e-5]])).proved


class Short:
    """An oracle whose bounds are exact, and whose points fall short of them by a rounding."""

    dimension = 2

    def __init__(self, points):
        self.points = points

    def largest_norm(self):
        return 1.0

    def maximize(self, u, eq=None, le=None):
        keep = np.full(len(self.points), True)
        if le is not None:
            keep &= (self.points @ le[0].T <= le[1] + 1e-13).all(axis=1)
        values = np.where(keep, self.points @ u, -math.inf)
        near = np.flatnonzero(values >= values.max() - 0.9e-7 * np.linalg.norm(u))
        return self.points[near[0]].copy(), float(values.max())


@pytest.mark.parametrize("schedule", ["sharp", "paper"])
@pytest.mark.parametrize("wrap", [lambda p: as_arm_set(Short(p)), as_arm_set], ids=["own", "list"])
def test_a_best_arm_that_the_oracle_did_not_show_stays_in_the_box(wrap, schedule):
    C, thin = 1.2, 1e-2
    one, two = np.array([1.0, 0.0]), np.array([math.sqrt(1.0 - thin**2), thin])
    best = C * (1.0 + 3e-7) * one - 0.9999 * two  # a coefficient just above C
    points, theta = np.array([one, two, C * one - 0.5 * two, best]), np.array([-0.6, 0.0])
    phases = uli.SpannerElimination(0.05, C, schedule, R=1.0).phases(wrap(points))
    for _ in range(5):
        arms, n, _ = phases.open()
        gaps = (points @ theta).max() - arms @ theta
        assert gaps.max() <= phases.gap * phases.scale * (1.0 + 1e-9)
        phases.close(arms, n, arms @ theta)  # no noise: the event holds


def test_outcomes_that_drown_in_rounding_are_not_certified():
    learner, far = uli.SuccessiveElimination(0.05, R=1e-3), 1e10
    player, near = learner.start(2, **FREE), learner.start(2, **FREE)
    for _ in range(40):
        for live, at in ((player, far), (near, 0.0)):
            decision = live.ask()
            live.tell(decision.id, at + (0.085503, 0.08565)[decision.arm])
    with pytest.raises(NoGuaranteeError, match="subtract a constant"):
        player.certificate()
    with pytest.raises(NoGuaranteeError, match="subtract a constant"):
        uli.restore(player.state()).certificate()
    assert near.certificate().bound < 0.01
    ball = uli.SpannerElimination(0.1, R=1.0).start(uli.arm_sets.Ball(2), intercept=1e13)
    assert ball.certificate().bound > 0.0
    for _ in range(10):
        ball.tell(ball.ask().id, 1e13)
    with pytest.raises(NoGuaranteeError, match="subtract a constant"):
        ball.certificate()


def test_an_r_below_half_the_range_gives_no_intervals():
    for kind in (uli.SuccessiveElimination, uli.PhasedElimination, uli.UCB, uli.LilUCB, uli.KLUCB):
        player = kind(0.1, R=0.01).start(2)
        for i in range(60):
            player.tell(player.ask().id, float(i % 2))
        assert set(player.intervals().values()) == {(0.0, 1.0)}
    vectors = uli.LinearElimination(0.1, R=0.01).start(np.eye(2), low=0.0, high=1.0)
    assert set(vectors.intervals().values()) == {(0.0, 1.0)}


def test_copies_of_one_outcome_are_excluded_by_what_is_assumed():
    said = uli.SuccessiveElimination(0.1).start(2).certificate().assumes[0]
    assert said.startswith("given all earlier decisions and their outcomes, told or not,")
