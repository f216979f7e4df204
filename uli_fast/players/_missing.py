"""Outcomes that will never come.

Nothing is assumed about why: an outcome may be missing because of what it would have been.
Where rewards are bounded a missing one is taken at its worst, both ways; where they are not,
it is left out and nothing is certified any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uli_fast import _check
from uli_fast.errors import ConflictingRewardError, NoGuaranteeError, StateError

# Schema 1 knew no missing outcomes. Before 3 nothing was kept of earlier intervals, and R of
# learners on K arms was on the unit scale. Before 4 mode "sharp" had the constants of 0.7.
SCHEMA = 4
UNIT_SCHEMAS = (1, 2)
OLDER_SCHEMAS = (*UNIT_SCHEMAS, 3)


class Missing(dict[int, str]):
    """Position of a decision whose outcome will not come -> why."""

    def add(self, id: int, position: int, reason: Any, known: Any) -> bool:
        """Note a missing outcome unless it is noted already; refuse to overrule what is known."""
        why = _check.text("reason", reason)
        if known is not None:
            raise ConflictingRewardError("reason", f"decision {id} already has {known!r}")
        if self.get(position, why) != why:
            raise ConflictingRewardError(
                "reason", f"decision {id} is missing already: {self[position]!r}, got {why!r}"
            )
        new = position not in self
        self[position] = why
        return new

    def refuse(self, name: str, id: int, position: int) -> None:
        """Refuse an outcome of a decision that is known to have none."""
        if position in self:
            raise ConflictingRewardError(name, f"decision {id} is missing: {self[position]!r}")

    def saved(self) -> list[Any]:
        """Return ids and reasons, for JSON."""
        return [[position + 1, reason] for position, reason in sorted(self.items())]

    def load(self, saved: Any, outcomes: list[Any]) -> None:
        """Take over what ``saved`` returned; outcomes are those of all decisions."""
        if not isinstance(saved, list | tuple):
            raise StateError("state", f"missing must be a list, got {saved!r}")
        for id, reason in saved:
            position = _check.decision("missing", id, len(outcomes))
            self.add(id, position, reason, outcomes[position])


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


def check_schema(saved: Mapping[str, Any], **added: Any) -> dict[str, Any]:
    """Refuse a state of an unknown schema; bring one from before up to date."""
    schema = saved["schema"]
    if schema not in (SCHEMA, *OLDER_SCHEMAS) or isinstance(schema, bool):
        raise StateError("state", f"has schema {schema!r}, not {SCHEMA}")
    older = {"missing": [], **added} if schema == 1 else {}
    return {**saved, **older, "schema": SCHEMA}
