"""How costs grow with T, K, d, the number of policies and of replications; and memory.

``python -m bench.tools.growth`` writes growth.json, which report.py turns into tables.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

import uli_fast as uli
from bench import BENCH
from bench.support.cases import DELTA, EQUAL, GAP, SPREAD, simulated
from bench.support.oracles import polytope_rows
from bench.tools.results import refuse_threads
from uli_fast.arm_sets import Ball, Polytope
from uli_fast.geometry import designs

GROWTH = BENCH / "growth.json"
# On Linux ru_maxrss starts from that of the process which started this one; VmHWM does not.
SIMULATION = """
import json, os, resource, sys, time
import uli_fast as uli
begun = time.perf_counter()
runs = uli.simulate({learner}, uli.BernoulliBandit({means}), 10**12, 1000, seed=1)
took, remark = time.perf_counter() - begun, ""
if os.path.exists("/proc/self/status"):
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak //= 1024 if sys.platform == "darwin" else 1
    remark = " (ru_maxrss: may be that of the process which started it)"
print(json.dumps({{"megabytes": peak / 1024, "seconds": took, "remark": remark}}))
"""


@dataclass(frozen=True)
class Curve:
    """Seconds against one size."""

    work: str
    short: str
    axis: str
    x: list[float]
    seconds: list[float]

    def power(self) -> float:
        """Return the slope on logarithmic axes over the last half of the points, or three."""
        first = min(len(self.x) // 2, len(self.x) - 3)
        slope = np.polyfit(np.log(self.x[first:]), np.log(self.seconds[first:]), 1)[0]
        return float(slope)


def fastest(job: Callable[[], Any], repeats: int) -> float:
    job()  # compiles
    best = math.inf
    for _ in range(repeats):
        begun = time.perf_counter()
        job()
        best = min(best, time.perf_counter() - begun)
    return best


def curve(
    names: tuple[str, str, str], x: list[int], job: Callable[[int], Callable[[], Any]], repeats: int
) -> Curve:
    """Time a job at every size; the least of the repeats."""
    print(names[0], file=sys.stderr, flush=True)
    return Curve(*names, [float(v) for v in x], [fastest(job(v), repeats) for v in x])


def playing(learner: Any, means: Any, T: int, M: int) -> Callable[[], Any]:
    return simulated(learner, uli.BernoulliBandit(means), T, M).prepare(0)


def against_rounds() -> Iterator[Curve]:
    """Yield whole runs, skipped, against T; five replications each."""
    T = [10**e for e in (6, 8, 10, 12, 15)]
    for learner, means, name, short in (
        (uli.PhasedElimination(DELTA), EQUAL, "PE-MAB, 10 equal arms", "PE-MAB, equal"),
        (uli.SuccessiveElimination(DELTA), EQUAL, "SE-MAB, 10 equal arms", "SE-MAB, equal"),
        (uli.SuccessiveElimination(DELTA), SPREAD, "SE-MAB, 10 arms with gaps", "SE-MAB, gaps"),
        (uli.UCB(DELTA), GAP, "UCB, two arms, gap .05", "UCB"),
        (uli.LilUCB(DELTA), GAP, "lil'UCB, two arms, gap .05", "lil'UCB"),
    ):
        yield curve(
            (f"{name}, 5 replications", short, "T"),
            T,
            lambda t, s=learner, m=means: playing(s, m, t, 5),
            2,
        )


def against_arms() -> Iterator[Curve]:
    K = [2, 10, 100, 1000]
    for learner, T, name in (
        (uli.SuccessiveElimination(DELTA), 10**9, "SE-MAB skip, equal arms, T = 1e9"),
        (uli.UCB(DELTA), 10**5, "UCB, equal arms, T = 1e5"),
        (uli.Exp3P(DELTA), 10**5, "Exp3.P, 16 replications, T = 1e5"),
    ):
        M = 16 if "Exp3" in name else 1
        yield curve(
            (name, name.split(",")[0], "K"),
            K,
            lambda k, s=learner, t=T, m=M: playing(s, np.full(k, 0.5), t, m),
            2,
        )


def against_dimension() -> Iterator[Curve]:
    d = [5, 10, 20, 40]

    def cloud(n: int) -> Callable[[], Any]:
        arms = np.random.default_rng(0).standard_normal((5000, n))
        return lambda: designs.g_optimal(arms)

    def oracle(n: int, polytope: bool) -> Callable[[], Any]:
        rng = np.random.default_rng(n)
        facets = polytope_rows(n, rng)
        region = Polytope(*facets) if polytope else Ball(n)
        slice_ = region.restrict(le=(facets[0][:3], np.full(3, 0.2)))
        directions = rng.standard_normal((50, n))
        return lambda: [slice_.maximize(u) for u in directions]

    yield curve(("design, K = 5000", "design", "d"), d, cloud, 3)
    yield curve(("50 calls on a polytope", "polytope", "d"), d, lambda n: oracle(n, True), 3)
    yield curve(("50 calls on a ball", "ball", "d"), d, lambda n: oracle(n, False), 3)


def against_policies() -> Iterator[Curve]:
    from bench.support.mdps import best_of, everything
    from bench.support.mdps import playing as episodes

    sizes = {512: (3, 2, 3), 4096: (3, 2, 4), 65_536: (4, 2, 4), 1_048_576: (4, 2, 5)}

    def choosing(n: int, method: str) -> Callable[[], Any]:
        mdp = uli.mdps.random_dense(*sizes[n], seed=1)
        left = best_of(mdp, n // 2) if method == "trie" else everything(mdp)
        return episodes(mdp, left, method, 200).prepare(0)

    yield curve(
        ("200 episodes, all policies: induction", "induction", "|Pi|"),
        list(sizes),
        lambda n: choosing(n, "auto"),
        3,
    )
    yield curve(
        ("200 episodes, half of them left: trie", "trie", "|Pi|"),
        list(sizes),
        lambda n: choosing(n, "trie"),
        3,
    )


def against_replications() -> Iterator[Curve]:
    M = [1, 10, 100, 1000]
    for learner, T, name in (
        (uli.PhasedElimination(DELTA), 10**12, "PE-MAB, 10 arms with gaps, T = 1e12"),
        (uli.SuccessiveElimination(DELTA), 10**12, "SE-MAB, 10 arms with gaps, T = 1e12"),
    ):
        yield curve(
            (name, name.split(",")[0], "replications"),
            M,
            lambda m, s=learner, t=T: playing(s, SPREAD, t, m),
            2,
        )


def memory() -> Iterator[dict[str, Any]]:
    """Yield the peak memory of whole simulations, each in a process of its own."""
    for learner, words in (
        ("uli.PhasedElimination()", "PE-MAB"),
        ("uli.SuccessiveElimination()", "SE-MAB"),
        ("uli.LilUCB()", "lil'UCB"),
    ):
        program = SIMULATION.format(learner=learner, means=SPREAD.tolist())
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        work = f"{words}, 10 arms with gaps, T = 1e12, 1000 replications, 100 recorded rounds"
        yield {"work": work} | json.loads(done.stdout)


def main() -> None:
    refuse_threads()
    families = (
        against_rounds,
        against_arms,
        against_dimension,
        against_policies,
        against_replications,
    )
    when = datetime.now(UTC).isoformat()
    curves = [asdict(c) for family in families for c in family()]
    facts = {"when": when, "curves": curves, "memory": list(memory())}
    GROWTH.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
