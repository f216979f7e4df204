"""Checks of what is known about an MDP beforehand: first states and possible successors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uli_fast._check.policies import state_set
from uli_fast._typing import B1, F64
from uli_fast.errors import ArgumentError


def successor_mask(name: str, value: Any, shape: tuple[int, int, int]) -> B1 | None:
    """Return the mask (H, S, A, S) of possible next states; None: any state.

    One without stages, (S, A, S), is repeated. Every row has at least one state.
    """
    if value is None:
        return None
    H, S, A = shape
    wanted = (H, S, A, S)
    result = _booleans(value)
    if result is None or result.shape not in (wanted, wanted[1:]):
        raise ArgumentError(
            name, f"must be an array of True and False of shape {wanted} or {wanted[1:]}"
        )
    empty = np.argwhere(~result.any(axis=-1))
    if empty.size:
        raise ArgumentError(name, f"row {empty[0].tolist()} must have at least one next state")
    return np.broadcast_to(result, wanted).copy()


def follows_last(name: str, told: Sequence[int], action: int, mask: B1 | None) -> None:
    """Refuse a state after the last stage that cannot follow it; where none is told, all is well.

    ``told`` are the states of an episode, ``action`` is the last one, ``mask`` is (H, S, A, S).
    """
    if mask is None or len(told) <= len(mask):
        return
    s, after = int(told[-2]), int(told[-1])
    if not mask[-1, s, action, after]:
        raise ArgumentError(
            name,
            f"has state {after} after the last stage, which successors calls impossible after "
            f"state {s} and action {action}",
        )


def initial_mask(name: str, value: Any, size: int) -> B1 | None:
    """Return the mask of states in which an episode may begin, from a mask or their numbers."""
    if value is None:
        return None
    mask = _booleans(value)
    if mask is None or mask.size == 0:
        return state_set(name, value, size)
    if mask.shape != (size,):
        raise ArgumentError(name, f"must be a mask of shape {(size,)} or numbers of states")
    if not mask.any():
        raise ArgumentError(name, "must hold at least one state")
    return mask


def covers_transitions(name: str, mask: B1, P: F64) -> None:
    """Refuse a mask that calls a transition of positive probability impossible."""
    wrong = np.argwhere(~mask & (P > 0.0))
    if wrong.size:
        *row, to = wrong[0].tolist()
        raise ArgumentError(
            name,
            f"row {row} must allow state {to}, whose probability is {P[(*row, to)]:.3g}",
        )


def covers_first_states(name: str, mask: B1, initial: F64) -> None:
    """Refuse a mask that leaves out a state in which episodes do begin."""
    wrong = np.flatnonzero(~mask & (initial > 0.0))
    if wrong.size:
        raise ArgumentError(
            name,
            f"must hold state {wrong[0]}, where an episode begins "
            f"with probability {initial[wrong[0]]:.3g}",
        )


def _booleans(value: Any) -> B1 | None:
    """Return a copy of an array of True and False, None if it is none."""
    try:
        result = np.array(value, order="C")
    except Exception:  # ragged, or whatever an object raises when asked for its values
        return None
    return result if result.dtype == np.bool_ else None
