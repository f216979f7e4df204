"""Sets of active policies: what is left of them after a phase, and how the best is chosen.

The index of a policy has its actions at the decision points as digits, the first stage and
the first state most significant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from uli_fast._support.memory import aligned
from uli_fast._typing import B1, F64, I8, I64

if TYPE_CHECKING:
    from uli_fast.kernels.mdp.backward_induction import Induction
    from uli_fast.kernels.mdp.episodes import Model
    from uli_fast.kernels.mdp.trie import Trie
    from uli_fast.kernels.policy_elimination import Chooser


@dataclass(frozen=True, eq=False)
class PolicySet:
    """Policies that are listed, or all of a class if ``listed`` is None."""

    points: B1  # (H, S) decision points; actions elsewhere are 0
    n_actions: int
    listed: I8 | None = None  # (n, H, S) in the order of their index

    @property
    def count(self) -> int:
        """Number of policies."""
        if self.listed is None:
            return int(self.n_actions ** int(self.points.sum()))
        return len(self.listed)

    @cached_property
    def policies(self) -> I8:
        """The policies in the order of their index, (n, H, S)."""
        if self.listed is not None:
            return self.listed
        left = np.arange(self.count)
        actions = np.zeros((left.size, *self.points.shape), np.int8)
        for h, s in np.argwhere(self.points)[::-1]:
            left, actions[:, h, s] = np.divmod(left, self.n_actions)
        return actions

    def kept(self, keep: B1) -> PolicySet:
        """Return the policies that a mask keeps."""
        if keep.all():
            return self
        return PolicySet(self.points, self.n_actions, self.policies[keep])

    def after(self, model: Model, r: F64, m: int) -> PolicySet:
        """Return what phase m leaves: policies whose estimate is within 2^-m of the best."""
        values = mean_values(self.policies, model.P, r, model.starts)
        return self.kept(values.max() - values <= 2.0**-m)

    def worst_error(self, model: Model, truth: tuple[F64, F64, F64]) -> float:
        """Return the largest |estimate - value|; truth is P, r and the initial probabilities."""
        P, r, start = truth
        estimates = mean_values(self.policies, model.P, r, model.starts)
        return float(np.abs(estimates - mean_values(self.policies, P, r, start)).max())

    def chooser(self, method: str, initial: B1 | None = None) -> Chooser:
        """Return what a kernel needs to choose the best policy, in the initial states or all."""
        from uli_fast.kernels.mdp.enumeration import Enumeration

        S = self.points.shape[1]
        if method == "plain":
            return Enumeration(self.policies, np.zeros((2, S)))
        if method != "trie" and self.listed is None:
            return induction(self.points, self.n_actions)
        return trie(self.policies, self.n_actions, np.full(S, True) if initial is None else initial)

    def settled(self, initial: B1, leads: B1) -> I8 | None:
        """Return the policy that is chosen in every episode of a phase, if that is certain.

        It is certain where all policies agree wherever they can get to from the possible initial
        states, ``leads`` (H, S, A, S) being the possible transitions: their values are then
        the same whatever is seen, and the first one is chosen.
        """
        if self.listed is None and self.count > 1:
            return None
        first: I8 = self.policies[0]
        reached = initial  # by every policy: they agree up to here
        for h, actions in enumerate(np.moveaxis(self.policies, 1, 0)):
            if (actions[:, reached] != first[h, reached]).any():
                return None
            reached = leads[h, reached, first[h, reached]].any(axis=0)
        return first


def induction(points: B1, n_actions: int) -> Induction:
    """Return the chooser among all policies."""
    from uli_fast.kernels.mdp.backward_induction import Induction

    (H, S), A = points.shape, n_actions
    return Induction(
        width=np.where(points, A, 1).astype(np.int64),
        Q=np.zeros((H, S, A)),
        V=np.zeros((H + 1, S)),
        first=np.zeros((H, S), np.int64),
        short=np.zeros((H, S)),
        q=np.zeros(S),
        x=np.zeros(S),
        y=np.zeros(S),
        reach=np.zeros((2, S)),
        ahead=np.zeros((2, S)),
    )


def trie(policies: I8, n_actions: int, initial: B1) -> Trie:
    """Collect the suffixes that policies share, for episodes that begin in these states."""
    from uli_fast.kernels.mdp.trie import LANES, Trie

    n, H, S = policies.shape
    each = np.arange(S)
    suffix: I64 = np.zeros(n, np.int64)  # of each policy, from the next stage on
    levels: list[tuple[I8, I64]] = []  # actions and next suffix, the third stage first
    for h in range(H - 1, 1, -1):
        first, again = popular(*distinct(policies[:, h], suffix))
        first = padded(first)
        levels.insert(0, (policies[first, h], suffix[first]))
        suffix = again
    sizes = [children.size for _, children in levels]
    wide = max([1, *sizes])
    origins = [
        ((each * n_actions + actions) * wide + children[:, None]).T for actions, children in levels
    ]
    level = np.zeros(H + 1, np.int64)
    level[3:] = np.cumsum(sizes)[: max(H - 2, 0)]
    second = policies[:, 1] if H > 1 else np.zeros_like(policies[:, 0])
    row_of, sample, end, policy = rows_of(policies[:, 0], second, suffix, initial, n_actions)
    absent = room(*policy.shape)
    absent[:] = np.where(policy < n, 0.0, -np.inf)
    return Trie(
        policies=policies,
        level=level,
        origin=np.concatenate([np.zeros((S, 0), np.int64), *origins], axis=1).astype(np.uint64),
        row_of=row_of,
        end=end,
        part=(each * n_actions + second[sample]).astype(np.uint64),
        absent=absent,
        policy=policy,
        Q=room(2, S * n_actions, wide),
        V=room(S, wide),
        top=np.zeros(S * n_actions),
        bound=np.full(len(policy), np.inf),
        likely=row_of[:, 0].copy(),
        x=room(2, wide + LANES),
        y=np.zeros(S),
    )


def rows_of(
    actions: I8, second: I8, suffix: I64, initial: B1, n_actions: int
) -> tuple[I64, I64, I64, I64]:
    """Return where the rows of each initial state and first action begin, and what is in them.

    Each policy is given by its actions at the first stage, (n, S), and at the second, and its
    suffix from the third on. For each row the result has one of its policies, how many columns
    it needs, and the first policy in each column, which has the smallest index.
    """
    from uli_fast.kernels.mdp.trie import LANES

    _, head = distinct(second, np.zeros(len(suffix), np.int64))
    n, columns = len(head), padded(np.arange(int(suffix.max()) + 1)).size
    row_of = np.zeros((len(initial), n_actions + 1), np.int64)
    samples: list[I64] = []
    ends: list[I64] = []
    found: list[I64] = []
    for s in np.flatnonzero(initial):
        first, row = distinct(actions[:, s : s + 1], head)
        smallest = np.full((first.size, columns), n)
        np.minimum.at(smallest, (row, suffix), np.arange(n))
        row_of[s] = np.searchsorted(actions[first, s], np.arange(n_actions + 1))
        row_of[s] += sum(map(len, found))
        last = np.zeros(first.size, np.int64)
        np.maximum.at(last, row, suffix)
        end = np.minimum((last // LANES + 1) * LANES, columns)
        order = np.lexsort((end, actions[first, s]))  # rows of equal length together
        samples.append(first[order])
        ends.append(end[order])
        found.append(smallest[order])
    return row_of, np.concatenate(samples), np.concatenate(ends), np.concatenate(found)


def room(*shape: int) -> F64:
    """Return zeros that begin on a cache line."""
    return aligned(math.prod(shape), np.float64).reshape(shape)


def padded(rows: I64) -> I64:
    """Repeat the first of several rows until there are whole registers of them, LANES each."""
    from uli_fast.kernels.mdp.trie import LANES

    return np.append(rows, np.full(-rows.size % LANES if rows.size > 1 else 0, rows[0]))


def popular(first: I64, again: I64) -> tuple[I64, I64]:
    """Give suffixes new numbers, those of many policies first: most rows are short then."""
    order = np.argsort(-np.bincount(again), kind="stable")
    return first[order], np.argsort(order)[again]


def distinct(actions: I8, suffix: I64) -> tuple[I64, I64]:
    """Return the first of each distinct (actions, suffix), and which of them each is."""
    key = suffix.copy()
    for column in actions.T[actions.any(axis=0)].astype(np.int64):
        if key.max() > 2**40:  # renumbered before it overflows; the order stays
            key = np.unique(key, return_inverse=True)[1].ravel()
        key += column * (int(key.max()) + 1)
    _, first, again = np.unique(key, return_index=True, return_inverse=True)
    return first, again.ravel()


def mean_values(policies: I8, P: F64, r: F64, weights: F64 | I64) -> F64:
    """Return the value of each policy, averaged over initial states.

    Weights are probabilities, or counts of episodes, which are divided by their sum.
    """
    from uli_fast.kernels.mdp import episodes

    values = np.empty(len(policies))
    total = float(weights.sum()) if weights.dtype == np.int64 else 1.0
    episodes.mean_values(policies, P, r, np.asarray(weights, np.float64), total, values)
    return values
