"""Linear bandits: means and ranges, the noise as drawn, and K-armed learners on them."""

import math
from dataclasses import replace

import numba
import numpy as np
import pytest

import uli_fast as uli
from uli_fast._support.streams import stream
from uli_fast.errors import ArgumentError, EngineError
from uli_fast.kernels.rewards.laws import draw_reward, play_one, total_after
from uli_fast.problems.linear import LinearBandit

THETA = [0.5, -0.25]
ARMS = [[1.0, 0.0], [0.0, 1.0], [0.8, -0.4], [0.8, -0.4]]
INNER = [0.5, -0.25, 0.5, 0.5]


@numba.njit
def rewards(law, a, k):
    out = np.empty(k)
    for n in range(k):
        out[n] = draw_reward(law, a, n)
    return out


@numba.njit
def one_by_one(law, a, k, total):
    for n in range(k):
        total = play_one(law, a, n, total)
    return total


@numba.njit
def at_once(law, a, n, k, total):
    return total_after(law, a, n, k, total)


def test_gaussian_means_are_linear_and_unbounded():
    problem = LinearBandit(THETA, ARMS, sigma=2.0)
    assert problem.means == pytest.approx(INNER)
    assert problem.gaps == pytest.approx([0.0, 0.75, 0.0, 0.0])
    assert (problem.low, problem.high, problem.intercept) == (None, None, 0.0)
    assert (problem.scale, problem.subgaussian, problem.has_block_law) == (1.0, 2.0, True)
    assert problem.largest_gap == problem.gaps.max()


def test_bernoulli_halves_the_gaps():
    problem = LinearBandit(THETA, ARMS, noise="bernoulli")
    assert problem.means == pytest.approx([0.75, 0.375, 0.75, 0.75])
    assert problem.gaps.max() == pytest.approx(0.375)
    assert (problem.low, problem.high, problem.intercept) == (0.0, 1.0, 0.5)
    assert (problem.scale, problem.subgaussian, problem.has_block_law) == (1.0, 0.5, True)


@pytest.mark.parametrize("stretch", [1.0, 6.0])
def test_uniform_declares_its_range(stretch):
    problem = LinearBandit(stretch * np.array(THETA), ARMS, sigma=0.5, noise="uniform")
    reach = max(1.0, stretch * 0.5) + 0.5 * math.sqrt(3.0)
    assert problem.means == pytest.approx(stretch * np.array(INNER))
    assert (problem.low, problem.high) == pytest.approx((-reach, reach))
    assert problem.unit_means == pytest.approx((problem.means + reach) / (2.0 * reach))
    assert (problem.intercept, problem.subgaussian, problem.largest_gap) == (0.0, 0.5, 1.0)
    assert not problem.has_block_law


def test_dimension_and_rank():
    assert (LinearBandit(THETA, ARMS).dimension, LinearBandit(THETA, ARMS).rank) == (2, 2)
    flat = LinearBandit([1.0, 0.0, 0.0], [[0.1, 0.2, 0.3], [0.2, 0.4, 0.6]])
    assert (flat.dimension, flat.rank, flat.n_arms) == (3, 1, 2)
    assert LinearBandit([1.0], [[0.0]]).rank == 0


def test_equal_arms_tie_exactly():
    rng = np.random.default_rng(0)
    for d in (3, 7, 40):
        arms = np.tile(rng.standard_normal(d), (9, 1))
        assert (LinearBandit(rng.standard_normal(d), arms).gaps == 0.0).all()


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli", "uniform"])
def test_the_noise_is_centred_and_has_the_right_spread(noise):
    problem = LinearBandit(THETA, ARMS, sigma=0.5, noise=noise)
    law = problem.law(stream(1, 0))
    for a in range(2):
        sample = rewards(law, a, 40_000)
        if problem.low is not None:
            sample = problem.low + problem.scale * sample
            assert problem.low <= sample.min() and sample.max() <= problem.high
        mean = problem.means[a]
        variance = mean * (1.0 - mean) if noise == "bernoulli" else 0.25
        assert sample.mean() == pytest.approx(mean, abs=0.01)
        assert sample.var() == pytest.approx(variance, abs=0.01)
    if noise == "uniform":
        half = 0.5 * math.sqrt(3.0)
        assert half * 0.999 < np.abs(sample - mean).max() <= half * (1.0 + 1e-12)
        quarters = np.histogram(sample - mean, bins=np.linspace(-half, half, 5))[0]
        assert quarters == pytest.approx([10_000] * 4, abs=400)


