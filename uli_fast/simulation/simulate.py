"""Simulation: seeds, chunks, threads and progress; the only place that chooses an engine."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from uli_fast import _check
from uli_fast._support.progress import ChunkBudget, Progress, progress_bar
from uli_fast._typing import F64, I64, U64, Engine, Played
from uli_fast.errors import ArgumentError
from uli_fast.learners._arms import ArmLearner, ArmRun
from uli_fast.learners._base import Learner
from uli_fast.learners._policies.runs import PolicyLearner
from uli_fast.learners._sets import BlockLog, SetLearner
from uli_fast.problems import kinds
from uli_fast.problems.arms import ArmBandit
from uli_fast.problems.kinds import Problem
from uli_fast.problems.linear import LinearBandit
from uli_fast.problems.tabular_mdp import TabularMDP
from uli_fast.results import metrics
from uli_fast.results.runs import Runs
from uli_fast.simulation.policy_batch import PolicyBatch
from uli_fast.simulation.set_batch import SetBatch, block_arrays

if TYPE_CHECKING:
    from uli_fast.kernels.arms.state import RoundRecord

Task = TypeVar("Task")

# Counts at the recorded rounds are kept up to this size, unless asked for.
LARGEST_PLAYS = 256 * 2**20
# Steps of the first chunk, shared among the arms.
FIRST_BUDGET = 1 << 19
# Replications that are played in lockstep are dealt to threads in up to this many blocks of
# lanes: what is left of them in later phases fills whole blocks again.
BLOCKS = 4


def generator(seed: int, replication: int) -> np.random.Generator:
    """Return the generator of one replication, whatever the others are."""
    sequence = np.random.SeedSequence(seed, spawn_key=(replication,))
    return np.random.Generator(np.random.PCG64(sequence))


def generator_words(seed: int, replication: int) -> U64:
    """Return the xoshiro256++ state of one replication's lane."""
    sequence = np.random.SeedSequence(seed, spawn_key=(replication,))
    return np.asarray(sequence.generate_state(4, np.uint64), np.uint64)


def simulate(
    learner: Learner,
    problem: Problem,
    horizon: int,
    replications: int = 1,
    seed: int | None = None,
    engine: Engine = "auto",
    rounds: Iterable[int] | None = None,
    n_jobs: int = 1,
    progress: bool | Callable[[float], None] | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_plays: bool | None = None,
    first_replication: int = 0,
) -> Runs:
    """Play a learner against a problem and return what happened.

    Parameters
    ----------
    learner, problem
        What plays, and against what.
    horizon
        Number of rounds (of episodes, on a TabularMDP), up to 10**18.
    replications
        Number of independent runs; run r depends on ``seed`` and r alone.
    seed
        A whole number; None takes fresh entropy, kept in ``runs.seed``.
    engine
        "skip" jumps over rounds whose decisions are certain, exactly in law;
        "rounds" plays them one by one; "auto" skips where it can.
    rounds
        Rounds at which counts and regret are recorded; by default about 100
        log-spaced ones. Metrics over all rounds do not depend on them.
    n_jobs
        Threads; -1 for one per core. The result is the same for any number.
    progress
        None shows a bar on an interactive terminal after a second, True always,
        False never; a function receives the fraction done.
    checkpoint
        A folder in which finished replications are kept every few seconds: the same call
        again goes on from there, and one with more replications adds to them.
    keep_plays
        Whether to keep the counts at the recorded rounds; None keeps them up to
        256 MB.
    first_replication
        The number of the first replication, to add to earlier runs with the same seed.
    """
    if checkpoint is not None:
        from uli_fast.simulation.checkpoints import simulate_kept

        asked = (learner, problem, horizon, replications, seed, engine, rounds)
        return simulate_kept(checkpoint, asked, n_jobs, progress, keep_plays, first_replication)
    T = _check.horizon("horizon", horizon)
    M = _check.replications("replications", replications)
    entropy = _check.seed("seed", seed)
    recorded = _check.recorded_rounds("rounds", rounds, T)
    offset = _check.whole("first_replication", first_replication, least=0)
    threads = min(_check.jobs("n_jobs", n_jobs), M)
    chosen = check_pair(learner, problem, T, engine)
    if isinstance(learner, SetLearner | PolicyLearner):
        if keep_plays:
            raise ArgumentError("keep_plays", "is for learners on finitely many arms")
        kind: Any = SetBatch if isinstance(learner, SetLearner) else PolicyBatch
        alone = kind(learner, problem, T, chosen, M, recorded)
        return _simulate_alone(alone, (entropy, offset), threads, progress)
    assert isinstance(learner, ArmLearner) and isinstance(problem, ArmBandit)
    guarantee = learner.guarantee_if_any(problem)

    keep = keeps_plays(problem, rounds, T, M) if keep_plays is None else bool(keep_plays)
    batch = _Batch(
        learner,
        problem,
        T,
        (entropy, offset),
        chosen,
        recorded,
        _Outcome.empty(M, recorded.size, problem.n_arms, keep),
    )
    started = time.perf_counter()
    with progress_bar(progress, M) as bar:
        batch.play_all(threads, bar)
    out = batch.out
    if guarantee is not None and not guarantee.proved and np.isnan(out.ratios).all():
        # A user's bound is not saved with the runs; what it says of them is.
        out.ratios[:] = metrics.worst_ratio(out.last_play, problem.gaps, guarantee)
    quotas = learner.quotas(problem.n_arms, T, (problem.low, problem.high))
    lengths = learner.phase_lengths(problem.features, T)
    return Runs(
        learner=repr(learner),
        problem=repr(problem),
        names=problem.names,
        horizon=T,
        seed=entropy,
        engine=chosen,
        gaps=problem.gaps,
        rounds=recorded,
        plays=out.plays,
        final_plays=out.final_plays,
        last_play=out.last_play,
        eliminated_at=out.eliminated_at,
        recorded_regret=out.regret,
        guarantee=guarantee,
        baseline=learner.baseline,
        event_held=~out.broken if learner.knows_event(problem, chosen) else None,
        ratios=None if np.isnan(out.ratios).all() else out.ratios,
        quotas=None if quotas is None else np.array(quotas, np.int64),
        phase_lengths=None if lengths is None else np.array(lengths, np.int64),
        **(block_arrays(out.logs, problem) if out.logs[0].blocks else {}),
        delta=learner.delta,
        tv_bound=float(out.tv.sum()),
        tv_spent=out.tv if out.tv.any() else None,
        elapsed=time.perf_counter() - started,
        seconds=out.seconds,
    )


