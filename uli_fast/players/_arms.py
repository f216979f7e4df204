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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from uli_fast import _check
from uli_fast._check import Labels
from uli_fast._typing import F64, I64
from uli_fast.errors import NoGuaranteeError, UliError
from uli_fast.guarantees import ROUNDING, ArmsInfo, Guarantee
from uli_fast.learners._arms import ArmLearner, empty_state
from uli_fast.players import _assumptions
from uli_fast.players._certificate import Certificate, gap_bound, left_out, too_large
from uli_fast.players._player import RewardPlayer
from uli_fast.players._queue import DecisionQueue
from uli_fast.players._saved_states import contradicts, same, within_counts


class Decision(NamedTuple):
    """What to play next: tell its reward under ``id``."""

    id: int
    arm: int | str
    probability: float


class Tally(NamedTuple):
    """What a player on K arms counts and knows beside the state of its algorithm."""

    asked: I64  # (K,) decisions per arm, settled or not
    lost: I64  # (K,) missing outcomes among the plays n
    omitted: I64  # (K,) those that are left out of n
    # (2, K) the highest lower and the lowest upper bound so far of each mean, on the unit scale
    known: F64
    largest: F64  # (1,) no settled reward is farther from 0
    complete: I64  # (1,) the last round before an outcome was missing, -1 if none was


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
    ``arm_state`` and ``memory`` are what the algorithm has learned, as its kernel has it. Bounds of
    the ``tally`` are the tightest so far: the event of a proof is one for all rounds, and on it all
    intervals hold at once.
    """

    learner: ArmLearner

    # How the next arm follows from what is settled: "turns", "quotas" and "index" need no player
    # to be asked.
    chooses_by: ClassVar[str] = "asking"
    forgets: ClassVar[bool] = True
    # Whether what is certified holds where outcomes contradict means that never change.
    allows_drift: ClassVar[bool] = False

    def __init__(self, learner: Any, labels: Labels, low: float, high: float) -> None:
        read = partial(_check.reward, low=low, high=high)
        super().__init__(learner, low, high, DecisionQueue("reward", read))
        K = len(labels)
        self.labels = labels
        self.features: F64 = np.zeros((K, 0))  # of arms that are vectors
        self.arm_state = empty_state(K)
        counts = np.zeros((3, K), np.int64)
        self.tally = Tally._make((*counts, self._unknown(), np.zeros(1), np.full(1, -1)))

    # What an algorithm supplies.

    # What it has learned beside ``arm_state``: a NamedTuple of arrays.
    memory: Any = None
    # Whether choices are made again when a state is verified, else they are taken from it: they
    # have no part in what is learned.
    chooses_again: ClassVar[bool] = False

    def _choose(self) -> int:
        """Return the next arm to ask for."""
        raise NotImplementedError

    def _chance(self, a: int) -> float:
        """Return the probability with which the last decision was arm a."""
        return 1.0

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
        return gap_bound(self.tally.known[0], self.tally.known[1], self.arm_state.active)

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
        unknown = (self.tally.omitted > 0) | self._too_narrow()
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
        if self.tally.omitted.any():
            raise left_out(int(self.tally.omitted.sum()))
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
    def largest(self) -> float:
        """No settled reward is farther from 0."""
        return float(self.tally.largest[0])

    @property
    def _complete(self) -> int | None:
        """The last round before an outcome was missing."""
        round = int(self.tally.complete[0])
        return None if round < 0 else round

    @property
    def contradicted(self) -> bool:
        """Whether no means that never change could have given these outcomes on the event."""
        return bool((self.tally.known[0] > self.tally.known[1]).any())

    def refuse_contradiction(self) -> None:
        """Refuse to go on where no means could have given these outcomes on the event."""
        for a in np.flatnonzero(self.tally.known[0] > self.tally.known[1])[:1]:
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
        np.maximum(self.tally.known[0], lower, out=self.tally.known[0])
        np.minimum(self.tally.known[1], upper, out=self.tally.known[1])

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
        return int(self.tally.lost.sum())

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
        self.queue.forget()

    def parts(self) -> dict[str, Any]:
        """Return all that changes, by name."""
        found = super().parts() | {"arms": self.arm_state, "tally": self.tally}
        return found if self.memory is None else found | {"memory": self.memory}

    def check_state(self) -> None:
        """Refuse what no player can hold, whatever led to it."""
        state, tally, queue = self.arm_state, self.tally, self.queue
        gone, t, K = state.eliminated > 0, state.clock[0], len(self.labels)
        arms = np.array(queue.decisions, np.int64)
        if ((arms < 0) | (arms >= K)).any():
            raise contradicts(f"decisions must be arms 0..{K - 1}")
        rest = tally.asked - np.bincount(arms, minlength=K)
        left_out, blocks = tally.lost + tally.omitted, self.blocks
        missing = queue.told_missing + sum(row[2] for x in blocks for row in x.sums.values())
        holds = (
            (state.active == ~gone).all(),
            state.active.any(),
            (state.n >= 0).all() and int(state.n.sum()) == int(t),
            (state.eliminated >= 0).all() and (state.eliminated <= t).all(),
            (state.last >= 0).all() and (state.last <= t).all(),
            state.clock[1] >= 1 and not state.broken.any() and not state.tv.any(),
            not math.isfinite(self.low) or within_counts(state.total, self.came()),
            (rest >= 0).all() and int(rest.sum()) == queue.forgotten,
            0 <= int(left_out.sum()) <= missing,
            (tally.lost >= 0).all() and (tally.lost <= state.n).all(),
            (tally.omitted >= 0).all() and not np.isnan(tally.known).any(),
            (tally.complete[0] < 0) != tally.lost.any()
            and tally.complete[0] <= self._learned() + 1,
        )
        if not all(holds):
            raise contradicts("decisions, counts, totals and active arms differ")

    def recount(self) -> None:
        """Add up the rewards again, with every arm in play for as long as the state says.

        For players whose choices cannot be made again; they keep no intervals.
        """
        K, queue, state = len(self.labels), self.queue, self.arm_state
        gone = state.eliminated.tolist()
        n, total, last, clock, largest = [0] * K, [0.0] * K, [0] * K, 0, 0.0
        for a, reward in zip(queue.decisions, queue.outcomes[: queue.settled], strict=False):
            if reward is not None and not 0 < gone[a] <= clock:
                clock += 1
                n[a], last[a] = n[a] + 1, clock
                total[a] += self._unit(reward)
                largest = max(largest, abs(reward))
        found = (n, last, clock, total, largest)
        counts = (state.n.tolist(), state.last.tolist(), int(state.clock[0]))
        saved = (*counts, state.total.tolist(), self.largest)
        if not all(map(same, saved, found)) or not self._phases_full():
            raise contradicts("counts and totals are not of its rewards")
        if not np.array_equal(self.tally.known, self._unknown()):
            raise contradicts("such a player keeps no intervals")

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
        return self.arm_state.n - self.tally.lost

    def count(self, a: int, reward: float) -> None:
        """Add a settled play of arm a to the counts."""
        state = self.arm_state
        state.n[a] += 1
        state.total[a] += reward
        state.clock[0] += 1
        state.last[a] = state.clock[0]

    def _ask(self) -> Decision:
        a = self._choose()
        self._note(a)
        return Decision(len(self.queue), self.labels[a], self._chance(a))

    def _counts_asked(self) -> tuple[I64, ...]:
        """Return what a decision is counted in."""
        return (self.tally.asked,)

    def _note(self, a: int) -> None:
        """Add a decision for arm a."""
        for counts in self._counts_asked():
            counts[a] += 1
        self.queue.add(a)

    def follow(self, other: Any) -> None:
        """Ask and be told what another player was; all at once if choices are not made again."""
        if self.chooses_again:
            super().follow(other)
            return
        many = np.bincount(np.array(other.queue.decisions, np.int64), minlength=len(self.labels))
        for counts in self._counts_asked():
            counts += many
        self.queue.copy(other.queue)
        self._settle()

    def _repeat(self, decision: int, outcome: float | None) -> None:
        self._note(self._choose())

    def _take_in(self, a: int, reward: float | None) -> None:
        """Apply what became of the next decision."""
        if not self.arm_state.active[a]:
            return
        if reward is not None:
            if abs(reward) > self.tally.largest[0]:
                self.tally.largest[0] = abs(reward)
            self.absorb(a, self._unit(reward))
        elif self.widens and math.isfinite(self.low):
            self._note_missing()
            self.tally.lost[a] += 1
            self._absorb_missing(a)
        else:
            self.tally.omitted[a] += 1
            self._omit(a)

    def _note_missing(self) -> None:
        """Keep the last round before an outcome was missing."""
        if self._complete is None:
            self.tally.complete[0] = self._learned() + 1

    def _start_over(self) -> None:
        """Forget what the user's own code knows."""

    @contextmanager
    def _undone_if_it_fails(self, id: int) -> Iterator[None]:
        """Leave everything as it was where the user's own code fails to take in an outcome."""
        arrays, settled = (*self.arm_state, *self.tally), self.queue.settled
        before = [array.copy() for array in arrays]
        try:
            yield
        except BaseException:  # Ctrl-C too: nobody knows how far the user's code has come
            if self.queue.settled != settled:  # the outcome was taken in and the code failed
                self._start_over()
                self.queue.take_back(id - 1, settled)
                for array, old in zip(arrays, before, strict=True):
                    array[...] = old
            raise

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
