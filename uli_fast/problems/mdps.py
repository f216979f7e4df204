"""Small tabular MDPs by name, and random ones.

All of them leave every choice to the learner; ``.restricted()`` keeps those that matter. None
tells it what is possible; ``.with_known_structure()`` does.
"""

from __future__ import annotations

import numpy as np

from uli_fast import _check
from uli_fast._support.streams import entropy_of
from uli_fast._typing import F64
from uli_fast.problems.tabular_mdp import TabularMDP


def river_swim(n_states: int = 3, horizon: int = 4) -> TabularMDP:
    """Return a river to swim up: a little is certain downstream, a lot is possible upstream.

    After Strehl and Littman (2008). Action 0 drifts left for certain and earns 0.005 at the left
    bank. Action 1 swims right: mid-river it gains a state with probability 0.35, stays with 0.6
    and loses one with 0.05; it leaves the left bank with 0.6, holds the right one with 0.6, and
    earns 1 there.

    Parameters
    ----------
    n_states
        Places in the river, at least 2.
    horizon
        Stages of an episode.

    Returns
    -------
    TabularMDP
        With 2 actions.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.mdps.river_swim(n_states=6, horizon=20).restricted()
    RiverSwim(S=6, A=2, H=20, policies=2.5e30)
    """
    S = _check.mdp_part("n_states", n_states, least=2)
    _check.mdp_size("n_states", S, 2, _check.mdp_part("horizon", horizon))
    P, r = np.zeros((S, 2, S)), np.zeros((S, 2))
    for s in range(S):
        P[s, 0, max(s - 1, 0)] = 1.0
        P[s, 1, max(s - 1, 0) : s + 2] = [0.05, 0.6, 0.35] if 0 < s < S - 1 else [0.4, 0.6]
    r[0, 0], r[-1, 1] = 0.005, 1.0
    return TabularMDP(P, r, horizon=horizon, label="RiverSwim")


def combination_lock(length: int = 3, n_actions: int = 2, horizon: int | None = None) -> TabularMDP:
    """Return a lock that one sequence of actions opens, for a reward of 1.

    State i is the number of right actions so far; any wrong one leads back to 0. The right one in
    state i is (i + 1) mod n_actions. By default ``horizon = length``: there is just one try.

    Parameters
    ----------
    length
        Right actions in a row that open the lock.
    n_actions
        Actions to choose from.
    horizon
        Stages of an episode.

    Returns
    -------
    TabularMDP
        With ``length + 1`` states.

    Examples
    --------
    >>> import uli_fast as uli
    >>> lock = uli.mdps.combination_lock(length=3)
    >>> print(lock.optimal_value)
    1.0
    """
    length = _check.mdp_part("length", length)
    A = _check.mdp_part("n_actions", n_actions, least=2)
    H = length if horizon is None else _check.mdp_part("horizon", horizon, least=length)
    _check.mdp_size("length", length + 1, A, H)
    P, r = np.zeros((length + 1, A, length + 1)), np.zeros((length + 1, A))
    P[:, :, 0] = 1.0
    for i in range(length):
        right = (i + 1) % A
        P[i, right] = np.eye(length + 1)[i + 1]
    P[length] = np.eye(length + 1)[length]
    r[length - 1, length % A] = 1.0
    return TabularMDP(P, r, horizon=H, label="CombinationLock")


def random_dense(
    S: int, A: int, H: int, seed: int | None, concentration: float = 0.5
) -> TabularMDP:
    """Return an MDP whose rows are Dirichlet and whose rewards are uniform on [0, 1].

    Parameters
    ----------
    S, A, H
        Numbers of states, actions and stages.
    seed
        Decides the MDP.
    concentration
        Of the Dirichlet law: small numbers make rows with few likely successors.

    Returns
    -------
    TabularMDP
        Any state may follow any other.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.mdps.random_dense(3, 2, 4, seed=1)
    RandomDense(S=3, A=2, H=4, policies=4096)
    """
    S, A, H = _sizes(S, A, H)
    alpha = np.full(S, _check.positive("concentration", concentration))
    rng = np.random.default_rng(entropy_of(_check.seed("seed", seed)))
    P, first = rng.dirichlet(alpha, (H, S, A)), rng.dirichlet(alpha)
    return TabularMDP(P, rng.random((H, S, A)), first, label="RandomDense")


def random_sparse(S: int, A: int, H: int, seed: int | None, support: int = 2) -> TabularMDP:
    """Return an MDP whose rows are uniform on the simplex of ``support`` states drawn at random.

    So is the first state; rewards are uniform on [0, 1].

    Parameters
    ----------
    S, A, H
        Numbers of states, actions and stages.
    seed
        Decides the MDP.
    support
        States that may follow a state and action.

    Returns
    -------
    TabularMDP
        Each row has ``support`` successors.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.mdps.random_sparse(4, 2, 3, seed=1, support=2)
    RandomSparse(S=4, A=2, H=3, policies=4096)
    """
    S, A, H = _sizes(S, A, H)
    support = _check.whole("support", support, most=S)
    rng = np.random.default_rng(entropy_of(_check.seed("seed", seed)))
    P, first = _scattered(rng, (H, S, A), S, support), _scattered(rng, (), S, support)
    return TabularMDP(P, rng.random((H, S, A)), first, label="RandomSparse")


def _sizes(S: int, A: int, H: int) -> tuple[int, int, int]:
    sizes = _check.mdp_part("S", S), _check.mdp_part("A", A), _check.mdp_part("H", H)
    _check.mdp_size("S", *sizes)
    return sizes


def _scattered(rng: np.random.Generator, shape: tuple[int, ...], S: int, support: int) -> F64:
    rows = np.zeros((*shape, S))
    where = rng.random(rows.shape).argsort(axis=-1)[..., :support]
    np.put_along_axis(rows, where, rng.dirichlet(np.ones(support), shape), axis=-1)
    return rows


def two_stage_treatment() -> TabularMDP:
    """Return a trial of dynamic treatment regimes: treat, look at the response, treat again.

    The rates are invented, of the size seen in trials on depression; they come from no real trial.

    States 0 and 1 are moderately and severely ill patients, 2 and 3 the same once they are well.
    Actions are a drug (0), psychotherapy (1) and both (2), at two stages; each has a small cost.
    At a third stage, without a choice, a patient who is well counts 1.

    Returns
    -------
    TabularMDP
        Three stages, four states, three actions.

    Examples
    --------
    >>> import uli_fast as uli
    >>> trial = uli.mdps.two_stage_treatment().restricted()
    >>> trial.n_policies
    729
    """
    well = np.array(
        [
            [  # first stage: moderate, severe
                [0.45, 0.52, 0.55],
                [0.30, 0.22, 0.42],
                [0.0, 0.0, 0.0],  # nobody is well at first
                [0.0, 0.0, 0.0],
            ],
            [  # second stage: no response so far, or one to be kept
                [0.25, 0.34, 0.39],
                [0.12, 0.15, 0.30],
                [0.85, 0.92, 0.93],
                [0.82, 0.70, 0.85],
            ],
        ]
    )
    P, r = np.zeros((3, 4, 3, 4)), np.zeros((3, 4, 3))
    for s in range(4):
        P[:2, s, :, s % 2] = 1.0 - well[:, s]
        P[:2, s, :, 2 + s % 2] = well[:, s]
        P[2, s, :, s] = 1.0
    r[:2] = [-0.01, -0.02, -0.05]
    r[2, 2:] = 1.0
    first = [0.65, 0.35, 0.0, 0.0]
    return TabularMDP(P, r, first, low=-0.1, high=1.0, label="TwoStageTreatment")
