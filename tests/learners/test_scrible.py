"""SCRiBLe as a learner and as a base; its kernel is tested in tests/kernels/test_scrible.py."""

import math

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import scrible as naive
from tests.support.coupling import assert_same_runs, counts_at
from tests.support.draws import draws

SQUARE = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) / 2
SMALL = "ignore::uli_fast.errors.GuaranteeWarning"


def problem_of(arms, theta, noise="bernoulli"):
    return uli.LinearBandit(theta, arms, sigma=0.2, noise=noise)


@pytest.mark.parametrize("noise", ["bernoulli", "uniform"])
def test_simulated_rounds_equal_naive_on_the_same_draws(noise):
    T, delta, theta = 300, 0.1, np.array([0.8, 0.3])
    problem = problem_of(SQUARE, theta, noise)
    runs = uli.simulate(uli.Scrible(delta), problem, T, 3, seed=2)
    inner = SQUARE @ theta
    half = 0.2 * math.sqrt(3)
    for r in range(3):
        rng = draws(2, r)

        def loss(t, a, rng=rng):
            if noise == "bernoulli":
                return 0.5 - (rng.random() < (1 + inner[a]) / 2)
            x = inner[a] + half * (2 * rng.random() - 1)
            return -x / (2 * (1 + half))

        stream = Stream(rng, T)
        played = naive.play(SQUARE, loss, stream, stream, delta, 0.5)["arm"]
        assert (runs.plays[r] == counts_at(played, 4, runs.rounds)).all()


class Stream:
    """Uniforms that are drawn when they are looked at."""

    def __init__(self, rng, size):
        self.rng, self.size = rng, size

    def __len__(self):
        return self.size

    def __getitem__(self, t):
        return self.rng.random()


def test_the_share_of_the_best_arm_grows():
    runs = uli.simulate(
        uli.Scrible(),
        problem_of(SQUARE, [0.9, 0.7]),
        10**5,
        4,
        seed=1,
        rounds=range(10**4, 10**5 + 1, 10**4),
    )
    share = np.diff(runs.plays[:, :, 0], axis=1) / 10**4
    assert (share[:, -1] > 0.85).all()
    assert (share[:, -1] > share[:, 0]).all()


@pytest.mark.filterwarnings(SMALL)
def test_as_a_base_it_eliminates_and_promises_nothing():
    learner = uli.MetaElimination(uli.Scrible(constant=0.02), 0.1)
    problem = problem_of(SQUARE, [0.9, 0.7])
    with pytest.raises(uli.errors.NoGuaranteeError, match="experimental"):
        learner.guarantee(problem)
    with pytest.raises(uli.errors.NoGuaranteeError, match="experimental"):
        uli.MetaElimination(uli.Scrible(constant=1e6)).guarantee(problem)
    runs = uli.simulate(learner, problem, 10**6, 3, seed=3)
    assert (runs.eliminated_at[:, 0] == 0).all()
    assert (runs.eliminated_at[:, 3] > 0).all()
    assert_same_runs(runs, uli.simulate(learner, problem, 10**6, 3, seed=3, n_jobs=2))


def test_it_is_for_few_dimensions():
    rng = np.random.default_rng(1)
    five = rng.standard_normal((8, 5)) / 5
    with pytest.raises(uli.errors.ArgumentError, match=r"problem.*4 dimensions"):
        uli.simulate(uli.Scrible(), problem_of(five, np.full(5, 0.1)), 1000)
    with pytest.raises(uli.errors.ArgumentError, match=r"arms.*4 dimensions"):
        uli.Scrible().start(five, horizon=1000)
    with pytest.raises(uli.errors.ArgumentError, match="problem"):
        uli.simulate(uli.MetaElimination(uli.Scrible()), uli.BernoulliBandit([0.1, 0.2]), 1000)
    # Five coordinates, but the arms lie in a plane.
    flat = SQUARE @ rng.standard_normal((2, 5)) / 5
    uli.simulate(uli.Scrible(), problem_of(flat, np.full(5, 0.1)), 1000, seed=1)


@pytest.mark.filterwarnings(SMALL)
def test_equal_arms_cost_nothing():
    problem = problem_of(np.full((3, 2), 0.5), [0.1, 0.1])
    runs = uli.simulate(uli.MetaElimination(uli.Scrible()), problem, 10**12, seed=1)
    assert runs.final_plays.sum() == 10**12
    assert (uli.simulate(uli.Scrible(), problem, 10**12, seed=1).regret == 0.0).all()
