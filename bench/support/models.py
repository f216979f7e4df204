"""The value-constrained choice of one look: by inductions, and as a linear programme by HiGHS.

Looks are those of real runs, at which the constraint binds. The programme has a variable x for
every row, how often it is passed through, and z for its entries, what they have above ``low`` x.
It has fewer entries than the programme in q(h, s, a, s'), and is solved faster.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import uli_fast as uli
from bench.support.cases import Case, Run
from uli_fast._support.streams import stream
from uli_fast.kernels.mdp import robust
from uli_fast.verify.model_programs import row_of, spare


class Look(NamedTuple):
    """What a choice is made from; arrays are copies."""

    boxes: Any
    view: Any
    choice: Any  # room
    least: float


@functools.cache
def problem_of(name: str) -> uli.TabularMDP:
    """Return FrozenLake, slippery, in one of its sizes, or a dense MDP."""
    if name == "dense":
        return uli.mdps.random_dense(10, 3, 10, seed=1)
    import gymnasium

    size, H = {"lake": ("4x4", 20), "large lake": ("8x8", 40)}[name]
    env = gymnasium.make("FrozenLake-v1", map_name=size, is_slippery=True)
    return uli.TabularMDP.from_gymnasium(env, horizon=H)


def copied(run: Any) -> Look:
    H = run.view.r.shape[0]
    least = run.view.start[1] - robust.ROUNDING * H
    return Look(spare(run.boxes), spare(run.view), spare(run.choice), least)


# Looks of a run that are skipped: at the first ones nothing binds.
SKIPPED = {"lake": 2000, "dense": 300}


@functools.cache
def two_looks(name: str, seed: int) -> tuple[Look, Look]:
    """Return two looks in a row with the same actions left; the constraint binds at the second."""
    T = 10**12
    learner = uli.ModelElimination(0.1, "stochastic")
    run = learner.begin(learner.on(problem_of(name)), stream(7, seed), "skip", T, np.array([T]))
    while run.course.clock[2] < SKIPPED[name]:
        run.advance(1)
    for _ in range(500):
        before = copied(run)
        run.advance(1)
        binds = (run.choice.mix < 1.0).any()
        if binds and (before.view.left == run.view.left).all():
            return before, copied(run)
    raise AssertionError("no look at which the constraint binds")


def by_inductions(look: Look) -> float:
    """Return the width by ours."""
    return float(robust.choose_within(look.boxes, look.view, look.choice, look.least))


class Programme(NamedTuple):
    """max <c, y> over y >= 0 with low <= M y <= high."""

    M: Any
    low: np.ndarray
    high: np.ndarray
    c: np.ndarray


class _Rows:
    """Rows of a programme while it is written down."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, float]] = []
        self.ends: list[tuple[float, float]] = []

    def new(self, low: float, high: float) -> int:
        self.ends.append((low, high))
        return len(self.ends) - 1


def programme(look: Look) -> Programme:
    """Write a look down as a linear programme."""
    from scipy.sparse import coo_array

    boxes, view, rows = look.boxes, look.view, _Rows()
    H, S, A = view.r.shape
    nodes = [(-1, 0, 0), *map(tuple, np.argwhere(view.left).tolist())]
    n, put = len(nodes), rows.entries.append
    begin, value = rows.new(1.0, 1.0), rows.new(look.least, np.inf)
    flow = [[rows.new(0.0, 0.0) for _ in range(S)] for _ in range(H)]
    for x, (h, s, a) in enumerate(nodes):
        put((begin if h < 0 else flow[h][s], x, 1.0))
        if h >= 0:
            put((value, x, view.r[h, s, a]))
        if h == H - 1:
            continue
        i = int(boxes.home[row_of(h, s, a, S, A)])
        entries = range(int(boxes.size[i]))
        for j in entries:
            put((flow[h + 1][boxes.to[i, j]], x, -boxes.low[i, j]))
        if boxes.rest[i] > 0.0:
            rest = rows.new(0.0, 0.0)
            put((rest, x, -boxes.rest[i]))
            for j in entries:
                cap = rows.new(-np.inf, 0.0)
                put((cap, x, boxes.low[i, j] - boxes.high[i, j]))
                for row, v in ((cap, 1.0), (rest, 1.0), (flow[h + 1][boxes.to[i, j]], -1.0)):
                    put((row, n, v))
                n += 1
    i, j, v = zip(*rows.entries, strict=True)
    c = np.zeros(n)
    c[: len(nodes)] = [view.start[3] if h < 0 else view.b[h, s, a] for h, s, a in nodes]
    low, high = np.array(rows.ends).T
    return Programme(coo_array((v, (i, j)), shape=(len(low), n)).tocsr(), low, high, c)


def model(p: Programme, **options: Any) -> Any:
    """Return a programme as a silent model of HiGHS."""
    import highspy

    lp = highspy.HighsLp()
    m, n = p.M.shape
    lp.num_row_, lp.num_col_ = m, n
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = -p.c, np.zeros(n), np.full(n, np.inf)
    lp.row_lower_, lp.row_upper_ = p.low, p.high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = p.M.indptr.astype(np.int32)
    lp.a_matrix_.index_ = p.M.indices.astype(np.int32)
    lp.a_matrix_.value_ = p.M.data
    made = highspy.Highs()
    for option, chosen in {"output_flag": False, "threads": 1, **options}.items():
        made.setOptionValue(option, chosen)
    made.passModel(lp)
    return made


# Of its simplex methods the primal one is the fastest here from the vertex of the look before.
PRIMAL = {"solver": "simplex", "simplex_strategy": 4, "presolve": "off"}


def from_the_look_before(before: Look, now: Look) -> Callable[[], Run]:
    """Prepare runs of HiGHS that begin with the basis of the look before."""
    import highspy

    first = model(programme(before))
    first.run()
    basis, made = first.getBasis(), model(programme(now), **PRIMAL)

    def prepare() -> Run:
        made.clearSolver()
        assert made.setBasis(basis) == highspy.HighsStatus.kOk
        return lambda: solved(made)

    return prepare


def from_scratch(before: Look, now: Look) -> Callable[[], Run]:
    """Prepare runs of HiGHS as it comes."""
    p = programme(now)

    def prepare() -> Run:
        made = model(p)
        return lambda: solved(made)

    return prepare


def solved(made: Any) -> float:
    """Run HiGHS; return the value."""
    import highspy

    made.run()
    assert made.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return -float(made.getInfo().objective_function_value)


SOLVERS = {"warm": from_the_look_before, "cold": from_scratch}


def choice_by_inductions(name: str) -> Case:
    """Return one value-constrained choice, ours."""

    def prepare(seed: int) -> Run:
        look = two_looks(name, seed)[1]
        return lambda: by_inductions(look)

    return Case(prepare)


def choice_by_highs(name: str, solver: str) -> Case:
    """Return the same choice by HiGHS; nothing but its run is timed."""
    made: dict[int, Callable[[], Run]] = {}

    def prepare(seed: int) -> Run:
        if seed not in made:
            made[seed] = SOLVERS[solver](*two_looks(name, seed))
        return made[seed]()

    return Case(prepare)
