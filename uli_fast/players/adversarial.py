"""Live players of Exp3P, GeometricHedge and the meta-algorithm.

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
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64
from uli_fast.errors import ArgumentError, NoGuaranteeError, StateError, UliError
from uli_fast.guarantees import ArmsInfo
from uli_fast.learners._adversarial import (
    checked_estimates,
    drawn,
    loss_kind,
    losses_of,
    started,
)
from uli_fast.learners._linear import told_by_means
from uli_fast.learners._phases import AdversarialLearner, Live, Phase, eliminate
from uli_fast.players import _assumptions
from uli_fast.players._base import Decision, Player
from uli_fast.players._certificate import Certificate

if TYPE_CHECKING:
    from uli_fast.learners._adversarial import BasePhase

# Tag of a decision that its phase does not learn from.
UNUSED = 0


class AdversarialPlayer(Player):
    """Draws decisions from a base's probabilities; eliminates at the end of its phases."""

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
        self._tags: list[int] = []  # the phase of each decision, or UNUSED
        self._probabilities: list[float] = []
        self._drawn: dict[int, list[float] | None] = {}  # p of each decision not yet settled
        self._phase_asked = self._phase_settled = 0
        self._overlapped = False
        self._least = math.inf  # no survivor's gap is above it, by the estimates of closed phases
        self._open()

    @property
    def phase(self) -> int:
        """The phase in which settled rewards now count."""
        return int(self._state.clock[1])

    def _open(self) -> None:
        """Start a fresh base on the active arms, if there is a choice left."""
        self._arms_now = np.flatnonzero(self._state.active)
        self._phase_asked = self._phase_settled = 0
        self._plan: Phase = self._schedule(self.phase)
        self._base: BasePhase | None = None
        if self._arms_now.size > 1:
            arms, plan = self.features[self._arms_now], self._plan
            self._base = started(self.learner.phase_base, arms, plan.rounds, plan.delta)

    def _check_ask(self, n: int) -> None:
        """Refuse n more decisions before the first of them is drawn."""
        if self.horizon is not None and not self.learner.eliminates:
            left = self.horizon - len(self._arms)
            if n > left:
                raise ArgumentError("n", f"{left} of the {self.horizon} rounds are left, not {n}")
        if self._base is None or hasattr(self._base, "p"):
            return
        if n > 1 or self._settled < len(self._arms):
            raise ArgumentError("n", "this base needs each reward before its next draw")

    def _ask(self) -> Decision:
        waiting = self._settled < len(self._arms)
        p: list[float] | None = None
        if self._base is None:
            a, probability, tag = int(self._arms_now[0]), 1.0, UNUSED
        else:
            self._overlapped = self._overlapped or waiting
            i, probability = drawn(self._base, self._rng, self._arms_now.size)
            a = int(self._arms_now[i])
            if hasattr(self._base, "p"):
                p = self._base.p.tolist()
            tag = self.phase if self._phase_asked < self._plan.rounds else UNUSED
            self._phase_asked += 1
        self._drawn[len(self._arms)] = p
        self._asked[a] += 1
        self._arms.append(a)
        self._rewards.append(None)
        self._tags.append(tag)
        self._probabilities.append(probability)
        return Decision(len(self._arms), self.labels[a], probability)

    def _absorb(self, a: int, reward: float) -> None:
        decision = self._settled - 1
        p = self._drawn[decision]
        self._count(a, reward)
        if self._base is None or self._tags[decision] != self.phase:
            return
        i = int(np.searchsorted(self._arms_now, a))
        if p is not None:
            self._base.p[:] = p  # type: ignore[attr-defined]
        loss = (self._losses.offset - self._losses.slope * reward) / self._plan.scale
        self._base.update(i, loss)
        self._phase_settled += 1
        if self._phase_settled == self._plan.rounds and self.learner.eliminates:
            estimates = checked_estimates(self._base, self._arms_now.size)
            self._least = min(self._least, self._survivors_gap(estimates))
            eliminate(self._state, estimates, self._plan.threshold)
            self._state.clock[1] += 1
            self._open()

    def _omit(self, a: int) -> None:
        decision = self._settled - 1
        if self._base is None or self._tags[decision] != self.phase:
            self._omitted[a] -= 1  # it would not have been learned from anyway
            return
        self._tags[decision] = UNUSED
        self._phase_asked -= 1

    def _settle(self) -> None:
        super()._settle()
        self._drawn = {i: p for i, p in self._drawn.items() if i >= self._settled}

    def _unit_intervals(self) -> tuple[F64, F64]:
        # The declared range: the proofs give rarely drawn arms no interval of their own.
        return np.full(len(self.labels), -math.inf), np.full(len(self.labels), math.inf)

    def certificate(self) -> Certificate:
        """Return what is certain of every active arm, from settled rewards alone."""
        if self._overlapped:
            raise NoGuaranteeError(
                "decisions were asked for while earlier rewards were awaited; "
                "the proofs need each loss before the next draw"
            )
        return super().certificate()

    def _survivors_gap(self, estimates: F64) -> float:
        """Bound the gaps of what this phase leaves, on the unit scale."""
        learner: Any = self.learner  # that eliminates
        scale = self._losses.scale * self._plan.scale / self._scale
        return float(learner.survivors_gap(self._plan, estimates) * scale)

    def _unit_gap_bound(self) -> float:
        # G(m) = 2^(-(m - 1) / 2) for the survivors of phase m - 1, in units of loss.
        if self.phase == 1:
            return math.inf
        scale = self._losses.scale * self._schedule(self.phase - 1).scale
        return min(self._least, float(2.0 ** (-(self.phase - 1) / 2.0) * scale / self._scale))

    def _assumes(self, proved: bool) -> tuple[str, ...]:
        linear = loss_kind(self.learner.phase_base) != "unit"
        claim = () if proved else (_assumptions.CLAIMED_BASE,)
        return _assumptions.of_arms(self, linear) + claim

    def arms_info(self) -> ArmsInfo:
        """Return what a guarantee may rely on."""
        from uli_fast.designs import rank

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
        least = extra.get("least")  # states from before know the bound of the phase alone
        self._least = math.inf if least is None else float(least)
        consistent = (
            len(self._tags) == len(self._probabilities) == len(self._arms)
            and sorted(self._drawn) == list(range(self._settled, len(self._arms)))
            and self._phase_settled == self._tags[: self._settled].count(self.phase)
            and self._phase_settled <= self._phase_asked <= len(self._arms)
            and all(0.0 < x <= 1.0 for x in self._probabilities)
            and all(p is None or all(0.0 < x <= 1.0 for x in p) for p in self._drawn.values())
            and isinstance(extra["overlapped"], bool)
            and self._least >= 0.0
        )
        if not consistent:
            raise StateError("state", "contradicts itself: decisions and phases differ")
        if self._base is not None:
            self._base.load(extra["base"])  # type: ignore[attr-defined]
