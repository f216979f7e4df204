"""Two learners on one table of rewards, and when one overtakes the other for good.

Paths depend neither on the rounds recorded nor on how far they are played. A search can
therefore play them again and look more closely, and is exact to the round.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._support.streams import spawned, stream_words
from uli_fast._typing import F64, I64, Total
from uli_fast.learners._arms import indexed
from uli_fast.learners._setting import ArmSetting
from uli_fast.problems.arms import ArmBandit
from uli_fast.simulation.runner import run_on_threads

if TYPE_CHECKING:
    from uli_fast.kernels.rewards.laws import Law

# Rewards of a table, over all arms; where it takes more, the others are not shared. That many
# take 0.4 GB a thread if they are 0 or 1, else 0.8 GB; a table is as long as it has to be.
LARGEST_TABLE = 10**8
# Rewards drawn at a time.
PIECE = 1 << 20
FIRST_COLUMNS = 1 << 10
# Rounds that one pass of a search records.
POINTS = 1 << 14
# Steps of a kernel between two looks at a run.
CHUNK = 1 << 16
# What is reported of a pair of runs until it is done.
ALMOST = 0.999
# Regrets that differ by less, relatively, are equal: gaps are rounded numbers.
SAME = 1e-12


class _StoppedError(Exception):
    """Another thread has failed, or Ctrl-C was pressed."""


@dataclass(frozen=True)
class Match:
    """A ULI learner, its rival, and what they play on."""

    uli: ArmSetting
    rival: ArmSetting
    horizon: int
    seed: int

    @property
    def problem(self) -> ArmBandit:
        """What both play."""
        problem: ArmBandit = self.uli.about
        return problem

    @cached_property
    def tabled(self) -> bool:
        """Whether rewards are drawn, and so have to be kept for the other learner."""
        from uli_fast.kernels.rewards.laws import DETERMINISTIC, TABLE, RealLaw

        law = self.problem.law(stream_words(0, 0, 1), "skip")
        return not (isinstance(law, RealLaw) and law.kind in (DETERMINISTIC, TABLE))

    @property
    def random(self) -> bool:
        """Whether runs differ from each other."""
        return self.tabled or self.uli.learner.draws or self.rival.learner.draws

    def each(
        self,
        runs: int,
        threads: int,
        play: Callable[[CoupledRun, int], None],
        report: Callable[[int, float], None] | None = None,
    ) -> None:
        """Hand the pair of runs of every replication to a function, on threads.

        While they are played, ``report`` is told about how much of each is done.
        """

        def play_one(r: int, stop: threading.Event) -> None:
            try:
                play(CoupledRun(self, r, stop, report), r)
            except _StoppedError:
                return

        run_on_threads(range(runs), min(threads, runs), play_one)

    def mean_tau(self, rounds: Sequence[int | None], threads: int) -> int | None:
        """Return the turning point of the mean regrets, given those of the runs.

        Every ULI learner has settled by the horizon; where all runs have turned, so has
        their mean.
        """
        M, last = len(rounds), max(self.horizon if tau is None else tau for tau in rounds)

        def regrets(points: I64) -> F64:
            each = np.zeros((M, 2, points.size))

            def keep(pair: CoupledRun, r: int) -> None:
                each[r] = pair.regrets(points)

            self.each(M, threads, keep)
            mean: F64 = each.mean(axis=0)
            return mean

        found = last_ahead(regrets, last)
        return None if found == last else found + 1


class CoupledRun:
    """One replication: both learners, and the rewards that they share."""

    def __init__(
        self,
        match: Match,
        r: int,
        stop: threading.Event,
        report: Callable[[int, float], None] | None = None,
    ) -> None:
        self.match, self.stop = match, stop
        self._number, self._report, self._told = r, report, 0.0
        streams = spawned(stream_words(match.seed, r, 1)[0], match.problem.n_arms + 2)
        self._own, self._arms = streams[:2], streams[2:]  # the arms' go on with a longer table
        self.table: Total | None = None  # (K, columns + 1) prefix sums
        self.coupled = True
        self.tv = 0.0
        self.last: int | None = None  # the round whose reward removed the last worse arm
        self.regret = 0.0  # of the ULI learner from then on
        if match.tabled:
            self._settle()
        else:
            self._drop(match.horizon)

    def tell(self, fraction: float = 0.0) -> None:
        """Report about how much is done: settling is one half, the rival's way the other."""
        if self._report is not None:
            self._told = max(self._told, min(fraction, ALMOST))
            self._report(self._number, self._told)

    @property
    def longest(self) -> int:
        """The most columns that the table may have."""
        return min(self.match.horizon, LARGEST_TABLE // self.match.problem.n_arms)

    def _settle(self) -> None:
        """Let the ULI learner drop all worse arms, on a table as long as that takes."""
        longest, columns = self.longest, 0
        while columns < longest:
            columns = min(max(FIRST_COLUMNS, 2 * columns), longest)
            self._lay_out(columns)
            if self._drop(columns) <= columns:
                return
        # The same table nevertheless: drawing again would let short runs replace long
        # ones. Beyond it each learner draws its own rewards.
        self.coupled = False
        self._drop(self.match.horizon)

    def _lay_out(self, columns: int) -> None:
        """Draw the first rewards of every arm, going on where a shorter table ended."""
        from uli_fast.kernels.rewards.laws import BernoulliLaw, draw_rewards

        laws = [self.match.problem.law(words, "rounds") for words in self._arms]
        kind = np.int32 if isinstance(laws[0], BernoulliLaw) else np.float64
        table, known = np.zeros((len(laws), columns + 1), kind), 0
        if self.table is not None:
            known = self.table.shape[1] - 1
            table[:, : known + 1] = self.table
        rewards = np.zeros(min(PIECE, columns - known))
        for a, law in enumerate(laws):
            for n in range(known, columns, PIECE):
                if self.stop.is_set():
                    raise _StoppedError
                some = rewards[: columns - n]
                draw_rewards(law, a, n, some)
                sums = table[a, n + 1 : n + 1 + some.size]
                np.cumsum(some, out=some)
                sums[...] = some + table[a, n]
                rows = known + (a * (columns - known) + n + some.size - known) / len(laws)
                self.tell(0.5 * rows / self.longest)
        self.table = table

    def law(self, on: ArmSetting) -> Law:
        """Return the rewards of a learner: the table's, then its own."""
        words = self._own[[int(on is self.match.rival)]]  # a copy, (1, 4)
        law = self.match.problem.law(words, "skip")
        known: Any = {} if self.table is None else {"prefix": self.table}
        return law._replace(**known)

    def _drop(self, columns: int) -> int:
        """Play until the last worse arm is dropped; return the largest count by then."""
        H, worse = self.match.horizon, self.match.problem.gaps > 0.0
        path = CoupledPath(self, self.match.uli, np.array([H]))
        state, self.last = path.state, None
        while state.active[worse].any() and state.n.max() <= columns and not path.done:
            path.advance()
            self.tell(0.5 * path.t / H)
        self.tv = float(state.tv[0])
        last = int(state.eliminated[worse].max(initial=0))
        if state.active[worse].any() or last > H:
            self.match.problem.check_supply(path.plays)
            return int(path.plays.max())
        self.last = last
        plays = self.counts(self.match.uli, np.array([max(last, 1)]))[0]
        self.regret = float(plays @ self.match.problem.gaps)
        return int(plays.max())

    def counts(self, on: ArmSetting, rounds: I64) -> I64:
        """Return the plays of every arm up to each of the rounds, (P, K)."""
        path = CoupledPath(self, on, rounds)
        while not path.done:
            path.advance()
        self.match.problem.check_supply(path.plays)
        return path.counts

    def regrets(self, rounds: I64) -> F64:
        """Return the pseudo-regret of both at each of the rounds, (2, P)."""
        assert self.last is not None
        until, where = np.unique(np.minimum(rounds, max(self.last, 1)), return_inverse=True)
        own = self.counts(self.match.uli, until)[where]
        return np.stack([own, self.counts(self.match.rival, rounds)]) @ self.match.problem.gaps

    def tau(self) -> int | None:
        """Return the turning point, None if it is not reached by the horizon."""
        if self.last is None:
            return None
        if self.regret == 0.0:
            return 1
        reached = self._reach()
        if reached is None or reached > self.last:
            return reached
        return 1 + last_ahead(self.regrets, self.last)

    def _reach(self) -> int | None:
        """Return the round in which the rival's regret reaches that of the ULI learner."""
        H, gaps = self.match.horizon, self.match.problem.gaps
        path = CoupledPath(self, self.match.rival, spread(max(0, H - POINTS), H, POINTS))
        low = 0
        while ahead(self.regret, path.plays @ gaps) and not path.done:
            low = path.t
            path.save()
            path.advance()
            self.match.problem.check_supply(path.plays)
            reached = float(path.plays @ gaps) / self.regret
            self.tell(0.5 + 0.5 * max(path.t / H, reached))
        self.tv += float(path.state.tv[0])
        if ahead(self.regret, path.plays @ gaps):
            return None
        high = min(path.t, H)
        while high - low > 1:
            points = spread(low, high, POINTS)
            i = int(ahead(self.regret, path.again(points) @ gaps).argmin())
            low, high = int(points[i - 1]) if i else low, int(points[i])
        return high


class CoupledPath:
    """A learner on its way; it can be taken back to where it was saved."""

    def __init__(self, pair: CoupledRun, on: ArmSetting, rounds: I64) -> None:
        from uli_fast.kernels.arms.state import RoundRecord

        counts = np.zeros((1, rounds.size, on.K), np.int64)
        self.record = RoundRecord(rounds, counts, np.zeros((1, 1), np.int64))
        self._law: Any = pair.law(on)
        engine, horizon = on.learner.engines_for(on.about)[0], int(rounds[-1])
        self._run = on.learner.begin(on, self._law, self.record, engine, horizon)
        self.state = indexed(self._run.states, 0)
        self._pair, self.done = pair, False

    @property
    def t(self) -> int:
        """Rounds played; a block may go beyond the horizon."""
        return int(self.state.clock[0])

    @property
    def counts(self) -> I64:
        """Plays of every arm at the recorded rounds, (P, K)."""
        counts: I64 = self.record.plays[0]
        return counts

    @property
    def plays(self) -> I64:
        """Plays of every arm so far, or up to the horizon."""
        plays: I64 = self.counts[-1] if self.done else self.state.n
        return plays

    def advance(self) -> None:
        """Play on for a while."""
        if self._pair.stop.is_set():
            raise _StoppedError
        self.done = self._run.advance(CHUNK)
        self._pair.tell()

    def save(self) -> None:
        """Keep what decides how a rival goes on: its state, and its stream."""
        urn = [self._law.urn] if hasattr(self._law, "urn") else []
        self._live = [*self.state, self._law.words, *urn]
        self._kept = [x.copy() for x in self._live]

    def again(self, rounds: I64) -> I64:
        """Play on from where the path was saved and return the counts at the rounds, (P, K)."""
        for now, then in zip(self._live, self._kept, strict=True):
            now[...] = then
        size, end = rounds.size, int(rounds[-1])
        self.record.rounds[:size] = rounds
        self.record.rounds[size:] = end + 1 + np.arange(self.record.rounds.size - size)
        self.record.at[:] = 0
        while self.t < end:
            self.advance()
        return self.counts[:size]


def ahead(own: Any, rival: Any) -> Any:
    """Say where a regret is larger than the rival's, beyond rounding."""
    return own > rival * (1.0 + SAME)


def spread(low: int, high: int, size: int) -> I64:
    """Return up to ``size`` rounds in low+1..high, evenly spaced, the last of them high."""
    step = max(1, (high - low) // size)
    return high - step * np.arange(min(size, high - low), dtype=np.int64)[::-1]


def last_ahead(regrets: Callable[[I64], F64], last: int) -> int:
    """Return the last round up to ``last`` in which the first regret is ahead, 0 if none.

    Regrets only grow: between two rounds p < q they differ by at most the first at q minus
    the second at p. What this does not rule out is looked at more closely, from the right.
    """
    found, todo = 0, [(np.array([0]), np.array([last]))]
    while todo:
        low, high = todo.pop()
        low, high = low[low >= found], high[low >= found]
        if low.size > POINTS:
            todo.append((low[:-POINTS], high[:-POINTS]))
            low, high = low[-POINTS:], high[-POINTS:]
        if low.size == 0:
            continue
        each = max(1, POINTS // low.size)
        inner = [spread(p, q - 1, each) for p, q in zip(low.tolist(), high.tolist(), strict=True)]
        left = np.concatenate([x for p, i in zip(low, inner, strict=True) for x in ([p], i)])
        right = np.concatenate([x for q, i in zip(high, inner, strict=True) for x in (i, [q])])
        points, where = np.unique(np.concatenate([left, right]), return_inverse=True)
        first, second = np.zeros((2, points.size))
        first[points > 0], second[points > 0] = regrets(points[points > 0])
        found = max(found, int(points[ahead(first, second)].max(initial=0)))
        possible = ahead(first[where[left.size :]], second[where[: left.size]])
        possible &= right - left > 1
        todo.append((left[possible], right[possible]))
    return found
