"""The steps of docs/proofs_models.md, checked without the package: exactly, or by another road."""

import math
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

from tests.naive import model_boxes as page
from tests.theory import models
from tests.theory.models import Boxes, interval, kl, lam, random_truth

# ---------------------------------------------------------------- boxes (Lemma 1)


def mixture(n, k):
    """Return the Krichevsky-Trofimov probability of a sequence with k ones, as a fraction."""
    p = Fraction(1)
    for i in range(k):
        p *= Fraction(2 * i + 1, 2)
    for i in range(n - k):
        p *= Fraction(2 * i + 1, 2)
    return p / math.factorial(n)


def test_the_mixture_is_a_probability_of_sequences():
    """Given k ones among n, the next two cases add up: the ratio to any coin is a martingale."""
    for n in range(12):
        for k in range(n + 1):
            assert mixture(n, k) == mixture(n + 1, k) + mixture(n + 1, k + 1)
    assert mixture(0, 0) == 1


def test_the_mixture_is_close_to_the_largest_likelihood():
    """KT >= likelihood / (2 sqrt(n)) for every sequence; equal at n = 1."""
    for n in range(1, 61):
        for k in range(n + 1):
            likelihood = Fraction(k, n) ** k * Fraction(n - k, n) ** (n - k)
            assert mixture(n, k) ** 2 * 4 * n >= likelihood**2
    for n in (100, 10**3, 10**5, 10**7):
        k = np.unique(np.concatenate([np.arange(40), np.geomspace(1, n / 2, 200).astype(int)]))
        log = np.array([log_mixture(n, int(x)) for x in k])
        log -= np.array([log_likelihood(n, int(x)) for x in k])
        assert (log >= -math.log(2 * math.sqrt(n)) - 1e-9 * n**0.5).all()


def log_mixture(n, k):
    half = math.lgamma(0.5)
    found = math.lgamma(k + 0.5) + math.lgamma(n - k + 0.5) - math.lgamma(n + 1) - 2 * half
    return found


def log_likelihood(n, k):
    return sum(x * math.log(x / n) for x in (k, n - k) if x)


def failure_rate(p, d, steps, factor=1.0):
    """Return the probability that n kl(p_hat, p) exceeds log(2 sqrt(n) / d) at some n <= steps."""
    alive, lost = np.array([1.0]), 0.0  # by the number of ones
    for n in range(1, steps + 1):
        alive = np.append(alive * (1 - p), 0.0) + np.append(0.0, alive * p)
        x = np.arange(n + 1) / n
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(x > 0, x * np.log(x / p), 0.0)
            part += np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - p)), 0.0)
        out = n * part > factor * math.log(2 * math.sqrt(n) / d)
        lost += alive[out].sum()
        alive[out] = 0.0
    return lost


@pytest.mark.parametrize("p", [0.5, 0.1, 0.01, 0.7])
def test_the_exact_rate_at_which_a_box_of_two_states_fails(p):
    for d in (0.9, 0.3, 0.05):
        rate = failure_rate(p, d, 2000)
        assert rate <= d
        if d == 0.9 and p != 0.01:
            assert rate > 0.02 * d  # the box is not idle
    assert failure_rate(p, 0.05, 2000, factor=0.2) > 0.05  # a fifth of the logarithm is too little


def test_divergences_are_at_least_what_the_proof_uses():
    grid = np.concatenate([[0.0, 1.0], np.linspace(1e-6, 1 - 1e-6, 150)])
    for x in grid:
        for p in grid:
            value = kl(x, p) + 1e-15
            assert value >= 2 * (p - x) ** 2
            assert value >= (math.sqrt(p) - math.sqrt(x)) ** 2
            if max(p, x) > 0:
                assert value >= (p - x) ** 2 / (2 * max(p, x))


@pytest.mark.parametrize("S", [2, 3, 5, 8, 30])
def test_widths_of_a_row(S):
    """Step (a): half the widths add up to at most w(S) sqrt(y), capped at 1; two models by TV."""
    rng = np.random.default_rng(S)
    w = min((math.sqrt(6) + math.sqrt(2)) / 2 * math.sqrt(S), S / math.sqrt(2))
    most = 0.0
    for _ in range(60):
        x = rng.dirichlet(np.full(S, 10 ** rng.uniform(-1.5, 1)))
        y = 10 ** rng.uniform(-5, 0.5)
        ends = np.array([interval(v, y) for v in x])
        width = ends[:, 1] - ends[:, 0]
        assert (width <= np.minimum(2 * np.sqrt(2 * x * y) + 2 * y, math.sqrt(2 * y)) + 1e-12).all()
        tau = min(1.0, width.sum() / 2)
        assert tau <= w * math.sqrt(y) + 1e-12
        most = max(most, tau / (w * math.sqrt(y)))
        V = rng.random(S)
        one, other = (models.extreme(ends[:, 0], ends[:, 1], s * V) for s in (1, -1))
        assert abs(one - other).sum() / 2 <= tau + 1e-12
        root = 2 * math.sqrt(y)
        assert (abs(np.sqrt(ends[:, 1]) - np.sqrt(ends[:, 0])) <= root + 1e-12).all()
        for alpha in (1.0, 0.1, 0.01):  # what the second variant makes of it
            assert (one <= (1 + alpha) * other + 4 * (1 + 1 / alpha) * y + 1e-12).all()
    assert most > 0.4  # nothing much is given away


def test_the_constant_of_a_row():
    v = 1 / ((math.sqrt(6) + math.sqrt(2)) / 2)
    assert v * (math.sqrt(2) + v) == pytest.approx(1.0, abs=1e-15)
    for x in np.geomspace(1e-6, 10, 2000):
        assert min(1, math.sqrt(2) * x + x * x) <= x / v + 1e-15


# ---------------------------------------------------------------- one look (Lemma 2, Theorem 1)


def courses(seed, rewards="continuous", looks=5, sizes=(3, 2, 3)):
    """Yield the looks of a run in which any rows are visited, while the boxes hold."""
    rng = np.random.default_rng(seed)
    truth = random_truth(rng, *sizes, rewards, 10 ** rng.uniform(-1, 0.5))
    boxes, left = Boxes(truth, 0.1), truth.left
    for _ in range(looks):
        found = models.look(boxes.l, boxes.u, truth.r, left)
        left = found.left
        yield rng, truth, boxes, found
        for h, s, a in np.argwhere(truth.left[:-1]):
            n = int(10 ** rng.uniform(-1, 3))
            boxes.counts[h, s, a] += rng.multinomial(n, truth.P[h, s, a])
        boxes.renew()
        if not boxes.hold:
            return


def random_model(rng, boxes):
    """Return a plausible model: a mixture of corners of each box."""
    P = np.zeros_like(boxes.l)
    for row in np.ndindex(P.shape[:3]):
        ends = boxes.l[row], boxes.u[row]
        share = rng.random() ** 2
        corner = [models.extreme(*ends, rng.standard_normal(len(P[row]))) for _ in range(2)]
        P[row] = share * corner[0] + (1 - share) * corner[1]
    return P


def random_policy(rng, left):
    """Return a policy of actions left, deterministic every other time."""
    weights = np.where(left, rng.random(left.shape) + 1e-3, 0.0)
    if rng.random() < 0.5:
        weights = np.where(weights == weights.max(axis=-1, keepdims=True), weights, 0.0)
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300)


CASES = [(seed, kind) for seed in range(12) for kind in ("continuous", "coins")]


@pytest.mark.parametrize(("seed", "rewards"), CASES)
def test_optimal_actions_stay_and_values_are_enclosed(seed, rewards):
    for _, truth, _, found in courses(seed, rewards):
        V = np.zeros(3)
        for h in range(3, -1, -1):
            Q = truth.r[h] + (truth.P[h] @ V if h < 3 else 0.0)
            Q = np.where(truth.left[h], Q, -np.inf)
            used = truth.left[h].any(axis=-1)
            V = np.where(used, Q.max(axis=-1), 0.0)
            assert (found.Vlow[h] - 1e-12 <= V)[used].all()
            assert (found.Vmax[h] + 1e-12 >= V)[used].all()
            best = (Q >= V[:, None] - 1e-13) & truth.left[h]
            assert found.left[h][best].all()


