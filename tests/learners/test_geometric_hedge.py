"""GeometricHedge.P: the kernel against the naive reference, and what its proof rests on."""

import math

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import exp3p
from tests.naive import geometric_hedge as naive
from tests.support.coupling import counts_at
from tests.support.draws import draws
from uli_fast._support.streams import stream
from uli_fast.geometry import designs
from uli_fast.learners._arms import empty_state
from uli_fast.learners.geometric_hedge import RHO, whitened


def arms_of(name):
    rng = np.random.default_rng(3)
    return {
        "plane": np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [-1.0, 0.2]]),
        "random": rng.standard_normal((30, 5)) / 4,
        "line": np.array([[1.0, 2.0], [0.5, 1.0], [-1.0, -2.0]]),
        "twins": np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
        "basis": np.eye(3),
        "skew": np.array([[1e-3, 0.0], [0.0, 1e3], [1e-3, 1e3], [5e-4, -1e3]]),
    }[name]


NAMES = ("plane", "random", "line", "twins", "basis", "skew")


@pytest.mark.parametrize("name", NAMES)
def test_rounds_equal_naive_on_the_same_draws(name):
    arms = arms_of(name)
    K, T, delta = len(arms), 600, 0.2
    learner = uli.GeometricHedge(delta)
    nu = designs.d_optimal(arms, RHO).weights
    x = designs.span_coordinates(arms)
    losses = np.random.default_rng(4).uniform(-0.5, 0.5, (K, T))
    rng, rounds = np.random.default_rng(5), iter(range(T))

    def draw(p, arms_left):
        i, _ = exp3p.pick(p, rng.random())
        return i, losses[i, next(rounds)]

    played, estimates, log_w = naive.phase(x, nu, list(range(K)), 10 * T, delta, draw, T)
    phase, ours = learner.start_phase(arms, 10 * T, delta), []
    rng = np.random.default_rng(5)
    for t in range(T):
        i, probability = phase.choose(rng)
        assert probability == phase.p[i] > 0.0
        ours.append(i)
        phase.update(i, losses[i, t])
    assert ours == played
    assert phase.estimates == pytest.approx(estimates, rel=1e-8, abs=1e-8)
    assert phase.state.lw == pytest.approx(log_w, abs=1e-9)


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli", "uniform"])
def test_simulated_rounds_equal_naive_on_the_same_draws(noise):
    arms = arms_of("plane") / 2
    problem = uli.LinearBandit([0.6, -0.5], arms, sigma=0.3, noise=noise)
    T, delta = 400, 0.2
    runs = uli.simulate(uli.GeometricHedge(delta), problem, T, 3, seed=7)
    B = {"gaussian": 1.0, "bernoulli": 1.0, "uniform": 2 * (1 + 0.3 * math.sqrt(3))}[noise]
    inner = arms @ problem.theta
    for r in range(3):
        rng = draws(7, r)

        def draw(p, _, rng=rng):
            i, _ = exp3p.pick(p, rng.random())
            if noise == "bernoulli":
                return i, 0.5 - (rng.random() < (1 + inner[i]) / 2)
            if noise == "gaussian":
                return i, -(inner[i] + 0.3 * rng.standard_normal())
            return i, -(inner[i] + 0.3 * math.sqrt(3) * (2 * rng.random() - 1)) / B

        nu = designs.d_optimal(arms, RHO).weights
        x = designs.span_coordinates(arms)
        played, _, _ = naive.phase(x, nu, list(range(len(arms))), T, delta, draw)
        assert (runs.plays[r] == counts_at(played, len(arms), runs.rounds)).all()


@pytest.mark.parametrize("name", NAMES)
def test_invariants_of_the_proof(name):
    arms = arms_of(name)
    theta = np.random.default_rng(1).standard_normal(arms.shape[1])
    losses = arms @ theta / np.abs(arms @ theta).max() / 2
    phase = uli.GeometricHedge().start_phase(arms, 5000, 0.1)
    state = phase.state
    d = designs.rank(arms)
    rng = np.random.default_rng(2)
    rho = designs.d_optimal(arms, RHO).max_leverage / d
    for _ in range(200):
        phase.choose(rng)
        p = phase.p.copy()
        lw = state.lw.copy()
        mean = np.zeros(len(arms))
        for a in range(len(arms)):
            state.L[:], state.lw[:] = 0.0, lw
            phase.update(a, losses[a])
            mean += p[a] * state.L
        assert p.sum() == pytest.approx(1.0)
        assert mean == pytest.approx(losses, abs=1e-9)
        assert p @ state.v == pytest.approx(d)
        assert state.v.max() <= rho * d / state.gamma * (1 + 1e-9)


def test_whitening_makes_the_design_isotropic():
    for name in NAMES:
        arms = arms_of(name)
        nu = designs.d_optimal(arms, RHO).weights
        x = whitened(arms, nu)
        assert (nu[:, None] * x).T @ x == pytest.approx(np.eye(designs.rank(arms)), abs=1e-9)


def condition_ratio(n, estimates, losses, T, d, delta):
    regret = n @ losses - T * losses
    deviation = np.abs(estimates - T * losses)
    scale = math.sqrt(d * T * math.log(10 * len(losses) / delta))
    return (regret + 2 * deviation).max() / scale


@pytest.mark.parametrize("name", ["plane", "random", "line", "basis"])
def test_the_condition_holds_with_room_on_long_runs(name):
    """Fixed losses, T = 10^5; 256 is proved and 16 covered every run of the note."""
    arms, T, delta = arms_of(name), 10**5, 0.05
    K, d = len(arms), designs.rank(arms)
    theta = np.random.default_rng(6).standard_normal(arms.shape[1])
    losses = arms @ theta / np.abs(arms @ theta).max() / 2
    problem = uli.DeterministicBandit(-losses, low=-0.5, high=0.5)
    for r in range(4):
        phase = uli.GeometricHedge().start_phase(arms, T, delta)
        state = empty_state(K)
        phase.play(problem.law(stream(8, r)), np.arange(K), state, 0.5, 1.0, T)
        ratio = condition_ratio(state.n, phase.estimates, losses, T, d, delta)
        assert ratio <= 4.0 < math.sqrt(256)


def test_it_needs_vectors_and_a_long_enough_horizon():
    with pytest.raises(uli.errors.ArgumentError, match="problem"):
        uli.simulate(uli.GeometricHedge(), uli.BernoulliBandit([0.4, 0.5]), 1000)
    with pytest.raises(uli.errors.ArgumentError, match="arms"):
        uli.GeometricHedge().start(3, horizon=10**6)
    with pytest.raises(uli.errors.ArgumentError, match="horizon"):
        uli.GeometricHedge().start(np.eye(3), horizon=10)
    with pytest.raises(uli.errors.ArgumentError, match="constant"):
        uli.GeometricHedge(constant=0.0)
    with pytest.raises(uli.errors.NoGuaranteeError, match="explores"):
        uli.GeometricHedge().guarantee((3, 2))


def test_arms_that_are_all_zero_are_played_evenly():
    problem = uli.LinearBandit([0.3, 0.3], np.zeros((3, 2)), noise="bernoulli")
    runs = uli.simulate(uli.GeometricHedge(), problem, 3000, seed=1)
    assert (runs.final_plays > 800).all()
