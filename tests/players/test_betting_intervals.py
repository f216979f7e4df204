"""Certificates and intervals of live betting: from what is known, outward, at all times."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import uli_fast as uli
from tests.naive import betting_elimination as naive
from tests.support.betting import FAR, FREE


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
                n = int(player.memory.book.mark[0])
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
    n = int(player.memory.book.mark[0])
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


def test_interval_ends_are_rounded_outward():
    from fractions import Fraction

    player = uli.BettingElimination(0.1).start(2, **FAR)
    for _ in range(300):
        d = player.ask()
        player.tell(d.id, 1e12 + 0.5)
    low, width = Fraction(player.low), Fraction(player.high) - Fraction(player.low)
    for a, (lower, upper) in player.intervals().items():
        known = [Fraction(float(x)) for x in player.tally.known[:, a]]
        assert Fraction(lower) <= low + width * known[0]
        assert Fraction(upper) >= low + width * known[1]
