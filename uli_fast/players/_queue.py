"""The decisions of a live player, in order, and what became of each.

Outcomes may come in any order and are taken in by that of the decisions, each once all earlier
ones are settled: any order of arrival gives the same bits. Telling the same again changes nothing,
telling something else is refused. What decisions and outcomes are is the player's business: here
an outcome is whatever is not None.

An outcome that will never come is told as missing. Nothing is assumed about why: it may be missing
because of what it would have been. What that does to what is learned is the player's business too.

What is settled is needed no more but to be told again. A queue may forget it, if somebody else can
say what became of a decision: the file of a study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast.errors import ConflictingRewardError, StateError


class DecisionQueue:
    """Decisions and outcomes; players hold one.

    ``outcome`` is what errors call one; ``read`` reads one as a saved state has it. Positions count
    all decisions, the lists begin after the forgotten ones.
    """

    def __init__(self, outcome: str, read: Callable[[Any], Any]) -> None:
        self._outcome, self._read = outcome, read
        self.decisions: list[Any] = []  # decision 1, 2, ... but for the forgotten ones
        self.outcomes: list[Any] = []  # of each; None if it is awaited or missing
        self.seen: list[int] = []  # how many were settled when each was asked for
        self.missing: dict[int, str] = {}  # position of a decision without an outcome -> why
        self.settled = 0  # decisions whose outcome and all earlier ones are known
        self.forgotten = 0  # the first of them, which are not held any more
        self._lost = 0  # how many of those are missing
        # What became of a decision that was forgotten: the outcome, or why it is missing.
        self.recall: Callable[[int], tuple[Any, str | None]] | None = None

    def __len__(self) -> int:
        return self.forgotten + len(self.decisions)

    # Asking and telling.

    def add(self, decision: Any) -> int:
        """Note the next decision; return its id."""
        self.decisions.append(decision)
        self.outcomes.append(None)
        self.seen.append(self.settled)
        return len(self)

    def position(self, id: Any) -> int:
        """Return the position of a decision, from its id."""
        return _check.decision("id", id, len(self))

    def tell(self, position: int, outcome: Any) -> bool:
        """Note the outcome of a decision; return whether it is new."""
        new = self.is_new(position, outcome)
        if new:
            self.outcomes[position - self.forgotten] = outcome
        return new

    def is_new(self, position: int, outcome: Any) -> bool:
        """Return whether an outcome is not known yet; refuse one that contradicts what is."""
        known, why = self.became(position)
        if why is not None:
            raise ConflictingRewardError(
                self._outcome, f"decision {position + 1} is missing: {why!r}"
            )
        if known is not None and known != outcome:
            raise ConflictingRewardError(
                self._outcome,
                f"decision {position + 1} already has {self._outcome} {plain(known)!r}, "
                f"got {plain(outcome)!r}",
            )
        return known is None

    def tell_missing(self, position: int, reason: Any) -> bool:
        """Note that an outcome will never come; return whether that is new."""
        why = _check.text("reason", reason)
        new = self.is_new_missing(position, why)
        if new:
            self.missing[position] = why
        return new

    def is_new_missing(self, position: int, why: str) -> bool:
        """Return whether nothing is known of a decision; refuse what contradicts what is."""
        known, before = self.became(position)
        if known is not None:
            raise ConflictingRewardError("reason", f"decision {position + 1} already has {known!r}")
        if before is not None and before != why:
            raise ConflictingRewardError(
                "reason", f"decision {position + 1} is missing already: {before!r}, got {why!r}"
            )
        return before is None

    def became(self, position: int) -> tuple[Any, str | None]:
        """Return the outcome of a decision, and why it is missing; None where neither is known."""
        if position >= self.forgotten:
            return self.outcomes[position - self.forgotten], self.missing.get(position)
        if self.recall is None:
            raise StateError("id", f"decision {position + 1} is settled, and was forgotten")
        return self.recall(position)

    def awaits(self, position: int) -> bool:
        """Return whether nothing is known yet of what became of a decision."""
        return position >= self.settled and self.became(position) == (None, None)

    @property
    def waiting(self) -> bool:
        """Whether a decision is not settled."""
        return self.settled < len(self)

    @property
    def told_missing(self) -> int:
        """How many outcomes were told to be missing."""
        return self._lost + len(self.missing)

    @property
    def pending(self) -> tuple[int, ...]:
        """Ids of the decisions whose outcome is still awaited."""
        first, waiting = self.forgotten, range(self.settled, len(self))
        return tuple(
            i + 1 for i in waiting if self.outcomes[i - first] is None and i not in self.missing
        )

    # Settling.

    def settle(self, take: Callable[[Any, Any], None], end: int | None = None) -> None:
        """Let ``take(decision, outcome)`` have what is next in order, until one is awaited.

        A missing outcome is None. ``settled`` counts the decision that is being taken in. With
        ``end`` no more than that many decisions are settled.
        """
        at, last = self.settled, len(self) if end is None else end
        while at < last:
            outcome = self.outcomes[at - self.forgotten]
            if outcome is None and at not in self.missing:
                return
            self.settled = at + 1
            take(self.decisions[at - self.forgotten], outcome)
            at += 1

    def take_back(self, position: int, settled: int) -> None:
        """Forget what was told of a decision, and what has been settled since."""
        self.outcomes[position - self.forgotten] = None
        self.missing.pop(position, None)
        self.settled = settled

    def forget(self) -> int:
        """Drop what is settled; return how many decisions that were."""
        n = self.settled - self.forgotten
        del self.decisions[:n], self.outcomes[:n], self.seen[:n]
        gone = [position for position in self.missing if position < self.settled]
        for position in gone:
            del self.missing[position]
        self.forgotten, self._lost = self.settled, self._lost + len(gone)
        return n

    # Saving, and being told what another queue was told.

    def save(self) -> dict[str, Any]:
        """Return everything, for JSON; of what was forgotten, how much that is."""
        return {
            "decisions": _as_lists(self.decisions),
            "outcomes": _as_lists(self.outcomes),
            "missing": [[position + 1, why] for position, why in sorted(self.missing.items())],
            "seen": list(self.seen),
            "settled": self.settled,
            "forgotten": [self.forgotten, self._lost],
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what ``save`` returned."""
        self.forgotten, lost = saved["forgotten"]
        first = _check.whole("forgotten", self.forgotten, 0)
        self._lost = _check.whole("forgotten", lost, 0, first)
        self.decisions = list(saved["decisions"])
        if not {*map(type, self.decisions)} <= {int}:
            self.decisions = [_several(x) for x in saved["decisions"]]
        self.outcomes = [None if x is None else self._read(x) for x in saved["outcomes"]]
        self.seen = list(saved["seen"])
        if not len(self.decisions) == len(self.outcomes) == len(self.seen):
            raise StateError("state", "contradicts itself: decisions and outcomes differ")
        if not isinstance(saved["missing"], list | tuple):
            raise StateError("state", f"missing must be a list, got {saved['missing']!r}")
        for id, why in saved["missing"]:
            self.tell_missing(_check.decision("missing", id, len(self)), why)
        self.settled = _check.whole("settled", saved["settled"], first)
        behind = range(first, min(self.settled, len(self)))
        known = all(self.outcomes[i - first] is not None or i in self.missing for i in behind)
        if self.settled > len(self) or not known:
            raise StateError("state", "contradicts itself: what is settled has no outcome")
        seen = np.array(self.seen)
        ordered = seen.size == 0 or (seen.dtype == np.int64 and seen[0] >= 0)
        most = np.arange(first, len(self))
        if not ordered or (np.diff(seen) < 0).any() or (seen > most).any():
            raise StateError("state", "contradicts itself: what was settled at each decision")

    def copy(self, other: DecisionQueue) -> None:
        """Take over all decisions and outcomes of another queue, none of them settled."""
        self.decisions, self.outcomes = list(other.decisions), list(other.outcomes)
        self.seen, self.missing = list(other.seen), dict(other.missing)

    def copy_outcome(self, other: DecisionQueue, position: int) -> None:
        """Take over what became of a decision that both queues have."""
        self.outcomes[position] = other.outcomes[position]
        if position in other.missing:
            self.missing[position] = other.missing[position]


def _several(saved: Any) -> tuple[int, ...]:
    """Return a decision of several numbers, as a state has it."""
    if not isinstance(saved, list | tuple) or {*map(type, saved)} != {int}:
        raise StateError("state", f"decisions must be whole numbers, got {saved!r}")
    return tuple(saved)


def _as_lists(values: list[Any]) -> list[Any]:
    return list(map(plain, values)) if tuple in {*map(type, values)} else list(values)


def plain(value: Any) -> Any:
    """Return a decision or an outcome as JSON has it."""
    return list(value) if isinstance(value, tuple) else value
