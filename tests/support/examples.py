"""Small examples of every learner in the registry: one is tested by being registered."""

from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

import uli_fast as uli
from uli_fast._registry import LEARNERS, LearnerRow, learners
from uli_fast.experiments.build import learner_of

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.5], [-0.5, 0.2]])
THETA = [0.6, 0.1]
DELTA = 0.3
# What learners of each kind play on, for how many rounds, and what their players start with.
PROBLEMS = {
    "arms": (
        uli.BernoulliBandit([0.7, 0.5, 0.45]),
        uli.GaussianBandit([0.3, 0.0, -0.2], sigma=0.5),
        uli.LinearBandit(THETA, ARMS, noise="uniform", sigma=0.1),
    ),
    "vectors": (
        uli.LinearBandit(THETA, ARMS, noise="uniform", sigma=0.1),
        uli.LinearBandit(THETA, ARMS, noise="bernoulli"),
    ),
    "set": (
        uli.LinearBandit(THETA, arm_set=uli.arm_sets.Ball(2), sigma=0.1),
        uli.LinearBandit(THETA, ARMS, sigma=0.1),
    ),
    "policies": (uli.mdps.river_swim(2, 2), uli.mdps.random_dense(2, 2, 2, seed=0)),
}
HORIZONS = {"arms": 30_000, "vectors": 30_000, "set": 300_000, "policies": 1000}
STARTS = {
    "arms": {"arms": ["a", "b", "c"]},
    "vectors": {"arms": ARMS, "low": -1.0, "high": 1.0},
    "set": {"arms": uli.arm_sets.Ball(2)},
    "policies": {"rewards": PROBLEMS["policies"][0].rewards},
}
# To whose players a horizon is the number of stages, which the rewards say already.
STAGES = ("ModelElimination",)
SLOW = 1500  # rounds of learners that call Python in each


def kept(n, total, active, t):
    """Keep the arms whose means are not far below the best."""
    means = total / np.maximum(n, 1)
    return active & ((n < 30) | (means > means.max() - 0.3))


class Wavering:
    """Play the best mean so far, and a tenth of the time any arm."""

    def __init__(self, K, rng):
        self.n, self.total, self.rng = np.zeros(K), np.zeros(K), rng

    def choose(self, t):
        if self.rng.random() < 0.1:
            return int(self.rng.integers(self.n.size))
        return int(np.argmax(self.total / np.maximum(self.n, 1.0)))

    def update(self, arm, reward):
        self.n[arm] += 1.0
        self.total[arm] += reward


# What learners that hold functions hold.
OWN = {
    "EliminationFramework": {"rule": kept, "f": lambda delta, t: (delta * t) ** -0.1},
    "OwnLearner": {"make": Wavering, "claim": lambda K, delta, t: (delta * t) ** -0.1},
}


class Example(NamedTuple):
    """A learner as one of its examples has it."""

    row: LearnerRow
    learner: Any
    decides: LearnerRow  # what makes the decisions: itself, or its base

    def __str__(self):
        return repr(self.learner) if self.row.plain else self.row.name

    @property
    def kind(self):
        return self.decides.kind

    @property
    def problems(self):
        every = PROBLEMS[self.kind]
        if self.kind != "set":
            return every
        return tuple(x for x in every if self.learner.plays_on(getattr(x, "arm_set", x)))

    @property
    def horizon(self):
        return HORIZONS[self.kind] if self.row.plain else SLOW

    def on(self, problem):
        """Return the learner, with R where a problem asks for one."""
        named = {field.name for field in fields(self.learner)}
        needed = "R" in named and self.learner.R is None and problem.low is None
        return replace(self.learner, R=problem.sigma) if needed else self.learner

    @property
    def starting(self):
        """What its player starts with."""
        rounds = {} if self.row.name in STAGES else {"horizon": 10**6}
        return {**STARTS[self.kind], "seed": 1, **rounds}

    def start(self):
        """Begin live decisions."""
        return self.learner.start(**self.starting)

    def restored(self, state):
        """Return a player from what another's ``state()`` was."""
        own = {} if self.row.plain else {"learner": self.learner}
        arms = {"arms": STARTS["set"]["arms"]} if self.kind == "set" else {}
        return uli.restore(state, **own, **arms)


def examples_of(row):
    """Yield a learner for each of its row's examples."""
    for given in row.examples:
        table = {"delta": DELTA, **given}
        if row.plain:
            learner = learner_of(row.name, {"type": row.name, **table})
        else:
            learner = row.load()(**table, **OWN[row.name])
        base = type(getattr(learner, "base", learner)).__name__
        yield Example(row, learner, learners()[base])


EXAMPLES = [example for row in LEARNERS for example in examples_of(row)]
# A search through policies is for simulations alone.
LIVE = [x for x in EXAMPLES if x.row.live and getattr(x.learner, "method", None) != "search"]


def asked(player, n=None):
    """Ask for a decision, or for a list of the next n."""
    about = {"state": 0} if type(player).__name__ == "PolicyPlayer" else {}
    return player.ask(**about) if n is None else [player.ask(**about) for _ in range(n)]


def outcome(decision, seed=0):
    """Return what a decision is told, the same whenever it is: a reward, or states and actions."""
    rng = np.random.default_rng((seed, decision.id))
    if decision._fields[1] == "policy":
        return wandering(decision.policy, rng)
    return (float(rng.random() < (0.9, 0.4, 0.1, 0.1)[place(decision.arm)]),)


def wandering(policy, rng):
    """Return states and actions of an episode from state 0 to any states."""
    H, S = policy.shape[:2]
    states = [0, *rng.integers(S, size=H - 1).tolist()]
    return states, actions_of(policy, states, rng)


def actions_of(policy, states, rng):
    """Return the actions of a policy in these states, drawn where it draws them."""
    if policy.ndim == 2:
        return [int(policy[h, s]) for h, s in enumerate(states)]
    A = policy.shape[2]
    return [int(rng.choice(A, p=policy[h, s])) for h, s in enumerate(states)]


def place(arm):
    """Return the number of an arm; of a point, which side it is on."""
    if isinstance(arm, str):
        return "abc".index(arm)
    return int(arm[0] < 0.5) if isinstance(arm, tuple) else arm


def drive(player, rounds):
    """Ask and tell at once; return the decisions."""
    decisions = []
    for _ in range(rounds):
        decision = asked(player)
        player.tell(decision.id, *outcome(decision))
        decisions.append(decision)
    return decisions


def plain(decisions):
    """Return decisions as lists, to be compared."""
    return [(d.id, np.asarray(d[1]).tolist(), repr(d.probability)) for d in decisions]
