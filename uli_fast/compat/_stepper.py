"""A learner on K arms at work for another library: an arm, then a reward, and no list of decisions.

Live players remember every decision, so that rewards may come late. The libraries served
here bring each reward before the next choice, so most steppers drive the player's step
functions directly. They also bring rewards of arms that the learner did not ask for.
``follows`` says whether that has happened:

* Elimination (SE-MAB, PE-MAB) uses such rewards. Its confidence statements are about the
  first n rewards of an arm, for every n (SE) or for blocks of fixed positions (PE), and
  hold whoever chooses, as long as no choice looks at the reward it is about to give or at
  later ones. The envelope F(delta, t) does not hold: it needs the arms to be played in turn.
* UCB, lil'UCB and KL-UCB promise nothing either way.
* Learners that draw at random weigh each reward by the probability it was drawn with, and
  cannot use others.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from uli_fast import _check
from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, NoGuaranteeError, UnsupportedError
from uli_fast.kernels.arms.state import least_played
from uli_fast.kernels.phased_elimination import next_arm
from uli_fast.learners._kinds import arm_learner
from uli_fast.players import revived
from uli_fast.players._arms import Player
from uli_fast.players._assumptions import ROWS
from uli_fast.players._certificate import Certificate
from uli_fast.players._optimistic import OptimisticPlayer
from uli_fast.players.phased_elimination import PhasedPlayer
from uli_fast.players.successive_elimination import SuccessivePlayer


def stepper_of(
    learner: Any,
    n_arms: int,
    low: float = 0.0,
    high: float = 1.0,
    seed: int | None = None,
    horizon: int | None = None,
    name: str = "learner",
) -> Stepper:
    """Start a learner on arms 0..n_arms-1; errors call it by its name elsewhere."""
    arm_learner(name, learner)
    player = learner.start(n_arms, seed=seed, horizon=horizon, low=low, high=high)
    return _stepper_for(player)


def resumed_stepper(saved: Mapping[str, Any], learner: Any) -> Stepper:
    """Go on from what ``stepper.saved()`` returned."""
    stepper = _stepper_for(revived(saved["player"], learner))
    stepper.follows = bool(saved["follows"])
    stepper.load_more(saved["more"])
    return stepper


def _stepper_for(player: Any) -> Stepper:
    return STEPPERS[player.chooses_by](player)


class Stepper:
    """What all steppers share; those that use rewards of any arm supply the underscored."""

    def __init__(self, player: Any) -> None:
        self.player: Any = player
        self.follows = True  # whether every reward was of the arm that was to be played
        self._next: int | None = None
        self._low, self._high, self._scale = player.low, player.high, player.scale
        self._offset = player.low if math.isfinite(player.low) else 0.0

    def choose(self) -> int:
        """Return the arm to play, the same one until a reward comes."""
        if self._next is None:
            self._next = self._choose()
        return self._next

    def learn(self, a: int, reward: Any) -> float:
        """Take in a reward of arm a; return it on the unit scale."""
        value = _check.reward(reward, self._low, self._high)
        if self.follows and a != self.choose():
            self.follows = False
        unit: float = (value - self._offset) / self._scale
        self._next = None
        self._take(a, unit)
        return unit

    def learn_rows(self, arms: I64, rewards: F64) -> None:
        """Take in rewards, all within the range, of any arms in their order."""
        for a, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
            self.learn(a, reward)

    def accepts(self, arms: I64) -> None:
        """Refuse arms whose rewards cannot be learned from."""

    def _units(self, rewards: F64) -> F64:
        units: F64 = (rewards - self._offset) / self._scale
        return units

    def ahead(self, n: int) -> list[int]:
        """Return the next n arms if no reward came in between."""
        raise NotImplementedError

    def certificate(self) -> Certificate:
        """Return what is certain of every active arm."""
        if self.follows:
            return self._certified()
        self.player.learner.guarantee(self.player.arms_info())
        raise NoGuaranteeError("rewards came of arms that the learner had not chosen")

    def saved(self) -> dict[str, Any]:
        """Return everything but the learner as plain numbers and strings, for JSON."""
        state = self.player.state()
        return {"player": state, "follows": self.follows, "more": self._more()}

    def _more(self) -> dict[str, Any]:
        return {}

    def load_more(self, more: Mapping[str, Any]) -> None:
        """Take over what a kind of stepper has saved beside the player."""

    def _certified(self) -> Certificate:
        certificate: Certificate = self.player.certificate()
        return certificate

    def _choose(self) -> int:
        raise NotImplementedError

    def _take(self, a: int, unit: float) -> None:
        raise NotImplementedError


class EliminatingStepper(Stepper):
    """Elimination: rewards that were not asked for count, and what they prove is certified."""

    def certificate(self) -> Certificate:
        """Return what is certain of every active arm; without F if others chose."""
        if self.follows:
            return self._certified()
        found: Certificate = self.player.certified(in_turn=False)
        return found._replace(assumes=(*found.assumes, ROWS))


class TurnStepper(EliminatingStepper):
    """Successive elimination."""

    player: SuccessivePlayer

    def _choose(self) -> int:
        state = self.player.arm_state
        return int(least_played(state.n, state.active))

    def _take(self, a: int, unit: float) -> None:
        if self.player.arm_state.active[a]:
            self.player.absorb(a, unit)

    def learn_rows(self, arms: I64, rewards: F64) -> None:
        """Take in rewards, all within the range, of any arms in their order."""
        in_turn = self.player.absorb_rows(arms, self._units(rewards))
        self.follows = self.follows and in_turn
        self._next = None

    def ahead(self, n: int) -> list[int]:
        """Return the next n arms if no reward came in between."""
        state = self.player.arm_state
        return in_turn(state.n.copy(), state.active, n)


class PhasedStepper(EliminatingStepper):
    """Phased elimination: rewards beyond an arm's quota wait for the next phase."""

    player: PhasedPlayer

    def __init__(self, player: PhasedPlayer) -> None:
        super().__init__(player)
        self._waiting: list[deque[float]] = [deque() for _ in player.labels]
        self._quota = player.quota

    def _choose(self) -> int:
        return int(next_arm(self.player.arm_state, self.player.phase_start, self._quota))

    def _take(self, a: int, unit: float) -> None:
        left = self._left(a)
        if left > 1:  # the phase cannot close yet
            self.player.count(a, unit)
        elif left == 1:
            self._settle(a, unit)
            while self._drain():
                pass
        elif self.player.arm_state.active[a]:
            self._waiting[a].append(unit)

    def _left(self, a: int) -> int:
        """Return how many rewards of arm a this phase still uses."""
        state = self.player.arm_state
        left = self._quota - int(state.n[a]) + int(self.player.phase_start.n[a])
        return left if state.active[a] else 0

    def _settle(self, a: int, unit: float) -> None:
        before = self.player.phase
        self.player.absorb(a, unit)
        if self.player.phase != before:
            self._quota = self.player.quota
            for b in np.flatnonzero(~self.player.arm_state.active):
                self._waiting[b].clear()

    def _more(self) -> dict[str, Any]:
        return {"waiting": [list(rewards) for rewards in self._waiting]}

    def load_more(self, more: Mapping[str, Any]) -> None:
        """Take over what was saved beside the player."""
        self._waiting = [
            deque(_check.number("waiting", x) for x in rewards) for rewards in more["waiting"]
        ]

    def _drain(self) -> bool:
        """Use one reward that waited, if its arm's phase has come."""
        for a, rewards in enumerate(self._waiting):
            if rewards and self._left(a):
                self._settle(a, rewards.popleft())
                return True
        return False

    def ahead(self, n: int) -> list[int]:
        """Return the next n arms if no reward came in between."""
        state, start = self.player.arm_state, self.player.phase_start
        counts: I64 = state.n.copy()
        arms: list[int] = []
        for _ in range(n):
            a = int(next_arm(state._replace(n=counts), start, self._quota))
            if a < 0:  # the quotas are used up before the phase can close
                return arms + in_turn(counts - start.n, state.active, n - len(arms))
            counts[a] += 1
            arms.append(a)
        return arms


