"""Blocks leave their band as often as computed, however long they are."""

import numba
import numpy as np
import pytest
from scipy.stats import binom, chisquare, fisher_exact, hypergeom, kstest, norm

from uli_fast.kernels.arms.event import NEVER, Span, doubtful, table_leaves
from uli_fast.kernels.arms.successive_width import Band, edge, missed
from uli_fast.kernels.rewards import second_stream
from uli_fast.kernels.rewards.above_line import tilt
from uli_fast.kernels.rewards.bridges import Piece, leaves_band, log_ratio, room_in, safeties
from uli_fast.kernels.rewards.second_stream import hypergeometric, normal, uniform


def words(seed):
    return np.array([seed], np.uint64)


@numba.njit
def fill(words, kind, out):
    for i in range(out.size):
        out[i] = uniform(words) if kind == 0 else normal(words)


@numba.njit
def count(words, band, span, piece, draws):
    """Return how often a block leaves its band."""
    found = 0
    for _ in range(draws):
        if doubtful(words, band, span, piece):
            found += leaves_band(words, band, piece, span.limit)
    return found


@numba.njit
def many_halves(words, good, bad, draws, out):
    for i in range(out.size):
        out[i] = hypergeometric(words, good, bad, draws)


def span_of(band, n, k, limit=None):
    ends = edge.py_func(band, n), edge.py_func(band, n + k)
    return Span(n, k, n + k if limit is None else limit, *ends)


@pytest.mark.parametrize(("kind", "law"), [(0, "uniform"), (1, "norm")])
def test_the_second_stream_has_its_law(kind, law):
    out = np.zeros(200_000)
    fill(words(1), kind, out)
    assert kstest(out, law).pvalue > 1e-3
    assert kstest(out[1:] + out[:-1], lambda x: np.interp(x, *summed(law))).pvalue > 1e-4


def summed(law):
    """Return the distribution function of the sum of two."""
    x = np.linspace(-9.0, 9.0, 20_001)
    if law == "norm":
        return x, norm.cdf(x / np.sqrt(2.0))
    return x, np.where(x < 1, np.clip(x, 0, None) ** 2 / 2, 1 - np.clip(2 - x, 0, None) ** 2 / 2)


def test_rare_events_are_drawn_factor_by_factor(monkeypatch):
    monkeypatch.setattr(second_stream, "PART", 0.5)
    monkeypatch.setattr(second_stream, "EXP_PART", np.exp(-0.5))
    monkeypatch.setattr(second_stream, "uniform", np.random.default_rng(1).random)
    monkeypatch.setattr(second_stream, "uniform", lambda words, draw=second_stream.uniform: draw())
    for E in (0.3, 0.5, 2.1):
        seen = sum(second_stream.happens.py_func(None, E) for _ in range(40_000))
        assert_matches(seen, 40_000, np.exp(-E))


def assert_matches(seen, draws, rate):
    low, high = binom.ppf([5e-5, 1 - 5e-5], draws, rate)
    assert low <= seen <= high, f"{seen} of {draws}, {rate * draws:.1f} expected"


@pytest.mark.parametrize(
    ("good", "bad", "draws"),
    [(33, 32, 32), (3, 90, 46), (90, 3, 46), (0, 70, 35), (500, 501, 500), (10**5, 300, 50_150)],
)
def test_halves_have_their_law(good, bad, draws):
    out = np.zeros(200_000, np.int64)
    many_halves(words(good), good, bad, draws, out)
    law = hypergeom(good + bad, good, draws)
    cuts = np.unique(law.ppf(np.linspace(0.002, 0.998, 60)))
    cuts = cuts[cuts < law.ppf(1.0)]
    if cuts.size == 0:
        assert (out == law.ppf(1.0)).all()
        return
    expected = np.diff(np.concatenate([[0.0], law.cdf(cuts), [1.0]]))
    seen = np.histogram(out, np.concatenate([[-1.0], cuts + 0.5, [good + 1.0]]))[0]
    assert chisquare(seen, expected * out.size).pvalue > 1e-4


def test_halves_of_long_blocks_are_nearly_normal():
    good, bad = 10**15, 3 * 10**15
    out = np.zeros(100_000, np.int64)
    many_halves(words(5), good, bad, 2 * 10**15, out)
    spread = np.sqrt(0.25 * good * bad / (good + bad))
    assert kstest((out - good / 2) / spread, "norm").pvalue > 1e-3
    assert chisquare(np.bincount(out % 7, minlength=7)).pvalue > 1e-4


