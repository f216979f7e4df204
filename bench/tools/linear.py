"""The figures of docs/which_learner.md on finitely many linear arms.

python -m bench.tools.linear
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

import uli_fast as uli
from uli_fast._typing import F64

DELTA, EPS, ROUNDS = 0.05, 0.1, 10**6
# Replications of each: LinUCB plays every round.
LEARNERS = {
    "sharp": (uli.LinearElimination(DELTA, R=1.0), 1000),
    "paper": (uli.LinearElimination(DELTA, "paper", R=1.0), 20),
    "LinUCB": (uli.LinUCB(DELTA, R=1.0), 10),
}


def instances() -> Iterator[tuple[str, F64, F64]]:
    """Yield eight sets of arms, with theta; unit vectors in random directions among them."""
    rng = np.random.default_rng(7)

    def directions(K: int, d: int) -> F64:
        arms = rng.standard_normal((K, d))
        return np.asarray(arms / np.linalg.norm(arms, axis=1)[:, None])

    angles = np.array([0.0, 0.5, 1.3, 2.4])
    yield "K 4, d 2", np.c_[np.cos(angles), np.sin(angles)], np.array([0.8, 0.1])
    yield "K 20, d 5", directions(20, 5), directions(1, 5)[0]
    near = np.array([[1.0, 0.0], [0.999, 0.04], [0.5, 0.5], [0.0, 1.0]])
    yield "near tie", near, np.array([0.6, 0.01])
    twins = np.repeat([[1.0, 0.0], [0.6, 0.6], [0.0, 1.0]], 2, axis=0)
    yield "duplicates", twins, np.array([0.7, 0.1])
    yield "K 300, d 3", directions(300, 3), np.array([0.5, 0.4, 0.3])
    yield "K 4, d 10", directions(4, 10), directions(1, 10)[0]
    trap = np.array([[1.0, 0.0], [1.0 - 1e-6, 1e-3], [0.0, 1.0]])
    yield "trap", trap, np.array([0.5, 0.0])
    means = np.array([0.5, 0.45, 0.4, 0.3, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0])
    yield "ten arms", np.eye(10), means


def row(name: str, arms: F64, theta: F64) -> str:
    """Return a row of the table: F, the median last round with a gap above .1, mean regrets."""
    problem = uli.LinearBandit(theta, arms, sigma=1.0)
    until, last, regret = [], [], []
    for learner, runs in LEARNERS.values():
        done = uli.simulate(learner, problem, ROUNDS, runs, seed=1, rounds=[ROUNDS])
        if not learner.baseline:
            until.append(f"{learner.guarantee(arms).rounds_until(EPS):,}")
        last.append(f"{np.median(done.last_mistake(EPS)):,.0f}")
        regret.append(f"{done.final_regret().mean():,.0f}")
    return "| " + " | ".join([name, *until, *last, *regret]) + " |"


if __name__ == "__main__":
    for name, arms, theta in instances():
        if name in sys.argv[1:] or not sys.argv[1:]:
            print(row(name, arms, theta), flush=True)
