"""What rows of several themes share."""

from __future__ import annotations

from typing import Any

import uli_fast as uli
from uli_fast.guarantees import Guarantee
from uli_fast.verify import VerifyOutcome, exact

# How much of what the nice event allows an adversary uses up; sums of rewards are rounded.
NEARLY = 1.0 - 1e-7
# Gaps this much above and below a threshold fall in one phase and in the next.
SIDES = 1.0 + 1e-6, 1.0 - 1e-6


def simulate(
    learner: Any, problem: Any, horizon: int, replications: int = 1, seed: int = 0, **more: Any
) -> Any:
    """Simulate on all cores; the runs do not depend on how many there are."""
    return uli.simulate(learner, problem, horizon, replications, seed, n_jobs=-1, **more)


def uli_outcome(runs: Any, what: str, printed: Guarantee) -> VerifyOutcome:
    """Count the runs that went beyond F as printed at any round, where it came to say something.

    Where the nice event held none may, and no best arm may be lost. The same for the F that
    the runs were made with.
    """
    ratio, M, delta = runs.worst_ratio_against(printed), runs.replications, printed.delta
    beyond, scheduled = ratio > 1.0, ~runs.holds
    failures = max(int(beyond.sum()), int(scheduled.sum()))
    p = exact.surprise(failures, M, delta)
    smallest = float(runs.gaps[runs.gaps > 0.0].min())
    telling, sooner = (g.rounds_until(smallest) for g in (printed, runs.guarantee))
    lost = (runs.eliminated_at[:, runs.gaps == 0.0] > 0).any(axis=1)
    on_event = int(((beyond | scheduled | lost) & runs.event_held).sum())
    return VerifyOutcome(
        f"{M} runs of {runs.horizon:.0e} rounds, {what}, delta {delta:g}",
        f"{failures} beyond F (p = {p:.2g}), {on_event} of them, or without the best arm, on E; "
        f"gap / F up to {ratio.max():.3f}; F excludes every gap from {telling:.2g} on "
        f"(F of the schedule: {runs.worst_ratio.max():.3f}, from {sooner:.2g} on)",
        p >= exact.LEAST_P and on_event == 0 and sooner <= telling < runs.horizon,
    )


def within(in_time: bool) -> str:
    """Say whether phases come as late as their numbers ask for."""
    return f"phases {'within' if in_time else 'NOT within'} log2(t + 1)"
