"""Bounds of visits: those that are broken off change nothing."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import uli_fast as uli
from uli_fast.kernels.mdp.robust import TIE
from uli_fast.kernels.mdp.visit_bounds import block_length, forward, reach, supply, within

mdps = uli.mdps
PLAYS = ("deterministic", "stochastic")
PROBLEMS = {
    "dense": mdps.random_dense(6, 2, 6, seed=1),
    "sparse": mdps.random_sparse(8, 2, 7, seed=2).with_known_structure(),
    "river": mdps.river_swim(6, 10).with_known_structure(),
    "two states": mdps.random_dense(2, 3, 2, seed=3),
    "one stage": mdps.random_dense(3, 2, 1, seed=0),
}


def looks_of(problem, play, pooled=False, n=40, seed=0):
    """Yield a run after each of its first n looks."""
    learner = uli.ModelElimination(0.2, play, pooled, growth=0.3, first=4)
    words = np.random.default_rng(seed).integers(1, 2**63, 4).astype(np.uint64)
    run = learner.begin(learner.on(problem), words, "skip", 10**9, np.array([10**9]))
    for _ in range(n):
        over = run.advance(1)
        yield run
        if over:
            return


def every_visit(run, order):
    """Return the largest probability of each state, (H, S), by inductions to the very start."""
    H, S = run.choice.one.shape
    run.choice.x[0] = 1.0
    return np.array(
        [[reach(run.boxes, run.choice, h, s, -1.0, order) for s in range(S)] for h in range(H)]
    )


@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize(
    ("name", "pooled"), [*((name, False) for name in PROBLEMS), ("river", True)]
)
def test_blocks_are_as_long_as_if_every_visit_was_bounded(name, pooled, play):
    saved = 0
    for run in looks_of(PROBLEMS[name], play, pooled):
        boxes, choice = run.boxes, run.choice
        (H, S), growth, n0 = choice.one.shape, run.rule.growth, run.rule.n0
        order = np.arange(S)
        exact = every_visit(run, order)
        K = growth * boxes.n[0] + n0 if boxes.size[0] > 1 else math.inf
        for h in range(H - 1):
            for s in range(S):
                if exact[h, s] > 0.0:
                    K = min(K, supply(boxes, choice, h, s, growth, n0) / exact[h, s])
        ours = block_length(boxes, choice, growth, n0, order)
        assert ours == (K if K == math.inf else math.floor(K * (1.0 + TIE)))  # to the bit
        bounds = choice.x[0, : H - 1]
        assert (bounds >= exact[: H - 1] * (1.0 - 1e-12)).all()
        saved += (bounds > exact[: H - 1] * (1.0 + 1e-9)).sum()
    assert saved > 0 or H <= 2


@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize("name", ["dense", "sparse", "river"])
def test_what_is_broken_off_is_a_bound_and_small_enough(name, play):
    rng, stopped = np.random.default_rng(1), 0
    for run in looks_of(PROBLEMS[name], play, n=12):
        (H, S), order = run.choice.one.shape, np.arange(6 if name != "sparse" else 8)
        exact = every_visit(run, order)
        forward(run.boxes, run.choice, run.choice.x[0])
        for h in range(H - 1):
            for s in range(S):
                enough = exact[h, s] * rng.uniform(0.5, 3.0)
                bound = reach(run.boxes, run.choice, h, s, enough, order)
                if bound != exact[h, s]:
                    assert exact[h, s] * (1.0 - 1e-12) <= bound <= enough
                    stopped += 1
    assert stopped > 100


def test_laws_below_bounds_of_visits_earn_at_most_what_is_said():
    rng = np.random.default_rng(0)
    for _ in range(100):
        S = int(rng.integers(1, 9))
        x, f = rng.random(S) ** 2, rng.random(S) ** 3
        x[0], f[rng.random(S) < 0.3] = 1.0, 0.0
        best = -linprog(
            -f, A_eq=np.ones((1, S)), b_eq=[1.0], bounds=[(0.0, v) for v in x], method="highs"
        ).fun
        least = within(x, f, -1.0)
        assert best - 1e-12 <= least <= min(f.max(), (x * f).sum()) + 1e-12
        assert least <= 1.5 * best + 1e-12
        assert within(x, f, 1.1 * least) >= best - 1e-12
