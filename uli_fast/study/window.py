"""A window for outcomes: what is not told in time is settled by the study itself.

``Study.open(..., window=7 * 86400, then=0.0)``. Before it does anything else, every call to an
open study closes the windows that are over, each by an event of its own: what was told by then
counts, for all workers and for good. The event says when it was closed and as what. Replaying
reads no clock, and checks only that the window was over by the times that were recorded.

Windows close in the order of decisions, as outcomes are applied in it: one that a wrong clock has
dated ahead closes late, and is named as what the others wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._support.text import span
from uli_fast.errors import ArgumentError

MOST_CLOSED = 1000  # windows, in one write
BY_HAND = "pending(older_than=...) and tell_many(..., only_pending=True)"  # where there is none


class Window(NamedTuple):
    """How long outcomes may take, and what stands for one that took longer."""

    seconds: float
    then: float | None  # a reward; None: it is missing

    @classmethod
    def of(cls, seconds: Any, then: Any) -> Window | None:
        """Check what was given; None where no window was."""
        if seconds is None:
            if then is not None:
                raise ArgumentError("then", "is what closes a window: give window as well")
            return None
        length = _check.seconds("window", seconds)
        if length == 0.0:
            raise ArgumentError("window", f"must be more than 0 seconds, got {seconds!r}")
        if isinstance(then, bool | np.bool_):
            raise ArgumentError("then", f"must be a number, got {then!r}")
        return cls(length, None if then is None else _check.number("then", then))

    def check(self, player: Any) -> None:
        """Refuse to close windows as what no outcome of a player can be."""
        if self.then is None:
            return
        if player.outcome_names != ("reward",):
            raise ArgumentError("then", "must be None: an episode that was not told is missing")
        _check.reward(self.then, player.low, player.high, "then")

    @property
    def reason(self) -> str:
        """Why an outcome was settled without having been told."""
        return f"not told within {span(self.seconds)}"

    @property
    def sentence(self) -> str:
        """What the window does."""
        what = "is missing" if self.then is None else f"counts as {self.then:g}"
        return f"an outcome that is {self.reason} {what}"

    @property
    def assumption(self) -> str:
        """What a certificate believes about outcomes that the window has a part in."""
        return (
            f"{self.sentence}, by clocks that are right, and what is said of outcomes and means "
            "is about outcomes so counted: how soon they are told may not change with time either"
        )

    def is_over(self, asked: str, at: datetime) -> bool:
        """Return whether the window of a decision that was asked for then is over."""
        return (at - datetime.fromisoformat(asked)).total_seconds() >= self.seconds

    def over(self, records: Iterable[Any], at: datetime) -> Iterator[int]:
        """Return the decisions, of those that are awaited, whose window is to be closed."""
        for record in records:
            if not self.is_over(record.asked, at):
                return
            yield record.id

    def closing(self, at: datetime) -> dict[str, Any]:
        """Return what the event says that closes a window."""
        when = {"at": at.isoformat(timespec="microseconds")}
        came = {} if self.then is None else {"reward": self.then}
        return when | came | {"reason": self.reason}

    def closes(self, asked: str, content: dict[str, Any]) -> bool:
        """Return whether an event says what it must, and no sooner than it may."""
        at = datetime.fromisoformat(content["at"])
        return content == self.closing(at) and self.is_over(asked, at)
