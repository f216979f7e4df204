"""What live players of adversarial bases share, alone or in phases.

A decision is drawn at random and comes with its probability. A base learns from
one loss before it draws again, and so do the proofs: where decisions are asked
for while earlier rewards are awaited, each loss is still weighted with the
probabilities it was drawn with, but ``certificate`` says that nothing is proved.
What is asked for beyond the end of a phase, before its rewards are in, is drawn
from the phase's weights and not learned from. Nor is a decision whose outcome is
missing: another takes its place in the phase, and nothing is proved any more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64, I64
from uli_fast.errors import ArgumentError, NoGuaranteeError, UliError
from uli_fast.guarantees import ArmsInfo
from uli_fast.learners._adversarial.bases import drawn, loss_kind, losses_of, started
from uli_fast.learners._adversarial.phases import AdversarialLearner, Live, PlannedPhase
from uli_fast.learners._linear import told_by_means
from uli_fast.players import _assumptions
from uli_fast.players._arms import Decision, Player
from uli_fast.players._certificate import Certificate
from uli_fast.players._saved_states import Records, contradicts, load

if TYPE_CHECKING:
    from uli_fast.learners._adversarial.bases import BasePhase

# Tag of a decision that its phase does not learn from.
UNUSED = 0


class DrawnMemory(NamedTuple):
    """What decisions are drawn with, and what is known of the open phase and the closed ones."""

    rng: np.random.Generator
    tags: Records  # the phase of each decision that is held, or UNUSED
    drawn: Records  # position and p of each decision not yet settled; p is 0 if the base has none
    asked: I64  # (1,) decisions of this phase
    settled: I64  # (1,) of these
    overlapped: I64  # (1,) whether a decision was drawn while a reward was awaited
    least: F64  # (1,) no survivor's gap is above it, by the estimates of closed phases


class AdversarialPlayer(Player):
    """Draws decisions from a base's probabilities, and lets it learn from their losses."""

    learner: AdversarialLearner
    chooses_again: ClassVar[bool] = True

    def __init__(
        self, learner: AdversarialLearner, labels: Labels, low: float, high: float, live: Live
    ) -> None:
        super().__init__(learner, labels, low, high)
        self.features = live.features
        self.intercept, self.horizon = live.intercept, live.horizon
        self.seed = live.seed
        lists = Records(int), Records(int, *[float] * len(labels))
        zeros = np.zeros((3, 1), np.int64)
        rng = np.random.Generator(np.random.PCG64(live.seed))
        self.memory = DrawnMemory._make((rng, *lists, *zeros, np.full(1, math.inf)))
        finite = math.isfinite(low)
        self._losses = losses_of(
            loss_kind(learner.phase_base),
            low if finite else None,
            high if finite else None,
            live.intercept,
        )
        self._schedule = learner.schedule(live.features, live.horizon)
        self._open()

    @property
    def phase(self) -> int:
        """The phase in which settled rewards now count."""
        return int(self.arm_state.clock[1])

    def _open(self) -> None:
        """Start a fresh base on the active arms, if there is a choice left."""
        self._arms_now = np.flatnonzero(self.arm_state.active)
        self.memory.asked[0] = self.memory.settled[0] = 0
        self._plan: PlannedPhase = self._schedule(self.phase)
        self._base: BasePhase | None = None
        if self._arms_now.size > 1:
            arms, plan = self.features[self._arms_now], self._plan
            self._base = started(self.learner.phase_base, arms, plan.rounds, plan.delta)

    def check_ask(self, n: int) -> None:
        """Refuse n more decisions before the first of them is drawn."""
        if self._base is None or hasattr(self._base, "p"):
            return
        if n > 1 or self.queue.waiting:
            raise ArgumentError("n", "this base needs each reward before its next draw")

    def _ask(self) -> Decision:
        memory, p = self.memory, np.zeros(len(self.labels))
        if self._base is None:
            a, probability, tag = int(self._arms_now[0]), 1.0, UNUSED
        else:
            memory.overlapped[0] |= self.queue.waiting
            i, probability = drawn(self._base, memory.rng, self._arms_now.size)
            a = int(self._arms_now[i])
            if hasattr(self._base, "p"):
                p[self._arms_now] = self._base.p
            tag = self.phase if memory.asked[0] < self._plan.rounds else UNUSED
            memory.asked[0] += 1
        memory.drawn.append((len(self.queue), *p.tolist()))
        memory.tags.append(tag)
        self._note(a)
        return Decision(len(self.queue), self.labels[a], probability)

    def _take_in(self, a: int, reward: float | None) -> None:
        # By its number, and before code of the user's may fail.
        drawn = self.memory.drawn
        at = self.queue.settled - 1 - drawn[0][0]
        self._drawn_by = drawn[at][1:]
        del drawn[: at + 1]
        super()._take_in(a, reward)

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        p = self._drawn_by
        self.count(a, reward)
        if self._base is None or self.memory.tags[self._settling] != self.phase:
            return
        i = int(np.searchsorted(self._arms_now, a))
        if any(p):
            self._base.p[:] = np.array(p)[self._arms_now]  # type: ignore[attr-defined]
        loss = (self._losses.offset - self._losses.slope * reward) / self._plan.scale
        self._base.update(i, loss)
        self.memory.settled[0] += 1
        if self.memory.settled[0] == self._plan.rounds:
            self._close(self._base)

    def _close(self, base: BasePhase) -> None:
        """Do what there is to do at the end of a phase."""

    def _omit(self, a: int) -> None:
        if self._base is None or self.memory.tags[self._settling] != self.phase:
            self.tally.omitted[a] -= 1  # it would not have been learned from anyway
            return
        self.memory.tags[self._settling] = UNUSED
        self.memory.asked[0] -= 1

    @property
    def _settling(self) -> int:
        """The place of the decision that is being taken in, among those that are held."""
        return self.queue.settled - 1 - self.queue.forgotten

    def forget(self) -> None:
        """Drop the settled decisions."""
        del self.memory.tags[: self.queue.forget()]

    def _unit_intervals(self) -> tuple[F64, F64]:
        # The declared range: the proofs give rarely drawn arms no interval of their own.
        return np.full(len(self.labels), -math.inf), np.full(len(self.labels), math.inf)

    def certified(self, in_turn: bool = True) -> Certificate:
        """Say what is certain, which needs each loss before the next draw."""
        if self.memory.overlapped[0]:
            raise NoGuaranteeError(
                "decisions were asked for while earlier rewards were awaited; "
                "the proofs need each loss before the next draw"
            )
        return super().certified(in_turn)

    def _assumes(self, proved: bool) -> tuple[str, ...]:
        linear = loss_kind(self.learner.phase_base) != "unit"
        claim = () if proved else (_assumptions.CLAIMED_BASE,)
        return _assumptions.of_arms(self, linear) + claim

    def started_with(self) -> dict[str, Any]:
        """Return the arms, and the mean where vectors are 0."""
        return super().started_with() | {"intercept": self.intercept}

    def arms_info(self) -> ArmsInfo:
        """Return what a guarantee may rely on."""
        from uli_fast.geometry.designs import rank

        info = super().arms_info()._replace(intercept=self.intercept)
        if self.features.shape[1]:
            info = info._replace(d=max(1, rank(self.features)), features=self.features)
        return info

    def informed(self, info: ArmsInfo, means: F64) -> ArmsInfo:
        """Add what true means say: whether they are linear in the features, and how large."""
        info = super().informed(info, means)
        if not self.features.shape[1]:
            return info
        return told_by_means(info, self.features, means - self.intercept)

    # Saved states.

    def also_started_with(self) -> dict[str, Any]:
        """Return the seed and the horizon."""
        return {"seed": self.seed, "horizon": self.horizon}

    def parts(self) -> dict[str, Any]:
        """Return all that changes, by name; a base of a user's own saves itself."""
        if self._base is None:
            return super().parts()
        if not hasattr(self._base, "save") or not hasattr(self._base, "load"):
            raise UliError("this base cannot be saved: its phases need save() and load()")
        return super().parts() | {"base": self._base}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what ``state`` returned; the base is that of its arms and its phase."""
        load(self.arm_state, saved["arms"])
        self._open()
        super().load(saved)

    def check_state(self) -> None:
        """Refuse what no player can hold, whatever led to it."""
        super().check_state()
        memory, queue = self.memory, self.queue
        used = memory.tags[: self._settling + 1].count(self.phase)
        holds = (
            len(memory.tags) == len(queue.decisions),
            [row[0] for row in memory.drawn] == list(range(queue.settled, len(queue))),
            all(0.0 <= x <= 1.0 for row in memory.drawn for x in row[1:]),
            used <= memory.settled[0] <= used + queue.forgotten,
            memory.settled[0] <= memory.asked[0] <= len(queue),
            memory.overlapped[0] in (0, 1) and memory.least[0] >= 0.0,
        )
        if not all(holds):
            raise contradicts("decisions and phases differ")

    @property
    def repeats(self) -> bool:  # type: ignore[override]
        """Whether the base is none of a user's own."""
        return type(self.learner.phase_base).__module__.startswith("uli_fast.")

    def _repeat(self, decision: int, outcome: float | None) -> None:
        self._ask()

    def _phases_full(self) -> bool:
        used = Counter(self.memory.tags[: self.queue.settled])
        return all(used[m] == self._schedule(m).rounds for m in range(1, self.phase))


class TunedPlayer(AdversarialPlayer):
    """A base alone: one phase, as long as the horizon, and no elimination."""

    def check_ask(self, n: int) -> None:
        """Refuse n more decisions than the horizon has before the first of them is drawn."""
        assert self.horizon is not None
        left = self.horizon - len(self.queue)
        if n > left:
            raise ArgumentError("n", f"{left} of the {self.horizon} rounds are left, not {n}")
        super().check_ask(n)
