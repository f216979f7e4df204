"""The campaign: all cases, in a child with little memory."""

import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.hostile import case, files, runs, states


def cases(quick: bool) -> Iterator[case.Case]:
    yield from files.odd_files()
    yield from files.odd_studies()
    yield from files.giants()
    yield from files.parts()
    yield from files.study_files()
    yield from files.calls()
    yield from runs.signed_again(quick)
    yield from states.states(quick)


def child(quick: bool) -> int:
    """Run all cases under the limit; print what came out."""
    import uli_fast.study.study  # noqa: F401  (what is imported later counts against a case)

    if quick:  # tests need no speed: only what hangs is too slow
        case.SECONDS = math.inf
    resource.setrlimit(resource.RLIMIT_AS, (case.LIMIT, case.LIMIT))
    signal.signal(signal.SIGALRM, case.interrupted)
    wrong, slowest, total = [], (0.0, ""), 0
    for one in cases(quick):
        print(f"... {one.name}", file=sys.stderr, flush=True)
        seconds, problem = case.outcome(one)
        of_many = one.name.startswith("a state of")  # each of them is timed on its own
        if problem is None and seconds > case.SECONDS and not of_many:
            problem = f"took {seconds:.1f} s"
        if problem is not None:
            wrong.append(f"WRONG {one.name}: {problem}")
        if not of_many:
            slowest = max(slowest, (seconds, one.name))
        total += not of_many
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(*wrong, sep="\n")
    print(
        f"{total} odd files and calls, {states.COUNTED['states']} altered states: "
        f"{len(wrong)} wrong; slowest {slowest[0]:.2f} s ({slowest[1]}), peak {peak:.2f} GB of 2"
    )
    return int(bool(wrong))


def run(quick: bool, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run the cases in a child; one that cannot be interrupted ends with it."""
    words = ["-m", "tests.support.hostile", "--child", *(["--quick"] if quick else [])]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return subprocess.run(
        [sys.executable, *words],
        cwd=Path(__file__).parents[3],
        env=os.environ | threads,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
