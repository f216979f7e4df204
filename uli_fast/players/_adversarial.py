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
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import B1, F64
from uli_fast.errors import ArgumentError, NoGuaranteeError, StateError, UliError
from uli_fast.guarantees import ArmsInfo
from uli_fast.learners._adversarial.bases import drawn, loss_kind, losses_of, started
from uli_fast.learners._adversarial.phases import AdversarialLearner, Live, PlannedPhase
from uli_fast.learners._linear import told_by_means
from uli_fast.players import _assumptions
from uli_fast.players._arms import Decision, Player
from uli_fast.players._certificate import Certificate

if TYPE_CHECKING:
    from uli_fast.learners._adversarial.bases import BasePhase

# Tag of a decision that its phase does not learn from.
UNUSED = 0


class AdversarialPlayer(Player):
    """Draws decisions from a base's probabilities, and lets it learn from their losses."""

    learner: AdversarialLearner

    def __init__(
        self, learner: AdversarialLearner, labels: Labels, low: float, high: float, live: Live
    ) -> None:
        super().__init__(learner, labels, low, high)
        self.features = live.features
        self.intercept, self.horizon = live.intercept, live.horizon
        self._rng = np.random.Generator(np.random.PCG64(live.seed))
        finite = math.isfinite(low)
        self._losses = losses_of(
            loss_kind(learner.phase_base),
            low if finite else None,
            high if finite else None,
            live.intercept,
        )
        self._schedule = learner.schedule(live.features, live.horizon)
        self._tags: list[int] = []  # the phase of each decision that is held, or UNUSED
        self._probabilities: list[float] = []
        self._drawn: dict[int, list[float] | None] = {}  # p of each decision not yet settled
        self._phase_asked = self._phase_settled = 0
        self._overlapped = False
        # No survivor's gap is above it, by the estimates of closed phases.
        self._least = math.inf
        self._open()

    @property
    def phase(self) -> int:
        """The phase in which settled rewards now count."""
        return int(self.arm_state.clock[1])

    def _open(self) -> None:
        """Start a fresh base on the active arms, if there is a choice left."""
        self._arms_now = np.flatnonzero(self.arm_state.active)
        self._phase_asked = self._phase_settled = 0
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
        p: list[float] | None = None
        if self._base is None:
            a, probability, tag = int(self._arms_now[0]), 1.0, UNUSED
        else:
            self._overlapped = self._overlapped or self.queue.waiting
            i, probability = drawn(self._base, self._rng, self._arms_now.size)
            a = int(self._arms_now[i])
            if hasattr(self._base, "p"):
                p = self._base.p.tolist()
            tag = self.phase if self._phase_asked < self._plan.rounds else UNUSED
            self._phase_asked += 1
        self._drawn[len(self.queue)] = p
        self.asked[a] += 1
        self._tags.append(tag)
        self._probabilities.append(probability)
        return Decision(self.queue.add(a), self.labels[a], probability)

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        p = self._drawn[self.queue.settled - 1]
        self.count(a, reward)
        if self._base is None or self._tags[self._settling] != self.phase:
            return
        i = int(np.searchsorted(self._arms_now, a))
        if p is not None:
            self._base.p[:] = p  # type: ignore[attr-defined]
        loss = (self._losses.offset - self._losses.slope * reward) / self._plan.scale
        self._base.update(i, loss)
        self._phase_settled += 1
        if self._phase_settled == self._plan.rounds:
            self._close(self._base)

    def _close(self, base: BasePhase) -> None:
        """Do what there is to do at the end of a phase."""

    def _omit(self, a: int) -> None:
        if self._base is None or self._tags[self._settling] != self.phase:
            self._omitted[a] -= 1  # it would not have been learned from anyway
            return
        self._tags[self._settling] = UNUSED
        self._phase_asked -= 1

    @property
    def _settling(self) -> int:
        """The place of the decision that is being taken in, among those that are held."""
        return self.queue.settled - 1 - self.queue.forgotten

    def _forget(self, n: int) -> None:
        del self._tags[:n], self._probabilities[:n]

    def _settle(self, end: int | None = None) -> None:
        super()._settle(end)
        self._drawn = {i: p for i, p in self._drawn.items() if i >= self.queue.settled}

    def _unit_intervals(self) -> tuple[F64, F64]:
        # The declared range: the proofs give rarely drawn arms no interval of their own.
        return np.full(len(self.labels), -math.inf), np.full(len(self.labels), math.inf)

    def certified(self, in_turn: bool = True) -> Certificate:
        """Say what is certain, which needs each loss before the next draw."""
        if self._overlapped:
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

    def _extra(self) -> dict[str, Any]:
        saved = None
        if self._base is not None:
            if not hasattr(self._base, "save") or not hasattr(self._base, "load"):
                raise UliError("this base cannot be saved: its phases need save() and load()")
            saved = self._base.save()
        return {
            "features": self.features.tolist(),
            "width": self.features.shape[1],
            "intercept": self.intercept,
            "horizon": self.horizon,
            "rng": self._rng.bit_generator.state,
            "tags": list(self._tags),
            "probabilities": list(self._probabilities),
            "drawn": [[i, p] for i, p in self._drawn.items()],
            "phase_asked": self._phase_asked,
            "phase_settled": self._phase_settled,
            "overlapped": self._overlapped,
            "least": None if math.isinf(self._least) else self._least,
            "base": saved,
        }

    def _load_extra(self, extra: Mapping[str, Any]) -> None:
        self._open()
        self._rng.bit_generator.state = dict(extra["rng"])
        self._tags = [int(x) for x in extra["tags"]]
        self._probabilities = [float(x) for x in extra["probabilities"]]
        self._drawn = {int(i): p for i, p in extra["drawn"]}
        self._phase_asked = int(extra["phase_asked"])
        self._phase_settled = int(extra["phase_settled"])
        self._overlapped = bool(extra["overlapped"])
        least = extra["least"]
        self._least = math.inf if least is None else float(least)
        settled = self._tags[: self._settling + 1].count(self.phase)
        consistent = (
            len(self._tags) == len(self._probabilities) == len(self.queue.decisions)
            and sorted(self._drawn) == list(range(self.queue.settled, len(self.queue)))
            and settled <= self._phase_settled <= settled + self.queue.forgotten
            and self._phase_settled <= self._phase_asked <= len(self.queue)
            and all(0.0 < x <= 1.0 for x in self._probabilities)
            and all(p is None or all(0.0 < x <= 1.0 for x in p) for p in self._drawn.values())
            and isinstance(extra["overlapped"], bool)
            and self._least >= 0.0
        )
        if not consistent:
            raise StateError("state", "contradicts itself: decisions and phases differ")
        if self._base is not None:
            self._base.load(extra["base"])  # type: ignore[attr-defined]

    # Drawing again, to see whether a state is what its decisions and outcomes lead to.

    def retraced(self, start: Callable[[], Any]) -> Any:
        """Let a fresh player draw and learn again, if each draw came after all earlier rewards.

        A user's own base may do anything when it is asked twice. Without the order in
        which rewards came nothing is certified either. Then the rewards are added up again.
        """
        own = not type(self.learner.phase_base).__module__.startswith("uli_fast.")
        if not self._overlapped and not own:
            return super().retraced(start)
        self.recount()
        return None

    def retrace(self, other: AdversarialPlayer) -> None:
        """Turn the generator back to the beginning, and draw and learn again."""
        self._rng.bit_generator.state = other._rng.bit_generator.state
        self._rng.bit_generator.advance(-other._draws())  # type: ignore[attr-defined]
        for i, arm in enumerate(other.queue.decisions):
            self._ask()
            if self.queue.decisions[i] != arm:
                raise StateError("state", f"contradicts itself: decision {i + 1} was not drawn")
            self.queue.copy_outcome(other.queue, i)
            self._settle()

    def _draws(self) -> int:
        """Return how many numbers were drawn for all decisions, by the arms that were in play."""
        known: dict[bytes, int] = {}
        total = clock = 0
        gone = self.arm_state.eliminated
        ends = set(gone[gone > 0].tolist())
        now: B1 = np.ones(gone.size, np.bool_)
        for arm, reward in zip(self.queue.decisions, self.queue.outcomes, strict=True):
            if clock in ends:
                now = (gone == 0) | (gone > clock)
            key = now.tobytes()
            if key not in known:
                known[key] = self._draws_among(now)
            total += known[key]
            clock += int(reward is not None and now[arm])
        return total

    def _draws_among(self, active: B1) -> int:
        """Return how many numbers a base draws for a decision among some arms."""
        counter: Any = _Counter()
        if active.sum() > 1:
            plan, arms = self._schedule(1), self.features[active]
            started(self.learner.phase_base, arms, plan.rounds, plan.delta).choose(counter)
        return int(counter.draws)

    def _phases_full(self) -> bool:
        used = Counter(self._tags[: self.queue.settled])
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


class _Counter:
    """Stands for a generator, and counts its draws."""

    draws = 0

    def random(self) -> float:
        self.draws += 1
        return 0.5