def check_pair(learner: Any, problem: Any, horizon: int, engine: str) -> Played:
    """Refuse what cannot be played, and what cannot be played on; return the engine."""
    for kind, played_on, what in (
        (SetLearner, LinearBandit, "a LinearBandit"),
        (PolicyLearner, TabularMDP, "a TabularMDP"),
        (ArmLearner, ArmBandit, "a bandit with finitely many arms"),
    ):
        if isinstance(learner, kind):
            if not isinstance(problem, played_on):
                raise ArgumentError("problem", f"is not {what}: {problem!r}")
            break
    else:
        said = kinds.called(learner, "simulate(learner, problem, horizon)")
        raise ArgumentError("learner", f"is not a learner: {said}")
    if isinstance(problem, ArmBandit):
        problem.check_horizon(horizon)
    player: Any = learner  # of a kind that plays this problem
    player.check(problem, horizon)
    return _check.engine(engine, player.engines_for(problem), _why_not(player, problem))


def keeps_plays(problem: Any, rounds: Any, horizon: int, replications: int) -> bool:
    """Return whether counts at the recorded rounds are kept unless asked for."""
    recorded = _check.recorded_rounds("rounds", rounds, horizon).size
    return 8 * replications * recorded * getattr(problem, "n_arms", 0) <= LARGEST_PLAYS


def _simulate_alone(
    batch: SetBatch | PolicyBatch,
    seed: tuple[int, int],
    threads: int,
    progress: bool | Callable[[float], None] | None,
) -> Runs:
    """Play replications one by one, on threads; seed comes with the first one's number."""
    guarantee = batch.learner.guarantee_if_any(batch.problem)
    began = time.perf_counter()
    with progress_bar(progress, batch.M) as bar:

        def play(r: int, stop: threading.Event) -> None:
            batch.play(r, generator(seed[0], seed[1] + r), stop, bar)

        run_on_threads(list(range(batch.M)), threads, play)
    return batch.runs(seed[0], guarantee, began)