LAWS = {
    "gaussian": LinearBandit(THETA, ARMS),
    "bernoulli": LinearBandit(THETA, ARMS, noise="bernoulli"),
    "uniform": LinearBandit(THETA, ARMS, noise="uniform"),
    "beta": uli.BetaBandit([2.0, 3.0], [1.0, 4.0]),
    "deterministic": uli.DeterministicBandit([0.1, 0.7]),
    "table": uli.TableBandit(np.random.default_rng(2).random((2, 50))),
}


@pytest.mark.parametrize("engine", ["rounds", "skip"])
@pytest.mark.parametrize("case", LAWS)
def test_a_reward_alone_is_what_play_one_adds(case, engine):
    problem = LAWS[case]
    single = rewards(problem.law(stream(3, 0), engine), 1, 50)
    zero = 0 if case == "bernoulli" else 0.0
    total = one_by_one(problem.law(stream(3, 0), engine), 1, 50, zero)
    assert single.sum() == pytest.approx(total, rel=1e-12)
    if case == "bernoulli":
        assert set(single) == {0.0, 1.0}
    if case == "deterministic":
        assert (single == 0.7).all()


def test_a_table_gives_its_entries_and_nothing_beyond():
    table = np.random.default_rng(4).random((2, 5))
    law = uli.TableBandit(table).law(stream(0, 0))
    assert rewards(law, 1, 8) == pytest.approx([*table[1], 0.0, 0.0, 0.0])


def test_a_reward_alone_comes_from_the_urn_first():
    law = LAWS["bernoulli"].law(stream(5, 0), "skip")
    law.urn[:, 0] = 40, 11
    assert rewards(law, 0, 40).sum() == 11
    assert (law.urn == 0).all()


def test_uniform_rewards_are_drawn_one_by_one_in_any_grouping():
    problem = LAWS["uniform"]
    split, whole = (problem.law(stream(6, 0)) for _ in range(2))
    assert at_once(split, 0, 30, 70, at_once(split, 0, 0, 30, 0.0)) == at_once(
        whole, 0, 0, 100, 0.0
    )