@pytest.mark.parametrize(("seed", "rewards"), CASES)
def test_values_of_two_plausible_models_differ_by_at_most_what_is_open(seed, rewards):
    """Lemma 2 (ii), for policies of actions left, stochastic or not."""
    for rng, truth, boxes, found in courses(seed, rewards):
        for _ in range(30):
            policy = random_policy(rng, found.left)
            one, other = random_model(rng, boxes), random_model(rng, boxes)
            here = models.occupancy(policy, one)
            difference = (here * truth.r).sum() - truth._replace(P=other).value(policy)
            assert abs(difference) <= (here * found.b).sum() + 1e-12
            V = truth._replace(P=other).values(policy)
            assert V[0, 0] == pytest.approx(truth._replace(P=other).value(policy))
            assert (found.Vmin - 1e-12 <= V).all() and (V <= found.Vmax + 1e-12).all()


@pytest.mark.parametrize(("seed", "rewards"), CASES)
def test_everything_is_monotone(seed, rewards):
    """Lemma 2 (iii) and its consequences: U, b, W and W' never rise, L never falls."""
    before = None
    for _, truth, boxes, found in courses(seed, rewards):
        args = boxes.l, boxes.u, found.left
        W, _ = models.programme(found.b, truth.r, *args, min(found.L, found.U))
        cut, _, _ = models.optimistic(found.b, *args, cut=found.wide)
        loose, _, _ = models.optimistic(found.b, *args, cut=models.stages_left(boxes.l))
        C2, _, _ = models.optimistic(found.g, *args, cut=found.lag)
        whole, _, _ = models.optimistic(found.g, *args)
        if before is not None:
            old, old_W, old_cut, old_loose = before
            assert (found.left <= old.left).all()
            assert (found.b <= old.b + 1e-12)[found.left].all()
            assert found.U <= old.U + 1e-12 and found.L >= old.L - 1e-12
            assert (found.Vlow >= old.Vlow - 1e-12).all()
            assert (found.Vmin >= old.Vmin - 1e-12).all()
            assert W <= old_W + 1e-7
            assert cut <= old_cut + 1e-12 and loose <= old_loose + 1e-12
            assert (found.wide <= old.wide + 1e-12)[found.left].all()
        # Theorem 1; from any stage and state on, what is open covers what is unknown, cut or not.
        for each in (None, models.stages_left(boxes.l), found.wide):
            open_, _, _ = models.inductions(found.b, *args, cut=each)
            assert (found.Vmax - found.Vlow <= open_ + 1e-9).all()
            for h, s, a in np.argwhere(found.left[:-1]):  # nor is it lost on the way
                onward = models.most(boxes.l[h, s, a], boxes.u[h, s, a], open_[h + 1])
                assert onward <= open_[h, s] + 1e-12
            # Whatever is left is worse by one width for each stage to come, and by one more.
            each_stage = np.repeat(open_[:-1, :, None], found.left.shape[2], axis=2)
            ahead, _, _ = models.inductions(each_stage, *args)
            assert (found.Vmax - found.Vmin <= open_ + ahead + 1e-9)[1:].all()
            assert found.Vmax[0, 0] - found.Vmin[0, 0] <= ahead[0, 0] + 1e-9
            assert ahead[0, 0] <= 3 * open_[0, 0] + 1e-9
        assert found.U - found.L <= W + 1e-7
        assert C2 <= whole + 1e-12 and cut <= loose + 1e-12
        assert whole <= 2 * (3 - 1) * cut + 1e-9 and C2 <= 3 * cut + 1e-9
        before = found, W, cut, loose


@pytest.mark.parametrize(("seed", "rewards"), CASES)
def test_certificates_hold(seed, rewards):
    """Theorem 1: gaps of active policies, whatever the boxes that hold."""
    for rng, truth, boxes, found in courses(seed, rewards):
        args = boxes.l, boxes.u, found.left
        best = truth.best()
        C2, _, _ = models.optimistic(found.g, *args, cut=found.lag)
        for _ in range(10):
            assert best - truth.value(random_policy(rng, found.left)) <= C2 + 1e-12
        W, _ = models.programme(found.b, truth.r, *args, found.L)
        for _ in range(3):  # other occupancies worth L: the best for a random direction
            direction = rng.random(found.b.shape)
            _, x = models.programme(direction, truth.r, *args, found.L)
            policy = models.mixed(x, found.left / np.maximum(found.left.sum(-1)[..., None], 1))
            gap = best - truth.value(policy)
            assert gap <= found.U - found.L + W + 1e-7
            assert gap <= 2 * W + 1e-7


