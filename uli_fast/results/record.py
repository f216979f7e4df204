"""The public names of a record, and what can be asked of it.

Arms, arm sets and policies fill the tables of a record (tables.py) with different things. Only this
room tells them apart: who reads a record asks for what is needed, and gets an empty table where
there is none of it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64, I8, I64, Played
from uli_fast.errors import ArgumentError, UliError, UnsupportedError
from uli_fast.guarantees import Guarantee
from uli_fast.results import metrics
from uli_fast.results.tables import Blocks, DecisionTable, PhaseTable, tables_of

# The arrays among the public names. Kind of each, and its shape: M replications, P recorded rounds,
# D arms or policies.
ARRAYS: dict[str, tuple[str, str]] = {
    "gaps": ("float64", "D"),  # (M, D) of policies
    "rounds": ("int64", "P"),
    "plays": ("int64", "MPD"),
    "final_plays": ("int64", "MD"),
    "last_play": ("int64", "MD"),
    "eliminated_at": ("int64", "MD"),
    "recorded_regret": ("float64", "MP"),
    "event_held": ("bool", "M"),
    "withdrawn": ("int64", "M"),
    "ratios": ("float64", "M"),
    "quotas": ("int64", "q"),
    "phase_lengths": ("int64", "l"),
    "block_phase": ("int64", "MB"),
    "block_first": ("int64", "MB"),
    "block_last": ("int64", "MB"),
    "block_gaps": ("float64", "MB"),
    "block_arms": ("float64", "MBd"),
    "phase_work": ("float64", "Mw3"),
    "policies": ("int8", "MDHS"),
    "visits": ("int64", "MHSA"),
    "phase_rounds": ("int64", "Mp2"),
    "phase_facts": ("float64", "Mp3"),
    "look_first": ("int64", "Mk"),
    "look_facts": ("float64", "Mk5"),
    "actions_left": ("bool", "MHSA"),
    "actions_dropped": ("int64", "MHSA"),
    "empty_at": ("int64", "M"),
    "tv_spent": ("float64", "M"),
    "seconds": ("float64", "M"),
}
# Arrays with one row per replication; gaps too, where they are those of the policies played, and
# tv_spent, which is None where it is 0.
PER_REPLICATION = tuple(
    name for name, (_, shape) in ARRAYS.items() if shape[0] == "M" and name != "tv_spent"
)


class Decisions(NamedTuple):
    """What was decided: arms, blocks of rounds that play one arm, or policies; each (M, D)."""

    last: I64  # the last round of each, 0 if never
    plays: I64
    gaps: F64
    for_good: B1  # whether that last play is the last one, whatever follows the horizon


class ArmTable(NamedTuple):
    """Arms that have names, one by one; K is 0 where there are none."""

    names: tuple[str, ...]
    gaps: F64  # (K,), NaN where the truth is unknown
    plays: I64  # (M, K)
    last: I64  # (M, K) last round, 0 if never
    eliminated: I64  # (M, K) the round whose reward removed the arm, 0 if never


class PolicyPhases(NamedTuple):
    """Policies left, phase by phase, each (M, phases), filled up with zeros."""

    first: I64  # episode
    last: I64
    left: F64  # NaN where they were never listed


class ModelLooks(NamedTuple):
    """What looks at plausible models said, where a learner makes them."""

    first: I64  # (M, looks) first episode after each, filled up with zeros
    facts: F64  # (M, looks, 5) certificate, W, U, L, gap of what is played
    left: B1  # (M, H, S, A) actions left at the horizon
    dropped: I64  # (M, H, S, A) the first episode without each, 0 if never


# Where the tables of a record have what is public under these names.
COLUMNS = {
    "names": "decision_table.names",
    "gaps": "counted.gaps",
    "plays": "decision_table.recorded",
    "final_plays": "counted.plays",
    "last_play": "counted.last",
    "eliminated_at": "decision_table.eliminated",
    "policies": "decision_table.policies",
    "quotas": "phase_table.quotas",
    "phase_lengths": "phase_table.lengths",
    "block_phase": "blocks.phase",
    "block_first": "blocks.first",
    "block_last": "blocks.last",
    "block_gaps": "blocks.gaps",
    "block_arms": "blocks.arms",
    "phase_work": "blocks.work",
    "phase_rounds": "phase_table.rounds",
    "phase_facts": "phase_table.facts",
}


@dataclass(eq=False)
class RunRecord:
    """What happened in M replications, in two tables; ``Runs`` makes more of it.

    The names below are public, and the constructor takes them. Those of COLUMNS are kept in the
    tables alone.
    """

    learner: str
    problem: str
    names: tuple[str, ...]
    horizon: int
    seed: int | None
    engine: Played
    gaps: F64 | None  # (K,), or (M, D) of the policies played; None where the truth is unknown
    rounds: I64  # (P,)
    plays: I64 | None  # (M, P, K) counts up to and including each recorded round
    final_plays: I64 | None  # (M, K) counts at the horizon
    last_play: I64 | None  # (M, K) last round each arm was played, 0 if never
    eliminated_at: I64 | None  # (M, K) the round whose reward removed the arm, 0 if never
    recorded_regret: F64 | None = None  # (M, P)
    guarantee: Guarantee | None = None
    baseline: bool = False  # a rival without a promise, held against the bounds of others
    event_held: B1 | None = None  # (M,) all confidence intervals held
    withdrawn: I64 | None = None  # (M,) the round from which on F is not claimed, 0 if it is
    ratios: F64 | None = None  # (M,) worst ratio where F was followed round by round
    quotas: I64 | None = None  # plays per arm in phase 1, 2, ...
    phase_lengths: I64 | None = None  # rounds of phase 1, 2, ..., where they are fixed
    # On arm sets: blocks of rounds in which one arm is played, filled up with zeros.
    block_phase: I64 | None = None  # (M, B)
    block_first: I64 | None = None  # (M, B)
    block_last: I64 | None = None  # (M, B)
    block_gaps: F64 | None = None  # (M, B)
    block_arms: F64 | None = None  # (M, B, d)
    phase_work: F64 | None = None  # (M, phases, 3) oracle calls, swaps, seconds
    # On tabular MDPs, where the decisions are the D policies played, filled up with zeros.
    policies: I8 | None = None  # (M, D, H, S)
    visits: I64 | None = None  # (M, H, S, A)
    phase_rounds: I64 | None = None  # (M, phases, 2) first and last episode
    phase_facts: F64 | None = None  # (M, phases, 3) active policies, largest error, saturation
    delta: float = math.nan  # of the learner
    tv_bound: float = 0.0  # distance of the joint law of the runs from the exact one
    tv_spent: F64 | None = None  # (M,) of it, where it is positive
    elapsed: float = 0.0  # seconds, from the call to the result
    seconds: F64 | None = None  # (M,) of playing; None: not measured
    # Where boxes of plausible models are looked at from time to time, filled up with zeros.
    look_first: I64 | None = None  # (M, looks) first episode after each look
    look_facts: F64 | None = None  # (M, looks, 5) certificate, width, upper and lower value, gap
    actions_left: B1 | None = None  # (M, H, S, A)
    actions_dropped: I64 | None = None  # (M, H, S, A) first episode without an action, 0 if never
    empty_at: I64 | None = None  # (M,) first episode without a plausible model, 0 if never

    def __post_init__(self) -> None:
        columns: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, value in vars(self).pop("given").items():
            table, column = COLUMNS[name].split(".")
            columns[table][column] = value
        self.decision_table, self.phase_table = tables_of(**columns)

    @classmethod
    def of(cls, decisions: DecisionTable, phases: PhaseTable, **others: Any) -> Self:
        """Return the record of two tables, and of the other public names."""
        unknown = others.keys() - cls.__dataclass_fields__.keys() | others.keys() & COLUMNS.keys()
        if unknown:
            raise TypeError(f"no names of a record beside its tables: {sorted(unknown)}")
        runs = cls.__new__(cls)
        vars(runs).update(others, decision_table=decisions, phase_table=phases)
        return runs

    @property
    def counted(self) -> DecisionTable | None:
        """The decisions that are counted one by one: points are not."""
        return None if self.decision_table.kind == "points" else self.decision_table

    @property
    def blocks(self) -> Blocks | None:
        """The blocks of rounds, where there are any."""
        return self.phase_table.blocks

    def made(self) -> DecisionTable:
        """Return the decisions that were made: block by block, where rounds come in blocks."""
        return self.decision_table if self.blocks is None else self.blocks.decisions()

    @property
    def replications(self) -> int:
        """Number of replications M."""
        return int(self.decision_table.last.shape[0])

    @property
    def unit(self) -> str:
        """What a round is called: an MDP has episodes."""
        return "episode" if self.decision_table.kind == "policies" else "round"

    @property
    def has_gaps(self) -> bool:
        """Whether the gaps of what was played are known."""
        return self.decision_table.gaps is not None

    @property
    def has_all_gaps(self) -> bool:
        """Whether the gaps of everything that could be played are known."""
        return self.has_gaps and self.decision_table.kind == "arms"

    @property
    def has_regret(self) -> bool:
        """Whether the regret at the recorded rounds is known."""
        return self.recorded_regret is not None

    @property
    def eliminates_arms(self) -> bool:
        """Whether arms are removed for good, and it is known when."""
        return self.eliminated_at is not None and not self.baseline

    @property
    def eliminates(self) -> bool:
        """Whether arms, policies or actions are removed for good, so that runs can be settled."""
        found = self.eliminated_at is not None or self.phase_rounds is not None or self.makes_looks
        return found and not self.baseline

    @property
    def claimed(self) -> B1:
        """In which runs F, where there is one, was not withdrawn, (M,)."""
        none = np.zeros(self.replications, np.int64)
        return np.asarray((none if self.withdrawn is None else self.withdrawn) == 0)

    @property
    def regret(self) -> F64:
        """Pseudo-regret at the recorded rounds, (M, P)."""
        if self.recorded_regret is None:
            raise UliError("the arms' means are unknown, so there is no regret; pass means=")
        return self.recorded_regret

    def known_gaps(self) -> F64:
        """Return the gap of each decision that was made, (D,) or (M, D)."""
        gaps = self.made().gaps
        if gaps is None:
            raise UliError("the arms' means are unknown, so there are no gaps; pass means=")
        return gaps

    @property
    def worse_gaps(self) -> F64:
        """The gaps above 0, as far as they are known.

        Those of all arms; on arm sets and MDPs, those of what was played.
        """
        every = self.decision_table.gaps
        gaps = self.known_gaps() if every is None else every
        worse: F64 = gaps[gaps > 0.0]
        return worse

    def decisions(self) -> Decisions:
        """Return what was decided, with its gaps, which must be known."""
        made = self.made()
        gaps = np.broadcast_to(self.known_gaps(), made.last.shape)
        if made.eliminated is not None:
            return Decisions(made.last, made.plays, gaps, made.eliminated > 0)
        settled = np.broadcast_to(self.settled[:, None], made.last.shape)
        return Decisions(made.last, made.plays, gaps, settled)

    @property
    def settled(self) -> B1:
        """In which runs no worse choice can follow the horizon, as far as is known, (M,).

        Where arms are eliminated: all worse ones are. Where policies are: one is left, a best one.
        Where actions are: the certificate is 0, and the truth was plausible at every look.
        """
        held = self.decision_table
        if held.eliminated is not None and held.gaps is not None:
            return np.asarray((held.eliminated > 0)[:, held.gaps > 0.0].all(axis=1))
        if self.makes_looks and self.event_held is not None:
            return np.asarray((self.certified == 0.0) & self.event_held)
        phases = self.policy_phases
        if phases.left.size == 0:
            return np.zeros(self.replications, np.bool_)
        current = (phases.last > 0).sum(axis=1) - 1
        left = np.take_along_axis(phases.left, current[:, None], axis=1)[:, 0]
        at_end = metrics.gap_from(held.last, self.known_gaps(), np.array([self.horizon]))[:, 0]
        return np.asarray((left == 1.0) & (at_end == 0.0))

    @property
    def arms(self) -> ArmTable:
        """The arms one by one, where they have names."""
        held, M, K = self.decision_table, self.replications, len(self.names)
        if held.kind != "arms":
            none = np.zeros((M, 0), np.int64)
            return ArmTable((), np.zeros(0), none, none, none)
        gaps = np.full(K, np.nan) if held.gaps is None else held.gaps
        gone = np.zeros((M, K), np.int64) if held.eliminated is None else held.eliminated
        return ArmTable(held.names, gaps, held.plays, held.last, gone)

    def allocation(self, by: int | None = None) -> I64:
        """Return the plays of every arm by the horizon or by a recorded round, (M, K)."""
        if by is None or by == self.horizon:
            return self.arms.plays
        if self.plays is None or by not in self.rounds:
            raise ArgumentError("by", f"must be a round whose plays were recorded, got {by!r}")
        return self.plays[:, int(np.searchsorted(self.rounds, by))]

    @property
    def plays_by_arm(self) -> dict[str, I64]:
        """The counts of each arm up to the recorded rounds, (M, P), where they were kept."""
        if self.plays is None:
            return {}
        return {name: self.plays[:, :, a] for a, name in enumerate(self.names)}

    @property
    def phases(self) -> list[list[Any]] | None:
        """Phase by phase for each replication, where the learner has phases."""
        return self.phase_table.listed(self.eliminated_at, self.horizon)

    def spanners(self, replication: int = 0) -> list[metrics.SetPhase]:
        """Return the phases of a replication whose arms are points without names."""
        replication = _check.index("replication", replication, self.replications)
        blocks = self.blocks
        if blocks is None or self.decision_table.kind != "points":
            return []
        return metrics.set_phases(*(column[replication] for column in blocks))

    @property
    def policy_phases(self) -> PolicyPhases:
        """How many policies are left, phase by phase, where policies are eliminated."""
        if self.phase_rounds is None or self.phase_facts is None:
            none = np.zeros((self.replications, 0), np.int64)
            return PolicyPhases(none, none, none.astype(np.float64))
        first, last = self.phase_rounds[:, :, 0], self.phase_rounds[:, :, 1]
        return PolicyPhases(first, last, self.phase_facts[:, :, 0])

    @property
    def makes_looks(self) -> bool:
        """Whether looks at plausible models are recorded."""
        return self.look_first is not None

    @property
    def looks(self) -> ModelLooks:
        """What looks at plausible models said."""
        found = self.look_first, self.look_facts, self.actions_left, self.actions_dropped
        if any(x is None for x in found):
            raise UnsupportedError(f"{self.learner} makes no looks, so that nothing was certified")
        return ModelLooks(*found)  # type: ignore[arg-type]  # none is None

    @property
    def certified(self) -> F64:
        """What bounds the gaps of all that may be played at the horizon, (M,); NaN: nothing.

        It is NaN where the certificate was withdrawn, and for learners that make no looks.
        """
        if not self.makes_looks:
            return np.full(self.replications, np.nan)
        looks = self.looks
        return metrics.at_looks(looks.first, looks.facts[:, :, 0], np.array([self.horizon]))[:, 0]

    @property
    def oracle_work(self) -> F64:
        """Oracle calls, swaps and seconds of each phase, (M, phases, 3), where there are any."""
        return np.zeros((self.replications, 0, 3)) if self.phase_work is None else self.phase_work

    def last_policy(self, replication: int = 0) -> I8:
        """Return the policy of the last episode of a replication, (H, S)."""
        held = self.decision_table
        if held.kind != "policies":
            raise UnsupportedError(f"{self.learner} plays no policies")
        replication = _check.index("replication", replication, self.replications)
        if held.policies is None and self.look_first is not None:
            raise UnsupportedError(
                f"{self.learner} draws its actions: there is no table of them; "
                'play="deterministic" has one'
            )
        if held.policies is None:
            raise UliError(
                "too many policies were played to remember the last one; play fewer episodes"
            )
        policy: I8 = held.policies[replication, int(held.last[replication].argmax())]
        return policy

    def row_names(self) -> tuple[str, ...]:
        """Return the names of the arrays with one row per replication."""
        return (*PER_REPLICATION, "gaps") if self.unit == "episode" else PER_REPLICATION


class Column:
    """A public name for a column of a table."""

    def __init__(self, name: str, place: str) -> None:
        self._name, (self._table, self._column) = name, place.split(".")

    def __get__(self, runs: RunRecord | None, owner: type) -> Any:
        if runs is None:
            return self
        return getattr(getattr(runs, self._table), self._column, None)

    def __set__(self, runs: RunRecord, value: Any) -> None:
        own = vars(runs)
        if "decision_table" in own:
            own.update(vars(replace(runs, **{self._name: value})))
        else:  # the constructor has not seen all of them yet
            own.setdefault("given", {})[self._name] = value


for name, place in COLUMNS.items():
    setattr(RunRecord, name, Column(name, place))
