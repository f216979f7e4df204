"""What a player is certain of, what that assumes, and what it recommends, in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from uli_fast.errors import UliError
from uli_fast.guarantees import confidence


def certificate_words(player: Any) -> str:
    """Say in a sentence what is certain, and nothing more."""
    try:
        c = player.certificate()
    except UliError as problem:
        return f"nothing is certified: {problem}"
    what = "arm in play" if player.labels else c.what
    if math.isinf(c.bound):
        return f"nothing is certified yet: too little is known about any {what}"
    claim = "" if c.proved else " (the learner's own claim, not a theorem)"
    belief = ", if all that is assumed holds" if c.assumes else ""
    unit = "episode" if isinstance(c.active, int) else "play"
    plays = f"1 {unit}" if c.round == 2 else f"{c.round - 1} {unit}s"
    missing = f", missing outcomes ({player.lost}) taken at their worst" if player.lost else ""
    limit = f"no {what} is worse than the best by more than {c.bound:.6g} (reward units)"
    return (
        f"with probability {confidence(c.delta)}, over all rounds at once, {c.winner or limit}"
        f"{claim}{belief}; learned from {plays}{missing}"
    )


def assumed(player: Any) -> tuple[str, ...]:
    """Return everything that the certificate believes; () if there is none."""
    try:
        found: tuple[str, ...] = player.certificate().assumes
    except UliError:
        return ()
    return found


def recommended(player: Any) -> str:
    """Say what looks best so far."""
    try:
        best = player.recommend()
    except UliError:
        return "nothing yet"
    return str(best if isinstance(best, int | str) else np.asarray(best).tolist())
