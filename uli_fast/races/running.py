"""Running a race: blocks of instances, a look after each, and what is certain at the end."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._support.streams import entropy_of
from uli_fast._typing import I64, About, Stopped
from uli_fast.errors import MissingScoresWarning, StudyError
from uli_fast.formulas.betting_elimination import next_look
from uli_fast.races._marks import mark
from uli_fast.races.journal import RaceOutcome, RaceRecord
from uli_fast.races.scores import Field, Scores
from uli_fast.races.verdict import Course, Rules, levels, verdict
from uli_fast.results.race import Race
from uli_fast.simulation.runner import threads_of


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
    retries: int = 0,
    max_failures: int | None = 20,
    study: str | os.PathLike[str] | None = None,
    retry_missing: bool = True,
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
        ``evaluate(candidate, instance)`` returns a score in [low, high], larger is better. If it
        raises, or returns None, it has failed, and the score is missing: it is taken at its
        worst, and the reason kept.
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
    retries
        How often evaluate is called again where it has failed, before the score is missing.
    max_failures
        So many failed calls in a row, on three instances or more, are an outage: an
        EvaluateError ends the call, and nothing is recorded of them. None: never. A candidate
        that fails while others work is none: it has a MissingScoresWarning where more than half
        of its scores are missing.
    study
        A file that keeps every score: a race that was killed, or ended by an outage, goes on from
        there.
    retry_missing
        Whether a race that goes on from its file asks again for scores that were missing.
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
        "seed": _check.seed("seed", seed),
    }
    called = _check.function("evaluate", evaluate)
    threads = threads_of(_check.jobs("n_jobs", n_jobs))
    retries = _check.whole("retries", retries, 0)
    most = None if max_failures is None else _check.whole("max_failures", max_failures)
    again = _check.flag("retry_missing", retry_missing)
    record, known = None, list[RaceOutcome]()
    if study is not None:
        given["candidates_mark"], given["instances_mark"] = mark(named.values()), mark(items)
        record, given, known = RaceRecord.open(study, given)
    try:
        seed = entropy_of(_check.seed("seed", given["seed"]))
        rules = Rules(given["delta"], given["eps"], given["batch"], given["about"], seed)
        order = shuffled(len(items), seed)
        field = Field(
            tuple(named),
            tuple(named.values()),
            called,
            _Ordered(items, order),
            together,
            *bounds,
            retries,
            most,
        )
        scores = Scores(field, known, record)
        went = _run(scores, rules, threads, again)
        scores.finish()
    except BaseException:
        if record is not None:
            with contextlib.suppress(StudyError):  # what ended the race matters more
                record.close()
        raise
    if record is not None:
        record.close()
    found = verdict(field, scores, rules, went, order)
    if poor := [x for x in found.ranking if 2 * x.missing > x.evaluations]:
        shares = (f"{x.missing:,} of the {x.evaluations:,} scores of {x.name}" for x in poor)
        reason = next(x.reason for x in found.missing if x.candidate == poor[0].name)
        warnings.warn(
            f"missing are {', '.join(shares)}: the first of {poor[0].name} because: {reason}",
            MissingScoresWarning,
            stacklevel=2,
        )
    return found


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


def _run(scores: Scores, rules: Rules, threads: int, again: bool) -> Course:
    jobs = ThreadPoolExecutor(threads) if threads > 1 else None
    try:
        return _looks(scores, rules, jobs, threads, again)
    finally:
        if jobs is not None:
            jobs.shutdown(wait=False, cancel_futures=True)


def _looks(
    scores: Scores, rules: Rules, jobs: ThreadPoolExecutor | None, threads: int, again: bool
) -> Course:
    from uli_fast.kernels import race as kernel

    total, K = scores.done.shape
    N = total if rules.about == "list" else 0
    level, (state, n) = levels(K, rules.delta)[0], (kernel.new_race(K), 0)
    eps = -1.0 if rules.eps is None else rules.eps / scores.width
    bound, evaluations, dropped = 1.0, 0, dict[int, tuple[int, int, int]]()
    while n < total and state.active.sum() > 1 and bound > eps:
        rows = range(n, min(total, max(n + rules.batch, next_look(n))))
        before = state.active.copy()
        if not scores.known(rows, before):
            if again and scores.ask_missing_again():  # it goes on, with another past
                return _looks(scores, rules, jobs, threads, False)
            scores.evaluate(rows, before, jobs, threads)
        n, evaluations = rows.stop, evaluations + len(rows) * int(before.sum())
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
    elif again and scores.ask_missing_again():  # they may yet tell
        return _looks(scores, rules, jobs, threads, False)
    return Course(state, dropped, bound, stopped)
