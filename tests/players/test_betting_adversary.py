"""Live betting against somebody who picks what comes, when, and what not."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import uli_fast as uli
from tests.naive.betting_live import Live
from tests.support.betting import FREE, restored
from uli_fast.errors import NoGuaranteeError


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
            assert player.memory.gaps[1] == pytest.approx(live.gap, rel=1e-9)
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
