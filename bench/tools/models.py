"""The figures of docs/mdps.md on ModelElimination beside its rivals.

python -m bench.tools.models failures | certificates | lake | looks | growth | regret
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import uli_fast as uli
from bench.tools.growth import Curve
from uli_fast._support.streams import stream
from uli_fast._typing import Play
from uli_fast.errors import GuaranteeWarning

PLAYS: tuple[Play, ...] = ("deterministic", "stochastic")
DELTA = 0.1


def problems() -> dict[str, Any]:
    """Return the MDPs of the tables; nothing is known of them but where choices matter."""
    mdps = uli.mdps
    return {
        "dense(2,2,1)": mdps.random_dense(2, 2, 1, seed=1),
        "dense(2,2,3)": mdps.random_dense(2, 2, 3, seed=1),
        "dense(5,2,2)": mdps.random_dense(5, 2, 2, seed=1),
        "river(3,4)": mdps.river_swim(3, 4).restricted(),
        "lock(3)": mdps.combination_lock(3, 2).restricted(),
        "treatment": mdps.two_stage_treatment().restricted(),
        "dense(10,3,10)": mdps.random_dense(10, 3, 10, seed=1),
    }


def failures(runs: int = 300, episodes: int = 10**5) -> Iterator[str]:
    """Count how often a truth leaves its box, and what breaks on the event, at delta .1 and .3."""
    from scipy.stats import binom

    found = problems()
    del found["dense(5,2,2)"]
    for name, problem in found.items():
        for delta in (0.1, 0.3):
            for play in PLAYS:
                r = uli.simulate(
                    uli.ModelElimination(delta, play), problem, episodes, runs, seed=11
                )
                held, room = r.event_held, 1e-12 * problem.horizon
                used = r.look_first[held] > 0
                said, gap = r.look_facts[held][:, :, 0], r.look_facts[held][:, :, 4]
                broken = int((~(gap <= said + room) & used).any(axis=1).sum())
                most = int(binom.ppf(0.999, runs, delta))
                yield (
                    f"{name} delta {delta:g} {play}: {(~held).sum()} of {runs} failed (at most "
                    f"{most}), {(~r.holds).sum()} beyond F; on the event {broken} broken"
                )


def families() -> dict[str, list[Any]]:
    """Return ten random MDPs of a size, or the one there is, for 30 runs in all."""
    dense, found = uli.mdps.random_dense, problems()
    return {
        "dense(2,2,3)": [dense(2, 2, 3, seed=s) for s in range(10)],
        "dense(5,2,2)": [dense(5, 2, 2, seed=s) for s in range(10)],
        **{name: [found[name]] for name in ("river(3,4)", "treatment")},
    }


def certificates(runs: int = 30) -> Iterator[str]:
    """Count the episodes until the certificate is .05 H or less, masks told or not."""
    for name, family in families().items():
        for told in (False, True):
            for play in PLAYS:
                first: list[float] = []
                for problem in family:
                    known = problem.with_known_structure() if told else problem
                    learner = uli.ModelElimination(DELTA, play)
                    r = uli.simulate(learner, known, 10**7, runs // len(family), seed=1)
                    first += reached(r, 0.05 * problem.horizon * problem.scale).tolist()
                what = ", possible successors told" if told else ""
                yield (
                    f"{name} {play}{what}: median {np.median(first):.4g}, largest {max(first):.4g}"
                )


def reached(r: Any, eps: float) -> Any:
    """Return the first episode whose certificate is at most eps, (M,); infinite: not reached."""
    good = (r.look_facts[:, :, 0] <= eps) & (r.look_first > 0)
    first = r.look_first[np.arange(len(good)), good.argmax(axis=1)].astype(float)
    return np.where(good.any(axis=1), first, np.inf)


def lake() -> Iterator[str]:
    """Run FrozenLake, slippery: certificates at powers of ten, looks and seconds."""
    import gymnasium

    small, large = (
        uli.TabularMDP.from_gymnasium(gymnasium.make("FrozenLake-v1", map_name=size), horizon=H)
        for size, H in (("4x4", 20), ("8x8", 40))
    )
    cases = [
        ("4x4, H=20, pooled", small, {"pooled": True, "growth": 0.25, "first": 64}, 10**8),
        ("4x4, H=20", small, {"growth": 0.5, "first": 256}, 10**9),
        ("8x8, H=40, pooled", large, {"pooled": True, "growth": 0.5, "first": 256}, 10**7),
        ("8x8, H=40", large, {"growth": 0.5, "first": 256}, 10**6),
    ]
    for name, problem, options, T in cases:
        for play in PLAYS:
            begun = time.process_time()
            learner = uli.ModelElimination(DELTA, play, **options)
            powers = [10**k for k in range(4, 10) if 10**k <= T]
            r = uli.simulate(learner, problem, T, seed=1, rounds=powers)
            said = dict(zip(r.rounds.tolist(), r.certificates[0].tolist(), strict=True))
            gaps = dict(zip(r.rounds.tolist(), r.played_gaps[0].tolist(), strict=True))
            shown = ", ".join(f"{t:.0e}: {said[t]:.3g} (gap {gaps[t]:.2g})" for t in powers)
            eps = reached(r, 0.05)[0]
            yield (
                f"{name} {play} {options}: {shown}; .05 at {eps:.3g}; "
                f"{(r.look_first > 0).sum()} looks, {time.process_time() - begun:.1f} s"
            )


def looks() -> Iterator[str]:
    """Count the looks on a chain on which every action leads to state 0, H = 3, 5, .., 11."""
    for play in PLAYS:
        counts = []
        for H in (3, 5, 7, 9, 11):
            P, r = np.zeros((4, 2, 4)), np.tile([0.4, 0.6], (4, 1))
            P[:, :, 0] = 1.0
            r[1:] = [0.5, 0.2]
            problem = uli.TabularMDP(P, r, horizon=H)
            runs = uli.simulate(uli.ModelElimination(DELTA, play), problem, 10**4, seed=0)
            counts.append(int((runs.look_first > 0).sum()))
        yield f"{play}: {counts} looks"


# Sizes (S, A, H) along one axis: what is varied, where the others stand.
AXES = {
    "S": [(S, 3, 10) for S in (5, 10, 20, 40)],
    "A": [(10, A, 10) for A in (2, 4, 8, 16)],
    "H": [(10, 3, H) for H in (5, 10, 20, 40, 80)],
}


def growth(looks: int = 1000) -> Iterator[str]:
    """Time the first thousand looks, blocks included, on dense MDPs; fit powers of S, A and H."""
    for axis, sizes in AXES.items():
        for play in PLAYS:
            took = [seconds_a_look(size, play, looks) for size in sizes]
            x = [float(size["SAH".index(axis)]) for size in sizes]
            shown = ", ".join(f"{v:g}: {1e3 * t:.3g} ms" for v, t in zip(x, took, strict=True))
            power = Curve("", "", axis, x, took).power()
            yield f"{axis}, {play}: {shown}; power {power:.2f}"


def seconds_a_look(size: tuple[int, int, int], play: Play, looks: int) -> float:
    """Return the CPU seconds of a look and its block, the mean over a run; the least of two."""
    best, T = np.inf, 10**12
    problem, learner = uli.mdps.random_dense(*size, seed=1), uli.ModelElimination(DELTA, play)
    uli.simulate(learner, problem, 1)  # compiles
    for _ in range(2):
        run = learner.begin(learner.on(problem), stream(1, 0), "skip", T, np.array([T]))
        begun = time.process_time()
        while run.course.clock[2] < looks and not run.advance(1):
            pass
        best = min(best, (time.process_time() - begun) / int(run.course.clock[2]))
    return float(best)


def regret(episodes: int = 10**6, runs: int = 10) -> Iterator[str]:
    """Compare regrets at 10^6 episodes, on ten random MDPs or in ten runs: median, smallest first.

    ``ahead`` counts those in which UBEV has less than ModelElimination.
    """
    learners = {
        "deterministic": uli.ModelElimination(DELTA),
        "stochastic": uli.ModelElimination(DELTA, "stochastic"),
        "UBEV": uli.UBEV(DELTA),
        "UCBVI": uli.UCBVI(DELTA),
        "PolicyElimination": uli.PolicyElimination(DELTA, "sharp"),
    }
    for name, family in {**families(), "lock(3)": [problems()["lock(3)"]]}.items():
        found, last = {}, {}
        for key, learner in learners.items():
            done = [
                (problem, uli.simulate(learner, problem, episodes, runs // len(family), seed=1))
                for problem in family
            ]
            found[key] = np.concatenate([r.final_regret() for _, r in done])
            late = [r.last_mistake(0.05 * p.horizon * p.scale) for p, r in done]
            last[key] = np.concatenate(late)
        said = ", ".join(
            f"{key} {np.median(found[key]):.4g} [{found[key].min():.4g}, {found[key].max():.4g}]"
            f" (last gap above .05 H at {np.median(last[key]):.3g}, {last[key].max():.3g})"
            for key in learners
        )
        ahead = int((found["UBEV"] < found["deterministic"]).sum())
        yield f"{name}: {said}; UBEV ahead in {ahead} of {runs}"


FIGURES = {f.__name__: f for f in (failures, certificates, lake, looks, growth, regret)}

if __name__ == "__main__":
    warnings.simplefilter("ignore", GuaranteeWarning)
    for chosen in sys.argv[1:] or FIGURES:
        for line in FIGURES[chosen]():
            print(line, flush=True)
