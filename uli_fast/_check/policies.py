"""Checks of tabular MDPs: their tables, their policies, and episodes that were played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from uli_fast._check.arrays import floats, same_length, stochastic, vector, within
from uli_fast._check.numbers import index, number, whole
from uli_fast._typing import B1, F64, I8
from uli_fast.errors import ArgumentError

LARGEST_TABLE = 2 * 10**8  # transition probabilities held in memory, 1.6 GB
MOST_STATES = 10**9  # or stages, or actions, of an MDP that is only described
MOST_ACTIONS = 127  # policies are int8
Outcome: TypeAlias = tuple[float, int, float, bool]


def mdp_part(name: str, value: Any, least: int = 1) -> int:
    """Return a number of stages, states or actions."""
    return whole(name, value, least, MOST_STATES)


def mdp_size(name: str, S: int, A: int, H: int) -> None:
    """Refuse an MDP whose transitions would not fit, before any memory is allocated."""
    size = H * S * A * S
    if size > LARGEST_TABLE:
        raise ArgumentError(
            name,
            f"{H} stages, {S} states and {A} actions need a table of {size:.2g} probabilities, "
            f"{8 * size / 1e9:.2g} GB; the limit is {LARGEST_TABLE:.2g}",
        )


def mdp_tables(transitions: Any, rewards: Any, horizon: Any) -> tuple[F64, F64]:
    """Return transitions (H, S, A, S) and rewards (H, S, A); tables without stages are repeated."""
    P = _filled("transitions", transitions, ("S, A, S", "H, S, A, S"))
    r = _filled("rewards", rewards, ("S, A", "H, S, A"))
    S, A, to = P.shape[-3:]
    if to != S:
        raise ArgumentError("transitions", f"must lead from {S} states to {S}, got {to}")
    if A > MOST_ACTIONS:
        raise ArgumentError("transitions", f"must have at most {MOST_ACTIONS} actions, got {A}")
    if r.shape[-2:] != (S, A):
        raise ArgumentError(
            "rewards", f"must be ({S}, {A}) or (H, {S}, {A}) as the transitions, got {r.shape}"
        )
    H = _stages(len(P) if P.ndim == 4 else None, len(r) if r.ndim == 3 else None, horizon)
    mdp_size("horizon", S, A, H)
    P = stochastic("transitions", P)
    return np.broadcast_to(P, (H, S, A, S)).copy(), np.broadcast_to(r, (H, S, A)).copy()


def _filled(name: str, value: Any, shapes: Sequence[str]) -> F64:
    result = floats(name, value)
    if result.ndim not in [shape.count(",") + 1 for shape in shapes]:
        raise ArgumentError(name, f"must be ({') or ('.join(shapes)}), got shape {result.shape}")
    if result.size == 0:
        raise ArgumentError(name, f"must not be empty, got shape {result.shape}")
    return result


def _stages(of_transitions: int | None, of_rewards: int | None, horizon: Any) -> int:
    given = of_transitions or of_rewards
    if of_transitions and of_rewards and of_transitions != of_rewards:
        raise ArgumentError(
            "rewards", f"have {of_rewards} stages, the transitions {of_transitions}"
        )
    if horizon is not None:
        H = mdp_part("horizon", horizon)
        if given and H != given:
            raise ArgumentError("horizon", f"must agree with the {given} stages given, got {H}")
        return H
    if given is None:
        raise ArgumentError("horizon", "must be given where all stages are alike")
    return given


def stage_rewards(name: str, value: Any, low: float, high: float) -> F64:
    """Return the rewards of an MDP with unknown transitions, (H, S, A), within [low, high]."""
    result = _filled(name, value, ("H, S, A",))
    H, S, A = result.shape
    if A > MOST_ACTIONS:
        raise ArgumentError(name, f"must have at most {MOST_ACTIONS} actions, got {A}")
    mdp_size(name, S, A, H)
    within(name, result, low, high)
    return result


def repeated_rewards(name: str, value: Any, horizon: Any) -> F64:
    """Return rewards (H, S, A); those without stages, (S, A), are the same at all H = horizon."""
    r = _filled(name, value, ("S, A", "H, S, A"))
    H = _stages(None, len(r) if r.ndim == 3 else None, horizon)
    S, A = r.shape[-2:]
    mdp_size(name if r.ndim == 3 else "horizon", S, A, H)
    return np.broadcast_to(r, (H, S, A)).copy()


def initial_states(name: str, value: Any, size: int) -> F64:
    """Return the distribution of the first state; by default it is state 0."""
    if value is None:
        value = [1.0] + [0.0] * (size - 1)
    result = vector(name, value)
    same_length(name, result, size)
    return stochastic(name, result)


def outcomes(name: str, env: Any) -> tuple[list[list[list[Outcome]]], F64]:
    """Return P[s][a] = [(probability, next state, reward, done), ...] and the first state's law."""
    bare = getattr(env, "unwrapped", env)
    if not (hasattr(bare, "P") and hasattr(bare, "initial_state_distrib")):
        raise ArgumentError(name, f"must have a table P and initial_state_distrib, got {env!r}")
    if getattr(bare, "fickle_passenger", False):
        raise ArgumentError(name, "has a fickle passenger, which its table P does not describe")
    try:
        table = [
            [
                [
                    (number(name, p), whole(name, to, 0), number(name, r), bool(done))
                    for p, to, r, done in bare.P[s][a]
                ]
                for a in range(len(bare.P[s]))
            ]
            for s in range(len(bare.P))
        ]
    except (LookupError, TypeError, ValueError):
        raise ArgumentError(
            name, "P[s][a] must list (probability, next state, reward, done)"
        ) from None
    if not table or not table[0] or any(len(rows) != len(table[0]) for rows in table):
        raise ArgumentError(name, "P must have the same actions in every state, and at least one")
    if any(to >= len(table) for rows in table for row in rows for _, to, _, _ in row):
        raise ArgumentError(name, f"P must stay within its {len(table)} states")
    return table, initial_states(name, bare.initial_state_distrib, len(table))


