"""How much runs without a failure show, in words: few runs cannot show that failures are rare."""

from __future__ import annotations

import math
from collections.abc import Sequence

from uli_fast.report.words import listed, percent
from uli_fast.results import metrics


def runs_needed(delta: float, level: float = metrics.LEVEL) -> int:
    """Return how many runs without a failure keep its probability, by their interval, to delta.

    The upper end of Clopper and Pearson's interval after n runs without a failure is
    1 - ((1 - level) / 2)^(1 / n).
    """
    miss = (1.0 - level) / 2.0
    n = max(1, math.ceil(math.log(miss) / math.log1p(-delta)))
    while _highest(n, miss) > delta:  # the quotient may be rounded down
        n += 1
    return n


def _highest(n: int, miss: float) -> float:
    return -math.expm1(math.log(miss) / n)


def power(own: Sequence[tuple[str, metrics.Coverage]], proved: bool) -> list[str]:
    """Say which probabilities of a failure the runs still allow, and how many would do."""
    groups: dict[tuple[int, str], dict[float, list[str]]] = {}
    for name, c in own:
        if c.failures == 0:
            groups.setdefault((c.runs, c.of_runs), {}).setdefault(c.delta, []).append(name)
    said = []
    for (runs, of_runs), deltas in groups.items():
        names = [name for each in deltas.values() for name in each]
        whose = f" ({listed(names)})" if len(groups) > 1 else ""
        said.append(_said(runs, sorted(deltas), f"0 of {of_runs}{whose} broke F."))
    if said and proved:
        said.append("The proof does not depend on the number of runs.")
    return said


def fewest(own: Sequence[tuple[str, metrics.Coverage]], proved: bool) -> list[str]:
    """Say the same of several problems at once: of the learners with the fewest runs."""
    kept = [c for _, c in own if c.failures == 0]
    least = min((c.runs for c in kept), default=0)
    few = [("", c) for c in kept if c.runs == least]
    said = power(few, proved)
    return [f"Where there are the fewest runs, {said[0]}", *said[1:]] if said else []


def _said(runs: int, deltas: Sequence[float], seen: str) -> str:
    level, miss = f"{100.0 * metrics.LEVEL:g}\u00a0%", (1.0 - metrics.LEVEL) / 2.0
    highest = _highest(runs, miss)
    would = (
        f"{seen} That would also happen to a learner that breaks it in up to "
        f"{share_of_runs(highest)} of its runs ({level} interval, Clopper and Pearson)"
    )
    open_yet = [delta for delta in deltas if highest > delta]
    if not open_yet:
        return f"{would}, no more than the promise of {_promises(deltas)}."
    needed = listed([f"{runs_needed(delta):,}" for delta in open_yet])
    return (
        f"{would}, and the promise is {_promises(deltas)}. Showing {_promises(open_yet)} by "
        f"counting alone would take {needed} runs without a failure."
    )


def _promises(deltas: Sequence[float]) -> str:
    return listed([share_of_runs(delta) for delta in deltas])


def share_of_runs(chance: float) -> str:
    """Return a chance in percent, with as many digits as a small one needs."""
    return percent(chance, 0 if chance >= 0.1 or round(chance, 2) == chance else 2)
