"""Live players: decisions one by one, rewards when they come."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from uli_fast.errors import StateError
from uli_fast.learners._arms import ArmLearner
from uli_fast.players._base import Certificate, Decision, Player, describe

__all__ = ["Certificate", "Decision", "Player", "restore"]


def restore(state: Mapping[str, Any], learner: Any = None) -> Player:
    """Rebuild a player from what ``player.state()`` returned, bit for bit.

    Parameters
    ----------
    state
        The saved state, after a round trip through JSON if you like.
    learner
        Needed only where the learner holds functions (EliminationFramework).
    """
    import uli_fast

    if not isinstance(state, Mapping):
        raise StateError("state", f"must be a mapping, got {type(state).__name__}")
    try:
        spec = dict(state["learner"])
        if learner is not None:
            if not isinstance(learner, ArmLearner) or describe(learner) != spec:
                raise StateError("learner", f"is not the one of the state, {spec}")
        else:
            kind = spec.pop("type")
            if kind == "EliminationFramework":
                raise StateError("learner", "must be given: its rule and f are not in the state")
            if kind not in ("SuccessiveElimination", "PhasedElimination", "UCB", "LilUCB"):
                raise StateError("state", f"has an unknown learner {kind!r}")
            learner = getattr(uli_fast, kind)(**spec)
        low, high = (
            math.inf * s if x is None else x for s, x in zip((-1, 1), state["range"], strict=True)
        )
        labels = state["labels"]
        numbered = labels == list(range(len(labels)))
        player: Player = learner.start(len(labels) if numbered else labels, low=low, high=high)
        player._load(state)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as problem:
        if isinstance(problem, StateError):
            raise
        raise StateError("state", f"cannot be restored: {problem!r}") from problem
    return player
