"""Means next to 0 and 1: what a path depends on, and ends of intervals.

``python -m tests.support.odd_means 20000`` is the campaign; tests take small slices of it.
"""

import sys
import warnings

import mpmath
import numpy as np

import uli_fast as uli
from tests.support.examples import EXAMPLES
from uli_fast.kernels.mdp.boxes import lower_end, upper_end

ON_ARMS = [x for x in EXAMPLES if x.kind == "arms"]
PLAIN = [x for x in ON_ARMS if x.row.plain]
LAWS = ("bernoulli", "deterministic", "beta", "table", "fractions")


def odd_means(rng):
    """Return 1 to 4 means, most of them closer than 1e-3 to 0 or to 1, some of them equal."""
    K = int(rng.integers(1, 5))
    least = float(rng.choice([1.0, 3.0, 3.0, 8.0]))
    near = 10.0 ** -rng.uniform(least, 16.0 if rng.random() < 0.5 else least + 2.0, K)
    means = np.where(rng.random(K) < rng.choice([0.1, 0.9, 1.0]), 1.0 - near, near)
    odd = rng.random(K) < 0.2
    means[odd] = rng.choice([0.0, 0.5, 1e-16, 1.0 - 2.0**-53, 1.0], odd.sum())
    if rng.random() < 0.3:
        means[-1] = means[0]
    return means


def odd_problem(rng, T):
    """Return a problem with odd means whose rewards last for T rounds."""
    means = odd_means(rng)
    K, law = means.size, LAWS[int(rng.integers(len(LAWS)))]
    if law == "bernoulli":
        return uli.BernoulliBandit(means)
    if law == "deterministic":
        return uli.DeterministicBandit(means)
    if law == "beta":
        size = 10.0 ** rng.uniform(-1.0, 4.0)
        return uli.BetaBandit(np.maximum(size * means, 1e-3), np.maximum(size * (1 - means), 1e-3))
    rewards = (rng.random((K, T)) < means[:, None]).astype(float)
    if law == "fractions":
        room = np.minimum(means, 1.0 - means)[:, None]
        rewards = means[:, None] + room * rng.uniform(-1.0, 1.0, (K, T))
    return uli.TableBandit(rewards, means=rewards.mean(axis=1))


def check_path(example, rng, longest):
    """Hold that a path depends neither on the recorded rounds nor on the horizon; count the ways.

    (Tuned learners know their horizon.)
    """
    T = int(100 * (longest / 100) ** rng.random())  # tuned learners need some rounds
    problem, seed = odd_problem(rng, 2 * T), int(rng.integers(2**31))
    learner = example.on(problem)
    some = np.unique(np.append(rng.integers(1, T + 1, int(rng.integers(1, 30))), T))
    for engine in learner.engines_for(problem):

        def run(horizon, rounds, engine=engine):
            return uli.simulate(
                learner, problem, horizon, 1, seed, engine=engine, rounds=rounds, progress=False
            )

        every, few, last = (run(T, rounds) for rounds in (range(1, T + 1), some, [T]))
        about = f"{learner} on {problem}, {engine}, {T} rounds, seed {seed}"
        for other in (few, last):
            for name in ("final_plays", "last_play", "eliminated_at", "worst_ratio", "event_held"):
                one, two = getattr(every, name), getattr(other, name)
                assert one is two is None or np.array_equal(one, two, equal_nan=True), (name, about)
        assert (few.plays == every.plays[:, some - 1]).all(), about
        if not example.row.tuned:
            longer = run(2 * T, some)
            assert (longer.plays == few.plays).all(), f"a longer horizon: {about}"
    return len(learner.engines_for(problem))


def odd_counts(rng):
    """Return successes, plays and a level, as intervals of odd means have them."""
    n = int(10 ** rng.uniform(0, 18))
    few = min(n, int(10 ** rng.uniform(0, 4)))
    k = (0, n, few, n - few, int(n * rng.random()), int(n * 10 ** -rng.uniform(0, 18)))
    return k[int(rng.integers(6))], n, 10 ** rng.uniform(-3, 3) / n


def check_ends(k, n, y):
    """Hold that the ends of {p : kl(k / n, p) <= y} lie outside, by 2^-48 of their size at most.

    mpmath has digits for p within 1e-300 of 0 and 1.
    """
    with mpmath.workdps(60):
        m, w, y = mpmath.mpf(k) / n, mpmath.mpf(n - k) / n, mpmath.mpf(y)

        def kl(p):
            left = m * mpmath.log(m / p) if k else 0
            return left + (w * mpmath.log(w / (1 - p)) if k < n else 0)

        low, high = (mpmath.mpf(end(k, n, float(y))) for end in (lower_end, upper_end))
        room, about = mpmath.mpf(2) ** -48, f"{k} of {n}, y = {mpmath.nstr(y, 17)}"
        assert 0 <= low <= m and (low == 0 or kl(low) >= y), f"lower end, {about}"
        assert m <= high <= 1 and (high == 1 or kl(high) >= y), f"upper end, {about}"
        inner = low + room * m
        assert inner >= m or kl(inner) <= y, f"lower end far out, {about}"
        inner = high - room * high
        assert inner <= m or kl(inner) <= y, f"upper end far out, {about}"


def main(paths, ends):
    """Run the campaign; any exception ends it."""
    warnings.simplefilter("ignore")
    rng, ways = np.random.default_rng(0), 0
    for i in range(paths):
        ways += check_path(PLAIN[i % len(PLAIN)], rng, 10 ** (5 if i % 10 == 0 else 3.5))
    for _ in range(ends):
        check_ends(*odd_counts(rng))
    print(
        f"{paths} instances of {len(PLAIN)} learners, {ways} with their engines: the same path "
        f"whatever is recorded and however long; {2 * ends} ends of intervals outside, none far"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
