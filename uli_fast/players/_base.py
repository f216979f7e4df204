"""What all live players on K arms share.

Rewards are applied in the order of the decisions, each once all earlier ones
are settled: any order of arrival gives the same bits, and with immediate
rewards the decisions are the kernel's. While rewards are awaited, asking goes
on over the arms that are still active. Rewards of arms removed in the meantime
are recorded and not used.

An outcome that will never come is told as missing. On a bounded range its play counts, and
every bound takes it at its worst: with n plays of which m are missing, an interval is wider by
m / n, and valid whatever made them missing. Without bounds it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np

from uli_fast import _check
from uli_fast._check import Labels
from uli_fast._typing import F64, I64
from uli_fast.errors import (
    ConflictingRewardError,
    StateError,
    UliError,
)
from uli_fast.guarantees import ArmsInfo
from uli_fast.learners._arms import ArmLearner, empty_state
from uli_fast.players._missing import SCHEMA, Missing, check_schema, left_out


class Decision(NamedTuple):
    """What to play next: tell its reward under ``id``."""

    id: int
    arm: int | str
    probability: float


class Certificate(NamedTuple):
    """With probability 1 - delta, over all rounds at once, no active arm is worse than this.

    It rests on settled rewards only, whatever has been asked for since.
    """

    round: int  # the first round that the settled rewards decide on
    bound: float  # every active arm's gap is at most this, in reward units
    # F(delta, round) alone; infinite where the range is unbounded and where outcomes are
    # missing: F counts on arms being dropped in time, which these delay.
    envelope: float
    delta: float
    # The arms in play; for policies, how many they are; () for the points of an arm set.
    active: tuple[int | str, ...] | int
    proved: bool  # False: the bound is a user's claim
    # What is believed beyond independent draws within the declared range; "" if nothing is.
    assumes: str = ""


class Player:
    """Live decisions on K arms."""

    # Whether missing outcomes of bounded rewards count at their worst, else they are left out.
    widens: ClassVar[bool] = False

    def __init__(self, learner: Any, labels: Labels, low: float, high: float) -> None:
        K = len(labels)
        self.learner: ArmLearner = learner
        self.labels = labels
        self.low, self.high = low, high
        self.features: F64 = np.zeros((K, 0))  # of arms that are vectors
        self._state = empty_state(K)
        self._asked: I64 = np.zeros(K, np.int64)  # decisions per arm, settled or not
        self._arms: list[int] = []  # arm of decision 1, 2, ...
        self._rewards: list[float | None] = []
        self._missing = Missing()
        self._lost: I64 = np.zeros(K, np.int64)  # missing outcomes among the plays n
        self._omitted: I64 = np.zeros(K, np.int64)  # those that are left out of n
        self._settled = 0  # decisions whose reward and all earlier ones are known

    # What an algorithm supplies.

    def _check_ask(self, n: int) -> None:
        """Refuse n more decisions before the first of them is made."""

    def _choose(self) -> int:
        """Return the next arm to ask for."""
        raise NotImplementedError

    def _absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale."""
        raise NotImplementedError

    def _absorb_missing(self, a: int) -> None:
        """Count a play of an active arm whose reward is missing: at least 0, at most 1."""
        self._absorb(a, 0.0)

    def _omit(self, a: int) -> None:
        """Leave out a play of an active arm whose reward is missing."""

    def _unit_intervals(self) -> tuple[F64, F64]:
        """Return lower and upper confidence bounds on the unit scale."""
        raise NotImplementedError

    def _unit_gap_bound(self) -> float:
        """Bound the gap of every active arm from the settled data, on the event."""
        return math.inf

    # What a user calls.

    @overload
    def ask(self, n: None = None) -> Decision: ...
    @overload
    def ask(self, n: int) -> list[Decision]: ...
    def ask(self, n: int | None = None) -> Decision | list[Decision]:
        """Return the next decision, or a list of the next n."""
        if n is None:
            self._check_ask(1)
            return self._ask()
        many = _check.decisions("n", n)
        self._check_ask(many)
        return [self._ask() for _ in range(many)]

    def tell(self, id: int, reward: float) -> None:
        """Give the reward of a decision; telling the same again changes nothing."""
        position = _check.decision("id", id, len(self._arms))
        value = _check.reward(reward, self.low, self.high)
        self._missing.refuse("reward", id, position)
        known = self._rewards[position]
        if known is not None:
            if known != value:
                raise ConflictingRewardError(
                    "reward", f"decision {id} already has reward {known!r}, got {value!r}"
                )
            return
        self._rewards[position] = value
        self._settle()

    def tell_missing(self, id: int, reason: str) -> None:
        """Say that the reward of a decision will never come; saying it again changes nothing."""
        position = _check.decision("id", id, len(self._arms))
        if self._missing.add(id, position, reason, self._rewards[position]):
            self._settle()

    @property
    def active(self) -> tuple[int | str, ...]:
        """The arms still in play."""
        return tuple(self.labels[a] for a in np.flatnonzero(self._state.active))

    @property
    def pending(self) -> tuple[int, ...]:
        """Ids of the decisions whose reward is still awaited."""
        waiting = range(self._settled, len(self._rewards))
        return tuple(i + 1 for i in waiting if self._rewards[i] is None and i not in self._missing)

    def recommend(self) -> int | str:
        """Return the active arm with the best mean of the rewards that came."""
        state, came = self._state, self._came()
        played = state.active & (came > 0)
        if not played.any():
            raise UliError("nothing to recommend: no reward has been settled yet")
        means = np.where(played, state.total / np.maximum(came, 1), -math.inf)
        return self.labels[int(means.argmax())]

    def intervals(self) -> dict[int | str, tuple[float, float]]:
        """Return each arm's confidence interval, cut to the declared range.

        Missing outcomes are in it at their worst; an arm of which some were left out has the
        whole range.
        """
        lower, upper = (self._reward_units(x) for x in self._unit_intervals())
        unknown = self._omitted > 0
        lower, upper = np.where(unknown, -math.inf, lower), np.where(unknown, math.inf, upper)
        return {
            label: (float(max(lo, self.low)), float(min(hi, self.high)))
            for label, lo, hi in zip(self.labels, lower, upper, strict=True)
        }

    def certificate(self) -> Certificate:
        """Return what is certain of every active arm, from settled rewards alone."""
        if self._omitted.any():
            raise left_out(int(self._omitted.sum()))
        guarantee = self.learner.guarantee(self.arms_info())
        t = self._learned() + 1
        envelope = math.inf if self._lost.any() else guarantee.bound(t)
        largest = guarantee.scale * guarantee.parameters.get("largest_gap", math.inf)
        if math.isfinite(self.low):
            largest = min(largest, self._scale)
        bound = min(envelope, self._unit_gap_bound() * self._scale, largest)
        if len(self.active) == 1:
            bound = 0.0 if guarantee.proved else bound
        about = (guarantee.delta, self.active, guarantee.proved, self._assumes())
        return Certificate(t, bound, envelope, *about)

    def _assumes(self) -> str:
        return assumed(self.learner, math.isfinite(self.low), self.features.shape[1] > 0)

    def _learned(self) -> int:
        """Return how many rounds the algorithm has learned from."""
        return int(self._state.clock[0])

    def arms_info(self) -> ArmsInfo:
        """Return what a guarantee may rely on: rewards in [0, 1], or R alone if unbounded."""
        if math.isfinite(self.low):
            return ArmsInfo(len(self.labels), 1.0, self._scale, 0.5)
        return ArmsInfo(len(self.labels), math.inf, low=None, high=None)

    def informed(self, info: ArmsInfo, means: F64) -> ArmsInfo:
        """Add to what a guarantee may rely on what true means say."""
        if math.isinf(info.largest_gap):
            return info._replace(largest_gap=float(means.max() - means.min()))
        return info

    def state(self) -> dict[str, Any]:
        """Return everything as plain numbers and strings, for JSON and ``uli.restore``."""
        finite = math.isfinite(self.low)
        return {
            "schema": SCHEMA,
            "learner": describe(self.learner),
            "labels": list(self.labels),
            "range": [self.low, self.high] if finite else [None, None],
            "asked": self._asked.tolist(),
            "arms": list(self._arms),
            "rewards": list(self._rewards),
            "missing": self._missing.saved(),
            "lost": self._lost.tolist(),
            "omitted": self._omitted.tolist(),
            "settled": self._settled,
            "state": {key: value.tolist() for key, value in self._state._asdict().items()},
            "extra": self._extra(),
        }

    def __repr__(self) -> str:
        return standing(self, f"{len(self.labels)} arms", len(self._arms))

    # Inside.

    def _extra(self) -> dict[str, Any]:
        return {}

    def _load_extra(self, extra: Mapping[str, Any]) -> None:
        pass

    def _load(self, saved: Mapping[str, Any]) -> None:
        none = [0] * len(self.labels)
        saved = check_schema(saved, lost=none, omitted=none)
        self._asked[:] = _counts(saved, "asked", len(none))
        self._arms = [int(a) for a in saved["arms"]]
        self._rewards = [
            None if r is None else _check.reward(r, self.low, self.high) for r in saved["rewards"]
        ]
        self._missing.load(saved["missing"], self._rewards)
        self._lost[:] = _counts(saved, "lost", len(none))
        self._omitted[:] = _counts(saved, "omitted", len(none))
        self._settled = _check.whole("settled", saved["settled"], least=0)
        for key, array in self._state._asdict().items():
            values = np.asarray(saved["state"][key], array.dtype)
            if values.shape != array.shape:
                raise StateError("state", f"{key} has shape {values.shape}, not {array.shape}")
            array[:] = values
        counts = np.bincount(np.array(self._arms, np.int64), minlength=len(self.labels))
        consistent = (
            len(self._arms) == len(self._rewards)
            and counts.tolist() == self._asked.tolist()
            and 0 <= self._settled <= len(self._arms)
            and all(
                r is not None or i in self._missing
                for i, r in enumerate(self._rewards[: self._settled])
            )
            and 0 <= int((self._lost + self._omitted).sum()) <= len(self._missing)
            and bool((self._lost >= 0).all() and (self._lost <= self._state.n).all())
            and bool((self._omitted >= 0).all())
        )
        if not consistent:
            raise StateError("state", "contradicts itself: decisions, counts and rewards differ")
        self._load_extra(saved["extra"])

    def _came(self) -> I64:
        """Return how many of the plays that count gave a reward."""
        return self._state.n - self._lost

    def _count(self, a: int, reward: float) -> None:
        """Add a settled play of arm a to the counts."""
        state = self._state
        state.n[a] += 1
        state.total[a] += reward
        state.clock[0] += 1
        state.last[a] = state.clock[0]

    def _ask(self) -> Decision:
        a = self._choose()
        self._asked[a] += 1
        self._arms.append(a)
        self._rewards.append(None)
        return Decision(len(self._arms), self.labels[a], 1.0)

    def _settle(self) -> None:
        """Apply the rewards that are next in the order of decisions."""
        while self._settled < len(self._arms):
            reward = self._rewards[self._settled]
            if reward is None and self._settled not in self._missing:
                return
            a = self._arms[self._settled]
            self._settled += 1
            if not self._state.active[a]:
                continue
            if reward is not None:
                self._absorb(a, self._unit(reward))
            elif self.widens and math.isfinite(self.low):
                self._lost[a] += 1
                self._absorb_missing(a)
            else:
                self._omitted[a] += 1
                self._omit(a)

    @property
    def _scale(self) -> float:
        return self.high - self.low if math.isfinite(self.low) else 1.0

    def _unit(self, reward: float) -> float:
        return (reward - self.low) / self._scale if math.isfinite(self.low) else reward

    def _reward_units(self, values: F64) -> F64:
        return self.low + self._scale * values if math.isfinite(self.low) else values


