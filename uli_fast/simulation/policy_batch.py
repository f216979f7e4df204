"""All replications of a learner on a tabular MDP, and the Runs they make."""

from __future__ import annotations

import math
import threading
import time
import warnings
from typing import Any

import numpy as np

from uli_fast._support.progress import ChunkBudget, Progress
from uli_fast._typing import F64, I8, I64, Played
from uli_fast.errors import SaturationWarning
from uli_fast.guarantees import Guarantee
from uli_fast.learners._policies.runs import PolicyLearner, PolicyRun
from uli_fast.problems.tabular_mdp import TabularMDP
from uli_fast.results.runs import LARGEST_POLICIES, Runs

# Episodes of the first chunk.
FIRST_BUDGET = 1 << 8


class PolicyBatch:
    """Replications that are played one by one, in chunks of episodes."""

    def __init__(
        self,
        learner: PolicyLearner,
        problem: TabularMDP,
        T: int,
        engine: Played,
        M: int,
        rounds: I64,
    ) -> None:
        self.learner, self.problem, self.T, self.engine = learner, problem, T, engine
        self.M, self.rounds = M, rounds
        self.played: list[PolicyRun | None] = [None] * M
        self.seconds: F64 = np.zeros(M)
        self.budget = FIRST_BUDGET

    def play(self, r: int, rng: np.random.Generator, stop: threading.Event, bar: Progress) -> None:
        """Play replication r to the horizon."""
        run = self.learner.begin(self.problem, rng, self.engine, self.T, self.rounds)
        done, pace = False, ChunkBudget(self.budget)
        while not done and not stop.is_set():
            done = pace.chunk(run.advance)
            bar.report(r, min(1.0, run.t / self.T))
        self.budget, self.seconds[r] = pace.budget, pace.seconds
        self.played[r] = run

    def runs(self, seed: int, guarantee: Guarantee | None, began: float) -> Runs:
        """Return what happened."""
        played = [run for run in self.played if run is not None]
        self._warn(played)
        D = max(int(run.policy_log.size[0]) for run in played)
        scale = self.problem.scale
        return Runs(
            learner=repr(self.learner),
            problem=repr(self.problem),
            names=(),
            horizon=self.T,
            seed=seed,
            engine=self.engine,
            gaps=scale * filled(played, "gap", D),
            rounds=self.rounds,
            plays=None,
            final_plays=filled(played, "plays", D),
            last_play=filled(played, "last", D),
            eliminated_at=None,
            recorded_regret=scale * np.stack([run.policy_log.regret for run in played]),
            guarantee=guarantee,
            baseline=self.learner.baseline,
            event_held=event_held(played),
            policies=self._policies(played, D),
            visits=np.stack([run.visits for run in played]),
            **phase_arrays(played, scale),
            delta=self.learner.delta,
            elapsed=time.perf_counter() - began,
            seconds=self.seconds,
        )

    def _policies(self, played: list[PolicyRun], D: int) -> I8 | None:
        size = self.M * D * self.problem.decision_points.size
        return filled(played, "policy", D) if size <= LARGEST_POLICIES else None

    def _warn(self, played: list[PolicyRun]) -> None:
        """Say once what a run complains of."""
        complaint = next((run.complaint for run in played if run.complaint), None)
        if complaint:
            warnings.warn(complaint, SaturationWarning, stacklevel=4)


def filled(played: list[PolicyRun], name: str, D: int) -> Any:
    """Return an array of the logs, one row per replication, filled up with zeros."""
    first = getattr(played[0].policy_log, name)
    result = np.zeros((len(played), D, *first.shape[1:]), first.dtype)
    for r, run in enumerate(played):
        n = int(run.policy_log.size[0])
        result[r, :n] = getattr(run.policy_log, name)[:n]
    return result


def phase_arrays(played: list[PolicyRun], scale: float) -> dict[str, Any]:
    """Return the phases of all replications as the arrays of Runs, filled up with zeros.

    Errors come in reward units.
    """
    most = max(len(run.notes) for run in played)
    if most == 0:
        return {}
    rounds = np.zeros((len(played), most, 2), np.int64)
    facts: F64 = np.zeros((len(played), most, 3))
    for r, run in enumerate(played):
        for m, note in enumerate(run.notes):
            rounds[r, m] = note[:2]
            facts[r, m] = note.policies, scale * note.error, note.saturated
    return {"phase_rounds": rounds, "phase_facts": facts}


def event_held(played: list[PolicyRun]) -> Any:
    """Return whether every estimate of every closed phase was good enough, (M,).

    None where that is not known: there are no phases, or one whose policies were never listed.
    """
    closed = [[note for note in run.notes if not math.isnan(note.saturated)] for run in played]
    if not any(run.notes for run in played) or any(
        math.isnan(note.error) for notes in closed for note in notes
    ):
        return None
    return np.array(
        [
            all(note.error <= 2.0 ** (-m - 1) for m, note in enumerate(notes, start=1))
            for notes in closed
        ]
    )
