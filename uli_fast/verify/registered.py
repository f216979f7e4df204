"""A row of all registered learners on arms: a new one is put to the test by being registered."""

from __future__ import annotations

from typing import Any

import uli_fast as uli
from uli_fast._registry import LearnerRow, learners
from uli_fast.errors import NoGuaranteeError
from uli_fast.verify import VerifyOutcome, check, exact
from uli_fast.verify.common import simulate

DELTA = 0.3


def covered() -> dict[str, LearnerRow]:
    """Return the learners that the row runs: those on arms that need nothing but delta."""
    return learners(kind="arms", plain=True, tuned=False)


@check(
    "registered", ("_registry.py", "learners/_arms.py"), ("tests/learners/test_every_learner.py",)
)
def registered(quick: bool) -> VerifyOutcome:
    """Ours: every registered learner on arms stays within its F, or says that it has none."""
    M, T = 100 if quick else 1000, 10**5
    problem = uli.BernoulliBandit([0.7, 0.5, 0.45])
    silent, kept, beyond = 0, 0, 0
    for row in covered().values():
        learner: Any = row.load()(delta=DELTA)
        if learner.baseline:
            silent += _says_so(learner, problem)
            continue
        runs = simulate(learner, problem, T, M, seed=50, rounds=[T])
        kept += 1
        beyond = max(beyond, int((~runs.holds).sum()))
    p = exact.surprise(beyond, M, DELTA)
    return VerifyOutcome(
        f"{M} runs of {T:.0e} rounds of each, means .7, .5, .45, delta {DELTA:g}",
        f"{kept} have F, most runs beyond it {beyond} (p = {p:.2g}); {silent} say that "
        "they have none",
        p >= exact.LEAST_P and kept + silent == len(covered()),
    )


def _says_so(learner: Any, problem: Any) -> bool:
    """Return whether a learner refuses to promise anything."""
    try:
        learner.guarantee(problem)
    except NoGuaranteeError:
        return True
    return False
