"""Learners to open studies with, and what their decisions are told."""

import copy
import math

import numpy as np

import uli_fast as uli
from tests.support.examples import LIVE, wandering
from uli_fast._registry import learners

SE = uli.SuccessiveElimination(0.1)
VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [-0.5, 0.2]])
MDP = uli.mdps.combination_lock(length=2, n_actions=2)
LEARNERS = {
    "SE": (SE, {"arms": ["a", "b", "c"]}),
    "SE in a range": (SE, {"arms": 3, "low": -5.0, "high": 5.0}),
    "SE unbounded": (
        uli.SuccessiveElimination(0.1, R=1.0),
        {"arms": 2, "low": -math.inf, "high": math.inf},
    ),
    "PE": (uli.PhasedElimination(0.3), {"arms": ["x", "y"]}),
    "UCB": (uli.UCB(0.1), {"arms": 3}),
    "LilUCB": (uli.LilUCB(0.1), {"arms": 3}),
    "KLUCB": (uli.KLUCB(0.1), {"arms": 3}),
    "ThompsonSampling": (uli.ThompsonSampling(0.1), {"arms": 3, "seed": 7}),
    "Exp3P": (uli.Exp3P(0.1), {"arms": 3, "seed": 7, "horizon": 2000}),
    "GeometricHedge": (
        uli.GeometricHedge(0.1),
        {"arms": VECTORS, "seed": 3, "horizon": 10**6, "low": -2.0, "high": 2.0},
    ),
    "Scrible": (
        uli.Scrible(),
        {"arms": VECTORS, "seed": 3, "horizon": 10**6, "low": -2.0, "high": 2.0},
    ),
    "MetaElimination": (
        uli.MetaElimination(uli.Exp3P(constant=0.01), 0.1, mode="sharp"),
        {"arms": ["a", "b"], "seed": 5},
    ),
    "LinearElimination": (uli.LinearElimination(0.1, R=0.2), {"arms": VECTORS, "intercept": 0.5}),
    "SpannerElimination": (uli.SpannerElimination(0.1, R=1.0), {"arms": uli.arm_sets.Ball(2)}),
    "PolicyElimination": (uli.PolicyElimination(0.1, (1e-4, 1.0)), {"rewards": MDP.rewards}),
}
LISTED = {type(learner).__name__ for learner, _ in LEARNERS.values()}
NEW = [x for x in LIVE if x.row.plain and x.row.name not in LISTED]
LEARNERS |= {x.row.name: (x.learner, x.starting) for x in NEW}
# Drawn at random, or refusing to be asked ahead: told at once.
AT_ONCE = learners(draws=True)


def outcome(decision, rng):
    """Return what a decision is told: a reward, or states and actions."""
    if decision._fields[1] == "policy":
        return wandering(decision.policy, rng)
    return (float(rng.integers(0, 2)),)


def settled_state(player):
    """Return the state without settled decisions, which a study's player may have forgotten."""
    recall, player.queue.recall = player.queue.recall, None  # it leads to the file
    twin = copy.deepcopy(player)
    player.queue.recall = recall
    twin.forget()
    return twin.state()


def asked(live):
    policies = isinstance(getattr(live, "learner", None), uli.PolicyElimination)
    return live.ask(state=0) if policies else live.ask()


def same(a, b):
    return (a.id, a.probability) == (b.id, b.probability) and np.array_equal(a[1], b[1])