def arrangement_leaves(band, n, total, k, wins, limit):
    """Return the probability that an arrangement misses an interval by count ``limit``."""
    alive = np.zeros(wins + 1)
    alive[0] = 1.0
    for i in range(1, limit - n + 1):
        left, rest = wins - np.arange(wins + 1), k - i + 1
        up = np.clip(left / rest, 0.0, 1.0)
        reached = alive * (1.0 - up)
        reached[1:] += (alive * up)[:-1]
        held = [not missed.py_func(band, n + i, total + s) for s in range(wins + 1)]
        alive = np.where(held, reached, 0.0)
    return 1.0 - alive.sum()


# n, total and k, wins of what follows, count that still matters
ARRANGEMENTS = {
    "short": (Band(0.5, 2, 0.3, 0.1), 100, 50, 60, 30, 160),
    "on both sides": (Band(0.5, 2, 0.3, 0.06), 200, 100, 300, 150, 500),
    "often": (Band(0.5, 2, 0.3, 0.08), 200, 103, 300, 150, 500),
    "level": (Band(0.5, 2, 0.3, 0.1), 200, 100, 300, 150, 500),
    "seldom": (Band(0.5, 2, 0.3, 0.15), 200, 100, 200, 100, 400),
    "rising": (Band(0.5, 2, 0.3, 0.17), 200, 92, 400, 215, 600),
    "near the upper edge": (Band(0.3, 3, 0.3, 0.22), 300, 105, 300, 100, 600),
    "rare rewards": (Band(0.05, 2, 0.3, 0.055), 400, 22, 700, 30, 1100),
    "sure ones": (Band(0.97, 2, 0.3, 0.045), 400, 386, 600, 584, 1000),
    "cut by the horizon": (Band(0.5, 2, 0.3, 0.11), 200, 100, 300, 150, 330),
    "ends outside, beyond the horizon": (Band(0.5, 2, 0.3, 0.2), 200, 100, 300, 190, 330),
    "nothing before the horizon": (Band(0.5, 2, 0.3, 0.05), 200, 100, 300, 150, 200),
}


@pytest.mark.parametrize("case", ARRANGEMENTS)
def test_arrangements_leave_as_often_as_computed(case):
    band, n, total, k, wins, limit = ARRANGEMENTS[case]
    rate, draws = arrangement_leaves(band, n, total, k, wins, limit), 150_000
    piece = Piece(n, float(total), k, float(wins), 0.0)
    seen = count(words(k), band, span_of(band, n, k, limit), piece, draws)
    assert_matches(seen, draws, rate)
    assert rate == 0.0 or seen > 20  # the case says something


def bridge_leaves(band, n, total, k, gain, sigma, limit):
    """Return the probability that a Gaussian bridge misses an interval, by quadrature."""
    x, weight = np.polynomial.legendre.leggauss(240)
    at, mass = np.array([total]), np.array([1.0])
    for i in range(1, limit - n + 1):
        r, reach = k - i + 1.0, edge.py_func(band, n + i)
        to = (n + i) * band.mu + reach * x
        if r == 1.0:  # it ends where it must
            return 1.0 - mass.sum() * (abs(total + gain - (n + k) * band.mu) <= reach)
        centre = at + (total + gain - at) / r
        density = norm.pdf(to[:, None], centre[None, :], sigma * np.sqrt((r - 1.0) / r))
        at, mass = to, reach * weight * (density @ mass)
    return 1.0 - mass.sum()


BRIDGES = {
    "level": (Band(0.0, 2, 0.3, 0.2), 200, 0.0, 150, 0.0, 1.0, 350),
    "seldom": (Band(0.2, 2, 0.3, 0.27), 200, 40.0, 150, 30.0, 1.0, 350),
    "rising": (Band(-1.0, 2, 0.3, 0.125), 300, -310.0, 200, -190.0, 0.4, 500),
    "cut by the horizon": (Band(0.0, 2, 0.3, 0.22), 200, 0.0, 150, 0.0, 1.0, 260),
    "ends outside, beyond the horizon": (Band(0.0, 2, 0.3, 0.35), 200, 0.0, 150, 60.0, 1.0, 260),
}


