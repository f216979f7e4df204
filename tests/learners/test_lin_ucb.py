"""LinUCB against the naive reference."""

import numpy as np
import pytest

import uli_fast as uli
from tests.learners.test_linear_elimination import drawer, random_arms
from tests.naive import lin_ucb as naive
from tests.support.coupling import assert_equals_naive


@pytest.mark.parametrize("instance", range(12))
def test_rounds_equal_naive_on_the_same_draws(instance):
    rng = np.random.default_rng(instance)
    arms = random_arms(rng, int(rng.integers(1, 9)), int(rng.integers(1, 5)))
    theta = rng.standard_normal(arms.shape[1])
    theta /= np.linalg.norm(theta)
    noise = ("gaussian", "bernoulli", "uniform")[instance % 3]
    problem = uli.LinearBandit(theta, arms, sigma=0.3, noise=noise)
    T = 2500
    runs = uli.simulate(uli.LinUCB(0.1, R=1.0), problem, T, seed=instance)
    assert_equals_naive(runs, naive.play(drawer(problem, instance), arms, T, 0.1))


def test_it_promises_nothing():
    with pytest.raises(uli.errors.NoGuaranteeError, match="for ever"):
        uli.LinUCB(R=1.0).guarantee((3, 2))
    with pytest.raises(uli.errors.ArgumentError, match="problem"):
        uli.simulate(uli.LinUCB(R=1.0), uli.BernoulliBandit([0.5, 0.4]), 100)


def test_it_is_compared_with_elimination():
    arms = random_arms(np.random.default_rng(1), 10, 3)
    problem = uli.LinearBandit([0.9, 0.0, 0.1], arms, sigma=0.5)
    result = uli.compare(
        [uli.LinearElimination(R=1.0), uli.LinUCB(R=1.0)], problem, 20_000, 3, seed=1
    )
    assert np.isnan(result["LinUCB"].worst_ratio).all()
    assert result["LinearElimination"].holds.all()
    result.table()
