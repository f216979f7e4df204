"""The best policy of a set that is never listed: branch and bound (experimental).

The set is what J closed phases leave: policies whose estimate in phase j is within 2^-j of the
best. A policy loses, against the best of all policies in the model of phase j, the sum over its
actions of occupancy times gap; that must stay within a budget. Digits are fixed in the order of
the index, depth first, so that the first policy found among equals has the smallest index.

Upper bounds come from one backward induction with budgets: U[h, s, g] is the best value from
(h, s) on of policies that lose at most grid[g] there in the model of the last closed phase.
Every successor may spend the whole rest, so that no policy is bounded too low.
"""

from __future__ import annotations

from typing import NamedTuple

from uli_fast._typing import F64, I8, I64
from uli_fast.kernels._jit import lean_kernel
from uli_fast.kernels.mdp.episodes import Model, backup, copied, evaluate

FOUND, TOO_MANY = 0, 1


class Search(NamedTuple):
    """The set, and room to search it."""

    width: I64  # (H, S) actions to choose from
    P: F64  # (J, H, S, A, S) models of the closed phases
    r: F64  # (H, S, A) rewards
    start: F64  # (J, S) episodes that began in each state
    least: F64  # (J, 3) episodes, best estimate, how far behind is allowed
    gap: F64  # (J, H, S, A) what an action loses at once
    budget: F64  # (J,)
    grid: F64  # (G,) increasing, the last one infinite
    rest: I64  # (H, S, A, G, S) the grid point of each successor; -1: the action costs too much
    U: F64  # (H + 1, S, G)
    Q: F64  # (H, S, A, G)
    weight: F64  # (S + 1,) of the initial states in the objective, and what to divide by
    pi: I8  # (H, S) being built
    best: I8  # (H, S)
    last: I8  # (S, H, S) chosen last in each initial state
    known: I64  # (S,) whether there is one
    occupied: F64  # (H + 1, J, S) occupancy in each model
    reached: I64  # (H + 1, S) whether the objective depends on a state
    left: F64  # (H S + 1, J) budgets
    bound: F64  # (H S + 1,)
    nodes: I64  # (2,) visited, at most
    x: F64  # (S,)
    y: F64  # (S,)


@lean_kernel
def objective(search: Search, V: F64) -> float:
    """Return the weighted mean of values at the first stage."""
    S = V.shape[0]
    x = 0.0
    for s in range(S):
        x += search.weight[s] * V[s]
    return float(x / search.weight[S])


@lean_kernel
def member(search: Search) -> bool:
    """Say whether search.pi is in the set, by the same arithmetic as where policies are listed."""
    S = search.start.shape[1]
    inside = True
    for j in range(search.P.shape[0]):
        evaluate(search.pi, search.P[j], search.r, search.x, search.y)
        value = 0.0
        for s in range(S):
            value += search.start[j, s] * search.x[s]
        inside = inside and search.least[j, 1] - value / search.least[j, 0] <= search.least[j, 2]
    return inside


@lean_kernel
def fill_bounds(search: Search, P: F64, c: F64) -> None:
    """Do the backward induction with budgets."""
    H, S, _, G = search.Q.shape
    for s in range(S):
        for g in range(G):
            search.U[H, s, g] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            for g in range(G):
                best = -1.0
                for a in range(search.width[h, s]):
                    value = -1.0
                    if search.rest[h, s, a, g, 0] >= 0:
                        value = 0.0
                        for k in range(S):
                            value += P[h, s, a, k] * search.U[h + 1, k, search.rest[h, s, a, g, k]]
                        value = min(value + c[h, s, a], float(H))
                    search.Q[h, s, a, g] = value
                    best = max(best, value)
                search.U[h, s, g] = best


@lean_kernel
def grid_point(search: Search, h: int, s: int, rest: float, spent: float) -> int:
    """Return the grid point of the budget that a state has, out of all that is left."""
    last = search.grid.shape[0] - 1
    share = search.occupied[h, search.P.shape[0] - 1, s]
    if share <= 0.0:
        return int(last)
    x = (rest / share + spent) * (1.0 - 1e-12)
    g = 0
    while g < last and search.grid[g] < x:
        g += 1
    return int(g)


@lean_kernel
def bound_of(search: Search, P: F64, c: F64, h: int, s: int, rest: float) -> float:
    """Bound the objective, actions up to (h, s) being fixed; -1 if nothing is left."""
    H, S = search.width.shape
    J = search.P.shape[0]
    possible = True
    for i in range(S):
        search.x[i] = 0.0
        if search.reached[h, i] > 0:
            if i <= s:
                a = search.pi[h, i]
                g = grid_point(search, h, i, rest, search.gap[J - 1, h, i, a])
                search.x[i] = search.Q[h, i, a, g]
            else:
                search.x[i] = search.U[h, i, grid_point(search, h, i, rest, 0.0)]
            possible = possible and search.x[i] >= 0.0
    if not possible:
        return -1.0
    for stage in range(h - 1, -1, -1):
        for i in range(S):
            search.y[i] = backup(P, c, stage, i, search.pi[stage, i], search.x, float(H))
        for i in range(S):
            search.x[i] = search.y[i]
    return objective(search, search.x)


