"""Live players: decisions one by one, rewards when they come."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from uli_fast._registry import learners
from uli_fast.errors import StateError
from uli_fast.learners._kinds import is_learner
from uli_fast.players._arms import Decision, Player
from uli_fast.players._certificate import Certificate
from uli_fast.players._descriptions import changed, own_code, same_learner
from uli_fast.players._player import check_schema
from uli_fast.players._saved_states import check_numbers, verify
from uli_fast.players._sets import VectorDecision
from uli_fast.players.policy_elimination import PolicyDecision

# Learners and bases that are described by their parameters alone.
_PLAIN = learners(live=True, plain=True)

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

    Returns
    -------
    Player
        As it was, down to its random numbers.

    Examples
    --------
    >>> import json
    >>> import uli_fast as uli
    >>> player = uli.BettingElimination().start(["placebo", "drug"])
    >>> player.tell(player.ask().id, 1.0)
    >>> again = uli.restore(json.loads(json.dumps(player.state())))
    >>> again.ask() == player.ask()
    True
    """
    return _restored(state, learner, arms, _verify)


def revived(state: Mapping[str, Any], learner: Any = None, arms: Any = None) -> Any:
    """Rebuild a player without playing its decisions again; refuse only what none can hold.

    For states of this process's own, and for adapters, which tell rewards without decisions.
    """
    return _restored(state, learner, arms, lambda *_: None)


def _verify(player: Any, state: Mapping[str, Any], start: Callable[[], Any]) -> None:
    if player.queue.forgotten:
        raise StateError("state", "has no settled decisions: only the study they are in goes on")
    verify(player, state, start)


def _restored(
    state: Mapping[str, Any], learner: Any, arms: Any, verify: Callable[..., None]
) -> Any:
    if not isinstance(state, Mapping):
        raise StateError("state", f"must be a mapping, got {type(state).__name__}")
    try:
        check_schema(state["schema"])
        bounds = _range(state)
        spec = state["learner"]
        if learner is None:
            learner = rebuilt(spec)
        elif not is_learner(learner) or not same_learner(spec, learner, bounds):
            raise StateError("learner", f"is not the one of the state, {spec}")
        start = _starter(learner, state["start"], bounds, arms)
        player = start()
        if (found := changed(state["own"], own_code(learner, player.region))) is not None:
            name, differs = found
            raise StateError(
                "arms" if name == "arms" else "learner",
                f"{name} is not what the state was saved with: {differs}",
            )
        check_numbers(state)
        player.load(state)
        player.check_state()
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


def _starter(
    learner: Any, about: Mapping[str, Any], bounds: tuple[float, float], arms: Any
) -> Callable[[], Any]:
    """Return what starts a player as the one of a saved state was started."""
    given = {name: value for name, value in about.items() if name != "extent"}
    if "arms" in given:
        ((kind, value),) = given["arms"].items()
        given["arms"] = np.array(value) if kind == "vectors" else value
    elif "rewards" not in given:
        if arms is None:
            raise StateError("arms", "must be given: the arm set is not in the state")
        given["arms"] = arms
    low, high = bounds
    return partial(getattr(learner, "reopen", learner.start), **given, low=low, high=high)


def _range(state: Mapping[str, Any]) -> tuple[float, float]:
    """Return the range of the rewards, infinite if unbounded."""
    low, high = state["range"]
    return -math.inf if low is None else low, math.inf if high is None else high


def rebuilt(spec: Any) -> Any:
    """Rebuild a learner, or the base of one, from its description."""
    parameters = dict(spec)
    kind = parameters.pop("type")
    if kind not in _PLAIN:
        raise StateError(
            "learner",
            f"must be given: code of your own that {kind!r} is, or holds, is not kept; in Python, "
            "learner= of uli.Study.open, read and audit, and of uli.restore, takes it",
        )
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            parameters[name] = rebuilt(value)
    return _PLAIN[kind].load()(**parameters)