@pytest.mark.parametrize(("seed", "rewards"), CASES)
def test_inductions_solve_the_programme(seed, rewards):
    """One optimistic induction is the programme; with the value constraint its dual is."""
    for rng, truth, boxes, found in courses(seed, rewards, looks=3):
        args = boxes.l, boxes.u, found.left
        direction = rng.random(found.b.shape)
        value, _ = models.programme(direction, truth.r, *args, None)
        assert models.optimistic(direction, *args)[0] == pytest.approx(value, abs=1e-6)
        for worth in (found.L, found.U):  # the most that can be asked for, too
            value, _ = models.programme(found.b, truth.r, *args, worth)
            assert models.dual(found.b, truth.r, *args, worth) == pytest.approx(value, abs=1e-6)


# ---------------------------------------------------------------- the rate (Theorem 2)


@pytest.mark.parametrize(("seed", "rewards"), CASES)
def test_what_is_open_is_paid_for_by_true_visits(seed, rewards):
    """Steps (b), cut and not, and the second variant with several slacks."""
    H = 3
    for _, truth, boxes, found in courses(seed, rewards):
        args = boxes.l, boxes.u, found.left
        tau = np.minimum(1.0, (boxes.u - boxes.l).sum(axis=-1) / 2)
        n = np.maximum(boxes.boxed, 1)
        terms = np.array([[[lam(x, boxes.entries, 0.1) for x in row] for row in a] for a in n])
        y = np.where(boxes.boxed > 0, terms / n, np.inf)
        for h in range(H):
            assert (found.b[h] <= (H - h) * tau[h] + 1e-12).all()
        for cut in (None, models.stages_left(boxes.l), found.wide):
            W, policy, _ = models.optimistic(found.b, *args, cut=cut)
            visits = models.occupancy(policy, truth.P)[:H]
            later = [H - h - 1 if cut is not None else (H - h - 1) * (H - h) / 2 for h in range(H)]
            paid = [(visits[h] * tau[h]).sum() for h in range(H)]
            total = sum((H - h + later[h]) * paid[h] for h in range(H))
            assert W <= total + 1e-12
            for alpha in (1.0, 1 / H, 0.05):
                led = np.minimum(1.0, 4 * (1 + 1 / alpha) * 3 * y)
                total = sum(
                    (1 + alpha) ** h * ((H - h) * paid[h] + later[h] * (visits[h] * led[h]).sum())
                    for h in range(H)
                )
                assert W <= total + 1e-12


