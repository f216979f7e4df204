"""All replications of a learner on an arm set, and the Runs they make."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from uli_fast._support import clock
from uli_fast._support.progress import Progress
from uli_fast._typing import F64, I64, Played
from uli_fast.guarantees import Guarantee
from uli_fast.learners._sets import BlockLog, PlayBlock, SetLearner
from uli_fast.problems.arms import ArmBandit
from uli_fast.results import metrics
from uli_fast.results.runs import Runs


class SetBatch:
    """Replications that are played one by one, phase by phase."""

    def __init__(
        self, learner: SetLearner, problem: Any, T: int, engine: Played, M: int, rounds: I64
    ) -> None:
        self.learner, self.problem, self.T, self.engine = learner, problem, T, engine
        self.M, self.rounds = M, rounds
        self.logs: list[BlockLog] = [BlockLog() for _ in range(M)]
        self.seconds: F64 = np.zeros(M)

    def play(self, r: int, rng: np.random.Generator, stop: threading.Event, bar: Progress) -> None:
        """Play replication r to the horizon."""
        run = self.learner.begin(self.problem, rng, self.engine, self.T)
        done, begun = False, clock.now()
        while not done and not stop.is_set():
            done = run.advance()
            bar.report(r, min(1.0, run.t / self.T))
        self.logs[r], self.seconds[r] = run.log, clock.now() - begun

    def runs(self, seed: int, guarantee: Guarantee | None, began: float) -> Runs:
        """Return what happened."""
        blocks = block_arrays(self.logs, self.problem)
        first, last, gaps = blocks["block_first"], blocks["block_last"], blocks["block_gaps"]
        regret = np.stack(
            [
                metrics.block_regret(a, b, c, self.rounds)
                for a, b, c in zip(first, last, gaps, strict=True)
            ]
        )
        finite = isinstance(self.problem, ArmBandit)
        return Runs(
            learner=repr(self.learner),
            problem=repr(self.problem),
            names=self.problem.names if isinstance(self.problem, ArmBandit) else (),
            horizon=self.T,
            seed=seed,
            engine=self.engine,
            gaps=self.problem.gaps if finite else None,
            rounds=self.rounds,
            plays=None,
            **(self._by_arm() if finite else dict.fromkeys(("final_plays", "last_play"))),
            eliminated_at=None,
            recorded_regret=regret,
            guarantee=guarantee,
            baseline=self.learner.baseline,
            delta=self.learner.delta,
            elapsed=time.perf_counter() - began,
            seconds=self.seconds,
            **blocks,
        )

    def _by_arm(self) -> dict[str, I64]:
        """Return counts and last plays where the arms are finitely many."""
        M, K = len(self.logs), self.problem.n_arms
        plays, last = np.zeros((M, K), np.int64), np.zeros((M, K), np.int64)
        for r, log in enumerate(self.logs):
            for block in log.blocks:
                a = block.number
                plays[r, a] += block.last - block.first + 1
                last[r, a] = block.last
        return {"final_plays": plays, "last_play": last}


def block_arrays(logs: Sequence[BlockLog], problem: Any) -> dict[str, Any]:
    """Return the blocks of all replications as the arrays of Runs, filled up with zeros."""
    M, d = len(logs), problem.dimension
    B = max(len(log.blocks) for log in logs)
    P = max(len(log.work) for log in logs)
    phase, first, last = (np.zeros((M, B), np.int64) for _ in range(3))
    arms, gaps, work = np.zeros((M, B, d)), np.zeros((M, B)), np.zeros((M, P, 3))
    for r, log in enumerate(logs):
        k = len(log.blocks)
        phase[r, :k] = [block.phase for block in log.blocks]
        first[r, :k] = [block.first for block in log.blocks]
        last[r, :k] = [block.last for block in log.blocks]
        arms[r, :k] = [block.arm for block in log.blocks]
        gaps[r, :k] = gaps_of(problem, log.blocks)
        work[r, : len(log.work)] = log.work
    return {
        "block_phase": phase,
        "block_first": first,
        "block_last": last,
        "block_gaps": gaps,
        "block_arms": arms,
        "phase_work": work,
    }


def gaps_of(problem: Any, blocks: Sequence[PlayBlock]) -> F64:
    """Return the gaps of the arms that were played."""
    if isinstance(problem, ArmBandit):
        return problem.gaps[[block.number for block in blocks]]
    gaps: F64 = problem.gaps_of(np.array([block.arm for block in blocks]))
    return gaps
