"""What a study is certain of, what that assumes, what it recommends and waits for, in words."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._support.text import span
from uli_fast.errors import UliError
from uli_fast.guarantees import confidence
from uli_fast.players._certificate import waiting
from uli_fast.study.window import BY_HAND

if TYPE_CHECKING:
    from uli_fast.study.replay import Held, StudyReplay
    from uli_fast.study.window import Window

NEXT_CALL = "the next call to the open study settles it"


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


def assumed(replay: StudyReplay) -> tuple[str, ...]:
    """Return everything that the certificate believes; () if there is none."""
    try:
        return replay.certificate().assumes
    except UliError:
        return ()


def held_up(held: Held | None, window: Window | None, at: datetime) -> str:
    """Say what outcomes that are known wait for, and how to settle it; "" if for nothing."""
    if held is None:
        return ""
    age = max((at - datetime.fromisoformat(held.asked)).total_seconds(), 0.0)
    said = f"{waiting(held.outcomes, held.decision)} (asked {span(age, whole=True)} ago)"
    if window is not None and window.is_over(held.asked, at):
        over = span(age - window.seconds, whole=True)
        return f"{said}: its window was over {over} ago; {NEXT_CALL}"
    return f"{said}: {way_out(held, window)}"


def way_out(held: Held, window: Window | None) -> str:
    """Say how what holds up others is settled, whenever that is read."""
    settled = f"tell it, or tell_missing({held.decision}, reason)"
    if window is None:
        return f"{settled} if it never comes; for many, {BY_HAND}"
    return f"{settled}; once its window of {span(window.seconds)} is over, {NEXT_CALL}"


def recommended(player: Any) -> str:
    """Say what looks best so far."""
    try:
        best = player.recommend()
    except UliError:
        return "nothing yet"
    return str(best if isinstance(best, int | str) else np.asarray(best).tolist())