class IndexStepper(Stepper):
    """UCB, lil'UCB and KL-UCB."""

    player: OptimisticPlayer

    def __init__(self, player: OptimisticPlayer) -> None:
        super().__init__(player)
        self._index = player.learner.chooser(player.unit_noise)
        self._unplayed = int((player.arm_state.n == 0).sum())

    def _choose(self) -> int:
        state = self.player.arm_state
        return self._best(state.n, int(state.clock[0]) + 1, self._unplayed)

    def _best(self, n: Any, t: int, unplayed: int) -> int:
        if unplayed:
            return int((n == 0).argmax())
        state = self.player.arm_state
        return int(self._index(state.total, np.maximum(state.n, 1), n, t))

    def _take(self, a: int, unit: float) -> None:
        state = self.player.arm_state
        self._unplayed -= int(state.n[a] == 0)
        self.player.count(a, unit)

    def learn_rows(self, arms: I64, rewards: F64) -> None:
        """Take in rewards, all within the range, of any arms; only counts and sums matter."""
        state = self.player.arm_state
        state.n[:] += np.bincount(arms, minlength=state.n.size)
        np.add.at(state.total, arms, self._units(rewards))  # in their order, as one by one
        state.clock[0] += arms.size
        self._unplayed, self._next = int((state.n == 0).sum()), None
        self.follows = self.follows and not arms.size  # not looked at: nothing hangs on it

    def ahead(self, n: int) -> list[int]:
        """Return the next n arms if no reward came in between."""
        state = self.player.arm_state
        counts, arms, t = state.n.copy(), [], int(state.clock[0]) + 1
        for i in range(n):
            a = self._best(counts, t + i, int((counts == 0).sum()))
            counts[a] += 1
            arms.append(a)
        return arms


