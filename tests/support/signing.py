"""States that were altered, and signed again as whoever altered them can."""

import contextlib
from unittest.mock import patch

import uli_fast as uli
from uli_fast.errors import UliError
from uli_fast.players import _player, _saved_states


def signed(state, **more):
    """Return a state with the hash of what it holds, if a player can hold that at all."""
    found = []

    def noted(*about):
        found.append(_saved_states.digest(*about))
        return found[-1]

    with patch.object(_player, "digest", noted), contextlib.suppress(UliError):
        uli.restore(state, **more)
    return {**state, "hash": found[0]} if found else state
