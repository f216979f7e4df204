"""Optimistic learners: play the arm with the largest index (Eq. select_arm_opt_alg).

The index of arm a at round t is its sample mean plus radius(rule, t, N_a). A
rule is a NamedTuple; kernels/ucb.py and kernels/lil_ucb.py give its ``radius``
(nonincreasing in N, nondecreasing in t) and its ``refresh``. Ties go to the
smallest index.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uli_fast._typing import F64, I64
from uli_fast.kernels._arms import ROUND, ArmState, Record, next_stop, note, note_run, play_out
from uli_fast.kernels._jit import kernel
from uli_fast.kernels._rewards import BLOCK_FAILURE, Law, is_gaussian, mean_floor, total_after

# Blocks start at this many pulls of the leader and are worth at least this many rounds.
FIRST_BLOCK, SHORTEST_BLOCK = 32, 8
# While one arm leads, up to this many rounds are played on one pair of bounds.
LONGEST_STRETCH = 1024


class Indices(NamedTuple):
    """Sample means, counts and indices of all arms."""

    mean: F64  # (K,)
    n: F64  # (K,) counts as floats: int64 to float64 does not vectorise
    index: F64  # (K,)


def radius(rule: Any, t: int, n: float) -> float:
    """Return the bonus of an arm with n pulls at round t (compiled code only)."""
    raise TypeError("radius is called from compiled kernels only")


def refresh(rule: Any, indices: Indices, t: int) -> None:
    """Bring all indices to round t (compiled code only)."""
    raise TypeError("refresh is called from compiled kernels only")


@kernel
def leader(index: F64) -> int:
    """Return the arm with the largest index, the smallest among equals."""
    arm = 0
    for a in range(1, index.shape[0]):
        if index[a] > index[arm]:
            arm = a
    return arm


@kernel
def choose(rule: Any, mean: F64, n: I64, t: int) -> int:
    """Return the arm played at round t from means and counts (the live step)."""
    indices = Indices(mean, n.astype(np.float64), np.empty(n.shape[0]))
    for a in range(n.shape[0]):
        indices.index[a] = mean[a] + radius(rule, t, indices.n[a])
    return leader(indices.index)


@kernel
def radii(rule: Any, n: I64, t: int) -> F64:
    """Return the bonus of every arm at round t, infinite for unplayed ones."""
    result = np.full(n.shape[0], np.inf)
    for a in range(n.shape[0]):
        if n[a] > 0:
            result[a] = radius(rule, t, float(n[a]))
    return result


@kernel
def best_rival(rule: Any, indices: Indices, A: int, t: int) -> float:
    """Return the largest index at round t of the arms other than A."""
    best = -np.inf
    for a in range(indices.index.shape[0]):
        if a != A:
            best = max(best, indices.mean[a] + radius(rule, t, indices.n[a]))
    return best


@kernel
def update(rule: Any, state: ArmState, indices: Indices, a: int, t: int) -> None:
    """Bring mean, count and index of arm a up to date after round t."""
    indices.mean[a] = state.total[a] / state.n[a]
    indices.n[a] = state.n[a]
    indices.index[a] = indices.mean[a] + radius(rule, t, indices.n[a])


@kernel
def restore_indices(rule: Any, state: ArmState) -> Indices:
    """Recompute means, counts and indices of all arms played so far."""
    K = state.n.shape[0]
    indices = Indices(np.zeros(K), np.zeros(K), np.full(K, np.inf))
    for a in range(K):
        if state.n[a] > 0:
            update(rule, state, indices, a, state.clock[ROUND] + 1)
    return indices


@kernel
def pull(rule: Any, law: Law, state: ArmState, indices: Indices, a: int, k: int) -> None:
    """Play arm a in the next k rounds."""
    state.total[a] = total_after(law, a, state.n[a], k, state.total[a])
    state.n[a] += k
    state.clock[ROUND] += k
    update(rule, state, indices, a, state.clock[ROUND] + 1)


@kernel
def margin(index: float) -> float:
    """Bound the rounding of two indices, so that blocks decide as single rounds do."""
    return 4e-15 * (1.0 + abs(index))


@kernel
def play_first(
    rule: Any, law: Law, state: ArmState, indices: Indices, record: Record, T: int
) -> None:
    """Play each arm once (rounds 1..K)."""
    while state.clock[ROUND] < min(T, state.n.shape[0]):
        a = state.clock[ROUND]
        pull(rule, law, state, indices, a, 1)
        state.last[a] = a + 1
        note(record, state.n, a + 1)


@kernel
def stretch(law: Law, n: int, total: Any, a: int, k: int, bonus: float, rival: float) -> Any:
    """Play arm a up to k times, stopping once mean + bonus no longer beats the rival.

    Returns the count and the sum. ``bonus`` bounds the radius from below and
    ``rival`` the other indices from above over the whole stretch, so every play
    here is the one that a comparison of all indices would choose.
    """
    need = rival - bonus
    for _ in range(k):
        total = total_after(law, a, n, 1, total)
        n += 1
        if total <= need * n:
            break
    return n, total


@kernel
def play_rounds(rule: Any, law: Law, state: ArmState, record: Record, T: int, budget: int) -> bool:
    """Play single rounds until T or until the budget is spent; say whether T is reached."""
    indices = restore_indices(rule, state)
    play_first(rule, law, state, indices, record, T)
    longest = np.int64(1)
    while budget > 0 and state.clock[ROUND] < T:
        t = state.clock[ROUND]
        refresh(rule, indices, t + 1)
        A = leader(indices.index)
        k = min(longest, next_stop(record, T) - t, T - t)
        n = state.n[A]
        if k > 1:
            bonus = radius(rule, t + 1, float(n + k))
            rival = best_rival(rule, indices, A, t + k)
            rival += margin(rival)
            state.n[A], state.total[A] = stretch(law, n, state.total[A], A, k, bonus, rival)
            played = state.n[A] - n
            state.clock[ROUND] = t + played
            update(rule, state, indices, A, t + played + 1)
        else:
            pull(rule, law, state, indices, A, 1)
            played = np.int64(1)
        longest = min(2 * longest, LONGEST_STRETCH) if played == k else max(played, 1)
        budget -= played
        state.last[A] = t + played
        note(record, state.n, t + played)
    return state.clock[ROUND] == T


@kernel
def safe_plays(rule: Any, law: Law, state: ArmState, indices: Indices, A: int) -> int:
    """Return how many plays in a row the leader A surely gets.

    Accepted is a k for which A's lowest possible mean, with the smallest bonus
    that it meets on the way, beats the others' bonus at the last of the rounds;
    the first guess comes from the gap of the indices, then k is halved.
    """
    t, n, total = state.clock[ROUND], state.n[A], state.total[A]
    best = indices.index[A]
    gap = best - best_rival(rule, indices, A, t + 1)
    bonus = best - indices.mean[A]
    slope = indices.mean[A] - mean_floor(law, A, n, n, total)  # of the mean, over n plays
    guess = 0.95 * gap / (2.0 * max(slope, 0.0) + 0.5 * bonus)
    k = np.int64(n * min(guess, 2.0))
    while k >= SHORTEST_BLOCK:
        floor = mean_floor(law, A, n, k, total) + radius(rule, t + 1, float(n + k))
        rival = best_rival(rule, indices, A, t + k + 1)
        if floor > rival + margin(rival):
            return k
        k //= 2
    return k


@kernel
def play_skipping(
    rule: Any, law: Law, state: ArmState, record: Record, T: int, budget: int
) -> bool:
    """Play blocks in which the leader surely stays ahead, single rounds elsewhere."""
    indices = restore_indices(rule, state)
    if state.n.shape[0] == 1:
        play_out(state, record, 0, T)
    play_first(rule, law, state, indices, record, T)
    while budget > 0 and state.clock[ROUND] < T:
        budget -= 1
        t = state.clock[ROUND]
        refresh(rule, indices, t + 1)
        A = leader(indices.index)
        k = np.int64(0)
        if state.n[A] >= FIRST_BLOCK:
            k = safe_plays(rule, law, state, indices, A)
        if k >= SHORTEST_BLOCK:
            if is_gaussian(law):
                state.tv[0] += BLOCK_FAILURE
        else:
            k = np.int64(1)
        note_run(record, state.n, A, t, k)
        pull(rule, law, state, indices, A, k)
        state.last[A] = min(t + k, T)
    return state.clock[ROUND] >= T
