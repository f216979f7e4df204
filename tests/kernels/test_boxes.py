"""Boxes of plausible laws: their ends, and extremes of P V over them."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

from tests.support.odd_means import check_ends, odd_counts
from uli_fast.kernels.mdp.boxes import Boxes, extreme, lower_end, push, refresh, spread, upper_end

mpmath.mp.dps = 80


def exact_ends(k, n, y):
    """Return the ends of {p : kl(k / n, p) <= y} with many digits, by bisection."""
    x, y = mpmath.mpf(k) / n, mpmath.mpf(y)

    def kl(p):
        left = x * mpmath.log(x / p) if x > 0 else 0
        return left + ((1 - x) * mpmath.log((1 - x) / (1 - p)) if x < 1 else 0)

    def end(inside, outside):
        for _ in range(180):
            middle = (inside + outside) / 2
            if 0 < middle < 1 and kl(middle) <= y:
                inside = middle
            else:
                outside = middle
        return inside

    return end(x, mpmath.mpf(0)) if k else 0, end(x, mpmath.mpf(1)) if k < n else 1


COUNTS = [(0, 1), (1, 1), (1, 2), (3, 17), (16, 17), (1, 10**6), (10**6 - 1, 10**6), (7, 10**12)]
COUNTS += [(10**12 // 3, 10**12), (10**18 // 7, 10**18), (10**18 - 5, 10**18), (0, 10**18)]
COUNTS += [(5, 10**14), (1, 10**16), (50, 10**17), (500, 10**18), (10**16 - 50, 10**16)]


@pytest.mark.parametrize(("k", "n"), COUNTS)
@pytest.mark.parametrize("Lambda", [1e-3, 1.0, 12.0, 60.0, 800.0])
def test_ends_lie_outside_by_a_few_units_in_the_last_place(k, n, Lambda):
    y = (Lambda + 0.5 * math.log(n)) / n
    low, high = exact_ends(k, n, y)
    ours = lower_end(k, n, y), upper_end(k, n, y)
    assert ours[0] <= low and ours[1] >= high
    assert low - ours[0] <= 2.0**-48 * (k / n) and ours[1] - high <= 2.0**-48 * high


def test_ends_lie_outside_for_many_counts():
    rng = np.random.default_rng(0)
    for _ in range(1500):
        check_ends(*odd_counts(rng))


def one_row(S, rng, known=()):
    """Return a box of one row, most of whose entries are possible, around a law."""
    m = int(rng.integers(2, S + 1))
    to = np.sort(rng.choice(S, m, replace=False))
    P = rng.dirichlet(np.full(m, 0.5))
    low, high = P * rng.random(m), P + (1.0 - P) * rng.random(m)
    tight = rng.random(m) < 0.2
    low[tight], high[tight] = P[tight], P[tight]
    return Boxes(
        home=np.array([0]),
        size=np.array([m]),
        to=to[None],
        n=np.array([1]),
        seen=np.zeros((1, m), np.int64),
        at=np.array([1]),
        low=low[None],
        high=high[None],
        rest=np.array([1.0 - low.sum()]),
        ends=np.zeros((2, m)),
    )


def sorted_states(V):
    return np.array(sorted(range(len(V)), key=lambda s: (-V[s], s)))


@pytest.mark.parametrize("seed", range(60))
def test_extremes_are_those_of_a_linear_programme(seed):
    rng = np.random.default_rng(seed)
    S = int(rng.integers(2, 7))
    boxes, V = one_row(S, rng), rng.integers(0, 4, S).astype(float)  # with ties
    order, to = sorted_states(V), boxes.to[0]
    bounds = list(zip(boxes.low[0], boxes.high[0], strict=True))
    for sign in (1, -1):
        found = linprog(
            -sign * V[to], A_eq=np.ones((1, len(to))), b_eq=[1.0], bounds=bounds, method="highs"
        )
        best = -sign * found.fun
        assert extreme(boxes, 0, V, order, sign) == pytest.approx(best, abs=1e-12)
    x = np.zeros(S)
    push(boxes, 0, V, order, 0.5, x)
    p = 2.0 * x[to]
    assert x.sum() == pytest.approx(0.5)
    assert (p >= boxes.low[0] - 1e-15).all() and (p <= boxes.high[0] + 1e-15).all()
    assert 2.0 * x @ V == pytest.approx(extreme(boxes, 0, V, order, 1), abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_spread_is_the_least_over_all_centres(seed):
    rng = np.random.default_rng(seed)
    S = int(rng.integers(2, 7))
    boxes, mid, half = one_row(S, rng), rng.random(S), rng.random(S)
    w, to = (boxes.high - boxes.low)[0], boxes.to[0]
    best = min((w * (abs(mid[to] - c) + half[to])).sum() for c in (*mid, *np.linspace(0, 1, 301)))
    assert spread(boxes, 0, mid, half, sorted_states(mid)) == pytest.approx(best, abs=1e-12)


def test_an_empty_box_is_noticed_and_left_as_it_was():
    rng = np.random.default_rng(1)
    boxes = one_row(5, rng)
    before = [x.copy() for x in (boxes.low, boxes.high, boxes.rest)]
    boxes.n[0], boxes.seen[0, 0] = 10**6, 10**6  # all mass on an entry that the box denies
    assert boxes.high[0, 0] < 0.99
    assert not refresh(boxes, 3.0) and boxes.at[0] == 10**6
    for x, y in zip(before, (boxes.low, boxes.high, boxes.rest), strict=True):
        assert (x == y).all()


def test_boxes_are_nested_and_refreshed_when_counts_have_grown():
    rng = np.random.default_rng(2)
    m, P = 3, np.array([0.2, 0.3, 0.5])
    boxes = one_row(3, np.random.default_rng(12))._replace(
        size=np.array([m]),
        to=np.arange(3)[None],
        n=np.array([0]),
        seen=np.zeros((1, 3), np.int64),
        at=np.array([0]),
        low=np.zeros((1, 3)),
        high=np.ones((1, 3)),
        rest=np.ones(1),
        ends=np.zeros((2, 3)),
    )
    times = []
    for n in range(1, 3000):
        boxes.seen[0, rng.choice(3, p=P)] += 1
        boxes.n[0] = n
        low, high = boxes.low.copy(), boxes.high.copy()
        assert refresh(boxes, 5.0)
        assert (boxes.low >= low).all() and (boxes.high <= high).all()
        if boxes.at[0] == n:
            times.append(n)
        assert boxes.rest[0] == pytest.approx(1.0 - boxes.low.sum())
    assert times[:50] == list(range(1, 51))
    assert all(b >= 1.0199 * a > 0.99 * b for a, b in itertools.pairwise(times[60:]))
    assert (boxes.high - boxes.low).max() < 0.1