@pytest.mark.parametrize("case", BRIDGES)
def test_bridges_leave_as_often_as_computed(case):
    band, n, total, k, gain, sigma, limit = BRIDGES[case]
    rate, draws = bridge_leaves(band, n, total, k, gain, sigma, limit), 100_000
    piece = Piece(n, total, k, gain, sigma)
    seen = count(words(k), band, span_of(band, n, k, limit), piece, draws)
    assert_matches(seen, draws, rate)
    assert seen > 20


@pytest.mark.parametrize("n", [10**6, 10**10, 10**15 + 1])
def test_long_blocks_leave_as_often_as_their_limit(n):
    """Arrangements and bridges that are as wide agree; so do blocks of all lengths, scaled."""
    draws, k, log = 20_000, 3 * n, np.log(8 / 0.3) + 2 * np.log(n)
    R = 0.5 * 2.0 / np.sqrt(2.0 * log)  # two standard deviations at n
    band, off = Band(0.5, 2, 0.3, R), int(0.3 * np.sqrt(n))
    seen = []
    for sigma in (0.0, 0.5):
        piece = Piece(n, float(n // 2 + off), k, float(k // 2 + off), sigma)
        seen.append(count(words(n), band, span_of(band, n, k), piece, draws))
    table = [[x, draws - x] for x in seen]
    assert 0.02 * draws < seen[0] < 0.9 * draws
    assert fisher_exact(table).pvalue > 1e-3


def test_no_first_miss_is_likelier_than_the_ceiling_allows():
    """Beyond the chord, too: at every place outside the band of random blocks."""
    rng, places = np.random.default_rng(3), 0
    for _ in range(400):
        mu, k, n = float(rng.uniform(0.05, 0.95)), int(rng.integers(65, 300)), 200
        band = Band(mu, 2, 0.3, float(rng.uniform(0.05, 0.3)))
        total = round(n * mu + rng.uniform(-0.8, 0.8) * edge.py_func(band, n))
        wins = int(np.clip(round(k * mu + rng.normal(0, 0.4 * np.sqrt(k))), 0, k))
        piece = Piece(n, float(total), k, float(wins), 0.0)
        room = room_in.py_func(band, piece, edge.py_func(band, n), edge.py_func(band, n + k))
        less, _ = safeties.py_func(band, piece, room)
        if not 0.0 < less < np.inf:
            continue
        D, _ = tilt(k, wins, room.below, mu - room.rise)
        for i in range(1, k):
            for won in range(max(0, i - (k - wins)), min(i, wins) + 1):
                below = (total + won) / (n + i) < mu
                if below and missed.py_func(band, n + i, total + won):
                    assert log_ratio(k, wins, D, k - i, wins - won) <= -less + 1e-9
                    places += 1
    assert places > 10_000


def test_quiet_blocks_need_no_lot():
    """The bound by which whole blocks are passed over is below the E of each of its arms."""
    rng, checked = np.random.default_rng(4), 0
    for _ in range(20_000):
        m, k = float(rng.uniform(0.01, 0.99)), int(rng.integers(5, 5000))
        wins = int(rng.integers(0, k + 1))
        x = float(rng.uniform(0.0, 1.0)) * m * (k - wins)
        y = x + wins - m * k
        if x > 0.0 and y > 1.0:
            checked += 1
            assert tilt(k, wins, x, m)[1] >= (y - 1.0) * x / (k + 1.0)
    assert checked > 3000
    assert 2.0 * np.exp(-NEVER) < 1e-19


def test_tables_are_looked_up():
    rng, left = np.random.default_rng(5), 0
    for _ in range(400):
        mu, n, k = 0.5, 50, int(rng.integers(1, 400))
        band = Band(mu, 2, 0.3, float(rng.uniform(0.08, 0.3)))
        sums = np.concatenate([[0.0], np.cumsum(rng.random(n + k) < mu)])
        limit = int(rng.integers(n, n + k + 1))
        expected = any(missed.py_func(band, i, sums[i]) for i in range(n + 1, limit + 1))
        assert table_leaves(sums, band, span_of(band, n, k, limit)) == expected
        left += expected
    assert 40 < left < 360


def test_a_block_that_is_settled_reads_no_more_than_it_must():
    """Whether the longest block leaves takes some log k steps: a day of single ones here."""
    band, n = Band(0.5, 2, 0.3, 0.2), 10**15
    piece = Piece(n, n / 2 + 1e7, 3 * n, 1.5 * n + 1e7, 0.0)
    found = [leaves_band(words(seed), band, piece, 4 * n) for seed in range(200)]
    assert len(found) == 200
