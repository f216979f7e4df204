"""What Runs say about regret, mistakes and the guarantee.

F decreases, so over all rounds t the largest gap_t / F(t) is the largest
gap_a / F(last round of a): the last plays decide the guarantee exactly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uli_fast._typing import B1, F64, I64

if TYPE_CHECKING:
    from uli_fast.guarantees import Guarantee


# Of the interval of a failure probability, unless asked for otherwise.
LEVEL = 0.95
# F begins as the largest gap there is. On its way to a learner's scale and back, and into a ratio,
# it is rounded some five times, by 2^-53 each: a ratio of 1 comes out as 1 + 2^-51 at times.
ROUNDING = 2.0**-50


class Coverage(NamedTuple):
    """How often the guarantee failed, against what it allows, in the runs that kept F.

    Where F was withdrawn nothing is claimed and nothing is counted; ``withdrawn`` has how often.
    ``low`` and ``high`` are the exact interval (Clopper and Pearson) of the probability of a
    failure: it holds the truth with probability ``level`` at least.
    """

    failures: int
    runs: int
    rate: float
    low: float
    high: float
    delta: float  # what the guarantee allows
    level: float = LEVEL  # of the interval
    withdrawn: int = 0  # in how many runs beside these F was withdrawn

    @property
    def of_runs(self) -> str:
        """Of how many runs failures are counted, in words."""
        whose = " that kept F" if self.withdrawn else ""
        return f"{self.runs:,} {'run' if self.runs == 1 else 'runs'}{whose}"

    @property
    def percent(self) -> str:
        """The level in words, such as "95 %"."""
        return f"{100.0 * self.level:.6g} %"


class Share(NamedTuple):
    """In how many runs something happened, with the exact interval of its probability.

    ``low`` and ``high`` are Clopper and Pearson's: they hold the truth with probability
    ``level`` at least.
    """

    times: int
    runs: int
    rate: float
    low: float
    high: float
    level: float = LEVEL


class Mean(NamedTuple):
    """A mean over runs, with the interval (Student's t) of the expectation; NaN for one run."""

    mean: float
    low: float
    high: float
    level: float = LEVEL


class Phase(NamedTuple):
    """One phase of one replication."""

    number: int
    first_round: int
    last_round: int
    quota: int | None  # plays of each active arm, where a phase shares them out evenly
    active: B1  # (K,)


def regret(plays: I64, gaps: F64) -> F64:
    """Return the pseudo-regret of counts whose last axis is the arms."""
    return plays @ gaps


def worst_ratio(last_play: I64, gaps: F64, guarantee: Guarantee | None) -> F64:
    """Return the largest gap_t / F(t) over all rounds, for each replication."""
    if guarantee is None:
        return np.full(last_play.shape[0], np.nan)
    each = np.broadcast_to(gaps, last_play.shape)
    bad = (each > 0.0) & (last_play > 0)
    ratios = np.zeros(last_play.shape)
    if bad.any():
        ratios[bad] = each[bad] / guarantee.bound(last_play[bad])
    worst: F64 = ratios.max(axis=1, initial=0.0)
    return worst


def kept(ratio: F64) -> B1:
    """Return whether a largest gap_t / F(t) is at most 1, but for the rounding of a 1."""
    return ratio <= 1.0 + ROUNDING


def mistakes(final_plays: I64, gaps: F64, eps: float) -> I64:
    """Return N_eps, the number of plays with a gap above eps."""
    count: I64 = np.where(gaps > eps, final_plays, 0).sum(axis=1)
    return count


def last_mistake(last_play: I64, gaps: F64, eps: float = 0.0) -> I64:
    """Return the last round with a gap above eps, 0 if there is none."""
    last: I64 = np.where(gaps > eps, last_play, 0).max(axis=1, initial=0)
    return last


def at_looks(first: I64, said: F64, rounds: I64) -> F64:
    """Return what the last look up to each round said, (M, P); rows end with zeros."""
    rows = zip(first, said, strict=True)
    return np.stack([x[np.searchsorted(f[f > 0], rounds, side="right") - 1] for f, x in rows])


def gap_from(last_play: I64, gaps: F64, rounds: I64) -> F64:
    """Return the largest gap played at or after each of the rounds, (M, P)."""
    still = last_play[:, None, :] >= rounds[None, :, None]
    ahead: F64 = np.where(still, _each(gaps), 0.0).max(axis=2, initial=0.0)
    return ahead


def _each(gaps: F64) -> F64:
    """Return gaps with room for the recorded rounds, where they differ by replication."""
    return gaps if gaps.ndim == 1 else gaps[:, None, :]


def coverage(holds: B1, delta: float, level: float = LEVEL, withdrawn: int = 0) -> Coverage:
    """Count failures, with the exact interval of their probability."""
    return Coverage(*share_of(~holds, level)[:5], delta, level, withdrawn)


def share_of(happened: B1, level: float = LEVEL) -> Share:
    """Count the runs in which something happened, with the exact interval of its probability."""
    from scipy.stats import beta

    runs, times, miss = happened.size, int(happened.sum()), (1.0 - level) / 2.0
    low = 0.0 if times == 0 else float(beta.ppf(miss, times, runs - times + 1))
    high = 1.0 if times == runs else float(beta.isf(miss, times + 1, runs - times))
    return Share(times, runs, times / runs, low, high, level)


def mean_of(values: F64 | I64, level: float = LEVEL) -> Mean:
    """Return the mean over runs with its interval by Student's t; one run has none."""
    from scipy.stats import t

    mean, runs = float(values.mean()), values.size
    if runs == 1:
        return Mean(mean, math.nan, math.nan, level)
    half = float(t.isf((1.0 - level) / 2.0, runs - 1) * values.std(ddof=1) / math.sqrt(runs))
    return Mean(mean, mean - half, mean + half, level)


def on_inferior(plays: I64, gaps: F64) -> I64:
    """Return how many of the plays went to arms with a gap: patients on inferior arms."""
    return mistakes(plays, gaps, 0.0)


def events_avoided(plays: I64, gaps: F64) -> F64:
    """Return by how much the expected reward exceeds that of equal allocation.

    With rewards 1 (a good outcome) and 0 (an event) this is the expected number of events that
    equal allocation of as many patients would have had, minus that of these plays. It is below
    zero where worse arms were played more often than by equal shares.
    """
    avoided: F64 = plays.sum(axis=1) * gaps.mean() - plays @ gaps
    return avoided


def phases(eliminated_at: I64, quotas: I64, horizon: int) -> list[Phase]:
    """Rebuild the phases of one replication from its eliminations."""
    result: list[Phase] = []
    first = 1
    for number, quota in enumerate(quotas.tolist(), start=1):
        active = (eliminated_at == 0) | (eliminated_at >= first)
        last = first + quota * int(active.sum()) - 1
        result.append(Phase(number, first, min(last, horizon), quota, active))
        first = last + 1
        if first > horizon:
            break
    return result


def fixed_phases(eliminated_at: I64, lengths: I64, horizon: int) -> list[Phase]:
    """Rebuild the phases of one replication whose lengths do not depend on eliminations.

    They end for good once a single arm is left.
    """
    result: list[Phase] = []
    first = 1
    for number, length in enumerate(lengths.tolist(), start=1):
        active = (eliminated_at == 0) | (eliminated_at >= first)
        last = horizon if active.sum() == 1 else min(first + length - 1, horizon)
        result.append(Phase(number, first, last, None, active))
        first = last + 1
        if first > horizon:
            break
    return result


class SetPhase(NamedTuple):
    """One phase of one replication on an arm set."""

    number: int
    first_round: int
    last_round: int
    arms: F64  # (k, d) played, in order
    gaps: F64  # (k,)
    plays: I64  # (k,)
    oracle_calls: int
    swaps: int
    seconds: float


def block_regret(first: I64, last: I64, gaps: F64, rounds: I64) -> F64:
    """Return the pseudo-regret at each round of blocks that play one arm each, (P,)."""
    played = np.minimum(rounds[:, None], last) - first + 1
    regret: F64 = (np.maximum(played, 0) * gaps).sum(axis=1)
    return regret


def set_phases(
    number: I64, first: I64, last: I64, gaps: F64, arms: F64, work: F64
) -> list[SetPhase]:
    """Collect the blocks of one replication into phases."""
    result: list[SetPhase] = []
    for m in sorted(set(number[number > 0].tolist())):
        of = number == m
        calls, swaps, seconds = work[m - 1].tolist()
        plays = last[of] - first[of] + 1
        begin, end = int(first[of].min()), int(last[of].max())
        result.append(
            SetPhase(m, begin, end, arms[of], gaps[of], plays, int(calls), int(swaps), seconds)
        )
    return result


class PolicyPhase(NamedTuple):
    """One phase of one replication on a tabular MDP.

    ``policies`` are the active ones, ``error`` the largest |estimate - value| over them in
    reward units, ``saturated`` the share of its episodes in whose initial state nothing is
    known yet. NaN: the phase was cut short, or the policies were never listed (method
    "search").
    """

    number: int
    first_round: int
    last_round: int
    policies: float
    error: float
    saturated: float


def policy_phases(rounds: I64, facts: F64) -> list[PolicyPhase]:
    """Return the phases of one replication; rows of zeros are filling."""
    rows = zip(rounds.tolist(), facts.tolist(), strict=True)
    return [
        PolicyPhase(m, first, last, int(n) if np.isfinite(n) else n, *rest)
        for m, ((first, last), (n, *rest)) in enumerate(rows, start=1)
        if last > 0
    ]