def test_the_constants_of_the_stages():
    for H in range(1, 40):
        whole = [(H - h) * (H - h + 1) // 2 for h in range(H)]
        assert whole[0] == H * (H + 1) // 2
        assert sum(whole[1:]) == (H - 1) * H * (H + 1) // 6
        cut = [(H - h) + (H - h - 1) for h in range(H)]
        assert cut[0] == 2 * H - 1 and sum(cut[1:]) == (H - 1) ** 2
        assert sum(H - h for h in range(1, H)) == H * (H - 1) // 2
        later = [(H - h - 1) * (H - h) // 2 for h in range(1, H)]
        assert sum(later) == H * (H - 1) * (H - 2) // 6


@pytest.mark.parametrize("theta", [1.0, 0.25, 0.0625])
def test_visits_stay_behind_their_expectation_as_rarely_as_claimed(theta):
    """Step (c): the factor of an episode has mean at most 1; the exact rate for fixed chances."""
    for w in np.linspace(0, 1, 101):
        mean = w * math.exp(-theta) + 1 - w
        assert mean * math.exp(-math.expm1(-theta) * w) <= 1 + 1e-15
    kappa = -math.expm1(-theta) / theta
    for w, d in ((0.5, 0.3), (0.05, 0.3), (0.9, 0.05)):
        alive, lost = np.array([1.0]), 0.0
        for t in range(1, 1500):
            alive = np.append(alive * (1 - w), 0.0) + np.append(0.0, alive * w)
            out = np.arange(t + 1) < kappa * w * t - math.log(1 / d) / theta
            lost += alive[out].sum()
            alive[out] = 0.0
        assert lost <= d


def test_pooled_visits_break_the_step_if_an_episode_counts_several():
    """Why (c) is applied stage by stage: with visits that come together the factor exceeds 1."""
    visits, w = 5, 0.2  # all five stages or none
    mean = w * math.exp(-visits) + 1 - w
    assert mean * math.exp((1 - math.exp(-1)) * visits * w) > 1.05


def test_blocks_cost_what_the_integral_says():
    """Step (d), for any chances and any block lengths that the rule allows."""
    rng = np.random.default_rng(0)
    kappa, n0, eta, behind = 1 - math.exp(-1), 16, 0.1, 5.0
    ell = behind + kappa * n0
    for c in (0.5, 3.0, 20.0):
        for _ in range(100):
            omega = total = 0.0
            for _ in range(300):
                n = max(0.0, kappa * omega - behind)  # as few visits as (c) allows
                size = rng.random() ** 2 * (eta * n + n0)
                total += size * min(1.0, c / math.sqrt(n) if n > 0 else 1.0)
                omega += size
            spent = ell / kappa + 2 * c * math.sqrt((1 + eta * kappa) * omega / kappa)
            assert total <= spent


def test_integrals_are_below_their_closed_forms():
    for kappa, ell in ((0.632, 9.0), (0.97, 120.0)):
        for c in (0.3, 2.0, 40.0):
            for end in (1.0, 30.0, 1e3, 1e6):
                first = ell / kappa
                kinks = [first + k / kappa for k in (0.0, c, c * c, *10.0 ** np.arange(-1, 6))]
                pieces = sorted({0.0, *(min(end, x) for x in kinks), end})

                def integrate(f, pieces=pieces):
                    ends = pairwise(pieces)
                    return sum(quad(f, a, b, limit=200)[0] for a, b in ends if b > a)

                def root(x, c=c, k=kappa, e=ell):
                    return min(1.0, c / math.sqrt(k * x - e)) if k * x > e else 1.0

                def whole(x, c=c, k=kappa, e=ell):
                    return min(1.0, c / (k * x - e)) if k * x > e else 1.0

                total = integrate(root)
                assert total <= ell / kappa + 2 * c * math.sqrt(end / kappa) + 1e-6
                U = kappa * end
                inner = U if U <= c else c * (1 + math.log(U / c))
                assert integrate(whole) <= ell / kappa + inner / kappa + 1e-6 * end


def test_rows_of_a_stage_share_its_episodes():
    """Step (e): Cauchy-Schwarz, and Jensen for the concave sum of the second variant."""
    rng = np.random.default_rng(1)

    def inner(U, z):
        return np.where(U <= z, U, z * (1 + np.log(np.maximum(U, 1e-300) / z)))

    for _ in range(500):
        rows = int(rng.integers(1, 30))
        share = rng.dirichlet(np.full(rows, 10 ** rng.uniform(-2, 1)))
        t, z = 10 ** rng.uniform(0, 8), 10 ** rng.uniform(-1, 4)
        assert np.sqrt(share * t).sum() <= math.sqrt(rows * t) * (1 + 1e-12)
        assert inner(share * t, z).sum() <= rows * inner(t / rows, z) * (1 + 1e-12)


# ---------------------------------------------------------------- runs


def run(seed, play, sizes, T, delta=0.1, eta=0.1, n0=16, truth=None, pooled=False):
    """Play until T, and yield (episode, W, gap of what is played, whether boxes hold) by look."""
    rng = np.random.default_rng(seed)
    truth = random_truth(rng, *sizes) if truth is None else truth
    boxes, left, t, best = Boxes(truth, delta, pooled), truth.left, 0, truth.best()
    while t < T:
        boxes.renew()
        found = models.look(boxes.l, boxes.u, truth.r, left)
        left = found.left
        args = boxes.l, boxes.u, left
        if play == "deterministic":
            W, policy, _ = models.optimistic(found.b, *args, cut=found.wide)
        else:
            _, likely, _ = models.optimistic(truth.r, *args)
            W, x = models.programme(found.b, truth.r, *args, found.L - 1e-9)
            policy = models.mixed(x, likely)
        reach = models.visits_at_most(policy, boxes.l, boxes.u)[:-1, :, None] * policy[:-1]
        n = boxes.seen.sum(axis=-1)
        with np.errstate(divide="ignore"):
            K = int(min(T - t, max(1, math.floor(((eta * n + n0) / reach).min()))))
        yield t + 1, t + K, W, best - truth.value(policy), boxes.hold
        boxes.draw(rng, policy, K)
        t += K


def undecided(S, A, H):
    """Return an MDP in which all actions are alike: nothing is ever dropped."""
    truth = random_truth(np.random.default_rng(0), S, A, H)
    r = np.zeros_like(truth.r)
    r[1:, 0] = 1.0
    return truth._replace(P=np.full_like(truth.P, 1 / S), r=r)


@pytest.mark.parametrize("play", ["deterministic", "stochastic"])
@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 2), (2, 2, 3)])
@pytest.mark.parametrize("kind", ["random", "undecided", "pooled"])
def test_runs_stay_below_the_theorem(play, sizes, kind):
    """t W(t) and gaps, at every look of runs in which the boxes hold (all of these)."""
    S, A, H = sizes
    truth, pooled = None if kind == "random" else undecided(*sizes), kind == "pooled"
    entries = Boxes(undecided(*sizes), 0.1, pooled).entries
    counts = entries, undecided(*sizes).rows, S * A, S, S
    times = 2 * (H - 1) if play == "deterministic" else 2
    closest = 0.0
    for seed in range(2):
        for first, last, W, gap, hold in run(seed, play, sizes, 10**6, truth=truth, pooled=pooled):
            assert hold
            assert gap <= times * W + 1e-7
            for t in (first, last):
                F = page.gap_bound(t, play, 0.1, H, *counts, 0.1, 16, pooled)
                assert max(gap, min(H, times * W)) <= F
                closest = max(closest, times * W / F if F < H else 0.0)
    assert (0.01 if kind == "random" else 0.1) < closest < 1.0


