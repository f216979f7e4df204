"""Live players: decisions one by one, rewards when they come."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from uli_fast.errors import StateError
from uli_fast.learners._sets import SetLearner
from uli_fast.learners.policy_elimination import PolicyElimination
from uli_fast.players._base import Decision, Player
from uli_fast.players._certificate import Certificate
from uli_fast.players._described import in_reward_units, same_learner
from uli_fast.players._missing import UNIT_SCHEMAS
from uli_fast.players.policy_elimination import PolicyDecision
from uli_fast.players.spanner_elimination import VectorDecision
from uli_fast.simulate import Learner

# Learners and bases that are described by their parameters alone.
_PLAIN = (
    "SuccessiveElimination",
    "PhasedElimination",
    "UCB",
    "LilUCB",
    "LinearElimination",
    "SpannerElimination",
    "PolicyElimination",
    "MetaElimination",
    "Exp3P",
    "GeometricHedge",
    "Scrible",
)

__all__ = [
    "Certificate",
    "Decision",
    "Player",
    "PolicyDecision",
    "VectorDecision",
    "rebuilt",
    "restore",
]


def restore(state: Mapping[str, Any], learner: Any = None, arms: Any = None) -> Any:
    """Rebuild a player from what ``player.state()`` returned, bit for bit.

    Parameters
    ----------
    state
        The saved state, after a round trip through JSON if you like.
    learner
        Needed only where the learner holds functions (EliminationFramework) or a base of
        your own.
    arms
        The arm set, for players on one (SpannerElimination): it is not in the state.
    """
    if not isinstance(state, Mapping):
        raise StateError("state", f"must be a mapping, got {type(state).__name__}")
    try:
        low, high = (
            math.inf * s if x is None else x for s, x in zip((-1, 1), state["range"], strict=True)
        )
        spec = state["learner"]
        if state["schema"] in UNIT_SCHEMAS:
            spec = in_reward_units(spec, (low, high))
        if learner is None:
            learner = rebuilt(spec)
        elif not isinstance(learner, Learner) or not same_learner(spec, learner, (low, high)):
            raise StateError("learner", f"is not the one of the state, {spec}")
        if isinstance(learner, PolicyElimination):
            about = (state["initial_support"], low, high, state["decision_points"])
            episodes = learner.revive(state["rewards"], *about)
            episodes._load(state)
            return episodes
        if isinstance(learner, SetLearner):
            if arms is None:
                raise StateError("arms", "must be given: the arm set is not in the state")
            live = learner.start(arms, low=low, high=high, intercept=state["intercept"])
            live._load(state)
            return live
        labels = state["labels"]
        numbered = labels == list(range(len(labels)))
        player = learner.revive(len(labels) if numbered else labels, low, high, state["extra"])
        player._load(state)
    except (
        AttributeError,
        LookupError,
        OverflowError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as problem:
        if isinstance(problem, StateError):
            raise
        raise StateError("state", f"cannot be restored: {problem!r}") from problem
    return cast(Player, player)


def rebuilt(spec: Any) -> Any:
    """Rebuild a learner, or the base of one, from its description."""
    import uli_fast

    parameters = dict(spec)
    kind = parameters.pop("type")
    if kind not in _PLAIN:
        raise StateError("learner", f"must be given: the rule or base of {kind!r} is not in it")
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            parameters[name] = rebuilt(value)
    return getattr(uli_fast, kind)(**parameters)
