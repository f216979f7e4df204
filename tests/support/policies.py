"""Runs of policy elimination that tests can look into."""

from dataclasses import dataclass, field

import numpy as np

import uli_fast as uli
from tests.naive import policy_elimination as naive
from tests.support.draws import draws
from uli_fast._support.streams import stream
from uli_fast.guarantees.policy_schedule import PhasePlan

FAST = ("auto", "trie", "search")
TINY = (1e-4, 1.0)


@dataclass(frozen=True)
class Shrunk(uli.PolicyElimination):
    """Short phases with the bonus of a small log iota, so that choices are not saturated."""

    schedule: tuple[float, float] = (1.0, 1.0)
    log_iota: float = 0.1
    length: int = field(default=40)

    def plan(self, size, m):
        L = self.log_iota / m
        bonus = (float(size.H), 2.0 * size.S * L, 2.0 * size.H * size.S * L)
        return PhasePlan(self.length * 2 ** (m - 1), bonus)

    def naive(self, mdp, horizon, seed):
        """Play the same phases with the slow reference."""
        H, S = mdp.decision_points.shape
        phases = range(1, 2 + int(np.log2(horizon / self.length + 1)))
        return naive.play(
            (mdp.transitions, mdp.unit_rewards, mdp.initial),
            horizon,
            [self.length * 2 ** (m - 1) for m in phases],
            [naive.paper_bonus(H, S, self.log_iota / m) for m in phases],
            draws(seed),
            mdp.decision_points,
        )


def trace_of(learner, mdp, horizon, seed, engine="rounds"):
    """Return the policy of each episode, (T, H, S), and the run, played one by one."""
    on, rounds = learner.on(mdp), np.array([horizon])
    return trace_of_run(learner.begin(on, stream(seed, 0), engine, horizon, rounds))


def trace_of_run(run):
    """Play a run one by one; return the policy of each episode, (T, H, S), and the run."""
    policies, done = [], False
    while not done:
        before = run.t
        done = run.advance(1)
        if run.t > before:  # else the policy_log was full, and has grown
            n = run.policy_log.size[0]
            policies.append(run.policy_log.policy[run.policy_log.last[:n].argmax()].copy())
    return np.array(policies), run


def random_mdp(instance):
    """Return a small MDP, dense or sparse, of up to 729 policies."""
    sizes = ((2, 2, 2), (2, 3, 2), (3, 2, 2), (2, 2, 4), (3, 3, 2), (2, 3, 3), (3, 2, 3), (2, 2, 1))
    S, A, H = sizes[instance % len(sizes)]
    make = (uli.mdps.random_dense, uli.mdps.random_sparse)[instance // len(sizes) % 2]
    return make(S, A, H, seed=instance)


def wide_gaps(S, A, H, seed):
    """Return an MDP whose second action earns nothing: bad policies are clearly bad."""
    mdp = uli.mdps.random_dense(S, A, H, seed)
    rewards = np.where(np.arange(A) == 0, 0.6 + 0.4 * mdp.rewards, 0.05 * mdp.rewards)
    return uli.TabularMDP(mdp.transitions, rewards, np.full(S, 1.0 / S))
