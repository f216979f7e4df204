"""What the replications of each kind of learner leave behind, and the Runs made of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from uli_fast._typing import F64, I64, U64, Played
from uli_fast.guarantees import Guarantee
from uli_fast.learners._arms import ArmBatch
from uli_fast.learners._sets import BlockLog, PlayBlock
from uli_fast.problems.arms import ArmBandit
from uli_fast.results import metrics
from uli_fast.results.played import (
    blocks_of,
    counted_arms,
    event_held,
    look_names,
    policy_phases,
    policy_table,
    runs_of,
)
from uli_fast.results.runs import Runs
from uli_fast.results.tables import Blocks, DecisionTable, PhaseTable

Part = TypeVar("Part")


@dataclass
class RunPlan:
    """What all replications of a call have in common."""

    on: Any  # the setting: a learner and its problem
    horizon: int
    engine: Played
    replications: int
    rounds: I64
    seed: int
    shown: str = ""  # the problem as it was given, where another is played in its place
    began: float = field(default_factory=lambda: time.perf_counter())

    def runs(
        self, guarantee: Guarantee | None, decisions: DecisionTable, phases: PhaseTable, **more: Any
    ) -> Runs:
        """Return what happened."""
        return runs_of(
            self.on.learner,
            decisions,
            phases,
            began=self.began,
            problem=self.shown or repr(self.on.about),
            horizon=self.horizon,
            seed=self.seed,
            engine=self.engine,
            rounds=self.rounds,
            guarantee=guarantee,
            **more,
        )


class ArmOutcome:
    """Learners on K arms: counts, last plays, eliminations."""

    # Steps of the first chunk, shared among the arms.
    FIRST_STEPS = 1 << 19
    # Of a group, in bytes, and how many numbers a learner may keep of an arm besides its counts.
    LARGEST_ROOM, KEPT = 1 << 25, 300

    def __init__(self, plan: RunPlan, keep_plays: bool) -> None:
        self.plan, self.horizon = plan, plan.horizon
        M, P, K = plan.replications, plan.rounds.size, plan.on.arms.K
        self.first_budget = max(1, self.FIRST_STEPS // K)
        self.largest_group = max(1, self.LARGEST_ROOM // (8 * K * (P + self.KEPT)))
        # The horizon is recorded last: its counts are the final ones.
        asked = plan.rounds
        self.stops = asked if asked[-1] == self.horizon else np.append(asked, self.horizon)
        self.plays: I64 | None = None
        if keep_plays:
            self.plays = np.empty((M, self.stops.size, K), np.int64)
        self.regret: F64 = np.empty((M, P))
        self.final_plays, self.last, self.eliminated = np.empty((3, M, K), np.int64)
        self.broken, self.tv = np.empty(M, np.bool_), np.empty(M)
        self.ratios, self.seconds = np.full(M, np.nan), np.empty(M)
        self.gaps: F64 = np.array(plan.on.about.gaps)  # writable, as kernels are compiled for
        # Of the groups that were begun and of those that are done, by their first replication.
        self._counts: dict[int, I64] = {}
        self._logs: dict[int, list[BlockLog]] = {}
        self._withdrawn: dict[int, I64] = {}

    def begin(self, group: range, words: U64) -> ArmBatch:
        """Allocate the replications of a group."""
        from uli_fast.kernels.arms.state import RoundRecord

        s, M = self.plan, len(group)
        if self.plays is None:
            counts = np.empty((M, self.stops.size, s.on.K), np.int64)
        else:
            counts = self.plays[group.start : group.stop]
        record = RoundRecord(self.stops, counts, np.zeros((M, 1), np.int64))
        law = s.on.about.law(words, s.engine)
        batch: ArmBatch = s.on.learner.begin(s.on, law, record, s.engine, s.horizon)
        self._counts[group.start] = counts
        return batch

    def check(self, group: range, batch: ArmBatch) -> None:
        """Refuse to go on where a table has no more rewards."""
        if self.plan.on.about.runs_out:
            over = batch.states.clock[:, :1] >= self.horizon
            pulls = np.where(over, self._counts[group.start][:, -1], batch.states.n)
            self.plan.on.about.check_supply(pulls.max(axis=0))

    def keep(self, group: range, batch: ArmBatch, seconds: float) -> None:
        """Keep what a finished group made."""
        from uli_fast.kernels.arms.state import regret_rows

        rows, states = slice(group.start, group.stop), batch.states
        counts = self._counts.pop(group.start)
        regret_rows(counts, self.gaps, self.regret[rows])
        self.final_plays[rows] = counts[:, -1]
        self.last[rows], self.eliminated[rows] = states.last, states.eliminated
        self.broken[rows], self.tv[rows] = states.broken[:, 0], states.tv[:, 0]
        self.seconds[rows] = seconds
        if batch.withdrawn is not None:  # a block that ends with the horizon has no round to come
            within = batch.withdrawn <= self.horizon
            self._withdrawn[group.start] = np.where(within, batch.withdrawn, 0)
        if batch.worst_ratio is not None:
            self.ratios[rows] = batch.worst_ratio
        if batch.logs is not None:
            self._logs[group.start] = batch.logs

    def runs(self, guarantee: Guarantee | None) -> Runs:
        """Return what happened."""
        s = self.plan
        learner, problem = s.on.learner, s.on.about
        if guarantee is not None and not guarantee.proved and np.isnan(self.ratios).all():
            # A user's bound is not saved with the runs; what it says of them is.
            self.ratios[:] = metrics.worst_ratio(self.last, problem.gaps, guarantee)
        quotas = learner.quotas(s.on, s.horizon)
        lengths = learner.phase_lengths(s.on, s.horizon)
        plays = self.plays
        if plays is not None and self.stops.size > s.rounds.size:
            plays = plays[:, :-1].copy()
        arms = DecisionTable(
            "arms",
            plays=self.final_plays,
            last=self.last,
            gaps=problem.gaps,
            names=problem.names,
            eliminated=self.eliminated,
            recorded=plays,
        )
        return s.runs(
            guarantee,
            arms,
            PhaseTable.planned(quotas, lengths, self._blocks() if self._logs else None),
            withdrawn=np.concatenate(in_order(self._withdrawn)) if self._withdrawn else None,
            ratios=self.ratios,
            tv=self.tv,
            recorded_regret=self.regret,
            event_held=~self.broken if learner.knows_event(s.on, s.engine) else None,
            seconds=self.seconds,
        )

    def _blocks(self) -> Blocks:
        """Return the blocks of all replications."""
        logs = list(chain.from_iterable(in_order(self._logs)))
        return blocks_on(self.plan.on.about, logs)


class SetOutcome:
    """Learners on arm sets: blocks of rounds in which one arm is played."""

    largest_group, first_budget = 1, 1

    def __init__(self, plan: RunPlan) -> None:
        self.plan, self.horizon = plan, plan.horizon
        self.logs: list[BlockLog] = [BlockLog() for _ in range(plan.replications)]
        self.seconds: F64 = np.zeros(plan.replications)

    def begin(self, group: range, words: U64) -> Any:
        """Allocate a replication."""
        s = self.plan
        return s.on.learner.begin(s.on, words[0], s.engine, s.horizon)

    def check(self, group: range, batch: Any) -> None:
        """Nothing runs out."""

    def keep(self, group: range, batch: Any, seconds: float) -> None:
        """Keep the blocks."""
        self.logs[group.start], self.seconds[group.start] = batch.log, seconds

    def runs(self, guarantee: Guarantee | None) -> Runs:
        """Return what happened."""
        s = self.plan
        blocks = blocks_on(s.on.about, self.logs)
        arms = blocks.decisions()
        if isinstance(s.on.about, ArmBandit):
            arms = counted_arms(self.logs, s.on.about.names, s.on.about.gaps)
        return s.runs(
            guarantee,
            arms,
            PhaseTable(blocks=blocks),
            withdrawn=np.array([log.withdrawn for log in self.logs]),
            recorded_regret=blocks.regret(s.rounds),
            seconds=self.seconds,
        )


class PolicyOutcome:
    """Learners on tabular MDPs: the policies played."""

    largest_group, first_budget = 1, 1 << 8  # episodes

    def __init__(self, plan: RunPlan) -> None:
        self.plan, self.horizon = plan, plan.horizon
        self.played: list[Any] = [None] * plan.replications
        self.seconds: F64 = np.zeros(plan.replications)

    def begin(self, group: range, words: U64) -> Any:
        """Allocate a replication."""
        s = self.plan
        return s.on.learner.begin(s.on, words[0], s.engine, s.horizon, s.rounds)

    def check(self, group: range, batch: Any) -> None:
        """Nothing runs out."""

    def keep(self, group: range, batch: Any, seconds: float) -> None:
        """Keep the run."""
        self.played[group.start], self.seconds[group.start] = batch, seconds

    def runs(self, guarantee: Guarantee | None) -> Runs:
        """Return what happened."""
        self._warn()
        logs, notes = [run.policy_log for run in self.played], [run.notes for run in self.played]
        problem, looks = self.plan.on.about, [run.look_log() for run in self.played]
        known = {"event_held": event_held(notes)}
        if looks[0] is not None:
            known = look_names(looks, problem)
        return self.plan.runs(
            guarantee,
            policy_table(logs, problem.scale, mixed=looks[0] is not None and looks[0].mixed),
            policy_phases(notes, problem.scale),
            recorded_regret=problem.scale * np.stack([log.regret for log in logs]),
            visits=np.stack([run.visits for run in self.played]),
            seconds=self.seconds,
            **known,
        )

    def _warn(self) -> None:
        """Say once what a run complains of."""
        run = next((run for run in self.played if run.complaint), None)
        if run:
            warnings.warn(run.complaint, run.warning, stacklevel=4)


def in_order(parts: Mapping[int, Part]) -> list[Part]:
    """Return what groups left behind in the order of their first replications."""
    return [parts[start] for start in sorted(parts)]


def blocks_on(problem: Any, logs: Sequence[BlockLog]) -> Blocks:
    """Return the blocks of all replications as a table."""
    return blocks_of(logs, [gaps_of(problem, log.blocks) for log in logs])


def gaps_of(problem: Any, blocks: Sequence[PlayBlock]) -> F64:
    """Return the gaps of the arms that were played."""
    if isinstance(problem, ArmBandit):
        return problem.gaps[[block.number for block in blocks]]
    gaps: F64 = problem.gaps_of(np.array([block.arm for block in blocks]))
    return gaps
