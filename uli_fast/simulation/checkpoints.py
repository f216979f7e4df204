"""``simulate(checkpoint=...)``: finished replications are kept, and only the others are run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from uli_fast import _check
from uli_fast._support.files import refused
from uli_fast._support.fingerprint import fingerprint, packages
from uli_fast._support.progress import Progress, progress_bar
from uli_fast._support.text import without_addresses
from uli_fast.errors import ArgumentError
from uli_fast.results.parts import Store, locked, refuse_strangers
from uli_fast.results.runs import Runs

# Seconds of work that a part should hold.
PART_SECONDS = 5.0


def simulate_kept(
    folder: str | os.PathLike[str],
    batch: tuple[Any, ...],
    n_jobs: int,
    progress: bool | Callable[[float], None] | None,
    keep_plays: bool | None,
    first: int,
) -> Runs:
    """Play a batch, (learner, problem, horizon, replications, seed, engine, rounds)."""
    from uli_fast.simulation.simulate import keeps_plays, paired, rounds_to_record, simulate

    target = _check.path("checkpoint", folder)
    learner, problem, horizon, replications, seed, engine, rounds = batch
    T, M = _check.horizon("horizon", horizon), _check.replications("replications", replications)
    if seed is None:
        raise ArgumentError(
            "seed", "must be given with a checkpoint: the same call resumes from it"
        )
    if first != 0:
        raise ArgumentError("first_replication", f"must be 0 with a checkpoint, got {first!r}")
    on, _ = paired(learner, problem, T, engine)
    recorded = rounds_to_record(rounds, T)
    listed = None if rounds is None else recorded.tolist()
    arms = getattr(on.about, "n_arms", 0)
    if keep_plays is None and not keeps_plays(arms, recorded.size, M):
        keep_plays = False
    identity = {
        "learner": without_addresses(repr(learner)),
        "learner_mark": fingerprint(learner),
        "problem": without_addresses(repr(problem)),
        "problem_mark": fingerprint(problem),
        "horizon": T,
        "seed": _check.seed("seed", seed),
        "engine": engine,
        "rounds": listed,
        "packages": packages((learner, problem)),
    }
    with refused(target):
        begun_before = (target / "about.json").exists()
    if not begun_before:
        refuse_strangers(target, r"\.lock|\.about\.json-.*|\.?part-.*")
    with locked(target), progress_bar(progress, 1) as bar:
        store = Store.writing(target, identity)
        size, missing = 1, store.missing(M)
        while missing:
            at, n = missing[0]
            n = min(n, size)
            kept = M - sum(count for _, count in missing)
            begun = time.perf_counter()
            part = simulate(
                learner,
                problem,
                T,
                n,
                seed,
                engine,
                listed,
                n_jobs,
                progress=_of_part(bar, kept / M, n / M),
                keep_plays=keep_plays,
                first_replication=at,
            )
            store.add(at, part)
            if time.perf_counter() - begun < PART_SECONDS / 2.0:
                size *= 2
            missing = store.missing(M)
            bar.report(0, min(0.999, 1.0 - sum(count for _, count in missing) / M))
        runs = store.load(M)
    if keep_plays and runs.plays is None:
        raise ArgumentError("keep_plays", "the checkpoint was made without them")
    return runs


def _of_part(bar: Progress, kept: float, size: float) -> Callable[[float], None]:
    """Return a function that turns the fraction done of a part into that of the whole."""
    return lambda fraction: bar.report(0, min(0.999, kept + size * fraction))
