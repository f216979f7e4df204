"""Live model elimination: decisions are policies, one for a whole block of episodes.

A look comes once every decision of the block is settled. The policy is chosen before the first
state of an episode is seen, so all decisions of a block may be asked for in advance. What is asked
for beyond the block plays the same policy and is learned from: boxes hold whatever is counted, and
so does the bound. F does not: it counts on blocks that end in time.

An episode that is missing is not counted, and may be missing because of where it led: nothing is
proved from then on.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64, I8, I64
from uli_fast.errors import ArgumentError, GuaranteeWarning, NoGuaranteeError
from uli_fast.guarantees.model_boxes import model_size
from uli_fast.learners._policies.models import (
    KnownModel,
    allowed_actions,
    new_boxes,
    new_choice,
    new_view,
    row_table,
)
from uli_fast.learners.model_elimination import first_facts
from uli_fast.players import _assumptions
from uli_fast.players._certificate import Certificate, left_out
from uli_fast.players._player import EpisodePlayer
from uli_fast.players._queue import DecisionQueue
from uli_fast.players._saved_states import Arrays, Records, contradicts
from uli_fast.players.policy_elimination import PolicyDecision, episode_of

if TYPE_CHECKING:
    from uli_fast.learners.model_elimination import ModelElimination

EMPTY = (
    "a box of plausible transition laws is empty: the episodes contradict each other or what is "
    "assumed, an event of probability below delta; nothing is certified from now on"
)


class ModelMemory(NamedTuple):
    """What the looks say."""

    facts: F64  # see ``first_facts``
    openings: Records  # decisions asked for before each look
    end: F64  # (1,) decisions up to the end of the block
    in_time: F64  # (1,) decisions until one was asked for beyond its block
    omitted: I64  # (1,) missing episodes
    passed: I64  # (2,) stage and state that nothing was decided in though rewards differ, or -1


class ModelPlayer(EpisodePlayer):
    """Asks for the policy of which least is known among those that may be optimal.

    ``learner.start(rewards)`` makes it. What to call first: ``ask()`` for the policy of an
    episode, ``tell(id, states, actions)`` for what happened in it, ``recommend()``,
    ``certificate()``.

    Examples
    --------
    >>> import numpy as np
    >>> import uli_fast as uli
    >>> player = uli.ModelElimination(0.1).start(np.array([[[0.0, 1.0]]]))
    >>> decision = player.ask()
    >>> player.tell(decision.id, [0], [int(decision.policy[0, 0])])
    >>> player.pending
    ()
    """

    learner: ModelElimination
    outcome_names: ClassVar[tuple[str, ...]] = ("states", "actions")

    def __init__(
        self, learner: ModelElimination, known: KnownModel, low: float, high: float
    ) -> None:
        # A decision is the number of the look that chose it, an outcome the states, followed by
        # the actions where they are drawn.
        super().__init__(learner, low, high, DecisionQueue("states", episode_of))
        self.known = known
        rewards, support, points, successors = known
        H, S, A = rewards.shape
        self._size = model_size(points, A, successors, support, learner.pooled)
        self._rule = learner.rule(self._size)
        allowed = allowed_actions(points, A)
        self._boxes = new_boxes(row_table(allowed, successors, support, learner.pooled))
        self._view = new_view((rewards - low) / (high - low), allowed)
        self._choice = new_choice((H, S, A))
        # Where nothing is decided though rewards differ, and such a place that was passed.
        self._denied: B1 = ~points & (rewards != rewards[:, :, :1]).any(axis=2)
        facts: F64 = np.array(first_facts(H))
        ends = np.full((2, 1), math.inf)
        self.memory = ModelMemory._make(
            (facts, Records(int), *ends, np.zeros(1, np.int64), np.full(2, -1))
        )
        # What each look chose.
        shape = (H, S, A) if self._rule.stochastic else (H, S)
        self._policies = Arrays(shape, np.float64 if self._rule.stochastic else np.int8)
        self._complaint: str | None = None  # of a look that has just been made
        self._look()

    @property
    def active(self) -> B1:
        """Which actions are left, (H, S, A)."""
        left: B1 = _read_only(self._view.left.copy())
        return left

    @property
    def policy(self) -> I8 | F64:
        """What the last look chose: (H, S) actions, or (H, S, A) probabilities."""
        chosen: I8 | F64 = self._policies[-1]
        return chosen

    @property
    def _end(self) -> float:
        """How many decisions there are up to the end of the block."""
        return float(self.memory.end[0])

    @property
    def _in_time(self) -> float:
        """How many decisions there were until one was asked for beyond its block."""
        return float(self.memory.in_time[0])

    @property
    def room(self) -> int | None:
        """How many more decisions the block has; None: it never ends."""
        return None if math.isinf(self._end) else max(0, int(self._end) - len(self.queue))

    @overload
    def ask(self, n: None = None) -> PolicyDecision: ...
    @overload
    def ask(self, n: int) -> list[PolicyDecision]: ...
    def ask(self, n: int | None = None) -> PolicyDecision | list[PolicyDecision]:
        """Return the policy of the next episode, or a list of the next n decisions."""
        if n is None:
            return self._ask()
        return [self._ask() for _ in range(_check.decisions("n", n))]

    def tell(self, id: int, states: Any, actions: Any) -> None:
        """Give the states and actions of a decision's episode, those of stages 1 to H.

        The actions must be the policy's. A state after the last stage may be given; it must be a
        possible one, and is not used. Telling the same again changes nothing.
        """
        position = self.queue.position(id)
        if self.queue.tell(position, self.read_outcome(position, states, actions)):
            self._settle()
        self._complain()

    def tell_missing(self, id: int, reason: str) -> None:
        """Say that the episode of a decision will never come; saying it again changes nothing."""
        super().tell_missing(id, reason)
        self._complain()

    def recommend(self) -> I8:
        """Return the policy with the largest value that is certain, (H, S)."""
        from uli_fast.kernels.mdp.robust import surest

        policy: I8 = np.zeros(self.known.decision_points.shape, np.int8)
        surest(self._boxes, self._view, policy)
        policy.flags.writeable = False
        return policy

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Return between which values the best policy's lies, in reward units."""
        from uli_fast.kernels.model_elimination import LOWER, UPPER

        self._refuse()
        least, scale = len(self.known.rewards) * self.low, self.high - self.low
        lower, upper = (least + scale * float(self.memory.facts[i]) for i in (LOWER, UPPER))
        return {"best policy": (lower, upper)}

    def certificate(self) -> Certificate:
        """Return what is certain about every policy that may still be played.

        It rests on the settled episodes up to the last look, and speaks of decisions from the
        first one after it on: what was asked for before has the policy of its own look. The bound
        never rises. Its ``active`` is the number of deterministic policies of actions left (see
        ``active``); with play="stochastic" those may be played that are worth L in a plausible
        model, not all that draw their actions from these. Once a block with decisions asked for
        beyond it is settled, ``envelope`` is infinite.
        """
        from uli_fast.kernels.model_elimination import CERTIFICATE

        self._refuse()
        scale = self.high - self.low
        guarantee = self.learner.guarantee_for(self._size, scale)
        t = max(self.queue.settled, self.memory.openings[-1]) + 1
        F = guarantee.bound(int(min(t, self._in_time)))
        envelope = F if t <= self._in_time else math.inf
        bound = min(F, float(self.memory.facts[CERTIFICATE]) * scale)
        many = math.prod(self._view.left.sum(axis=2).ravel().tolist())
        about = (guarantee.delta, many, guarantee.proved, self._assumes())
        return Certificate(t, bound, envelope, *about)

    def _refuse(self) -> None:
        """Say why nothing is certain, where it is so."""
        if self.memory.omitted[0]:
            raise left_out(int(self.memory.omitted[0]))
        if self._is_empty():
            raise NoGuaranteeError(EMPTY)
        h, s = self.memory.passed.tolist()
        if h >= 0:
            raise NoGuaranteeError(
                f"decision_points is False at stage {h}, state {s}, which is reached, "
                "and the rewards of its actions differ"
            )

    def _assumes(self) -> tuple[str, ...]:
        support, undecided = self.known.initial_support, ~self.known.decision_points
        undecided[0] &= support  # elsewhere no episode begins
        return _assumptions.of_models(self, not support.all(), bool(undecided.any()))

    # What studies need to know about a player.

    def read_outcome(self, position: int, *outcome: Any) -> tuple[int, ...]:
        """Return an episode as the queue has it; refuse one that cannot have happened."""
        return self._read(self._policies[self.queue.decisions[position]], *outcome)

    def decision(self, id: int, content: Mapping[str, Any]) -> PolicyDecision:
        """Return a decision with the very numbers that a file has of it."""
        policy = np.array(content["arm"], self._policies[0].dtype)
        return PolicyDecision(id, _read_only(policy), content["probability"])

    def tell_again(self, position: int, told: Any) -> None:
        """Tell an episode as a file has it."""
        states, actions = self._parts(position, told)
        self.tell(position + 1, states, actions)

    def outcome(self, position: int, told: Any) -> dict[str, Any]:
        """Return an episode by name, and the sum of the known rewards along it."""
        states, actions = self._parts(position, told)
        reward = float(self.known.rewards[range(len(states)), states, actions].sum())
        return {"reward": reward, "states": states, "actions": actions}

    def started_with(self) -> dict[str, Any]:
        """Return what is known about the MDP; None where a mask leaves nothing out."""
        rewards, support, points, successors = self.known
        if successors is not None and (successors == successors[0]).all():
            successors = successors[0]
        return {
            "rewards": rewards.tolist(),
            "initial_support": None if support.all() else np.flatnonzero(support).tolist(),
            "decision_points": None if points.all() else points.tolist(),
            "successors": None if successors is None else successors.tolist(),
        }

    def _what(self) -> str:
        left = self._view.left
        return f"{int(left.sum())} actions left in {left.shape[0] * left.shape[1]} places"

    # Inside.

    def _ask(self) -> PolicyDecision:
        if len(self.queue) >= self._end:
            self.memory.in_time[0] = min(self._in_time, self._end)
        return PolicyDecision(self.queue.add(len(self._policies) - 1), self._policies[-1], 1.0)

    def _read(self, policy: Any, states: Any, actions: Any) -> tuple[int, ...]:
        """Return an episode as the queue has it; refuse one that cannot have happened."""
        from uli_fast.kernels.model_elimination import impossible

        seen = _check.visited("states", states, policy.shape[:2])
        if policy.ndim == 3:
            told = seen + _check.drawn_by("actions", actions, policy, seen)
        else:
            _check.followed("actions", actions, policy, seen)
            told = seen
        s, a = self._path(policy, told)
        h = impossible(self._boxes, s, a, *self.known.rewards.shape[1:])
        if h == 0:
            raise ArgumentError("states", f"must begin in initial_support, got {seen[0]}")
        if h > 0:
            raise ArgumentError(
                "states",
                f"has state {seen[h]} at stage {h}, which successors calls impossible after "
                f"state {seen[h - 1]} and action {a[h - 1]}",
            )
        _check.follows_last("states", states, int(a[-1]), self.known.successors)
        return told

    def _path(self, policy: I8 | F64, told: tuple[int, ...]) -> tuple[I64, I64]:
        """Return the states and actions of an episode."""
        H = len(policy)
        states: I64 = np.array(told[:H])
        if policy.ndim == 3:
            return states, np.array(told[H:])
        return states, policy[np.arange(H), states].astype(np.int64)

    def _parts(self, position: int, told: Any) -> tuple[list[int], list[int]]:
        policy = self._policies[self.queue.decisions[position]]
        states, actions = self._path(policy, tuple(told))
        return states.tolist(), actions.tolist()

    def _take_in(self, decision: int, told: tuple[int, ...] | None) -> None:
        from uli_fast.kernels.model_elimination import count_episode

        if told is None:
            self.memory.omitted[0] += 1
        else:
            states, actions = self._path(self._policies[decision], told)
            count_episode(self._boxes, states, actions, *self.known.rewards.shape[1:])
            self._look_where(told)
        if self.queue.settled == self._end:
            self._look()

    def _look_where(self, told: tuple[int, ...]) -> None:
        """Note whether an episode passed where rewards differ and nothing was decided."""
        if self.memory.passed[0] < 0 and self._denied.any():
            for h, s in enumerate(told[: len(self._denied)]):
                if self._denied[h, s]:
                    self.memory.passed[:] = h, s

    def _look(self) -> None:
        """Learn from what is settled, choose, and begin a block."""
        from uli_fast.kernels.model_elimination import look_once

        t, fine = len(self.queue), not self._is_empty()
        state = (self._boxes, self._view, self._choice, self._rule, self.memory.facts)
        K = look_once(*state, t)
        self.memory.end[0] = K if math.isinf(K) else t + max(1, int(K))
        self.memory.openings.append(t)
        self._policies.append(self._chosen())
        if fine and self._is_empty():
            self._complaint = EMPTY

    def _chosen(self) -> Any:
        choice = self._choice
        if not self._rule.stochastic:
            return _read_only(choice.one.copy())
        policy = np.zeros(self.known.rewards.shape)
        h, s = np.indices(choice.one.shape)
        policy[h, s, choice.two] = 1.0 - choice.mix
        policy[h, s, choice.one] = choice.mix  # the same action, with 1, if there is but one
        return _read_only(policy)

    def _is_empty(self) -> bool:
        return math.isnan(self.memory.facts[0])

    def _complain(self) -> None:
        """Warn the caller of ``tell`` if the last look found a box empty."""
        complaint, self._complaint = self._complaint, None
        if complaint:
            warnings.warn(complaint, GuaranteeWarning, stacklevel=3)

    # Saved states.

    def parts(self) -> dict[str, Any]:
        """Return what was given out, by name; what the looks found follows from the episodes."""
        return super().parts() | {"memory": self.memory, "policies": self._policies}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what ``state`` returned."""
        super().load(saved)
        self._complaint = None  # it was made when it happened
        for policy in self._policies:
            _read_only(policy)

    def _repeat(self, decision: int, outcome: tuple[int, ...] | None) -> None:
        position, policy = self._ask().id - 1, self._policies[-1]
        if outcome is not None and self._read(policy, *self._parts(position, outcome)) != outcome:
            raise contradicts(f"episode {position + 1} is none")


def _read_only(values: Any) -> Any:
    values.flags.writeable = False
    return values