def finite_mdp(name: str, env: Any) -> tuple[F64, F64, F64, B1]:
    """Return P (S, A, S), R (S, A), the first state's law and the mask of terminal states."""
    for key in ("P", "R", "initial_state_distribution"):
        if not hasattr(env, key):
            raise ArgumentError(name, f"must have tables P, R and a first state, got {env!r}")
    P, R = mdp_tables(env.P, env.R, 1)
    S = P.shape[1]
    first = env.initial_state_distribution
    if np.ndim(first) == 0:
        first = np.eye(S)[index(name, first, S)]
    is_terminal = getattr(env, "is_terminal", lambda s: False)
    ends = np.array([bool(is_terminal(s)) for s in range(S)])
    return P[0], R[0], initial_states(name, first, S), ends


def decision_points(name: str, value: Any, free: B1) -> B1:
    """Return the (H, S) mask of choices left to a learner: at least all that are not free."""
    if value is None:
        return np.ones_like(free)
    try:
        result = np.array(value, order="C")
    except Exception:  # ragged, or whatever an object raises when asked for its values
        result = np.array(None)
    if result.dtype != np.bool_ or result.shape != free.shape:
        raise ArgumentError(name, f"must be an array of True and False of shape {free.shape}")
    costly = np.argwhere(~result & ~free)
    if costly.size:
        h, s = costly[0]
        raise ArgumentError(
            name, f"must be True at stage {h}, state {s}: it is reachable and its actions differ"
        )
    return result


def denied_choice(
    points: B1, rewards: F64, support: B1, successors: B1 | None = None
) -> tuple[int, int] | None:
    """Return a stage and state that is reached and undecided although its actions differ.

    Transitions are not known, so only what is certain counts: rewards that differ, or actions
    that have no possible successor in common; a state in which episodes may begin, and a stage
    whose possible states are all of this kind.
    """
    differ = (rewards != rewards[:, :, :1]).any(axis=2)
    possible = np.ones_like(points)
    possible[0] = support
    if successors is not None:
        differ[:-1] |= ~_overlap(successors[:-1])
        for h in range(len(points) - 1):
            possible[h + 1] = successors[h, possible[h]].any(axis=(0, 1))
    denied = ~points & differ & possible
    denied[1:] &= (denied[1:] | ~possible[1:]).all(axis=1, keepdims=True)
    found = np.argwhere(denied)
    return (int(found[0, 0]), int(found[0, 1])) if found.size else None


def _overlap(successors: B1) -> B1:
    """Say where any two actions have a possible successor in common, (H, S)."""
    A = successors.shape[2]
    overlap: B1 = np.ones(successors.shape[:2], np.bool_)
    for a in range(A):
        for b in range(a):
            overlap &= (successors[:, :, a] & successors[:, :, b]).any(axis=-1)
    return overlap