def run_on_threads(
    tasks: Sequence[Task], threads: int, play: Callable[[Task, threading.Event], None]
) -> None:
    """Play tasks on threads; Ctrl-C and errors stop the others after their current chunk."""
    queue, lock, stop = iter(tasks), threading.Lock(), threading.Event()

    def work() -> None:
        while not stop.is_set():
            with lock:
                task = next(queue, None)
            if task is None:
                return
            play(task, stop)

    if threads == 1:
        work()
        return
    with ThreadPoolExecutor(threads) as pool:
        futures: list[Future[None]] = [pool.submit(work) for _ in range(threads)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
        for future in futures:
            future.result()


def _why_not(learner: Learner, problem: Any) -> str:
    if "skip" not in learner.engines:
        return f"{type(learner).__name__} is played round by round only"
    return f"{type(problem).__name__} has no law for the sum of many rewards"


@dataclass
class _Outcome:
    """Arrays with one slot per replication."""

    plays: I64 | None
    regret: F64
    final_plays: I64
    last_play: I64
    eliminated_at: I64
    broken: Any
    tv: F64
    ratios: F64
    seconds: F64
    logs: list[BlockLog]

    @classmethod
    def empty(cls, M: int, P: int, K: int, keep_plays: bool) -> _Outcome:
        return cls(
            plays=np.zeros((M, P, K), np.int64) if keep_plays else None,
            regret=np.zeros((M, P)),
            final_plays=np.zeros((M, K), np.int64),
            last_play=np.zeros((M, K), np.int64),
            eliminated_at=np.zeros((M, K), np.int64),
            broken=np.zeros(M, np.bool_),
            tv=np.zeros(M),
            ratios=np.full(M, np.nan),
            seconds=np.zeros(M),
            logs=[BlockLog() for _ in range(M)],
        )


@dataclass
class _Batch:
    """All replications of one call."""

    learner: ArmLearner
    problem: ArmBandit
    T: int
    seed: tuple[int, int]  # and the number of the first replication
    engine: Played
    rounds: I64
    out: _Outcome

    def play_all(self, threads: int, bar: Progress) -> None:
        """Play every replication; Ctrl-C stops after the current chunks."""
        budgets = threading.local()

        def play(group: range, stop: threading.Event) -> None:
            first = max(1, FIRST_BUDGET // self.problem.n_arms)
            budget = getattr(budgets, "last", first)
            budgets.last = self._play_group(group, budget, stop, bar)

        run_on_threads(self._groups(threads), threads, play)

    def _groups(self, threads: int) -> list[range]:
        """Cut the replications into groups that are played together."""
        M, lanes = self.out.tv.size, self.learner.lanes_for(self.problem)
        size = lanes * min(BLOCKS, math.ceil(M / lanes / threads)) if lanes > 1 else 1
        return [range(r, min(r + size, M)) for r in range(0, M, size)]

    def _begin(self, group: range, records: list[RoundRecord]) -> list[ArmRun]:
        seed, offset = self.seed
        if self.learner.lanes_for(self.problem) == 1:
            law = self.problem.law(generator(seed, offset + group[0]), self.engine)
            return [self.learner.begin(self.problem, law, records[0], self.engine, self.T)]
        words = np.stack([generator_words(seed, offset + r) for r in group])
        return self.learner.begin_lanes(self.problem, words, records, self.T)

    def _play_group(self, group: range, budget: int, stop: threading.Event, bar: Progress) -> int:
        """Play a group in chunks; return the budget that a chunk settled on."""
        from uli_fast.kernels.arms.state import RoundRecord

        # The horizon is recorded last: its counts are the final ones.
        asked = self.rounds
        stops = asked if asked[-1] == self.T else np.append(asked, self.T)
        counts = np.zeros((len(group), stops.size, self.problem.n_arms), np.int64)
        records = [RoundRecord(stops, plays, np.zeros(1, np.int64)) for plays in counts]
        runs = self._begin(group, records)
        done, pace = False, ChunkBudget(budget)
        while not done and not stop.is_set():
            done = pace.chunk(runs[0].advance)
            for r, run, plays in zip(group, runs, counts, strict=True):
                self.problem.check_supply(plays[-1] if done else run.state.n)
                bar.report(r, min(1.0, int(run.state.clock[0]) / self.T))
        if done:
            for r, run, plays in zip(group, runs, counts, strict=True):
                self._keep(r, run, plays)
                self.out.seconds[r] = pace.seconds / len(group)  # they are played together
        return pace.budget

    def _keep(self, r: int, run: ArmRun, counts: I64) -> None:
        out, state = self.out, run.state
        kept = counts[: self.rounds.size]
        if out.plays is not None:
            out.plays[r] = kept
        out.regret[r] = metrics.regret(kept, self.problem.gaps)
        out.final_plays[r] = counts[-1]
        out.last_play[r] = state.last
        out.eliminated_at[r] = state.eliminated
        out.broken[r] = state.broken[0]
        out.tv[r] = state.tv[0]
        if run.worst_ratio is not None:
            out.ratios[r] = run.worst_ratio[0]
        if run.log is not None:
            out.logs[r] = run.log
