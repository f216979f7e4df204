"""Running a race: blocks of instances, a look after each, and what is certain at the end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import I64, About, Stopped
from uli_fast.errors import ArgumentError, StudyError
from uli_fast.races._marks import mark
from uli_fast.races.journal import RaceOutcome, RaceRecord
from uli_fast.races.scores import NO_SCORE, Field, Scores
from uli_fast.races.verdict import Course, Rules, levels, verdict
from uli_fast.results.race import Race

# An evaluate that never works is an error, once this many instances have shown it.
HOPELESS = 10


def race(
    candidates: Mapping[str, Any] | Sequence[Any],
    evaluate: Callable[..., Any],
    instances: Iterable[Any],
    delta: float = 0.05,
    eps: float | None = None,
    *,
    batch: int = 1,
    batched: bool = False,
    n_jobs: int = 1,
    study: str | os.PathLike[str] | None = None,
    about: About = "list",
    low: float = 0.0,
    high: float = 1.0,
    seed: int | None = None,
) -> Race:
    """Find the best of some candidates on common instances, without evaluating all on all.

    With probability 1 - delta the best candidate is never dropped, and every candidate still in
    the race is within ``certificate.bound`` of it, at every look.

    Parameters
    ----------
    candidates
        A mapping from names to candidates, a list of (name, candidate), or a list of texts.
    evaluate
        ``evaluate(candidate, instance)`` returns a score in [low, high], larger is better. What
        it raises, or None, makes the score missing: it is taken at its worst, and its reason kept.
    instances
        What candidates are evaluated on, in a random order that the seed decides.
    delta
        The probability with which the verdict may be wrong.
    eps
        Stop once everybody left is certainly within eps of the best, in the units of scores;
        less than high - low, as everybody is within that before any score.
    batch
        The fewest instances between two looks at which candidates may be dropped. From
        50 ``batch`` instances on, looks come after 2 % more.
    batched
        ``evaluate(candidate, [instance, ...])`` takes all instances up to the next look and
        returns a list of scores.
    n_jobs
        Threads in which evaluate is called; -1: one per core. The result does not depend on it.
    study
        A file that keeps every score: a race that was killed goes on from there.
    about
        Whose averages are compared: those over the "list" of instances as it was given, whatever
        they are, or those of the "population" that they are independent draws from.
    low, high
        The range of scores.
    seed
        Decides the order of the instances; drawn and recorded if None.

    Returns
    -------
    Race
        The verdict: ``best``, ``ranking``, ``certificate``, ``saved``.

    Examples
    --------
    >>> import uli_fast as uli
    >>> race = uli.race(
    ...     {"short": 0.6, "long": 0.9},
    ...     lambda prompt, item: float(item < prompt),
    ...     [i / 200 for i in range(200)],
    ...     seed=1,
    ... )
    >>> race.best, race.certificate.bound
    ('long', 0.0)
    >>> race.evaluations < 400  # what it took, of all 400
    True
    """
    named = _check.candidates("candidates", candidates)
    items = _check.instances("instances", instances)
    _check.race_size("instances", len(items), len(named))
    bounds, together = _check.interval(low, high), _check.flag("batched", batched)
    given: dict[str, Any] = {
        "candidates": list(named),
        "instances": len(items),
        "delta": _check.in_open_unit("delta", delta),
        "eps": None if eps is None else _check.part_of_range("eps", eps, *bounds),
        "batch": _check.whole("batch", batch),
        "about": _check.one_of("about", about, ("list", "population")),
        "low": bounds[0],
        "high": bounds[1],
        "seed": None if seed is None else _check.seed("seed", seed),
    }
    called, threads = _check.function("evaluate", evaluate), _check.jobs("n_jobs", n_jobs)
    record, known = None, list[RaceOutcome]()
    if study is not None:
        given["candidates_mark"], given["instances_mark"] = mark(named.values()), mark(items)
        record, given, known = RaceRecord.open(study, given)
    try:
        seed = _check.seed("seed", given["seed"])
        rules = Rules(given["delta"], given["eps"], given["batch"], given["about"], seed)
        order = shuffled(len(items), seed)
        field = Field(
            tuple(named),
            tuple(named.values()),
            called,
            _Ordered(items, order),
            together,
            *bounds,
            [],
        )
        scores = Scores(field, known, record)
        went = _run(scores, rules, threads)
        scores.check_all_used()
    except BaseException:
        if record is not None:
            with contextlib.suppress(StudyError):  # what ended the race matters more
                record.close()
        raise
    if record is not None:
        record.close()
    return verdict(field, scores, rules, went, order)


def shuffled(N: int, seed: int) -> I64:
    """Return a random order of N instances, the same for a seed on every machine and version."""
    words = np.random.PCG64(seed).random_raw(N)
    return np.argsort(words, kind="stable")


class _Ordered(Sequence[Any]):
    """Instances in the order of the race."""

    def __init__(self, items: Sequence[Any], order: I64) -> None:
        self._items, self._order = items, order

    def __getitem__(self, row: Any) -> Any:
        return self._items[int(self._order[row])]

    def __len__(self) -> int:
        return len(self._order)


def _run(scores: Scores, rules: Rules, threads: int) -> Course:
    jobs = ThreadPoolExecutor(threads) if threads > 1 else None
    try:
        return _looks(scores, rules, jobs)
    finally:
        if jobs is not None:
            jobs.shutdown(wait=False, cancel_futures=True)


def _looks(scores: Scores, rules: Rules, jobs: ThreadPoolExecutor | None) -> Course:
    from uli_fast.kernels import race as kernel
    from uli_fast.kernels.betting.wealth import next_look

    total, K = scores.done.shape
    N = total if rules.about == "list" else 0
    level, (state, n) = levels(K, rules.delta)[0], (kernel.new_race(K), 0)
    eps = -1.0 if rules.eps is None else rules.eps / scores.width
    bound, evaluations, dropped = 1.0, 0, dict[int, tuple[int, int, int]]()
    while n < total and state.active.sum() > 1 and bound > eps:
        rows = range(n, min(total, max(n + rules.batch, next_look(n))))
        before = state.active.copy()
        scores.need(rows, before, jobs)
        n, evaluations = rows.stop, evaluations + len(rows) * int(before.sum())
        if n >= min(HOPELESS, total) and len(scores.reasons) == evaluations:
            reason = next(iter(scores.reasons.values()))
            first = next(iter(scores.problems), None)
            said = f"has returned no score yet: {reason}"
            if reason == NO_SCORE:
                said = "returned None, and no score has come yet; it must return a number"
            raise ArgumentError("evaluate", said) from first
        kernel.feed(state, *scores.ends(rows), N)
        leader = int(kernel.look(state, level, N))
        for a in np.flatnonzero(before & ~state.active):
            dropped[int(a)] = n, evaluations, leader
        bound = min(bound, kernel.gap_bound(state, level, N))
    stopped: Stopped = "no instances left"
    if state.active.sum() == 1:
        stopped = "one left"
    elif bound <= eps:
        stopped = "all left within eps"
    return Course(state, dropped, bound, stopped)
