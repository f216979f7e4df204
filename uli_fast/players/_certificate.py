"""Certificates: what is certain about what is in play, how intervals show it, or why nothing is."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from uli_fast._support.html import as_shown, facts, listing
from uli_fast._support.text import label
from uli_fast._typing import B1, F64
from uli_fast.errors import NoGuaranteeError
from uli_fast.guarantees import confidence

MOST_SHOWN = 10  # arms that a certificate names when it is printed

MOST_DIGITS = 10**15  # numbers from here on are shown by their order of magnitude


class Certificate(NamedTuple):
    """With probability 1 - delta, over all rounds at once, nothing that may be played is worse.

    That is every active arm, or every policy that the learner may still choose.
    It rests on settled rewards only, whatever has been asked for since. ``player.certificate()``
    and ``study.certificate()`` make it; ``sentence`` says it in words.

    Examples
    --------
    >>> import uli_fast as uli
    >>> uli.SuccessiveElimination(0.05).start(2).certificate().bound
    1.0
    """

    round: int  # the first round that the settled rewards decide on
    bound: float  # every active arm's gap is at most this, in reward units
    # F(delta, round) alone; infinite where it would have to know the largest gap of an unbounded
    # range, and where outcomes are missing: F counts on arms being dropped in time, which these
    # delay.
    envelope: float
    delta: float
    # The arms in play; for policies, how many deterministic ones the actions left make up; () for
    # the points of an arm set.
    active: tuple[int | str, ...] | int
    proved: bool  # False: the bound is a user's claim
    assumes: tuple[str, ...] = ()  # everything that is believed and was not checked
    held: str = ""  # of a study: outcomes that are known and not in it, and what they wait for

    def __repr__(self) -> str:
        """Say in words what is certain, and in which unit."""
        active = self.active
        if isinstance(active, tuple) and len(active) > MOST_SHOWN:
            active = len(active)
        return (
            f"Certificate({self.sentence}; round={self.round}, envelope={self.envelope:.6g}, "
            f"active={_many(active)}, assumes={self.assumes!r}"
            f"{f', held={self.held!r}' if self.held else ''})"
        )

    @property
    def sentence(self) -> str:
        """What is certain, in words."""
        what = f"every {self.what} is within {self.bound:.6g} (reward units) of the best"
        if math.isinf(self.bound):
            what = f"nothing is known yet about any {self.what}"
        if self.winner is not None:
            what = self.winner
        claim = "" if self.proved else ", by the learner's own claim"
        sure = f"with probability {confidence(self.delta)}, over all rounds at once"
        return f"{sure}, {what}{claim}"

    @as_shown
    def _repr_html_(self) -> str:
        active = self.active
        rows: list[tuple[str, Any]] = [
            ("in play", listing(active) if isinstance(active, tuple) else _many(active)),
            ("from round", f"{self.round:,}"),
            ("F alone", f"{self.envelope:.6g}"),
            *(("assumes", each) for each in self.assumes),
            *((("held up", self.held),) if self.held else ()),
        ]
        return facts(self.sentence[:1].upper() + self.sentence[1:], rows)

    @property
    def winner(self) -> str | None:
        """Say what is certain of the one arm that is left; None while there are more.

        Another one may be as good.
        """
        if isinstance(self.active, int) or len(self.active) != 1 or self.bound != 0.0:
            return None
        arm = self.active[0]
        name = f"arm {arm}" if isinstance(arm, int) else label(str(arm))
        return f"{name} is the best: no arm is better"

    @property
    def what(self) -> str:
        """What it speaks of, one of them."""
        if isinstance(self.active, int):
            return "policy that may still be played"
        return "active arm" if self.active else "arm of this phase"


def _many(active: tuple[int | str, ...] | int) -> str:
    """Show what is active; of very many policies, the order of magnitude."""
    if isinstance(active, int) and active >= MOST_DIGITS:
        return f"about 1e{math.log10(active):.0f}"
    return repr(active)


def gap_bound(lower: F64, upper: F64, active: B1) -> float:
    """Bound the gap of every active arm by intervals that hold at once, a best arm being active.

    A gap is to another arm, or there is none: an arm is compared with the others' upper ends.
    """
    low, high = lower[active], upper[active]
    if high.size == 1:
        return 0.0
    second, first = np.partition(high, -2)[-2:]
    others = np.where(high == first, second, first)  # equal ones are each other's others
    return max(0.0, float((others - low).max()))


def waiting(outcomes: int, decision: int) -> str:
    """Say what holds up outcomes that are known."""
    wait = "1 outcome waits" if outcomes == 1 else f"{outcomes:,} outcomes wait"
    return f"{wait} behind decision {decision}"


def left_out(count: int) -> NoGuaranteeError:
    """Say why missing outcomes leave nothing certain."""
    return NoGuaranteeError(
        f"{count} outcomes are missing and could not be bounded: they were left out, "
        "and nothing is proved about what was learned without them"
    )


def too_large(reward: float) -> NoGuaranteeError:
    """Say that rounding drowns what is learned."""
    return NoGuaranteeError(
        f"outcomes up to {reward:g} are so large beside R that their sums are rounded by more than "
        "the intervals allow for; subtract a constant from all of them"
    )