def test_looks_do_not_explode_with_the_stages():
    """All actions lead to state 0, which nobody knows.

    A bound on visits that is handed forward, state by state, multiplies by what it does not know
    at every stage: 34, 87 and more looks. The most plausible visits do not.
    """
    found = {}
    for H in (3, 5, 7):
        P = np.zeros((H, 4, 2, 4))
        P[..., 0] = 1.0
        truth = random_truth(np.random.default_rng(5), 4, 2, H)._replace(P=P)
        found[H] = sum(1 for _ in run(1, "deterministic", None, 3000, truth=truth))
    assert found[7] < 1.6 * found[3] < 80


@pytest.mark.parametrize("seed", range(8))
def test_plausible_visits_are_paid_for_by_true_ones(seed):
    """Lemma 3: the bound on visits in a block, with the slack 1 / H."""
    H, S = 3, 3
    for rng, truth, boxes, found in courses(seed):
        policy = random_policy(rng, found.left)
        most = models.visits_at_most(policy, boxes.l, boxes.u)
        true = models.occupancy(policy, truth.P)
        led = np.ones(boxes.boxed.shape)
        for row in np.argwhere(boxes.boxed > 0):
            n = boxes.boxed[tuple(row)]
            led[tuple(row)] = min(1.0, 4 * (1 + H) * S * lam(n, boxes.entries, 0.1) / n)
        for h in range(H + 1):
            before = sum((true[j] * led[j]).sum() for j in range(h))
            assert (true[h].sum(axis=-1) <= most[h] + 1e-12).all()
            assert (most[h] <= (1 + 1 / H) ** h * (true[h].sum(axis=-1) + before) + 1e-12).all()


def test_the_page_names_tests_that_exist():
    root = Path(__file__).parent.parent.parent
    files = {"T": __file__, "G": root / "tests/guarantees/test_model_boxes.py"}
    files |= {"K": root / "tests/problems/test_known_structure.py"}
    text = {key: Path(file).read_text("utf-8") for key, file in files.items()}
    named = re.findall(
        r"([TGK])::(test_\w+)", (root / "docs/proofs_models.md").read_text(encoding="utf-8")
    )
    assert len(set(named)) > 25
    for key, name in named:
        assert f"def {name}(" in text[key]
