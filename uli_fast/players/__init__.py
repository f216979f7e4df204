"""Live players: decisions one by one, rewards when they come."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from uli_fast.errors import StateError
from uli_fast.learners._sets import SetLearner
from uli_fast.learners.policy_elimination import PolicyElimination
from uli_fast.players._base import Decision, Player
from uli_fast.players._certificate import Certificate
from uli_fast.players._described import in_reward_units, same_learner
from uli_fast.players._missing import UNIT_SCHEMAS
from uli_fast.players._verify import check_arrays, verify
from uli_fast.players.policy_elimination import PolicyDecision, PolicyPlayer
from uli_fast.players.spanner_elimination import VectorDecision
from uli_fast.simulate import Learner

# Learners and bases that are described by their parameters alone.
_PLAIN = (
    "SuccessiveElimination",
    "PhasedElimination",
    "BettingElimination",
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
    "revived",
]


def restore(state: Mapping[str, Any], learner: Any = None, arms: Any = None) -> Any:
    """Rebuild a player from what ``player.state()`` returned, bit for bit.

    The decisions and outcomes in the state are played again: a state that they do not lead to is
    a StateError. That takes about as long as they took to be told.

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
    return _restored(state, learner, arms, verify)


def revived(state: Mapping[str, Any], learner: Any = None, arms: Any = None) -> Any:
    """Rebuild a player without playing its decisions again; refuse only what none can hold.

    For states of this process's own, and for adapters, which tell rewards without decisions.
    """
    return _restored(state, learner, arms, lambda *_: None)


def _restored(
    state: Mapping[str, Any], learner: Any, arms: Any, verify: Callable[..., None]
) -> Any:
    if not isinstance(state, Mapping):
        raise StateError("state", f"must be a mapping, got {type(state).__name__}")
    try:
        bounds = _range(state)
        spec = state["learner"]
        if state["schema"] in UNIT_SCHEMAS:
            spec = in_reward_units(spec, bounds)
        if learner is None:
            learner = rebuilt(spec)
        elif not isinstance(learner, Learner) or not same_learner(spec, learner, bounds):
            raise StateError("learner", f"is not the one of the state, {spec}")
        start = _starter(state, learner, arms)
        player = start()
        player._load(state)
        check_arrays(player, state)
        if not isinstance(player, PolicyPlayer):  # which plays everything again as it loads
            verify(player, state, start)
        return player
    except MemoryError:
        raise StateError("state", "needs more memory than there is") from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as problem:
        if isinstance(problem, StateError):
            raise
        raise StateError("state", f"cannot be restored: {problem!r}") from problem


def _range(state: Mapping[str, Any]) -> tuple[float, float]:
    """Return the range of the rewards, infinite if unbounded."""
    low, high = state["range"]
    return -math.inf if low is None else low, math.inf if high is None else high


def _starter(state: Mapping[str, Any], learner: Any, arms: Any) -> Callable[[], Any]:
    """Return what starts a player as the state's was started."""
    low, high = _range(state)
    if isinstance(learner, PolicyElimination):
        about = (state["initial_support"], low, high, state["decision_points"])
        return partial(learner.revive, state["rewards"], *about)
    if isinstance(learner, SetLearner):
        if arms is None:
            raise StateError("arms", "must be given: the arm set is not in the state")
        return partial(learner.start, arms, low=low, high=high, intercept=state["intercept"])
    labels = state["labels"]
    numbered = labels == list(range(len(labels)))
    return partial(learner.revive, len(labels) if numbered else labels, low, high, state["extra"])


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