class DrawingStepper(Stepper):
    """Learners that must be told of their own decision: those that draw, and users' rules."""

    player: Player

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self._id: int | None = None

    def _choose(self) -> int:
        decision = self.player.ask()
        self._id = decision.id
        return int(decision.arm)

    def learn(self, a: int, reward: Any) -> float:
        """Take in the reward of the arm that was drawn; return it on the unit scale."""
        self.accepts(np.array([a]))
        assert self._id is not None
        self.player.tell(self._id, reward)
        self._id = self._next = None
        return float((float(reward) - self._offset) / self._scale)

    def accepts(self, arms: I64) -> None:
        """Refuse all but the reward of the arm that was drawn."""
        learner = self.player.learner
        name, verb = type(learner).__name__, "drew" if learner.draws else "chose"
        if arms.size > 1:
            said = "learns from one reward, then draws again"
            if not learner.draws:  # what is proved is about the order in which it asks
                said = "learns from its own decisions, one at a time, and not from a log"
            hint = "; uli.replay goes through logs" if learner.reads_logs else ""
            raise ArgumentError("decisions", f"{name} {said}{hint}")
        if arms.size and (self._id is None or arms[0] != self._next):
            which = "no arm" if self._id is None else f"arm number {self._next}"
            raise ArgumentError(
                "decisions",
                f"{name} learns from the arms it {verb}; it {verb} {which}, not number {arms[0]}",
            )

    def ahead(self, n: int) -> list[int]:
        """Return the next arm; there are no more before its reward."""
        if n > 1:
            name = type(self.player.learner).__name__
            raise UnsupportedError(f"{name} needs each reward before its next decision")
        return [self.choose()]

    def _more(self) -> dict[str, Any]:
        return {"id": self._id, "next": self._next}

    def load_more(self, more: Mapping[str, Any]) -> None:
        """Take over what was saved beside the player."""
        self._id, self._next = more["id"], more["next"]

    def __reduce__(self) -> Any:  # a base at work holds what can be neither copied nor pickled
        return resumed_stepper, (self.saved(), self.player.learner)


# By how a player's next arm follows from what is settled.
STEPPERS: dict[str, type[Stepper]] = {
    "turns": TurnStepper,
    "quotas": PhasedStepper,
    "index": IndexStepper,
    "asking": DrawingStepper,
}


def in_turn(counts: Any, active: Any, n: int) -> list[int]:
    """Return n arms, each time the least played active one."""
    arms = []
    for _ in range(n):
        a = int(least_played(counts, active))
        counts[a] += 1
        arms.append(a)
    return arms
