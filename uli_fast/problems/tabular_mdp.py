"""Tabular episodic MDPs: finitely many states, actions and stages, all known to the problem.

Rewards are known and fixed; what a learner does not know is where actions lead. The range of
the rewards is declared: a reward r in [low, high] reaches a learner as (r - low) / (high - low),
and values and gaps come back in the caller's units.
"""

from __future__ import annotations

from copy import copy
from decimal import MAX_EMAX, Context
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64, I8, U64

if TYPE_CHECKING:
    from uli_fast.kernels.mdp.episodes import MdpLaw

# Per stage and unit of scale: what rounding may do to a value, and no more.
NO_GAP = 1e-12
# Policy counts are printed, whatever their number of digits.
_WIDE = Context(prec=12, Emax=MAX_EMAX)


class TabularMDP:
    """An episodic MDP with H stages, S states and A actions.

    Parameters
    ----------
    transitions
        Probabilities of the next state, (H, S, A, S), or (S, A, S) if the same at every stage.
    rewards
        Rewards, (H, S, A), or (S, A) if the same at every stage.
    initial
        Distribution of the first state, (S,); by default it is state 0.
    horizon
        Number of stages H, needed where neither table has it.
    low, high
        Range of the rewards.
    decision_points
        Mask (H, S): where the choice of an action is left to the learner; elsewhere policies
        take action 0. It may be False only where that costs nothing: the state cannot be
        reached at that stage, or all actions do the same there (after the last stage, next
        states do not matter). This is knowledge of the structure, handed to the learner: it
        changes no value, and shrinks the number of policies. By default True everywhere;
        see :meth:`restricted`.
    successors
        Mask (H, S, A, S), or (S, A, S) if the same at every stage: the states that may follow
        a state and action. It is knowledge handed to the learner, and True wherever the
        probability is positive; by default the learner must expect any state.
        See :meth:`with_known_structure`.
    initial_support
        The states in which an episode may begin, a mask (S,) or their numbers; knowledge
        handed to the learner, by default any state.
    label
        A name to print.

    Attributes
    ----------
    transitions, rewards, initial
        The tables, (H, S, A, S), (H, S, A) and (S,).
    unit_rewards
        The rewards on the learner's scale [0, 1], (H, S, A).
    decision_points
        Where choices are left to the learner, (H, S).
    successors, initial_support
        What the learner is told, (H, S, A, S) and (S,); None: any state is possible.
    horizon, n_states, n_actions
        H, S and A.

    Examples
    --------
    >>> import numpy as np
    >>> import uli_fast as uli
    >>> stay = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.1, 0.9]]])  # (S, A, S)
    >>> mdp = uli.TabularMDP(stay, rewards=[[0.0, 0.0], [1.0, 0.5]], horizon=3)
    >>> mdp.n_policies
    64
    >>> print(mdp.optimal_policy)
    [[1 0]
     [1 0]
     [0 0]]
    >>> print(mdp.gap(mdp.optimal_policy), mdp.gap(np.zeros((3, 2), int)) > 0)
    0.0 True
    """

    horizon: int
    n_states: int
    n_actions: int
    successors: B1 | None
    initial_support: B1 | None

    def __init__(
        self,
        transitions: Any,
        rewards: Any,
        initial: Any = None,
        horizon: int | None = None,
        *,
        low: float = 0.0,
        high: float = 1.0,
        decision_points: Any = None,
        successors: Any = None,
        initial_support: Any = None,
        label: str = "TabularMDP",
    ) -> None:
        self.label = _check.text("label", label)
        self.low, self.high = _check.interval(low, high)
        self.transitions, self.rewards = _check.mdp_tables(transitions, rewards, horizon)
        _check.within("rewards", self.rewards, self.low, self.high)
        self.horizon, self.n_states, self.n_actions = self.rewards.shape
        self.initial = _check.initial_states("initial", initial, self.n_states)
        self.unit_rewards: F64 = (self.rewards - self.low) / self.scale
        points = _check.decision_points("decision_points", decision_points, self._free)
        self.decision_points: B1 = points
        for table in (self.transitions, self.rewards, self.unit_rewards, self.initial, points):
            table.flags.writeable = False
        self._learn(
            _check.successor_mask("successors", successors, self.rewards.shape),
            _check.initial_mask("initial_support", initial_support, self.n_states),
        )

    def _learn(self, successors: B1 | None, initial_support: B1 | None) -> None:
        """Keep what is known, if it is true."""
        if successors is not None:
            _check.covers_transitions("successors", successors, self.transitions)
            successors.flags.writeable = False
        if initial_support is not None:
            _check.covers_first_states("initial_support", initial_support, self.initial)
            initial_support.flags.writeable = False
        self.successors, self.initial_support = successors, initial_support

    @classmethod
    def from_gymnasium(cls, env: Any, horizon: int, restricted: bool = True) -> Self:
        """Return a toy-text environment of Gymnasium, cut off after ``horizon`` steps.

        It is read off the table P of the unwrapped environment; its own time limit is
        ignored. Rewards are the expected ones of a state and action. An episode that is done
        earns nothing more: it stays in its last state if that is absorbing and without reward,
        else in an extra state. What the table calls possible is known to the learner: it fills
        ``successors``, and the law of the first state ``initial_support``.

        Parameters
        ----------
        env
            An environment with ``P`` and ``initial_state_distrib``, such as FrozenLake,
            CliffWalking or Taxi-v4.
        horizon
            Number of stages H.
        restricted
            Whether to leave to the learner only the choices that matter.
        """
        outcomes, first = _check.outcomes("env", env)
        S, A = len(outcomes), len(outcomes[0])
        absorbing = [
            all(to == s and r == 0.0 for row in rows for p, to, r, _ in row if p > 0.0)
            for s, rows in enumerate(outcomes)
        ]
        P, rewards = np.zeros((S + 1, A, S + 1)), np.zeros((S + 1, A))
        P[S, :, S] = 1.0
        for s, rows in enumerate(outcomes):
            for a, row in enumerate(rows):
                for p, to, r, done in row:
                    P[s, a, S if done and not absorbing[to] else to] += p
                    rewards[s, a] += p * r
        used = S + 1 if P[:S, :, S].any() else S
        low, high = float(rewards.min()), float(rewards.max())  # 0 lies between: the last row
        mdp = cls(
            _check.stochastic("env", P[:used, :, :used]),
            rewards[:used],
            np.append(first, 0.0)[:used],
            horizon,
            low=low,
            high=high if low < high else 1.0,
            label=getattr(getattr(env, "spec", None), "id", "TabularMDP"),
        )
        mdp = mdp.with_known_structure()
        return mdp.restricted() if restricted else mdp

    def restricted(self) -> Self:
        """Return the same MDP, with no choice left to the learner where all actions do the same.

        See ``decision_points``: no value changes, and there are fewer policies.
        """
        same = copy(self)
        same.decision_points = ~self._free
        same.decision_points.flags.writeable = False
        return same

    def with_known_structure(self) -> Self:
        """Return the same MDP, with the learner told what is possible, though not how probable.

        ``successors`` and ``initial_support`` are True where probabilities are positive. No
        value changes; a learner that makes use of them has less to find out.
        """
        same = copy(self)
        same._learn(self.transitions > 0.0, self.initial > 0.0)
        return same

    @property
    def scale(self) -> float:
        """Reward units per unit of the learner's scale."""
        return self.high - self.low

    @property
    def n_policies(self) -> int:
        """Number of deterministic policies, A to the number of decision points."""
        return int(self.n_actions ** int(self.decision_points.sum()))

    @property
    def unit_optimal(self) -> float:
        """The largest expected sum of rewards on the learner's scale."""
        return self._best[0]

    @property
    def optimal_value(self) -> float:
        """The largest expected sum of rewards."""
        return self._in_units(self.unit_optimal)

    @property
    def optimal_policy(self) -> I8:
        """An optimal policy, (H, S): the smallest of the best actions, 0 off decision points."""
        policy = np.where(self.decision_points, self._best[1], np.int8(0))
        policy.flags.writeable = False
        return policy

    def value(self, policy: Any) -> float:
        """Return the expected sum of rewards of a policy.

        A policy is a table of actions, (H, S), or (S,) at every stage; or probabilities with
        which it draws them, (H, S, A), of which rows that are no decision points are not used.
        """
        return self._in_units(self._unit_value(policy))

    def gap(self, policy: Any) -> float:
        """Return how much a policy loses to an optimal one; differences within rounding are 0."""
        loss = self.unit_optimal - self._unit_value(policy)
        return self.scale * loss if loss >= NO_GAP * self.horizon else 0.0

    def law(self, words: U64) -> MdpLaw:
        """Return the episodes as the kernels draw them."""
        from uli_fast.kernels.mdp.episodes import MdpLaw

        return MdpLaw(*self._cdfs, words)

    def _in_units(self, unit_value: float) -> float:
        return self.horizon * self.low + self.scale * unit_value

    def _unit_value(self, policy: Any) -> float:
        policy = _check.any_policy("policy", policy, self.decision_points, self.n_actions)
        V, s = np.zeros(self.n_states), np.arange(self.n_states)
        for h in reversed(range(self.horizon)):
            if policy.ndim == 3:
                V = (policy[h] * (self.unit_rewards[h] + self.transitions[h] @ V)).sum(axis=1)
            else:
                V = self.unit_rewards[h, s, policy[h]] + self.transitions[h, s, policy[h]] @ V
        return float(self.initial @ V)

    @cached_property
    def _best(self) -> tuple[float, I8]:
        V, policy = np.zeros(self.n_states), np.zeros((self.horizon, self.n_states), np.int8)
        for h in reversed(range(self.horizon)):
            Q = self.unit_rewards[h] + self.transitions[h] @ V
            V = Q.max(axis=1)
            policy[h] = (Q > V[:, None] - NO_GAP).argmax(axis=1)
        return float(self.initial @ V), policy

    @cached_property
    def _free(self) -> B1:
        """Where the choice does not matter, (H, S): unreachable, or all actions do the same."""
        P, r = self.transitions, self.rewards
        same: B1 = (r == r[:, :, :1]).all(axis=2)
        same[:-1] &= (P[:-1] == P[:-1, :, :1]).all(axis=(2, 3))
        reached = np.zeros_like(same)
        reached[0] = self.initial > 0.0
        for h in range(self.horizon - 1):
            reached[h + 1] = (P[h, reached[h]] > 0.0).any(axis=(0, 1))
        return same | ~reached

    @cached_property
    def _cdfs(self) -> tuple[F64, F64]:
        return _cdf(self.initial), _cdf(self.transitions)  # writable, as kernels are compiled for

    def __repr__(self) -> str:
        count = _WIDE.power(self.n_actions, int(self.decision_points.sum()))
        policies = str(int(count)) if count < 10**7 else f"{count:.1e}".replace("e+", "e")
        sizes = f"S={self.n_states}, A={self.n_actions}, H={self.horizon}"
        return f"{self.label}({sizes}, policies={policies})"


def _cdf(p: F64) -> F64:
    """Return running sums along the last axis, 1 from the last state that can come up.

    The first i with u < cdf[i], u in [0, 1), is then never a state of probability 0.
    """
    S = p.shape[-1]
    last = S - 1 - (p[..., ::-1] > 0.0).argmax(axis=-1)
    return np.where(np.arange(S) >= last[..., None], 1.0, np.minimum(p.cumsum(axis=-1), 1.0))
