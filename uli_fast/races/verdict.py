"""What a race has shown, from its scores: ranking, intervals, certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64, About, Stopped
from uli_fast.formulas.betting_elimination import ELIMINATION, log_interval, log_threshold
from uli_fast.formulas.mixture import LOG_2, outer_boundary
from uli_fast.players._certificate import Certificate, gap_bound
from uli_fast.races.scores import Field, Scores
from uli_fast.results.race import MissingScore, Race, Standing

_ORDER = "the order of the instances is random: the seed was not chosen by what it leads to"
_FIXED = (
    "what evaluate returns for a candidate and an instance depends neither on the order of the "
    "instances nor on what was evaluated before or beside it (if it is random: what it would "
    "return)"
)
_AGAIN = (
    "a score that was asked for again is the one that would have come at first: that none came "
    "had nothing to do with what it would have been"
)
_DRAWS = (
    "instances are independent draws from the population: given all earlier ones and their "
    "scores, a candidate's score on the next one has that candidate's mean"
)


class Rules(NamedTuple):
    """What decides a race besides its scores."""

    delta: float
    eps: float | None
    batch: int
    about: About
    seed: int


class Course(NamedTuple):
    """How a race went."""

    state: Any  # RaceState
    dropped: dict[int, tuple[int, int, int]]  # candidate -> instances, evaluations, leader
    bound: float
    stopped: Stopped


def levels(K: int, delta: float) -> tuple[float, float]:
    """Return the logs of the wealth that drops a candidate, and of that against a mean."""
    return log_threshold(K, ELIMINATION * delta), log_interval(2 * K, delta)


def verdict(field: Field, scores: Scores, rules: Rules, went: Course, order: I64) -> Race:
    """Return what came of a race, in the caller's units."""
    n, (total, K) = int(went.state.n[0]), scores.done.shape
    intervals = _intervals(scores, rules)
    standings = [_standing(field, scores, went, a, intervals[a]) for a in range(K)]
    left = sorted(np.flatnonzero(went.state.active), key=lambda a: (-went.state.lo[a], a))
    gone = sorted(went.dropped, key=lambda a: (-went.dropped[a][0], -went.state.lo[a], a))
    ranking = tuple(standings[int(a)] for a in left) + tuple(standings[a] for a in gone)
    missing = tuple(
        MissingScore(field.names[a], int(order[row]), reason)
        for (row, a), reason in sorted(scores.reasons.items())
    )
    return Race(
        best=ranking[0].name,
        ranking=ranking,
        stopped=went.stopped,
        certificate=_certificate(field, scores, rules, went, intervals),
        about=rules.about,
        instances=n,
        evaluations=int(scores.done.sum()),
        full=total * K,
        missing=missing,
        names=field.names,
        order=order[:n],
        scores=scores.raw[:n],
        delta=rules.delta,
        eps=rules.eps,
        seed=rules.seed,
    )


def _standing(
    field: Field, scores: Scores, went: Course, a: int, interval: tuple[float, float]
) -> Standing:
    made, width = scores.done[:, a], field.high - field.low
    found = scores.raw[made, a]
    came = found[np.isfinite(found)]
    at, after, by = went.dropped.get(a, (None, None, None))
    return Standing(
        name=field.names[a],
        mean=float(came.mean()) if came.size else math.nan,
        low=field.low + width * interval[0],
        high=field.low + width * interval[1],
        evaluations=int(made.sum()),
        missing=int(made.sum()) - came.size,
        dropped_at=at,
        dropped_after=after,
        beaten_by=None if by is None else field.names[by],
    )


def _intervals(scores: Scores, rules: Rules) -> list[tuple[float, float]]:
    """Return intervals on the unit scale: of KT where no score is missing, else of the mixture."""
    from uli_fast.kernels.betting.mean_intervals import mean_interval

    total, K = scores.done.shape
    N, level, found = total if rules.about == "list" else 0, levels(K, rules.delta)[1], []
    for a in range(K):
        made = scores.value[scores.done[:, a], a]  # rows up to the one at which it was dropped
        if np.isfinite(made).all():
            low, high = mean_interval(made, level, N)
            found.append((float(low), float(high)))
        else:
            found.append(_wide(made, level + LOG_2, N))
    return found


def _wide(made: F64, level: float, N: int) -> tuple[float, float]:
    """Return an interval that holds wherever in [0, 1] the missing scores would have been."""
    from uli_fast.kernels import race as kernel

    n = made.size
    low, high = (float(np.nan_to_num(made, nan=x).sum()) for x in (0.0, 1.0))
    least, most = (0.0, 1.0) if N == 0 else (low / N, (high + N - n) / N)
    if n == N:
        rounding = N * kernel.LAST_DIGIT
        return max(0.0, least - rounding), min(1.0, most + rounding)
    v = sum(kernel.variance(i, N) for i in range(1, n + 1))
    # Scores in [0, 1] have variance proxy 1/4.
    width = outer_boundary(v / 4.0, level, kernel.RHO / 4.0) / kernel.scale(n, N)
    return max(least, (low - width) / n), min(most, (high + width) / n)


def _certificate(
    field: Field,
    scores: Scores,
    rules: Rules,
    went: Course,
    intervals: Sequence[tuple[float, float]],
) -> Certificate:
    from uli_fast.kernels import race as kernel

    total, K = scores.done.shape
    N, (state, width) = total if rules.about == "list" else 0, (went.state, field.high - field.low)
    lower, upper = (np.array(x) for x in zip(*intervals, strict=True))
    bound = min(went.bound, gap_bound(lower, upper, state.active))
    n, level = int(state.n[0]), levels(K, rules.delta)[0]
    whole = kernel.envelope(n, state.v[0], level, N) * width
    return Certificate(
        round=n + 1,
        bound=width * bound,
        envelope=math.inf if scores.reasons else float(whole),
        delta=rules.delta,
        active=tuple(field.names[a] for a in np.flatnonzero(state.active)),
        proved=True,
        assumes=_assumes(rules.about, total, bool(scores.reasons)),
    )


def _assumes(about: About, total: int, missing: bool) -> tuple[str, ...]:
    """Return what is believed, and no score can confirm."""
    found = [_DRAWS]
    if about == "list":
        found = [f"averages over these {total} instances are meant, and no others", _ORDER, _FIXED]
    if missing:
        found.append("a missing score would have lain in the range")
    found.append(_AGAIN)  # by retries, or when it is resumed from a file
    return tuple(found)
