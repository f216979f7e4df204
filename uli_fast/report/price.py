"""What a promise costs: regret beside that of the best rival that promises nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uli_fast.report.canvas import Line
from uli_fast.report.turning import middle_regret, rival_among
from uli_fast.report.words import listed, number
from uli_fast.results.runs import Runs


def times(r: Runs, rival: Runs) -> float | None:
    """Return how many times the rival's regret it is; None where that says nothing."""
    if not (r.has_gaps and r.has_regret) or r.horizon != rival.horizon:
        return None
    other = middle_regret(rival)
    return middle_regret(r) / other if other > 0.0 else None


def price(lines: Sequence[Line]) -> list[str]:
    """Say what each learner that has F paid, beside the rival that paid the least."""
    own = [x for x in lines if not x.runs.baseline and x.runs.has_gaps and x.runs.has_regret]
    if not own:
        return []
    at = rival_among([line.runs for line in lines])
    if at is None:
        return [
            "No rival without a promise was run beside them, so that the price is not known: add "
            "KLUCB() or ThompsonSampling()."
        ]
    rival, least = lines[at], number(middle_regret(lines[at].runs))
    paid = [f"{x.name} {number(middle_regret(x.runs))}" for x in own]
    ratios = [times(x.runs, rival.runs) for x in own]
    shown = ["" if x is None else f"{number(float(f'{x:.2g}'))}\u00a0times" for x in ratios]
    if len(own) == 1 and shown[0]:
        beside = f"{paid[0]}, {shown[0]} the {least}"
    else:
        each = [f"{x} ({ratio})" if ratio else x for x, ratio in zip(paid, shown, strict=True)]
        beside = f"{listed(each)}, beside the {least}"
    said = f"{beside} of {rival.name}, the cheapest rival, which promises nothing"
    said = f"Regret up to the horizon, the median over runs: {said}."
    best = min(own, key=lambda line: middle_regret(line.runs))
    return [said, *_on_the_way(best, rival)]


def _on_the_way(line: Line, rival: Line) -> list[str]:
    """Say by how much, and when, the best learner was farthest behind the rival."""
    r, other = line.runs, rival.runs
    if not np.array_equal(r.rounds, other.rounds):
        return []
    behind = np.median(r.regret, axis=0) - np.median(other.regret, axis=0)
    worst = int(behind.argmax())
    if behind[worst] <= 0.0:
        return [f"{line.name} was never behind it at a recorded {r.unit}."]
    when = f"{r.unit}\u00a0{number(int(r.rounds[worst]))}"
    return [f"{line.name} was farthest behind it at {when}, by {number(float(behind[worst]))}."]
