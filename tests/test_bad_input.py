"""Bad input is a typed error that names the argument (parameters: test_every_learner)."""

import math

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.errors import ArgumentError, EngineError

SE, ARMS = uli.SuccessiveElimination(0.1), uli.BernoulliBandit([0.5, 0.4])

CASES = {
    "NaN means": (lambda: uli.BernoulliBandit([0.5, math.nan]), "means"),
    "infinite means": (lambda: uli.GaussianBandit([0.5, math.inf]), "means"),
    "means above 1": (lambda: uli.BernoulliBandit([0.5, 1.2]), "means"),
    "means below low": (lambda: uli.DeterministicBandit([0.5, 3.0], low=1, high=4), "means"),
    "no arms": (lambda: uli.BernoulliBandit([]), "means"),
    "scalar means": (lambda: uli.BernoulliBandit(0.5), "means"),
    "text means": (lambda: uli.BernoulliBandit(["a", "b"]), "means"),
    "matrix means": (lambda: uli.GaussianBandit([[0.5]]), "means"),
    "low above high": (lambda: uli.BernoulliBandit([0.5], low=1, high=0), "high"),
    "sigma 0": (lambda: uli.GaussianBandit([0.5], sigma=0), "sigma"),
    "beta length": (lambda: uli.BetaBandit([1, 2], [1]), "beta"),
    "alpha 0": (lambda: uli.BetaBandit([0, 2], [1, 1]), "alpha"),
    "wrong-length rewards": (lambda: uli.TableBandit([[0, 1], [1, 0]], means=[0.5] * 3), "rewards"),
    "ragged rewards": (lambda: uli.TableBandit([[0, 1], [1]]), "rewards"),
    "rewards outside": (lambda: uli.TableBandit([[0, 2]]), "rewards"),
    "empty rewards": (lambda: uli.TableBandit(np.zeros((2, 0))), "rewards"),
    "names": (lambda: uli.BernoulliBandit([0.5, 0.4], names=["x"]), "names"),
    "same names": (lambda: uli.BernoulliBandit([0.5, 0.4], names=["x", "x"]), "names"),
    "R tiny": (lambda: uli.PhasedElimination(0.1, R=1e-300).start(2), "R"),
    "replications 0": (lambda: uli.simulate(SE, ARMS, 10, 0), "replications"),
    "seed negative": (lambda: uli.simulate(SE, ARMS, 10, seed=-1), "seed"),
    "seed text": (lambda: uli.simulate(SE, ARMS, 10, seed="x"), "seed"),
    "rounds beyond": (lambda: uli.simulate(SE, ARMS, 10, rounds=[11]), "rounds"),
    "rounds empty": (lambda: uli.simulate(SE, ARMS, 10, rounds=[]), "rounds"),
    "rounds number": (lambda: uli.simulate(SE, ARMS, 10, rounds=5), "rounds"),
    "n_jobs 0": (lambda: uli.simulate(SE, ARMS, 10, n_jobs=0), "n_jobs"),
    "not a learner": (lambda: uli.simulate("SE", ARMS, 10), "learner"),
    "constant 0": (lambda: uli.Exp3P(constant=0), "constant"),
    "five dimensions": (lambda: uli.Scrible().start(np.eye(6), horizon=100), "arms"),
    "steep Bernoulli": (lambda: uli.LinearBandit([1.1], [[1.0]], noise="bernoulli"), "theta"),
    "theta's length": (lambda: uli.LinearBandit([1.0, 0.0], [[1.0]]), "theta"),
    "unknown noise": (lambda: uli.LinearBandit([1.0], [[1.0]], noise="cauchy"), "noise"),
    "arms that are flat": (lambda: uli.LinearBandit([1.0], [1.0]), "arms"),
    "zero arms": (lambda: uli.designs.d_optimal(np.zeros((2, 2))), "arms"),
    "tolerance 1": (lambda: uli.designs.d_optimal(np.eye(2), 1.0), "tolerance"),
    "arms 0": (lambda: SE.start(0), "arms"),
    "arms empty": (lambda: SE.start([]), "arms"),
    "arms text": (lambda: SE.start("abc"), "arms"),
    "arms twice": (lambda: SE.start(["a", "a"]), "arms"),
    "range": (lambda: SE.start(2, low=0, high=math.inf), "high"),
    "about": (lambda: SE.guarantee(0), "about"),
    "dataset": (lambda: uli.datasets.load("nothing"), "name"),
    "means in play": (lambda: uli.play(SE, lambda a: 0.5, 10, 2, means=[0.5]), "means"),
    "beta": (lambda: uli.EliminationFramework(len, len, beta=0), "beta"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_names_the_argument(case):
    call, argument = CASES[case]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument
    assert isinstance(caught.value, ValueError)


def test_skipping_needs_a_block_law():
    with pytest.raises(EngineError, match="BetaBandit"):
        uli.simulate(SE, uli.BetaBandit([1, 2], [2, 1]), 100, engine="skip")
    assert uli.simulate(SE, uli.BetaBandit([1, 2], [2, 1]), 100, seed=0).engine == "rounds"


def test_whole_floats_are_whole():
    assert uli.simulate(SE, ARMS, 1e6, seed=0).horizon == 10**6
    assert uli.simulate(SE, ARMS, np.int64(100), seed=np.int32(1)).horizon == 100


def test_a_table_that_runs_out():
    table = uli.TableBandit([[1.0] * 50, [0.0] * 50], means=[1.0, 0.0])
    for engine in ("skip", "rounds"):
        with pytest.raises(uli.errors.RewardsExhaustedError, match="50 columns"):
            uli.simulate(SE, table, 1000, seed=0, engine=engine)
        assert uli.simulate(SE, table, 50, seed=0, engine=engine).final_plays.sum() == 50