LEARNERS = [
    uli.SuccessiveElimination(0.1, R=0.5),
    uli.PhasedElimination(0.1, R=0.5),
    uli.UCB(0.1, R=0.5),
    uli.LilUCB(0.1, R=0.5),
    uli.KLUCB(0.1, R=0.5),
    uli.EliminationFramework(
        lambda n, total, active, t: active, lambda delta, t: 1.0, beta=1.0, delta=0.1, R=0.5
    ),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("noise", ["gaussian", "bernoulli", "uniform"])
def test_every_learner_for_arms_plays(learner, noise):
    problem = LinearBandit(THETA, ARMS, sigma=0.5, noise=noise, names=list("abcd"))
    if problem.low is not None:
        learner = replace(learner, R=None)
    for engine in learner.engines_for(problem):
        runs = uli.simulate(learner, problem, 2000, 2, seed=0, engine=engine)
        assert (runs.final_plays.sum(axis=1) == 2000).all()
        assert runs.names == ("a", "b", "c", "d")


@pytest.mark.parametrize("learner", LEARNERS[:4], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("engine", ["skip", "rounds"])
def test_the_path_is_that_of_the_same_arms_without_vectors(learner, engine):
    pairs = [
        (LinearBandit(THETA, ARMS, sigma=0.5), uli.GaussianBandit(INNER, sigma=0.5)),
        (LAWS["bernoulli"], uli.BernoulliBandit([0.75, 0.375, 0.75, 0.75])),
    ]
    for linear, plain in pairs:
        assert (linear.means == plain.means).all()
        one = uli.simulate(learner, linear, 5000, 3, seed=1, engine=engine)
        two = uli.simulate(learner, plain, 5000, 3, seed=1, engine=engine)
        assert (one.plays == two.plays).all()


def test_uniform_noise_has_no_block_law():
    with pytest.raises(EngineError, match="LinearBandit"):
        uli.simulate(uli.SuccessiveElimination(0.1), LAWS["uniform"], 100, engine="skip")
    runs = uli.simulate(uli.SuccessiveElimination(0.1), LAWS["uniform"], 100, seed=0)
    assert runs.engine == "rounds"


def test_bounds_come_back_in_reward_units():
    problem = LAWS["uniform"]
    learner = uli.SuccessiveElimination(0.1)
    bound, unit = learner.guarantee(problem), learner.guarantee(4)
    assert bound.bound(1000) == pytest.approx(problem.scale * unit.bound(1000))


def test_rounding_is_forgiven_where_means_are_probabilities():
    theta = np.array([0.1, 0.7, 0.3, 0.9])
    theta /= np.linalg.norm(theta) * (1.0 - 2e-16)
    problem = LinearBandit(theta, [theta, -theta], noise="bernoulli")
    assert problem.means.tolist() == [1.0, 0.0]


def test_the_vectors_are_copies_that_cannot_be_changed():
    arms = np.array(ARMS)
    problem = LinearBandit(THETA, arms)
    arms[:] = 0.0
    assert (problem.arms == ARMS).all()
    for array in (problem.theta, problem.arms, problem.means, problem.gaps):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_printing():
    assert repr(LAWS["gaussian"]) == (
        "LinearBandit(theta=[0.5, -0.25], n_arms=4, sigma=1.0, noise='gaussian')"
    )
    assert repr(LAWS["bernoulli"]) == (
        "LinearBandit(theta=[0.5, -0.25], n_arms=4, noise='bernoulli')"
    )
    assert "12 entries]" in repr(LinearBandit(np.ones(12), np.ones((3, 12))))


BAD = {
    "theta NaN": (lambda: LinearBandit([math.nan, 0.0], ARMS), "theta"),
    "theta empty": (lambda: LinearBandit([], ARMS), "theta"),
    "theta matrix": (lambda: LinearBandit([[0.5, 0.5]], ARMS), "theta"),
    "theta length": (lambda: LinearBandit([0.5], ARMS), "theta"),
    "theta huge": (lambda: LinearBandit([1e60], [[1e60]]), "theta"),
    "not a probability": (lambda: LinearBandit([1.5, 0.0], ARMS, noise="bernoulli"), "theta"),
    "arms vector": (lambda: LinearBandit(THETA, [0.5, 0.5]), "arms"),
    "arms ragged": (lambda: LinearBandit(THETA, [[0.5, 0.5], [1.0]]), "arms"),
    "arms empty": (lambda: LinearBandit(THETA, np.zeros((0, 2))), "arms"),
    "arms infinite": (lambda: LinearBandit(THETA, [[math.inf, 0.0]]), "arms"),
    "sigma 0": (lambda: LinearBandit(THETA, ARMS, sigma=0), "sigma"),
    "sigma text": (lambda: LinearBandit(THETA, ARMS, sigma="1"), "sigma"),
    "noise": (lambda: LinearBandit(THETA, ARMS, noise="normal"), "noise"),
    "names": (lambda: LinearBandit(THETA, ARMS, names=["a"]), "names"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_argument(case):
    call, argument = BAD[case]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument
