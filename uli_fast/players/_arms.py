"""What all live players on K arms share.

With immediate rewards the decisions are the kernel's. While rewards are awaited, asking goes on
over the arms that are still active. Rewards of arms removed in the meantime are recorded and not
used.

An outcome that will never come is told as missing. On a bounded range its play counts, and
every bound takes it at its worst: with n plays of which m are missing, an interval is wider by
m / n, and valid whatever made them missing. Without bounds it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._check import Labels
from uli_fast._typing import F64, I64
from uli_fast.errors import NoGuaranteeError, StateError, UliError
from uli_fast.guarantees import ROUNDING, ArmsInfo, Guarantee
from uli_fast.learners._arms import ArmLearner, empty_state
from uli_fast.players import _assumptions
from uli_fast.players._certificate import Certificate, gap_bound, left_out, too_large
from uli_fast.players._player import RewardPlayer
from uli_fast.players._queue import DecisionQueue
from uli_fast.players._saved_states import same, within_counts


class Decision(NamedTuple):
    """What to play next: tell its reward under ``id``."""

    id: int
    arm: int | str
    probability: float


class Player(RewardPlayer[Decision]):
    """Live decisions on K arms: ``learner.start(arms)`` makes it.

    What to call first: ``ask()`` for a decision, ``tell(id, reward)`` for its reward,
    ``tell_missing(id, reason)`` where none will come; ``active``, ``recommend()``,
    ``intervals()``, ``certificate()`` for what is known; ``state()`` to save it.

    Examples
    --------
    >>> import uli_fast as uli
    >>> player = uli.BettingElimination(0.05).start(["red", "green"])
    >>> for _ in range(200):
    ...     decision = player.ask()
    ...     player.tell(decision.id, float(decision.arm == "red"))
    >>> player.recommend(), player.active
    ('red', ('red',))

    Notes
    -----
    ``arm_state`` is what the algorithm has learned, as its kernel has it. ``known`` is the highest
    lower and the lowest upper bound so far of each mean, on the unit scale: the event of a proof
    is one for all rounds, and on it all intervals hold at once.
    """

    learner: ArmLearner

    # How the next arm follows from what is settled: "turns", "quotas" and "index" need no player
    # to be asked.
    chooses_by: ClassVar[str] = "asking"
    forgets: ClassVar[bool] = True
    # Whether what is certified holds where outcomes contradict means that never change.
    allows_drift: ClassVar[bool] = False

    def __init__(self, learner: Any, labels: Labels, low: float, high: float) -> None:
        super().__init__(learner, low, high, DecisionQueue("arms", "rewards", "reward"))
        K = len(labels)
        self.labels = labels
        self.features: F64 = np.zeros((K, 0))  # of arms that are vectors
        self.arm_state = empty_state(K)
        self.asked: I64 = np.zeros(K, np.int64)  # decisions per arm, settled or not
        self._lost: I64 = np.zeros(K, np.int64)  # missing outcomes among the plays n
        self._omitted: I64 = np.zeros(K, np.int64)  # those that are left out of n
        self.largest = 0.0  # no settled reward is farther from 0
        self.known: F64 = self._unknown()
        self._complete: int | None = None  # the last round before an outcome was missing

    # What an algorithm supplies.

    def _choose(self) -> int:
        """Return the next arm to ask for."""
        raise NotImplementedError

    def absorb(self, a: int, reward: float) -> None:
        """Take in a reward of an active arm, on the unit scale, whoever chose it."""
        raise NotImplementedError

    def _absorb_missing(self, a: int) -> None:
        """Count a play of an active arm whose reward is missing: at least 0, at most 1."""
        self.absorb(a, 0.0)

    def _omit(self, a: int) -> None:
        """Leave out a play of an active arm whose reward is missing."""

    def _unit_intervals(self) -> tuple[F64, F64]:
        """Return lower and upper confidence bounds on the unit scale."""
        raise NotImplementedError

    def _unit_gap_bound(self) -> float:
        """Bound the gap of every active arm from the settled data, on the event."""
        return gap_bound(self.known[0], self.known[1], self.arm_state.active)

    def _envelope(self, promise: Guarantee, t: int) -> float:
        """Return F at round t, the latest for which it holds."""
        return float(promise.bound(t))

    def _promise(self) -> Guarantee | None:
        """Return the F of the learner, None where what is known about the arms does not need it."""
        return self.learner.guarantee(self.arms_info())

    # What a user calls.

    @property
    def active(self) -> tuple[int | str, ...]:
        """The arms still in play."""
        return tuple(self.labels[a] for a in np.flatnonzero(self.arm_state.active))

    def recommend(self) -> int | str:
        """Return the active arm with the best mean of the rewards that came."""
        state, came = self.arm_state, self.came()
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

    def means(self) -> F64:
        """Return the mean of what was learned from for each arm; NaN where it says nothing.

        That is where nothing came, and where it lies outside of the arm's interval: by chance, as
        intervals of earlier rounds are kept, or because outcomes are missing for what they were.
        """
        state, came = self.arm_state, self.came()
        means = state.total / np.maximum(came, 1)
        if math.isfinite(self.low):
            means = self.low + self.scale * means
        low, high = np.array(list(self.intervals().values())).T
        outside = (low <= high) & ((means < low) | (means > high))
        found: F64 = np.where((came > 0) & ~outside, means, math.nan)
        return found

    def certificate(self) -> Certificate:
        """Return what is certain about every active arm, from settled rewards alone.

        The active arms are among those of any earlier round, so what was certain then still is:
        the bound never rises.
        """
        return self.certified()

    def certified(self, in_turn: bool = True) -> Certificate:
        """Say what is certain; F only if the arms were played in turn, as the learner asks."""
        if self._omitted.any():
            raise left_out(int(self._omitted.sum()))
        promise = self._promise()
        if not self.allows_drift:
            self.refuse_contradiction()
        self._refuse_rounding()
        t, proved = self._learned() + 1, promise is None or promise.proved
        latest = t if self._complete is None else self._complete  # with an F that holds
        bound = envelope = math.inf
        if promise is not None and in_turn and latest:
            bound = self._envelope(promise, latest)
            envelope = bound if self._complete is None else math.inf
        bound = min(bound, self._unit_gap_bound() * self.scale, self._largest_gap(promise))
        active = self.active
        if len(active) == 1 and proved:
            bound = 0.0
        about = (self.learner.delta, active, proved, self._assumes(proved))
        return Certificate(t, bound, envelope, *about)

    def _largest_gap(self, promise: Guarantee | None) -> float:
        """Return what no gap can exceed, whatever the outcomes."""
        largest = math.inf if promise is None else promise.largest_gap
        return min(largest, self.scale) if math.isfinite(self.low) else largest

    @property
    def contradicted(self) -> bool:
        """Whether no means that never change could have given these outcomes on the event."""
        return bool((self.known[0] > self.known[1]).any())

    def refuse_contradiction(self) -> None:
        """Refuse to go on where no means could have given these outcomes on the event."""
        for a in np.flatnonzero(self.known[0] > self.known[1])[:1]:
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
        if math.isfinite(self.low) or self.largest == 0.0:
            return
        lower, upper = (x[self.arm_state.active] for x in self._unit_intervals())
        half = float((upper - lower).min()) / 2.0
        if 2.0 * self._learned() * self.largest * 2.0**-53 > 1e-3 * half:
            raise too_large(self.largest)

    def _narrow(self) -> None:
        """Keep what the intervals of the moment say, which stays true on the event."""
        lower, upper = self._unit_intervals()
        np.maximum(self.known[0], lower, out=self.known[0])
        np.minimum(self.known[1], upper, out=self.known[1])

    def _assumes(self, proved: bool) -> tuple[str, ...]:
        """Say what the certificate rests on."""
        return _assumptions.of_arms(self, linear=self.features.shape[1] > 0)

    def _learned(self) -> int:
        """Return how many rounds the algorithm has learned from."""
        return int(self.arm_state.clock[0])

    def arms_info(self) -> ArmsInfo:
        """Return what a guarantee may rely on: rewards in [0, 1], or R alone if unbounded."""
        if math.isfinite(self.low):
            return ArmsInfo(len(self.labels), 1.0, self.scale, 0.5, low=self.low, high=self.high)
        return ArmsInfo(len(self.labels), math.inf, low=None, high=None)

    def informed(self, info: ArmsInfo, means: F64) -> ArmsInfo:
        """Add to what a guarantee may rely on what true means say."""
        if math.isinf(info.largest_gap):
            return info._replace(largest_gap=float(means.max() - means.min()))
        return info

    @property
    def lost(self) -> int:
        """How many missing outcomes count at their worst."""
        return int(self._lost.sum())

    def started_with(self) -> dict[str, Any]:
        """Return the arms: a number, names or vectors, and where these have mean 0."""
        if self.features.shape[1]:
            arms: dict[str, Any] = {"vectors": self.features.tolist()}
        elif self.labels == tuple(range(len(self.labels))):
            arms = {"number": len(self.labels)}
        else:
            arms = {"names": list(self.labels)}
        return {"arms": arms}

    def decision(self, id: int, content: Mapping[str, Any]) -> Decision:
        """Return a decision as a file has it."""
        return Decision(id, content["arm"], content["probability"])

    def _what(self) -> str:
        return f"{len(self.labels)} arms"

    # Saved states.

    def forget(self) -> None:
        """Drop the settled decisions."""
        self._forget(self.queue.forget())

    def _forget(self, n: int) -> None:
        """Drop what is kept of each of the first n decisions."""

    def _saved(self) -> dict[str, Any]:
        largest = {"largest": self.largest} if self.queue.forgotten else {}
        return largest | {
            "labels": list(self.labels),
            "asked": self.asked.tolist(),
            "lost": self._lost.tolist(),
            "omitted": self._omitted.tolist(),
            "known": [[None if math.isinf(x) else x for x in row] for row in self.known.tolist()],
            "complete": self._complete,
            "state": {key: value.tolist() for key, value in self.arm_state._asdict().items()},
            "extra": self._extra(),
        }

    def _extra(self) -> dict[str, Any]:
        return {}

    def _load_extra(self, extra: Mapping[str, Any]) -> None:
        pass

    def _load(self, saved: Mapping[str, Any]) -> None:
        K = len(self.labels)
        self.asked[:] = _counts(saved, "asked", K)
        self.queue.load(saved, int, self._read)
        self._lost[:] = _counts(saved, "lost", K)
        self._omitted[:] = _counts(saved, "omitted", K)
        for key, array in self.arm_state._asdict().items():
            values = np.asarray(saved["state"][key], array.dtype)
            if values.shape != array.shape:
                raise StateError("state", f"{key} has shape {values.shape}, not {array.shape}")
            array[:] = values
        rest = self.asked - np.bincount(np.array(self.queue.decisions, np.int64), minlength=K)
        consistent = (
            bool((rest >= 0).all())
            and int(rest.sum()) == self.queue.forgotten
            and 0 <= int((self._lost + self._omitted).sum()) <= self._told_missing(saved["extra"])
            and bool((self._lost >= 0).all() and (self._lost <= self.arm_state.n).all())
            and bool((self._omitted >= 0).all())
        )
        if not consistent:
            raise StateError("state", "contradicts itself: decisions, counts and rewards differ")
        settled = self.queue.settled - self.queue.forgotten
        told = (abs(r) for r in self.queue.outcomes[:settled] if r is not None)
        self.largest = max(told, default=0.0)
        if self.queue.forgotten:
            self.largest = _check.number("largest", saved["largest"])
        self._load_extra(saved["extra"])
        self._load_known(saved)

    def _load_known(self, saved: Mapping[str, Any]) -> None:
        """Take over what was known."""
        complete = saved["complete"]
        self._complete = complete if complete is None else _check.whole("complete", complete, 0)
        whole = not self._lost.any()
        if (complete is None) != whole or (complete or 0) > self._learned() + 1:
            raise StateError("state", "contradicts itself: when outcomes went missing")
        for mine, theirs in zip(self.known, saved["known"], strict=True):
            mine[:] = [a if b is None else b for a, b in zip(mine, theirs, strict=True)]
        if np.isnan(self.known).any():
            raise StateError("state", "known must be two rows of numbers")
        self._narrow()

    def _told_missing(self, extra: Mapping[str, Any]) -> int:
        """Return how many outcomes were told to be missing."""
        return self.queue.told_missing

    def check_state(self) -> None:
        """Refuse what no player can hold, whatever led to it."""
        state = self.arm_state
        gone, t = state.eliminated > 0, state.clock[0]
        holds = (
            (state.active == ~gone).all(),
            state.active.any(),
            (state.n >= 0).all() and int(state.n.sum()) == int(t),
            (state.eliminated >= 0).all() and (state.eliminated <= t).all(),
            (state.last >= 0).all() and (state.last <= t).all(),
            state.clock[1] >= 1 and not state.broken.any() and not state.tv.any(),
            not math.isfinite(self.low) or within_counts(state.total, self.came()),
        )
        if not all(holds):
            raise StateError("state", "contradicts itself: counts, totals and active arms differ")

    def retrace(self, other: Any) -> None:
        """Be told what another player was told."""
        self.asked[:] = other.asked
        super().retrace(other)

    def recount(self) -> None:
        """Add up the rewards again, with every arm in play for as long as the state says.

        For players whose choices cannot be made again; they keep no intervals.
        """
        K, queue, state = len(self.labels), self.queue, self.arm_state
        gone = state.eliminated.tolist()
        n, total, last, clock = [0] * K, [0.0] * K, [0] * K, 0
        for a, reward in zip(queue.decisions, queue.outcomes[: queue.settled], strict=False):
            if reward is not None and not 0 < gone[a] <= clock:
                clock += 1
                n[a], last[a] = n[a] + 1, clock
                total[a] += self._unit(reward)
        found = (n, last, clock, total)
        saved = (state.n.tolist(), state.last.tolist(), int(state.clock[0]), state.total.tolist())
        if not all(map(same, saved, found)) or not self._phases_full():
            raise StateError(
                "state", "contradicts itself: counts and totals are not of its rewards"
            )
        if not np.array_equal(self.known, self._unknown()):
            raise StateError("state", "contradicts itself: such a player keeps no intervals")

    def _unknown(self) -> F64:
        """Return what is known about each mean before anything is told."""
        K, bounded = len(self.labels), math.isfinite(self.low)
        return np.array([[0.0] * K, [1.0] * K] if bounded else [[-math.inf] * K, [math.inf] * K])

    def _phases_full(self) -> bool:
        """Return whether the phases before the present one have the rewards that close them."""
        return int(self.arm_state.clock[1]) == 1

    # Asking and learning.

    def came(self) -> I64:
        """Return how many of the plays that count gave a reward."""
        return self.arm_state.n - self._lost

    def count(self, a: int, reward: float) -> None:
        """Add a settled play of arm a to the counts."""
        state = self.arm_state
        state.n[a] += 1
        state.total[a] += reward
        state.clock[0] += 1
        state.last[a] = state.clock[0]

    def _ask(self) -> Decision:
        a = self._choose()
        self.asked[a] += 1
        return Decision(self.queue.add(a), self.labels[a], 1.0)

    def _take_in(self, a: int, reward: float | None) -> None:
        """Apply what became of the next decision."""
        if not self.arm_state.active[a]:
            return
        if reward is not None:
            if abs(reward) > self.largest:
                self.largest = abs(reward)
            self.absorb(a, self._unit(reward))
        elif self.widens and math.isfinite(self.low):
            if self._complete is None:
                self._complete = self._learned() + 1
            self._lost[a] += 1
            self._absorb_missing(a)
        else:
            self._omitted[a] += 1
            self._omit(a)

    @cached_property
    def scale(self) -> float:
        """What 1 on the unit scale is in reward units."""
        return self.high - self.low if math.isfinite(self.low) else 1.0

    def _unit(self, reward: float) -> float:
        return (reward - self.low) / self.scale if math.isfinite(self.low) else reward

    @cached_property
    def unit_noise(self) -> float:
        """R on the unit scale."""
        return _check.unit_noise(self.learner.R, (self.low, self.high))

    def _reward_units(self, ends: F64, sign: float) -> F64:
        """Return lower (-1) or upper (1) ends in reward units; where 0 moves, rounded outward."""
        if not math.isfinite(self.low):
            return ends
        away = 2.0**-50 * max(-self.low, self.high) if self.low else 0.0  # six roundings
        return np.asarray(self.low + self.scale * ends + sign * away)


def _counts(saved: Mapping[str, Any], name: str, size: int) -> I64:
    counts = np.asarray(saved[name])
    if counts.shape != (size,) or counts.dtype.kind != "i":
        raise StateError("state", f"{name} must be {size} whole numbers, got {saved[name]!r}")
    return counts
