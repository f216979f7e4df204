"""Live policy elimination: decisions are policies, and an episode is told as a whole.

A phase closes when every decision of its quota is settled; what is asked beyond it in the
meantime plays on and is not learned from. The proofs need the counts of all earlier episodes
before each choice: where decisions are asked for while episodes are awaited, ``certificate``
says that nothing is proved. An episode that is missing is not learned from: another takes its
place in the phase, and again nothing is proved.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from uli_fast import _check
from uli_fast._typing import B1, F64, I8, I64
from uli_fast.errors import (
    ArgumentError,
    NoGuaranteeError,
    SaturationWarning,
    UliError,
    UnsupportedError,
)
from uli_fast.learners._policies.policy_sets import PolicySet, mean_values
from uli_fast.learners._policies.runs import empty_model, new_path
from uli_fast.learners.policy_elimination import SATURATED, complaint, saturation, size_of
from uli_fast.players import _assumptions
from uli_fast.players._certificate import Certificate, gap_bound, left_out
from uli_fast.players._player import EpisodePlayer
from uli_fast.players._queue import DecisionQueue
from uli_fast.players._saved_states import Arrays, Records, contradicts

if TYPE_CHECKING:
    from uli_fast.kernels.policy_elimination import Chooser
    from uli_fast.learners.policy_elimination import PolicyElimination


class PolicyDecision(NamedTuple):
    """What to play next: tell where it led under ``id``."""

    id: int
    # (H, S) the action at each stage and state or, where actions are drawn, (H, S, A) their
    # probabilities; read-only
    policy: I8 | F64
    probability: float

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PolicyDecision):
            return NotImplemented
        same = (self.id, self.probability) == (other.id, other.probability)
        return same and np.array_equal(self.policy, other.policy)

    def __ne__(self, other: object) -> bool:  # a tuple's own would compare arrays
        return not self == other

    def __hash__(self) -> int:
        return hash((self.id, self.probability))


class PolicyMemory(NamedTuple):
    """What is counted beside the model."""

    openings: Records  # decisions asked for before each phase
    omitted: I64  # (1,) missing episodes that a phase would have used
    learned: I64  # (1,) episodes that phases have used
    used: I64  # (1,) of these, episodes of the open phase
    overlapped: I64  # (1,) whether a decision was asked for while an episode was awaited
    passed: I64  # (2,) stage and state that nothing was decided in though rewards differ, or -1
    least: F64  # (1,) no active policy's gap is above it, by the closed phases


class PhaseCounts(NamedTuple):
    """What each closed phase counted."""

    N: Arrays  # (H, S, A) visits
    N3: Arrays  # (H, S, A, S) transitions
    starts: Arrays  # (S,) episodes that began in each state


class PolicyPlayer(EpisodePlayer):
    """Asks for the active policy that leads where least is known.

    ``learner.start(rewards)`` makes it. What to call first: ``ask(state)`` for the policy of an
    episode that begins in a state, ``tell(id, states, actions)`` for what happened in it,
    ``recommend()``, ``certificate()``.

    Examples
    --------
    >>> import numpy as np
    >>> import uli_fast as uli
    >>> player = uli.PolicyElimination(0.1).start(np.array([[[0.0, 1.0]]]))
    >>> decision = player.ask(0)
    >>> player.tell(decision.id, [0], [int(decision.policy[0, 0])])
    >>> player.pending
    ()
    """

    learner: PolicyElimination
    believed: ClassVar[tuple[str, ...]] = ("top",)
    outcome_names: ClassVar[tuple[str, ...]] = ("states", "actions")

    def __init__(
        self,
        learner: PolicyElimination,
        rewards: F64,
        support: B1,
        points: B1,
        low: float,
        high: float,
    ) -> None:
        H, S, A = rewards.shape
        # A decision is the number of the policy and the initial state, an outcome the states.
        super().__init__(learner, low, high, DecisionQueue("states", episode_of))
        self.rewards, self.initial_support, self.decision_points = rewards, support, points
        self._unit: F64 = (rewards - low) / (high - low)
        self._size = size_of(points, A)
        # Where nothing is decided though rewards differ, and such a place that is reached.
        self._denied: B1 = ~points & (rewards != rewards[:, :, :1]).any(axis=2)
        zeros = np.zeros((4, 1), np.int64)
        self.memory = PolicyMemory._make(
            [Records(int), *zeros, np.full(2, -1), np.full(1, float(H))]
        )
        self._active = PolicySet(points, A)
        self._values: F64 | None = None  # (active,) what the last closed phase estimates
        self._model, self._path = empty_model(H, S, A), new_path(H, S)
        self._chooser: Chooser | None = None  # made when it is needed
        self.closed = PhaseCounts._make(
            Arrays(shape, np.int64) for shape in ((H, S, A), (H, S, A, S), (S,))
        )
        self._played = Arrays((H, S), np.int8)  # the policies asked for
        self._numbers: dict[bytes, int] = {}  # of them
        self._complaint: str | None = None  # of a phase that has just closed
        self._open()

    @property
    def phase(self) -> int:
        """The phase in which settled episodes now count."""
        return len(self.memory.openings)

    @property
    def quota(self) -> int:
        """Episodes of this phase."""
        return self._quota

    @property
    def active(self) -> int:
        """Number of active policies."""
        return int(self._active.count)

    @property
    def policies(self) -> I8:
        """The active policies, (active, H, S), in the order of their index."""
        return _read_only(self._active.policies)

    def ask(self, state: int) -> PolicyDecision:
        """Return the policy of the next episode, which begins in ``state``."""
        from uli_fast.kernels.policy_elimination import choose_policy

        s1 = _check.initial_state("state", state, self.initial_support)
        if self._chooser is None:
            self._chooser = self._active.chooser(self.learner.method, self.initial_support)
        choose_policy(self._chooser, self._model, s1, self._path.pi)
        number = self._number(self._path.pi)
        return PolicyDecision(self._note((number, s1)), self._played[number], 1.0)

    def _note(self, decision: tuple[int, int]) -> int:
        """Add a decision; return its id."""
        if self.queue.waiting and self.active > 1:
            self.memory.overlapped[0] = 1
        return self.queue.add(decision)

    def tell(self, id: int, states: Any, actions: Any) -> None:
        """Give the states and actions of a decision's episode, those of stages 1 to H.

        The actions must be the policy's; a state after the last stage may be given and is not
        used. Telling the same again changes nothing.
        """
        position = self.queue.position(id)
        if self.queue.tell(position, self.read_outcome(position, states, actions)):
            self._settle()
        self._complain()

    def tell_missing(self, id: int, reason: str) -> None:
        """Say that the episode of a decision will never come; saying it again changes nothing."""
        super().tell_missing(id, reason)
        self._complain()

    def _complain(self) -> None:
        """Warn the caller of ``tell`` if the last phase that closed was saturated."""
        complaint, self._complaint = self._complaint, None
        if complaint:
            warnings.warn(complaint, SaturationWarning, stacklevel=3)

    def recommend(self) -> I8:
        """Return the active policy that the last closed phase's estimate likes best, (H, S)."""
        return _read_only(self._active.policies[int(self._estimated().argmax())])

    def estimates(self) -> F64:
        """Return what the last closed phase estimates for each of ``policies``, (active,)."""
        scale = self.high - self.low
        return len(self.rewards) * self.low + scale * self._estimated()

    def intervals(self) -> NoReturn:
        """Raise UnsupportedError: only ``estimates`` of policies are kept."""
        raise UnsupportedError("intervals: PolicyElimination has none; it has estimates()")

    def certificate(self) -> Certificate:
        """Return what is certain about every active policy, from settled episodes alone.

        Its ``active`` is how many there are (see ``policies``). The bound never rises: active
        policies were so in all earlier phases.
        """
        if self.memory.omitted[0]:
            raise left_out(int(self.memory.omitted[0]))
        scale = self.high - self.low
        guarantee = self.learner.guarantee_for(self._size, scale)
        if self.memory.overlapped[0]:
            raise NoGuaranteeError(
                "decisions were asked for while earlier episodes were awaited; "
                "the proofs need the counts of all earlier episodes before each choice"
            )
        h, s = self.memory.passed.tolist()
        if h >= 0:
            raise NoGuaranteeError(
                f"decision_points is False at stage {h}, state {s}, which is reached, "
                "and the rewards of its actions differ"
            )
        t = int(self.memory.learned[0]) + 1
        envelope = guarantee.bound(t)
        bound = 0.0 if self.active == 1 else min(envelope, float(self.memory.least[0]) * scale)
        about = (guarantee.delta, self.active, guarantee.proved, self._assumes())
        return Certificate(t, bound, envelope, *about)

    def _assumes(self) -> tuple[str, ...]:
        undecided = ~self.decision_points
        undecided[0] &= self.initial_support  # elsewhere no episode begins
        return _assumptions.of_episodes(not self.initial_support.all(), bool(undecided.any()))

    # What studies need to know about a player.

    def read_request(self, about: dict[str, Any]) -> dict[str, Any]:
        """Take out of keywords the state in which the episode begins."""
        if "state" not in about:
            raise ArgumentError("state", "must be given: where does the episode begin?")
        return {"state": _check.initial_state("state", about.pop("state"), self.initial_support)}

    def check_request(self, position: int, request: Mapping[str, Any]) -> None:
        """Refuse to give a decision again for an episode that begins elsewhere."""
        if self.queue.decisions[position][1] != request["state"]:
            raise ArgumentError("state", f"decision {position + 1} was asked for in another state")

    def read_outcome(self, position: int, *outcome: Any) -> tuple[int, ...]:
        """Return the states of an episode, if it can be that of the decision."""
        states, actions = outcome
        number, s1 = self.queue.decisions[position]
        policy = self._played[number]
        seen = _check.visited("states", states, policy.shape, s1)
        _check.followed("actions", actions, policy, seen)
        return seen

    def decision(self, id: int, content: Mapping[str, Any]) -> PolicyDecision:
        """Return a decision as a file has it."""
        policy = _read_only(np.array(content["arm"], np.int8))
        return PolicyDecision(id, policy, content["probability"])

    def tell_again(self, position: int, told: Any) -> None:
        """Tell an episode of which a file has the states."""
        self.tell(position + 1, told, self._actions(position, told))

    def outcome(self, position: int, told: Any) -> dict[str, Any]:
        """Return an episode by name, and the sum of the known rewards along it."""
        states, actions = list(told), self._actions(position, told)
        reward = float(self.rewards[range(len(states)), states, actions].sum())
        return {"reward": reward, "states": states, "actions": actions}

    def _actions(self, position: int, states: Any) -> list[int]:
        policy = self._played[self.queue.decisions[position][0]]
        return [int(policy[h, s]) for h, s in enumerate(states)]

    def started_with(self) -> dict[str, Any]:
        """Return what is known about the MDP."""
        return {
            "rewards": self.rewards.tolist(),
            "initial_support": np.flatnonzero(self.initial_support).tolist(),
            "decision_points": self.decision_points.tolist(),
        }

    def _what(self) -> str:
        return f"{self.active} policies"

    # Inside.

    def _open(self) -> None:
        from uli_fast.kernels.policy_elimination import open_phase

        self.memory.openings.append(len(self.queue))
        self._quota, bonus = self.learner.plan(self._size, self.phase)
        self._bonus: F64 = np.array(bonus)
        open_phase(self._model, self._bonus)
        self._chooser = None
        self._among: set[bytes] | None = None  # the active policies; made when they are needed
        self.memory.used[0] = 0

    def _number(self, policy: I8) -> int:
        """Return the number of a policy; a new one gets the next."""
        key = policy.tobytes()
        number = self._numbers.setdefault(key, len(self._played))
        if number == len(self._played):
            self._played.append(np.frombuffer(key, np.int8).reshape(policy.shape))
        return number

    def _take_in(self, decision: tuple[int, int], states: tuple[int, ...] | None) -> None:
        from uli_fast.kernels.policy_elimination import learn

        self._look_where(states)
        if (
            self.queue.settled <= self.memory.openings[-1]
        ):  # asked for beyond a closed phase's quota
            return
        if states is None:
            self.memory.omitted[0] += 1
            return
        self._path.state[:] = states
        self._path.action[:] = self._played[decision[0]][range(len(states)), states]
        learn(self._model, self._bonus, self._path)
        self.memory.learned[0] += 1
        self.memory.used[0] += 1
        if self.memory.used[0] == self._quota:
            self._close()

    def _look_where(self, states: tuple[int, ...] | None) -> None:
        """Note whether an episode passed where rewards differ and nothing was decided."""
        if states is None or self.memory.passed[0] >= 0 or not self._denied.any():
            return
        for h, s in enumerate(states):
            if self._denied[h, s]:
                self.memory.passed[:] = h, s

    def _close(self) -> None:
        """Drop the policies that are behind, and open the next phase."""
        model, m = self._model, self.phase
        share = saturation(model) if self.active > 1 else 0.0
        self._active = self._active.after(model, self._unit, m)
        values = mean_values(self._active.policies, model.P, self._unit, model.starts)
        # On the event every estimate of phase m is within 2^(-m-1), and a best policy is active.
        error, all_of_them = 2.0 ** (-m - 1), np.full(values.size, True)
        gap = gap_bound(values - error, values + error, all_of_them)
        self.memory.least[0] = min(self.memory.least[0], gap)
        self._values = values
        for counts, now in zip(self.closed, (model.N, model.N3, model.starts), strict=True):
            counts.append(now.copy())
        self._complaint = complaint(m, share) if share > SATURATED else None
        self._open()

    def _estimated(self) -> F64:
        if self._values is None:
            raise UliError("nothing is estimated yet: the first phase has not closed")
        return self._values

    # Saved states.

    def parts(self) -> dict[str, Any]:
        """Return all that changes, by name; what the active policies are follows from it."""
        model = self._model._asdict()
        top = model.pop("top")
        counts = {"closed": self.closed, "model": model, "top": top}
        return super().parts() | {"memory": self.memory, "policies": self._played} | counts

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what ``state`` returned."""
        super().load(saved)
        self._complaint = None  # it was made when it happened
        _check.within("top", self._model.top, 0.0, self._size.H)

    def follow(self, other: PolicyPlayer) -> None:
        """Take in what another player was asked for and told; its choices are not made again."""
        about = (self.decision_points.shape, self._size.A)
        self._record = [_check.policy("policies", x, *about) for x in other._played]
        super().follow(other)

    def _repeat(self, decision: tuple[int, int], outcome: tuple[int, ...] | None) -> None:
        number, state = decision
        policy = self._record[_check.whole("decisions", number, least=0)]
        s1 = _check.initial_state("decisions", state, self.initial_support)
        if self._among is None and self._active.listed is not None:
            self._among = {policy.tobytes() for policy in self._active.listed}
        known = self._among is None or policy.tobytes() in self._among
        if not known or policy[~self.decision_points].any():
            raise contradicts("an inactive policy is played")
        if outcome is not None:
            _check.visited("episodes", outcome, policy.shape, s1)
        self._note((self._number(policy), s1))


def episode_of(saved: Any) -> tuple[int, ...]:
    """Return an episode as a state has it."""
    return tuple(_check.whole("episodes", x, 0) for x in saved)


def _read_only(values: I8) -> I8:
    view = values.view()
    view.flags.writeable = False
    return view
