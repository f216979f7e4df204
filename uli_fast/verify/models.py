"""Tabular MDPs: nested boxes of plausible models, which are ours."""

from __future__ import annotations

import numpy as np

import uli_fast as uli
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.common import simulate

TESTS = "tests/learners/test_model_elimination.py"
CODE = (
    "learners/model_elimination.py",
    "kernels/model_elimination.py",
    "kernels/mdp/boxes.py",
    "kernels/mdp/robust.py",
    "kernels/mdp/visit_bounds.py",
    "guarantees/model_boxes.py",
)
DELTA = 0.3


@check(
    "model-ULI",
    CODE,
    (f"{TESTS}::test_failures_stay_within_delta", f"{TESTS}::test_equals_naive_on_the_same_draws"),
)
def last_iterate(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs_models.md: model elimination is ULI.

    The truth lies in all boxes with probability 1 - 0.9 delta. On that event every gap is within
    its certificate, certificates never rise, and no optimal action is dropped.
    """
    M = 60 if quick else 600
    mdps = uli.mdps
    problems = (
        mdps.random_dense(2, 2, 3, seed=1),
        mdps.river_swim(3, 4).restricted(),
        mdps.two_stage_treatment().restricted(),
    )
    failed, runs, broken, closest, beyond = 0, 0, 0, 0.0, 0
    for problem in problems:
        for play in ("deterministic", "stochastic"):
            learner = uli.ModelElimination(DELTA, play)
            found = simulate(learner, problem, 10**5, M, seed=1)
            held, room = found.event_held, 1e-12 * problem.horizon
            said, gaps = found.look_facts[held, :, 0], found.look_facts[held, :, 4]
            h, s = np.indices(problem.optimal_policy.shape)
            lost = ~found.actions_left[held][:, h, s, problem.optimal_policy]
            rises = np.diff(said, axis=1) > 0.0
            broken += int((gaps > said + room).sum() + lost.sum() + rises.sum())
            closest = max(closest, float((gaps[said > 0.0] / said[said > 0.0]).max()))
            failed, runs = failed + int((~held).sum()), runs + M
            beyond += int((~found.holds).sum())
    p = exact.surprise(failed, runs, 0.9 * DELTA)
    return VerifyOutcome(
        f"{runs} runs of 1e5 episodes on a dense MDP, a river and a treatment, delta {DELTA:g}",
        f"{failed} left their boxes (p = {p:.2g}), {beyond} beyond F; on the event {broken} gaps "
        f"beyond their certificates or best actions lost, gap / certificate up to {closest:.2f}",
        p >= exact.LEAST_P and broken == 0 and beyond <= failed and 0.0 < closest <= 1.0,
    )
