"""The tables that hold what happened: one of decisions, one of phases.

A decision is an arm with a name, a point of an arm set or a policy, and the table of decisions says
which. Rows are replications; those with fewer policies, blocks or phases are filled up with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from uli_fast._typing import F64, I8, I64
from uli_fast.results import metrics

Kind = Literal["arms", "points", "policies"]


@dataclass(frozen=True, eq=False)
class DecisionTable:
    """What was decided between, D decisions in each of M replications."""

    kind: Kind
    plays: I64  # (M, D) by the horizon
    last: I64  # (M, D) last round, 0 if never
    gaps: F64 | None  # (D,), or (M, D) of points and policies; None where the truth is unknown
    names: tuple[str, ...] = ()  # of arms
    eliminated: I64 | None = None  # (M, D) the round whose reward removed the arm, 0 if never
    recorded: I64 | None = None  # (M, P, D) counts up to and including each recorded round
    policies: I8 | None = None  # (M, D, H, S), unless there are too many


class Blocks(NamedTuple):
    """Blocks of rounds in which one arm is played, B of them, and what their phases took."""

    phase: I64  # (M, B)
    first: I64  # (M, B)
    last: I64  # (M, B)
    gaps: F64  # (M, B)
    arms: F64  # (M, B, d)
    work: F64  # (M, phases, 3) oracle calls, swaps, seconds

    def decisions(self) -> DecisionTable:
        """Return the blocks as decisions, each for a point."""
        plays = np.where(self.last > 0, self.last - self.first + 1, 0)
        return DecisionTable("points", plays, self.last, self.gaps)

    def regret(self, rounds: I64) -> F64:
        """Return the pseudo-regret at each of the rounds, (M, P)."""
        rows = zip(self.first, self.last, self.gaps, strict=True)
        return np.stack([metrics.block_regret(*row, rounds) for row in rows])


@dataclass(frozen=True, eq=False)
class PhaseTable:
    """What is known of phases: a schedule, or blocks, or what came of them; or nothing."""

    quotas: I64 | None = None  # plays per arm in phase 1, 2, ...
    lengths: I64 | None = None  # rounds of phase 1, 2, ..., where they are fixed
    blocks: Blocks | None = None
    rounds: I64 | None = None  # (M, phases, 2) first and last episode
    facts: F64 | None = None  # (M, phases, 3) active policies, largest error, saturation

    @classmethod
    def planned(cls, quotas: Any, lengths: Any, blocks: Blocks | None = None) -> PhaseTable:
        """Return the phases of arms: by their schedule, as lists, or by what was played."""
        return cls(
            None if quotas is None else np.array(quotas, np.int64),
            None if lengths is None else np.array(lengths, np.int64),
            blocks,
        )

    def listed(self, eliminated: I64 | None, horizon: int) -> list[list[Any]] | None:
        """Return the phases of each replication; None where there are none."""
        if self.rounds is not None and self.facts is not None:
            pairs = zip(self.rounds, self.facts, strict=True)
            return [metrics.policy_phases(*pair) for pair in pairs]
        if self.blocks is not None:
            return [metrics.set_phases(*rows) for rows in zip(*self.blocks, strict=True)]
        if eliminated is None:
            return None
        if self.quotas is not None:
            return [metrics.phases(row, self.quotas, horizon) for row in eliminated]
        if self.lengths is not None:
            return [metrics.fixed_phases(row, self.lengths, horizon) for row in eliminated]
        return None


def tables_of(
    decision_table: dict[str, Any],
    counted: dict[str, Any],
    phase_table: dict[str, Any],
    blocks: dict[str, Any],
) -> tuple[DecisionTable, PhaseTable]:
    """Return the tables of these columns; of which kind decisions are is told from them."""
    found = None if all(x is None for x in blocks.values()) else Blocks(**blocks)
    if found is not None and counted["last"] is None:
        made = found.decisions()
    else:
        kind: Kind = "arms" if decision_table["names"] else "policies"
        made = DecisionTable(kind, **decision_table, **counted)
    return made, PhaseTable(blocks=found, **phase_table)


def stacked(parts: Sequence[Any]) -> Any:
    """Return arrays of one or more replications as one, the shorter ones filled up with zeros."""
    shapes = [part.shape[1:] for part in parts]
    if len(set(shapes)) == 1:
        return np.concatenate(parts)
    room = (max(sizes) for sizes in zip(*shapes, strict=True))
    result = np.zeros((sum(map(len, parts)), *room), parts[0].dtype)
    at = 0
    for part, shape in zip(parts, shapes, strict=True):
        result[(slice(at, at + len(part)), *map(slice, shape))] = part
        at += len(part)
    return result