def kept_choices(
    name: str, points: B1, rewards: F64, support: B1, successors: B1 | None = None
) -> None:
    """Refuse a mask of decision points that the known rewards or successors contradict."""
    found = denied_choice(points, rewards, support, successors)
    if found is not None:
        h, s = found
        each = "" if h == 0 else " and at every other state of this stage"
        what = "rewards" if (rewards[h, s] != rewards[h, s, 0]).any() else "successors"
        raise ArgumentError(
            name,
            f"must be True at stage {h}, state {s}: its actions have different {what}{each}, "
            "so there is something to decide",
        )


def policy(name: str, value: Any, shape: tuple[int, int], n_actions: int) -> I8:
    """Return the actions of a policy, (H, S); an (S,) one is repeated at every stage."""
    result = floats(name, value)
    if result.shape not in (shape, shape[1:]):
        raise ArgumentError(name, f"must have shape {shape} or {shape[1:]}, got {result.shape}")
    if (result != np.floor(result)).any():
        raise ArgumentError(name, "must hold whole numbers")
    within(name, result, 0, n_actions - 1)
    return np.broadcast_to(result, shape).astype(np.int8)


def any_policy(name: str, value: Any, points: B1, n_actions: int) -> I8 | F64:
    """Return the actions of a policy, (H, S), or the probabilities that it draws them with.

    These are (H, S, A), laws at decision points; elsewhere they are not looked at: action 0 is
    taken.
    """
    shape = points.shape
    result = floats(name, value)
    if result.ndim != 3:
        return policy(name, result, (shape[0], shape[1]), n_actions)
    if result.shape != (*shape, n_actions):
        raise ArgumentError(name, f"must have shape {(*shape, n_actions)}, got {result.shape}")
    return stochastic(name, np.where(points[:, :, None], result, np.eye(n_actions)[0]))


def state_set(name: str, value: Any, size: int) -> B1:
    """Return the mask of some states, at least one; by default all."""
    chosen = np.full(size, value is None)
    if value is not None:
        chosen[list(_indices(name, value, size))] = True
    if not chosen.any():
        raise ArgumentError(name, "must hold at least one state")
    return chosen


def initial_state(name: str, value: Any, support: B1) -> int:
    """Return a state in which an episode may begin."""
    result = index(name, value, len(support))
    if not support[result]:
        raise ArgumentError(name, f"must be in initial_support, got {value!r}")
    return result


def visited(
    name: str, value: Any, shape: tuple[int, int], first: int | None = None
) -> tuple[int, ...]:
    """Return the states of H stages; the first may be known. One extra is allowed and dropped."""
    H, S = shape
    result = _indices(name, value, S)
    if len(result) not in (H, H + 1):
        raise ArgumentError(name, f"must have length {H} or {H + 1}, got {len(result)}")
    if first is not None and result[0] != first:
        raise ArgumentError(name, f"must begin with {first}, as asked for, got {result[0]}")
    return result[:H]


def followed(name: str, value: Any, policy: I8, states: Sequence[int]) -> None:
    """Refuse actions that are not those of a policy in the states of an episode."""
    result = _indices(name, value, MOST_ACTIONS)
    same_length(name, result, len(states))
    for h, (s, a) in enumerate(zip(states, result, strict=True)):
        if a != policy[h, s]:
            raise ArgumentError(
                name, f"must be the policy's, {policy[h, s]} at stage {h} in state {s}, got {a}"
            )


def drawn_by(name: str, value: Any, policy: F64, states: Sequence[int]) -> tuple[int, ...]:
    """Return the actions of an episode; refuse what a policy, (H, S, A), never draws."""
    result = _indices(name, value, policy.shape[2])
    same_length(name, result, len(states))
    for h, (s, a) in enumerate(zip(states, result, strict=True)):
        if policy[h, s, a] <= 0.0:
            raise ArgumentError(
                name, f"must be drawn by the policy: at stage {h} in state {s} it never takes {a}"
            )
    return result


def _indices(name: str, value: Any, below: int) -> tuple[int, ...]:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, Sequence):
        raise ArgumentError(name, f"must be a sequence of whole numbers, got {value!r}")
    return tuple(index(name, x, below) for x in value)
