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
    NoGuaranteeError,
    StateError,
    UliError,
)
from uli_fast.guarantees import ROUNDING, ArmsInfo, Guarantee
from uli_fast.learners._arms import ArmLearner, empty_state
from uli_fast.players import _assumptions
from uli_fast.players._certificate import Certificate, gap_bound
from uli_fast.players._missing import (
    SCHEMA,
    UNIT_SCHEMAS,
    Missing,
    check_schema,
    left_out,
    too_large,
)


class Decision(NamedTuple):
    """What to play next: tell its reward under ``id``."""

    id: int
    arm: int | str
    probability: float


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
        self._largest = 0.0  # no settled reward is farther from 0
        # The highest lower and the lowest upper bound so far of each mean, on the unit scale.
        # The event of a proof is one for all rounds: on it, all intervals hold at once.
        self._known: F64 = np.array([[-math.inf] * K, [math.inf] * K])
        if math.isfinite(low):
            self._known[:] = [[0.0], [1.0]]
        self._complete: int | None = None  # the last round before an outcome was missing

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
        return gap_bound(self._known[0], self._known[1], self._state.active)

    def _envelope(self, promise: Guarantee, t: int) -> float:
        """Return F at round t, the latest for which it holds."""
        return float(promise.bound(t))

    def _promise(self) -> Guarantee | None:
        """Return the F of the learner, None where what is known of the arms does not need it."""
        return self.learner.guarantee(self.arms_info())

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
        whole range, and so have all where R is less than the range allows for.
        """
        lower, upper = self._unit_intervals()
        lower, upper = self._reward_units(lower, -1.0), self._reward_units(upper, 1.0)
        unknown = (self._omitted > 0) | self._too_narrow()
        lower, upper = np.where(unknown, -math.inf, lower), np.where(unknown, math.inf, upper)
        return {
            label: (float(max(lo, self.low)), float(min(hi, self.high)))
            for label, lo, hi in zip(self.labels, lower, upper, strict=True)
        }

    def certificate(self) -> Certificate:
        """Return what is certain of every active arm, from settled rewards alone.

        The active arms are among those of any earlier round, so what was certain then still is:
        the bound never rises.
        """
        return self._certified()

    def _certified(self, in_turn: bool = True) -> Certificate:
        """Say what is certain; F only if the arms were played in turn, as the learner asks."""
        if self._omitted.any():
            raise left_out(int(self._omitted.sum()))
        promise = self._promise()
        self._refuse_contradiction()
        self._refuse_rounding()
        t, proved = self._learned() + 1, promise is None or promise.proved
        latest = t if self._complete is None else self._complete  # with an F that holds
        bound = envelope = math.inf
        if promise is not None and in_turn and latest:
            bound = self._envelope(promise, latest)
            envelope = bound if self._complete is None else math.inf
        bound = min(bound, self._unit_gap_bound() * self._scale, self._largest_gap(promise))
        active = self.active
        if len(active) == 1 and proved:
            bound = 0.0
        about = (self.learner.delta, active, proved, self._assumes(proved))
        return Certificate(t, bound, envelope, *about)

    def _largest_gap(self, promise: Guarantee | None) -> float:
        """Return what no gap can exceed, whatever the outcomes."""
        largest = math.inf if promise is None else promise.largest_gap
        return min(largest, self._scale) if math.isfinite(self.low) else largest

    def _refuse_contradiction(self) -> None:
        """Refuse to go on where no means could have given these outcomes on the event."""
        for a in np.flatnonzero(self._known[0] > self._known[1])[:1]:
            raise NoGuaranteeError(
                f"the outcomes of arm {self.labels[a]!r} contradict each other: its mean would "
                "have to lie in two intervals that do not meet. This run is one of the few that "
                "the probability delta allows for, or something that is assumed is wrong"
            )

    def _too_narrow(self) -> bool:
        """Return whether R is less than outcomes within the range may need."""
        width = _check.width((self.low, self.high))
        R: float | None = getattr(self.learner, "R", None)
        return width is not None and R is not None and R * ROUNDING < width / 2.0

    def _refuse_rounding(self) -> None:
        """Refuse outcomes without a range whose sums are rounded by more than intervals allow.

        Sums of N numbers up to x are off by N^2 x 2^-53 at most. Means off by a thousandth of an
        interval's half are covered: the union over rounds leaves a sixth of delta to spare.
        """
        if math.isfinite(self.low) or self._largest == 0.0:
            return
        lower, upper = (x[self._state.active] for x in self._unit_intervals())
        half = float((upper - lower).min()) / 2.0
        if 2.0 * self._learned() * self._largest * 2.0**-53 > 1e-3 * half:
            raise too_large(self._largest)

    def _narrow(self) -> None:
        """Keep what the intervals of the moment say, which stays true on the event."""
        lower, upper = self._unit_intervals()
        np.maximum(self._known[0], lower, out=self._known[0])
        np.minimum(self._known[1], upper, out=self._known[1])

    def _assumes(self, proved: bool) -> tuple[str, ...]:
        """Say what the certificate rests on."""
        return _assumptions.of_arms(self, linear=self.features.shape[1] > 0)

    def _learned(self) -> int:
        """Return how many rounds the algorithm has learned from."""
        return int(self._state.clock[0])

    def arms_info(self) -> ArmsInfo:
        """Return what a guarantee may rely on: rewards in [0, 1], or R alone if unbounded."""
        if math.isfinite(self.low):
            return ArmsInfo(len(self.labels), 1.0, self._scale, 0.5, low=self.low, high=self.high)
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
            "known": [[None if math.isinf(x) else x for x in row] for row in self._known.tolist()],
            "complete": self._complete,
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
        for name in ("known", "complete"):  # states of schemas 1 and 2 have neither
            if saved["schema"] not in UNIT_SCHEMAS and name not in saved:
                raise StateError("state", f"has no {name!r}")
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
            and 0 <= int((self._lost + self._omitted).sum()) <= self._told_missing(saved["extra"])
            and bool((self._lost >= 0).all() and (self._lost <= self._state.n).all())
            and bool((self._omitted >= 0).all())
        )
        if not consistent:
            raise StateError("state", "contradicts itself: decisions, counts and rewards differ")
        told = (abs(r) for r in self._rewards[: self._settled] if r is not None)
        self._largest = max(told, default=0.0)
        self._load_extra(saved["extra"])
        self._load_known(saved)

    def _load_known(self, saved: Mapping[str, Any]) -> None:
        """Take over what was known; a state from before says what its intervals say."""
        unknown = 0 if self._lost.any() else None
        complete = saved.get("complete", unknown)
        self._complete = complete if complete is None else _check.whole("complete", complete, 0)
        if (self._complete is None) != (unknown is None) or (complete or 0) > self._learned() + 1:
            raise StateError("state", "contradicts itself: when outcomes went missing")
        if "known" in saved:
            for mine, theirs in zip(self._known, saved["known"], strict=True):
                mine[:] = [a if b is None else b for a, b in zip(mine, theirs, strict=True)]
        if np.isnan(self._known).any():
            raise StateError("state", "known must be two rows of numbers")
        self._narrow()

    def _told_missing(self, extra: Mapping[str, Any]) -> int:
        """Return how many outcomes were told to be missing."""
        return len(self._missing)

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
            if self._rewards[self._settled] is None and self._settled not in self._missing:
                return
            self._settle_next()

    def _settle_next(self) -> None:
        """Apply what became of the next decision."""
        a, reward = self._arms[self._settled], self._rewards[self._settled]
        self._settled += 1
        if not self._state.active[a]:
            return
        if reward is not None:
            self._largest = max(self._largest, abs(reward))
            self._absorb(a, self._unit(reward))
        elif self.widens and math.isfinite(self.low):
            if self._complete is None:
                self._complete = self._learned() + 1
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

    @property
    def _unit_noise(self) -> float:
        """R on the unit scale."""
        return _check.unit_noise(self.learner.R, (self.low, self.high))

    def _reward_units(self, ends: F64, sign: float) -> F64:
        """Return lower (-1) or upper (1) ends in reward units; where 0 moves, rounded outward."""
        if not math.isfinite(self.low):
            return ends
        away = 2.0**-50 * max(-self.low, self.high) if self.low else 0.0  # six roundings
        return np.asarray(self.low + self._scale * ends + sign * away)


def _counts(saved: Mapping[str, Any], name: str, size: int) -> I64:
    counts = np.asarray(saved[name])
    if counts.shape != (size,) or counts.dtype.kind != "i":
        raise StateError("state", f"{name} must be {size} whole numbers, got {saved[name]!r}")
    return counts


def standing(player: Any, what: str, asked: int) -> str:
    """Say in a line what a player is and how far it has come."""
    settled = asked - len(player.pending)
    return f"{type(player).__name__}({player.learner!r}, {what}, {asked} asked, {settled} settled)"


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
