"""Live elimination on linear arms (PE-linear), in phases or in blocks.

As on K arms, a phase closes when every decision of its quotas is settled. What is
asked beyond them in the meantime goes to the arms of the design and counts for the
next phase, as far as that plays the arm; what is beyond its quotas too is recorded and
not learned from.

A missing outcome of bounded rewards counts as the middle of the range, and the phase's test
and intervals allow for what that may move the estimate: half the range times |x^T V^-1 a| for
every missing outcome of an arm a. One of unbounded rewards is asked for again.

Blocks (schedule "sharp") are closed in the same way. Their event is about differences of means
(docs/proofs_linear.md, "Live"): no single mean has an interval, and the certificate is what all
pairs say. Rounding of rewards without a range is taken at its worst, as missing ones are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from uli_fast._check import Labels
from uli_fast._typing import F64, I64
from uli_fast.guarantees import ArmsInfo, Guarantee, read_arms
from uli_fast.learners._linear import told_by_means
from uli_fast.learners._linear_blocks import SharpBlocks
from uli_fast.players._arms import Player
from uli_fast.players._assumptions import FLAT
from uli_fast.players._certificate import too_large

if TYPE_CHECKING:
    from uli_fast.learners.linear_elimination import LinearElimination


class LinearMemory(NamedTuple):
    """What is known of the open phase or block, and of the closed ones."""

    asked: I64  # (K,) decisions of this phase; below, of these
    settled: I64  # (K,)
    missing: I64  # (K,)
    sums: F64  # (K,) of rewards
    closed: I64  # (1,) rounds of the closed phases' quotas
    certified: F64  # (1,) the least that was realised, on the unit scale
    values: F64  # (K,) estimates of the last closed phase, and what missing or rounded rewards may
    errors: F64  # (K,) have made in them


class LinearPlayer(Player):
    """Asks for each quota of the design in turn; drops what lags when the phase is settled."""

    learner: LinearElimination
    widens: ClassVar[bool] = True

    def __init__(
        self,
        learner: LinearElimination,
        labels: Labels,
        low: float,
        high: float,
        features: F64,
        intercept: float,
    ) -> None:
        super().__init__(learner, labels, low, high)
        self.features, self.intercept = features, intercept
        bounds = (low, high) if math.isfinite(low) else (None, None)
        units = learner.units(features, bounds, intercept)
        self._phases = learner.phases(units, features, self.arm_state)
        counts = np.zeros((3, len(labels)), np.int64)
        sums, closed, certified = np.zeros(len(labels)), np.zeros(1, np.int64), np.full(1, math.inf)
        last = self._phases.values, self._phases.errors
        self.memory = LinearMemory._make((*counts, sums, closed, certified, *last))

    @property
    def phase(self) -> int:
        """The phase, or block of "sharp", in which settled rewards now count, from 1 on."""
        return int(self.arm_state.clock[1])

    @property
    def quotas(self) -> dict[int | str, int]:
        """Plays of each arm in this phase or block."""
        return dict(zip(self.labels, self._phases.quotas().tolist(), strict=True))

    def recommend(self) -> int | str:
        """Return the active arm with the best mean of the rewards that came.

        In blocks the one that all blocks together estimate best, whether it was played or not.
        """
        leader = self._phases.leader if isinstance(self._phases, SharpBlocks) else None
        return super().recommend() if leader is None else self.labels[leader]

    def intervals(self) -> dict[int | str, tuple[float, float]]:
        """Return each arm's confidence interval, cut to the declared range.

        In blocks that is the whole range: what they learn is about differences of means, and
        ``certificate()`` says it.
        """
        return super().intervals()

    def _choose(self) -> int:
        quotas = self._phases.quotas()
        unasked = self.memory.asked < quotas
        if unasked.any():
            return int(unasked.argmax())
        # Ahead of the phase's end: in proportion to the quotas.
        share = np.where(quotas > 0, self.memory.asked / np.maximum(quotas, 1), math.inf)
        return int(share.argmin())

    def _counts_asked(self) -> tuple[I64, ...]:
        return self.tally.asked, self.memory.asked

    def _absorb_missing(self, a: int) -> None:
        if self.memory.settled[a] < self._phases.quotas()[a]:
            self.memory.missing[a] += 1
        self._take(a, 0.0, 0.5)

    def _omit(self, a: int) -> None:
        self.memory.asked[a] -= 1

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        self._take(a, reward, reward)

    def _take(self, a: int, came: float, reward: float) -> None:
        """Count a play; ``reward`` is what the estimate takes it for, ``came`` what there was."""
        self.count(a, came)
        memory, quotas = self.memory, self._phases.quotas()
        memory.settled[a] += 1
        if memory.settled[a] <= quotas[a]:
            memory.sums[a] += reward
        if (memory.settled >= quotas).all() and self.arm_state.active.sum() > 1:
            self._close()
            self._narrow()
            memory.certified[0] = min(memory.certified[0], self._realised())
            memory.closed[0] += quotas.sum()
            memory.asked[:] -= memory.settled
            for array in (memory.settled, memory.sums, memory.missing):
                array[:] = 0

    def _close(self) -> None:
        """Learn from a phase or block whose quotas are settled."""
        sums, missing = self.memory.sums, self.memory.missing
        if isinstance(self._phases, SharpBlocks):
            known = abs(self.intercept) if self.learner.known_intercept else 0.0
            largest = 0.0 if math.isfinite(self.low) else max(self.largest, known)
            self._phases.close(sums, missing=missing, largest=largest)
        else:
            self._phases.close(sums, missing=missing)

    def _learned(self) -> int:
        within = np.minimum(self.memory.settled, self._phases.quotas())
        return int(self.memory.closed[0]) + int(within.sum())

    def informed(self, info: ArmsInfo, means: F64) -> ArmsInfo:
        """Add what true means say."""
        info, above, features = super().informed(info, means), means - self.intercept, self.features
        if not self.learner.known_intercept:
            above, features = means - means.mean(), features - features.mean(axis=0)
        return told_by_means(info, features, above)

    def _realised(self) -> float:
        """Return what blocks certify of all active arms, on the unit scale; nothing in phases."""
        if not isinstance(self._phases, SharpBlocks):
            return math.inf
        left = self.features[self.arm_state.active]
        if (left == left[0]).all():  # one arm, or copies of it
            return 0.0
        return self._phases.certificate() / self._phases.units.slope

    @property
    def withdrawn(self) -> bool:
        """Whether looks were worth less than F counts on."""
        return isinstance(self._phases, SharpBlocks) and self._phases.withdrawn > 0

    def _envelope(self, promise: Guarantee, t: int) -> float:
        if self.withdrawn:
            return math.inf
        bound = super()._envelope(promise, t)
        if isinstance(self._phases, SharpBlocks) and self._complete is None:
            late = self._phases.delayed + 2.0 * self._phases.hidden + self._phases.unseen
            bound += late * self._phases.units.scale
        return bound

    def _assumes(self, proved: bool) -> tuple[str, ...]:
        found = super()._assumes(proved)
        flat = isinstance(self._phases, SharpBlocks) and self._phases.flat
        return (*found, FLAT) if flat else found

    def _refuse_rounding(self) -> None:
        if not isinstance(self._phases, SharpBlocks):
            super()._refuse_rounding()
        elif self._phases.drowned:  # all other rounding is in what blocks certify
            raise too_large(self.largest)

    def _unit_gap_bound(self) -> float:
        return min(super()._unit_gap_bound(), float(self.memory.certified[0]))

    def _unit_intervals(self) -> tuple[F64, F64]:
        units, values = self._phases.units, self._phases.values
        if isinstance(self._phases, SharpBlocks):  # which know no single mean
            return np.full(len(self.labels), -math.inf), np.full(len(self.labels), math.inf)
        width = 2.0 ** (1 - self.phase) if self.phase > 1 else math.inf
        # Rewards in units of the proofs are X slope - offset.
        middle = (np.where(np.isfinite(values), values, 0.0) + units.offset) / units.slope
        half = np.where(np.isfinite(values), (width + self._phases.errors) / units.slope, math.inf)
        if self.tally.omitted.any():  # one estimate serves all arms
            half[:] = math.inf
        return middle - half, middle + half

    def started_with(self) -> dict[str, Any]:
        """Return the arms, and the mean where they are 0."""
        return super().started_with() | {"intercept": self.intercept}

    def arms_info(self) -> ArmsInfo:
        """Return what a guarantee may rely on."""
        finite = math.isfinite(self.low)
        return read_arms(self.features)._replace(
            low=self.low if finite else None,
            high=self.high if finite else None,
            intercept=self.intercept,
            noise=(self.high - self.low) / 2.0 if finite else 0.0,
        )

    def parts(self) -> dict[str, Any]:
        """Return all that changes, by name."""
        found = super().parts()
        if isinstance(self._phases, SharpBlocks):
            found["blocks"] = self._phases.changing()
        return found
