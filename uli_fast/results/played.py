"""What a batch of replications leaves behind, as tables and as Runs."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._support.text import without_addresses
from uli_fast._typing import B1, F64
from uli_fast.results.runs import LARGEST_POLICIES, Runs
from uli_fast.results.tables import Blocks, DecisionTable, PhaseTable, stacked

if TYPE_CHECKING:
    from uli_fast.kernels.mdp.policy_log import PolicyLog
    from uli_fast.learners._base import Learner
    from uli_fast.learners._policies.runs import LookLog, PhaseNote
    from uli_fast.learners._sets import BlockLog
    from uli_fast.problems.tabular_mdp import TabularMDP


def runs_of(
    learner: Learner,
    decisions: DecisionTable,
    phases: PhaseTable,
    *,
    began: float,
    ratios: F64 | None = None,
    tv: F64 | None = None,
    **others: Any,
) -> Runs:
    """Return what a batch came to, begun at a time of time.perf_counter.

    ``ratios`` (M,) are NaN where F was not followed round by round; ``tv`` (M,) is by how much the
    law of each replication may be off; the others are public names of Runs, as they are.
    """
    spent = None if tv is None or not tv.any() else tv
    return Runs.of(
        decisions,
        phases,
        learner=without_addresses(repr(learner)),
        baseline=learner.baseline,
        delta=learner.delta,
        ratios=None if ratios is None or np.isnan(ratios).all() else ratios,
        tv_bound=0.0 if spent is None else float(spent.sum()),
        tv_spent=spent,
        elapsed=time.perf_counter() - began,
        **others,
    )


def blocks_of(logs: Sequence[BlockLog], gaps: Sequence[F64]) -> Blocks:
    """Return the blocks of all replications, given the gap of each, as a table."""

    def column(name: str) -> Any:
        return stacked([np.array([[getattr(x, name) for x in log.blocks]]) for log in logs])

    return Blocks(
        phase=column("phase"),
        first=column("first"),
        last=column("last"),
        gaps=stacked([each[None] for each in gaps]),
        arms=column("arm"),
        work=stacked([np.array(log.work, np.float64).reshape(1, -1, 3) for log in logs]),
    )


def counted_arms(logs: Sequence[BlockLog], names: tuple[str, ...], gaps: F64) -> DecisionTable:
    """Return the arms of blocks as a table, where they are finitely many."""
    shape = (len(logs), len(names))
    plays, last = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for r, log in enumerate(logs):
        for block in log.blocks:
            plays[r, block.number] += block.last - block.first + 1
            last[r, block.number] = block.last
    return DecisionTable("arms", plays, last, gaps, names)


def policy_table(logs: Sequence[PolicyLog], scale: float, mixed: bool = False) -> DecisionTable:
    """Return the policies that were played as a table; gaps come in reward units.

    Those that draw their actions (mixed) are not kept.
    """
    sizes = [int(log.size[0]) for log in logs]

    def column(name: str) -> Any:
        pairs = zip(logs, sizes, strict=True)
        return stacked([getattr(log, name)[None, :size] for log, size in pairs])

    room = len(logs) * max(sizes) * logs[0].policy[0].size
    return DecisionTable(
        "policies",
        plays=column("plays"),
        last=column("last"),
        gaps=scale * column("gap"),
        policies=column("policy") if room <= LARGEST_POLICIES and not mixed else None,
    )


def policy_phases(notes: Sequence[Sequence[PhaseNote]], scale: float) -> PhaseTable:
    """Return the phases of policies as a table; errors come in reward units."""
    if not any(notes):
        return PhaseTable()
    rounds = [np.array([x[:2] for x in each], np.int64).reshape(1, -1, 2) for each in notes]
    facts = [np.array([x[2:] for x in each], np.float64).reshape(1, -1, 3) for each in notes]
    return PhaseTable(rounds=stacked(rounds), facts=stacked(facts) * [1.0, scale, 1.0])


def look_names(looks: Sequence[LookLog], problem: TabularMDP) -> dict[str, Any]:
    """Return what looks said, by the public names of a record, in reward units."""
    low = problem.horizon * problem.low
    facts = [x.facts * problem.scale + [0.0, 0.0, low, low, 0.0] for x in looks]
    return {
        "look_first": stacked([x.first[None] for x in looks]),
        "look_facts": stacked([each[None] for each in facts]),
        "actions_left": np.stack([x.left for x in looks]),
        "actions_dropped": np.stack([x.dropped for x in looks]),
        "empty_at": np.array([x.empty_at for x in looks]),
        "event_held": np.array([x.held for x in looks]),
    }


def event_held(notes: Sequence[Sequence[PhaseNote]]) -> B1 | None:
    """Return whether every estimate of every closed phase was good enough, (M,).

    None where that is not known: there are no phases, or one whose policies were never listed.
    """
    closed = [[note for note in each if not math.isnan(note.saturated)] for each in notes]
    if not any(notes) or any(math.isnan(note.error) for each in closed for note in each):
        return None
    return np.array(
        [
            all(note.error <= 2.0 ** (-m - 1) for m, note in enumerate(each, start=1))
            for each in closed
        ]
    )
