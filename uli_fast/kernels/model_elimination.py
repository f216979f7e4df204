"""Nested boxes of plausible models: elimination of actions on tabular MDPs (ModelElimination).

A look refreshes the boxes, goes backwards through the stages, drops the actions that are surely
worse, certifies those that are left, and chooses a policy and the number of episodes for which it
is played. These may be drawn one by one or, with the same law, all at once.

``source`` of draws is the words of a stream, or a table (R + H S, n + 1) for tests: row i lists
which entry is drawn at each visit of row i of the model, row R + h S + s the coins (multiples of
2^-53) of state s at stage h; column 0 says how many have been read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.kernels._jit import lean_by_type, lean_kernel, lean_step
from uli_fast.kernels.draws.binomial import successes
from uli_fast.kernels.draws.stream import uniform
from uli_fast.kernels.mdp.boxes import Boxes, Number, holds, refresh
from uli_fast.kernels.mdp.episodes import drawn, multinomial
from uli_fast.kernels.mdp.policy_log import PolicyLog, enter_block, is_full, regret_now
from uli_fast.kernels.mdp.robust import (
    ROUNDING,
    Choice,
    View,
    choose_widest,
    choose_within,
    induct,
    row_of,
    survey,
)
from uli_fast.kernels.mdp.visit_bounds import block_length

PLAYED, NO_ROOM = 0, 1
# Columns of the facts of a look.
CERTIFICATE, WIDTH, UPPER, LOWER, GAP, FACTS = range(6)


class Rule(NamedTuple):
    """The parameters of a run, as numbers."""

    log_term: float  # log(2 M / delta_1)
    growth: float
    n0: float
    stochastic: bool


class ModelCourse(NamedTuple):
    """How far a run is, and what its looks said."""

    clock: I64  # (4,) episodes played, those left of the block, looks, the horizon
    bad: I64  # (2,) first episode with an empty box, with a truth outside of its box; 0: never
    first: I64  # (room,) first episode after each look
    facts: F64  # (room, FACTS) see above; those but the gap are running extremes
    visits: I64  # (H, S, A)
    here: I64  # (3, S) visits of a stage, of the next one, and moves from one row
    P: F64  # (R, w) the true rows
    cdf: F64  # (R, w) their running sums


@lean_step
def look(boxes: Boxes, view: View, choice: Choice, rule: Rule, facts: F64, t: int) -> float:
    """Learn from what was seen, and choose; return the episodes of the block, perhaps infinite.

    ``facts``, (FACTS,), holds those of the look before, and receives those of this one. Where no
    action can be worse than another that is left, nothing more has to be learnt.
    """
    fits = refresh(boxes, rule.log_term)
    survey(boxes, view, t)
    top, sure, low = view.start[0], view.start[1], view.start[2]
    facts[UPPER], facts[LOWER] = min(facts[UPPER], top), max(facts[LOWER], sure)
    V, pi, order = choice.V, choice.pi[0], view.order[4]
    worst = min(top - low, induct(boxes, view.g, 0.0, view.lag, view.left, V, pi, order))
    if rule.stochastic:
        least = facts[LOWER] - ROUNDING * view.r.shape[0]
        width = choose_within(boxes, view, choice, least)
    else:
        width = choose_widest(boxes, view, choice)
    facts[WIDTH] = min(facts[WIDTH], width)
    said = worst
    if rule.stochastic:
        slack = ROUNDING * view.r.shape[0]  # by which what is played may fall short of L
        said = min(said, facts[UPPER] - facts[LOWER] + facts[WIDTH] + slack)
    if not fits:
        facts[CERTIFICATE] = math.nan  # for good
    elif said < facts[CERTIFICATE]:
        facts[CERTIFICATE] = said
    if worst <= 0.0:
        return math.inf
    return block_length(boxes, choice, rule.growth, rule.n0, order)


def next_entry(source: Any, row: int, cdf: F64) -> int:
    """Return which entry of a row is drawn (compiled code only)."""
    raise TypeError("next_entry is called from compiled kernels only")


@lean_by_type(next_entry)
def _next_entry(source: Any, row: Any, cdf: Any) -> Callable[..., int]:
    if source.ndim == 1:
        return lambda source, row, cdf: drawn(cdf, uniform(source))
    return lambda source, row, cdf: read(source, row)


def next_entries(source: Any, row: Number, cdf: F64, n: int, counts: I64) -> None:
    """Add up which entries of a row are drawn at n visits (compiled code only)."""
    raise TypeError("next_entries is called from compiled kernels only")


@lean_by_type(next_entries)
def _next_entries(source: Any, row: Any, cdf: Any, n: Any, counts: Any) -> Callable[..., None]:
    if source.ndim == 1:
        return lambda source, row, cdf, n, counts: multinomial(source, n, cdf, counts)
    return lambda source, row, cdf, n, counts: read_many(source, row, n, counts)


def coins(source: Any, row: int, p: float, n: int) -> int:
    """Return how often a coin is below p in n visits (compiled code only)."""
    raise TypeError("coins is called from compiled kernels only")


@lean_by_type(coins)
def _coins(source: Any, row: Any, p: Any, n: Any) -> Callable[..., int]:
    if source.ndim == 1:
        return lambda source, row, p, n: successes(source, n, p)
    return lambda source, row, p, n: read_coins(source, row, p, n)


@lean_kernel
def read(source: I64, row: int) -> int:
    """Read one entry of a table."""
    source[row, 0] += 1
    return int(source[row, source[row, 0]])


@lean_kernel
def read_many(source: I64, row: int, n: int, counts: I64) -> None:
    """Read n entries of a table."""
    for _ in range(n):
        counts[read(source, row)] += 1


@lean_kernel
def read_coins(source: I64, row: int, p: float, n: int) -> int:
    """Read n coins of a table."""
    wins = 0
    for _ in range(n):
        wins += read(source, row) * 2.0**-53 < p
    return wins


@lean_kernel
def draw_row(
    boxes: Boxes, course: ModelCourse, source: Any, row: Number, n: int, to: Number
) -> None:
    """Draw n visits of a row; add the moves to here[to]."""
    i = boxes.home[row]
    size, moved = boxes.size[i], course.here[2]
    for j in range(size):
        moved[j] = 0
    next_entries(source, row, course.cdf[i, :size], n, moved)
    boxes.n[i] += n
    for j in range(size):
        boxes.seen[i, j] += moved[j]
        course.here[to, boxes.to[i, j]] += moved[j]


@lean_step
def draw_block(boxes: Boxes, choice: Choice, course: ModelCourse, source: Any, n: int) -> None:
    """Draw n episodes of one policy at once: a chain of multinomials, stage by stage."""
    H, S, A = course.visits.shape
    course.here[0, :] = 0
    draw_row(boxes, course, source, np.int64(0), n, np.int64(0))
    rows = boxes.home.shape[0]
    for h in range(H):
        now, then = h % 2, 1 - h % 2
        course.here[then, :] = 0
        for s in range(S):
            m, k = course.here[now, s], course.here[now, s]
            if m > 0 and choice.mix[h, s] < 1.0:
                k = coins(source, rows + h * S + s, choice.mix[h, s], m)
            for way in range(2):
                count = k if way == 0 else m - k
                if count > 0:
                    a = choice.one[h, s] if way == 0 else choice.two[h, s]
                    course.visits[h, s, a] += count
                    if h < H - 1:
                        draw_row(boxes, course, source, row_of(h, s, a, S, A), count, then)


@lean_step
def entry_of(boxes: Boxes, i: int, s: int) -> int:
    """Return which entry of a home row a state is, -1 if it cannot follow."""
    for j in range(boxes.size[i]):
        if boxes.to[i, j] == s:
            return j
    return -1


@lean_kernel
def impossible(boxes: Boxes, states: I64, actions: I64, S: int, A: int) -> int:
    """Return the first stage whose state cannot follow in an episode, -1 if there is none."""
    row = 0
    for h in range(states.shape[0]):
        if entry_of(boxes, boxes.home[row], states[h]) < 0:
            return h
        row = row_of(h, states[h], actions[h], S, A)
    return -1


@lean_kernel
def count_episode(boxes: Boxes, states: I64, actions: I64, S: int, A: int) -> None:
    """Count the moves of an episode that was told."""
    row = 0
    for h in range(states.shape[0]):
        i = boxes.home[row]
        boxes.n[i] += 1
        boxes.seen[i, entry_of(boxes, i, states[h])] += 1
        row = row_of(h, states[h], actions[h], S, A)


@lean_step
def draw_episode(boxes: Boxes, choice: Choice, course: ModelCourse, source: Any) -> None:
    """Draw one episode."""
    H, S, A = course.visits.shape
    rows, row = boxes.home.shape[0], 0
    for h in range(H):
        i = boxes.home[row]
        j = next_entry(source, row, course.cdf[i, : boxes.size[i]])
        boxes.n[i] += 1
        boxes.seen[i, j] += 1
        s = boxes.to[i, j]
        a = choice.one[h, s]
        if choice.mix[h, s] < 1.0 and not coins(source, rows + h * S + s, choice.mix[h, s], 1):
            a = choice.two[h, s]
        course.visits[h, s, a] += 1
        row = row_of(h, s, a, S, A)


@lean_step
def true_gap(boxes: Boxes, view: View, choice: Choice, policy_log: PolicyLog, P: F64) -> float:
    """Return how much less the chosen policy is worth than the best; choice.V is room."""
    H, S, A = view.r.shape
    V = choice.V
    for h in range(H - 1, -2, -1):
        for s in range(S if h >= 0 else 1):
            value = 0.0
            for way in range(2 if h >= 0 else 1):
                p, row, earned = 1.0, 0, 0.0
                if h >= 0:
                    p = choice.mix[h, s] if way == 0 else 1.0 - choice.mix[h, s]
                    a = choice.one[h, s] if way == 0 else choice.two[h, s]
                    row, earned = row_of(h, s, a, S, A), view.r[h, s, a]
                if p > 0.0 and h < H - 1:
                    i = boxes.home[row]
                    for j in range(boxes.size[i]):
                        earned += P[i, j] * V[h + 1, boxes.to[i, j]]
                value += p * earned
            if h < 0:
                gap = policy_log.best[0] - value
                return gap if gap > policy_log.best[1] else 0.0
            V[h, s] = value
    return 0.0


@lean_step
def enter_mixed(policy_log: PolicyLog, gap: float, t: int, n: int) -> None:
    """Note that a policy with this gap is played in episodes t + 1 to t + n, as an entry."""
    e, before = policy_log.size[0], regret_now(policy_log)
    policy_log.size[0] += 1
    policy_log.gap[e], policy_log.plays[e], policy_log.last[e] = gap, n, t + n
    at = policy_log.at[0]
    while at < policy_log.rounds.shape[0] and policy_log.rounds[at] <= t + n:
        policy_log.regret[at] = before + (policy_log.rounds[at] - t) * gap
        at += 1
    policy_log.at[0] = at


@lean_step
def open_block(
    boxes: Boxes, view: View, choice: Choice, rule: Rule, course: ModelCourse, policy_log: PolicyLog
) -> int:
    """Look, and note what will be played until the next look; return the episodes of the block."""
    t, i = course.clock[0], course.clock[2]
    if i == course.first.shape[0] or is_full(policy_log):
        return 0
    if i > 0:
        for k in range(FACTS):
            course.facts[i, k] = course.facts[i - 1, k]
    K = look(boxes, view, choice, rule, course.facts[i], t)
    left = course.clock[3] - t
    n = left if K >= left else max(1, int(K))
    if course.bad[0] == 0 and math.isnan(course.facts[i, CERTIFICATE]):
        course.bad[0] = t + 1
    if course.bad[1] == 0 and not holds(boxes, course.P):
        course.bad[1] = t + 1
    gap = true_gap(boxes, view, choice, policy_log, course.P)
    course.first[i], course.facts[i, GAP] = t + 1, gap
    course.clock[2] = i + 1
    if rule.stochastic:
        enter_mixed(policy_log, gap, t, n)
    else:
        enter_block(policy_log, choice.one, t, n)
    return int(n)


@lean_kernel
def play(
    boxes: Boxes,
    view: View,
    choice: Choice,
    rule: Rule,
    course: ModelCourse,
    policy_log: PolicyLog,
    source: Any,
    budget: int,
    skip: bool,
) -> int:
    """Play at most ``budget`` blocks at once (skip) or episodes one by one, to the horizon.

    One function for both: compiling is what takes time.
    """
    for _ in range(budget):
        if course.clock[0] == course.clock[3]:
            break
        if course.clock[1] == 0:
            course.clock[1] = open_block(boxes, view, choice, rule, course, policy_log)
            if course.clock[1] == 0:
                return NO_ROOM
        if skip:
            draw_block(boxes, choice, course, source, course.clock[1])
            course.clock[0] += course.clock[1]
            course.clock[1] = 0
        else:
            draw_episode(boxes, choice, course, source)
            course.clock[0] += 1
            course.clock[1] -= 1
    return PLAYED


@lean_kernel
def look_once(boxes: Boxes, view: View, choice: Choice, rule: Rule, facts: F64, t: int) -> float:
    """Do as ``look`` does, called from Python."""
    return look(boxes, view, choice, rule, facts, t)
