"""Inductions over boxes: the dual of the value-constrained choice is always solved."""

import math

import numpy as np
import pytest

import uli_fast as uli
from tests.support.models import OccupancyProgram
from uli_fast.kernels.mdp import robust
from uli_fast.verify.model_programs import spare


def coin_mdp(seed, S=3, A=2, H=3):
    """Return an MDP with rewards 0 and 1, and ties."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.5), (H, S, A))
    return uli.TabularMDP(P, rng.integers(0, 2, (H, S, A)).astype(float), rng.dirichlet(np.ones(S)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [coin_mdp, lambda s: uli.mdps.random_dense(4, 2, 5, seed=s)])
def test_duals_are_solved_by_halving_alone(make, seed, monkeypatch):
    """The proof counts 84 + log2 H inductions for an interval, and two before."""
    calls = []

    def counted(*args):
        calls.append(args[3])
        return attain(*args)

    attain, halved = robust.attain, robust.choose_within.py_func
    learner = uli.ModelElimination(0.2, "stochastic", growth=0.3, first=4)
    run = learner.begin(
        learner.on(make(seed)), np.arange(1, 5).astype(np.uint64), "skip", 10**6, np.ones(1, int)
    )
    H, binding = run.view.r.shape[0], 0
    for _ in range(12):
        run.advance(1)
        sure, upper = run.view.start[1], run.view.start[0]
        for least in (sure, 0.5 * (sure + upper), upper):
            least -= robust.ROUNDING * H
            secants, choice = robust.choose_within(*about(run), least), spare(run.choice)
            calls.clear()
            with monkeypatch.context() as changed:  # of Python's form alone
                changed.setattr(robust, "attain", counted)
                changed.setattr(robust, "SECANTS", 0)
                W = halved(run.boxes, run.view, choice, least)
            assert len(calls) <= 2 + 84 + math.log2(H)
            assert W == pytest.approx(secants, rel=3e-9, abs=1e-9 * H)
            binding += len(calls) > 3
            program = OccupancyProgram(run, chances(choice))
            b, r = program.weights(run.view.b, run.view.start[3]), program.weights(run.view.r)
            assert program.most(b, (r, least - 1e-7)) >= W - 2e-6
    assert binding >= 3


def about(run):
    return run.boxes, run.view, spare(run.choice)


def chances(choice):
    """Return a policy as probabilities, (H, S, A)."""
    pi = np.zeros(choice.R.shape)
    at = tuple(np.indices(choice.one.shape))
    pi[(*at, choice.one)] += choice.mix
    pi[(*at, choice.two)] += 1.0 - choice.mix
    return pi
