"""Choosing policies and playing episodes, ours and plain rivals.

The choice alone, on what a run had learned before each of many episodes in a row; and whole
episodes, everything included: drawing, choosing, learning. Ours and the rival continue from
the same state. Bonuses are small, so that values are not all clipped and ties do not make
choices cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import uli_fast as uli
from bench.plain.jit import lean
from bench.plain.policies import best_policy, ucbvi_in_numpy
from bench.support import cases
from bench.support.cases import Case, Run, per_round
from uli_fast._support.streams import stream
from uli_fast._typing import I8
from uli_fast.guarantees.policy_schedule import PhasePlan
from uli_fast.kernels import policy_elimination as kernel
from uli_fast.kernels.mdp.episodes import EpisodePath
from uli_fast.kernels.mdp.policy_log import is_full
from uli_fast.learners._policies.policy_sets import PolicySet, mean_values
from uli_fast.learners._policies.runs import grown, new_model, new_path, new_policy_log

LOG_IOTA = 0.05


class Listed(NamedTuple):
    """What a plain enumeration needs."""

    policies: np.ndarray  # (n, H, S) of uint8
    V: np.ndarray  # (S,) room
    W: np.ndarray


@lean
def play_by_plain_enumeration(chooser, law, model, b, policy_log, path, n):
    """Play n episodes as the kernels do, but for the choice of the policy."""
    for _ in range(n):
        if is_full(policy_log):
            return kernel.NO_ROOM
        s1 = kernel.arrive(law, path)
        best, model.top[s1] = best_policy(
            chooser.policies, model.P, model.c, s1, chooser.V, chooser.W
        )
        for h in range(path.pi.shape[0]):
            for s in range(path.pi.shape[1]):
                path.pi[h, s] = chooser.policies[best, h, s]
        kernel.follow(law, model, b, policy_log, path)
    return kernel.PLAYED


# The choices before each of some episodes, with what had been learned by then.


@lean
def choose_by_induction(chooser, model, P, c, s1, pi):
    for i in range(s1.shape[0]):
        then = kernel.Model(model.N, model.N3, P[i], c[i], model.starts, model.top)
        kernel.choose_by_induction(chooser, then, s1[i], pi)


@lean
def choose_by_trie(chooser, model, P, c, s1, pi):
    for i in range(s1.shape[0]):
        then = kernel.Model(model.N, model.N3, P[i], c[i], model.starts, model.top)
        kernel.choose_by_trie(chooser, then, s1[i], pi)


@lean
def choose_by_plain_enumeration(chooser, model, P, c, s1, pi):
    for i in range(s1.shape[0]):
        best, model.top[s1[i]] = best_policy(
            chooser.policies, P[i], c[i], s1[i], chooser.V, chooser.W
        )
        for h in range(pi.shape[0]):
            for s in range(pi.shape[1]):
                pi[h, s] = chooser.policies[best, h, s]


LOOPS = {**kernel.LOOPS, Listed: play_by_plain_enumeration}
CHOICES = {
    kernel.Induction: choose_by_induction,
    kernel.Trie: choose_by_trie,
    Listed: choose_by_plain_enumeration,
}


def chooser_of(left: PolicySet, method: str) -> kernel.Chooser | Listed:
    """Return a chooser of the package, or that of a plain enumeration."""
    if method != "plain":
        return left.chooser(method)
    S = left.points.shape[1]
    return Listed(left.policies.view(np.uint8), np.zeros(S), np.zeros(S))


class Played(NamedTuple):
    """A run under way, after 2000 episodes."""

    play: Callable[[int], kernel.Model]  # this many episodes more
    rewind: Callable[[], None]  # to where it was after those
    model: kernel.Model
    path: EpisodePath


def played(mdp: uli.TabularMDP, chooser: kernel.Chooser | Listed) -> Played:
    """Begin a run with 2000 episodes in which nothing was eliminated."""
    H, S, _ = mdp.rewards.shape
    bonus = np.array([float(H), 2.0 * S * LOG_IOTA, 2.0 * H * S * LOG_IOTA])
    model, path = new_model(mdp), new_path(H, S)
    policy_log = new_policy_log(mdp, np.array([10**15]))
    while len(policy_log.policy) < 10**4:
        policy_log = grown(policy_log)
    law = mdp.law(stream(1, 0))
    kernel.open_phase(model, bonus)
    start = everything(mdp).chooser("auto")
    kernel.play_by_induction(start, law, model, bonus, policy_log, path, 2000)

    def play(n: int) -> kernel.Model:
        if LOOPS[type(chooser)](chooser, law, model, bonus, policy_log, path, n):
            raise RuntimeError("the policy_log is full: the episodes were not played")
        return model

    play(1)
    changing = (*model, *policy_log, *path, law.words)
    arrays = [x for x in changing if x.flags.writeable]  # the truth is not
    kept = [array.copy() for array in arrays]

    def rewind() -> None:
        for array, before in zip(arrays, kept, strict=True):
            array[...] = before

    return Played(play, rewind, model, path)


def choices(mdp: uli.TabularMDP, left: PolicySet, method: str, n: int) -> Callable[[], I8]:
    """Return the choices before n episodes in a row; it returns the policy chosen last."""
    run = played(mdp, chooser_of(left, "trie" if left.listed is not None else "auto"))
    P, c, s1 = [], [], []
    for _ in range(n):
        P.append(run.model.P.copy())
        c.append(run.model.c.copy())
        run.play(1)
        s1.append(int(run.path.state[0]))
    chooser, pi = chooser_of(left, method), run.path.pi.copy()
    learned = (run.model, np.array(P), np.array(c), np.array(s1))

    def play() -> I8:
        CHOICES[type(chooser)](chooser, *learned, pi)
        return pi

    return play


def everything(mdp: uli.TabularMDP) -> PolicySet:
    return PolicySet(mdp.decision_points, mdp.n_actions)


def best_of(mdp: uli.TabularMDP, size: int) -> PolicySet:
    """Return the policies that an elimination would leave: the best ones."""
    policies: I8 = everything(mdp).policies
    truth = (mdp.transitions, mdp.unit_rewards, mdp.initial)
    values = mean_values(policies, *(np.array(x) for x in truth))
    return everything(mdp).kept(values >= np.sort(values)[-size])


def playing(mdp: uli.TabularMDP, left: PolicySet, method: str, n: int) -> Case:
    """Return n episodes after 2000 others, per episode; it is the same n each time."""
    run = played(mdp, chooser_of(left, method))

    def prepare(seed: int) -> Run:
        run.rewind()
        return lambda: run.play(n)

    return Case(prepare, 1.0 / n)


def choosing(mdp: uli.TabularMDP, left: PolicySet, method: str) -> Case:
    """Return choices in a row, per choice.

    All of them are made once before they are timed: a run has only its current estimates in
    cache, and here those of hundreds of episodes would come from main memory.
    """
    n = 500 if method != "plain" else min(500, max(3, 200_000 // left.count))
    play = choices(mdp, left, method, n)

    def prepare(seed: int) -> Run:
        play()
        return play

    return Case(prepare, 1.0 / n)


def enumerated(mdp: uli.TabularMDP, left: PolicySet) -> Case:
    """Return episodes by plain enumeration of the policies left, per episode."""
    return playing(mdp, left, "plain", max(3, 200_000 // left.count))


def simulated(learner: object, mdp: uli.TabularMDP, n: int) -> Case:
    """Return a run of n episodes by ``simulate``, per episode."""
    return per_round(cases.simulated(learner, mdp, n, 1), n)


@dataclass(frozen=True)
class Short(uli.PolicyElimination):
    """Phases of 400, 800, ... episodes with the small bonus; nothing is proved of them."""

    schedule: tuple[float, float] = (1.0, 1.0)

    def plan(self, size: Any, m: int) -> PhasePlan:
        L = 0.2 * LOG_IOTA / m
        bonus = (float(size.H), 2.0 * size.S * L, 2.0 * size.H * size.S * L)
        return PhasePlan(400 * 2 ** (m - 1), bonus)


def stationary(S: int, A: int, H: int, seed: int) -> uli.TabularMDP:
    """Return the MDP of others/with_rlberry.py: the same at every stage, from state 0."""
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.ones(S), size=(S, A))
    return uli.TabularMDP(transitions, rng.random((S, A)), horizon=H)


def in_numpy(
    mdp: uli.TabularMDP, n: int, bonus: float, draws: Callable[[int], Any] = cases.numpy_draws
) -> Case:
    """Return n episodes of UCB-VI in NumPy, per episode."""

    def prepare(seed: int) -> Run:
        rng = draws(seed)
        return lambda: ucbvi_in_numpy(mdp, n, bonus, rng)

    return per_round(Case(prepare), n)
