"""The record of runs: which arrays there are, and what can be asked of them.

Arms, arm sets and policies leave different arrays behind. Only this room tells them apart: who
reads a record asks for what is needed, and gets an empty table where there is none of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I8, I64, Played
from uli_fast.errors import ArgumentError, UliError
from uli_fast.guarantees import Guarantee
from uli_fast.results import metrics

# The arrays of an arm set, in the order of metrics.set_phases.
BLOCKS = ("block_phase", "block_first", "block_last", "block_gaps", "block_arms", "phase_work")
# Arrays with one row per replication; gaps too, where they are those of the policies played.
PER_REPLICATION = (
    "plays",
    "final_plays",
    "last_play",
    "eliminated_at",
    "recorded_regret",
    "event_held",
    "ratios",
    "block_phase",
    "block_first",
    "block_last",
    "block_gaps",
    "block_arms",
    "phase_work",
    "policies",
    "visits",
    "phase_rounds",
    "phase_facts",
    "seconds",
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


@dataclass(eq=False)
class RunRecord:
    """The arrays of M replications, and what they say; ``Runs`` makes more of it."""

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
    seconds: F64 | None = None  # (M,) of playing; None in files of versions before 0.7

    @property
    def replications(self) -> int:
        """Number of replications M."""
        return int(self.last_and_plays()[0].shape[0])

    @property
    def unit(self) -> str:
        """What a round is called: an MDP has episodes."""
        return "round" if self.visits is None else "episode"

    @property
    def has_gaps(self) -> bool:
        """Whether the gaps of what was played are known."""
        return self.gaps is not None or self.block_gaps is not None

    @property
    def has_all_gaps(self) -> bool:
        """Whether the gaps of everything that could be played are known."""
        return self.gaps is not None and self.gaps.ndim == 1

    @property
    def has_regret(self) -> bool:
        """Whether the regret at the recorded rounds is known."""
        return self.recorded_regret is not None

    @property
    def eliminates_arms(self) -> bool:
        """Whether arms are removed for good, and it is known when."""
        return self.eliminated_at is not None and not self.baseline

    @property
    def regret(self) -> F64:
        """Pseudo-regret at the recorded rounds, (M, P)."""
        if self.recorded_regret is None:
            raise UliError("the arms' means are unknown, so there is no regret; pass means=")
        return self.recorded_regret

    def last_and_plays(self) -> tuple[I64, I64]:
        """Return the last round and the plays of each decision, arms or blocks, (M, D)."""
        if self.block_last is not None:
            assert self.block_first is not None
            return self.block_last, np.where(
                self.block_last > 0, self.block_last - self.block_first + 1, 0
            )
        assert self.last_play is not None
        assert self.final_plays is not None
        return self.last_play, self.final_plays

    def known_gaps(self) -> F64:
        """Return the gap of each decision, (D,) or (M, D)."""
        if self.block_gaps is not None:
            return self.block_gaps
        if self.gaps is None:
            raise UliError("the arms' means are unknown, so there are no gaps; pass means=")
        return self.gaps

    @property
    def worse_gaps(self) -> F64:
        """The gaps above 0, as far as they are known.

        Those of all arms; on arm sets and MDPs, those of what was played.
        """
        every = self.gaps if self.has_all_gaps else None
        gaps = self.known_gaps() if every is None else every
        worse: F64 = gaps[gaps > 0.0]
        return worse

    def decisions(self) -> Decisions:
        """Return what was decided, with its gaps, which must be known."""
        last, plays = self.last_and_plays()
        gaps = np.broadcast_to(self.known_gaps(), last.shape)
        if self.eliminated_at is not None and self.block_last is None:
            return Decisions(last, plays, gaps, self.eliminated_at > 0)
        return Decisions(last, plays, gaps, np.broadcast_to(self.settled[:, None], last.shape))

    @property
    def settled(self) -> B1:
        """In which runs no worse choice can follow the horizon, as far as is known, (M,).

        Where arms are eliminated: all worse ones are. Where policies are: one is left, a best one.
        """
        if self.eliminated_at is not None and self.gaps is not None:
            return np.asarray((self.eliminated_at > 0)[:, self.gaps > 0.0].all(axis=1))
        phases = self.policy_phases
        if phases.left.size == 0:
            return np.zeros(self.replications, np.bool_)
        current = (phases.last > 0).sum(axis=1) - 1
        left = np.take_along_axis(phases.left, current[:, None], axis=1)[:, 0]
        last, _ = self.last_and_plays()
        at_end = metrics.gap_from(last, self.known_gaps(), np.array([self.horizon]))[:, 0]
        return np.asarray((left == 1.0) & (at_end == 0.0))

    @property
    def arms(self) -> ArmTable:
        """The arms one by one, where they have names."""
        M, K = self.replications, len(self.names)
        if K == 0 or self.final_plays is None or self.last_play is None:
            none = np.zeros((M, 0), np.int64)
            return ArmTable((), np.zeros(0), none, none, none)
        gaps = np.full(K, np.nan) if self.gaps is None else self.gaps
        gone = np.zeros((M, K), np.int64) if self.eliminated_at is None else self.eliminated_at
        return ArmTable(self.names, gaps, self.final_plays, self.last_play, gone)

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
        if self.phase_rounds is not None:
            assert self.phase_facts is not None
            pairs = zip(self.phase_rounds, self.phase_facts, strict=True)
            return [metrics.policy_phases(*pair) for pair in pairs]
        if self.block_phase is not None:
            return [self._set_phases(r) for r in range(self.replications)]
        if self.eliminated_at is None:
            return None
        if self.quotas is not None:
            return [metrics.phases(row, self.quotas, self.horizon) for row in self.eliminated_at]
        if self.phase_lengths is None:
            return None
        lengths = self.phase_lengths
        return [metrics.fixed_phases(row, lengths, self.horizon) for row in self.eliminated_at]

    def _set_phases(self, replication: int) -> list[metrics.SetPhase]:
        return metrics.set_phases(*(getattr(self, name)[replication] for name in BLOCKS))

    def spanners(self, replication: int = 0) -> list[metrics.SetPhase]:
        """Return the phases of a replication whose arms are points without names."""
        if self.names or self.block_phase is None:
            return []
        return self._set_phases(replication)

    @property
    def policy_phases(self) -> PolicyPhases:
        """How many policies are left, phase by phase, where policies are eliminated."""
        if self.phase_rounds is None or self.phase_facts is None:
            none = np.zeros((self.replications, 0), np.int64)
            return PolicyPhases(none, none, none.astype(np.float64))
        first, last = self.phase_rounds[:, :, 0], self.phase_rounds[:, :, 1]
        return PolicyPhases(first, last, self.phase_facts[:, :, 0])

    @property
    def oracle_work(self) -> F64:
        """Oracle calls, swaps and seconds of each phase, (M, phases, 3), where there are any."""
        return np.zeros((self.replications, 0, 3)) if self.phase_work is None else self.phase_work

    def last_policy(self, replication: int = 0) -> I8:
        """Return the policy of the last episode, (H, S)."""
        if self.policies is None or self.last_play is None:
            raise UliError(
                "too many policies were played to remember the last one; play fewer episodes"
            )
        policy: I8 = self.policies[replication, int(self.last_play[replication].argmax())]
        return policy

    def row_names(self) -> tuple[str, ...]:
        """Return the names of the arrays with one row per replication."""
        own_gaps = self.gaps is not None and self.gaps.ndim == 2
        return (*PER_REPLICATION, "gaps") if own_gaps else PER_REPLICATION
