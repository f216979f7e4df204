"""The decisions of a live player, in order, and what became of each.

Outcomes may come in any order and are taken in by that of the decisions, each once all earlier
ones are settled: any order of arrival gives the same bits. Telling the same again changes nothing,
telling something else is refused. What decisions and outcomes are is the player's business: here
an outcome is whatever is not None.

An outcome that will never come is told as missing. Nothing is assumed about why: it may be missing
because of what it would have been. What that does to what is learned is the player's business too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from uli_fast import _check
from uli_fast.errors import ConflictingRewardError, StateError


class DecisionQueue:
    """Decisions and outcomes; players hold one.

    ``decisions`` and ``outcomes`` name the two lists in saved states, ``outcome`` is what errors
    call one of them.
    """

    def __init__(self, decisions: str, outcomes: str, outcome: str) -> None:
        self._names, self._outcome = (decisions, outcomes), outcome
        self.decisions: list[Any] = []  # decision 1, 2, ...
        self.outcomes: list[Any] = []  # of each; None if it is awaited or missing
        self.missing: dict[int, str] = {}  # position of a decision without an outcome -> why
        self.settled = 0  # decisions whose outcome and all earlier ones are known

    def __len__(self) -> int:
        return len(self.decisions)

    # Asking and telling.

    def add(self, decision: Any) -> int:
        """Note the next decision; return its id."""
        self.decisions.append(decision)
        self.outcomes.append(None)
        return len(self.decisions)

    def position(self, id: Any) -> int:
        """Return the position of a decision, from its id."""
        return _check.decision("id", id, len(self.decisions))

    def tell(self, position: int, outcome: Any) -> bool:
        """Note the outcome of a decision; return whether it is new."""
        if position in self.missing:
            raise ConflictingRewardError(
                self._outcome, f"decision {position + 1} is missing: {self.missing[position]!r}"
            )
        known = self.outcomes[position]
        if known is None:
            self.outcomes[position] = outcome
            return True
        if known != outcome:
            raise ConflictingRewardError(
                self._outcome,
                f"decision {position + 1} already has {self._outcome} {_plain(known)!r}, "
                f"got {_plain(outcome)!r}",
            )
        return False

    def tell_missing(self, position: int, reason: Any) -> bool:
        """Note that an outcome will never come; return whether that is new."""
        why, known = _check.text("reason", reason), self.outcomes[position]
        if known is not None:
            raise ConflictingRewardError("reason", f"decision {position + 1} already has {known!r}")
        new = position not in self.missing
        before = self.missing.setdefault(position, why)
        if before != why:
            raise ConflictingRewardError(
                "reason", f"decision {position + 1} is missing already: {before!r}, got {why!r}"
            )
        return new

    @property
    def waiting(self) -> bool:
        """Whether a decision is not settled."""
        return self.settled < len(self.decisions)

    @property
    def pending(self) -> tuple[int, ...]:
        """Ids of the decisions whose outcome is still awaited."""
        waiting = range(self.settled, len(self.decisions))
        return tuple(i + 1 for i in waiting if self.outcomes[i] is None and i not in self.missing)

    # Settling.

    def settle(self, take: Callable[[Any, Any], None], end: int | None = None) -> None:
        """Let ``take(decision, outcome)`` have what is next in order, until one is awaited.

        A missing outcome is None. ``settled`` counts the decision that is being taken in. With
        ``end`` no more than that many decisions are settled.
        """
        at, last = self.settled, len(self.decisions) if end is None else end
        while at < last:
            outcome = self.outcomes[at]
            if outcome is None and at not in self.missing:
                return
            self.settled = at + 1
            take(self.decisions[at], outcome)
            at += 1

    def take_back(self, position: int, settled: int) -> None:
        """Forget what was told of a decision, and what has been settled since."""
        self.outcomes[position] = None
        self.missing.pop(position, None)
        self.settled = settled

    # Looking.

    def standing(self, position: int) -> tuple[Any, bool]:
        """Return the outcome of a decision, and whether it is missing."""
        return self.outcomes[position], position in self.missing

    def told(self, position: int) -> Any:
        """Return the outcome of a decision as JSON has it."""
        return _plain(self.outcomes[position])

    # Saving, and being told what another queue was told.

    def saved(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        decisions, outcomes = self._names
        return {
            decisions: [_plain(x) for x in self.decisions],
            outcomes: [_plain(x) for x in self.outcomes],
            "missing": [[position + 1, why] for position, why in sorted(self.missing.items())],
            "settled": self.settled,
        }

    def load(
        self,
        saved: Mapping[str, Any],
        decision: Callable[[Any], Any],
        outcome: Callable[[Any], Any],
    ) -> None:
        """Take over what ``saved`` returned; decisions and outcomes are read by the player."""
        decisions, outcomes = (saved[name] for name in self._names)
        self.decisions = [decision(x) for x in decisions]
        self.outcomes = [None if x is None else outcome(x) for x in outcomes]
        if len(self.decisions) != len(self.outcomes):
            raise StateError("state", "contradicts itself: decisions and outcomes differ")
        if not isinstance(saved["missing"], list | tuple):
            raise StateError("state", f"missing must be a list, got {saved['missing']!r}")
        for id, why in saved["missing"]:
            self.tell_missing(_check.decision("missing", id, len(self)), why)
        self.settled = _check.whole("settled", saved["settled"], 0)
        behind = range(min(self.settled, len(self)))
        known = all(self.outcomes[i] is not None or i in self.missing for i in behind)
        if self.settled > len(self) or not known:
            raise StateError("state", "contradicts itself: what is settled has no outcome")

    def copy(self, other: DecisionQueue) -> None:
        """Take over all decisions and outcomes of another queue, none of them settled."""
        self.decisions, self.outcomes = list(other.decisions), list(other.outcomes)
        self.missing = dict(other.missing)

    def copy_outcome(self, other: DecisionQueue, position: int) -> None:
        """Take over what became of a decision that both queues have."""
        self.outcomes[position] = other.outcomes[position]
        if position in other.missing:
            self.missing[position] = other.missing[position]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