def _counts(saved: Mapping[str, Any], name: str, size: int) -> I64:
    counts = np.asarray(saved[name])
    if counts.shape != (size,) or counts.dtype.kind != "i":
        raise StateError("state", f"{name} must be {size} whole numbers, got {saved[name]!r}")
    return counts


def standing(player: Any, what: str, asked: int) -> str:
    """Say in a line what a player is and how far it has come."""
    settled = asked - len(player.pending)
    return f"{type(player).__name__}({player.learner!r}, {what}, {asked} asked, {settled} settled)"


def assumed(learner: Any, bounded: bool, linear: bool) -> str:
    """Say what a certificate takes from the learner's parameters without being able to check it."""
    parts = []
    sigma = getattr(learner, "sigma", None)
    if sigma is not None:
        parts.append(f"the noise is symmetric and sigma-subgaussian with sigma = {sigma:g}")
    elif not bounded and hasattr(learner, "R"):
        parts.append(f"outcomes are R-subgaussian with R = {learner.R:g}")
    if linear:
        norm = getattr(learner, "theta_norm", None)
        size = "" if norm is None else f" with a slope of norm at most {norm:g}"
        parts.append(f"means are linear in the arms{size}")
    return " and ".join(parts)


def parameters(learner: Any) -> dict[str, Any]:
    """Return a learner's parameters by name."""
    assert is_dataclass(learner)
    return {f.name: getattr(learner, f.name) for f in fields(learner)}


def describe(learner: Any) -> dict[str, Any]:
    """Describe a learner by its plain parameters."""
    values = parameters(learner)
    values |= {k: list(v) for k, v in values.items() if isinstance(v, tuple)}  # as JSON has it
    plain = {k: v for k, v in values.items() if isinstance(v, int | float | str | list)}
    parts = {k: describe(v) for k, v in values.items() if is_dataclass(v)}
    # Functions and a user's base are named, so that they are asked for, and not kept.
    rest = {k: v for k, v in values.items() if k not in plain | parts and v is not None}
    others = {k: {"type": type(v).__name__} for k, v in rest.items()}
    return {"type": type(learner).__name__} | plain | parts | others
