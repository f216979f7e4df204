"""Phases of adversarial bases, and the learners made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from uli_fast import _check
from uli_fast._support.streams import entropy_of
from uli_fast._typing import F64, I64
from uli_fast.errors import NoGuaranteeError
from uli_fast.guarantees import Guarantee
from uli_fast.learners._adversarial.bases import Base
from uli_fast.learners._adversarial.solo import SoloTeam
from uli_fast.learners._arms import ArmBatch, ArmLearner, OneByOne, indexed, new_states
from uli_fast.learners._setting import ArmSetting

if TYPE_CHECKING:
    from uli_fast._check import Labels
    from uli_fast.kernels.arms.state import ArmState, RoundRecord
    from uli_fast.kernels.rewards.laws import Law
    from uli_fast.players._adversarial import AdversarialPlayer
    from uli_fast.problems.arms import ArmBandit


class PlannedPhase(NamedTuple):
    """What a schedule asks for: a fresh base for this many rounds, then a test."""

    rounds: int
    delta: float
    threshold: float  # arms whose estimated loss exceeds the least by more are removed
    scale: float  # losses of unbounded rewards are divided by it


class Team(Protocol):
    """Replications that go through the phases together."""

    def begin(self, phase: PlannedPhase) -> None:
        """Start a fresh base in every replication with more than one arm."""

    def play(self, rounds: int, record: RoundRecord) -> None:
        """Play and record rounds of the phase, in replications with more than one arm."""

    def estimates(self) -> Iterable[tuple[I64, I64, F64]]:
        """Return replications, their active arms and the loss estimates of these."""


class PhasedRun:
    """Takes a team through its phases up to the horizon."""

    def __init__(
        self,
        team: Team,
        states: ArmState,
        record: RoundRecord,
        horizon: int,
        schedule: Callable[[int], PlannedPhase],
    ) -> None:
        self.team, self.states, self.record = team, states, record
        self.horizon, self.schedule = horizon, schedule
        self.t = 0
        self.phase: PlannedPhase | None = None
        self.end = 0  # last round of the phase

    def advance(self, budget: int) -> bool:
        """Play on for about ``budget`` rounds and say whether the horizon is reached."""
        from uli_fast.kernels.arms.state import play_alone

        while self.t < self.horizon and budget > 0:
            step = self.horizon - self.t
            if (self.states.active.sum(axis=1) > 1).any():
                if self.phase is None:
                    self._open()
                step = min(budget, self.end - self.t, step)
                self.team.play(step, self.record)
            play_alone(self.states, self.record, self.t, step)
            self.t += step
            budget -= step
            if self.t == self.end:
                self._close()
        return self.t == self.horizon

    def _open(self) -> None:
        self.phase = self.schedule(int(self.states.clock[0, 1]))
        self.end = self.t + self.phase.rounds
        self.team.begin(self.phase)

    def _close(self) -> None:
        """Apply the elimination rule of the meta-algorithm and go to the next phase."""
        assert self.phase is not None
        self.states.clock[:, 1] += 1
        for who, arms, estimates in self.team.estimates():
            eliminate_rows(self.states, who, arms, estimates, self.phase.threshold)
        self.phase = None


def eliminate(state: ArmState, estimates: F64, threshold: float) -> None:
    """Remove the active arms whose estimated loss exceeds the least by more than the threshold."""
    arms = np.flatnonzero(state.active)
    first = np.zeros(1, np.int64)
    eliminate_rows(indexed(state, None), first, arms[None], estimates[None], threshold)


def eliminate_rows(states: ArmState, who: I64, arms: I64, estimates: F64, threshold: float) -> None:
    """Do so in the replications ``who``, with active arms and estimates (members, k)."""
    least = estimates.min(axis=1, keepdims=True)
    i, j = (estimates - least > threshold).nonzero()
    states.active[who[i], arms[i, j]] = False
    states.eliminated[who[i], arms[i, j]] = states.clock[who[i], 0]


@dataclass(frozen=True)
class Live:
    """What a live player of an adversarial learner is started with."""

    features: F64  # (K, d)
    intercept: float
    horizon: int | None
    seed: int


class AdversarialLearner(ArmLearner):
    """A learner that goes through phases of an adversarial base."""

    engines: ClassVar[tuple[str, ...]] = ("rounds",)
    draws: ClassVar[bool] = True

    @property
    def phase_base(self) -> Base:
        """The base that every phase starts afresh."""
        raise NotImplementedError

    def schedule(self, features: F64, horizon: int | None) -> Callable[[int], PlannedPhase]:
        """Return what phase m = 1, 2, ... asks for."""
        raise NotImplementedError

    def check(self, on: ArmSetting, horizon: int) -> None:
        """Refuse what the base cannot play."""
        self.check_arms("problem", on.features, horizon)

    def check_arms(self, name: str, features: F64, horizon: int | None) -> None:
        """Refuse arms that the base cannot play, naming the argument they came in."""
        check = getattr(self.phase_base, "check_features", None)
        if check is not None:
            check(name, features)

    def begin(
        self, on: ArmSetting, law: Law, record: RoundRecord, engine: str, horizon: int
    ) -> ArmBatch:
        """Allocate the replications whose streams the law has."""
        problem, states = on.about, new_states(law)
        schedule = self.schedule(on.features, horizon)
        if self.goes_in_lanes(problem):
            from uli_fast.learners._adversarial.lanes import LaneTeam

            rates = self.phase_base.rates  # type: ignore[attr-defined]
            team = LaneTeam(1.0 - problem.unit_means, states, law.words, rates)
            return ArmBatch(states, PhasedRun(team, states, record, horizon, schedule).advance)

        def begin(r: int, state: ArmState, law: Law, record: RoundRecord) -> Callable[[int], bool]:
            solo = SoloTeam(self.phase_base, problem, law, state)
            own = record._replace(plays=record.plays[None], at=record.at[None])
            return PhasedRun(solo, indexed(state, None), own, horizon, schedule).advance

        return ArmBatch(states, OneByOne(states, law, record, begin).advance)

    def goes_in_lanes(self, problem: ArmBandit) -> bool:
        """Return whether a kernel plays replications side by side."""
        # Of the class itself: one derived from it may step in another way.
        return problem.binary and type(self.phase_base).__dict__.get("in_lanes", False)

    def start(
        self,
        arms: Any,
        seed: int | None = None,
        horizon: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        intercept: float = 0.0,
    ) -> AdversarialPlayer:
        """Begin live decisions on a number of arms, on named ones, or on vectors.

        Parameters
        ----------
        arms
            Number of arms, their names, or a (K, d) array with one arm per row.
        seed
            Decides the draws; None takes fresh entropy.
        horizon
            Number of rounds; a base that plays alone is tuned to it and needs it.
        low, high
            The range of the rewards; ``-inf, inf`` if unbounded.
        intercept
            Linear arms: the expected reward where <a, theta> = 0.
        """
        features = _check.vectors("arms", arms)
        labels: Labels = tuple(range(len(features)))
        if not features.shape[1]:
            labels = _check.labels("arms", arms)
            features = np.zeros((len(labels), 0))
        T = None if horizon is None else _check.horizon("horizon", horizon)
        self.check_arms("arms", features, T)
        entropy = entropy_of(_check.seed("seed", seed))
        live = Live(features, _check.number("intercept", intercept), T, entropy)
        return self._live(labels, *_check.reward_range(low, high), live)

    def _live(self, labels: Labels, low: float, high: float, live: Live) -> AdversarialPlayer:
        raise NotImplementedError


class TunedLearner(AdversarialLearner):
    """A base that plays alone, tuned to the horizon: a baseline without F_ULI."""

    why_no_guarantee: str
    baseline: ClassVar[bool] = True
    # What a proof as a base needs: this many rounds for each log(10 K / delta) and dimension.
    proved_rounds_each: ClassVar[float] = 0.0

    def rounds_each(self) -> float:
        """Return how many rounds for each d log(10 K / delta) a phase of a base has at least."""
        return self.proved_rounds_each

    def check_proof(self, features: F64) -> None:
        """Refuse arms that the proof as a base does not cover."""

    @property
    def phase_base(self) -> Base:
        """The learner itself."""
        return self  # type: ignore[return-value]

    def schedule(self, features: F64, horizon: int | None) -> Callable[[int], PlannedPhase]:
        """Return one phase as long as the horizon, with no test at its end."""
        assert horizon is not None
        return lambda m: PlannedPhase(horizon, self.delta, math.inf, 1.0)

    def least_horizon(self, features: F64) -> float:
        """Return what the horizon must exceed for the parameters to be within their bounds."""
        raise NotImplementedError

    def check_arms(self, name: str, features: F64, horizon: int | None) -> None:
        """Refuse arms and horizons that the algorithm cannot be tuned to."""
        super().check_arms(name, features, horizon)
        _check.tuned_horizon(horizon, self.least_horizon(features), type(self).__name__)

    def guarantee(self, about: Any) -> Guarantee:
        """Raise NoGuaranteeError: the exploration never ends."""
        raise NoGuaranteeError(self.why_no_guarantee)