@lean_kernel
def spend(search: Search, depth: int, a: int) -> bool:
    """Charge an action to all budgets; say whether they allow it."""
    S = search.width.shape[1]
    h, s = depth // S, depth % S
    allowed = True
    for j in range(search.P.shape[0]):
        cost = search.occupied[h, j, s] * search.gap[j, h, s, a]
        search.left[depth + 1, j] = search.left[depth, j] - cost
        allowed = allowed and search.left[depth + 1, j] >= 0.0
    return allowed


@lean_kernel
def matters(search: Search, h: int, s: int) -> bool:
    """Say whether the action at (h, s) changes the objective or a budget."""
    found = search.reached[h, s] > 0
    for j in range(search.P.shape[0]):
        found = found or search.occupied[h, j, s] > 0.0
    return bool(found)


@lean_kernel
def next_stage(search: Search, P: F64, h: int) -> None:
    """Work out occupancies of stage h + 1, all actions of stage h being fixed."""
    S, J = search.width.shape[1], search.P.shape[0]
    for k in range(S):
        search.reached[h + 1, k] = 0
        for j in range(J):
            search.occupied[h + 1, j, k] = 0.0
    for s in range(S):
        a = search.pi[h, s]
        for k in range(S):
            if search.reached[h, s] > 0 and P[h, s, a, k] > 0.0:
                search.reached[h + 1, k] = 1
            for j in range(J):
                share = search.occupied[h, j, s] * search.P[j, h, s, a, k]
                search.occupied[h + 1, j, k] += share


@lean_kernel
def begin(search: Search) -> None:
    """Stand at the root, nothing being fixed."""
    H, S = search.width.shape
    for s in range(S):
        search.reached[0, s] = 1 if search.weight[s] > 0.0 else 0
        for j in range(search.P.shape[0]):
            search.occupied[0, j, s] = search.start[j, s] / search.least[j, 0]
    for j in range(search.P.shape[0]):
        search.left[0, j] = search.budget[j]
    search.bound[0] = float(H)
    search.nodes[0] = 0
    search.pi[0, 0] = -1


@lean_kernel
def search_best(search: Search, P: F64, c: F64, best: float) -> tuple[int, float]:
    """Write the first policy with the largest objective into search.best.

    ``best`` is the objective of some policy of the set, or negative. Return how it ended, and
    the objective.
    """
    H, S = search.width.shape
    begin(search)
    fill_bounds(search, P, c)
    depth, found = 0, False
    while depth >= 0:
        h, s = depth // S, depth % S
        bound = search.bound[depth]
        a = search.pi[h, s] + 1
        over = a >= search.width[h, s] or (a > 0 and not matters(search, h, s))
        if over or bound < best or (found and bound <= best):
            depth -= 1
            continue
        search.pi[h, s] = a
        search.nodes[0] += 1
        if search.nodes[0] > search.nodes[1]:
            return TOO_MANY, best
        if not spend(search, depth, a):
            continue
        if search.reached[h, s] > 0:
            J = search.P.shape[0]
            bound = bound_of(search, P, c, h, s, search.left[depth + 1, J - 1])
            if bound < best or (found and bound <= best):
                continue
        if depth < H * S - 1:
            if s == S - 1:
                next_stage(search, P, h)
            depth += 1
            search.bound[depth] = bound
            search.pi[depth // S, depth % S] = -1
            continue
        evaluate(search.pi, P, c, search.x, search.y)
        value = objective(search, search.x)
        if (value > best or (value == best and not found)) and member(search):
            best, found = value, True
            copied(search.pi, search.best)
    return FOUND, best


@lean_kernel
def largest_estimate(search: Search, model: Model) -> tuple[int, float]:
    """Return how the search for the best mean value of the set ended, and that value."""
    S = search.width.shape[1]
    total = 0.0
    for s in range(S):
        search.weight[s] = float(model.starts[s])
        total += search.weight[s]
    search.weight[S] = total
    return search_best(search, model.P, search.r, -1.0)


@lean_kernel
def choose_by_search(search: Search, model: Model, s1: int, pi: I8) -> int:
    """Write the first policy with the largest value at s1 into pi; return how that ended."""
    S = search.width.shape[1]
    for s in range(S):
        search.weight[s] = 1.0 if s == s1 else 0.0
    search.weight[S] = 1.0
    best = -1.0
    if search.known[s1] > 0:  # the previous winner is rarely far from the best
        evaluate(search.last[s1], model.P, model.c, search.x, search.y)
        best = search.x[s1]
    status, best = search_best(search, model.P, model.c, best)
    model.top[s1] = best
    copied(search.best, pi)
    copied(search.best, search.last[s1])
    search.known[s1] = 1
    return status


@lean_kernel
def list_members(search: Search, policies: I8) -> int:
    """List the set in ``policies``; return how many, or -1 if there is no room or time."""
    H, S = search.width.shape
    for s in range(S):
        search.weight[s] = 0.0
    begin(search)
    depth, n = 0, 0
    while depth >= 0:
        h, s = depth // S, depth % S
        a = search.pi[h, s] + 1
        if a >= search.width[h, s]:
            depth -= 1
            continue
        search.pi[h, s] = a
        search.nodes[0] += 1
        if search.nodes[0] > search.nodes[1]:
            return -1
        if not spend(search, depth, a):
            continue
        if depth < H * S - 1:
            if s == S - 1:
                next_stage(search, search.P[0], h)
            depth += 1
            search.pi[depth // S, depth % S] = -1
        elif member(search):
            if n == policies.shape[0]:
                return -1
            copied(search.pi, policies[n])
            n += 1
    return n
