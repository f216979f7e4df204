"""Random instances, and rewards drawn exactly as a kernel draws them."""

import numpy as np

import uli_fast as uli
from tests.support.draws import draws


def random_problem(rng, T, kinds=("bernoulli", "gaussian", "beta", "deterministic", "table")):
    """Return a random problem with 2 to 5 arms whose rewards last for T rounds."""
    K = int(rng.integers(2, 6))
    means = rng.uniform(0.0, 1.0, K).round(2)
    kind = kinds[int(rng.integers(len(kinds)))]
    if kind == "bernoulli":
        return uli.BernoulliBandit(means)
    if kind == "gaussian":
        return uli.GaussianBandit(means, sigma=0.5)
    if kind == "beta":
        return uli.BetaBandit(1.0 + means, 2.0 - means)
    if kind == "deterministic":
        return uli.DeterministicBandit(means)
    return random_table(rng, K, T)


def random_table(rng, K, T):
    """Return a table of 0/1 rewards, or of fractions, with well or badly separated arms."""
    means = rng.uniform(0.0, 1.0, K)
    if rng.random() < 0.4:
        means = 0.5 + 0.1 * (means - 0.5)
    draws = rng.random((K, T))
    table = (draws < means[:, None]).astype(float)
    if rng.random() < 0.3:
        table = 0.5 * table + 0.5 * draws
    return uli.TableBandit(table, means=table.mean(axis=1))


def totals(problem, seed, replication=0):
    """Return total(a, n), drawing rewards in the order of play as the rounds engine does."""
    rng = draws(seed, replication)
    sums = [[0.0] for _ in range(problem.n_arms)]
    kind = type(problem).__name__

    def draw(a):
        if kind == "BernoulliBandit":
            return float(rng.random() < problem.means[a])
        if kind == "GaussianBandit":
            return problem.means[a] + problem.sigma * rng.standard_normal()
        return rng.beta(problem.alpha[a], problem.beta[a])

    def total(a, n):
        if kind == "DeterministicBandit":
            return n * problem.means[a]
        if kind == "TableBandit":
            return problem._prefix[a, n]
        while len(sums[a]) <= n:
            sums[a].append(sums[a][-1] + draw(a))
        return sums[a][n]

    return total


def counts_at(arms, K, rounds):
    """Return the counts after each of the rounds from the sequence of arms."""
    running = np.zeros((len(arms) + 1, K), np.int64)
    for t, a in enumerate(arms, start=1):
        running[t] = running[t - 1]
        running[t, a] += 1
    return running[np.asarray(rounds)]


def assert_equals_naive(runs, naive, r=0):
    """Compare every recorded count, last play and elimination."""
    K = runs.last_play.shape[1]
    assert runs.final_plays[r].tolist() == naive["n"]
    assert runs.last_play[r].tolist() == naive["last"]
    assert runs.eliminated_at[r].tolist() == naive["eliminated"]
    assert (runs.plays[r] == counts_at(naive["arms"], K, runs.rounds)).all()


def assert_same_runs(one, two):
    """Compare everything that a path decides."""
    for name in ("rounds", "plays", "final_plays", "last_play", "eliminated_at"):
        assert (getattr(one, name) == getattr(two, name)).all(), name
    assert (one.regret == two.regret).all()
    assert np.array_equal(one.event_held, two.event_held), "event_held"
